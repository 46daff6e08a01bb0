//! How long one call may take, measured on its content, by the monotonic clock.

use std::future::Future;
use std::time::Duration;

use herm_schema::events::ModelFailure;
use tokio::time::{Instant, timeout_at};

use crate::providers::Deadlines;
use crate::providers::classify::{self, Phase, TransportFailure};

/// What is waited for after the answer is complete: usage and the end mark.
const AFTER_COMPLETE: Duration = Duration::from_secs(2);

/// Watches over one call.
pub(super) struct Watch {
    started: Instant,
    deadlines: Deadlines,
    first_content: Option<Instant>,
    last_content: Option<Instant>,
    complete: Option<Instant>,
}

impl Watch {
    pub(super) fn new(started: Instant, deadlines: Deadlines) -> Self {
        Self { started, deadlines, first_content: None, last_content: None, complete: None }
    }

    pub(super) fn deadlines(&self) -> Deadlines {
        self.deadlines
    }

    pub(super) fn first_content(&self) -> Option<Instant> {
        self.first_content
    }

    /// Content has come in.
    pub(super) fn content(&mut self) {
        let now = Instant::now();
        self.first_content.get_or_insert(now);
        self.last_content = Some(now);
    }

    /// All that matters has come in.
    pub(super) fn complete(&mut self) {
        self.complete.get_or_insert_with(Instant::now);
    }

    /// When this call is late, and in what.
    fn due(&self) -> (Instant, Phase, Duration) {
        let limits = &self.deadlines;
        let total = (self.started + limits.total, Phase::Total, limits.total);
        let content = match (self.complete, self.last_content) {
            (Some(at), _) => (at + AFTER_COMPLETE, Phase::Total, AFTER_COMPLETE),
            (None, Some(at)) => (at + limits.between_content, Phase::BetweenContent, limits.between_content),
            (None, None) => (self.started + limits.first_content, Phase::FirstContent, limits.first_content),
        };
        if content.0 < total.0 { content } else { total }
    }

    /// Waits for `future`, but not longer than this call may still take.
    pub(super) async fn until<F: Future>(&self, future: F) -> Result<F::Output, ModelFailure> {
        let (at, phase, limit) = self.due();
        let late = |_| classify::transport(&TransportFailure::TooLate { phase, limit });
        timeout_at(at, future).await.map_err(late)
    }
}
