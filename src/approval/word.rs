//! Words as the shell would see them: quotes removed, home directories put in, split where it
//! splits, and what is only known when it runs marked as such.

use brush_parser::word::{
    BraceExpressionMember, BraceExpressionOrText, Parameter, ParameterExpr, SpecialParameter, TildeExpr,
    WordPiece, WordPieceWithSource,
};

use super::parse;
use super::walk::Walk;

/// Words that brace expansion may make of one word.
const BRACE_WORDS_MAX: usize = 64;
/// Stands for the home directory where none is known; no real path has this name.
pub const HOME_UNKNOWN: &str = "/\u{1}home";

/// One word after expansion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    text: String,
    /// Part of it is only known when it runs.
    pub unknown: bool,
    /// Part of it comes from a variable of the line, whose value may be another one by then.
    pub variable: bool,
    /// It has wildcards that the shell replaces by names of files.
    pub glob: bool,
}

impl Field {
    pub fn literal(text: &str) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub fn unknown() -> Self {
        Self { unknown: true, ..Self::default() }
    }

    /// The word, if all of it is known. Wildcards stay as they are written.
    pub fn value(&self) -> Option<&str> {
        (!self.unknown).then_some(self.text.as_str())
    }

    /// What is known of the word.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The word, if it is the same whenever the line runs.
    pub fn fixed(&self) -> Option<&str> {
        // A lone bracket is the program `[`: there is no wildcard without the closing one.
        let glob = self.glob && self.text != "[";
        (!self.unknown && !self.variable && !glob).then_some(self.text.as_str())
    }
}

/// The fields that a word becomes.
pub fn expand(word: &str, walk: &mut Walk) -> Vec<Field> {
    if !walk.spend(word.len()) {
        return vec![Field::unknown()];
    }
    if word.contains('{')
        && let Some(parts) = parse::braces(word)
    {
        let Some(words) = brace_words(&parts) else { return vec![Field::unknown()] };
        return words.iter().flat_map(|word| expand_plain(word, walk)).collect();
    }
    expand_plain(word, walk)
}

/// The text of a word in which nothing is split, such as a here-document or an assignment.
pub fn expand_unsplit(pieces: &[WordPieceWithSource], walk: &mut Walk) -> Field {
    let mut line = Fields::default();
    line.current.get_or_insert_default();
    for piece in pieces {
        line.piece(&piece.piece, true, walk);
    }
    line.current.unwrap_or_default()
}

fn expand_plain(word: &str, walk: &mut Walk) -> Vec<Field> {
    let Some(pieces) = parse::pieces(word) else {
        walk.unread("part of it cannot be read");
        return vec![Field::unknown()];
    };
    let mut line = Fields::default();
    for piece in &pieces {
        line.piece(&piece.piece, false, walk);
    }
    line.finish()
}

fn brace_words(parts: &[BraceExpressionOrText]) -> Option<Vec<String>> {
    let mut words = vec![String::new()];
    for part in parts {
        let choices = match part {
            BraceExpressionOrText::Text(text) => vec![text.clone()],
            BraceExpressionOrText::Expr(members) => {
                let mut choices = vec![];
                for member in members {
                    match member {
                        BraceExpressionMember::Child(parts) => choices.extend(brace_words(parts)?),
                        // Numbers and letters in a row: which is no matter, none is a path.
                        BraceExpressionMember::NumberSequence { start, .. } => {
                            choices.push(start.to_string())
                        }
                        BraceExpressionMember::CharSequence { .. } => return None,
                    }
                }
                choices
            }
        };
        if words.len() * choices.len() > BRACE_WORDS_MAX {
            return None;
        }
        words = words
            .iter()
            .flat_map(|word| choices.iter().map(move |choice| format!("{word}{choice}")))
            .collect();
    }
    Some(words)
}

/// Fields in the making.
#[derive(Default)]
struct Fields {
    done: Vec<Field>,
    current: Option<Field>,
}

impl Fields {
    fn finish(mut self) -> Vec<Field> {
        self.done.extend(self.current.take());
        self.done
    }

    fn current(&mut self) -> &mut Field {
        self.current.get_or_insert_default()
    }

    fn push(&mut self, text: &str) {
        self.current().text.push_str(text);
    }

    fn push_unquoted(&mut self, text: &str) {
        self.push(text);
        if text.contains(['*', '?', '[']) {
            self.current().glob = true;
        }
    }

    fn push_unknown(&mut self) {
        self.current().unknown = true;
    }

    fn split(&mut self) {
        self.done.extend(self.current.take());
    }

    fn piece(&mut self, piece: &WordPiece, quoted: bool, walk: &mut Walk) {
        match piece {
            WordPiece::Text(text) if quoted => self.push(text),
            WordPiece::Text(text) => self.push_unquoted(text),
            WordPiece::SingleQuotedText(text) => self.push(text),
            WordPiece::AnsiCQuotedText(text) => self.ansi_c(text),
            WordPiece::DoubleQuotedSequence(pieces) | WordPiece::GettextDoubleQuotedSequence(pieces) => {
                self.current();
                for piece in pieces {
                    self.piece(&piece.piece, true, walk);
                }
            }
            WordPiece::EscapeSequence(text) => self.push(&unescaped(text)),
            WordPiece::TildeExpansion(tilde) => self.tilde(tilde, walk),
            WordPiece::ParameterExpansion(expression) => self.parameter(expression, quoted, walk),
            WordPiece::CommandSubstitution(script) | WordPiece::BackquotedCommandSubstitution(script) => {
                walk.substitution(script);
                self.push_unknown();
            }
            WordPiece::ArithmeticExpression(expression) => {
                walk.operand(&expression.value);
                self.push_unknown();
            }
        }
    }

