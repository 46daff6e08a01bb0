//! Parameters: `$x`, `${x:-y}`, `"$@"` and the rest, as far as their values are known.

use brush_parser::word::{Parameter, ParameterExpr, ParameterTestType, SpecialParameter, SubstringMatchKind};

use super::{Field, Fields};
use crate::approval::glob;
use crate::approval::walk::{Held, Walk};

/// What is known of a parameter's value.
enum Value {
    Known(String),
    /// `IFS`: white space that splits words.
    Separator,
    /// By the line itself.
    Assigned(String),
    Words(Vec<Field>),
    /// Put together by the line itself, and not known.
    Computed,
    Unknown,
}

impl Fields {
    pub(super) fn parameter(&mut self, expression: &ParameterExpr, quoted: bool, walk: &mut Walk<'_>) {
        for operand in operands(expression) {
            walk.operand(operand);
        }
        if let Some(Parameter::NamedWithIndex { index, .. }) = parameter_of(expression) {
            walk.operand(index);
        }
        if matches!(expression, ParameterExpr::Transform { .. }) {
            // `${x@P}` runs what is substituted in the value.
            walk.unread("a value in it may be run");
        }
        match value(expression, walk) {
            Value::Known(text) => self.push(&text),
            Value::Separator if quoted => self.push(" "),
            Value::Separator => self.split(),
            Value::Assigned(text) if quoted => {
                self.push(&text);
                self.current().variable = true;
            }
            Value::Assigned(_) if walk.splits_elsewhere() => self.push_computed(),
            Value::Assigned(text) => self.push_split(&text),
            Value::Words(words) => self.push_words(words),
            Value::Computed => self.push_computed(),
            Value::Unknown => self.push_unknown(),
        }
    }
}

fn value(expression: &ParameterExpr, walk: &Walk<'_>) -> Value {
    match expression {
        ParameterExpr::Parameter { parameter, indirect: false }
        | ParameterExpr::IndicateErrorIfNullOrUnset { parameter, indirect: false, .. } => {
            value_of(parameter, walk)
        }
        // The name of the variable is the value of another.
        ParameterExpr::Parameter { parameter, indirect: true } => match value_of(parameter, walk) {
            Value::Assigned(name) => named(&name, walk),
            _ => Value::Computed,
        },
        ParameterExpr::UseDefaultValues { parameter, indirect: false, default_value, test_type }
        | ParameterExpr::AssignDefaultValues { parameter, indirect: false, default_value, test_type } => {
            default(value_of(parameter, walk), default_value.as_deref(), test_type)
        }
        ParameterExpr::UseAlternativeValue { alternative_value, .. } => match alternative_value.as_deref() {
            // Whether it is used is not known; if it is, it is this.
            Some(text) if is_plain(text) => Value::Assigned(text.to_owned()),
            Some(_) => Value::Computed,
            None => Value::Assigned(String::new()),
        },
        _ => changed(expression, walk),
    }
}

/// A default that is plain text is what an unset variable becomes.
fn default(value: Value, default: Option<&str>, test: &ParameterTestType) -> Value {
    let empty_counts = matches!(test, ParameterTestType::UnsetOrNull);
    match (value, default) {
        (Value::Assigned(text), Some(default)) if text.is_empty() && empty_counts && is_plain(default) => {
            Value::Assigned(default.to_owned())
        }
        (Value::Unknown, Some(default)) if is_plain(default) => Value::Assigned(default.to_owned()),
        (Value::Unknown, Some(_)) => Value::Computed,
        (value, _) => value,
    }
}

fn is_plain(text: &str) -> bool {
    !text.contains(['$', '`', '"', '\'', '\\'])
}

