//! Rooms: which session a session key leads to, in one profile.
//!
//! The newest session of a key that has not ended is the one. The list is a fold of the log, read once
//! at the start and kept up to date by what is opened here; an actor that is not in memory comes back
//! from the log when it is asked for.

use std::collections::HashMap;
use std::sync::Arc;

use herm_replay::projections::sessions::Activity;
use herm_replay::reducer::{Command, SessionState};
use herm_schema::SessionId;
use herm_schema::events::{BusyPolicy, ChatRef, EndReason, Policy, SessionOpened};
use tokio::sync::Mutex;

use crate::config::Loaded;
use crate::entry::engine::{self, Engine};
use crate::inbound::settings::LiveSettings;
use crate::runtime::{Error, SessionHandle};

/// Where a message goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Door {
    /// Unambiguous within the profile.
    pub key: String,
    pub chat: ChatRef,
    pub shared: bool,
}

/// The rooms of a profile.
pub struct Rooms {
    engine: Arc<Engine>,
    loaded: Loaded,
    /// What new sessions run under, and what those that come back are set to.
    policy: Policy,
    settings: Arc<LiveSettings>,
    known: Mutex<HashMap<String, SessionId>>,
}

impl Rooms {
    /// # Errors
    /// The projections cannot be read.
    pub fn of(
        engine: Arc<Engine>,
        loaded: Loaded,
        policy: Policy,
        settings: Arc<LiveSettings>,
    ) -> Result<Self, herm_replay::projections::Error> {
        let mut known = HashMap::new();
        // Newest first, so the first of a key stays.
        for row in engine.views.sessions()? {
            if !row.key.is_empty() && row.activity != Activity::Ended {
                known.entry(row.key).or_insert(row.id);
            }
        }
        Ok(Self { engine, loaded, policy, settings, known: Mutex::new(known) })
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The session behind a door, if there is one.
    pub async fn find(&self, key: &str) -> Option<SessionId> {
        self.known.lock().await.get(key).copied()
    }

    /// The session behind a door, opened if there is none.
    ///
    /// # Errors
    /// Those of the log.
    pub async fn enter(&self, door: &Door) -> Result<SessionHandle, Error> {
        let before = self.find(&door.key).await;
        if let Some(id) = before {
            // Not under the lock: one that is slow to come back holds up no other door.
            match self.take_up(id).await {
                Err(Error::NoSession { .. }) => {}
                other => return other,
            }
        }
        let mut known = self.known.lock().await;
        let opened = known.get(&door.key).copied().filter(|id| Some(*id) != before);
        if let Some(id) = opened {
            drop(known);
            return self.take_up(id).await;
        }
        let handle = self.open(door).await?;
        known.insert(door.key.clone(), handle.id());
        Ok(handle)
    }

    /// Takes up a session with the settings of now, as far as its people chose nothing else.
    ///
    /// # Errors
    /// `NoSession`, or those of the log.
    pub async fn take_up(&self, id: SessionId) -> Result<SessionHandle, Error> {
        if let Some(handle) = self.engine.sessions.running(id) {
            return Ok(handle);
        }
        let state = (self.engine.sessions.ports().load)(id)?;
        self.engine.sessions.resume(id, Some(self.policy_for(&state))).await
    }

    /// What is in memory is set to the settings of now, as far as its people chose nothing else.
    pub async fn refresh(&self) {
        for handle in self.engine.sessions.handles() {
            let Ok(state) = handle.state().await else { continue };
            let policy = self.policy_for(&state);
            if state.policy.as_ref() != Some(&policy)
                && let Err(error) = handle.configure(policy).await
            {
                tracing::warn!(session = %handle.id(), %error, "new settings do not reach a session");
            }
        }
    }

    fn policy_for(&self, state: &SessionState) -> Policy {
        let platform = state.opened.as_ref().map_or("", |opened| opened.chat.platform.as_str());
        let policy = self.policy_of(platform);
        match &state.policy {
            Some(before) => policy.keeping(before),
            None => policy,
        }
    }

    /// A new session, which a door does not lead to yet.
    ///
    /// # Errors
    /// Those of the log.
    pub async fn open(&self, door: &Door) -> Result<SessionHandle, Error> {
        let cwd = self.loaded.config.working_directory(self.loaded.home.root());
        let opened = SessionOpened {
            key: door.key.clone(),
            shared: door.shared,
            chat: door.chat.clone(),
            ..engine::opened(&self.loaded, &cwd)
        };
        self.engine.sessions.open(opened, self.policy_of(&door.chat.platform)).await
    }

    /// Programs say one thing at a time: nothing is waited for, and what comes during a turn queues.
    fn policy_of(&self, platform: &str) -> Policy {
        match platform == crate::api::settings::NAME {
            true => Policy { debounce_us: 0, busy: BusyPolicy::Queue, ..self.policy.clone() },
            false => {
                let busy = self.settings.now().platform(platform).busy;
                Policy { busy: busy.unwrap_or(self.policy.busy), ..self.policy.clone() }
            }
        }
    }

    /// Ends the session behind a door and opens another in its place.
    ///
    /// # Errors
    /// `Rejected` while work is open, or those of the log.
    pub async fn renew(&self, door: &Door) -> Result<SessionHandle, Error> {
        let mut known = self.known.lock().await;
        if let Some(id) = known.get(&door.key).copied() {
            let old = self.take_up(id).await?;
            match old.send(Command::End(EndReason::Replaced), None).await {
                Ok(_) => {}
                Err(Error::Rejected(herm_replay::reducer::Rejection::Ended { .. })) => {}
                Err(error) => return Err(error),
            }
            self.engine.sessions.release(id);
        }
        let handle = self.open(door).await?;
        known.insert(door.key.clone(), handle.id());
        Ok(handle)
    }

    /// Another session of the profile goes on behind a door.
    pub async fn put(&self, key: &str, id: SessionId) {
        self.known.lock().await.insert(key.to_owned(), id);
    }
}
