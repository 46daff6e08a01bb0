//! What the double knows: rooms, the stream of events, media, what herm sent, what goes wrong next.

use std::collections::{BTreeMap, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

use herm::platforms::contract::{Fault, Happening, Record, Said, Seen, Who};
use herm_schema::events::ChatRef;
use serde_json::{Value, json};

use super::SERVER;

pub fn user_id(who: Who) -> String {
    let name = match who {
        Who::Person(number) => format!("person{number}"),
        Who::Bot => "otherbot".to_owned(),
        Who::Herm => "herm".to_owned(),
    };
    format!("@{name}:{SERVER}")
}

pub struct Room {
    pub members: Vec<String>,
    pub name: Option<String>,
    /// Of herm.
    pub membership: &'static str,
}

/// A file of the media store.
pub struct Stored {
    pub media_type: String,
    pub bytes: Vec<u8>,
}

pub struct State {
    pub rooms: BTreeMap<String, Room>,
    pub events: HashMap<String, Value>,
    /// Rooms and ids of events, in the order in which they are told; one may be told twice.
    pub stream: Vec<(String, String)>,
    pub events_max: usize,
    /// The furthest that a sync went on from.
    pub since_max: usize,
    pub syncs: usize,
    pub media: HashMap<String, Stored>,
    /// Events by the transaction that made them.
    pub transactions: HashMap<String, String>,
    pub account_data: HashMap<String, Value>,
    pub record: Record,
    pub fault: Option<Fault>,
    pub unauthorised: bool,
    pub problems: Vec<String>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            rooms: BTreeMap::new(),
            events: HashMap::new(),
            stream: Vec::new(),
            events_max: usize::MAX,
            since_max: 0,
            syncs: 0,
            media: HashMap::new(),
            transactions: HashMap::new(),
            account_data: HashMap::new(),
            record: Record::default(),
            fault: None,
            unauthorised: false,
            problems: Vec::new(),
        }
    }
}

fn now_ms() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

impl State {
    pub fn make(&mut self, room_id: &str, direct: bool) {
        let who: &[Who] = match direct {
            true => &[Who::Herm, Who::Person(0)],
            false => &[Who::Herm, Who::Person(0), Who::Person(1), Who::Bot],
        };
        let members = who.iter().map(|who| user_id(*who)).collect();
        let name = (!direct).then(|| "A room".to_owned());
        let room = Room { members, name, membership: "join" };
        self.rooms.entry(room_id.to_owned()).or_insert(room);
    }

    /// Puts an event into a room; its id.
    pub fn put(
        &mut self,
        room_id: &str,
        sender: &str,
        kind: &str,
        state_key: Option<&str>,
        content: Value,
    ) -> String {
        let id = format!("$event{}", self.events.len());
        let mut event = json!({
            "event_id": id, "room_id": room_id, "type": kind, "sender": sender,
            "origin_server_ts": now_ms(), "content": content, "unsigned": {"age": 1},
        });
        if let Some(state_key) = state_key {
            event["state_key"] = state_key.into();
        }
        self.events.insert(id.clone(), event);
        self.stream.push((room_id.to_owned(), id.clone()));
        id
    }

    fn membership(&mut self, room_id: &str, sender: &str, membership: &str, before: Option<&str>) {
        let herm = user_id(Who::Herm);
        let content = json!({"membership": membership, "displayname": "herm"});
        let id = self.put(room_id, sender, "m.room.member", Some(&herm), content);
        if let Some(before) = before {
            self.events.get_mut(&id).unwrap()["unsigned"]["prev_content"] = json!({"membership": before});
        }
    }

    pub fn invite(&mut self, room_id: &str, before: &str, after: &str) {
        self.make(room_id, true);
        self.rooms.get_mut(room_id).unwrap().membership = "invite";
        let person = user_id(Who::Person(0));
        self.put(room_id, &person, "m.room.message", None, json!({"msgtype": "m.text", "body": before}));
        self.membership(room_id, &person, "invite", None);
        self.put(room_id, &person, "m.room.message", None, json!({"msgtype": "m.text", "body": after}));
    }

    pub fn join(&mut self, room_id: &str) -> bool {
        let Some(room) = self.rooms.get_mut(room_id) else { return false };
        room.membership = "join";
        self.membership(room_id, &user_id(Who::Herm), "join", Some("invite"));
        true
    }

