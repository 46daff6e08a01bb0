//! Scripts that a command line refers to: where their text comes from.
//!
//! The judgement itself does no I/O; it asks a [`Scripts`]. What a file is taken for is decided
//! here, by its first line: only what a shell would read is judged.

use std::io::Read;
use std::path::Path;

use super::reading::base_name;

/// Longest script that is read, in bytes.
pub const SCRIPT_BYTES_MAX: usize = 256 << 10;

/// Programs that read shell scripts.
pub const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "yash", "fish"];

/// Places whose programs are part of the system and not looked at.
const SYSTEM_PROGRAMS: &[&str] = &["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/opt/"];

/// What is found at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Script {
    Text(String),
    /// There is no file, so nothing of it can run.
    Missing,
    /// A program that is not text.
    Binary,
    /// There is something, and it cannot be read here; why.
    Unreadable(&'static str),
}

/// Reads the scripts of the place where a command line would run.
pub trait Scripts: Sync {
    fn read(&self, path: &Path) -> Script;
}

/// There are none: what a command line refers to is taken for missing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoScripts;

impl Scripts for NoScripts {
    fn read(&self, _: &Path) -> Script {
        Script::Missing
    }
}

/// The files of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files;

impl Scripts for Files {
    fn read(&self, path: &Path) -> Script {
        let Ok(facts) = std::fs::metadata(path) else { return Script::Missing };
        if !facts.is_file() {
            // Opening a pipe or a device could wait for ever.
            return Script::Unreadable("is no plain file");
        }
        let Ok(file) = std::fs::File::open(path) else { return Script::Unreadable("cannot be opened") };
        let mut bytes = Vec::new();
        let limit = u64::try_from(SCRIPT_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
        if file.take(limit).read_to_end(&mut bytes).is_err() {
            return Script::Unreadable("cannot be read");
        }
        text_of(bytes)
    }
}

fn text_of(bytes: Vec<u8>) -> Script {
    if bytes.iter().take(4_096).any(|byte| *byte == 0) {
        return Script::Binary;
    }
    if bytes.len() > SCRIPT_BYTES_MAX {
        return Script::Unreadable("is too long to be checked");
    }
    String::from_utf8(bytes).map_or(Script::Unreadable("is no UTF-8 text"), Script::Text)
}

/// Whether a program is to be looked at as a script: it is named by a path, and not the system's.
pub fn may_be_script(program: &str) -> bool {
    program.contains('/') && !SYSTEM_PROGRAMS.iter().any(|place| program.starts_with(place))
}

/// Whether a file that is started itself is read by a shell, as the kernel and the shell decide.
pub fn is_for_a_shell(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let Some(interpreter) = first.strip_prefix("#!") else { return true };
    interpreter.split_whitespace().any(|word| SHELLS.contains(&base_name(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_taken_for_what_it_begins_with() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        assert_eq!(Files.read(&write("a", b"ls\n")), Script::Text("ls\n".into()));
        assert_eq!(Files.read(&write("b", b"\x7fELF\0\0")), Script::Binary);
        assert_eq!(Files.read(&folder.path().join("none")), Script::Missing);
        assert!(matches!(Files.read(folder.path()), Script::Unreadable(_)));
        assert!(matches!(Files.read(&write("c", &vec![b'x'; SCRIPT_BYTES_MAX + 1])), Script::Unreadable(_)));
        assert!(matches!(Files.read(&write("d", b"\xff\xfe")), Script::Unreadable(_)));
    }

    #[test]
    fn the_first_line_says_who_reads_a_script() {
        assert!(is_for_a_shell("#!/bin/sh\nls"));
        assert!(is_for_a_shell("#!/usr/bin/env -S bash -e\nls"));
        assert!(is_for_a_shell("ls"));
        assert!(!is_for_a_shell("#!/usr/bin/env python3\nprint(1)"));
        assert!(may_be_script("./x.sh") && !may_be_script("/usr/bin/ls") && !may_be_script("ls"));
    }
}