fn value_of(parameter: &Parameter, walk: &Walk<'_>) -> Value {
    match parameter {
        Parameter::Named(name) => named(name, walk),
        Parameter::Positional(number) => match walk.positional() {
            Some(words) => {
                let word = usize::try_from(*number).ok().and_then(|n| n.checked_sub(1));
                match word.map(|n| words.get(n)) {
                    Some(Some(field)) => field_value(field),
                    Some(None) => Value::Assigned(String::new()),
                    None => Value::Unknown,
                }
            }
            None => Value::Unknown,
        },
        Parameter::NamedWithAllIndices { name, .. } => match walk.variable(name) {
            Some(Held::List(words)) => Value::Words(words.iter().map(|word| Field::literal(word)).collect()),
            Some(Held::Text(text)) => Value::Assigned(text.clone()),
            Some(Held::Computed) => Value::Computed,
            None => Value::Unknown,
        },
        Parameter::NamedWithIndex { name, index } => match walk.variable(name) {
            Some(Held::List(words)) => match index.parse::<usize>().ok().and_then(|n| words.get(n)) {
                Some(word) => Value::Assigned(word.clone()),
                None => Value::Computed,
            },
            Some(_) => Value::Computed,
            None => Value::Unknown,
        },
        Parameter::Special(special) => match special {
            SpecialParameter::LastExitStatus
            | SpecialParameter::PositionalParameterCount
            | SpecialParameter::ProcessId
            | SpecialParameter::LastBackgroundProcessId => Value::Known("0".into()),
            SpecialParameter::AllPositionalParameters { .. } => match walk.positional() {
                Some(words) => Value::Words(words.to_vec()),
                None => Value::Unknown,
            },
            _ => Value::Unknown,
        },
    }
}

fn field_value(field: &Field) -> Value {
    match field.value() {
        Some(text) => Value::Assigned(text.to_owned()),
        None if field.computed => Value::Computed,
        None => Value::Unknown,
    }
}

fn named(name: &str, walk: &Walk<'_>) -> Value {
    match (name, walk.variable(name)) {
        (_, Some(Held::Text(text))) => Value::Assigned(text.clone()),
        (_, Some(Held::List(words))) => match words.first() {
            Some(word) => Value::Assigned(word.clone()),
            None => Value::Assigned(String::new()),
        },
        (_, Some(Held::Computed)) => Value::Computed,
        ("HOME", None) => Value::Known(walk.home()),
        ("IFS", None) => Value::Separator,
        ("HERM_HOME" | "HERMES_HOME", None) => Value::Known(walk.agent_home()),
        ("PWD", None) => walk.cwd().map_or(Value::Unknown, Value::Known),
        // What `cd` left: it is wherever one was before.
        ("OLDPWD", None) => Value::Computed,
        (_, None) => Value::Unknown,
    }
}

/// Values of which something is cut or replaced.
fn changed(expression: &ParameterExpr, walk: &Walk<'_>) -> Value {
    let Some(parameter) = parameter_of(expression) else { return Value::Computed };
    let text = match value_of(parameter, walk) {
        Value::Assigned(text) | Value::Known(text) => text,
        // A letter out of a variable of the surroundings spells anything: `${PATH:0:1}` is `/`.
        Value::Unknown if matches!(expression, ParameterExpr::Substring { .. }) => return Value::Computed,
        Value::Unknown => return Value::Unknown,
        // Any part of it is white space.
        Value::Separator => return Value::Separator,
        _ => return Value::Computed,
    };
    changed_text(expression, &text).map_or(Value::Computed, Value::Assigned)
}

fn changed_text(expression: &ParameterExpr, text: &str) -> Option<String> {
    let plain = |pattern: &Option<String>| pattern.clone().filter(|pattern| is_plain(pattern));
    match expression {
        ParameterExpr::ParameterLength { .. } => Some(text.chars().count().to_string()),
        ParameterExpr::RemoveSmallestSuffixPattern { pattern, .. } => {
            cut(text, &plain(pattern)?, true, false)
        }
        ParameterExpr::RemoveLargestSuffixPattern { pattern, .. } => cut(text, &plain(pattern)?, true, true),
        ParameterExpr::RemoveSmallestPrefixPattern { pattern, .. } => {
            cut(text, &plain(pattern)?, false, false)
        }
        ParameterExpr::RemoveLargestPrefixPattern { pattern, .. } => cut(text, &plain(pattern)?, false, true),
        ParameterExpr::UppercasePattern { pattern: None, .. } => Some(text.to_uppercase()),
        ParameterExpr::LowercasePattern { pattern: None, .. } => Some(text.to_lowercase()),
        ParameterExpr::Substring { offset, length, .. } => {
            let offset: usize = offset.value.trim().parse().ok()?;
            let length = match length {
                Some(length) => length.value.trim().parse().ok()?,
                None => usize::MAX,
            };
            Some(text.chars().skip(offset).take(length).collect())
        }
        ParameterExpr::ReplaceSubstring { pattern, replacement, match_kind, .. } => {
            let replacement = replacement.as_deref().unwrap_or_default();
            if !is_plain(pattern) || !is_plain(replacement) || glob::is_pattern(pattern) {
                return None;
            }
            Some(match match_kind {
                SubstringMatchKind::FirstOccurrence => text.replacen(pattern.as_str(), replacement, 1),
                SubstringMatchKind::Anywhere => text.replace(pattern.as_str(), replacement),
                SubstringMatchKind::Prefix => match text.strip_prefix(pattern.as_str()) {
                    Some(rest) => format!("{replacement}{rest}"),
                    None => text.to_owned(),
                },
                SubstringMatchKind::Suffix => match text.strip_suffix(pattern.as_str()) {
                    Some(rest) => format!("{rest}{replacement}"),
                    None => text.to_owned(),
                },
            })
        }
        _ => None,
    }
}

