//! Deleting and overwriting files and disks, and running what the line itself has made.

use std::collections::HashSet;
use std::path::Path;

use super::{Around, Found, excerpt, has_option, operands, quoted};
use crate::approval::floor::is_recursive;
use crate::approval::launcher::{Source, shell_source};
use crate::approval::paths;
use crate::approval::reading::{Invocation, base_name};
use crate::approval::scripts::SHELLS;
use crate::approval::word::Field;

pub fn found(name: &str, call: &Invocation, around: &Around<'_>, found: &mut Found) {
    match name {
        "rm" | "unlink" | "srm" | "grm" => removes(name, call, around, found),
        "mv" | "gmv" => moves(call, around, found),
        "find" | "gfind" | "fd" | "fdfind" => finds(name, call, found),
        "dd" | "gdd" => {
            let copies = call.arguments.iter().any(|field| field.text().starts_with("of="));
            if copies || call.open_ended {
                found.about(
                    "disk-copy",
                    "It copies blocks with `dd`, over whatever is there.".into(),
                    format!("dd {}", excerpt(&of(call))),
                    Some(of(call)),
                );
            }
        }
        "shred" | "wipefs" | "blkdiscard" | "mkswap" | "sgdisk" | "sfdisk" | "fdisk" | "parted"
        | "cfdisk" | "hdparm" | "mke2fs" | "newfs" | "diskutil" => wipes(name, call, found),
        _ => {}
    }
}

fn of(call: &Invocation) -> String {
    call.arguments.iter().find(|field| field.text().starts_with("of=")).map(shown).unwrap_or_default()
}

pub(super) fn shown(field: &Field) -> String {
    let unknown = if field.unknown { "…" } else { "" };
    format!("{}{unknown}", field.text())
}

fn removes(name: &str, call: &Invocation, around: &Around<'_>, found: &mut Found) {
    let mut recursive = false;
    let mut ended = false;
    for field in &call.arguments {
        match field.text() {
            "--" => ended = true,
            text if !ended && is_recursive(text) => recursive = true,
            _ => {}
        }
    }
    if call.open_ended {
        found.add(
            "delete-many",
            format!("It deletes files with `{name}` whose names are only known when it runs."),
            format!("{name} of found files{}", if recursive { ", recursive" } else { "" }),
        );
    }
    for target in operands(&call.arguments) {
        removes_one(name, recursive, target, call, around, found);
    }
    if recursive && operands(&call.arguments).is_empty() && !call.open_ended {
        found.add("delete-recursively", "It deletes whole folders.".into(), format!("{name} -r"));
    }
}

fn removes_one(
    name: &str,
    recursive: bool,
    target: &Field,
    call: &Invocation,
    around: &Around<'_>,
    found: &mut Found,
) {
    if !recursive && (target.may_be_anything() || target.computed) {
        return found.add(
            "delete-unknown",
            format!("What it deletes with `{name}` is only known when it runs."),
            format!("{name} of unknown files"),
        );
    }
    let path = shown(target);
    let below = is_below(target, call.cwd.as_deref(), around.cwd);
    if recursive {
        let pattern = if below {
            format!("{name} -r below the working directory")
        } else {
            format!("{name} -r {}", excerpt(&path))
        };
        let reason = format!("It deletes {} with everything in it.", quoted(&path));
        return found.about("delete-recursively", reason, pattern, Some(path));
    }
    if (target.text().starts_with('/') && !below) || has_drive(target.text()) {
        let reason = format!("It deletes {}, which lies outside of the working directory.", quoted(&path));
        found.about("delete-in-root-path", reason, format!("{name} {}", excerpt(&path)), Some(path));
    }
}

/// `C:\\x`, which a POSIX shell reads as `C:x`.
fn has_drive(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.next() == Some(':')
}

/// Whether a path certainly lies below the directory that the line begins in.
fn is_below(target: &Field, cwd: Option<&Path>, top: &Path) -> bool {
    if target.unknown {
        return false;
    }
    match paths::target(target.text(), cwd) {
        Some(resolved) => {
            let path = Path::new(&resolved.path);
            path.starts_with(top) && (path != top || resolved.everything_in_it)
        }
        None => false,
    }
}

/// Moving away what the system or the person cannot be without, or into nothing.
fn moves(call: &Invocation, around: &Around<'_>, found: &mut Found) {
    let operands = operands(&call.arguments);
    let Some((last, sources)) = operands.split_last() else { return };
    let vital = sources.iter().find(|field| is_vital(field, call, around));
    if vital.is_some() || last.text() == "/dev/null" {
        let what = shown(vital.unwrap_or(last));
        let reason = format!("It moves files away for good: {}.", quoted(&call.line()));
        found.about("move-vital", reason, format!("mv {}", excerpt(&what)), Some(what));
    }
}

/// Whether a path is the root, a folder of the system or the home directory.
pub(super) fn is_vital(field: &Field, call: &Invocation, around: &Around<'_>) -> bool {
    let target = field.value().and_then(|text| paths::target(text, call.cwd.as_deref()));
    target.is_some_and(|target| paths::vital(&target.path, around.home).is_some())
}

