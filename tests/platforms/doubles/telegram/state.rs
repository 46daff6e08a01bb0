//! What the double knows: chats, messages, updates that wait, what herm sent, what goes wrong next.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use herm::platforms::contract::{Fault, Happening, Record, Said, Who};
use herm_schema::events::ChatRef;
use serde_json::{Value, json};

use super::{HERM, Mischief, USERNAME};

/// Ids from here on are chats of one kind; of groups and channels, downwards.
pub const PRIVATE: i64 = 5_000_000;
pub const GROUP: i64 = -1_001_000_000_000;
pub const CHANNEL: i64 = -1_002_000_000_000;
/// When the first thing happens, in seconds.
const EPOCH: i64 = 1_764_500_000;

pub fn user_id(who: Who) -> i64 {
    match who {
        Who::Person(number) => 42_000 + i64::try_from(number).unwrap(),
        Who::Bot => 9_001,
        Who::Herm => HERM,
    }
}

/// A file that somebody sent.
pub struct Stored {
    pub path: String,
    pub bytes: Vec<u8>,
}

pub struct State {
    /// Not asked past yet, in order.
    pub queue: VecDeque<Value>,
    /// The lowest id that was not asked past.
    pub confirmed: i64,
    /// Given again with the next poll, whatever was confirmed.
    pub again: Vec<Value>,
    /// By the message that they are about.
    pub updates: HashMap<String, Value>,
    next_update: i64,
    pub next_message: i64,
    /// Messages of people, by chat and id.
    pub messages: BTreeMap<(i64, i64), Value>,
    pub files: HashMap<String, Stored>,
    /// Kinds of updates that were asked for.
    pub allowed: HashSet<String>,
    /// Pressings that were not answered yet.
    pub presses: HashSet<String>,
    pub removed: HashSet<i64>,
    pub migrated: HashMap<i64, i64>,
    pub webhook: Option<(String, String)>,
    pub record: Record,
    pub fault: Option<Fault>,
    pub unauthorised: bool,
    pub mischief: Mischief,
    pub polls: usize,
    /// The poll that reads; an older one is sent away.
    pub reader: usize,
    /// What the last poll gave.
    pub given: Vec<Value>,
    pub problems: Vec<String>,
}

impl Default for State {
    fn default() -> Self {
        let allowed = ["message", "edited_message", "channel_post", "callback_query", "my_chat_member"];
        Self {
            queue: VecDeque::new(),
            confirmed: 0,
            again: Vec::new(),
            updates: HashMap::new(),
            next_update: 9000,
            next_message: 0,
            messages: BTreeMap::new(),
            files: HashMap::new(),
            allowed: allowed.map(str::to_owned).into(),
            presses: HashSet::new(),
            removed: HashSet::new(),
            migrated: HashMap::new(),
            webhook: None,
            record: Record::default(),
            fault: None,
            unauthorised: false,
            mischief: Mischief::default(),
            polls: 0,
            reader: 0,
            given: Vec::new(),
            problems: Vec::new(),
        }
    }
}

pub fn herm() -> Value {
    json!({"id": HERM, "is_bot": true, "first_name": "herm", "username": USERNAME})
}

fn user(who: Who) -> Value {
    match who {
        Who::Person(number) => json!({
            "id": user_id(who), "is_bot": false, "first_name": format!("Person {number}"),
            "username": format!("person_{number}"), "language_code": "en",
        }),
        Who::Bot => json!({"id": user_id(who), "is_bot": true, "first_name": "Bot", "username": "other_bot"}),
        Who::Herm => herm(),
    }
}

/// The chat object of an id; nothing if there is no such chat.
pub fn chat(id: i64) -> Option<Value> {
    Some(if id >= PRIVATE {
        json!({"id": id, "type": "private", "first_name": "Person", "username": "person"})
    } else if id <= CHANNEL {
        json!({"id": id, "type": "channel", "title": "Channel"})
    } else if id <= GROUP {
        json!({"id": id, "type": "supergroup", "title": "Group", "is_forum": true})
    } else {
        return None;
    })
}

impl State {
    pub fn new_message(&mut self) -> i64 {
        self.next_message += 1;
        self.next_message
    }

    /// Puts an update into the queue, if its kind was asked for.
    pub fn give(&mut self, mut update: Value, message_id: Option<&str>) {
        let kind = update.as_object().and_then(|update| update.keys().next().cloned()).unwrap_or_default();
        if !self.allowed.contains(&kind) {
            return;
        }
        update["update_id"] = self.next_update.into();
        self.next_update += 1;
        if let Some(message_id) = message_id {
            self.updates.insert(message_id.to_owned(), update.clone());
        }
        self.queue.push_back(update);
    }

