//! What a room is: how it is called, who is in it, whether people speak to herm alone there. Asked for
//! when something comes from it, and anew when that has changed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use herm_schema::events::ChatKind;
use serde_json::Value;

use super::api::{Api, Call, Failed};
use super::mentions::Me;
use super::wire::{Event, JoinedMembers, Members};
use super::{Matrix, inbound};

/// Rooms that are remembered; when there are more, all are asked for anew.
const ROOMS_MAX: usize = 1000;

/// A room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub kind: ChatKind,
    pub title: Option<String>,
    /// Names of those who are in it, by id.
    pub names: BTreeMap<String, String>,
    /// How it is encrypted, as its state says; `None` if it is not.
    pub encryption: Option<Value>,
    /// Those who are in it and those who are invited, where it is encrypted.
    pub members: Vec<String>,
}

impl Room {
    /// A room that herm is not in, of which nothing can be known.
    fn unknown() -> Self {
        let (names, members) = (BTreeMap::new(), Vec::new());
        Self { kind: ChatKind::Group, title: None, names, encryption: None, members }
    }
}

/// The rooms that something came from.
#[derive(Default)]
pub(super) struct Rooms {
    known: Mutex<HashMap<String, Arc<Room>>>,
    /// Those that herm's account marks as conversations of two.
    direct: Mutex<HashSet<String>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Rooms {
    /// The room has changed: it is asked for anew.
    pub fn forget(&self, room_id: &str) {
        locked(&self.known).remove(room_id);
    }

    /// Whether an event says that what is known of its room is old.
    pub fn is_change(event: &Value) -> bool {
        let kind = event.get("type").and_then(Value::as_str);
        matches!(kind, Some("m.room.member" | "m.room.name" | "m.room.canonical_alias" | "m.room.encryption"))
    }

    /// Marks of conversations, as `m.direct` of the account has them: `{"@user:server": ["!room"]}`.
    pub fn mark_direct(&self, content: &Value) {
        let users = content.as_object().into_iter().flatten();
        let rooms = users.filter_map(|(_, rooms)| rooms.as_array()).flatten();
        let rooms: HashSet<String> = rooms.filter_map(|room| Some(room.as_str()?.to_owned())).collect();
        let mut direct = locked(&self.direct);
        if *direct != rooms {
            *direct = rooms;
            locked(&self.known).clear();
        }
    }

    /// # Errors
    /// Why the marks cannot be read.
    pub async fn load_direct(&self, api: &Api, me: &Me) -> Result<(), Failed> {
        match api.call(Call::get(&["client", "v3", "user", &me.id, "account_data", "m.direct"])).await {
            Ok(content) => self.mark_direct(&content),
            Err(failed) if failed.is_missing() => {}
            Err(failed) => return Err(failed),
        }
        Ok(())
    }

    /// # Errors
    /// Why it cannot be asked. A room that herm is not in any more is known by nothing, and a group.
    pub async fn get(&self, api: &Api, me: &Me, room_id: &str) -> Result<Arc<Room>, Failed> {
        if let Some(room) = locked(&self.known).get(room_id) {
            return Ok(Arc::clone(room));
        }
        let room = Arc::new(self.asked(api, me, room_id).await?);
        let mut known = locked(&self.known);
        if known.len() >= ROOMS_MAX {
            known.clear();
        }
        known.insert(room_id.to_owned(), Arc::clone(&room));
        Ok(room)
    }

    async fn asked(&self, api: &Api, me: &Me, room_id: &str) -> Result<Room, Failed> {
        let members: JoinedMembers =
            match api.call(Call::get(&["client", "v3", "rooms", room_id, "joined_members"])).await {
                Ok(members) => members,
                Err(failed) if failed.is_missing() || failed.has_code("M_FORBIDDEN") => {
                    return Ok(Room::unknown());
                }
                Err(failed) => return Err(failed),
            };
        let kind = inbound::kind(members.joined.len(), locked(&self.direct).contains(room_id));
        let mut title = None;
        for (kind, key) in [("m.room.name", "name"), ("m.room.canonical_alias", "alias")] {
            if title.is_none() {
                let content = state(api, room_id, kind).await?;
                let text = content.as_ref().and_then(|content| content.get(key)?.as_str());
                title = text.filter(|text| !text.is_empty()).map(str::to_owned);
            }
        }
        let encryption = state(api, room_id, "m.room.encryption").await?;
        let present = match encryption {
            Some(_) => present(api, room_id).await?,
            None => Vec::new(),
        };
        let names = members.joined.into_iter().filter_map(|(id, member)| Some((id, member.display_name?)));
        let names: BTreeMap<String, String> = names.collect();
        if title.is_none() && kind == ChatKind::Direct {
            title = names.iter().find(|(id, _)| **id != me.id).map(|(_, name)| name.clone());
        }
        Ok(Room { kind, title, names, encryption, members: present })
    }
}

/// The content of an event of a room's state; `None` if it is not set.
async fn state(api: &Api, room_id: &str, kind: &str) -> Result<Option<Value>, Failed> {
    match api.call::<Value>(Call::get(&["client", "v3", "rooms", room_id, "state", kind])).await {
        Ok(content) => Ok(Some(content)),
        Err(failed) if failed.is_missing() || failed.has_code("M_FORBIDDEN") => Ok(None),
        Err(failed) => Err(failed),
    }
}

/// Those who may read what is said in a room from now on: whoever is in it, or is invited.
async fn present(api: &Api, room_id: &str) -> Result<Vec<String>, Failed> {
    let path = ["client", "v3", "rooms", room_id, "members"];
    let call = Call { query: &[("not_membership", "leave")], ..Call::get(&path) };
    let members: Members = api.call(call).await?;
    let events = members.chunk.into_iter().filter_map(|event| serde_json::from_value::<Event>(event).ok());
    let present = events.filter(|event| matches!(event.text(&["membership"]), Some("join" | "invite")));
    Ok(present.filter_map(|event| event.state_key).collect())
}

/// An event by its id, as the server has it; `None` if herm may not see it, or it is not there.
///
/// # Errors
/// Why it cannot be asked.
pub(super) async fn raw_event(api: &Api, room_id: &str, event_id: &str) -> Result<Option<Value>, Failed> {
    match api.call::<Value>(Call::get(&["client", "v3", "rooms", room_id, "event", event_id])).await {
        Ok(event) => Ok(Some(event)),
        // Ids are what people's clients say, so they may be no ids at all.
        Err(Failed::Refused { code: 400 | 403 | 404, .. }) => Ok(None),
        Err(failed) => Err(failed),
    }
}

/// The same as it reads, opened where it is sealed.
///
/// # Errors
/// Why it cannot be asked.
pub(super) async fn event(
    Matrix { api, encryption, .. }: &Matrix,
    room_id: &str,
    event_id: &str,
) -> Result<Option<Event>, Failed> {
    let Some(event) = raw_event(api, room_id, event_id).await? else { return Ok(None) };
    Ok(serde_json::from_value(encryption.opened(api, room_id, event).await?).ok())
}
