//! Reading by long poll: the cursor goes past a batch when everything in it was taken.
//!
//! A homeserver keeps everything and acknowledges nothing, so where herm has come to is kept by herm
//! ([`Inlet::advance`]): the `next_batch` of the last sync of which everything was taken. After a restart
//! reading goes on from there and nothing is lost. Without a cursor herm has never read here: then the
//! first sync takes invitations, sets the cursor, and passes over the messages from before this start,
//! which nobody expects to be answered by now. What was said since the start is taken, even where it is
//! older than the first answer of the server.

use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::api::{CALL_MAX, Call, Failed};
use super::inbound::{self, Scene};
use super::memory::Known;
use super::mentions::Me;
use super::rooms::{self, Rooms};
use super::wire::{Event, FILTER, Page, RoomNews, Sync};
use super::{Matrix, media, refusal, visits};
use crate::platforms::{Inlet, Stopped};

/// How long the homeserver waits for something to happen before it answers that nothing did.
const POLL: Duration = Duration::from_secs(25);
/// How much longer an answer may take; a first sync is long.
const POLL_GRACE: Duration = Duration::from_secs(60);
/// Most events that are fetched where a sync left some out, for one room.
const GAP_EVENTS_MAX: usize = 1000;
/// Events of one page of these; the most that servers give.
const PAGE_EVENTS: &str = "100";
/// Longest cursor, in bytes.
const CURSOR_BYTES_MAX: usize = 4096;

/// Reads until `stop`.
pub(super) async fn read_until(
    matrix: &Matrix,
    inlet: &dyn Inlet,
    stop: &CancellationToken,
) -> Result<(), Stopped> {
    tokio::select! {
        biased;
        () = stop.cancelled() => Ok(()),
        ended = read(matrix, inlet) => ended,
    }
}

async fn read(matrix: &Matrix, inlet: &dyn Inlet) -> Result<(), Stopped> {
    let me = matrix.me().await.map_err(refusal::of_account)?;
    matrix.rooms.load_direct(&matrix.api, me).await.map_err(refusal::of_account)?;
    let mut since = inlet.cursor().and_then(|cursor| since_of(&cursor, me));
    loop {
        let news = match sync(matrix, since.as_deref()).await {
            Ok(news) => news,
            Err(Failed::Refused { code: 400, error, .. }) if since.is_some() => {
                tracing::warn!(%error, "the homeserver does not know where herm was; it goes on from now");
                since = None;
                continue;
            }
            Err(failed) => return Err(refusal::of_account(failed)),
        };
        let rooms = &news.rooms;
        let is_news = since.is_none()
            || !(rooms.join.is_empty() && rooms.invite.is_empty() && rooms.leave.is_empty())
            || !news.to_device.events.is_empty();
        let next = news.next_batch.clone();
        Batch { matrix, inlet, me, since: since.as_deref() }.take(news).await?;
        tell_unread(matrix).await?;
        // Where nothing was new the last cursor is as good, and every one is written to the disk.
        if is_news {
            let cursor = format!("{} {next}", me.id);
            if cursor.len() > CURSOR_BYTES_MAX {
                return Err(transient("the homeserver's token of where herm is has more than 4 KiB"));
            }
            inlet.advance(cursor).await.map_err(|not_now| transient(&not_now.to_string()))?;
        }
        since = Some(next);
    }
}

fn transient(message: &str) -> Stopped {
    Stopped::Transient { message: message.to_owned(), retry_after: None }
}

/// Where the account had come to; another account's cursor is none.
fn since_of(cursor: &str, me: &Me) -> Option<String> {
    let (id, since) = cursor.split_once(' ')?;
    (id == me.id && !since.is_empty()).then(|| since.to_owned())
}

async fn sync(matrix: &Matrix, since: Option<&str>) -> Result<Sync, Failed> {
    // Who waits for a word about an unreadable message does not wait for the end of a poll.
    let poll = matrix.encryption.next_due().map_or(POLL, |due| due.min(POLL));
    let timeout = poll.as_millis().to_string();
    let mut query = vec![("filter", FILTER), ("timeout", timeout.as_str())];
    query.extend(since.map(|since| ("since", since)));
    let path = ["client", "v3", "sync"];
    matrix.api.call(Call { query: &query, time_max: POLL + POLL_GRACE, ..Call::get(&path) }).await
}

/// Tells the rooms where something could not be read for too long.
async fn tell_unread(matrix: &Matrix) -> Result<(), Stopped> {
    for unread in matrix.encryption.due() {
        if let Err(failed) = visits::tell_unread(matrix, &unread).await {
            tracing::warn!(
                room_id = unread.room_id,
                ?failed,
                "it cannot be said that a message is unreadable"
            );
        }
        matrix.encryption.told(&matrix.api, &unread.room_id).await.map_err(refusal::of_account)?;
    }
    Ok(())
}

