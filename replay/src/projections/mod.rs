//! Projections: what is looked up. Each is a fold of the log with a checkpoint in its own store,
//! and may be deleted at any time: it is built again. None is the truth, and none stops the log.
//!
//! [`Views`] holds them all and opens none before it is asked. Reading brings a projection up to
//! the end of the log first, in the caller's thread, so that what was appended before is seen. A
//! process that lives long also starts [`Views::follow`], so that there is little to catch up with.
//!
//! A projection whose fold fails or panics is *parked*: it answers with its error until it is
//! rebuilt; the others go on. A store that is damaged is moved aside and built again without asking.
//!
//! Start reading at [`Projection`], then [`runner`] (when what is applied), [`keyed`], `buffered` and [`store`]
//! (the small ones, in one sled database), then the projections themselves.

mod buffered;
mod error;
pub mod find;
mod follow;
pub mod keyed;
pub mod messages;
pub mod open_work;
pub mod outbox;
pub mod query;
pub mod runner;
pub mod search;
pub mod session_search;
pub mod sessions;
mod snippet;
pub mod store;
pub mod tokenizer;
pub mod usage;
mod views;

use herm_schema::{Digest, Position, Recorded};
use serde::{Deserialize, Serialize};

use crate::log::Log;

pub use error::Error;
pub use follow::Follower;
pub use runner::Status;
pub use views::Views;

/// How far a projection has come, and in which log: the chain is that of the event it stands at, so
/// that another log, or the same one with another end, is told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub position: Position,
    pub chain: Digest,
}

impl Checkpoint {
    /// Where one stands who has applied `recorded` last.
    pub fn at(recorded: &Recorded) -> Self {
        Self { position: recorded.envelope.position, chain: recorded.envelope.chain }
    }
}

/// A fold of the log with its own store. Driven by [`runner::Runner`], which serialises all calls.
pub trait Projection: Send {
    /// A short name, unique among projections.
    fn name(&self) -> &'static str;

    /// Raised whenever the fold or its stored form changes; another number means a rebuild.
    fn schema(&self) -> u32;

    /// Where it stands, opening the store if it is not open. `None` if there is no store yet, or
    /// one of another schema: it is to be built.
    ///
    /// # Errors
    /// `Store` if the store is damaged.
    fn checkpoint(&mut self) -> Result<Option<Checkpoint>, Error>;

    /// Takes in the events after the checkpoint, in order, and moves it: both or neither. `log` is
    /// for what events only name: blobs, and the beginning of a stream.
    ///
    /// # Errors
    /// `Store` if the store is damaged; anything else parks the projection.
    fn apply(&mut self, batch: &[Recorded], log: &dyn Log) -> Result<(), Error>;

    /// Begins an empty store beside the current one; `apply` goes there until [`finish`](Self::finish).
    ///
    /// # Errors
    /// When it cannot be made.
    fn begin(&mut self) -> Result<(), Error>;

    /// Puts the store that was begun in the place of the current one.
    ///
    /// # Errors
    /// When it cannot be moved.
    fn finish(&mut self) -> Result<(), Error>;

    /// Moves a damaged store aside; the next checkpoint is `None`.
    ///
    /// # Errors
    /// When it cannot be moved.
    fn discard(&mut self) -> Result<(), Error>;

    /// Called by the follower now and then: a time to write down what was collected long ago, and to let go
    /// of what is not needed.
    ///
    /// # Errors
    /// Like `apply`.
    fn idle(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Writes down what is collected.
    ///
    /// # Errors
    /// Like `apply`.
    fn write(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
