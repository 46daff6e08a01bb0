//! What the double knows: conversations, messages, envelopes, what herm sent, what goes wrong next.

use std::collections::{BTreeMap, HashMap, HashSet};

use herm::platforms::contract::{Fault, Happening, Record, Said, Seen, Who};
use herm_schema::events::{ChatKind, ChatRef};
use serde_json::{Value, json};

use super::{HERM, HERM_BOT, Mischief, TEAM};

/// When the first thing happens, in seconds.
const EPOCH: u64 = 1_764_500_000;

/// An envelope that was not acknowledged.
#[derive(Clone)]
pub struct Envelope {
    pub id: String,
    pub frame: Value,
    /// The message that it is about.
    pub message: Option<String>,
    /// The connection that it was given over last.
    pub given: usize,
}

#[derive(Default)]
pub struct State {
    pub socket_url: String,
    pub own_url: String,
    pub connections: usize,
    /// The newest of them; Slack delivers over one.
    pub newest: usize,
    /// In the order in which they came.
    pub open: Vec<Envelope>,
    payloads: HashMap<String, Value>,
    next: u64,
    /// Messages by conversation and id, of people and of herm.
    pub messages: BTreeMap<(String, String), Value>,
    /// Threads that are chats of the tests.
    pub threads: HashSet<(String, String)>,
    pub files: HashMap<String, (String, Vec<u8>)>,
    /// Files that herm uploads: name, length, bytes.
    pub uploads: HashMap<String, (String, usize, Option<Vec<u8>>)>,
    pub removed: HashSet<String>,
    pub calls: Vec<String>,
    pub record: Record,
    pub fault: Option<Fault>,
    pub unauthorised: bool,
    pub mischief: Mischief,
    /// What is said is delivered to nobody, now or later.
    pub loses: bool,
    said: usize,
    /// All connections are to break now.
    pub cut_due: bool,
    pub problems: Vec<String>,
}

pub fn user_id(who: Who) -> String {
    match who {
        Who::Person(number) => format!("U0PERSON{number}"),
        Who::Bot => "U00OTHER1".to_owned(),
        Who::Herm => HERM.to_owned(),
    }
}

fn kind_of(channel: &str) -> &'static str {
    match channel.chars().next() {
        Some('D') => "im",
        Some('G') => "group",
        _ => "channel",
    }
}

/// What `conversations.info` tells of one.
pub fn conversation(channel: &str) -> Option<Value> {
    let number = channel.strip_prefix(['C', 'D', 'G'])?.strip_prefix("0CHAT")?;
    number.parse::<usize>().ok()?;
    let kind = kind_of(channel);
    Some(json!({
        "id": channel, "name": format!("{kind}-{number}"), "is_im": kind == "im", "is_mpim": false,
        "is_private": kind != "channel", "is_channel": kind == "channel", "is_archived": false,
    }))
}

impl State {
    pub fn new_ts(&mut self) -> String {
        self.next += 1;
        format!("{}.{:06}", EPOCH + self.next, self.next)
    }

    fn new_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The chat of a number; every other group is a thread.
    pub fn chat(&mut self, kind: ChatKind, number: usize) -> ChatRef {
        let letter = match kind {
            ChatKind::Direct => 'D',
            ChatKind::Group => 'G',
            ChatKind::Channel => 'C',
        };
        let chat = format!("{letter}0CHAT{number}");
        let thread = (kind == ChatKind::Group && number % 2 == 1).then(|| format!("1700000000.{number:06}"));
        if let Some(thread) = &thread {
            self.threads.insert((chat.clone(), thread.clone()));
        }
        ChatRef { platform: "slack".to_owned(), chat, thread }
    }

    /// Delivers an event; the payload.
    pub fn event(&mut self, event: Value, message: Option<&str>) -> Value {
        let number = self.new_id();
        let payload = json!({
            "token": "verification", "team_id": TEAM, "api_app_id": "A0123", "event": event,
            "type": "event_callback", "event_id": format!("Ev{number:08}"), "event_time": EPOCH + number,
            "authorizations": [{"team_id": TEAM, "user_id": HERM, "is_bot": true}],
        });
        self.deliver("events_api", payload.clone(), message);
        payload
    }

