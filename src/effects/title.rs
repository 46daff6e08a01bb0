//! A title for the session, thought of by a model after the first turn.

use herm_replay::reducer::SessionState;
use herm_replay::reducer::state::Body;
use herm_schema::events::AuxiliaryTask;

use super::auxiliary::{Ask, ask};
use super::{Outcome, Run, Task};
use crate::providers::classify::cut;

/// How much of each side of the conversation the model is shown, in characters.
const EXCERPT_CHARS_MAX: usize = 2_000;
/// Longest answer, in tokens: some models reason first.
const OUTPUT_TOKENS_MAX: u32 = 512;

const INSTRUCTIONS: &str = "Write a title for this conversation: at most seven words, in the language of \
                            the user, no quotes, no final period. Answer with the title alone.";

pub fn run(state: &SessionState, run: Run) -> Task {
    let policy = state.policy.clone();
    let conversation = excerpt(state);
    Box::pin(async move {
        let Some(policy) = policy else {
            return Outcome::Cancelled;
        };
        let question = Ask {
            task: AuxiliaryTask::Title,
            system: INSTRUCTIONS.to_owned(),
            text: conversation,
            images: Vec::new(),
            output_tokens_max: OUTPUT_TOKENS_MAX,
        };
        // What the answer says becomes the title in the append that records it.
        ask(&run, &policy, question).await;
        Outcome::Due
    })
}

/// The first message and the first answer.
fn excerpt(state: &SessionState) -> String {
    let user = state.view.iter().find_map(|entry| match &entry.body {
        Body::User { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let answer = state.view.iter().find_map(|entry| match &entry.body {
        Body::Assistant { message, .. } if !message.text.trim().is_empty() => Some(message.text.as_str()),
        _ => None,
    });
    let side = |name: &str, text: Option<&str>| {
        text.map(|text| format!("{name}: {}\n\n", cut(text.trim(), EXCERPT_CHARS_MAX))).unwrap_or_default()
    };
    side("User", user) + side("Assistant", answer).as_str()
}
