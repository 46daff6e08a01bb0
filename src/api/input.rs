//! What clients send as content: a text, or parts of texts and images.

use base64::Engine as _;
use herm_replay::log::Log;
use herm_schema::events::Attachment;
use serde_json::Value;

use super::server::Refusal;

/// Longest text of a part, in characters.
const TEXT_CHARS_MAX: usize = 65_536;
/// Parts of one content, at most.
const PARTS_MAX: usize = 64;

/// What was said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub text: String,
    pub attachments: Vec<Attachment>,
}

/// Reads content in any of the shapes that clients use.
///
/// # Errors
/// What is not understood, or too long.
pub fn read(content: &Value, log: &dyn Log) -> Result<Said, Refusal> {
    let mut said = Said::default();
    match content {
        Value::Null => {}
        Value::String(text) => said.text = checked(text)?,
        Value::Array(parts) if parts.len() > PARTS_MAX => {
            return Err(Refusal::bad(format!("{} parts exceed the limit of {PARTS_MAX}", parts.len())));
        }
        Value::Array(parts) => {
            let mut texts = Vec::new();
            for part in parts {
                match part.get("type").and_then(Value::as_str).unwrap_or("text") {
                    "text" | "input_text" | "output_text" => {
                        let text = part.get("text").and_then(Value::as_str);
                        texts.push(checked(text.or_else(|| part.as_str()).unwrap_or_default())?);
                    }
                    "image_url" | "input_image" => said.attachments.push(image(part, log)?),
                    other => return Err(Refusal::bad(format!("parts of type `{other}` are not taken"))),
                }
            }
            said.text = texts.join("\n");
        }
        _ => return Err(Refusal::bad("`content` is a text or a list of parts")),
    }
    Ok(said)
}

fn checked(text: &str) -> Result<String, Refusal> {
    let length = text.chars().count();
    if length > TEXT_CHARS_MAX {
        let message =
            format!("a text of {length} characters exceeds the limit of {TEXT_CHARS_MAX} characters");
        return Err(Refusal::bad(message));
    }
    Ok(text.to_owned())
}

/// An image as a data URL; herm fetches nothing for a stranger's URL.
fn image(part: &Value, log: &dyn Log) -> Result<Attachment, Refusal> {
    let url = part.get("image_url");
    let url = url.and_then(|url| url.as_str().or_else(|| url.get("url")?.as_str())).unwrap_or_default();
    let wrong = || Refusal::bad("an image is a `data:image/…;base64,…` URL");
    let (kind, data) =
        url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")).ok_or_else(wrong)?;
    if !kind.starts_with("image/") {
        return Err(wrong());
    }
    let bytes = base64::engine::general_purpose::STANDARD.decode(data).map_err(|_| wrong())?;
    let content = log.put_blob(&bytes).map_err(Refusal::failed)?;
    Ok(Attachment { content, media_type: kind.to_owned(), name: "image".to_owned() })
}