    pub fn deliver(&mut self, kind: &str, payload: Value, message: Option<&str>) {
        let id = format!("57d6a792-4d35-4d0b-b6aa-{:012}", self.new_id());
        if let Some(message) = message {
            self.payloads.insert(message.to_owned(), payload.clone());
        }
        let frame = json!({
            "type": kind, "envelope_id": id, "payload": payload, "accepts_response_payload": kind != "events_api",
            "retry_attempt": 0, "retry_reason": "",
        });
        self.open.push(Envelope { id, frame, message: message.map(str::to_owned), given: 0 });
    }

    pub fn payload_of(&self, message: &str) -> Option<Value> {
        self.payloads.get(message).cloned()
    }

    pub fn happen(&mut self, happening: &Happening) -> Option<String> {
        match happening {
            Happening::Said(said) => self.said(said),
            Happening::Edited { chat, message_id, text } => {
                let key = (chat.chat.clone(), message_id.clone());
                let old = self.messages.get(&key)?.clone();
                let edited_ts = self.new_ts();
                let mut new = old.clone();
                new["text"] = text.as_str().into();
                new["edited"] = json!({"user": new["user"], "ts": edited_ts});
                self.messages.insert(key, new.clone());
                let event = json!({
                    "type": "message", "subtype": "message_changed", "hidden": true, "channel": chat.chat,
                    "channel_type": kind_of(&chat.chat), "message": new, "previous_message": old,
                    "ts": edited_ts, "event_ts": edited_ts,
                });
                self.event(event, None);
                Some(message_id.clone())
            }
            Happening::Reacted { chat, message_id, who, emoji } => {
                if chat.thread.is_some() {
                    // A reaction does not say the thread that it was given in.
                    return None;
                }
                let name = if *emoji == "👍" { "+1" } else { return None };
                let event_ts = self.new_ts();
                let event = json!({
                    "type": "reaction_added", "user": user_id(*who), "reaction": name, "item_user": HERM,
                    "item": {"type": "message", "channel": chat.chat, "ts": message_id}, "event_ts": event_ts,
                });
                self.event(event, None);
                Some(message_id.clone())
            }
            Happening::Pressed { chat, message_id, who, data } => self.pressed(chat, message_id, *who, data),
            Happening::Deleted { chat, message_id } => {
                self.messages.remove(&(chat.chat.clone(), message_id.clone()));
                if let Some(seen) = self.record.sent.iter_mut().find(|seen| seen.message_id == *message_id) {
                    seen.deleted = true;
                }
                let ts = self.new_ts();
                let event = json!({
                    "type": "message", "subtype": "message_deleted", "channel": chat.chat, "ts": ts,
                    "deleted_ts": message_id, "hidden": true, "channel_type": kind_of(&chat.chat),
                });
                self.event(event, None);
                Some(message_id.clone())
            }
            Happening::Removed { chat } => {
                // To be put out concerns the whole conversation, no thread; and nobody is put out of a
                // direct chat.
                if chat.thread.is_some() || kind_of(&chat.chat) == "im" {
                    return None;
                }
                self.removed.insert(chat.chat.clone());
                let event = json!({
                    "type": "member_left_channel", "user": HERM, "channel": chat.chat, "channel_type": "G",
                    "team": TEAM, "event_ts": self.new_ts(),
                });
                self.event(event, None);
                Some(String::new())
            }
            Happening::Redelivered { message_id } => {
                let payload = self.payload_of(message_id)?;
                self.deliver("events_api", payload, Some(message_id));
                Some(message_id.clone())
            }
        }
    }

