//! What the machine must give: a home that can be written, a file system that keeps its promises,
//! room, a terminal.

use std::io::IsTerminal;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use herm_replay::log::lock::unsafe_kind;
use rustix::fs::{Access, AtFlags, CWD, accessat, statvfs};

use super::{Finding, existing};
use crate::config::Home;

/// Below this the log may soon not be able to go on: two segments.
const FREE_BYTES_PROBLEM: u64 = 128 << 20;
/// Below this it is worth knowing.
const FREE_BYTES_NOTE: u64 = 1 << 30;
/// Permissions of anybody but the owner.
const OTHERS: u32 = 0o077;

pub fn home(home: &Home) -> Finding {
    let root = home.root();
    if !root.exists() {
        let above = existing(root);
        return match accessat(CWD, above, Access::WRITE_OK | Access::EXEC_OK, AtFlags::empty()) {
            Ok(()) => Finding::ok(format!("`{}` will be made when it is needed", root.display())),
            Err(error) => Finding::problem(
                format!("`{}` cannot be made: `{}`: {error}", root.display(), above.display()),
                Some("export HERM_HOME=\"$HOME/.herm\"".into()),
            ),
        };
    }
    if !root.is_dir() {
        return Finding::problem(
            format!("`{}` is not a directory", root.display()),
            Some(format!("mv '{0}' '{0}.old'", root.display())),
        );
    }
    let wanted = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    match accessat(CWD, root, wanted, AtFlags::empty()) {
        Ok(()) => open_to_others(root),
        Err(error) => Finding::problem(
            format!("`{}` cannot be written: {error}", root.display()),
            Some(format!("sudo chown -R \"$USER\" '{}'", root.display())),
        ),
    }
}

fn open_to_others(root: &Path) -> Finding {
    let mode = std::fs::metadata(root).map_or(0, |meta| meta.permissions().mode());
    if mode & OTHERS == 0 {
        return Finding::ok(format!("`{}` can be written", root.display()));
    }
    Finding::note(
        format!("`{}` can be written; other users can look into it", root.display()),
        Some(format!("chmod go-rwx '{}'", root.display())),
    )
}

/// A file with secrets is its owner's alone.
pub fn private(file: &Path) -> Finding {
    let Ok(meta) = std::fs::metadata(file) else {
        return Finding::ok(format!("no `{}`", file.display()));
    };
    if meta.permissions().mode() & OTHERS == 0 {
        return Finding::ok(format!("`{}` is closed to other users", file.display()));
    }
    let what = format!("`{}` can be read by other users", file.display());
    Finding::problem(what, Some(format!("chmod 600 '{}'", file.display())))
}

pub fn file_system(home: &Home, unsafe_allowed: bool) -> Finding {
    let folder = existing(home.root());
    match unsafe_kind(folder) {
        None => Finding::ok("local"),
        Some(name) if unsafe_allowed => Finding::note(
            format!("`{name}` does not keep what it promises; allowed by the configuration"),
            None,
        ),
        Some(name) => Finding::problem(
            format!("`{}` is on `{name}`, which does not keep what it promises", folder.display()),
            Some("export HERM_HOME=/var/lib/herm   # or another local directory".into()),
        ),
    }
}

pub fn disk(home: &Home) -> Finding {
    let folder = existing(home.root());
    let found = match statvfs(folder) {
        Ok(found) => found,
        Err(error) => return Finding::problem(format!("`{}`: {error}", folder.display()), None),
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let what = format!("{} MiB free", free >> 20);
    let look = Some(format!("du -xhd1 '{}' | sort -h", folder.display()));
    match free {
        free if free < FREE_BYTES_PROBLEM => Finding::problem(what, look),
        free if free < FREE_BYTES_NOTE => Finding::note(what, look),
        _ => Finding::ok(what),
    }
}

pub fn terminal() -> Finding {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Finding::ok("none; `herm chat -q` works without");
    }
    let term = set("TERM").unwrap_or_default();
    if matches!(term.as_str(), "" | "dumb") {
        let fix = Some("export TERM=xterm-256color".into());
        return Finding::note(format!("`TERM` is `{term}`: no line editing"), fix);
    }
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default();
    if !locale.to_ascii_lowercase().replace('-', "").contains("utf8") {
        return Finding::note(
            format!("`{term}`; the locale `{locale}` does not say UTF-8"),
            Some("export LC_ALL=C.UTF-8".into()),
        );
    }
    Finding::ok(format!("`{term}`, {locale}"))
}

pub fn editor() -> Finding {
    let set = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    match set("VISUAL").or_else(|| set("EDITOR")) {
        Some(editor) => Finding::ok(format!("`{editor}`")),
        None => Finding::note("neither `VISUAL` nor `EDITOR` is set", Some("export EDITOR=vi".into())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::super::Level;
    use super::*;

    #[test]
    fn a_home_is_judged_by_what_is_there() {
        let scratch = tempfile::tempdir().unwrap();
        let missing = Home::at(scratch.path().join("new/home"));
        assert!(home(&missing).what.contains("will be made"));
        let file = scratch.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(home(&Home::at(&file)).level, Level::Problem);
        std::fs::set_permissions(scratch.path(), Permissions::from_mode(0o755)).unwrap();
        assert_eq!(home(&Home::at(scratch.path())).level, Level::Note);
        std::fs::set_permissions(scratch.path(), Permissions::from_mode(0o700)).unwrap();
        assert_eq!(home(&Home::at(scratch.path())).level, Level::Ok);
    }

    #[test]
    fn secrets_that_others_can_read_are_a_problem() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join(".env");
        assert_eq!(private(&file).level, Level::Ok);
        std::fs::write(&file, "A=1").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        let found = private(&file);
        assert_eq!(found.level, Level::Problem);
        assert!(found.fix.unwrap().starts_with("chmod 600"));
    }

    #[test]
    fn the_disk_of_a_missing_home_is_that_of_the_folder_above() {
        let scratch = tempfile::tempdir().unwrap();
        let missing = Home::at(scratch.path().join("a/b/c"));
        assert!(disk(&missing).what.ends_with("MiB free"));
        assert_eq!(file_system(&missing, false), Finding::ok("local"));
    }
}
