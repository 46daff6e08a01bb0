//! What a setting can be, and how a text becomes one.

use serde_yaml_ng::Value as Yaml;

/// What a setting takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Text,
    /// A text that is never shown.
    Secret,
    Bool,
    /// A whole number within these bounds, inclusive.
    Integer {
        min: u64,
        max: u64,
    },
    /// A number within these bounds, inclusive.
    Number {
        min: f64,
        max: f64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Texts.
    List,
    /// A time zone of the IANA database; empty for the system's.
    Zone,
    /// A mapping whose keys are not herm's to know; whoever reads it checks it.
    Mapping,
    /// A list of texts and of such mappings.
    Entries,
}

/// What a setting is.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    Bool(bool),
    Integer(u64),
    Number(f64),
    List(Vec<String>),
    /// What [`Kind::Mapping`] and [`Kind::Entries`] hold.
    Tree(serde_json::Value),
}

impl Kind {
    /// What is expected, for an error and for the explanation.
    pub fn expected(&self) -> String {
        match self {
            Self::Text => "a text".into(),
            Self::Secret => "a text (it is never shown)".into(),
            Self::Bool => "`true` or `false`".into(),
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::Number { min, max } => format!("a number from {min} to {max}"),
            Self::Choice(words) => {
                words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or ")
            }
            Self::List => "a list of texts such as `[one, two]`".into(),
            Self::Mapping => "a mapping such as `{name: {key: value}}`".into(),
            Self::Entries => "a list such as `[one, {key: value}]`".into(),
            Self::Zone => "an IANA time zone such as `Europe/Athens`, or nothing".into(),
        }
    }

    /// Reads a value as it stands in the file. `None` if it is not of this kind.
    pub fn of_yaml(&self, yaml: &Yaml) -> Option<Value> {
        match (self, yaml) {
            (Self::Text | Self::Secret | Self::Choice(_) | Self::Zone, _) => {
                self.checked(Value::Text(scalar(yaml)?))
            }
            (Self::Bool, Yaml::Bool(yes)) => Some(Value::Bool(*yes)),
            (Self::Integer { .. }, Yaml::Number(number)) => self.checked(Value::Integer(number.as_u64()?)),
            (Self::Number { .. }, Yaml::Number(number)) => self.checked(Value::Number(number.as_f64()?)),
            (Self::List, Yaml::Sequence(items)) => {
                items.iter().map(scalar).collect::<Option<_>>().map(Value::List)
            }
            (Self::Mapping, Yaml::Mapping(_)) | (Self::Entries, Yaml::Sequence(_)) => {
                tree(yaml).map(Value::Tree)
            }
            _ => None,
        }
    }

    /// Reads a value from the command line or from a variable. `None` if it is not of this kind.
    pub fn of_text(&self, text: &str) -> Option<Value> {
        let trimmed = text.trim();
        match self {
            Self::Text | Self::Secret => Some(Value::Text(text.to_owned())),
            Self::Choice(_) | Self::Zone => self.checked(Value::Text(trimmed.to_owned())),
            Self::Bool => match trimmed.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => Some(Value::Bool(true)),
                "false" | "no" | "off" | "0" => Some(Value::Bool(false)),
                _ => None,
            },
            Self::Integer { .. } => self.checked(Value::Integer(trimmed.parse().ok()?)),
            Self::Number { .. } => self.checked(Value::Number(trimmed.parse().ok()?)),
            Self::List => list_of_text(trimmed),
            Self::Mapping | Self::Entries => self.of_yaml(&serde_yaml_ng::from_str(trimmed).ok()?),
        }
    }

    fn checked(&self, value: Value) -> Option<Value> {
        let fits = match (self, &value) {
            (Self::Integer { min, max }, Value::Integer(n)) => (min..=max).contains(&n),
            (Self::Number { min, max }, Value::Number(n)) => (min..=max).contains(&n),
            (Self::Choice(words), Value::Text(text)) => words.contains(&text.as_str()),
            (Self::Zone, Value::Text(text)) => text.is_empty() || jiff::tz::TimeZone::get(text).is_ok(),
            _ => true,
        };
        fits.then_some(value)
    }
}

/// `[a, b]` as YAML has it, or `a, b`.
fn list_of_text(text: &str) -> Option<Value> {
    if text.starts_with('[') {
        return Kind::List.of_yaml(&serde_yaml_ng::from_str(text).ok()?);
    }
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    Some(Value::List(items.map(str::to_owned).collect()))
}

