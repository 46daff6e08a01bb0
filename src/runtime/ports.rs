//! What the runtime needs of the world, each behind a small trait.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use herm_replay::log::{self, Log};
use herm_replay::reducer::state::Asked;
use herm_replay::reducer::{Outlook, Route, SessionState};
use herm_schema::events::{
    ApprovalGranted, AuxiliaryTask, GrantOrigin, GrantScope, ModelChoice, Policy, Scene, ToolFacts,
};
use herm_schema::{CallRef, Recorded, SessionId, StreamPos};

use super::{Clock, Grants};
use crate::approval::Verdict;
use crate::checkpoints::Checkpoints;
use crate::context::ContextEngine;
use crate::delivery::Outlet;
use crate::effects::{Answer, AuxiliaryModel};
use crate::hooks::Hooks;
use crate::providers::{BoxFuture, Deadlines, Delta, Provider};
use crate::tools::{OutputLimits, Services, Tools};

/// How long a call besides the conversation may take where nothing else is configured.
pub const AUXILIARY_TIME_MAX: Duration = Duration::from_secs(30);

/// Everything an actor works with.
pub struct Ports {
    pub log: Arc<dyn Log>,
    pub clock: Arc<dyn Clock>,
    pub models: Arc<dyn Models>,
    pub deadlines: Deadlines,
    pub tools: Tools,
    pub services: Arc<dyn Services>,
    pub limits: OutputLimits,
    pub judge: Judge,
    /// Asked before a person is.
    pub grants: Arc<Grants>,
    pub people: Arc<dyn People>,
    /// `None` where none are kept.
    pub checkpoints: Option<Arc<Checkpoints>>,
    pub hooks: Arc<Hooks>,
    pub prompt: Arc<dyn PromptSource>,
    pub engine: Arc<dyn ContextEngine>,
    pub outlet: Arc<dyn Outlet>,
    pub redact: Redact,
    pub load: Loader,
    pub watch: Arc<dyn Watch>,
    /// herm's home directory; spools lie below it.
    pub home: PathBuf,
}

/// Judges a tool call: name of the tool, arguments, working directory, who is there.
pub type Judge = Arc<dyn Fn(&str, &serde_json::Value, &Path, Scene) -> Verdict + Send + Sync>;

/// Takes secrets out of a text.
pub type Redact = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Folds the stream of a session.
pub type Loader = Arc<dyn Fn(SessionId) -> Result<SessionState, log::Error> + Send + Sync>;

/// Knows which provider answers for a choice, and how its keys fare.
pub trait Models: Send + Sync {
    /// With the key of this fingerprint; `None` if there is no such provider or key.
    fn provider(&self, choice: &ModelChoice, credential: Option<&str>) -> Option<Arc<dyn Provider>>;

    /// What is known about the models of `policy` beside the session itself.
    fn outlook(&self, policy: &Policy) -> Outlook {
        let _ = policy;
        Outlook::default()
    }

    /// Whether a model can be asked now, and with which keys.
    fn route(&self, choice: &ModelChoice) -> Route {
        Route::Ready { credentials: choice.credentials.clone() }
    }

    /// The models that are asked for a task besides the conversation, in this order.
    fn auxiliary(&self, task: AuxiliaryTask, policy: &Policy) -> Vec<AuxiliaryModel> {
        let _ = task;
        let models = [&policy.model].into_iter().chain(&policy.fallbacks).cloned();
        models.map(|choice| AuxiliaryModel { choice, time_max: AUXILIARY_TIME_MAX }).collect()
    }

    /// An event of a session was recorded; `before` is the state before it.
    fn note(&self, recorded: &Recorded, before: &SessionState) {
        let _ = (recorded, before);
    }
}

/// A question to a person whether a tool call may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalQuestion {
    pub session: SessionId,
    /// The event that asks; an answer names it.
    pub request: StreamPos,
    pub tool: String,
    pub subject: String,
    pub reason: String,
    pub pattern: String,
    pub target: Option<String>,
}

impl ApprovalQuestion {
    pub fn of(session: SessionId, request: StreamPos, asked: Asked) -> Self {
        let Asked { tool, subject, reason, pattern, target } = asked;
        Self { session, request, tool, subject, reason, pattern, target }
    }

    /// The lasting yes for the profile that an answer of this scope gives; `None` for one that holds
    /// for the call or the session alone.
    pub fn granted(&self, scope: GrantScope) -> Option<ApprovalGranted> {
        let (until, uses_max) = match scope {
            GrantScope::Once | GrantScope::Session => return None,
            GrantScope::Always => (None, None),
            GrantScope::Until { at } => (Some(at), None),
            // The call that was asked about is the first of them.
            GrantScope::Times { count } => (None, Some(count.saturating_sub(1)).filter(|left| *left > 0)),
        };
        if matches!(scope, GrantScope::Times { count } if count <= 1) {
            return None;
        }
        Some(ApprovalGranted {
            tool: self.tool.clone(),
            pattern: self.pattern.clone(),
            target: self.target.clone(),
            until,
            uses_max,
            origin: Some(GrantOrigin { session: self.session, request: self.request }),
        })
    }
}

/// The people of a session.
pub trait People: Send + Sync {
    /// Asks, and waits for the answer; silence is an expiry, and so is a question that
    /// could not be brought to anybody. Dropped when the question is not open any more.
    fn approve<'a>(&'a self, question: &'a ApprovalQuestion) -> BoxFuture<'a, Answer>;
}

/// Nobody is there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl People for Silent {
    fn approve<'a>(&'a self, _: &'a ApprovalQuestion) -> BoxFuture<'a, Answer> {
        Box::pin(async { Answer::silence() })
    }
}

/// Puts the system prompt together.
pub trait PromptSource: Send + Sync {
    /// For a session that is offered these tools.
    fn build(&self, state: &SessionState, tools: &[ToolFacts]) -> String;
}

/// Looks on; must not block.
pub trait Watch: Send + Sync {
    /// An event was recorded and folded; `state` is the state after it.
    fn event(&self, recorded: &Recorded, state: &SessionState) {
        let _ = (recorded, state);
    }

    /// A piece of an answer came in.
    fn delta(&self, session: SessionId, delta: &Delta) {
        let _ = (session, delta);
    }

    /// A tool call still runs, for so long already.
    fn still_runs(&self, session: SessionId, call: CallRef, elapsed: Duration) {
        let _ = (session, call, elapsed);
    }

    /// The session's actor cannot go on.
    fn broken(&self, session: SessionId, reason: &str) {
        let _ = (session, reason);
    }
}

impl Watch for () {}
