//! Permissions, owners, and other users' powers.

use super::files::is_vital;
use super::{Around, Found, excerpt, has_option, operands, quoted};
use crate::approval::reading::Invocation;
use crate::approval::sudo;

pub fn found(name: &str, call: &Invocation, around: &Around<'_>, found: &mut Found) {
    if matches!(name, "chmod" | "chown" | "chgrp") {
        let vital = operands(&call.arguments).into_iter().skip(1).find(|field| is_vital(field, call, around));
        if let Some(vital) = vital {
            let reason = format!("It changes who may use {}, which the system needs.", quoted(vital.text()));
            found.about("permissions-of-vital", reason, call.line(), Some(vital.text().to_owned()));
        }
    }
    match name {
        "chmod" => mode(call, found),
        "chown" | "chgrp" => owner(name, call, found),
        "sudo" | "sudoedit" if sudo::has_option(call, "SAsa", &["--stdin", "--askpass"]) => {
            let reason = "It uses `sudo` with a flag for passwords or for a shell.";
            found.add("sudo-flag", reason.into(), format!("sudo {}", flags(call)));
        }
        "crontab" => crontab(call, found),
        _ => {}
    }
}

fn flags(call: &Invocation) -> String {
    let flags = call.arguments.iter().map(|field| field.text()).take_while(|text| text.starts_with('-'));
    flags.collect::<Vec<_>>().join(" ")
}

fn mode(call: &Invocation, found: &mut Found) {
    let operands = operands(&call.arguments);
    // `chmod -w f` and `chmod -R f`: a mode may look like an option.
    let modes = operands.first().into_iter().map(|field| field.text());
    for mode in modes.flat_map(|text| text.split(',')) {
        let recursive = if has_option(&call.arguments, "R", &["--recursive"]) { " -R" } else { "" };
        if is_open_to_all(mode) {
            let reason = format!("It lets every user write, with `chmod {mode}`.");
            found.add("world-writable", reason, format!("chmod{recursive} {mode}"));
        }
        if sets_id(mode) {
            let reason = format!("It makes a program run with its owner's powers, with `chmod {mode}`.");
            found.add("set-id", reason, format!("chmod{recursive} {mode}"));
        }
    }
}

/// `777`, `o+w`, `a=rwx`, `+w` for everybody.
fn is_open_to_all(mode: &str) -> bool {
    if !mode.is_empty() && mode.chars().all(|c| c.is_digit(8)) {
        return mode.chars().next_back().is_some_and(|last| matches!(last, '2' | '3' | '6' | '7'))
            // The last digit of a single one is that of the others, too.
            && mode.chars().any(|c| c != '0');
    }
    let Some((who, what)) = mode.split_once(['+', '=']) else { return false };
    who.contains(['o', 'a']) && what.contains('w')
}

fn sets_id(mode: &str) -> bool {
    let is_octal = !mode.is_empty() && mode.chars().all(|c| c.is_digit(8));
    if is_octal {
        let digits = mode.trim_start_matches('0');
        return digits.len() == 4 && digits.starts_with(['2', '4', '6', '7', '3', '5']);
    }
    mode.split_once(['+', '=']).is_some_and(|(who, what)| what.contains('s') && !who.contains('o'))
}

fn owner(name: &str, call: &Invocation, found: &mut Found) {
    if !has_option(&call.arguments, "R", &["--recursive"]) {
        return;
    }
    let operands = operands(&call.arguments);
    let Some(owner) = operands.first().map(|field| field.text()) else { return };
    let user = owner.split([':', '.']).next().unwrap_or_default();
    if matches!(user, "root" | "0" | "+0") {
        let target = operands.get(1).map(|field| field.text()).unwrap_or_default();
        let reason = format!("It gives {} to root with everything in it.", quoted(target));
        found.about("chown-to-root", reason, format!("{name} -R {owner}"), Some(excerpt(target)));
    }
}

fn crontab(call: &Invocation, found: &mut Found) {
    let removes = has_option(&call.arguments, "r", &[]);
    let lists =
        has_option(&call.arguments, "l", &[]) || call.arguments.iter().any(|field| field.text() == "-V");
    if removes {
        found.add(
            "crontab-remove",
            "It deletes the whole table of scheduled jobs.".into(),
            "crontab -r".into(),
        );
    } else if !lists && (!call.arguments.is_empty() || call.stdin.is_some()) {
        found.add(
            "crontab-install",
            "It replaces the table of scheduled jobs.".into(),
            "crontab FILE".into(),
        );
    }
}
