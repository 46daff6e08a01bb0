//! Approvals: reading a command line as the shell does, and judging what it would do.
//!
//! The way of a command line: [`parse`] makes a tree of it, [`walk`] visits every position that
//! the shell would execute and lists the invocations there with their words as the shell would see
//! them ([`word`]), looking through launchers such as `sudo` and `xargs` ([`launcher`]) and into
//! scripts ([`scripts`]); then the steps of [`pipeline`]: [`limits`], [`floor`], [`sudo`],
//! [`deny`], the grants, the dangerous patterns ([`rules`]), and the scene. What is not dangerous
//! by a rule runs unasked; what cannot be read is asked about.
//!
//! Invariant: everything here is pure but for two named places, [`Files`] and [`saved`]. Asking
//! another model or a person is the caller's. It is a net, not a sandbox.
//!
//! Start at [`judge`].

mod comments;
mod deny;
mod floor;
mod glob;
mod judgement;
mod launcher;
mod limits;
mod parse;
mod paths;
mod pipeline;
mod reading;
mod rules;
pub mod saved;
mod scripts;
mod sudo;
mod walk;
mod width;
mod word;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod against_bash;

pub use comments::without_comments;
pub use judgement::{Asked, Danger, Grant, Judgement, Mode, Outcome, Preset, Rules, Scene, Step, Verdict};
pub use limits::{COMMAND_CHARS_MAX, SEGMENTS_MAX, TOO_LARGE, UNSEPARATED_CHARS_MAX};
pub use pipeline::judge;
pub use scripts::{Files, NoScripts, SCRIPT_BYTES_MAX, Script, Scripts};
pub use walk::last_program;
