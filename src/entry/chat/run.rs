//! A conversation from its first prompt to its end.

use super::Chat;
use crate::entry::{Exit, Failure, Start};

pub fn run(arguments: &Chat, start: &Start) -> Result<Exit, Failure> {
    let prepared = arguments.prepare(start)?;
    Err(Failure::message(
        Exit::Failed,
        format!("there is no runtime to talk to in `{}`", prepared.cwd.display()),
    ))
}
