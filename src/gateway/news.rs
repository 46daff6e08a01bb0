//! Tells the sessions of a profile what became of their background processes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use herm_schema::SessionId;

use crate::config::{Loaded, Redactor};
use crate::entry::engine::Engine;
use crate::entry::telling::Telling;
use crate::runtime::SessionHandle;

/// Who is told.
pub struct News {
    engine: Weak<Engine>,
    redactor: Redactor,
    told: Mutex<HashMap<SessionId, Telling>>,
}

impl News {
    pub fn of(engine: &Arc<Engine>, loaded: &Loaded) -> Arc<Self> {
        let (engine, redactor) = (Arc::downgrade(engine), loaded.redactor.clone());
        Arc::new(Self { engine, redactor, told: Mutex::default() })
    }

    /// The session is told from now on.
    pub fn tell(&self, handle: &SessionHandle) {
        let Some(engine) = self.engine.upgrade() else { return };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.entry(handle.id()).or_insert_with(|| Telling::begin(&engine.processes, handle, &self.redactor));
    }

    /// It is not any more: its actor may leave memory.
    pub fn forget(&self, session: SessionId) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
    }
}
