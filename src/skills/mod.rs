//! Skills: folders with a `SKILL.md` that teach the model to do something. The model sees a line of each in
//! its prompt, reads one whole when it fits, and may write its own.
//!
//! The files are what holds, and people may do with them what they like; what is written by way of herm is
//! an event first, with what each file was and became, so that it can be taken back. Reading is lenient
//! and names what is wrong; writing is strict.
//!
//! Start at [`Library`] (what there is), then [`Workshop`] (what is changed). The tools are
//! `tools/skills/`.

mod fit;
mod frontmatter;
mod index;
mod library;
mod linked;
mod names;
mod plan;
mod takeback;
mod view;
mod workshop;

use std::path::PathBuf;

pub use fit::Surroundings;
pub use frontmatter::{Frontmatter, Variable};
pub use index::index;
pub use library::{Broken, Found, Library, Skill};
pub use takeback::{Undone, Write, loads, writes};
pub use view::{Viewed, invoked};
pub use workshop::{Change, Edit, Refused, Workshop, Written};

/// The file that makes a folder a skill.
pub const FILE: &str = "SKILL.md";
/// Characters of a `SKILL.md`, at most.
pub const TEXT_CHARS_MAX: usize = 100_000;
/// Bytes of a file beside it, at most.
pub const LINKED_BYTES_MAX: u64 = 1 << 20;

/// What is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillsConfig {
    /// More folders to look in; nothing is written there.
    pub external: Vec<PathBuf>,
    /// Whether variables in a skill are replaced.
    pub template_vars: bool,
    /// Whether what the model writes is also looked through for what would carry secrets away.
    pub guard: bool,
}

/// How a person names a write: `s12` is the one at 12 in the profile's stream.
pub fn name(at: herm_schema::StreamPos) -> String {
    format!("s{}", at.0)
}

/// The other way round.
pub fn named(text: &str) -> Option<herm_schema::StreamPos> {
    text.trim().trim_start_matches(['s', 'S']).parse().ok().map(herm_schema::StreamPos)
}

#[cfg(test)]
mod tests;