/// A text without the part at one end that a pattern stands for.
fn cut(text: &str, pattern: &str, at_end: bool, longest: bool) -> Option<String> {
    let mut places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    places.push(text.len());
    // The shortest suffix begins last, the shortest prefix ends first.
    if at_end != longest {
        places.reverse();
    }
    for at in places {
        let (before, after) = text.split_at_checked(at)?;
        let (removed, kept) = if at_end { (after, before) } else { (before, after) };
        if glob::matches(pattern, removed) {
            return Some(kept.to_owned());
        }
    }
    Some(text.to_owned())
}

/// Texts inside an expansion in which commands may be substituted.
fn operands(expression: &ParameterExpr) -> Vec<&str> {
    match expression {
        ParameterExpr::UseDefaultValues { default_value: text, .. }
        | ParameterExpr::AssignDefaultValues { default_value: text, .. }
        | ParameterExpr::IndicateErrorIfNullOrUnset { error_message: text, .. }
        | ParameterExpr::UseAlternativeValue { alternative_value: text, .. }
        | ParameterExpr::RemoveSmallestSuffixPattern { pattern: text, .. }
        | ParameterExpr::RemoveLargestSuffixPattern { pattern: text, .. }
        | ParameterExpr::RemoveSmallestPrefixPattern { pattern: text, .. }
        | ParameterExpr::RemoveLargestPrefixPattern { pattern: text, .. }
        | ParameterExpr::UppercaseFirstChar { pattern: text, .. }
        | ParameterExpr::UppercasePattern { pattern: text, .. }
        | ParameterExpr::LowercaseFirstChar { pattern: text, .. }
        | ParameterExpr::LowercasePattern { pattern: text, .. } => text.as_deref().into_iter().collect(),
        ParameterExpr::ReplaceSubstring { pattern, replacement, .. } => {
            std::iter::once(pattern.as_str()).chain(replacement.as_deref()).collect()
        }
        ParameterExpr::Substring { offset, length, .. } => {
            std::iter::once(offset.value.as_str()).chain(length.as_ref().map(|l| l.value.as_str())).collect()
        }
        ParameterExpr::Parameter { .. }
        | ParameterExpr::ParameterLength { .. }
        | ParameterExpr::Transform { .. }
        | ParameterExpr::VariableNames { .. }
        | ParameterExpr::MemberKeys { .. } => vec![],
    }
}

/// The parameter that an expansion is about.
fn parameter_of(expression: &ParameterExpr) -> Option<&Parameter> {
    match expression {
        ParameterExpr::Parameter { parameter, .. }
        | ParameterExpr::UseDefaultValues { parameter, .. }
        | ParameterExpr::AssignDefaultValues { parameter, .. }
        | ParameterExpr::IndicateErrorIfNullOrUnset { parameter, .. }
        | ParameterExpr::UseAlternativeValue { parameter, .. }
        | ParameterExpr::ParameterLength { parameter, .. }
        | ParameterExpr::RemoveSmallestSuffixPattern { parameter, .. }
        | ParameterExpr::RemoveLargestSuffixPattern { parameter, .. }
        | ParameterExpr::RemoveSmallestPrefixPattern { parameter, .. }
        | ParameterExpr::RemoveLargestPrefixPattern { parameter, .. }
        | ParameterExpr::Substring { parameter, .. }
        | ParameterExpr::Transform { parameter, .. }
        | ParameterExpr::UppercaseFirstChar { parameter, .. }
        | ParameterExpr::UppercasePattern { parameter, .. }
        | ParameterExpr::LowercaseFirstChar { parameter, .. }
        | ParameterExpr::LowercasePattern { parameter, .. }
        | ParameterExpr::ReplaceSubstring { parameter, .. } => Some(parameter),
        ParameterExpr::VariableNames { .. } | ParameterExpr::MemberKeys { .. } => None,
    }
}
