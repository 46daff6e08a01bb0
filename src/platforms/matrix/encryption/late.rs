//! Messages that came before their key. They wait for it, also over a restart; where it does not come
//! soon the room is told, once until something there can be read again.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use matrix_sdk_crypto::{MegolmError, OlmMachine};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::api::{Api, Failed};
use super::super::rooms;
use super::super::visits::Unread;
use super::{Device, Encryption, rooms as sealing, unsealed};

/// How long a key may take before the room is told.
const KEY_MAX: Duration = Duration::from_secs(15);
/// How long a message waits for its key.
const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Messages that wait; the oldest gives way.
const WAITING_MAX: usize = 200;
/// In the store of the keys, where they wait.
const STORED: &str = "herm.late";

/// A message that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Waiting {
    room_id: String,
    event_id: String,
    /// Why it cannot be read.
    why: String,
    /// When it came, in milliseconds since the epoch.
    since_ms: u64,
    /// When the room is to be told; `None` if it was.
    due_ms: Option<u64>,
}

/// What the store holds.
pub(super) type Kept = Vec<Waiting>;

/// The messages that wait, oldest first.
#[derive(Debug, Default)]
pub(super) struct Late(Kept);

impl Late {
    pub fn restore(&mut self, kept: Kept) {
        self.0 = kept;
    }

    /// Whether it is new.
    fn add(&mut self, waiting: Waiting) -> bool {
        if self.0.iter().any(|known| known.event_id == waiting.event_id) {
            return false;
        }
        let is_told = self.0.iter().any(|known| known.room_id == waiting.room_id && known.due_ms.is_none());
        self.0.push(Waiting { due_ms: waiting.due_ms.filter(|_| !is_told), ..waiting });
        let oldest = now_ms().saturating_sub(millis(WAIT_MAX));
        self.0.retain(|known| known.since_ms >= oldest);
        let over = self.0.len().saturating_sub(WAITING_MAX);
        self.0.drain(..over);
        true
    }

    fn of(&self, rooms: &[String]) -> Kept {
        self.0.iter().filter(|known| rooms.contains(&known.room_id)).cloned().collect()
    }

    /// What the rooms are to be told now: of each its oldest.
    fn due(&self) -> Vec<Unread> {
        let (now, mut due) = (now_ms(), Vec::<Unread>::new());
        for Waiting { room_id, event_id, why, due_ms, .. } in &self.0 {
            let is_due = due_ms.is_some_and(|at| at <= now);
            if is_due && !due.iter().any(|told| told.room_id == *room_id) {
                let (room_id, event_id) = (room_id.clone(), event_id.clone());
                due.push(Unread { room_id, event_id, why: why.clone() });
            }
        }
        due
    }

    /// A room was told.
    fn told(&mut self, room_id: &str) {
        self.0.iter_mut().filter(|known| known.room_id == room_id).for_each(|known| known.due_ms = None);
    }

    fn next_due(&self) -> Option<Duration> {
        let first = self.0.iter().filter_map(|known| known.due_ms).min()?;
        Some(Duration::from_millis(first.saturating_sub(now_ms())))
    }
}

impl Encryption {
    /// A message cannot be opened: it waits.
    pub async fn missed(&self, api: &Api, room_id: &str, event_id: &str) -> Result<(), Failed> {
        let Ok(device) = self.device(api).await? else { return Ok(()) };
        let Some(event) = rooms::raw_event(api, room_id, event_id).await? else { return Ok(()) };
        let why = match Box::pin(sealing::open(device, room_id, &event)).await? {
            // Its key came meanwhile: the next round finds it.
            Ok(_) => "its key came late".to_owned(),
            Err(why) => why,
        };
        let (room_id, event_id) = (room_id.to_owned(), event_id.to_owned());
        let now = now_ms();
        let due_ms = Some(now.saturating_add(millis(KEY_MAX)));
        let waiting = Waiting { room_id, event_id, why, since_ms: now, due_ms };
        if self.late(|late| late.add(waiting)) {
            self.keep(device).await?;
        }
        Ok(())
    }

