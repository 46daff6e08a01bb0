//! The sessions that run in this process: one actor each, opened and found here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use herm_replay::reducer::{Command, SessionState};
use herm_schema::SessionId;
use herm_schema::events::{Policy, SessionOpened};
use tokio::sync::{mpsc, watch};

use super::actor::Actor;
use super::handle::{MAILBOX_MAX, SessionHandle};
use super::{Error, Ports};

/// The sessions of this process.
pub struct Sessions {
    ports: Arc<Ports>,
    running: Mutex<HashMap<SessionId, SessionHandle>>,
}

impl Sessions {
    pub fn new(ports: Arc<Ports>) -> Self {
        Self { ports, running: Mutex::default() }
    }

    pub fn ports(&self) -> &Arc<Ports> {
        &self.ports
    }

    /// Opens a session under a new identifier.
    ///
    /// # Errors
    /// Those of the log.
    pub async fn open(&self, opened: SessionOpened, policy: Policy) -> Result<SessionHandle, Error> {
        let id = SessionId::opened(self.ports.clock.now(), self.ports.clock.salt());
        let handle = self.start(id, SessionState::default(), None);
        handle.send(Command::Open(opened), None).await?;
        handle.configure(policy).await?;
        Ok(handle)
    }

    /// Takes up a session from the log and goes on with what it left open, under `policy` if one is
    /// given.
    ///
    /// # Errors
    /// `NoSession` if the log has none of this name; those of the log.
    pub async fn resume(&self, id: SessionId, policy: Option<Policy>) -> Result<SessionHandle, Error> {
        if let Some(handle) = self.find(id) {
            return Ok(handle);
        }
        let state = (self.ports.load)(id)?;
        if state.opened.is_none() {
            return Err(Error::NoSession { session: id });
        }
        let changed = policy.filter(|policy| state.policy.as_ref() != Some(policy));
        Ok(self.start(id, state, changed.map(Command::Configure)))
    }

    fn find(&self, id: SessionId) -> Option<SessionHandle> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.get(&id).filter(|handle| !handle.mailbox.is_closed()).cloned()
    }

    fn start(&self, id: SessionId, state: SessionState, first: Option<Command>) -> SessionHandle {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|_, handle| !handle.mailbox.is_closed());
        if let Some(handle) = running.get(&id) {
            // Somebody else was faster: a stream has one writer.
            return handle.clone();
        }
        let (mailbox, mail) = mpsc::channel(MAILBOX_MAX);
        let (work, open_work) = watch::channel(state.has_open_work());
        let handle = SessionHandle { id, mailbox, open_work };
        running.insert(id, handle.clone());
        tokio::spawn(Actor::new(id, Arc::clone(&self.ports), state, first, work).run(mail));
        handle
    }

    /// Lets go of a session: its actor ends as soon as nothing is owed and no handle is left.
    pub fn release(&self, id: SessionId) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }
}
