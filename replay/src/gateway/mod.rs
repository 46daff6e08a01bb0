//! What the gateway's own events mean: who may write, what was asked of herm itself, what is owed to
//! chats beside the answers of sessions, where nothing can be brought any more. PURE.
//!
//! The same three functions as for a session: [`decide`], [`evolve`], [`owed`].

mod decide;
mod evolve;
mod state;

pub use decide::{Command, Rejection, decide};
pub use evolve::evolve;
pub use state::{GatewayState, PendingPairing, Place, Start, place};

use herm_schema::{StreamId, StreamKind};

use crate::deliveries::{self, Owed};

/// The one stream of the gateway of a home.
pub fn stream() -> StreamId {
    StreamId::named(StreamKind::Gateway, "gateway")
}

/// The deliveries that are owed. Commands without an answer are owed too: see
/// [`GatewayState::commands`].
pub fn owed(state: &GatewayState) -> Vec<Owed> {
    deliveries::owed(&state.deliveries)
}
