//! PURE: a mail as what happened.
//!
//! A thread of mails with one correspondent is a chat: its `chat` is their address, its `thread` the id
//! of the mail that began it, which every answer names first in `References` (RFC 5322, 3.6.4).

use base64::Engine;
use herm_schema::Micros;
use herm_schema::events::{ChatKind, ChatRef};
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::{Encoding, Message as Parsed, MessageParser, MessagePart, MimeHeaders, PartType};

use super::headers::Headers;
use super::ids::Ids;
use super::threads::Standing;
use super::{proof, quote};
use crate::platforms::{Author, Chat, Content, Inbound, Media, Message, Reply, What};

/// Name of the platform.
pub(super) const NAME: &str = "email";

/// What reading a mail needs to know.
pub(super) struct Reader<'a> {
    /// herm's own address, in small letters.
    pub address: &'a str,
    pub ids: &'a Ids,
    /// Who may say that a sender is who it says; `None`: whatever `From` says is believed.
    pub servers: Option<&'a [String]>,
    pub media_bytes_max: u64,
    /// The mail was not fetched whole: why, for each file of it.
    pub cut: Option<String>,
}

/// A mail, read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mail {
    Came {
        inbound: Box<Inbound>,
        standing: Standing,
    },
    /// Nobody vouches for its sender.
    Unproven {
        from: String,
    },
    /// It is not a mail that can be answered, such as one without a sender.
    Nothing,
}

/// Reads a mail; `fallback_id` is for one without an id of its own.
pub(super) fn read(raw: &[u8], fallback_id: &str, at: Option<Micros>, reader: &Reader<'_>) -> Mail {
    let headers = Headers::of(raw);
    let Some(parsed) = MessageParser::default().parse(raw) else { return Mail::Nothing };
    if let Some((recipient, original)) = bounced(&parsed, reader.ids) {
        let thread = root(&original, &recipient);
        let why = "a mail to this address came back: there is no such mailbox".to_owned();
        let author = Author { id: recipient.clone(), bot: true, ..Author::default() };
        let chat = place(&recipient, thread, None);
        let id = format!("bounce {fallback_id}");
        let inbound = Inbound { id, chat, author, what: What::Removed { why }, at };
        return Mail::Came { inbound: Box::new(inbound), standing: Standing::default() };
    }
    let Some((from, name)) = first_address(parsed.from()) else { return Mail::Nothing };
    let ours = from == reader.address;
    let is_proven = reader.servers.is_none_or(|servers| proof::is_proven(&headers, &from, servers));
    if !ours && !is_proven {
        return Mail::Unproven { from };
    }
    // Own mails, such as copies of oneself, stand with whom they were written to.
    let correspondent =
        if ours { first_address(parsed.to()).map_or(from.clone(), |(to, _)| to) } else { from.clone() };
    let message_id = headers.ids("message-id").into_iter().next().unwrap_or_else(|| fallback_id.to_owned());
    let standing = Standing {
        subject: parsed.subject().unwrap_or_default().to_owned(),
        last: message_id.clone(),
        references: headers.ids("references"),
    };
    let reply = headers.ids("in-reply-to").into_iter().next();
    let reply = reply.map(|id| Reply { ours: reader.ids.is_own(&id), text: None, message_id: id });
    let text = parsed.body_text(0).map(|text| quote::without_history(&text)).unwrap_or_default();
    let is_answer = !standing.references.is_empty() || reply.is_some();
    let what = What::Message(Message {
        message_id: message_id.clone(),
        // The subject says something where a thread begins; later it is the same again.
        text: match standing.subject.trim() {
            subject if subject.is_empty() || is_answer => text,
            subject => format!("Subject: {subject}\n\n{text}"),
        },
        mentioned: false,
        reply,
        media: media(&parsed, reader),
    });
    let author =
        Author { id: from.clone(), name, aliases: Vec::new(), bot: is_automatic(&headers, &from), ours };
    let chat = place(&correspondent, root(&headers, &message_id), Some(standing.subject.clone()));
    // With its sender, so that nobody makes a mail of another's be taken for one that came before.
    let id = format!("{from} {message_id}");
    let inbound = Inbound { id, chat, author, what, at };
    Mail::Came { inbound: Box::new(inbound), standing }
}

fn place(address: &str, thread: String, title: Option<String>) -> Chat {
    let place = ChatRef { platform: NAME.to_owned(), chat: address.to_owned(), thread: Some(thread) };
    let title = title.filter(|title| !title.is_empty());
    Chat { place, kind: ChatKind::Direct, title, guild: None, parent: None }
}

/// The id of the mail that began the thread.
fn root(headers: &Headers, message_id: &str) -> String {
    let first = headers.ids("references").into_iter().next();
    let first = first.or_else(|| headers.ids("in-reply-to").into_iter().next());
    first.unwrap_or_else(|| message_id.to_owned())
}

