//! What of a memory stands in the system prompt. What is kept in a file was looked through when the model
//! wrote it; a person may have written anything, so it is looked through again here.

use herm_replay::memory::chars;
use herm_schema::events::MemoryTarget;

use crate::threats;

/// The part of the prompt for one list; `None` where nothing is remembered.
pub fn rendered(target: MemoryTarget, entries: &[String], limit: usize) -> Option<String> {
    if entries.is_empty() {
        return None;
    }
    let title = match target {
        MemoryTarget::Memory => "# MEMORY (your personal notes)",
        MemoryTarget::User => "# USER PROFILE (who the user is)",
    };
    let shown: Vec<String> = entries.iter().map(|entry| harmless(target, entry)).collect();
    Some(format!("{title} [{}]\n{}", usage(entries, limit), shown.join("\n§\n")))
}

/// How full a list is.
pub fn usage(entries: &[String], limit: usize) -> String {
    let used = chars(entries);
    format!("{}% — {used}/{limit} chars", used.saturating_mul(100).checked_div(limit).unwrap_or(100))
}

/// The entry, or what is wrong with it; the file keeps it for people to see.
fn harmless(target: MemoryTarget, entry: &str) -> String {
    match threats::find(entry, threats::ALL) {
        Some(threat) => format!(
            "[BLOCKED: {} entry contained threat pattern: {}]",
            super::files::name(target),
            threat.name
        ),
        None => entry.to_owned(),
    }
}
