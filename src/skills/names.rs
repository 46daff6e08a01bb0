//! Names of skills, categories and files, which become paths. PURE.

/// Characters of a name, at most.
const NAME_CHARS_MAX: usize = 64;
/// Folders beside `SKILL.md` that files may be written to.
pub const FOLDERS: [&str; 4] = ["references", "templates", "scripts", "assets"];
/// Parts of the path of such a file, at most.
const PARTS_MAX: usize = 6;

/// Whether a word can be the name of a skill or a category: lower case, digits, dashes, dots and
/// underscores, and no sign first.
pub fn is_name(word: &str) -> bool {
    let first = word.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    let rest = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    first && word.len() <= NAME_CHARS_MAX && word.chars().all(rest)
}

/// The rule, for whoever broke it.
pub const NAME_RULE: &str =
    "a name has 1 to 64 of a-z, 0-9, `-`, `_` and `.`, and begins with a letter or a digit";

/// A path below a skill that cannot lead out of it, in its usual spelling; `None` for any other.
pub fn inside(path: &str) -> Option<String> {
    let path = path.trim();
    let parts: Vec<&str> = path.split('/').filter(|part| *part != ".").collect();
    let plain = |part: &&str| !part.is_empty() && *part != ".." && !part.contains(['\\', '\0']);
    let sound = !path.starts_with('/') && parts.len() <= PARTS_MAX && parts.iter().all(plain);
    (sound && !parts.is_empty()).then(|| parts.join("/"))
}

/// A path that a file may be written to.
pub fn writable(path: &str) -> Option<String> {
    let path = inside(path)?;
    let (folder, file) = path.split_once('/')?;
    (FOLDERS.contains(&folder) && !file.is_empty()).then(|| path.clone())
}