    pub fn happen(&mut self, happening: &Happening) -> Option<String> {
        match happening {
            Happening::Said(said) => self.said(said),
            Happening::Edited { chat: place, message_id, text } => {
                let key = (place.chat.parse().ok()?, message_id.parse().ok()?);
                let message = self.messages.get_mut(&key)?;
                message["text"] = text.as_str().into();
                message["edit_date"] = (EPOCH + key.1).into();
                let update = json!({"edited_message": message});
                self.give(update, None);
                Some(message_id.clone())
            }
            Happening::Reacted { chat: place, message_id, who, emoji } => {
                let id: i64 = message_id.parse().ok()?;
                let new = [json!({"type": "emoji", "emoji": emoji})];
                self.give(
                    json!({"message_reaction": {
                        "chat": chat(place.chat.parse().ok()?)?, "message_id": id, "user": user(*who),
                        "date": EPOCH + id, "old_reaction": [], "new_reaction": new,
                    }}),
                    None,
                );
                // A reaction does not say the topic that it was given in.
                place.thread.is_none().then(|| message_id.clone())
            }
            Happening::Pressed { chat: place, message_id, who, data } => {
                self.pressed(place, message_id, *who, data)
            }
            Happening::Deleted { chat, message_id } => {
                let key = (chat.chat.parse().ok()?, message_id.parse().ok()?);
                self.messages.remove(&key);
                let seen = self.record.sent.iter_mut().find(|seen| seen.message_id == *message_id);
                if let Some(seen) = seen {
                    seen.deleted = true;
                }
                Some(message_id.clone())
            }
            Happening::Removed { chat: place } => {
                let id = place.chat.parse().ok()?;
                self.removed.insert(id);
                let member = |status: &str| json!({"user": herm(), "status": status});
                self.give(
                    json!({"my_chat_member": {
                        "chat": chat(id)?, "from": user(Who::Person(0)), "date": EPOCH,
                        "old_chat_member": member("member"), "new_chat_member": member("kicked"),
                    }}),
                    None,
                );
                // Being put out concerns the whole forum, no topic.
                place.thread.is_none().then(String::new)
            }
            Happening::Redelivered { message_id } => {
                let update = self.updates.get(message_id)?.clone();
                self.again.push(update);
                Some(message_id.clone())
            }
        }
    }

    fn said(&mut self, said: &Said) -> Option<String> {
        let chat_id: i64 = said.chat.chat.parse().ok()?;
        let chat = chat(chat_id)?;
        let is_channel = chat["type"] == "channel";
        let id = self.new_message();
        let mut message = json!({"message_id": id, "chat": chat, "date": EPOCH + id});
        if is_channel {
            message["sender_chat"] = chat;
        } else {
            message["from"] = user(said.who);
        }
        if let Some(thread) = said.chat.thread.as_ref().and_then(|thread| thread.parse::<i64>().ok()) {
            message["message_thread_id"] = thread.into();
            message["is_topic_message"] = true.into();
        }
        let (mut text, mut entities) = (said.text.clone(), Vec::new());
        if said.mention {
            let name = format!("@{USERNAME}");
            entities.push(json!({"type": "mention", "offset": 0, "length": name.len()}));
            text = format!("{name} {text}");
        }
        let (field, marks) = match said.file {
            Some(_) => ("caption", "caption_entities"),
            None => ("text", "entities"),
        };
        message[field] = text.into();
        if !entities.is_empty() {
            message[marks] = entities.into();
        }
        if let Some((name, media_type, bytes)) = &said.file {
            let file_id = format!("BQAC{id}");
            message["document"] = json!({
                "file_id": file_id, "file_unique_id": format!("u{id}"), "file_name": name,
                "mime_type": media_type, "file_size": bytes.len(),
            });
            let path = format!("documents/file_{id}");
            self.files.insert(file_id, Stored { path, bytes: bytes.clone() });
        }
        if let Some(to) = &said.reply_to {
            message["reply_to_message"] = self.replied(chat_id, to.parse().ok()?)?;
        }
        self.messages.insert((chat_id, id), message.clone());
        let kind = if is_channel { "channel_post" } else { "message" };
        self.give(json!({kind: message}), Some(&id.to_string()));
        Some(id.to_string())
    }

    /// A message as it stands in one that answers it.
    fn replied(&self, chat_id: i64, id: i64) -> Option<Value> {
        if let Some(message) = self.messages.get(&(chat_id, id)) {
            let mut message = message.clone();
            message.as_object_mut()?.remove("reply_to_message");
            return Some(message);
        }
        self.sent(id).map(|seen| {
            json!({"message_id": id, "chat": chat(chat_id), "date": EPOCH, "from": herm(), "text": seen.text})
        })
    }

    fn sent(&self, id: i64) -> Option<&herm::platforms::contract::Seen> {
        let id = id.to_string();
        self.record.sent.iter().find(|seen| seen.message_id == id)
    }

    fn pressed(&mut self, place: &ChatRef, message_id: &str, who: Who, data: &str) -> Option<String> {
        let id: i64 = message_id.parse().ok()?;
        let seen = self.sent(id)?;
        if !seen.buttons.iter().any(|button| button.data == data) {
            return None;
        }
        let mut message = json!({
            "message_id": id, "chat": chat(place.chat.parse().ok()?)?, "date": EPOCH, "from": herm(),
            "text": seen.text,
        });
        if let Some(thread) = place.thread.as_ref().and_then(|thread| thread.parse::<i64>().ok()) {
            message["message_thread_id"] = thread.into();
            message["is_topic_message"] = true.into();
        }
        let press = format!("4382bfdwdsb323b{}", self.presses.len() + 1);
        self.presses.insert(press.clone());
        self.give(
            json!({"callback_query": {
                "id": press, "from": user(who), "message": message, "chat_instance": "1", "data": data,
            }}),
            None,
        );
        Some(message_id.to_owned())
    }
}
