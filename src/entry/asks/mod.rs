//! What people ask of a session besides messages, in a terminal as in a chat: done here, said there.

mod memory;
mod model;
mod rollback;
mod usage;

pub use memory::memory;
pub use model::{Asker, model};
pub use rollback::rolled_back;
pub use usage::usage;
