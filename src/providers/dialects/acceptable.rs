//! PURE: texts, names and ids of tools, arguments, schemas and images, as nearly every vendor takes
//! them. [`schema`] is about schemas, [`Shape`] about vendors with an alphabet of their own.
//!
//! What is acceptable already is left alone. What is changed is changed by itself alone, never by
//! what stands around it, so that a request that goes on from another keeps its bytes.

pub mod schema;
mod shape;

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::providers::{Image, LoadedMessage, ToolDefinition};

pub use shape::Shape;

/// Longest name of a tool that every vendor takes, in characters.
pub const NAME_CHARS_MAX: usize = 64;
/// Longest id of a call that every vendor takes, in characters; it is OpenAI's Chat Completions'.
pub const ID_CHARS_MAX: usize = 40;
/// How much of a name that had to be changed is kept, in characters; its hash follows.
const NAME_KEPT_CHARS: usize = 50;
/// Hexadecimal digits of the hash that tells changed names apart.
const NAME_HASH_CHARS: usize = 8;
/// Hexadecimal digits of the hash that an id becomes.
const ID_HASH_CHARS: usize = 32;

/// `text` without control characters other than tabs and line ends: some vendors refuse them, none
/// makes anything of them.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_unwanted) {
        Cow::Owned(text.chars().filter(|char| !is_unwanted(*char)).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// `messages` without control characters, repaired by [`super::well_formed`]: first the one, since a
/// text may be empty without them.
pub fn well_formed(messages: &[LoadedMessage]) -> Vec<LoadedMessage> {
    let cleaned: Vec<LoadedMessage> = messages.iter().map(cleaned).collect();
    super::well_formed(&cleaned)
}

fn cleaned(message: &LoadedMessage) -> LoadedMessage {
    let mut message = message.clone();
    let (LoadedMessage::User { text, .. }
    | LoadedMessage::Assistant { text, .. }
    | LoadedMessage::Tool { text, .. }) = &mut message;
    if let Cow::Owned(clean) = clean(text) {
        *text = clean;
    }
    message
}

/// `value` without control characters in any of its texts.
pub fn clean_json(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean(&text).into_owned()),
        Value::Array(items) => items.into_iter().map(clean_json).collect(),
        Value::Object(map) => Value::Object(
            map.into_iter().map(|(key, value)| (clean(&key).into_owned(), clean_json(value))).collect(),
        ),
        other => other,
    }
}

/// Arguments as the object that they are; they are canonical already.
pub fn arguments(text: &str) -> Value {
    let value = serde_json::from_str(text).ok().filter(Value::is_object);
    value.map_or_else(|| json!({}), clean_json)
}

fn is_unwanted(char: char) -> bool {
    (char.is_control() && !matches!(char, '\t' | '\n' | '\r')) || matches!(char, '\u{fffe}' | '\u{ffff}')
}

/// `name` in the alphabet `[A-Za-z0-9_-]`, beginning with a letter or an underscore. Two names that
/// differ stay different.
pub fn name(name: &str) -> Cow<'_, str> {
    if is_name(name) {
        return Cow::Borrowed(name);
    }
    let kept: String = name
        .chars()
        .map(|char| if is_word(char) { char } else { '_' })
        .skip_while(|char| !char.is_ascii_alphabetic() && *char != '_')
        .take(NAME_KEPT_CHARS)
        .collect();
    Cow::Owned(format!("{}_{}", if kept.is_empty() { "tool" } else { &kept }, hash(name, NAME_HASH_CHARS)))
}

fn is_name(name: &str) -> bool {
    let first = name.chars().next().is_some_and(|char| char.is_ascii_alphabetic() || char == '_');
    first && name.len() <= NAME_CHARS_MAX && name.chars().all(is_word)
}

fn is_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '-')
}

/// `id` in the alphabet `[A-Za-z0-9_-]`; ids that differ stay different.
pub fn id(id: &str) -> Cow<'_, str> {
    if !id.is_empty() && id.len() <= ID_CHARS_MAX && id.chars().all(is_word) {
        Cow::Borrowed(id)
    } else {
        Cow::Owned(format!("call_{}", hash(id, ID_HASH_CHARS)))
    }
}

/// The first `chars` hexadecimal digits of the hash of `text`.
pub fn hash(text: &str, chars: usize) -> String {
    blake3::hash(text.as_bytes()).to_hex().chars().take(chars).collect()
}

/// Names of tools that had to be changed, to be changed back in the answer.
#[derive(Clone, Debug, Default)]
pub struct Names(Vec<(String, String)>);

impl Names {
    pub fn of(tools: &[ToolDefinition]) -> Self {
        let changed = tools.iter().filter(|tool| !is_name(&tool.name));
        Self(changed.map(|tool| (name(&tool.name).into_owned(), tool.name.clone())).collect())
    }