fn finds(name: &str, call: &Invocation, found: &mut Found) {
    let acts =
        |field: &Field| matches!(field.text(), "-delete" | "-fprint" | "-fprint0" | "-fprintf" | "-fls");
    let hidden = |field: &Field| field.computed && !field.quoted;
    if let Some(act) = call.arguments.iter().find(|field| acts(field) || hidden(field)) {
        let place = call.arguments.first().map(shown).unwrap_or_default();
        let reason = match act.text() {
            "-delete" => format!("It deletes every file that `{name}` finds in {}.", quoted(&place)),
            _ => format!("It may write or delete what `{name}` finds."),
        };
        found.about("find-delete", reason, format!("{name} {}", shown(act)), Some(place));
    }
}

fn wipes(name: &str, call: &Invocation, found: &mut Found) {
    let only_looks = match name {
        "fdisk" | "sfdisk" | "parted" | "sgdisk" => {
            has_option(&call.arguments, "lp", &["--list", "--print", "--dump"])
        }
        "hdparm" => !call
            .arguments
            .iter()
            .any(|field| field.text().contains("security-") || field.text().contains("trim")),
        "diskutil" => !call.arguments.first().is_some_and(|verb| {
            ["erase", "partition", "zero", "secure", "random", "reformat"]
                .iter()
                .any(|word| verb.text().to_lowercase().starts_with(word))
                || verb.text() == "apfs"
        }),
        "wipefs" => !has_option(&call.arguments, "ao", &["--all", "--offset"]),
        _ => false,
    };
    if only_looks || call.arguments.iter().any(|field| matches!(field.value(), Some("--help" | "--version")))
    {
        return;
    }
    let target = operands(&call.arguments).last().map(|field| shown(field)).unwrap_or_default();
    found.about(
        "wipe",
        format!("It overwrites or repartitions {} with `{name}`.", quoted(&target)),
        format!("{name} {}", excerpt(&target)),
        Some(target),
    );
}

/// Scripts and programs that the line downloads, writes or makes executable, and then runs.
pub fn runs_what_it_made(around: &Around<'_>, found: &mut Found) {
    let calls = &around.reading.invocations;
    let key = |field: &Field, cwd: Option<&Path>| {
        let text = field.value().filter(|text| !text.is_empty() && !text.starts_with('-'))?;
        Some(
            paths::target(text, cwd)
                .map_or_else(|| text.trim_start_matches("./").to_owned(), |target| target.path),
        )
    };
    let is_made = |made: &HashSet<String>, path: &str| {
        // What is made in one place and run in another of the same name is meant to be the same.
        made.contains(path) || made.iter().any(|other| base_name(other) == base_name(path))
    };
    let mut made: HashSet<String> = HashSet::new();
    made.extend(around.reading.writes.iter().filter_map(|write| key(&write.target, write.cwd.as_deref())));
    for call in calls {
        made.extend(makes(call).into_iter().filter_map(|field| key(field, call.cwd.as_deref())));
    }
    if made.is_empty() {
        return;
    }
    for call in calls {
        for script in runs(call) {
            if key(&script, call.cwd.as_deref()).is_some_and(|path| is_made(&made, &path)) {
                let script = shown(&script);
                let reason =
                    format!("It runs {}, which it has just made or made executable.", quoted(&script));
                found.about("run-what-it-made", reason, format!("make and run {script}"), Some(script));
            }
        }
    }
}

/// Files that a program makes, or makes executable.
fn makes(call: &Invocation) -> Vec<&Field> {
    let arguments = call.arguments.as_slice();
    let value_of = |options: &[&str]| {
        let at = arguments.iter().position(|field| options.contains(&field.text()));
        at.and_then(|at| arguments.get(at + 1)).into_iter().collect::<Vec<_>>()
    };
    match call.name() {
        Some("curl" | "wget" | "aria2c" | "http") => value_of(&["-o", "--output", "-O", "--output-document"]),
        Some("tee") => operands(arguments),
        Some("chmod") => {
            let makes_executable = operands(arguments).first().is_some_and(|mode| {
                mode.text().contains('x') || mode.text().chars().any(|c| matches!(c, '1' | '3' | '5' | '7'))
            });
            if makes_executable { operands(arguments).into_iter().skip(1).collect() } else { vec![] }
        }
        Some("cp" | "mv" | "install" | "ln") => {
            operands(arguments).into_iter().skip(1).last().into_iter().collect()
        }
        _ => vec![],
    }
}

/// The files whose contents a call runs.
fn runs(call: &Invocation) -> Vec<Field> {
    let mut files = vec![];
    if call.program.text().contains('/') {
        files.push(call.program.clone());
    }
    let name = call.name().map(str::to_lowercase).unwrap_or_default();
    if SHELLS.contains(&name.as_str()) {
        if let Source::File { path, .. } = shell_source(&call.arguments) {
            files.push(path);
        }
    } else if matches!(name.as_str(), "source" | ".") || super::code::is_interpreter(&name) {
        files.extend(operands(&call.arguments).first().map(|field| (*field).clone()));
    }
    files
}
