//! Whether a skill can be used here and now: system, platform, tools, variables, commands.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::{Frontmatter, Variable};
use crate::tools::toolsets::tools_of_set;

/// Names of systems, and what each is to Rust.
const SYSTEMS: [(&str, &str); 5] = [
    ("linux", "linux"),
    ("macos", "macos"),
    ("darwin", "macos"),
    ("windows", "windows"),
    ("freebsd", "freebsd"),
];

/// What a skill may need to be there.
#[derive(Clone)]
pub struct Surroundings {
    /// Whether a variable is set, in the process or in `.env`.
    pub variable: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// Folders that commands are found in, as `PATH` has them.
    pub path: String,
}

impl Surroundings {
    /// The variables that a skill needs and that are not set.
    pub fn missing_variables<'a>(&self, skill: &'a Frontmatter) -> Vec<&'a Variable> {
        skill.variables.iter().filter(|variable| !(self.variable)(&variable.name)).collect()
    }

    /// The commands that it needs and that are not there.
    pub fn missing_commands<'a>(&self, skill: &'a Frontmatter) -> Vec<&'a str> {
        let there =
            |name: &str| std::env::split_paths(&self.path).any(|dir| dir.join(Path::new(name)).is_file());
        skill.commands.iter().map(String::as_str).filter(|name| !there(name)).collect()
    }
}

impl Frontmatter {
    /// Whether it is for this system and this platform. A list of systems alone says nothing of platforms.
    pub fn suits(&self, platform: &str) -> bool {
        let system = |word: &String| SYSTEMS.iter().find(|(name, _)| name == word).map(|(_, rust)| *rust);
        let systems: Vec<&str> = self.platforms.iter().filter_map(system).collect();
        let mut chats = self.platforms.iter().filter(|word| system(word).is_none()).peekable();
        let here = systems.is_empty() || systems.contains(&std::env::consts::OS);
        here && (chats.peek().is_none() || platform.is_empty() || chats.any(|word| word == platform))
    }

    /// Whether the tools that are offered leave a use for it.
    pub fn wanted(&self, offered: &BTreeSet<String>) -> bool {
        let there = |name: &String| {
            offered.contains(name) || tools_of_set(name).iter().any(|tool| offered.contains(*tool))
        };
        self.requires.iter().all(there) && !self.fallback_for.iter().any(there)
    }
}
