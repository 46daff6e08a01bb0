//! Lasting yeses of a profile: a fold of its stream, asked before a person is, and every use an event.
//!
//! One process owns the log, so the lock here is the only other user; what is counted is counted in
//! the log, and a restart between a use and its call counts the same use once.

use std::collections::BTreeMap;
use std::sync::Arc;

use herm_replay::log::{Append, Durability, Error, Expect, Log};
use herm_schema::events::{ApprovalGranted, ApprovalRevoked, ApprovalUsed};
use herm_schema::{CallRef, Event, IdempotencyKey, Micros, Recorded, SessionId, StreamId, StreamPos};
use tokio::sync::{Mutex, oneshot};

/// A lasting yes and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasting {
    pub granted: ApprovalGranted,
    pub granted_at: Micros,
    pub uses: u32,
    pub last_used: Option<Micros>,
    pub revoked: bool,
}

impl Lasting {
    /// Whether it still lets calls through.
    pub fn holds(&self, now: Micros) -> bool {
        !self.revoked
            && self.granted.until.is_none_or(|until| now < until)
            && self.granted.uses_max.is_none_or(|max| self.uses < max)
    }

    fn covers(&self, asked: Asked<'_>) -> bool {
        self.granted.tool == asked.tool
            && self.granted.pattern == asked.pattern
            && self.granted.target.as_deref().is_none_or(|only| asked.target == Some(only))
    }
}

/// What a call needs a yes for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub tool: &'a str,
    pub pattern: &'a str,
    pub target: Option<&'a str>,
}

/// Which call a yes is used for, and when.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    pub session: SessionId,
    pub call: CallRef,
    /// Of a program that the call runs, from 1; zero for the call itself.
    pub nth: u32,
    pub at: Micros,
}

/// The fold; a grant is named by its place in the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fold {
    grants: BTreeMap<StreamPos, Lasting>,
    read_to: StreamPos,
}

impl Fold {
    /// Everything that a stream says of lasting yeses.
    ///
    /// # Errors
    /// Those of the log.
    pub fn of(log: &dyn Log, profile: StreamId) -> Result<Self, Error> {
        let mut fold = Self::default();
        fold.catch_up(log, profile)?;
        Ok(fold)
    }

    /// Every lasting yes ever given, in the order in which they were given.
    pub fn all(&self) -> impl Iterator<Item = (StreamPos, &Lasting)> {
        self.grants.iter().map(|(at, lasting)| (*at, lasting))
    }

    /// The yes that covers a call at this time, if there is one: the oldest that holds.
    pub fn covering(&self, asked: Asked<'_>, now: Micros) -> Option<(StreamPos, &Lasting)> {
        self.all().find(|(_, lasting)| lasting.holds(now) && lasting.covers(asked))
    }

    fn catch_up(&mut self, log: &dyn Log, profile: StreamId) -> Result<(), Error> {
        let from = if self.read_to == StreamPos(0) { self.read_to } else { self.read_to.next() };
        for recorded in log.read_stream(profile, from) {
            self.apply(&recorded?);
        }
        Ok(())
    }

    fn apply(&mut self, recorded: &Recorded) {
        let (at, time) = (recorded.envelope.stream_pos, recorded.envelope.recorded_at);
        match &recorded.event {
            Event::ApprovalGranted(granted) => {
                let (granted, granted_at) = (granted.clone(), time);
                let lasting = Lasting { granted, granted_at, uses: 0, last_used: None, revoked: false };
                self.grants.insert(at, lasting);
            }
            Event::ApprovalUsed(used) => {
                if let Some(lasting) = self.grants.get_mut(&used.grant) {
                    lasting.uses = lasting.uses.saturating_add(1);
                    lasting.last_used = Some(time);
                }
            }
            Event::ApprovalRevoked(revoked) => {
                if let Some(lasting) = self.grants.get_mut(&revoked.grant) {
                    lasting.revoked = true;
                }
            }
            _ => {}
        }
        self.read_to = at;
    }
}

/// The lasting yeses of the profile that this process serves.
pub struct Grants {
    log: Arc<dyn Log>,
    profile: StreamId,
    fold: Mutex<Fold>,
}

impl Grants {
    pub fn new(log: Arc<dyn Log>, profile: StreamId) -> Self {
        Self { log, profile, fold: Mutex::new(Fold::default()) }
    }

    /// Uses a yes that covers the call; whether there was one.
    ///
    /// # Errors
    /// Those of the log; then nothing was let through.
    pub async fn take(&self, asked: Asked<'_>, used: Use) -> Result<bool, Error> {
        let mut fold = self.fold.lock().await;
        fold.catch_up(&*self.log, self.profile)?;
        let Some((grant, lasting)) = fold.covering(asked, used.at) else {
            return Ok(false);
        };
        let durability = match lasting.granted.uses_max {
            Some(_) => Durability::Disk,
            None => Durability::Queued,
        };
        let Use { session, call, nth, at } = used;
        let key = IdempotencyKey::of(&["use", &session.to_string(), &call.to_string(), &nth.to_string()]);
        let event = ApprovalUsed { grant, session, call }.into();
        self.append(event, Some(key), at, durability).await.map(|()| true)
    }

