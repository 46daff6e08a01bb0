//! Session actors: fold, decide, append, run what is owed.
//!
//! One task a session. It owns the fold of its stream and is the only one that appends to it.
//! After every event it asks what is owed, begins what is not running yet, and cancels what is not
//! owed any more: that is the whole of scheduling, interrupting and recovering. Start at `actor`.

mod actor;
mod clock;
mod error;
pub mod grants;
mod handle;
pub mod models;
mod ports;
mod sessions;

pub use clock::{Clock, SystemClock, TokioClock};
pub use error::Error;
pub use grants::Grants;
pub use handle::{Recorder, SessionHandle};
pub use models::ModelTable;
pub use ports::{
    AUXILIARY_TIME_MAX, ApprovalQuestion, Judge, Loader, Models, People, Ports, PromptSource, Redact, Silent,
    Watch,
};
pub use sessions::Sessions;
