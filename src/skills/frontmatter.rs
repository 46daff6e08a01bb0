//! The head of a `SKILL.md`: YAML between two lines of `---`. PURE.
//!
//! A text that holds a colon is the most common slip in it, and YAML refuses it; then the head is read line
//! by line, and what is a plain `key: value` counts.

use serde_yaml_ng::{Mapping, Value};

/// Characters of a description that are kept.
pub const DESCRIPTION_CHARS_MAX: usize = 1_024;
/// Words of a list that are kept.
const LIST_MAX: usize = 64;
/// Characters of anything else.
const TEXT_CHARS_MAX: usize = 256;
const FENCE: &str = "---";

/// What the head says. Empty where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontmatter {
    pub name: Option<String>,
    pub description: Option<String>,
    pub version: Option<String>,
    /// Where it can be used: systems and chat platforms.
    pub platforms: Vec<String>,
    pub tags: Vec<String>,
    pub related: Vec<String>,
    pub variables: Vec<Variable>,
    pub commands: Vec<String>,
    /// Only where all of these tools or toolsets are there.
    pub requires: Vec<String>,
    /// Only where none of these is.
    pub fallback_for: Vec<String>,
}

/// A variable that the skill needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// What it is, for a person.
    pub help: Option<String>,
}

/// A file taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    pub frontmatter: Frontmatter,
    pub body: String,
    /// What is wrong, with the line; it was read all the same.
    pub slip: Option<String>,
}

/// Why a file cannot be read at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the frontmatter that line 1 opens with `---` is never closed")]
    NotClosed,
    #[error("the frontmatter is no mapping of keys to values")]
    NoMapping,
}

/// Takes a file apart; the first line of `---` after the head closes it, later ones are rules of the body.
///
/// # Errors
/// The head is not closed, or is no mapping.
pub fn read(text: &str) -> Result<Parts, Error> {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some(FENCE) {
        return Ok(Parts { body: text.trim().to_owned(), ..Parts::default() });
    }
    let mut head = Vec::new();
    loop {
        match lines.next() {
            None => return Err(Error::NotClosed),
            Some(line) if line.trim_end() == FENCE => break,
            Some(line) => head.push(line),
        }
    }
    let body = lines.collect::<Vec<_>>().join("\n").trim().to_owned();
    let (mapping, slip) = match serde_yaml_ng::from_str::<Value>(&head.join("\n")) {
        Ok(Value::Mapping(mapping)) => (mapping, None),
        Ok(Value::Null) => (Mapping::new(), None),
        Ok(_) => return Err(Error::NoMapping),
        Err(error) => (by_line(&head), Some(slip(&error))),
    };
    Ok(Parts { frontmatter: Frontmatter::of(&mapping), body, slip })
}

/// What YAML says, with the line in the file: the fence is the first.
fn slip(error: &serde_yaml_ng::Error) -> String {
    match error.location() {
        Some(at) => {
            format!("line {}: the frontmatter is no YAML; quote texts that hold a colon", at.line() + 1)
        }
        None => "the frontmatter is no YAML; quote texts that hold a colon".to_owned(),
    }
}

fn by_line(head: &[&str]) -> Mapping {
    let pair = |line: &&str| {
        let (key, value) = line.split_once(':')?;
        let plain = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let value = value.trim();
        // A list on one line is still one.
        let list = value.starts_with('[').then(|| serde_yaml_ng::from_str::<Value>(value).ok()).flatten();
        let value = list.unwrap_or_else(|| Value::from(value.trim_matches(['"', '\''])));
        (plain && value.as_str() != Some("")).then(|| (Value::from(key), value))
    };
    head.iter().filter_map(pair).collect()
}

impl Frontmatter {
    fn of(top: &Mapping) -> Self {
        let own: Vec<&Mapping> = ["herm", "hermes"]
            .iter()
            .filter_map(|vendor| top.get("metadata")?.get(vendor)?.as_mapping())
            .chain([top])
            .collect();
        let first = |key: &str| own.iter().find_map(|mapping| mapping.get(key));
        let all = |keys: &[&str]| -> Vec<String> {
            let lists = keys.iter().filter_map(|key| first(key));
            lists.flat_map(words).take(LIST_MAX).collect()
        };
        let prerequisites = top.get("prerequisites").and_then(Value::as_mapping);
        let needs = |key: &str| prerequisites.and_then(|needs| needs.get(key));
        let listed = [first("required_environment_variables"), needs("env_vars")];
        let variables = listed.into_iter().flatten().filter_map(Value::as_sequence).flatten();
        let mut commands = all(&["required_commands"]);
        commands.extend(needs("commands").map(words).unwrap_or_default());
        Self {
            name: top.get("name").and_then(|value| text(value, TEXT_CHARS_MAX)),
            description: top.get("description").and_then(|value| text(value, DESCRIPTION_CHARS_MAX)),
            version: top.get("version").and_then(|value| text(value, TEXT_CHARS_MAX)),
            platforms: all(&["platforms"]).iter().map(|word| word.to_lowercase()).collect(),
            tags: all(&["tags"]),
            related: all(&["related_skills"]),
            variables: variables.filter_map(variable).take(LIST_MAX).collect(),
            commands,
            requires: all(&["requires_tools", "requires_toolsets"]),
            fallback_for: all(&["fallback_for_tools", "fallback_for_toolsets"]),
        }
    }
}

fn variable(value: &Value) -> Option<Variable> {
    let named = |key: &str| value.get(key).and_then(|value| text(value, TEXT_CHARS_MAX));
    match value {
        Value::String(_) => text(value, TEXT_CHARS_MAX).map(|name| Variable { name, help: None }),
        _ => Some(Variable { name: named("name")?, help: named("help").or_else(|| named("prompt")) }),
    }
}

/// A text on one line; numbers count as what they look like.
fn text(value: &Value, chars_max: usize) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(yes) => yes.to_string(),
        _ => return None,
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then(|| text.chars().take(chars_max).collect())
}

/// A list of words, or one word, or several with commas between.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::Sequence(list) => list.iter().filter_map(|value| text(value, TEXT_CHARS_MAX)).collect(),
        value => {
            let text = text(value, DESCRIPTION_CHARS_MAX).unwrap_or_default();
            text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
        }
    }
}