    /// A message that waited was taken.
    pub async fn settled(&self, api: &Api, event_id: &str) -> Result<(), Failed> {
        let Ok(device) = self.device(api).await? else { return Ok(()) };
        self.late(|late| late.0.retain(|known| known.event_id != event_id));
        self.keep(device).await
    }

    /// What rooms are to be told by now.
    pub fn due(&self) -> Vec<Unread> {
        self.late(|late| late.due())
    }

    /// How long until a room is to be told something.
    pub fn next_due(&self) -> Option<Duration> {
        self.late(|late| late.next_due())
    }

    /// A room was told that a message in it cannot be read.
    pub async fn told(&self, api: &Api, room_id: &str) -> Result<(), Failed> {
        let Ok(device) = self.device(api).await? else { return Ok(()) };
        self.late(|late| late.told(room_id));
        self.keep(device).await
    }

    async fn keep(&self, device: &Device) -> Result<(), Failed> {
        let kept = self.late(|late| late.0.clone());
        device.machine.store().set_value(STORED, &kept).await.map_err(unsealed)
    }
}

/// What waits since before the start.
pub(super) async fn kept(machine: &OlmMachine) -> Result<Kept, Failed> {
    // In another form it was written by another version: nothing waits then.
    Ok(machine.store().get_value(STORED).await.unwrap_or_default().unwrap_or_default())
}

/// The events of `rooms` that waited and can be opened now.
pub(super) async fn opened(
    encryption: &Encryption,
    device: &Device,
    api: &Api,
    rooms: &[String],
) -> Result<Vec<(String, Value)>, Failed> {
    let mut events = Vec::new();
    for Waiting { room_id, event_id, .. } in encryption.late(|late| late.of(rooms)) {
        let Some(event) = rooms::raw_event(api, &room_id, &event_id).await? else { continue };
        if let Ok(event) = Box::pin(sealing::open(device, &room_id, &event)).await? {
            events.push((room_id, event));
        }
    }
    Ok(events)
}

/// Why an event cannot be opened, for people.
pub(super) fn said(error: &MegolmError) -> String {
    match error {
        MegolmError::MissingRoomKey(None) => "its key has not come to herm".to_owned(),
        MegolmError::MissingRoomKey(Some(code)) => {
            format!("its sender's client keeps the key from herm ({})", code.as_str())
        }
        other => other.to_string(),
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn now_ms() -> u64 {
    millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(room_id: &str, event_id: &str, ago: Duration) -> Waiting {
        let since_ms = now_ms() - millis(ago);
        let (room_id, event_id) = (room_id.to_owned(), event_id.to_owned());
        Waiting { room_id, event_id, why: String::new(), since_ms, due_ms: Some(since_ms) }
    }

    #[test]
    fn a_room_is_told_once() {
        let mut late = Late::default();
        assert!(late.add(waiting("!a", "$1", Duration::ZERO)));
        assert!(!late.add(waiting("!a", "$1", Duration::ZERO)));
        assert!(late.add(waiting("!a", "$2", Duration::ZERO)));
        assert!(late.add(waiting("!b", "$3", Duration::ZERO)));
        let ids = |due: Vec<Unread>| due.into_iter().map(|told| told.event_id).collect::<Vec<_>>();
        assert_eq!(ids(late.due()), ["$1", "$3"]);
        late.told("!a");
        assert!(late.add(waiting("!a", "$4", Duration::ZERO)));
        assert_eq!(ids(late.due()), ["$3"]);
        assert_eq!(late.of(&["!a".to_owned()]).len(), 3);
    }

    #[test]
    fn what_waits_is_bounded_in_time_and_number() {
        let mut late = Late::default();
        late.add(waiting("!a", "$old", WAIT_MAX * 2));
        assert_eq!(late.0, []);
        for number in 0..=WAITING_MAX {
            late.add(waiting("!a", &format!("${number}"), Duration::ZERO));
        }
        assert_eq!((late.0.len(), late.0[0].event_id.as_str()), (WAITING_MAX, "$1"));
    }
}
