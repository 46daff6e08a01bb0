//! What tools may ask of herm, for one call: everything that all calls may ask, and the models, whose
//! answers are recorded in the stream of the call's session.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use herm_replay::log::Log;
use herm_schema::events::MemorySpace;
use herm_schema::{CallRef, SessionId};

use super::Run;
use super::auxiliary::{Ask, ask};
use super::images::fitted;
use super::program_call;
use crate::environments::Environment;
use crate::memory::MemoryProvider;
use crate::providers::BoxFuture;
use crate::skills::Workshop;
use crate::tools::{ModelQuestion, ProgramCall, Services, ToolContext, ToolResult};

/// The services of a call that `run` runs.
pub fn of(run: &Run) -> Arc<dyn Services> {
    Arc::new(WithModels(run.clone()))
}

struct WithModels(Run);

impl Services for WithModels {
    fn log(&self) -> &dyn Log {
        self.0.ports.services.log()
    }

    fn search_sessions(&self, session: SessionId, arguments: &serde_json::Value) -> serde_json::Value {
        self.0.ports.services.search_sessions(session, arguments)
    }

    fn memory(&self, session: SessionId) -> Option<(Arc<dyn MemoryProvider>, MemorySpace)> {
        self.0.ports.services.memory(session)
    }

    fn owned(&self, session: SessionId) -> bool {
        self.0.ports.services.owned(session)
    }

    fn skills(&self) -> Option<Arc<Workshop>> {
        self.0.ports.services.skills()
    }

    fn stands(&self, session: SessionId, opened_in: &Path) -> Option<PathBuf> {
        self.0.ports.services.stands(session, opened_in)
    }

    fn still_runs(&self, session: SessionId, call: CallRef, elapsed: Duration) {
        self.0.ports.watch.still_runs(session, call, elapsed);
    }

    fn elsewhere(&self, session: SessionId, opened_in: &Path) -> Option<Arc<dyn Environment>> {
        self.0.ports.services.elsewhere(session, opened_in)
    }

    fn redacted(&self, text: &str) -> String {
        (self.0.ports.redact)(text)
    }

    fn ask<'a>(
        &'a self,
        session: SessionId,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxFuture<'a, Option<String>> {
        self.0.ports.services.ask(session, question, choices)
    }

    fn call_tool<'a>(
        &'a self,
        context: &'a ToolContext,
        asked: ProgramCall<'a>,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(program_call::run(&self.0, context, asked))
    }

    fn ask_model<'a>(
        &'a self,
        session: SessionId,
        question: ModelQuestion,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let run = &self.0;
            let state = (run.ports.load)(session).map_err(|error| error.to_string())?;
            let policy = state.policy.ok_or("this session has no settings yet")?;
            let task = question.task;
            if run.ports.models.auxiliary(task, &policy).is_empty() {
                return Err(nobody(task));
            }
            let images = question.images.into_iter().map(|image| fitted(image, None)).collect();
            let (system, text) = (question.system, (run.ports.redact)(&question.text));
            let output_tokens_max = question.output_tokens_max;
            let answer = ask(run, &policy, Ask { task, system, text, images, output_tokens_max }).await;
            let answer = answer.map(|answered| answered.text);
            answer.ok_or_else(|| "no model answered; `herm replay timeline` shows why".to_owned())
        })
    }
}

fn nobody(task: herm_schema::events::AuxiliaryTask) -> String {
    match task {
        herm_schema::events::AuxiliaryTask::Vision => {
            "the model of this session cannot see images, and no other is configured: set `auxiliary.vision` to one \
             that can, as in `{vision: {provider: NAME, model: NAME}}`"
                .to_owned()
        }
        other => format!("no model is configured for the task {other:?}"),
    }
}
