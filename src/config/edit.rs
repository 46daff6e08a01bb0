//! Changing one setting in `config.yaml` and leaving every other line as it is.
//!
//! The edit works on lines, as a person would; whether it did what was meant is then decided by
//! parsing the result: the setting has the new value, and no other has changed. Else nothing is
//! written.

use std::io::Write;
use std::path::Path;

use super::outline::{self, Entry};
use super::{Error, KEYS, Key, RawConfig, Value, keys};

/// Spaces of one level, where the file does not show its own.
const INDENT: usize = 2;

/// The text of the file with `path` set to `value`, as the command line gives it. `file` is for the
/// errors only.
///
/// # Errors
/// [`Error::UnknownKey`], [`Error::BadValue`], those of [`RawConfig::parse`] for a file that is wrong
/// already, [`Error::NotEditable`] for one whose layout this does not understand.
pub fn set(text: &str, path: &str, value: &str, file: &Path) -> Result<String, Error> {
    let unknown =
        || Error::UnknownKey { key: path.to_owned(), suggestion: keys::nearest(path).map(Into::into) };
    let key = keys::find(path).ok_or_else(unknown)?;
    let value = key.kind.of_text(value).ok_or_else(|| Error::BadValue {
        key: path.to_owned(),
        value: if key.is_secret() { "that".into() } else { value.to_owned() },
        expected: key.kind.expected(),
    })?;
    let before = RawConfig::parse(text, file)?;
    let not_editable = |reason: String| Error::NotEditable {
        path: file.to_owned(),
        reason,
        line: format!(
            "{}: {}",
            key.path.replace('.', ": "),
            if key.is_secret() { "…".into() } else { value.yaml() }
        ),
    };
    let after_text = edited(text, key, &value).map_err(|reason| not_editable(reason.into()))?;
    let after = RawConfig::parse(&after_text, file).map_err(|error| not_editable(error.to_string()))?;
    if !only_changed(key, &value, &before, &after) {
        return Err(not_editable("another setting would have changed with it".into()));
    }
    Ok(after_text)
}

fn only_changed(key: &Key, value: &Value, before: &RawConfig, after: &RawConfig) -> bool {
    KEYS.iter().all(|row| {
        let found = after.get(row).map(|given| &given.value);
        if row.path == key.path {
            found == Some(value)
        } else {
            found == before.get(row).map(|given| &given.value)
        }
    })
}

fn edited(text: &str, key: &Key, value: &Value) -> Result<String, &'static str> {
    let entries = outline::read(text);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    match outline::deepest(&entries, key.path) {
        Some(entry) if entry.path == key.path => replace(&mut lines, entry, value),
        Some(section) => insert(&mut lines, &entries, section, key, value)?,
        None => {
            let document_ends = lines.last().is_some_and(|line| line.trim_end() == "...");
            if document_ends || lines.iter().any(|line| line.starts_with(['{', '['])) {
                return Err("it is not a block mapping that can be appended to");
            }
            lines.extend(nested(key.path, 0, INDENT, value));
        }
    }
    Ok(lines.join("\n") + "\n")
}

/// Puts the value on the key's own line and takes away the lines that the old value went on to.
fn replace(lines: &mut Vec<String>, entry: &Entry, value: &Value) {
    let line = format!("{} {}{}", entry.head, value.yaml(), entry.comment);
    lines.splice(entry.line..entry.end, [line]);
}

/// Adds the key as the last of the section.
fn insert(
    lines: &mut Vec<String>,
    entries: &[Entry],
    section: &Entry,
    key: &Key,
    value: &Value,
) -> Result<(), &'static str> {
    if !section.inline.is_empty() {
        return Err("the section is written on one line");
    }
    let below = format!("{}.", section.path);
    let child = entries.iter().find(|entry| entry.path.starts_with(&below));
    let indent = child.map_or(section.indent + INDENT, |child| child.indent);
    let step = indent.saturating_sub(section.indent).max(1);
    let rest = key.path.strip_prefix(&below).unwrap_or(key.path);
    let new = nested(rest, indent, step, value);
    lines.splice(section.end..section.end, new);
    Ok(())
}

/// `a.b.c` as three lines, each deeper than the one before.
fn nested(path: &str, indent: usize, step: usize, value: &Value) -> Vec<String> {
    let names: Vec<&str> = path.split('.').collect();
    let last = names.len().saturating_sub(1);
    let line = |(level, name): (usize, &&str)| {
        let spaces = " ".repeat(indent + level * step);
        if level == last { format!("{spaces}{name}: {}", value.yaml()) } else { format!("{spaces}{name}:") }
    };
    names.iter().enumerate().map(line).collect()
}

