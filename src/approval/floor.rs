//! The floor: twelve catastrophes that no setting and no person can allow.
//!
//! Source: the hard-line patterns of the reference, table 3.16, rows 1 to 12. They are matched on
//! what would be executed, so a text that only speaks of them passes.

use super::glob;
use super::paths::{self, Vital};
use super::reading::{Invocation, Reading, base_name};
use super::word::Field;

/// Programs of the floor, for names that are written with wildcards: `/sbin/reboo?`.
const NAMES: &[&str] = &[
    "rm",
    "dd",
    "kill",
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
    "init",
    "telinit",
    "systemctl",
    "mkfs",
    "mkfs.ext4",
];

/// The rule that a command line breaks, and the command that breaks it.
pub fn broken_rule(reading: &Reading) -> Option<(&'static str, String)> {
    if reading.bomb {
        return Some(("fork-bomb", "a function that multiplies itself".into()));
    }
    let disk = reading.writes.iter().find(|write| paths::is_disk(write.target.text(), write.cwd.as_deref()));
    if let Some(disk) = disk {
        return Some(("redirect-to-disk", format!("> {}", disk.target.text())));
    }
    reading.invocations.iter().find_map(|invocation| {
        let rule = broken_by(invocation, reading)?;
        Some((rule, invocation.line()))
    })
}

/// Whether one command breaks a rule.
pub fn breaks(invocation: &Invocation, reading: &Reading) -> bool {
    broken_by(invocation, reading).is_some()
}

fn broken_by(invocation: &Invocation, reading: &Reading) -> Option<&'static str> {
    let program = invocation.program.value()?;
    if !invocation.program.glob {
        return broken_as(&base_name(program).to_ascii_lowercase(), invocation, reading);
    }
    let named = base_name(program);
    let names = NAMES.iter().filter(|name| glob::matches(named, name));
    names.filter_map(|name| broken_as(name, invocation, reading)).next()
}

fn broken_as(name: &str, invocation: &Invocation, reading: &Reading) -> Option<&'static str> {
    let has_operand = |operand: &[&str]| invocation.known_arguments().any(|text| operand.contains(&text));
    match name {
        "rm" => deletes(invocation, reading),
        "dd" => {
            let writes_disk = |text: &str| {
                text.strip_prefix("of=").is_some_and(|disk| paths::is_disk(disk, invocation.cwd.as_deref()))
            };
            invocation.arguments.iter().any(|field| writes_disk(field.text())).then_some("dd-to-disk")
        }
        "kill" => kills_everything(&invocation.arguments).then_some("kill-everything"),
        "shutdown" | "reboot" | "halt" | "poweroff" => (!only_explains(invocation)).then_some("power-off"),
        "init" => has_operand(&["0", "6"]).then_some("init-power-off"),
        "telinit" => has_operand(&["0", "6"]).then_some("telinit-power-off"),
        "systemctl" => systemctl(invocation).then_some("systemctl-power-off"),
        _ if name == "mkfs" || name.starts_with("mkfs.") => {
            (!only_explains(invocation)).then_some("format-filesystem")
        }
        _ => None,
    }
}

/// `shutdown --help` does nothing else.
fn only_explains(invocation: &Invocation) -> bool {
    let explains = |field: &Field| matches!(field.value(), Some("--help" | "--version"));
    !invocation.open_ended && matches!(invocation.arguments.as_slice(), [only] if explains(only))
}

fn deletes(invocation: &Invocation, reading: &Reading) -> Option<&'static str> {
    let mut options_ended = false;
    let (mut recursive, mut targets) = (false, vec![]);
    for field in &invocation.arguments {
        match field.text() {
            "--" if !options_ended => options_ended = true,
            text if !options_ended && text.starts_with('-') && text.len() > 1 => {
                recursive |= is_recursive(text)
            }
            // What is not known may be the option as well.
            "" if field.may_be_anything() => recursive = true,
            text if !field.unknown => targets.push(text),
            _ => {}
        }
    }
    targets.into_iter().find_map(|text| {
        let target = paths::target(text, invocation.cwd.as_deref())?;
        if !recursive && !target.everything_in_it {
            return None;
        }
        Some(match paths::vital(&target.path, reading.home.as_deref())? {
            Vital::Root => "delete-root",
            Vital::System => "delete-system-folder",
            Vital::Home => "delete-home",
        })
    })
}

/// Whether an option of `rm` is, or holds, the one for whole folders.
pub fn is_recursive(option: &str) -> bool {
    if option.starts_with("--") {
        // GNU programs take any beginning of a long option that is not ambiguous.
        return option.len() > 2 && "--recursive".starts_with(option);
    }
    option.starts_with('-') && option.contains(['r', 'R'])
}

/// `kill -9 -1`: the first option is the signal, so `kill -1 123` is a hang-up for one process.
fn kills_everything(arguments: &[Field]) -> bool {
    let targets = match arguments.first().map(Field::text) {
        Some("-s" | "-n" | "--signal") => arguments.get(2..),
        Some("--") => arguments.get(1..),
        // Alone it is meant as one, whatever a shell makes of it.
        Some("-1") if arguments.len() == 1 => return true,
        Some(text) if text.starts_with('-') => arguments.get(1..),
        _ => Some(arguments),
    };
    targets.unwrap_or_default().iter().filter_map(Field::value).any(|text| text.parse::<i64>() == Ok(-1))
}

fn systemctl(invocation: &Invocation) -> bool {
    let mut operands = vec![];
    let mut arguments = invocation.known_arguments();
    while let Some(text) = arguments.next() {
        match text {
            "-H" | "-M" | "-t" | "-p" | "-P" | "-o" | "-s" | "-n" => drop(arguments.next()),
            _ if text.starts_with('-') => {}
            _ => operands.push(text),
        }
    }
    match operands.as_slice() {
        ["poweroff" | "reboot" | "halt" | "kexec" | "soft-reboot", ..] => true,
        ["start" | "isolate", units @ ..] => units.iter().any(|unit| {
            matches!(
                *unit,
                "poweroff.target" | "reboot.target" | "halt.target" | "kexec.target" | "shutdown.target"
            )
        }),
        _ => false,
    }
}
