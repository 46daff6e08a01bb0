//! What is derived from the table for people and editors: the example file and the JSON schema.
//!
//! Both are committed in `generated/`, and a test keeps them equal to the table. To write them
//! anew: `HERM_WRITE_GENERATED=1 cargo test -p herm generated`.

use serde_json::{Map, Value as Json, json};

use super::{KEYS, Key, Kind};

/// Characters of a comment line in the example.
const WIDTH: usize = 100;

/// An example `config.yaml`: every setting with its default, commented out.
pub fn example() -> String {
    let mut text = String::from(
        "# Settings of herm. Everything here is optional; what stands commented out is the default.\n\
         # A variable given in brackets overrides the file; the command line overrides both.\n",
    );
    let mut open: Vec<&str> = Vec::new();
    for key in KEYS {
        let sections: Vec<&str> = key.path.split('.').collect();
        let (name, sections) =
            sections.split_last().map_or((key.path, &[][..]), |(name, rest)| (*name, rest));
        let shared = open.iter().zip(sections).take_while(|(a, b)| a == b).count();
        if shared == 0 {
            text.push('\n');
        }
        for (depth, section) in sections.iter().enumerate().skip(shared) {
            text.push_str(&format!("{}{section}:\n", "  ".repeat(depth)));
        }
        open = sections.to_vec();
        let indent = "  ".repeat(sections.len());
        for line in wrapped(&format!("{} [{}]", key.doc, key.env), WIDTH.saturating_sub(indent.len())) {
            text.push_str(&format!("{indent}# {line}\n"));
        }
        text.push_str(&format!("{indent}#{name}: {}\n", key.default));
    }
    text
}

/// Breaks a text into lines at spaces.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// JSON Schema of `config.yaml`.
pub fn json_schema() -> Json {
    let mut root = object("");
    root.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    root.insert("title".into(), "Settings of herm".into());
    Json::Object(root)
}

/// The object that stands for the section `prefix` (empty, or ending in a dot).
fn object(prefix: &str) -> Map<String, Json> {
    let mut properties = Map::new();
    for key in KEYS {
        let Some(rest) = key.path.strip_prefix(prefix) else { continue };
        match rest.split_once('.') {
            None => drop(properties.insert(rest.into(), leaf(key))),
            Some((section, _)) if !properties.contains_key(section) => {
                let inner = object(&format!("{prefix}{section}."));
                properties.insert(section.into(), Json::Object(inner));
            }
            Some(_) => {}
        }
    }
    let mut map = Map::new();
    map.insert("type".into(), "object".into());
    map.insert("additionalProperties".into(), false.into());
    map.insert("properties".into(), Json::Object(properties));
    map
}

fn leaf(key: &Key) -> Json {
    let mut schema = match key.kind {
        Kind::Text | Kind::Secret | Kind::Zone => json!({"type": "string"}),
        Kind::Bool => json!({"type": "boolean"}),
        Kind::Integer { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Kind::Number { min, max } => json!({"type": "number", "minimum": min, "maximum": max}),
        Kind::Choice(words) => json!({"type": "string", "enum": words}),
        Kind::List => json!({"type": "array", "items": {"type": "string"}}),
        Kind::Mapping => json!({"type": "object"}),
        Kind::Entries => json!({"type": "array", "items": {"type": ["string", "object"]}}),
    };
    if let Json::Object(map) = &mut schema {
        map.insert("description".into(), key.doc.into());
        map.insert("default".into(), key.default_value().json());
        if key.is_secret() {
            map.insert("writeOnly".into(), true.into());
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::RawConfig;
    use super::*;

    fn committed(name: &str, now: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config/generated").join(name);
        if std::env::var_os("HERM_WRITE_GENERATED").is_some() {
            std::fs::write(&path, now).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(found, now, "run: HERM_WRITE_GENERATED=1 cargo test -p herm generated");
    }

    #[test]
    fn the_generated_example_is_the_committed_one() {
        committed("config.example.yaml", &example());
    }

    #[test]
    fn the_generated_schema_is_the_committed_one() {
        committed("config.schema.json", &(serde_json::to_string_pretty(&json_schema()).unwrap() + "\n"));
    }

    #[test]
    fn the_generated_example_says_nothing_until_a_comment_is_taken_away() {
        let path = Path::new("example");
        assert_eq!(RawConfig::parse(&example(), path).unwrap(), RawConfig::default());
        let uncommented: String = example()
            .lines()
            .map(|line| {
                let body = line.trim_start();
                let key = body.strip_prefix('#').filter(|rest| !rest.starts_with(' '));
                key.map_or(line.to_owned(), |_| line.replacen('#', "", 1)) + "\n"
            })
            .collect();
        let raw = RawConfig::parse(&uncommented, path).unwrap();
        for key in KEYS {
            assert_eq!(raw.get(key).unwrap().value, key.default_value(), "{}", key.path);
        }
    }

    #[test]
    fn the_generated_schema_knows_every_key() {
        let schema = json_schema();
        for key in KEYS {
            let pointer: String = key.path.split('.').map(|part| format!("/properties/{part}")).collect();
            assert!(
                schema.pointer(&pointer).is_some_and(|leaf| leaf["description"] == key.doc),
                "{}",
                key.path
            );
        }
    }
}
