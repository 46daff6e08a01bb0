//! PURE: an event of a room as what happened, with its file still to be fetched.
//!
//! Nothing here asks anybody anything: what is known of the room and of the event that this one is about
//! is given, and `media` fetches the file.

use herm_schema::Micros;
use herm_schema::events::{ChatKind, ChatRef};
use serde_json::Value;

use super::memory::Known;
use super::mentions::{self, Me};
use super::rooms::Room;
use super::wire::{Event, at};
use crate::platforms::{Author, Chat, Inbound, Message, Reply, What};

/// Name of the platform.
pub(super) const NAME: &str = "matrix";

/// Something that came in, and the file that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Came {
    pub inbound: Inbound,
    pub file: Option<Wanted>,
}

/// A file to be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The parts of its `mxc:` address, or why it has none that can be read.
    pub source: Result<(String, String), &'static str>,
    /// How it is sealed: the `file` of its message.
    pub sealed: Option<Value>,
    pub name: String,
    pub media_type: String,
    /// As its sender says.
    pub bytes: Option<u64>,
}

/// Where an event stands.
pub(super) struct Scene<'a> {
    pub room_id: &'a str,
    pub room: &'a Room,
    /// The event that it answers, changes, reacts to or takes back; `None` if that is not known.
    pub related: Option<&'a Known>,
    pub me: &'a Me,
}

/// Whether anything may come of an event; the others need not be looked into.
pub(super) fn is_wanted(event: &Event, me: &Me) -> bool {
    match event.kind.as_str() {
        "m.room.message" | "m.sticker" | "m.reaction" | "m.room.redaction" => event.state_key.is_none(),
        "m.room.member" => matches!(event.membership_of(&me.id), Some("leave" | "ban")),
        _ => false,
    }
}

/// What an event says; nothing for what concerns nobody, such as a new topic.
pub(super) fn read(event: &Event, scene: &Scene<'_>) -> Option<Came> {
    match event.kind.as_str() {
        "m.room.message" if event.target().is_some() => edited(event, scene),
        "m.room.message" | "m.sticker" => said(event, scene),
        "m.reaction" => reacted(event, scene),
        "m.room.redaction" => taken_back(event, scene),
        _ => removed(event, scene),
    }
}

fn came(event: &Event, scene: &Scene<'_>, thread: Option<&str>, what: What) -> Came {
    let Scene { room_id, room, me, .. } = scene;
    let place =
        ChatRef { platform: NAME.to_owned(), chat: (*room_id).to_owned(), thread: thread.map(str::to_owned) };
    let at = Some(Micros(event.origin_server_ts.saturating_mul(1000)));
    let inbound = Inbound {
        id: event.event_id.clone(),
        chat: Chat { place, kind: room.kind, title: room.title.clone(), guild: None, parent: None },
        author: author(&event.sender, room, me),
        what,
        at,
    };
    Came { inbound, file: None }
}

fn author(id: &str, room: &Room, me: &Me) -> Author {
    Author {
        id: id.to_owned(),
        name: room.names.get(id).cloned(),
        // Without its server a name is anybody's: `@ada:evil.example` is not `@ada:example.org`.
        aliases: Vec::new(),
        bot: false,
        ours: id == me.id,
    }
}

fn said(event: &Event, scene: &Scene<'_>) -> Option<Came> {
    let file = wanted(event);
    let body = match (&file, event.text(&["filename"])) {
        // With a file the body is its name, unless there is one beside it (client-server API 1.10).
        (Some(_), None) => "",
        (Some(_), Some(name)) if event.text(&["body"]) == Some(name) => "",
        _ => mentions::body(event),
    };
    let mut read = mentions::read(&event.content, body, scene.me);
    match event.text(&["msgtype"]) {
        Some("m.emote") => read.text = format!("* {}", read.text),
        Some("m.location") => {
            let place = event.text(&["geo_uri"]).unwrap_or_default();
            read.text = format!("[location: {} ({place})]", read.text);
        }
        _ => {}
    }
    if file.is_none() && read.text.is_empty() && !read.mentioned {
        return None;
    }
    let reply = event.answers().map(|message_id| Reply {
        message_id: message_id.to_owned(),
        text: scene.related.and_then(|related| related.text.clone()),
        ours: scene.related.is_some_and(|related| related.sender == scene.me.id),
    });
    let what = What::Message(Message {
        message_id: event.event_id.clone(),
        text: read.text,
        mentioned: read.mentioned,
        reply,
        media: Vec::new(),
    });
    let mut came = came(event, scene, event.thread(), what);
    // Programs speak in notices, so that no two of them answer each other for ever.
    came.inbound.author.bot = event.text(&["msgtype"]) == Some("m.notice");
    came.file = file;
    Some(came)
}

