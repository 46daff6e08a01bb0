//! The approval pipeline from outside: the public cases, disguises, and tables of what is dangerous
//! and what is not.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail by panicking")]

mod cases;
mod dangerous;
mod disguise;
mod explain;
mod harmless;
mod red_team;

use std::path::Path;

use herm::approval::{Asked, Judgement, NoScripts, Rules, Scene, judge};

pub const HOME: &str = "/home/alice";

/// A command line, judged in a project below Alice's home.
pub fn judged(command: &str, rules: &Rules, scene: Scene) -> Judgement {
    let asked = Asked {
        command,
        cwd: Path::new("/home/alice/project"),
        home: Some(Path::new(HOME)),
        agent_home: None,
    };
    judge(&asked, rules, scene, &NoScripts)
}

/// The verdict in a word.
pub fn word(judgement: &Judgement) -> &'static str {
    use herm::approval::Verdict::{Allow, Ask, Block};
    match judgement.verdict {
        Allow => "allow",
        Ask { .. } => "ask",
        Block { .. } => "block",
    }
}
