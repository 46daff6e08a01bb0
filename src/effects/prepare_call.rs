//! A look at a tool call before it runs: its arguments against the schema, then the approval policy.

use std::path::PathBuf;

use herm_replay::reducer::command::Prepared;
use herm_replay::reducer::{Command, SessionState, canonical, notices};
use herm_schema::events::{ApprovalMode, ToolCall};
use herm_schema::{CallRef, JsonText};

use super::{Outcome, Run, Task};
use crate::approval::Verdict;
use crate::runtime::Ports;
use crate::tools::arguments;

/// What of the state the look needs.
struct Scene {
    asked: ToolCall,
    /// A person has allowed this call, or nobody is to be asked.
    allowed: bool,
    grants: Vec<(String, String)>,
    cwd: PathBuf,
}

pub fn run(call: CallRef, approved: bool, state: &SessionState, run: Run) -> Task {
    let Some(asked) = state.call(call).map(|state| state.asked.clone()) else {
        return Box::pin(async { Outcome::Cancelled });
    };
    let off = state.policy.as_ref().is_some_and(|policy| policy.approvals == ApprovalMode::Off);
    let cwd = state.opened.as_ref().map(|opened| PathBuf::from(&opened.cwd)).unwrap_or_default();
    let scene = Scene { asked, allowed: approved || off, grants: state.grants.clone(), cwd };
    Box::pin(async move {
        let cwd = run.ports.services.stands(run.session, &scene.cwd).unwrap_or_else(|| scene.cwd.clone());
        let verdict = look(&Scene { cwd, ..scene }, &run.ports);
        Outcome::Command(Command::CallPrepared { call, verdict })
    })
}

fn look(scene: &Scene, ports: &Ports) -> Prepared {
    let asked = &scene.asked;
    let Some(tool) = ports.tools.iter().find(|tool| tool.facts().name == asked.name) else {
        let why = format!("The tool `{}` is not available any more.", asked.name);
        return Prepared::Invalid { shown: notices::skipped(&why) };
    };
    let value = match arguments::prepare(&tool.parameters(), &asked.arguments.0) {
        Ok(value) => value,
        Err(why) => return Prepared::Invalid { shown: notices::skipped(&why) },
    };
    let run = || Prepared::Run { arguments: JsonText(canonical::to_string(&value)) };
    if !tool.facts().judged {
        return run();
    }
    let subject = || (ports.redact)(&subject(&value));
    match (ports.judge)(&asked.name, &value, &scene.cwd) {
        Verdict::Allow => run(),
        Verdict::Block { rule } => Prepared::Block { rule: rule.to_owned(), subject: subject() },
        Verdict::Ask { .. } if scene.allowed => run(),
        Verdict::Ask { reason, rule, pattern } => {
            let pattern = (ports.redact)(&pattern);
            let granted = scene.grants.iter().any(|(t, p)| *t == asked.name && *p == pattern);
            match granted {
                true => run(),
                false => Prepared::Ask { subject: subject(), reason, rule: rule.to_owned(), pattern },
            }
        }
    }
}

/// What a person is shown: the command line, or the arguments.
fn subject(value: &serde_json::Value) -> String {
    let command = value.get("command").and_then(|command| command.as_str());
    command.map_or_else(|| canonical::to_string(value), str::to_owned)
}