/// The same in JSON; `None` for what JSON has not: tags, keys that are no text, infinite numbers.
fn tree(yaml: &Yaml) -> Option<serde_json::Value> {
    Some(match yaml {
        Yaml::Null => serde_json::Value::Null,
        Yaml::Bool(yes) => (*yes).into(),
        Yaml::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => number.into(),
            (None, Some(number)) => number.into(),
            (None, None) => serde_json::Number::from_f64(number.as_f64()?)?.into(),
        },
        Yaml::String(text) => text.as_str().into(),
        Yaml::Sequence(items) => items.iter().map(tree).collect::<Option<Vec<_>>>()?.into(),
        Yaml::Mapping(mapping) => {
            let field = |(key, value): (&Yaml, &Yaml)| Some((key.as_str()?.to_owned(), tree(value)?));
            serde_json::Value::Object(mapping.iter().map(field).collect::<Option<_>>()?)
        }
        Yaml::Tagged(_) => return None,
    })
}

/// A scalar as text; a person who writes `default: 4` for a text means `4`.
fn scalar(yaml: &Yaml) -> Option<String> {
    match yaml {
        Yaml::Null => Some(String::new()),
        Yaml::String(text) => Some(text.clone()),
        Yaml::Number(number) => Some(number.to_string()),
        Yaml::Bool(yes) => Some(yes.to_string()),
        _ => None,
    }
}

impl Value {
    /// On one line, as it would stand in the file.
    pub fn yaml(&self) -> String {
        match self {
            Self::Text(text) => quoted(text),
            Self::Bool(yes) => yes.to_string(),
            Self::Integer(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
            Self::List(items) => {
                format!("[{}]", items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", "))
            }
            Self::Tree(tree) => flow(tree),
        }
    }

    pub fn json(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Bool(yes) => (*yes).into(),
            Self::Integer(number) => (*number).into(),
            Self::Number(number) => (*number).into(),
            Self::List(items) => items.clone().into(),
            Self::Tree(tree) => tree.clone(),
        }
    }
}

/// On one line; a name and its value with a space between, which older readers want.
fn flow(tree: &serde_json::Value) -> String {
    match tree {
        serde_json::Value::Object(fields) => {
            let field = |(name, value): (&String, _)| format!("{}: {}", quoted(name), flow(value));
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        serde_json::Value::Array(items) => {
            format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        serde_json::Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

/// Plain where YAML reads it back as the same text, else a JSON string, which YAML reads as such.
fn quoted(text: &str) -> String {
    let plain = !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-/+@".contains(c))
        && serde_yaml_ng::from_str::<Yaml>(text).is_ok_and(|yaml| yaml == Yaml::String(text.to_owned()));
    if plain { text.to_owned() } else { escaped(&serde_json::Value::from(text).to_string()) }
}

/// Escapes what JSON lets through and YAML does not, or would take for the end of a line.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_and_words_are_kept() {
        let turns = Kind::Integer { min: 1, max: 10 };
        assert_eq!(turns.of_text("10"), Some(Value::Integer(10)));
        assert_eq!(turns.of_text("11"), None);
        assert_eq!(turns.of_text("-1"), None);
        assert_eq!(Kind::Number { min: 0.1, max: 1.0 }.of_text("NaN"), None);
        assert_eq!(Kind::Choice(&["queue"]).of_text("queeu"), None);
        assert_eq!(Kind::Zone.of_text("Europe/Athens"), Some(Value::Text("Europe/Athens".into())));
        assert_eq!(Kind::Zone.of_text("Europe/Atlantis"), None);
    }

    #[test]
    fn lists_come_in_two_spellings() {
        let both = Value::List(vec!["ls".into(), "git status".into()]);
        assert_eq!(Kind::List.of_text("ls, git status"), Some(both.clone()));
        assert_eq!(Kind::List.of_text("[ls, git status]"), Some(both));
        assert_eq!(Kind::List.of_text("[ls, {a: 1}]"), None);
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_is_what_is_read(text in "(?s).*", items in proptest::collection::vec("(?s).*", 0..4)) {
            for (kind, value) in [(Kind::Text, Value::Text(text.clone())), (Kind::List, Value::List(items.clone()))] {
                let document = format!("key: {}\n", value.yaml());
                let yaml: Yaml = serde_yaml_ng::from_str(&document).unwrap();
                proptest::prop_assert_eq!(kind.of_yaml(&yaml["key"]), Some(value));
            }
        }
    }
}