fn first_address(addresses: Option<&mail_parser::Address<'_>>) -> Option<(String, Option<String>)> {
    let first = addresses?.first()?;
    let address = first.address.as_ref()?.trim().to_ascii_lowercase();
    let name = first.name.as_ref().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    address.contains('@').then_some((address, name))
}

/// Whether a program wrote it (RFC 3834, and what lists and delivery systems do).
fn is_automatic(headers: &Headers, from: &str) -> bool {
    let is = |name: &str, test: &dyn Fn(&str) -> bool| {
        headers.first(name).is_some_and(|value| test(value.to_ascii_lowercase().trim()))
    };
    let local = from.split('@').next().unwrap_or_default();
    is("auto-submitted", &|value| !value.starts_with("no"))
        || is("precedence", &|value| matches!(value, "bulk" | "list" | "junk" | "auto_reply"))
        || is("return-path", &|value| value == "<>")
        || headers.first("list-id").is_some()
        || headers.first("list-unsubscribe").is_some()
        || matches!(local, "mailer-daemon" | "postmaster" | "no-reply" | "noreply")
}

/// A report that a mail of herm's could not be delivered for good (RFC 3464): to whom, and the headers of
/// that mail.
fn bounced(parsed: &Parsed<'_>, ids: &Ids) -> Option<(String, Headers)> {
    let mut status = None;
    let mut original = None;
    for part in &parsed.parts {
        let kind = part.content_type().map(|kind| {
            format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or_default()).to_ascii_lowercase()
        });
        match kind.as_deref() {
            Some("message/delivery-status") => {
                status = Some(String::from_utf8_lossy(part.contents()).into_owned())
            }
            Some("text/rfc822-headers") => original = Some(Headers::of(part.contents())),
            Some("message/rfc822") => {
                original = Some(match &part.body {
                    PartType::Message(message) => Headers::of(message.raw_message()),
                    _ => Headers::of(part.contents()),
                });
            }
            _ => {}
        }
    }
    let (status, original) = (status?, original?);
    let is_own = original.ids("message-id").iter().any(|id| ids.is_own(id));
    // The first part of it is about the server, the second about the recipient.
    let fields = |name: &str| {
        let line = status.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")));
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_ascii_lowercase())
    };
    let is_final = fields("action").as_deref() == Some("failed")
        && fields("status").is_some_and(|status| status.starts_with("5.1.") || status == "5.0.0");
    let recipient = fields("final-recipient")?;
    let recipient =
        recipient.split_once(';').map_or(recipient.as_str(), |(_, address)| address).trim().to_owned();
    (is_own && is_final && recipient.contains('@')).then_some((recipient, original))
}

fn media(parsed: &Parsed<'_>, reader: &Reader<'_>) -> Vec<Media> {
    let files = parsed.attachments().filter(|part| !part.is_multipart());
    let media = files.enumerate().map(|(number, part)| {
        let media_type = part.content_type().map_or_else(
            || "application/octet-stream".to_owned(),
            |kind| {
                format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or("octet-stream")).to_ascii_lowercase()
            },
        );
        let name = part.attachment_name().map_or_else(|| format!("file-{}", number + 1), str::to_owned);
        let bytes = bytes_of(part, parsed.raw_message());
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let content = match &reader.cut {
            Some(why) => Content::Left(why.clone()),
            None if size > reader.media_bytes_max => {
                Content::Left(format!("{size} bytes, over the limit of {}", reader.media_bytes_max))
            }
            None => Content::Bytes(bytes),
        };
        Media { name, media_type, content }
    });
    media.collect()
}

/// The bytes of a file. The parser reads files of text as UTF-8, which loses what is none.
fn bytes_of(part: &MessagePart<'_>, raw: &[u8]) -> Vec<u8> {
    let place = usize::try_from(part.raw_body_offset()).ok().zip(usize::try_from(part.raw_end_offset()).ok());
    let body = place.and_then(|(begin, end)| raw.get(begin..end));
    let decoded = match (&part.body, part.encoding, body) {
        (PartType::Text(_) | PartType::Html(_), Encoding::None, Some(body)) => Some(body.to_vec()),
        (PartType::Text(_) | PartType::Html(_), Encoding::QuotedPrintable, Some(body)) => {
            quoted_printable_decode(body)
        }
        (PartType::Text(_) | PartType::Html(_), Encoding::Base64, Some(body)) => {
            let code: Vec<u8> = body.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
            base64::engine::general_purpose::STANDARD.decode(code).ok()
        }
        _ => None,
    };
    decoded.unwrap_or_else(|| part.contents().to_vec())
}

#[cfg(test)]
mod tests;
