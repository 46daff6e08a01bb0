//! The system prompt and the tools, put together and kept as blobs.

use herm_replay::reducer::{Command, SessionState};

use super::{Outcome, Run, Task};

pub fn run(state: &SessionState, run: Run) -> Task {
    let state = state.clone();
    Box::pin(async move {
        let platform = state.opened.as_ref().map_or("", |opened| opened.chat.platform.as_str());
        let window_tokens = state.policy.as_ref().map_or(0, |policy| policy.model.context_window_tokens);
        let offer = run.ports.tools.offer(platform, window_tokens);
        let prompt = (run.ports.redact)(&run.ports.prompt.build(&state, &offer.facts));
        let blobs = run.ports.log.put_blob(prompt.as_bytes()).and_then(|prompt| {
            let definitions = run.ports.log.put_blob(offer.json.as_bytes())?;
            Ok((prompt, definitions))
        });
        match blobs {
            Ok((prompt, definitions)) => {
                Outcome::Command(Command::PromptBuilt { prompt, definitions, tools: offer.facts.clone() })
            }
            Err(error) => Outcome::Fault(error.to_string()),
        }
    })
}
