//! The table of wire formats.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Dialect, anthropic_messages, bedrock_converse, chat_completions, gemini, responses};
use crate::providers::Error;

/// Sets a wire format up with a vendor's quirks, an object; the error is what is wrong with them.
type Build = fn(&Value) -> Result<Arc<dyn Dialect>, String>;

/// A wire format is a row here and a folder beside this file.
const DIALECTS: &[(&str, Build)] = &[
    (chat_completions::NAME, |quirks| {
        Ok(Arc::new(chat_completions::ChatCompletions { quirks: read(quirks)? }))
    }),
    (anthropic_messages::NAME, |quirks| {
        Ok(Arc::new(anthropic_messages::AnthropicMessages { quirks: read(quirks)? }))
    }),
    (responses::NAME, |quirks| Ok(Arc::new(responses::Responses { quirks: read(quirks)? }))),
    (bedrock_converse::NAME, |quirks| {
        Ok(Arc::new(bedrock_converse::BedrockConverse { quirks: read(quirks)? }))
    }),
    (gemini::NAME, |quirks| read::<NoQuirks>(quirks).map(|_| Arc::new(gemini::Gemini) as Arc<dyn Dialect>)),
];

/// A wire format that is the same everywhere.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NoQuirks {}

/// Other names for them: the reference's, and shorter ones.
const ALIASES: &[(&str, &str)] = &[
    ("codex_responses", "responses"),
    ("openai_responses", "responses"),
    ("chat", "chat_completions"),
    ("openai_chat", "chat_completions"),
    ("openai-chat", "chat_completions"),
    ("anthropic", "anthropic_messages"),
    ("messages", "anthropic_messages"),
    ("bedrock", "bedrock_converse"),
    ("converse", "bedrock_converse"),
    ("google", "gemini"),
    ("generate_content", "gemini"),
];

/// The quirks of a dialect from a vendor's table; a field that it does not know is an error.
///
/// # Errors
/// What is wrong with them.
pub fn read<T: DeserializeOwned>(quirks: &Value) -> Result<T, String> {
    let quirks = if quirks.is_null() { Value::Object(serde_json::Map::new()) } else { quirks.clone() };
    serde_json::from_value(quirks).map_err(|error| error.to_string())
}

/// The name of the wire format that `name` stands for, known here or not.
pub fn canonical(name: &str) -> &str {
    let name = name.trim();
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name)
}

/// Names of all wire formats.
pub fn names() -> impl Iterator<Item = &'static str> {
    DIALECTS.iter().map(|(name, _)| *name)
}

/// The wire format of this name, with a vendor's quirks.
///
/// # Errors
/// [`Error::UnknownDialect`], [`Error::BadQuirks`].
pub fn build(name: &str, quirks: &Value) -> Result<Arc<dyn Dialect>, Error> {
    let name = canonical(name);
    let unknown =
        || Error::UnknownDialect { name: name.to_owned(), known: names().collect::<Vec<_>>().join(", ") };
    let (name, build) = DIALECTS.iter().find(|(known, _)| *known == name).ok_or_else(unknown)?;
    build(quirks).map_err(|reason| Error::BadQuirks { dialect: (*name).to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_row_is_built_and_bears_its_name() {
        for name in names() {
            assert_eq!(build(name, &Value::Null).unwrap().name(), name);
            assert_eq!(canonical(name), name);
        }
        assert_eq!(
            build("chat", &json!({"output_limit": "max_completion_tokens"})).unwrap().name(),
            "chat_completions"
        );
    }

    #[test]
    fn what_is_not_known_is_said() {
        let error = build("telepathy", &Value::Null).err().unwrap().to_string();
        assert!(error.contains("`telepathy`") && error.contains("chat_completions"), "{error}");
        let error = build("chat_completions", &json!({"quirk": 1})).err().unwrap().to_string();
        assert!(error.contains("quirk"), "{error}");
    }
}
