//! Drives one projection: when it is opened, brought up to date, rebuilt, parked.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use herm_schema::{Position, Recorded};
use serde::Serialize;

use super::store::panic_text;
use super::{Checkpoint, Error, Projection};
use crate::log::Log;

/// Events that are applied together, at most.
pub(super) const BATCH_EVENTS_MAX: usize = 512;

/// How a projection is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    pub name: &'static str,
    pub schema: u32,
    /// The last event it has applied.
    pub checkpoint: Position,
    /// The last event of the log.
    pub tail: Position,
    /// How many events it is behind.
    pub lag: u64,
    /// Why it stands still, if it does.
    pub error: Option<String>,
}

/// A projection and the log it follows.
pub struct Runner<P> {
    log: Arc<dyn Log>,
    inner: Mutex<Inner<P>>,
}

struct Inner<P> {
    projection: P,
    /// Where it stands, once it has been found to belong to this log.
    standing: Option<Checkpoint>,
    parked: Option<String>,
}

/// What can be asked of every projection.
pub trait Followed: Send + Sync {
    fn name(&self) -> &'static str;

    /// How it is doing; opens its store if that is not open.
    fn status(&self) -> Status;

    /// Applies everything up to the end of the log.
    ///
    /// # Errors
    /// `Parked` if it stands still, `Log` if the log cannot be read.
    fn catch_up(&self) -> Result<(), Error>;

    /// Applies these events, which follow one another in the log: what it has of them already is left out,
    /// and what it lacks before them is read from the log.
    ///
    /// # Errors
    /// Like those of `catch_up`.
    fn take(&self, batch: &[Recorded]) -> Result<(), Error>;

    /// Builds it anew from the first event and puts the result in place of what there was.
    ///
    /// # Errors
    /// What the fold says; it is parked then.
    fn rebuild(&self) -> Result<(), Error>;

    /// There is time to write down what was collected long ago.
    ///
    /// # Errors
    /// What the projection says; it is parked then.
    fn idle(&self) -> Result<(), Error>;

    /// Writes down what was collected.
    ///
    /// # Errors
    /// What the projection says; it is parked then.
    fn write(&self) -> Result<(), Error>;
}

impl<P: Projection> Runner<P> {
    pub fn new(log: Arc<dyn Log>, projection: P) -> Self {
        Self { log, inner: Mutex::new(Inner { projection, standing: None, parked: None }) }
    }

    /// What the projection says about everything that is in the log now.
    ///
    /// # Errors
    /// `Parked` if it stands still, those of `read` otherwise.
    pub fn read<T>(&self, read: impl FnOnce(&P) -> Result<T, Error>) -> Result<T, Error> {
        let mut inner = self.inner();
        self.advance(&mut inner)?;
        read(&inner.projection)
    }

    /// The projection as it is, however far it is behind.
    pub(crate) fn with<T>(&self, call: impl FnOnce(&mut P) -> T) -> T {
        call(&mut self.inner().projection)
    }

    fn inner(&self) -> MutexGuard<'_, Inner<P>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn advance(&self, inner: &mut Inner<P>) -> Result<(), Error> {
        self.not_parked(inner)?;
        let mut result = guarded(inner, |inner| follow(inner, self.log.as_ref()));
        if result.as_ref().is_err_and(Error::is_damage) {
            tracing::warn!(
                projection = inner.projection.name(),
                "damaged store moved aside; building it anew"
            );
            result = guarded(inner, |inner| {
                inner.standing = None;
                inner.projection.discard()?;
                follow(inner, self.log.as_ref())
            });
        }
        park(inner, result)
    }

    fn not_parked(&self, inner: &Inner<P>) -> Result<(), Error> {
        match &inner.parked {
            Some(reason) => Err(Error::Parked {
                name: inner.projection.name(),
                position: inner.standing.unwrap_or_default().position.0,
                reason: reason.clone(),
            }),
            None => Ok(()),
        }
    }
}

impl<P: Projection + Sync> Followed for Runner<P> {
    fn name(&self) -> &'static str {
        self.inner().projection.name()
    }

    fn status(&self) -> Status {
        let mut inner = self.inner();
        let stored = match inner.parked {
            None => guarded(&mut inner, |inner| inner.projection.checkpoint()),
            Some(_) => Ok(inner.standing),
        };
        let (stored, error) = match stored {
            Ok(stored) => (stored, inner.parked.clone()),
            Err(error) => (None, Some(error.to_string())),
        };
        let checkpoint = inner.standing.or(stored).unwrap_or_default().position;
        let tail = self.log.tail().last;
        let lag = tail.0.saturating_sub(checkpoint.0);
        Status {
            name: inner.projection.name(),
            schema: inner.projection.schema(),
            checkpoint,
            tail,
            lag,
            error,
        }
    }

    fn catch_up(&self) -> Result<(), Error> {
        self.advance(&mut self.inner())
    }

    fn take(&self, batch: &[Recorded]) -> Result<(), Error> {
        let mut inner = self.inner();
        self.not_parked(&inner)?;
        let taken = guarded(&mut inner, |inner| take(inner, batch, self.log.as_ref()));
        match taken {
            Ok(true) => Ok(()),
            // It is somewhere else, or it failed: the way by the log knows what to do.
            _ => self.advance(&mut inner),
        }
    }

    fn rebuild(&self) -> Result<(), Error> {
        let mut inner = self.inner();
        inner.parked = None;
        let mut result = guarded(&mut inner, |inner| build(inner, self.log.as_ref()));
        if result.as_ref().is_err_and(Error::is_damage) {
            result = guarded(&mut inner, |inner| {
                inner.projection.discard()?;
                build(inner, self.log.as_ref())
            });
        }
        park(&mut inner, result)
    }

    fn idle(&self) -> Result<(), Error> {
        let mut inner = self.inner();
        self.not_parked(&inner)?;
        let result = guarded(&mut inner, |inner| inner.projection.idle());
        park(&mut inner, result)
    }

    fn write(&self) -> Result<(), Error> {
        let mut inner = self.inner();
        self.not_parked(&inner)?;
        let result = guarded(&mut inner, |inner| inner.projection.write());
        park(&mut inner, result)
    }
}

