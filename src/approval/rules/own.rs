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
            if ends {
                let reason = "It stops or restarts a service; herm's own would end every agent.".to_owned();
                let which = call.arguments.last().map_or("", Field::text);
                found.about("stop-service", reason, format!("launchctl {verb}"), Some(which.to_owned()));
            }
        }
        "unset" | "export" => changes_home(call, found),
        _ => {}
    }
}

fn herm(name: &str, call: &Invocation, found: &mut Found) {
    let words: Vec<&str> = call.known_arguments().filter(|text| !text.starts_with('-')).take(3).collect();
    let mut add =
        |rule, reason: &str, words: &str| found.add(rule, reason.to_owned(), format!("{name} {words}"));
    match words.as_slice() {
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
