//! PURE: what a homeserver says and takes, as far as herm reads and writes it.
//!
//! Source: "Matrix Specification", spec.matrix.org/v1.11/client-server-api (June 2024). Objects have many
//! more fields; those that are not named here are passed over.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// What `GET /_matrix/client/v3/sync` answers.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Sync {
    /// Where to go on from.
    pub next_batch: String,
    #[serde(default)]
    pub rooms: Rooms,
    #[serde(default)]
    pub account_data: Events,
    /// What devices say to this one, such as the keys of rooms.
    #[serde(default)]
    pub to_device: Events,
    /// Whose devices have changed.
    #[cfg(feature = "matrix-encryption")]
    #[serde(default)]
    pub device_lists: Value,
    /// Keys of this device that others can still begin to talk with.
    #[cfg(feature = "matrix-encryption")]
    #[serde(default)]
    pub device_one_time_keys_count: Value,
    #[cfg(feature = "matrix-encryption")]
    pub device_unused_fallback_key_types: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Rooms {
    #[serde(default)]
    pub join: BTreeMap<String, RoomNews>,
    #[serde(default)]
    pub invite: BTreeMap<String, Value>,
    #[serde(default)]
    pub leave: BTreeMap<String, RoomNews>,
}

/// What is new in a room.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RoomNews {
    #[serde(default)]
    pub timeline: Timeline,
    /// The state between what was told before and the beginning of the timeline.
    #[serde(default)]
    pub state: Events,
}

/// Events, oldest first.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Timeline {
    #[serde(default)]
    pub events: Vec<Value>,
    /// Some are missing before the first.
    #[serde(default)]
    pub limited: bool,
    /// Where those that are missing can be had from, backwards.
    pub prev_batch: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Events {
    #[serde(default)]
    pub events: Vec<Value>,
}

/// What `GET /_matrix/client/v3/rooms/{roomId}/messages` answers.
#[derive(Debug, Deserialize)]
pub(super) struct Page {
    /// Newest first, as it was asked for.
    #[serde(default)]
    pub chunk: Vec<Value>,
    /// Where the next page begins; none for the last.
    pub end: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Event {
    pub event_id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub sender: String,
    /// Milliseconds since the epoch.
    pub origin_server_ts: i64,
    pub state_key: Option<String>,
    #[serde(default)]
    pub content: Value,
    /// The event that a redaction is about, in rooms before version 11; later it is in the content.
    pub redacts: Option<String>,
    #[serde(default)]
    pub unsigned: Unsigned,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Unsigned {
    /// What this event of the state has replaced.
    pub prev_content: Option<Value>,
}

impl Event {
    /// A text of the content, at a path of keys.
    pub fn text(&self, path: &[&str]) -> Option<&str> {
        at(&self.content, path)?.as_str()
    }

    /// It changes what `user` is in the room: `join`, `invite`, `leave`, `ban` or `knock`.
    pub fn membership_of(&self, user: &str) -> Option<&str> {
        let is_of = self.kind == "m.room.member" && self.state_key.as_deref() == Some(user);
        is_of.then(|| self.text(&["membership"])).flatten()
    }

    /// The event that this one changes, reacts to or takes back.
    pub fn target(&self) -> Option<&str> {
        match self.kind.as_str() {
            "m.room.redaction" => self.redacts.as_deref().or_else(|| self.text(&["redacts"])),
            _ => match self.text(&["m.relates_to", "rel_type"]) {
                Some("m.replace" | "m.annotation") => self.text(&["m.relates_to", "event_id"]),
                _ => None,
            },
        }
    }

    /// The first event of the thread that this one stands in.
    pub fn thread(&self) -> Option<&str> {
        let is_in = self.text(&["m.relates_to", "rel_type"]) == Some("m.thread");
        is_in.then(|| self.text(&["m.relates_to", "event_id"])).flatten()
    }

    /// The event that this one answers; within a thread many name the one before for old clients only.
    pub fn answers(&self) -> Option<&str> {
        let is_fallback = at(&self.content, &["m.relates_to", "is_falling_back"]) == Some(&Value::Bool(true));
        let is_fallback = is_fallback && self.thread().is_some();
        let answered = self.text(&["m.relates_to", "m.in_reply_to", "event_id"]);
        answered.filter(|_| !is_fallback)
    }
}

/// What stands at a path of keys.
pub(super) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// What is wrong, as every refusal says it.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Problem {
    #[serde(default)]
    pub errcode: String,
    #[serde(default)]
    pub error: String,
    pub retry_after_ms: Option<u64>,
}

/// What `GET /_matrix/client/v3/account/whoami` answers.
#[derive(Debug, Deserialize)]
pub(super) struct WhoAmI {
    pub user_id: String,
    /// The device of the token, if it is of one.
    #[cfg(feature = "matrix-encryption")]
    pub device_id: Option<String>,
}

/// What `GET /_matrix/client/v3/rooms/{roomId}/members` answers.
#[derive(Debug, Deserialize)]
pub(super) struct Members {
    #[serde(default)]
    pub chunk: Vec<Value>,
}

/// What sending and redacting answer.
#[derive(Debug, Deserialize)]
pub(super) struct Sent {
    pub event_id: String,
}

/// What an upload answers.
#[derive(Debug, Deserialize)]
pub(super) struct Uploaded {
    pub content_uri: String,
}

/// What `GET /_matrix/client/v3/rooms/{roomId}/joined_members` answers.
#[derive(Debug, Deserialize)]
pub(super) struct JoinedMembers {
    pub joined: BTreeMap<String, Member>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Member {
    pub display_name: Option<String>,
}

/// What is asked for by a sync: messages and the state of rooms, nobody's presence, receipts or typing.
/// Fifty events of a room come at once; what is missing is fetched.
pub(super) const FILTER: &str = r#"{"presence":{"types":[]},"account_data":{"types":["m.direct"]},"room":{"timeline":{"limit":50,"lazy_load_members":true},"state":{"lazy_load_members":true},"ephemeral":{"types":[]},"account_data":{"types":[]}}}"#;