    /// Records a lasting yes. Under a key: a restart before the answer is recorded asks again, and
    /// grants the same once.
    ///
    /// # Errors
    /// Those of the log.
    pub async fn grant(&self, granted: ApprovalGranted, at: Micros) -> Result<(), Error> {
        let key = granted.origin.as_ref().map(|origin| {
            IdempotencyKey::of(&["grant", &origin.session.to_string(), &origin.request.to_string()])
        });
        self.append(granted.into(), key, at, Durability::Disk).await
    }

    /// Takes a yes back; whether there was one that held.
    ///
    /// # Errors
    /// Those of the log.
    pub async fn revoke(&self, grant: StreamPos, at: Micros) -> Result<bool, Error> {
        let mut fold = self.fold.lock().await;
        fold.catch_up(&*self.log, self.profile)?;
        if fold.grants.get(&grant).is_none_or(|lasting| !lasting.holds(at)) {
            return Ok(false);
        }
        self.append(ApprovalRevoked { grant }.into(), None, at, Durability::Disk).await.map(|()| true)
    }

    /// All of them, as of now.
    ///
    /// # Errors
    /// Those of the log.
    pub async fn list(&self) -> Result<Fold, Error> {
        let mut fold = self.fold.lock().await;
        fold.catch_up(&*self.log, self.profile)?;
        Ok(fold.clone())
    }

    async fn append(
        &self,
        event: Event,
        key: Option<IdempotencyKey>,
        at: Micros,
        durability: Durability,
    ) -> Result<(), Error> {
        let events = vec![event.into()];
        let append = Append { stream: self.profile, expect: Expect::Any, key, at, durability, events };
        let (done, wait) = oneshot::channel();
        Log::submit(&*self.log, append, Box::new(move |result| drop(done.send(result))));
        wait.await.map_err(|_| Error::Closed)?.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use herm_replay::log::MemoryLog;
    use herm_schema::StreamKind;

    use super::*;

    fn grants() -> Grants {
        Grants::new(Arc::new(MemoryLog::default()), StreamId::named(StreamKind::Profile, "default"))
    }

    fn granted(uses_max: Option<u32>, until: Option<Micros>, target: Option<&str>) -> ApprovalGranted {
        ApprovalGranted {
            tool: "terminal".into(),
            pattern: "rm -r".into(),
            target: target.map(str::to_owned),
            until,
            uses_max,
            origin: None,
        }
    }

    fn asked<'a>(target: &'a str) -> Asked<'a> {
        Asked { tool: "terminal", pattern: "rm -r", target: Some(target) }
    }

    fn used(index: u16, at: i64) -> Use {
        let session = SessionId::opened(Micros(0), [1; 10]);
        Use { session, call: CallRef { message: StreamPos(5), index }, nth: 0, at: Micros(at) }
    }

    #[tokio::test]
    async fn a_yes_for_so_many_calls_is_counted_in_the_log() {
        let grants = grants();
        grants.grant(granted(Some(2), None, None), Micros(1)).await.unwrap();
        assert!(grants.take(asked("a"), used(0, 2)).await.unwrap());
        // The same call again, after a restart: the same use.
        assert!(grants.take(asked("a"), used(0, 2)).await.unwrap());
        assert!(grants.take(asked("b"), used(1, 3)).await.unwrap());
        assert!(!grants.take(asked("c"), used(2, 4)).await.unwrap());
        let fold = Fold::of(&*grants.log, grants.profile).unwrap();
        assert_eq!(fold, grants.list().await.unwrap());
        let (_, lasting) = fold.all().next().unwrap();
        assert_eq!((lasting.uses, lasting.last_used), (2, Some(Micros(3))));
    }

    #[tokio::test]
    async fn a_yes_ends_with_its_time_and_when_it_is_revoked() {
        let grants = grants();
        grants.grant(granted(None, Some(Micros(10)), None), Micros(1)).await.unwrap();
        assert!(grants.take(asked("a"), used(0, 9)).await.unwrap());
        assert!(!grants.take(asked("a"), used(1, 10)).await.unwrap());
        grants.grant(granted(None, None, None), Micros(11)).await.unwrap();
        assert!(grants.take(asked("a"), used(2, 12)).await.unwrap());
        let (at, _) = grants.list().await.unwrap().all().last().map(|(at, l)| (at, l.clone())).unwrap();
        assert!(grants.revoke(at, Micros(13)).await.unwrap());
        assert!(!grants.revoke(at, Micros(14)).await.unwrap(), "it held no more");
        assert!(!grants.take(asked("a"), used(3, 15)).await.unwrap());
    }

    #[tokio::test]
    async fn a_yes_for_one_target_is_no_yes_for_another() {
        let grants = grants();
        grants.grant(granted(None, None, Some("build")), Micros(1)).await.unwrap();
        assert!(grants.take(asked("build"), used(0, 2)).await.unwrap());
        assert!(!grants.take(asked("src"), used(1, 2)).await.unwrap());
        let other = Asked { tool: "execute_code", ..asked("build") };
        assert!(!grants.take(other, used(2, 2)).await.unwrap());
    }
}
