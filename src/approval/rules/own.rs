//! What would end or change herm itself: the agent must not do so unasked.

use super::Found;
use crate::approval::reading::Invocation;
use crate::approval::word::Field;

pub fn found(name: &str, call: &Invocation, found: &mut Found) {
    match name {
        "herm" | "hermes" => herm(name, call, found),
        "launchctl" => {
            let verb = call.arguments.first().map_or("", Field::text);
            let ends =
                ["unload", "bootout", "stop", "kickstart", "remove", "disable", "kill"].contains(&verb);
            if ends && call.arguments.iter().any(|field| is_own_service(field.text())) {
                let reason = "It stops or restarts a service; herm's own would end every agent.".to_owned();
                let which = call.arguments.last().map_or("", Field::text);
                found.about("stop-service", reason, format!("launchctl {verb}"), Some(which.to_owned()));
            }
        }
        _ if name.starts_with("python") => module(call, found),
        "unset" | "export" => changes_home(call, found),
        _ => {}
    }
}

/// `ai.herm.gateway` and its like, and not the other jobs of the same name.
fn is_own_service(label: &str) -> bool {
    let label = label.to_lowercase();
    label.contains("herm")
        && (label.contains("gateway") || label.ends_with("herm") || label.ends_with("hermes"))
}

/// `python -m herm… gateway run`.
fn module(call: &Invocation, found: &mut Found) {
    let mut words = call.known_arguments().skip_while(|text| *text != "-m").skip(1);
    if words.next().is_some_and(|module| module.starts_with("herm")) {
        let rest: Vec<&str> = words.filter(|text| !text.starts_with('-')).take(3).collect();
        commanded("herm", &rest, call, found);
    }
}

fn herm(name: &str, call: &Invocation, found: &mut Found) {
    let words: Vec<&str> = call.known_arguments().filter(|text| !text.starts_with('-')).take(3).collect();
    commanded(name, &words, call, found);
}

fn commanded(name: &str, words: &[&str], call: &Invocation, found: &mut Found) {
    let mut add =
        |rule, reason: &str, words: &str| found.add(rule, reason.to_owned(), format!("{name} {words}"));
    match words {
        ["gateway", verb @ ("stop" | "restart"), ..] => {
            add(
                "herm-gateway",
                "It stops or restarts the gateway, and with it every running agent.",
                &format!("gateway {verb}"),
            );
        }
        ["gateway", ..] if call.detached => {
            add(
                "herm-gateway-start",
                "It starts a second gateway that nobody supervises.",
                "gateway run, detached",
            );
        }
        ["update", ..] => {
            add("herm-update", "It updates herm, which restarts the gateway and ends every agent.", "update")
        }
        ["config", verb @ ("set" | "edit" | "unset"), ..] => {
            add("herm-config", "It changes herm's own settings.", &format!("config {verb}"));
        }
        ["approvals", ..] => add("herm-config", "It changes what herm may do unasked.", "approvals"),
        // The tools keep to what is the session's; the command line is the owners'.
        ["memory", ..] => {
            add("herm-memory", "It reads or changes what herm remembers of all its people.", "memory");
        }
        ["skills", "undo", ..] => add("herm-memory", "It changes what herm was taught.", "skills undo"),
        ["auth", verb @ ("add" | "remove" | "login" | "logout"), ..] => {
            add("herm-config", "It changes herm's own keys.", &format!("auth {verb}"));
        }
        _ => {
            if call.known_arguments().any(|text| matches!(text, "--yolo")) {
                add("herm-config", "It starts an agent that asks nobody.", "--yolo");
            }
        }
    }
}

/// Another home is another policy.
fn changes_home(call: &Invocation, found: &mut Found) {
    let names_home = |field: &Field| {
        let name = field.text().split('=').next().unwrap_or_default();
        matches!(name, "HERM_HOME" | "HERMES_HOME" | "HERM_APPROVALS_MODE" | "HERMES_YOLO_MODE")
    };
    if call.arguments.iter().any(names_home) {
        found.add(
            "herm-config",
            "It changes which settings herm would have.".into(),
            "export HERM_HOME".into(),
        );
    }
}
