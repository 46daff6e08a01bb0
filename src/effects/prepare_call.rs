//! A look at a tool call before it runs: its arguments against the schema, then the approval policy,
//! the lasting yeses, and the model that is asked before a person is.

use std::path::PathBuf;

use herm_replay::reducer::command::{Prepared, Question};
use herm_replay::reducer::state::Grant;
use herm_replay::reducer::{Command, SessionState, canonical, notices};
use herm_schema::events::{ApprovalMode, JudgeVerdict, Policy, Scene, ToolCall};
use herm_schema::{CallRef, JsonText};
use serde_json::Value;

use super::{Outcome, Run, Task, smart_judge};
use crate::approval::{TOO_LARGE, Verdict};
use crate::hooks::{self, Caller, Word};
use crate::runtime::grants::{Asked, Use};
use crate::tools::arguments;

/// What stands in an event of a command line that is too large to be checked, in characters.
const BEGINNING_CHARS_MAX: usize = 200;

/// What of the state the look needs.
pub(super) struct Sight {
    call: CallRef,
    /// Who makes it; of a program, which of its calls, from 1.
    caller: Caller,
    nth: u32,
    asked: ToolCall,
    /// A person has allowed this call.
    approved: bool,
    policy: Option<Policy>,
    grants: Vec<Grant>,
    cwd: PathBuf,
    platform: String,
}

impl Sight {
    pub(super) fn of(call: CallRef, asked: ToolCall, approved: bool, state: &SessionState, nth: u32) -> Self {
        let caller = if nth == 0 { Caller::Model } else { Caller::Program };
        let cwd = state.opened.as_ref().map(|opened| PathBuf::from(&opened.cwd)).unwrap_or_default();
        let (policy, grants) = (state.policy.clone(), state.grants.clone());
        let platform = state.opened.as_ref().map(|opened| opened.chat.platform.clone()).unwrap_or_default();
        Self { call, caller, nth, asked, approved, policy, grants, cwd, platform }
    }
}

pub fn run(call: CallRef, approved: bool, state: &SessionState, run: Run) -> Task {
    let Some(asked) = state.call(call).map(|state| state.asked.clone()) else {
        return Box::pin(async { Outcome::Cancelled });
    };
    let sight = Sight::of(call, asked, approved, state, 0);
    Box::pin(async move {
        match look(&sight, &run).await {
            Ok(verdict) => Outcome::Command(Command::CallPrepared { call, verdict }),
            Err(error) => Outcome::Fault(error.to_string()),
        }
    })
}

pub(super) async fn look(sight: &Sight, run: &Run) -> Result<Prepared, herm_replay::log::Error> {
    let (asked, ports) = (&sight.asked, &run.ports);
    let cwd = ports.services.stands(run.session, &sight.cwd).unwrap_or_else(|| sight.cwd.clone());
    let invalid = |why: &str| Ok(Prepared::Invalid { shown: notices::skipped(why) });
    let Some(tool) = ports.tools.iter().find(|tool| tool.facts().name == asked.name) else {
        return invalid(&format!("The tool `{}` is not available any more.", asked.name));
    };
    let value = match arguments::prepare(&tool.parameters(), &asked.arguments.0) {
        Ok(value) => value,
        Err(why) => return invalid(&why),
    };
    let about = hooks::About {
        session: run.session.to_string(),
        tool: &asked.name,
        arguments: &value,
        cwd: &cwd,
        caller: sight.caller,
    };
    let value = match ports.hooks.before(&about).await {
        Word::Forbidden(why) => return Ok(Prepared::Veto { why: (ports.redact)(&why) }),
        Word::Go(changed) if changed == value => value,
        // What a hook wrote is checked as if the model had.
        Word::Go(changed) => match arguments::prepare(&tool.parameters(), &changed.to_string()) {
            Ok(value) => value,
            Err(why) => return invalid(&format!("A hook changed the arguments: {why}")),
        },
    };
    let allowed = Prepared::Run { arguments: JsonText(canonical::to_string(&value)) };
    // A call of a folded tool is looked at as the call that it is.
    let meant = match ports.tools.meant(&sight.platform, &asked.name, value.clone()) {
        Ok(meant) => meant,
        Err(why) => return invalid(&why),
    };
    if !meant.tool.facts().judged {
        return Ok(allowed);
    }
    let subject = (ports.redact)(&subject(&meant.arguments));
    let scene = sight.policy.as_ref().map_or(Scene::Terminal, |policy| policy.scene);
    let question = match (ports.judge)(&meant.name, &meant.arguments, &cwd, scene) {
        Verdict::Allow => return Ok(allowed),
        Verdict::Block { rule, shown } => {
            // The whole of it is in the script that was kept, and in the message that asked for it.
            let subject = if rule == TOO_LARGE { beginning(&subject) } else { subject };
            let (rule, shown) = (rule.to_owned(), (ports.redact)(&shown));
            return Ok(Prepared::Block { rule, subject, shown });
        }
        Verdict::Ask { reason, rule, pattern, target } => Question {
            subject,
            reason: (ports.redact)(&reason),
            rule: rule.to_owned(),
            pattern: (ports.redact)(&pattern),
            target: target.map(|target| (ports.redact)(&target)),
        },
    };
    decide(sight, run, (question, scene), allowed).await
}

