//! The floor: twelve catastrophes that no setting and no person can allow.
//!
//! Source: the hard-line patterns of the reference, table 3.16, rows 1 to 12. They are matched on
//! what would be executed, so a text that only speaks of them passes.

use super::paths::{self, Vital};
use super::reading::{Invocation, Reading};
use super::word::Field;

/// The rule that a command line breaks.
pub fn broken_rule(reading: &Reading) -> Option<&'static str> {
    if reading.bomb {
        return Some("fork-bomb");
    }
    if reading.writes.iter().any(|target| paths::is_disk(target.text())) {
        return Some("redirect-to-disk");
    }
    reading.invocations.iter().find_map(|invocation| broken_by(invocation, reading))
}

fn broken_by(invocation: &Invocation, reading: &Reading) -> Option<&'static str> {
    let name = invocation.name()?.to_ascii_lowercase();
    let has_operand = |operand: &[&str]| invocation.known_arguments().any(|text| operand.contains(&text));
    match name.as_str() {
        "rm" => deletes(invocation, reading),
        "dd" => {
            let writes_disk = |text: &str| text.strip_prefix("of=").is_some_and(paths::is_disk);
            invocation.arguments.iter().any(|field| writes_disk(field.text())).then_some("dd-to-disk")
        }
        "kill" => kills_everything(&invocation.arguments).then_some("kill-everything"),
        "shutdown" | "reboot" | "halt" | "poweroff" => Some("power-off"),
        "init" => has_operand(&["0", "6"]).then_some("init-power-off"),
        "telinit" => has_operand(&["0", "6"]).then_some("telinit-power-off"),
        "systemctl" => systemctl(invocation).then_some("systemctl-power-off"),
        "mkfs" => Some("format-filesystem"),
        _ if name.starts_with("mkfs.") => Some("format-filesystem"),
        _ => None,
    }
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
            "" if field.unknown => recursive = true,
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

fn is_recursive(option: &str) -> bool {
    if option.starts_with("--") {
        // GNU programs take any beginning of a long option that is not ambiguous.
        return option.len() > 2 && "--recursive".starts_with(option);
    }
    option.contains(['r', 'R'])
}

/// `kill -9 -1`: the first option is the signal, so `kill -1 123` is a hang-up for one process.
fn kills_everything(arguments: &[Field]) -> bool {
    let targets = match arguments.first().map(Field::text) {
        Some("-s" | "-n" | "--signal") => arguments.get(2..),
        Some("--") => arguments.get(1..),
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
        ["poweroff" | "reboot" | "halt" | "kexec", ..] => true,
        ["start" | "isolate", units @ ..] => units.iter().any(|unit| {
            matches!(
                *unit,
                "poweroff.target" | "reboot.target" | "halt.target" | "kexec.target" | "shutdown.target"
            )
        }),
        _ => false,
    }
}