    /// Takes an event back.
    pub fn redact(&mut self, room_id: &str, event_id: &str, sender: &str) -> String {
        if let Some(event) = self.events.get_mut(event_id) {
            event["content"] = json!({});
            event["unsigned"]["redacted_because"] = json!({"type": "m.room.redaction"});
        }
        if let Some(seen) = self.record.sent.iter_mut().find(|seen| seen.message_id == event_id) {
            seen.deleted = true;
        }
        let id = self.put(room_id, sender, "m.room.redaction", None, json!({"redacts": event_id}));
        self.events.get_mut(&id).unwrap()["redacts"] = event_id.into();
        id
    }

    pub fn happen(&mut self, happening: &Happening) -> Option<String> {
        let person = user_id(Who::Person(0));
        match happening {
            Happening::Said(said) => Some(self.said(said)),
            Happening::Edited { chat, message_id, text } => {
                let content = json!({
                    "msgtype": "m.text", "body": format!("* {text}"),
                    "m.new_content": {"msgtype": "m.text", "body": text},
                    "m.relates_to": {"rel_type": "m.replace", "event_id": message_id},
                });
                self.put(&chat.chat, &person, "m.room.message", None, content);
                Some(message_id.clone())
            }
            Happening::Reacted { chat, message_id, who, emoji } => {
                let relation = json!({"rel_type": "m.annotation", "event_id": message_id, "key": emoji});
                self.put(&chat.chat, &user_id(*who), "m.reaction", None, json!({"m.relates_to": relation}));
                Some(message_id.clone())
            }
            Happening::Pressed { .. } => None,
            Happening::Deleted { chat, message_id } => {
                self.redact(&chat.chat, message_id, &person);
                Some(message_id.clone())
            }
            // One is put out of a room, not out of a thread.
            Happening::Removed { chat } if chat.thread.is_some() => None,
            Happening::Removed { chat } => {
                self.rooms.get_mut(&chat.chat)?.membership = "leave";
                self.membership(&chat.chat, &person, "leave", Some("join"));
                Some(String::new())
            }
            Happening::Redelivered { message_id } => {
                let told = self.stream.iter().find(|(_, id)| id == message_id)?.clone();
                self.stream.push(told);
                Some(message_id.clone())
            }
        }
    }

    fn said(&mut self, said: &Said) -> String {
        let sender = user_id(said.who);
        let msgtype = if said.who == Who::Bot { "m.notice" } else { "m.text" };
        let mut content = json!({"msgtype": msgtype, "body": said.text, "m.mentions": {}});
        if said.mention {
            let id = user_id(Who::Herm);
            content["body"] = format!("herm: {}", said.text).into();
            content["format"] = "org.matrix.custom.html".into();
            let link = format!("<a href=\"https://matrix.to/#/{id}\">herm</a>: {}", said.text);
            content["formatted_body"] = link.into();
            content["m.mentions"] = json!({"user_ids": [id]});
        }
        if let Some((name, media_type, bytes)) = &said.file {
            let id = format!("media{}", self.media.len());
            content["msgtype"] = "m.file".into();
            content["filename"] = name.as_str().into();
            content["url"] = format!("mxc://{SERVER}/{id}").into();
            content["info"] = json!({"mimetype": media_type, "size": bytes.len()});
            self.media.insert(id, Stored { media_type: media_type.clone(), bytes: bytes.clone() });
        }
        let answered = said.reply_to.as_ref().map(|id| json!({"event_id": id}));
        if answered.is_some() {
            // As clients before 1.13 write it.
            content["body"] = format!("> <@x:{SERVER}> quoted\n> more\n\n{}", said.text).into();
        }
        match (&said.chat.thread, answered) {
            (Some(root), answered) => {
                content["m.relates_to"] = json!({
                    "rel_type": "m.thread", "event_id": root, "is_falling_back": answered.is_none(),
                    "m.in_reply_to": answered.unwrap_or_else(|| json!({"event_id": root})),
                });
            }
            (None, Some(answered)) => content["m.relates_to"] = json!({"m.in_reply_to": answered}),
            _ => {}
        }
        self.put(&said.chat.chat, &sender, "m.room.message", None, content)
    }