/// Who lets a call through that is dangerous: the person already, the settings, a lasting yes, a
/// model; or a person is to be asked.
async fn decide(
    sight: &Sight,
    run: &Run,
    (question, scene): (Question, Scene),
    allowed: Prepared,
) -> Result<Prepared, herm_replay::log::Error> {
    let mode = sight.policy.as_ref().map_or(ApprovalMode::Manual, |policy| policy.approvals);
    if sight.approved || mode == ApprovalMode::Off || granted(sight, run, &question).await? {
        return Ok(allowed);
    }
    match scene {
        Scene::SingleQuery | Scene::Cron => return Ok(Prepared::Refuse(question)),
        Scene::Terminal | Scene::Chat => {}
    }
    let Some(policy) = sight.policy.as_ref().filter(|_| mode == ApprovalMode::Smart) else {
        return Ok(Prepared::Ask(question));
    };
    let Some(judged) = smart_judge::judge(run, policy, &question).await else {
        return Ok(Prepared::Ask(question));
    };
    let then = match judged.verdict {
        JudgeVerdict::Safe => allowed,
        JudgeVerdict::Unsure => Prepared::Ask(question),
        JudgeVerdict::Dangerous => {
            let reason =
                format!("{} A model that was asked finds it dangerous: {}", question.reason, judged.why);
            Prepared::Ask(Question { reason, ..question })
        }
    };
    let smart_judge::Judged { verdict, why, provider, model } = judged;
    Ok(Prepared::Judged { verdict, why, provider, model, then: Box::new(then) })
}

/// Whether a lasting yes covers it: of the session, or of the profile, whose use is recorded.
async fn granted(sight: &Sight, run: &Run, question: &Question) -> Result<bool, herm_replay::log::Error> {
    let (tool, pattern, target) = (&sight.asked.name, &question.pattern, question.target.as_deref());
    if sight.grants.iter().any(|grant| grant.covers(tool, pattern, target)) {
        return Ok(true);
    }
    let used = Use { session: run.session, call: sight.call, nth: sight.nth, at: run.ports.clock.now() };
    run.ports.grants.take(Asked { tool, pattern, target }, used).await
}

/// What a person is shown: the command line, or the arguments.
fn subject(value: &Value) -> String {
    let command = value.get("command").and_then(|command| command.as_str());
    command.map_or_else(|| canonical::to_string(value), str::to_owned)
}

/// The beginning of a long text, marked where it was cut.
fn beginning(text: &str) -> String {
    match text.char_indices().nth(BEGINNING_CHARS_MAX) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
