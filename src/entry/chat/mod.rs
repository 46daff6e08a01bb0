//! `herm chat`: a conversation in a terminal, or one question from a script.
//!
//! [`Chat`] is the command line, [`Prepared`] what it comes to, [`editor`] reads what is typed,
//! [`view`] prints what happens, [`questions`] gets a yes or no. None of them knows the runtime.

mod approvals;
mod arguments;
mod commands;
pub mod editor;
pub mod escape;
pub mod files;
pub mod lines;
mod link;
pub mod questions;
mod run;
mod surroundings;
mod talk;
pub mod view;

pub use arguments::{Chat, Prepared, Resume};
pub use run::{run, terminal_chat};
pub use surroundings::{Surroundings, is_conversation};