/// Puts `text` in the place of the file: whole or not at all, on the disk when it returns, with the
/// old file's permissions (a new one is closed to other users: it may come to hold a secret).
/// A symbolic link is followed, so that a linked configuration stays linked.
///
/// # Errors
/// [`Error::Io`]; the old file is untouched then.
pub fn write_atomically(path: &Path, text: &str) -> Result<(), Error> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let failed = |operation| move |source| Error::Io { operation, path: path.to_owned(), source };
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mode = std::fs::metadata(&target).map_or(0o600, |meta| meta.permissions().mode() & 0o7777);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let beside = target.with_file_name(format!(".{name}.{}.new", std::process::id()));
    let write = || -> std::io::Result<()> {
        let mut file =
            std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
        file.sync_all()?;
        std::fs::rename(&beside, &target)?;
        match target.parent() {
            Some(folder) => std::fs::File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    };
    write().map_err(failed("write")).inspect_err(|_| drop(std::fs::remove_file(&beside)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(text: &str, path: &str, value: &str) -> Result<String, Error> {
        set(text, path, value, Path::new("config.yaml"))
    }

    const FILE: &str = "\
# my settings
model:
    # local
    default: tiny   # small
    base_url: http://127.0.0.1:8080/v1

command_allowlist:
- ls
- git status   # often

# the end
";

    #[test]
    fn a_value_is_replaced_and_every_other_line_stays() {
        let after = change(FILE, "model.default", "large").unwrap();
        assert_eq!(after, FILE.replace("default: tiny   # small", "default: large   # small"));
    }

    #[test]
    fn a_key_joins_its_section_with_the_sections_own_indent() {
        let after = change(FILE, "model.stream", "no").unwrap();
        assert_eq!(after, FILE.replace("8080/v1\n", "8080/v1\n    stream: false\n"));
    }

    #[test]
    fn a_list_over_several_lines_is_replaced_whole() {
        let after = change(FILE, "command_allowlist", "cargo test").unwrap();
        assert!(after.contains("\ncommand_allowlist: [\"cargo test\"]\n\n# the end\n"), "{after}");
    }

    #[test]
    fn a_new_section_goes_to_the_end_and_deep_keys_make_every_level() {
        let after = change(FILE, "tool_loop_guardrails.warn_after.exact_failure", "4").unwrap();
        assert!(after.starts_with(FILE));
        assert!(after.ends_with("tool_loop_guardrails:\n  warn_after:\n    exact_failure: 4\n"), "{after}");
        let again = change(&after, "tool_loop_guardrails.hard_stop_enabled", "true").unwrap();
        assert!(again.ends_with("    exact_failure: 4\n  hard_stop_enabled: true\n"), "{again}");
        assert_eq!(change("", "timezone", "Europe/Athens").unwrap(), "timezone: Europe/Athens\n");
    }

    #[test]
    fn what_is_not_understood_is_refused_and_says_what_to_write() {
        let error = change("model: {default: x}\n", "model.stream", "false").unwrap_err();
        assert!(error.to_string().contains("on one line"), "{error}");
        assert!(error.hint().unwrap().contains("model: stream: false"));
        let error = change("{timezone: UTC}\n", "model.stream", "false").unwrap_err();
        assert!(matches!(error, Error::NotEditable { .. }), "{error}");
    }

    #[test]
    fn unknown_keys_and_bad_values_change_nothing() {
        assert!(matches!(change(FILE, "model.steam", "x"), Err(Error::UnknownKey { .. })));
        let error = change(FILE, "agent.max_turns", "0").unwrap_err();
        assert!(error.to_string().contains("a whole number from 1"), "{error}");
        assert!(matches!(change("nonsense: 1\n", "timezone", ""), Err(Error::Problems { .. })));
    }

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_mode_and_its_link() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = tempfile::tempdir().unwrap();
        let real = scratch.path().join("real.yaml");
        let link = scratch.path().join("config.yaml");
        std::fs::write(&real, "old").unwrap();
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_atomically(&link, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "new");
        assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 2);
        let fresh = scratch.path().join("fresh.yaml");
        write_atomically(&fresh, "x").unwrap();
        assert_eq!(std::fs::metadata(&fresh).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(write_atomically(&scratch.path().join("no/such"), "x").is_err());
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_set_is_read_back_and_nothing_else_moves(
            row in 0..KEYS.len(), text in "[ -~]{0,20}", number in 1_u64..100,
        ) {
            let key = &KEYS[row];
            for value in [text.clone(), number.to_string(), "true".into(), "0.5".into()] {
                let Ok(after) = change(FILE, key.path, &value) else { continue };
                let wanted = key.kind.of_text(&value).unwrap();
                let found = RawConfig::parse(&after, Path::new("c")).unwrap();
                proptest::prop_assert_eq!(&found.get(key).unwrap().value, &wanted);
                proptest::prop_assert!(after.contains("# my settings") && after.contains("# the end"));
            }
        }
    }
}
