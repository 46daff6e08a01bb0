//! What a room is: how it is called, who is in it, whether people speak to herm alone there. Asked for
//! when something comes from it, and anew when that has changed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use herm_schema::events::ChatKind;
use serde_json::Value;

use super::api::{Api, Call, Failed};
use super::inbound;
use super::mentions::Me;
use super::wire::{Event, JoinedMembers};

/// Rooms that are remembered; when there are more, all are asked for anew.
const ROOMS_MAX: usize = 1000;

/// A room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub kind: ChatKind,
    pub title: Option<String>,
    /// Names of those who are in it, by id.
    pub names: BTreeMap<String, String>,
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
        matches!(kind, Some("m.room.member" | "m.room.name" | "m.room.canonical_alias"))
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
                    return Ok(Room { kind: ChatKind::Group, title: None, names: BTreeMap::new() });
                }
                Err(failed) => return Err(failed),
            };
        let kind = inbound::kind(members.joined.len(), locked(&self.direct).contains(room_id));
        let mut title = None;
        for (kind, key) in [("m.room.name", "name"), ("m.room.canonical_alias", "alias")] {
            if title.is_none() {
                title = state(api, room_id, kind, key).await?;
            }
        }
        let names = members.joined.into_iter().filter_map(|(id, member)| Some((id, member.display_name?)));
        let names: BTreeMap<String, String> = names.collect();
        if title.is_none() && kind == ChatKind::Direct {
            title = names.iter().find(|(id, _)| **id != me.id).map(|(_, name)| name.clone());
        }
        Ok(Room { kind, title, names })
    }
}

/// A text of the state of a room; `None` if it is not set.
async fn state(api: &Api, room_id: &str, kind: &str, key: &str) -> Result<Option<String>, Failed> {
    match api.call::<Value>(Call::get(&["client", "v3", "rooms", room_id, "state", kind])).await {
        Ok(content) => {
            let text = content.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
            Ok(text.map(str::to_owned))
        }
        Err(failed) if failed.is_missing() || failed.has_code("M_FORBIDDEN") => Ok(None),
        Err(failed) => Err(failed),
    }
}

/// An event by its id; `None` if herm may not see it, or it is not there.
///
/// # Errors
/// Why it cannot be asked.
pub(super) async fn event(api: &Api, room_id: &str, event_id: &str) -> Result<Option<Event>, Failed> {
    match api.call::<Value>(Call::get(&["client", "v3", "rooms", room_id, "event", event_id])).await {
        Ok(event) => Ok(serde_json::from_value(event).ok()),
        // Ids are what people's clients say, so they may be no ids at all.
        Err(Failed::Refused { code: 400 | 403 | 404, .. }) => Ok(None),
        Err(failed) => Err(failed),
    }
}