    /// A message of herm's came: a new one, or another text for one.
    pub fn sent(&mut self, room_id: &str, content: &Value) -> String {
        let herm = user_id(Who::Herm);
        let id = self.put(room_id, &herm, "m.room.message", None, content.clone());
        let relation = &content["m.relates_to"];
        if relation["rel_type"] == "m.replace" {
            let text = content["m.new_content"]["body"].as_str().unwrap_or_default();
            let of = relation["event_id"].as_str().unwrap_or_default();
            if let Some(seen) = self.record.sent.iter_mut().find(|seen| seen.message_id == of) {
                seen.text = text.to_owned();
                seen.edits += 1;
            }
            return id;
        }
        let thread = (relation["rel_type"] == "m.thread").then(|| relation["event_id"].as_str()).flatten();
        let is_fallback = relation["is_falling_back"] == true;
        let reply_to = relation["m.in_reply_to"]["event_id"].as_str().filter(|_| !is_fallback);
        let url = content["url"].as_str().and_then(|url| url.rsplit('/').next());
        let name = content["filename"].as_str().unwrap_or_default().to_owned();
        let file = url.and_then(|id| self.media.get(id)).map(|stored| (name, stored.bytes.clone()));
        self.record.sent.push(Seen {
            chat: place(room_id, thread),
            message_id: id.clone(),
            text: if file.is_some() { "" } else { content["body"].as_str().unwrap_or_default() }.to_owned(),
            reply_to: reply_to.map(str::to_owned),
            file,
            buttons: Vec::new(),
            edits: 0,
            deleted: false,
        });
        id
    }

    /// What a sync from there tells; `None` for nothing.
    pub fn news(&self, since: Option<usize>, limit: usize) -> Option<Value> {
        let (mut join, mut invite, mut leave) = (json!({}), json!({}), json!({}));
        let mut any = since.is_none();
        for (room_id, room) in &self.rooms {
            let from = since.unwrap_or(0);
            let of = |from: usize| (from..self.stream.len()).filter(|at| self.stream[*at].0 == *room_id);
            let mut new: Vec<usize> = of(from).collect();
            if new.is_empty() {
                continue;
            }
            if room.membership == "join" && new.iter().any(|at| self.is_coming(*at)) {
                // A room that is new to the account is told from its beginning, as Synapse does.
                new = of(0).collect();
            }
            any = true;
            let told = &new[new.len().saturating_sub(limit)..];
            let timeline = json!({
                "events": told.iter().map(|at| &self.events[&self.stream[*at].1]).collect::<Vec<_>>(),
                "limited": told.len() < new.len(),
                "prev_batch": format!("t{}", told[0]),
            });
            let news = json!({"timeline": timeline, "state": {"events": []}});
            match room.membership {
                "join" => join[room_id] = news,
                "invite" => invite[room_id] = json!({"invite_state": {"events": []}}),
                // Who was never told is not told of its end.
                _ if since.is_some() => leave[room_id] = news,
                _ => {}
            }
        }
        any.then(|| {
            json!({
                "next_batch": format!("s{}", self.stream.len()),
                "rooms": {"join": join, "invite": invite, "leave": leave},
            })
        })
    }

    /// herm came into a room by this event.
    fn is_coming(&self, at: usize) -> bool {
        let event = &self.events[&self.stream[at].1];
        event["type"] == "m.room.member"
            && event["content"]["membership"] == "join"
            && event["unsigned"]["prev_content"]["membership"] != "join"
    }

    /// A page of what was said in a room before a place in the stream, newest first.
    pub fn page(&self, room_id: &str, from: usize, to: usize, limit: usize) -> Value {
        let all = (to..from).rev().filter(|at| self.stream[*at].0 == room_id);
        let chunk: Vec<usize> = all.take(limit).collect();
        let mut page = json!({
            "chunk": chunk.iter().map(|at| &self.events[&self.stream[*at].1]).collect::<Vec<_>>(),
            "start": format!("t{from}"),
        });
        if let Some(last) = chunk.last().filter(|last| **last > to) {
            page["end"] = format!("t{last}").into();
        }
        page
    }
}

pub fn place(room_id: &str, thread: Option<&str>) -> ChatRef {
    let thread = thread.map(str::to_owned);
    ChatRef { platform: "matrix".to_owned(), chat: room_id.to_owned(), thread }
}