    /// `$'…'` with any escape in it is not read: it is a rare way to write a word, and asked about.
    fn ansi_c(&mut self, text: &str) {
        match decode_ansi_c(text) {
            Some(text) => self.push(&text),
            None => self.push_unknown(),
        }
    }

    fn tilde(&mut self, tilde: &TildeExpr, walk: &Walk) {
        match tilde {
            TildeExpr::Home => self.push(&walk.home()),
            TildeExpr::UserHome(user) if user == "root" => self.push("/root"),
            TildeExpr::UserHome(user) => self.push(&format!("/home/{user}")),
            TildeExpr::WorkingDir => match walk.cwd() {
                Some(cwd) => self.push(&cwd),
                None => self.push_unknown(),
            },
            _ => self.push_unknown(),
        }
    }

    fn parameter(&mut self, expression: &ParameterExpr, quoted: bool, walk: &mut Walk) {
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
        let value = plain_value(expression, walk);
        match value {
            Value::Known(text) => self.push(&text),
            Value::Separator if quoted => self.push(" "),
            Value::Separator => self.split(),
            Value::Assigned(text) if quoted => {
                self.push(&text);
                self.current().variable = true;
            }
            Value::Assigned(text) => self.push_split(&text),
            Value::Unknown => self.push_unknown(),
        }
    }

    fn push_split(&mut self, text: &str) {
        if text.starts_with(char::is_whitespace) {
            self.split();
        }
        for (nth, word) in text.split_whitespace().enumerate() {
            if nth > 0 {
                self.split();
            }
            self.push_unquoted(word);
            self.current().variable = true;
        }
        if text.ends_with(char::is_whitespace) {
            self.split();
        }
    }
}

/// What is known of a parameter's value.
enum Value {
    Known(String),
    /// `IFS`: white space that splits words.
    Separator,
    /// By the line itself.
    Assigned(String),
    Unknown,
}

fn plain_value(expression: &ParameterExpr, walk: &Walk) -> Value {
    let (parameter, default) = match expression {
        ParameterExpr::Parameter { parameter, indirect: false } => (parameter, None),
        ParameterExpr::UseDefaultValues { parameter, indirect: false, default_value, .. }
        | ParameterExpr::AssignDefaultValues { parameter, indirect: false, default_value, .. } => {
            (parameter, default_value.as_deref())
        }
        ParameterExpr::IndicateErrorIfNullOrUnset { parameter, indirect: false, .. } => (parameter, None),
        _ => return Value::Unknown,
    };
    match parameter {
        Parameter::Named(name) => named_value(name, default, walk),
        Parameter::Special(
            SpecialParameter::LastExitStatus
            | SpecialParameter::PositionalParameterCount
            | SpecialParameter::ProcessId
            | SpecialParameter::LastBackgroundProcessId,
        ) => Value::Known("0".into()),
        _ => Value::Unknown,
    }
}

fn named_value(name: &str, default: Option<&str>, walk: &Walk) -> Value {
    match name {
        "HOME" => Value::Known(walk.home()),
        "IFS" => Value::Separator,
        "PWD" => walk.cwd().map_or(Value::Unknown, Value::Known),
        _ => match (walk.variable(name), default) {
            (Some(value), _) => Value::Assigned(value),
            // A default that is plain text is what an unset variable becomes.
            (None, Some(default)) if !default.contains(['$', '`', '"', '\'', '\\']) => {
                Value::Assigned(default.to_owned())
            }
            _ => Value::Unknown,
        },
    }
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

/// `\x` is `x`; a backslash before a newline is nothing.
fn unescaped(text: &str) -> String {
    match text.strip_prefix('\\') {
        Some("\n") => String::new(),
        Some(rest) => rest.into(),
        None => text.into(),
    }
}

/// Text of `$'…'`: octal, hexadecimal and single-letter escapes.
fn decode_ansi_c(text: &str) -> Option<String> {
    let mut decoded = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            decoded.push(c);
            continue;
        }
        let (radix, digits_max, mut digits) = match chars.next()? {
            'x' => (16, 2, String::new()),
            'u' => (16, 4, String::new()),
            'U' => (16, 8, String::new()),
            first @ '0'..='7' => (8, 3, first.to_string()),
            'n' => {
                decoded.push('\n');
                continue;
            }
            't' => {
                decoded.push('\t');
                continue;
            }
            plain @ ('\\' | '\'' | '"' | '?') => {
                decoded.push(plain);
                continue;
            }
            _ => return None,
        };
        while digits.len() < digits_max
            && let Some(digit) = chars.next_if(|c| c.is_digit(radix))
        {
            digits.push(digit);
        }
        decoded.push(char::from_u32(u32::from_str_radix(&digits, radix).ok()?)?);
    }
    Some(decoded)
}
