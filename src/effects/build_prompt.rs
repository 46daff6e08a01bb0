//! The system prompt and the tools, put together and kept as blobs.

use herm_replay::reducer::{Command, SessionState};

use super::{Outcome, Run, Task};
use crate::tools;

pub fn run(state: &SessionState, run: Run) -> Task {
    let state = state.clone();
    Box::pin(async move {
        let prompt = (run.ports.redact)(&run.ports.prompt.build(&state));
        let table = &run.ports.tools;
        let definitions = serde_json::to_string(&tools::definitions(table)).unwrap_or_default();
        let blobs = run.ports.log.put_blob(prompt.as_bytes()).and_then(|prompt| {
            let definitions = run.ports.log.put_blob(definitions.as_bytes())?;
            Ok((prompt, definitions))
        });
        match blobs {
            Ok((prompt, definitions)) => {
                Outcome::Command(Command::PromptBuilt { prompt, definitions, tools: tools::facts(table) })
            }
            Err(error) => Outcome::Fault(error.to_string()),
        }
    })
}