/// Calls into a projection; a panic in it is an error like any other.
fn guarded<P: Projection, T>(
    inner: &mut Inner<P>,
    call: impl FnOnce(&mut Inner<P>) -> Result<T, Error>,
) -> Result<T, Error> {
    match catch_unwind(AssertUnwindSafe(|| call(inner))) {
        Ok(result) => result,
        Err(panic) => Err(Error::Parked {
            name: inner.projection.name(),
            position: inner.standing.unwrap_or_default().position.0,
            reason: format!("panic: {}", panic_text(&*panic)),
        }),
    }
}

/// A projection that failed stands still. When the log could not be read, it is not its fault.
fn park<P: Projection, T>(inner: &mut Inner<P>, result: Result<T, Error>) -> Result<T, Error> {
    match &result {
        Ok(_) | Err(Error::Log { .. } | Error::Busy { .. }) => {}
        Err(Error::Parked { reason, .. }) => inner.parked = Some(reason.clone()),
        Err(error) => inner.parked = Some(error.to_string()),
    }
    if let Some(reason) = &inner.parked {
        tracing::warn!(projection = inner.projection.name(), reason, "projection parked");
    }
    result
}

fn follow<P: Projection>(inner: &mut Inner<P>, log: &dyn Log) -> Result<(), Error> {
    let stored = inner.projection.checkpoint()?;
    if inner.standing.is_none() || stored.is_none() {
        inner.standing = stored.filter(|checkpoint| belongs(checkpoint, log));
    }
    match inner.standing {
        Some(_) => feed(inner, log),
        // Nothing is built, opened or written for an empty log.
        None if log.tail().last == Position(0) => Ok(()),
        None => build(inner, log),
    }
}

/// Applies what of `batch` follows what it has; whether that was possible.
fn take<P: Projection>(inner: &mut Inner<P>, batch: &[Recorded], log: &dyn Log) -> Result<bool, Error> {
    let (Some(standing), Some(_)) = (inner.standing, inner.projection.checkpoint()?) else {
        return Ok(false);
    };
    let known = batch.partition_point(|recorded| recorded.envelope.position <= standing.position);
    let fresh = batch.get(known..).unwrap_or_default();
    let (Some(first), Some(last)) = (fresh.first(), fresh.last().map(Checkpoint::at)) else {
        return Ok(true);
    };
    if known == 0 && first.envelope.position > standing.position.next() {
        return Ok(false);
    }
    inner.projection.apply(fresh, log)?;
    inner.standing = Some(last);
    Ok(true)
}

/// Whether `checkpoint` was taken of this log: the event it stands at is there, with its chain.
fn belongs(checkpoint: &Checkpoint, log: &dyn Log) -> bool {
    if checkpoint.position == Position(0) {
        return true;
    }
    let standing_at = log.read_all(checkpoint.position).next();
    standing_at.is_some_and(|event| event.is_ok_and(|event| Checkpoint::at(&event) == *checkpoint))
}

fn build<P: Projection>(inner: &mut Inner<P>, log: &dyn Log) -> Result<(), Error> {
    inner.projection.begin()?;
    inner.standing = Some(Checkpoint::default());
    let fed = feed(inner, log);
    if fed.is_err() {
        inner.standing = None;
        return fed;
    }
    inner.projection.finish()
}

fn feed<P: Projection>(inner: &mut Inner<P>, log: &dyn Log) -> Result<(), Error> {
    let from = inner.standing.unwrap_or_default().position;
    if log.tail().last <= from {
        return Ok(());
    }
    let mut batch = Vec::with_capacity(BATCH_EVENTS_MAX);
    for recorded in log.read_all(from.next()) {
        batch.push(recorded?);
        if batch.len() == BATCH_EVENTS_MAX {
            apply(inner, &mut batch, log)?;
        }
    }
    apply(inner, &mut batch, log)
}

fn apply<P: Projection>(inner: &mut Inner<P>, batch: &mut Vec<Recorded>, log: &dyn Log) -> Result<(), Error> {
    let Some(last) = batch.last().map(Checkpoint::at) else {
        return Ok(());
    };
    inner.projection.apply(batch, log)?;
    inner.standing = Some(last);
    batch.clear();
    Ok(())
}
