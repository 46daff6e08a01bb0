//! What of the skills stands in the system prompt: a line each.

use std::collections::BTreeSet;

use super::{Library, Skill};
use crate::threats::{self, Class};

/// Characters of a description that are shown.
const DESCRIPTION_CHARS_MAX: usize = 60;
/// Bytes of the whole list; above it descriptions go, then names.
const INDEX_BYTES_MAX: usize = 12_000;
/// What skills without a category stand under.
const NO_CATEGORY: &str = "general";

const HEAD: &str = "# Skills\nBefore you reply, look through these. If one fits the task, load it with skill_view(name) and \
follow it; what it says about this place counts more than what you know in general.";

/// The part of the prompt; `None` where there is no skill for this platform and these tools.
pub fn index(library: &Library, platform: &str, offered: &BTreeSet<String>) -> Option<String> {
    let found = library.found();
    let fits = |skill: &&Skill| skill.frontmatter.suits(platform) && skill.frontmatter.wanted(offered);
    let skills: Vec<&Skill> = found.skills.iter().filter(fits).collect();
    if skills.is_empty() {
        return None;
    }
    let whole = listed(&skills, true);
    let list = if whole.len() <= INDEX_BYTES_MAX { whole } else { bounded(&listed(&skills, false)) };
    Some(format!("{HEAD}\n{list}"))
}

fn listed(skills: &[&Skill], described: bool) -> String {
    let mut lines = Vec::new();
    let mut category = None;
    for skill in skills {
        let own = skill.category.as_deref().unwrap_or(NO_CATEGORY);
        if category.replace(own) != Some(own) {
            lines.push(format!("{own}:"));
        }
        let description = skill.frontmatter.description.as_deref().filter(|_| described);
        lines.push(match description {
            Some(description) => format!("- {}: {}", skill.name, cut(description)),
            None => format!("- {}", skill.name),
        });
    }
    lines.join("\n")
}

/// What somebody wrote elsewhere is read in every session here.
fn cut(description: &str) -> String {
    if let Some(threat) = threats::find(description, &[Class::Steers]) {
        return format!("[BLOCKED: {}]", threat.name);
    }
    match description.chars().count() > DESCRIPTION_CHARS_MAX {
        true => {
            let kept: String = description.chars().take(DESCRIPTION_CHARS_MAX - 1).collect();
            format!("{}…", kept.trim_end())
        }
        false => description.to_owned(),
    }
}

fn bounded(list: &str) -> String {
    let mut kept = String::new();
    let mut left_out = 0_usize;
    for line in list.lines() {
        match kept.len() + line.len() < INDEX_BYTES_MAX && left_out == 0 {
            true => kept.extend([line, "\n"]),
            false => left_out += 1,
        }
    }
    if left_out > 0 {
        kept.push_str(&format!("… {left_out} more lines: skills_list shows all"));
    }
    kept.trim_end().to_owned()
}
