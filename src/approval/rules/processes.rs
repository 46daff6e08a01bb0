//! Ending processes that were not named one by one.

use super::{Found, excerpt, has_option, operands};
use crate::approval::reading::Invocation;
use crate::approval::word::Field;

/// Names under which herm, and what it grew out of, would be found.
const OWN_NAMES: &[&str] = &["herm", "hermes", "gateway"];

pub fn found(name: &str, call: &Invocation, found: &mut Found) {
    match name {
        "kill" | "pkill" | "killall" | "skill" | "killall5" | "fuser" | "xkill" => {}
        _ => return,
    }
    const ONLY_SAYS: &[&str] = &["-l", "-L", "--list", "--table", "--help", "--version", "-V"];
    if !call.open_ended && call.arguments.first().is_some_and(|first| ONLY_SAYS.contains(&first.text())) {
        return;
    }
    match name {
        "kill" => by_number(call, found),
        "fuser" if has_option(&call.arguments, "k", &["--kill"]) => {
            found.add("kill-by-expansion", "It ends whatever uses a file.".into(), "fuser -k".into());
        }
        "fuser" => {}
        "killall5" => found.add("force-kill", "It ends every process.".into(), "killall5".into()),
        _ => by_name(name, call, found),
    }
}

fn by_number(call: &Invocation, found: &mut Found) {
    let hidden = |field: &Field| field.computed || (field.unknown && field.text().starts_with('-'));
    let everything = operands(&call.arguments).iter().any(|field| field.text() == "0");
    if call.open_ended || call.arguments.iter().any(hidden) {
        found.add(
            "kill-by-expansion",
            "Which processes it ends is only known when it runs; herm may be among them.".into(),
            format!("kill of found processes: {}", excerpt(&call.line())),
        );
    } else if everything {
        found.add(
            "kill-group",
            "It ends its whole process group, herm perhaps included.".into(),
            "kill 0".into(),
        );
    }
}

fn by_name(name: &str, call: &Invocation, found: &mut Found) {
    let who = operands(&call.arguments).last().map(|field| field.text().to_owned()).unwrap_or_default();
    if forces(&call.arguments) {
        let reason = format!("It kills every process of that name at once, with `{name}`.");
        found.about("force-kill", reason, format!("{name} -9 {}", excerpt(&who)), Some(who.clone()));
    }
    if name == "killall" && has_option(&call.arguments, "r", &["--regexp"]) {
        let reason = "It kills every process whose name fits a pattern.".to_owned();
        found.about("kill-by-pattern", reason, format!("killall -r {}", excerpt(&who)), Some(who.clone()));
    }
    let lower = who.to_lowercase();
    if OWN_NAMES.iter().any(|own| lower.contains(own)) {
        let reason = "It would end herm itself, and every agent that runs in it.".to_owned();
        found.add("kill-herm", reason, format!("{name} {}", excerpt(&who)));
    }
    let hidden = call.open_ended || operands(&call.arguments).iter().any(|field| field.computed);
    if hidden {
        let reason = "Which processes it ends is only known when it runs.".to_owned();
        found.add("kill-by-expansion", reason, format!("{name} of found processes"));
    }
}

/// `-9`, `-KILL`, `-SIGKILL`, `-s KILL`, `--signal=9`.
fn forces(arguments: &[Field]) -> bool {
    let is_kill = |text: &str| {
        let signal = text.to_uppercase();
        matches!(signal.strip_prefix("SIG").unwrap_or(&signal), "9" | "KILL")
    };
    let mut words = arguments.iter().map(Field::text);
    while let Some(text) = words.next() {
        let forced = match text {
            "-s" | "--signal" => words.next().is_some_and(is_kill),
            _ => ["--signal=", "-s", "-"].iter().any(|prefix| text.strip_prefix(prefix).is_some_and(is_kill)),
        };
        if forced {
            return true;
        }
    }
    false
}