fn edited(event: &Event, scene: &Scene<'_>) -> Option<Came> {
    // Only who wrote a message may change it; a homeserver hands on whatever was sent.
    let related = scene.related.filter(|related| related.sender == event.sender)?;
    let content = event.content.get("m.new_content")?;
    let body = content.get("body").and_then(Value::as_str)?;
    let text = mentions::read(content, body, scene.me).text;
    let what = What::Edited { message_id: event.target()?.to_owned(), text };
    let mut came = came(event, scene, related.thread.as_deref(), what);
    came.inbound.author.bot = content.get("msgtype").and_then(Value::as_str) == Some("m.notice");
    Some(came)
}

fn reacted(event: &Event, scene: &Scene<'_>) -> Option<Came> {
    let (message_id, emoji) = (event.target()?.to_owned(), event.text(&["m.relates_to", "key"])?.to_owned());
    let thread = scene.related.and_then(|related| related.thread.as_deref());
    Some(came(event, scene, thread, What::Reaction { message_id, emoji, added: true }))
}

/// A reaction that is taken back; other redactions change nothing here.
fn taken_back(event: &Event, scene: &Scene<'_>) -> Option<Came> {
    let related = scene.related?;
    let (message_id, emoji) = related.reaction.clone()?;
    let what = What::Reaction { message_id, emoji, added: false };
    let mut came = came(event, scene, related.thread.as_deref(), what);
    // A moderator may have done it; it is still the reaction of who gave it.
    came.inbound.author = author(&related.sender, scene.room, scene.me);
    Some(came)
}

fn removed(event: &Event, scene: &Scene<'_>) -> Option<Came> {
    let before = event.unsigned.prev_content.as_ref();
    let before = before.and_then(|before| before.get("membership")).and_then(Value::as_str);
    if before.is_some_and(|before| before != "join") {
        // An invitation that was withdrawn: herm was never there.
        return None;
    }
    let why = match (event.membership_of(&scene.me.id)?, event.sender == scene.me.id) {
        ("ban", _) => "herm is banned from the room",
        ("leave", true) => "herm has left the room",
        ("leave", false) => "herm was put out of the room",
        _ => return None,
    };
    Some(came(event, scene, None, What::Removed { why: why.to_owned() }))
}

/// The file of a message.
fn wanted(event: &Event) -> Option<Wanted> {
    let kind = match event.kind.as_str() {
        "m.sticker" => "m.sticker",
        _ => event.text(&["msgtype"])?,
    };
    let (name, media_type) = match kind {
        "m.image" => ("image.jpg", "image/jpeg"),
        "m.audio" => ("audio.ogg", "audio/ogg"),
        "m.video" => ("video.mp4", "video/mp4"),
        "m.file" => ("file", "application/octet-stream"),
        "m.sticker" => ("sticker.png", "image/png"),
        _ => return None,
    };
    let sealed = event.content.get("file").filter(|file| file.is_object()).cloned();
    let path: &[&str] = if sealed.is_some() { &["file", "url"] } else { &["url"] };
    let source = match event.text(path).map(address) {
        Some(Some(source)) => Ok(source),
        Some(None) => Err("its address cannot be read"),
        None => Err("it has no address"),
    };
    let named = event.text(&["filename"]).or_else(|| event.text(&["body"])).filter(|name| !name.is_empty());
    Some(Wanted {
        source,
        sealed,
        name: named.unwrap_or(name).to_owned(),
        media_type: event.text(&["info", "mimetype"]).unwrap_or(media_type).to_owned(),
        bytes: at(&event.content, &["info", "size"]).and_then(Value::as_u64),
    })
}

/// Server and id of `mxc://server/id`.
fn address(mxc: &str) -> Option<(String, String)> {
    let (server, id) = mxc.strip_prefix("mxc://")?.split_once('/')?;
    let is_id = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let fits = !server.is_empty() && !id.is_empty() && id.chars().all(is_id);
    fits.then(|| (server.to_owned(), id.to_owned()))
}

/// Whether people in a room speak to herm alone.
pub(super) fn kind(joined: usize, is_marked_direct: bool) -> ChatKind {
    // herm and one other. A bridge adds its own account to a conversation of two, and marks it.
    if is_marked_direct || joined <= 2 { ChatKind::Direct } else { ChatKind::Group }
}

#[cfg(test)]
mod tests;