/// What one sync brought, on its way in.
struct Batch<'a> {
    matrix: &'a Matrix,
    inlet: &'a dyn Inlet,
    me: &'a Me,
    /// Where it begins; `None` for the very first.
    since: Option<&'a str>,
}

impl Batch<'_> {
    async fn take(&self, news: Sync) -> Result<(), Stopped> {
        // Keys come before what they open.
        let opened = self.matrix.encryption.take(&self.matrix.api, &news).await;
        for (room_id, event) in opened.map_err(refusal::of_account)? {
            self.take_late(&room_id, event).await?;
        }
        for event in &news.account_data.events {
            if event.get("type").and_then(Value::as_str) == Some("m.direct") {
                self.matrix.rooms.mark_direct(event.get("content").unwrap_or(&Value::Null));
            }
        }
        for room_id in news.rooms.invite.keys() {
            visits::invited(self.matrix, room_id).await?;
        }
        for (room_id, news) in news.rooms.join {
            let changes = news.state.events.iter().chain(&news.timeline.events);
            if changes.into_iter().any(Rooms::is_change) {
                self.matrix.rooms.forget(&room_id);
            }
            self.take_room(&room_id, news).await?;
        }
        for (room_id, news) in news.rooms.leave {
            self.take_room(&room_id, news).await?;
        }
        Ok(())
    }

    async fn take_room(&self, room_id: &str, news: RoomNews) -> Result<(), Stopped> {
        let events = self.readable(room_id, news).await.map_err(refusal::of_account)?;
        let before_herm = before_herm(&events, self.me);
        for (index, event) in events.iter().enumerate() {
            // A first sync has what was said before herm was ever started, a room that herm has just
            // come into has what was said before it was invited: nobody waits for an answer to these.
            let is_old = index < before_herm
                || (self.since.is_none() && event.origin_server_ts < self.matrix.begun_ms);
            self.take_event(room_id, event, is_old).await?;
        }
        Ok(())
    }

    /// All events since the last sync, as they read.
    async fn readable(&self, room_id: &str, news: RoomNews) -> Result<Vec<Event>, Failed> {
        let Matrix { api, encryption, .. } = self.matrix;
        let mut events = Vec::new();
        for event in self.whole(room_id, news).await? {
            events.extend(decoded(encryption.opened(api, room_id, event).await?));
        }
        Ok(events)
    }

    /// A message whose key came after it.
    async fn take_late(&self, room_id: &str, event: Value) -> Result<(), Stopped> {
        let Some(event) = decoded(event) else { return Ok(()) };
        self.take_event(room_id, &event, false).await?;
        let settled = self.matrix.encryption.settled(&self.matrix.api, &event.event_id).await;
        settled.map_err(refusal::of_account)
    }

    async fn take_sealed(&self, room_id: &str, event: &Event) -> Result<(), Failed> {
        let Matrix { api, encryption, .. } = self.matrix;
        match encryption.obstacle(api).await? {
            Some(_) => visits::tell_encrypted(self.matrix, self.me, room_id).await,
            None => encryption.missed(api, room_id, &event.event_id).await?,
        }
        Ok(())
    }

    async fn take_event(&self, room_id: &str, event: &Event, is_old: bool) -> Result<(), Stopped> {
        let (matrix, me) = (self.matrix, self.me);
        if event.kind == "m.room.encrypted" && event.sender != me.id && !is_old {
            return self.take_sealed(room_id, event).await.map_err(refusal::of_account);
        }
        if !inbound::is_wanted(event, me) {
            return Ok(());
        }
        let related = match event.target().or_else(|| event.answers()) {
            Some(_) if is_old => None,
            // What was taken back says nothing any more, so it is of no use to ask for it.
            Some(id) if event.kind == "m.room.redaction" => matrix.memory.get(id),
            Some(id) => known(matrix, room_id, id).await.map_err(refusal::of_account)?,
            None => None,
        };
        let related = related.as_deref();
        matrix.memory.keep(&event.event_id, Known::of(event, related));
        if is_old {
            return Ok(());
        }
        let room = matrix.rooms.get(&matrix.api, me, room_id).await.map_err(refusal::of_account)?;
        let Some(came) = inbound::read(event, &Scene { room_id, room: &room, related, me }) else {
            return Ok(());
        };
        let inbound = media::filled(&matrix.api, came, self.inlet.media_bytes_max()).await;
        let taken = self.inlet.take(inbound).await;
        taken.map(|_| ()).map_err(|not_now| transient(&not_now.to_string()))
    }

    /// All events since the last sync, with those that this one left out.
    async fn whole(&self, room_id: &str, news: RoomNews) -> Result<Vec<Value>, Failed> {
        let RoomNews { timeline, .. } = news;
        let (true, Some(mut from)) = (timeline.limited, timeline.prev_batch) else {
            return Ok(timeline.events);
        };
        let is_old = |event: &Value| {
            let at = event.get("origin_server_ts").and_then(Value::as_i64).unwrap_or(i64::MAX);
            self.since.is_none() && at < self.matrix.begun_ms
        };
        let has_come = |event: &Value| decoded(event.clone()).is_some_and(|event| is_coming(&event, self.me));
        if timeline.events.iter().any(|event| is_old(event) || has_come(event)) {
            // What is missing was said before herm was started, or before it came.
            return Ok(timeline.events);
        }
        let mut missing: Vec<Value> = Vec::new();
        loop {
            let mut query = vec![("dir", "b"), ("from", from.as_str()), ("limit", PAGE_EVENTS)];
            query.extend(self.since.map(|since| ("to", since)));
            let path = ["client", "v3", "rooms", room_id, "messages"];
            let call = Call { query: &query, time_max: CALL_MAX, ..Call::get(&path) };
            let page: Page = match self.matrix.api.call(call).await {
                Ok(page) => page,
                // A room that herm was put out of.
                Err(failed) if failed.has_code("M_FORBIDDEN") => break,
                Err(failed) => return Err(failed),
            };
            let is_end = page.chunk.is_empty() || page.chunk.iter().any(&is_old);
            missing.extend(page.chunk);
            match page.end {
                Some(end) if !is_end && end != from && missing.len() < GAP_EVENTS_MAX => from = end,
                Some(end) if !is_end && end != from => {
                    tracing::warn!(
                        room_id,
                        events = GAP_EVENTS_MAX,
                        "too much was said; the oldest is left out"
                    );
                    break;
                }
                _ => break,
            }
        }
        missing.reverse();
        missing.extend(timeline.events);
        Ok(missing)
    }
}