    fn said(&mut self, said: &Said) -> Option<String> {
        // An answer is a thread, which is a place of its own.
        if said.reply_to.is_some() {
            return None;
        }
        let ts = self.new_ts();
        let text = said.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let text = if said.mention { format!("<@{HERM}> {text}") } else { text };
        let mut message = json!({
            "type": "message", "user": user_id(said.who), "text": text, "ts": ts, "team": TEAM,
            "client_msg_id": "d7d1b1a5-0000-4000-8000-000000000000", "blocks": [{"type": "rich_text"}],
        });
        match said.who {
            Who::Person(_) => {}
            Who::Bot => message["bot_id"] = "B00OTHER1".into(),
            Who::Herm => message["bot_id"] = HERM_BOT.into(),
        }
        if let Some(thread) = &said.chat.thread {
            message["thread_ts"] = thread.as_str().into();
            message["parent_user_id"] = user_id(Who::Person(9)).into();
        }
        if let Some((name, media_type, bytes)) = &said.file {
            let id = format!("F{ts}");
            let path = format!("/files-pri/{TEAM}-{id}/download/{name}");
            message["subtype"] = "file_share".into();
            message["files"] = json!([{
                "id": id, "name": name, "title": name, "mimetype": media_type, "size": bytes.len(),
                "mode": "hosted", "is_external": false,
                "url_private_download": format!("{}{path}", self.own_url),
            }]);
            self.files.insert(path, (media_type.clone(), bytes.clone()));
        }
        self.messages.insert((said.chat.chat.clone(), ts.clone()), message.clone());
        if self.loses {
            return Some(ts);
        }
        let mut event = message;
        event["channel"] = said.chat.chat.as_str().into();
        event["channel_type"] = kind_of(&said.chat.chat).into();
        event["event_ts"] = ts.as_str().into();
        let payload = self.event(event.clone(), Some(&ts));
        if said.mention {
            // A mention is delivered a second time, as an event of its own.
            event["type"] = "app_mention".into();
            event.as_object_mut()?.remove("channel_type");
            self.event(event, None);
        }
        self.said += 1;
        let is_due = |every: usize| every > 0 && self.said.is_multiple_of(every);
        let (twice, cut) = (is_due(self.mischief.duplicate_every), is_due(self.mischief.cut_socket_every));
        if twice {
            self.deliver("events_api", payload, Some(&ts));
        }
        self.cut_due |= cut;
        Some(ts)
    }

    /// A page of a conversation, the newest first, or of a thread, the oldest first and behind its parent.
    pub fn history(&self, channel: &str, thread: Option<&str>, oldest: &str, cursor: &str) -> Value {
        const PAGE: usize = 50;
        let all = self.messages.iter().filter(|((at, _), _)| at == channel);
        let mut found: Vec<&Value> = all
            .filter(|(_, message)| message["thread_ts"].as_str().filter(|of| message["ts"] != *of) == thread)
            .filter(|((_, ts), _)| ts.as_str() > oldest)
            .map(|(_, message)| message)
            .collect();
        if thread.is_none() {
            found.reverse();
        }
        let from: usize = cursor.parse().unwrap_or_default();
        let mut page: Vec<Value> =
            found.iter().skip(from).take(PAGE).map(|message| (*message).clone()).collect();
        if let Some(thread) = thread {
            page.insert(0, json!({"type": "message", "user": "U0PERSON9", "text": "parent", "ts": thread}));
        }
        let next = if found.len() > from + PAGE { (from + PAGE).to_string() } else { String::new() };
        json!({"messages": page, "has_more": !next.is_empty(), "response_metadata": {"next_cursor": next}})
    }

    pub fn seen(&mut self, channel: &str, ts: &str) -> Option<&mut Seen> {
        let mut sent = self.record.sent.iter_mut();
        sent.find(|seen| seen.message_id == ts && seen.chat.chat == channel && !seen.deleted)
    }

    fn pressed(&mut self, chat: &ChatRef, message_id: &str, who: Who, data: &str) -> Option<String> {
        let seen = self.seen(&chat.chat, message_id)?;
        let at = seen.buttons.iter().position(|button| button.data == data)?;
        let message = self.messages.get(&(chat.chat.clone(), message_id.to_owned()))?.clone();
        let number = self.new_id();
        let payload = json!({
            "type": "block_actions", "team": {"id": TEAM, "domain": "team"}, "api_app_id": "A0123",
            "user": {"id": user_id(who), "username": "person", "name": "person", "team_id": TEAM},
            "container": {"type": "message", "message_ts": message_id, "channel_id": chat.chat},
            "trigger_id": format!("{number}.1234.abcdef"), "channel": {"id": chat.chat, "name": "x"},
            "message": message, "response_url": "https://hooks.slack.com/actions/x",
            "actions": [{
                "type": "button", "action_id": format!("herm-{at}"), "block_id": "b", "value": data,
                "action_ts": "1764500000.123456",
            }],
        });
        self.deliver("interactive", payload, None);
        Some(message_id.to_owned())
    }
}
