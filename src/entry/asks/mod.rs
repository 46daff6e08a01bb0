//! What people ask of a session besides messages, in a terminal as in a chat: done here, said there.

mod memory;
mod model;
mod rollback;
mod skills;
mod usage;

pub use memory::memory;
pub use model::{Asker, model};
pub use rollback::rolled_back;
pub use skills::{invoked, reloaded, skill_named, skills};
pub use usage::usage;