/// An event that cannot be read will not be readable the next time either: it is passed over.
fn decoded(event: Value) -> Option<Event> {
    serde_json::from_value(event).inspect_err(|_| tracing::warn!("an event of Matrix cannot be read")).ok()
}

/// herm comes into the room by this event; a new name or picture of its own looks much the same.
fn is_coming(event: &Event, me: &Me) -> bool {
    let before = event.unsigned.prev_content.as_ref().and_then(|before| before.get("membership"));
    event.membership_of(&me.id) == Some("join") && before.and_then(Value::as_str) != Some("join")
}

/// How many of the events are from before herm was invited, or came.
fn before_herm(events: &[Event], me: &Me) -> usize {
    let Some(came) = events.iter().rposition(|event| is_coming(event, me)) else { return 0 };
    let invited = events.iter().take(came).rposition(|event| event.membership_of(&me.id) == Some("invite"));
    invited.unwrap_or(came)
}

/// What is known of an event, or can be found out; `None` if herm may not see it.
async fn known(
    matrix: &Matrix,
    room_id: &str,
    event_id: &str,
) -> Result<Option<std::sync::Arc<Known>>, Failed> {
    if let Some(known) = matrix.memory.get(event_id) {
        return Ok(Some(known));
    }
    let found = rooms::event(matrix, room_id, event_id).await?;
    Ok(found.map(|event| matrix.memory.keep(event_id, Known::of(&event, None))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn me() -> Me {
        Me { id: "@herm:x".to_owned(), name: None }
    }

    fn member(membership: &str, before: Option<&str>) -> Event {
        let unsigned = before.map_or(json!({}), |before| json!({"prev_content": {"membership": before}}));
        serde_json::from_value(json!({
            "event_id": "$m", "type": "m.room.member", "sender": "@a:x", "state_key": "@herm:x",
            "origin_server_ts": 1, "content": {"membership": membership}, "unsigned": unsigned,
        }))
        .unwrap()
    }

    fn message() -> Event {
        let content = json!({"msgtype": "m.text", "body": "x"});
        serde_json::from_value(json!({
            "event_id": "$1", "type": "m.room.message", "sender": "@a:x", "origin_server_ts": 1, "content": content,
        }))
        .unwrap()
    }

    #[test]
    fn what_was_said_before_the_invitation_is_old() {
        let invited =
            [message(), member("invite", None), message(), member("join", Some("invite")), message()];
        assert_eq!(before_herm(&invited, &me()), 1);
        let came = [message(), message(), member("join", None), message()];
        assert_eq!(before_herm(&came, &me()), 2);
        let renamed = [message(), member("join", Some("join")), message()];
        assert_eq!(before_herm(&renamed, &me()), 0);
        assert_eq!(before_herm(&[message()], &me()), 0);
    }

    #[test]
    fn a_cursor_is_of_one_account() {
        assert_eq!(since_of("@herm:x s1_2", &me()).as_deref(), Some("s1_2"));
        for other in ["@other:x s1_2", "s1_2", "@herm:x "] {
            assert_eq!(since_of(other, &me()), None);
        }
    }
}