    /// The name of the tool that was sent as `sent`.
    pub fn original<'a>(&'a self, sent: &'a str) -> &'a str {
        self.0.iter().find(|(changed, _)| changed == sent).map_or(sent, |(_, original)| original)
    }
}

/// The bytes of `image`, in base64.
pub fn base64(image: &Image) -> String {
    STANDARD.encode(&image.bytes)
}

/// `image` as a URL that holds it.
pub fn data_url(image: &Image) -> String {
    format!("data:{};base64,{}", image.media_type, base64(image))
}

/// `messages` with the images of tool results in the message of the user that follows them, for
/// vendors whose tool results are text. `messages` are well formed, and so is what comes of them.
pub fn images_after_results(messages: Vec<LoadedMessage>) -> Vec<LoadedMessage> {
    let mut out: Vec<LoadedMessage> = Vec::with_capacity(messages.len());
    let mut shown = Shown::default();
    for message in messages {
        match message {
            LoadedMessage::Tool { id, name, mut text, images } => {
                if !images.is_empty() {
                    note(&mut text, images.len());
                    shown.add(&name, images);
                }
                out.push(LoadedMessage::Tool { id, name, text, images: Vec::new() });
            }
            LoadedMessage::User { text, images } if !shown.images.is_empty() => {
                let before = std::mem::take(&mut shown);
                let text = if text.is_empty() { before.text } else { format!("{}\n\n{text}", before.text) };
                let images = before.images.into_iter().chain(images).collect();
                out.push(LoadedMessage::User { text, images });
            }
            other => {
                out.extend(std::mem::take(&mut shown).message());
                out.push(other);
            }
        }
    }
    out.extend(shown.message());
    out
}

/// Images of results that have not been sent yet.
#[derive(Default)]
struct Shown {
    text: String,
    images: Vec<Image>,
}

impl Shown {
    fn add(&mut self, tool: &str, images: Vec<Image>) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&format!("[{} of the result of `{tool}`]", counted(images.len())));
        self.images.extend(images);
    }

    fn message(self) -> Option<LoadedMessage> {
        let Self { text, images } = self;
        (!images.is_empty()).then_some(LoadedMessage::User { text, images })
    }
}

fn note(text: &mut String, images: usize) {
    if !text.trim().is_empty() {
        text.push('\n');
    }
    text.push_str(&format!("[{} in the message after the tool results]", counted(images)));
}

fn counted(images: usize) -> String {
    if images == 1 { "1 image".to_owned() } else { format!("{images} images") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Image {
        Image { media_type: "image/png".into(), bytes: vec![1, 2, 3].into() }
    }

    #[test]
    fn names_and_ids_that_are_acceptable_stay() {
        assert_eq!(name("read_file"), "read_file");
        assert_eq!(id("call_1-a"), "call_1-a");
    }

    #[test]
    fn others_are_changed_and_stay_different() {
        let changed = [name("a.b"), name("a/b"), name(""), name("1a"), name("日本")];
        assert!(changed.iter().all(|name| is_name(name)), "{changed:?}");
        assert_eq!(changed.iter().collect::<std::collections::BTreeSet<_>>().len(), changed.len());
        let long = "x".repeat(80);
        assert!(is_name(&name(&long)));
        assert!(id(&long).len() <= ID_CHARS_MAX && id("") != id(" "));
    }

    #[test]
    fn a_changed_name_is_changed_back() {
        let tool = |name: &str| ToolDefinition {
            name: name.into(),
            description: String::new(),
            parameters: serde_json::json!({}),
        };
        let names = Names::of(&[tool("a.b"), tool("c")]);
        assert_eq!(
            (names.original(&name("a.b")), names.original("c"), names.original("d")),
            ("a.b", "c", "d")
        );
    }

    #[test]
    fn control_characters_go_and_line_ends_stay() {
        assert_eq!(clean("a\u{0}b\u{1b}[0m\r\n\tc"), "ab[0m\r\n\tc");
        assert!(matches!(clean("plain"), Cow::Borrowed(_)));
        assert_eq!(arguments("{\"a\":[\"x\\u0000y\"]}"), json!({"a": ["xy"]}));
        assert_eq!(arguments("[1]"), json!({}));
    }

    #[test]
    fn images_of_results_follow_all_results() {
        let result = |id: &str, images| LoadedMessage::Tool {
            id: id.into(),
            name: "f".into(),
            text: "r".into(),
            images,
        };
        let text = "[1 image of the result of `f`]";
        let note = "r\n[1 image in the message after the tool results]";
        let out = images_after_results(vec![result("a", vec![image()]), result("b", vec![])]);
        let expected = [
            LoadedMessage::tool("a", "f", note),
            result("b", vec![]),
            LoadedMessage::User { text: text.into(), images: vec![image()] },
        ];
        assert_eq!(out, expected);
        let out = images_after_results(vec![result("a", vec![image()]), LoadedMessage::user("go on")]);
        assert_eq!(out[1], LoadedMessage::User { text: format!("{text}\n\ngo on"), images: vec![image()] });
    }
}
