//! A title for the session, thought of by a model after the first turn.

use herm_replay::reducer::state::Body;
use herm_replay::reducer::{Command, SessionState};
use herm_schema::events::{AuxiliaryTask, TitledBy};

use super::auxiliary::{Ask, ask};
use super::{Outcome, Run, Task};
use crate::providers::classify::cut;

/// How much of each side of the conversation the model is shown, in characters.
const EXCERPT_CHARS_MAX: usize = 2_000;
/// Longest title that is taken, in characters; models that go on and on are cut.
const TITLE_CHARS_MAX: usize = 80;
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
            output_tokens_max: OUTPUT_TOKENS_MAX,
        };
        let title = ask(&run, &policy, question).await.and_then(|answer| cleaned(&answer));
        if run.cancel.is_cancelled() {
            return Outcome::Cancelled;
        }
        Outcome::Command(Command::Titled { title, by: TitledBy::Model })
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
    side("User", user) + &side("Assistant", answer)
}

/// The title in what a model answered; `None` where there is none.
fn cleaned(answer: &str) -> Option<String> {
    let line = answer.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = line.trim_start_matches(['#', '*', ' ']).trim_end_matches('*');
    let line =
        ["Title:", "title:", "TITLE:"].iter().find_map(|label| line.strip_prefix(label)).unwrap_or(line);
    let quotes = ['"', '\'', '`', '“', '”', '«', '»', '「', '」', '*'];
    let title = line.trim().trim_matches(quotes).trim_end_matches(['.', '。']).trim();
    (!title.is_empty()).then(|| cut(title, TITLE_CHARS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_found_in_what_models_say() {
        for (answer, expected) in [
            ("Fixing the build", Some("Fixing the build")),
            ("\n\n**\"Fixing the build.\"**\nMore words.", Some("Fixing the build")),
            ("Title: «Сборка»", Some("Сборка")),
            ("# 修复构建。", Some("修复构建")),
            ("  \n ", None),
            ("\"\"", None),
        ] {
            assert_eq!(cleaned(answer).as_deref(), expected, "{answer:?}");
        }
        assert!(
            cleaned(&"word ".repeat(100)).is_some_and(|title| title.chars().count() <= TITLE_CHARS_MAX + 1)
        );
    }
}
