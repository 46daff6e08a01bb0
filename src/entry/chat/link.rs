//! Between the runtime and the one task that prints and reads: a channel, and the runtime's traits
//! over it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use herm_replay::reducer::SessionState;
use herm_replay::reducer::notices::{dollars, what_failed};
use herm_replay::reducer::state::{Body, Phase};
use herm_schema::events::*;
use herm_schema::{CallRef, Event, Recorded, SessionId};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::view::Happening;
use crate::delivery::{Format, Outlet, Parcel, Way};
use crate::effects::Answer;
use crate::entry::engine::Clarify;
use crate::platforms::SendFailure;
use crate::providers::{BoxFuture, Delta};
use crate::runtime::{ApprovalQuestion, People, Watch};
use crate::tools::arguments::telling;

/// Messages that wait to be printed, at most. What does not fit is only ever a preview.
const WAITING_MAX: usize = 4_096;
/// Longest preview of a tool call, in characters.
const PREVIEW_CHARS_MAX: usize = 400;

/// What reaches the task that prints and reads.
pub enum Said {
    Happening(Happening),
    /// An answer is to be shown; `sent` is told when it has been.
    Deliver {
        parcel: Parcel,
        reason: ExitReason,
        sent: oneshot::Sender<()>,
    },
    Approve {
        question: ApprovalQuestion,
        answer: oneshot::Sender<Answer>,
        withdrawn: CancellationToken,
    },
    Clarify {
        question: String,
        choices: Vec<String>,
        answer: oneshot::Sender<Option<String>>,
        withdrawn: CancellationToken,
    },
    TurnEnded(ExitReason),
    Broken(String),
}

/// The runtime's end of the channel.
pub struct Link {
    said: mpsc::Sender<Said>,
    /// Whether there is somebody to ask.
    attended: bool,
    /// Why the turn whose answer is being delivered ends.
    ending: Mutex<ExitReason>,
}

impl Link {
    /// Both ends. Unattended, every question is met with silence.
    pub fn new(attended: bool) -> (Self, mpsc::Receiver<Said>) {
        let (said, heard) = mpsc::channel(WAITING_MAX);
        let ending = Mutex::new(ExitReason::Answered);
        (Self { said, attended, ending }, heard)
    }

    fn say(&self, happening: Happening) {
        // A full channel means that nobody can follow anyway; the log has it all.
        drop(self.said.try_send(Said::Happening(happening)));
    }

    fn notice(&self, text: impl Into<String>) {
        self.say(Happening::Notice(text.into()));
    }

    fn ending(&self) -> std::sync::MutexGuard<'_, ExitReason> {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Link {
    fn event(&self, recorded: &Recorded, state: &SessionState) {
        match &recorded.event {
            Event::ApprovalRequested(event) if !self.attended => {
                self.notice(format!("needs a yes that nobody can give here: {}", event.subject));
            }
            Event::ToolCallStarted(event) => {
                let preview = preview(&event.arguments.0);
                self.say(Happening::ToolStarted { name: event.name.clone(), preview });
            }
            Event::ToolCallFinished(event) => {
                let name = name_of(state, event.call);
                let elapsed = Duration::from_micros(event.elapsed_us);
                self.say(Happening::ToolFinished { name, status: event.status, elapsed });
                if event.recovered {
                    self.notice("its outcome was found after the restart");
                }
            }
            Event::ToolCallInDoubt(_) => self.notice("whether it took effect before the restart is unknown"),
            Event::ToolCallSkipped(event) => self.notice(format!("not run: {}", skip_words(event.reason))),
            Event::CommandBlocked(event) => self.notice(format!("blocked: {}", event.rule)),
            Event::ModelCallFailed(event) => {
                self.say(Happening::Retracted);
                match event.action {
                    // The last word of the turn says what failed; this is what only an expert can use.
                    FailureAction::GiveUp => self.notice(format!("details: {}", event.failure.message)),
                    action => {
                        let next = next_step(action, state);
                        self.notice(format!("{}{next}", what_failed(&event.failure)));
                    }
                }
            }
            Event::ModelCallAborted(_) => self.say(Happening::Retracted),
            Event::SpendingWarned(event) => self.notice(spending_words(event)),
            Event::CompressionFinished(event) => {
                let (before, after) = (event.before_tokens, event.after_tokens);
                self.notice(format!("context compacted: about {before} tokens became {after}"));
            }
            Event::TurnResumed(_) => self.notice("going on where it stopped"),
            Event::TurnFaulted(event) => {
                self.notice(format!("herm failed during {}: {}", event.during, event.message))
            }
            Event::SteerReceived(_) => self.notice("noted: the model sees it beside the next tool result"),
            Event::MessageReceived(_) if state.turn.is_some() => {
                self.notice("queued: its turn comes after this one")
            }
            Event::DeliveryPlanned(_) => {
                if let Some(Phase::Delivering { reason, .. }) = state.turn.as_ref().map(|turn| &turn.phase) {
                    *self.ending() = *reason;
                }
            }
            Event::TurnEnded(event) => drop(self.said.try_send(Said::TurnEnded(event.reason))),
            _ => {}
        }
    }

    fn still_runs(&self, _: SessionId, _: CallRef, elapsed: Duration) {
        self.notice(format!("it still runs, for {} s", elapsed.as_secs()));
    }

    fn delta(&self, _: SessionId, delta: &Delta) {
        match delta {
            Delta::Text(text) => self.say(Happening::Text(text.clone())),
            Delta::Reasoning(text) => self.say(Happening::Reasoning(text.clone())),
            Delta::ToolCall { .. } => {}
        }
    }

    fn broken(&self, _: SessionId, reason: &str) {
        drop(self.said.try_send(Said::Broken(reason.to_owned())));
    }
}

/// The tool that a call was for: the answer that asked for it still stands in the conversation.
fn name_of(state: &SessionState, call: CallRef) -> String {
    let asked = state.view.iter().rev().find_map(|entry| match &entry.body {
        Body::Assistant { message, .. } if entry.at == call.message => {
            message.calls.get(usize::from(call.index))
        }
        _ => None,
    });
    asked.map_or_else(|| "tool".to_owned(), |asked| asked.name.clone())
}

fn skip_words(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::Interrupted => "interrupted",
        SkipReason::Duplicate => "asked for twice",
        SkipReason::UnknownTool => "no such tool",
        SkipReason::InvalidArguments => "unreadable arguments",
        SkipReason::Blocked => "forbidden",
        SkipReason::Denied => "refused",
        SkipReason::Unanswered => "nobody answered",
        SkipReason::Faulted => "herm failed",
        SkipReason::Parked => "nobody answered yet",
        SkipReason::Vetoed => "a hook forbids it",
    }
}

/// What a person is shown of a call that runs.
fn preview(arguments: &str) -> String {
    let text = telling(arguments).unwrap_or_else(|| arguments.to_owned());
    text.chars().take(PREVIEW_CHARS_MAX).collect()
}

impl People for Link {
    fn approve<'a>(&'a self, question: &'a ApprovalQuestion) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            if !self.attended {
                return Answer::silence();
            }
            let withdrawn = CancellationToken::new();
            let _guard = withdrawn.clone().drop_guard();
            let (answer, wait) = oneshot::channel();
            let asked = Said::Approve { question: question.clone(), answer, withdrawn };
            if self.said.send(asked).await.is_err() {
                return Answer::silence();
            }
            wait.await.unwrap_or_else(|_| Answer::silence())
        })
    }
}

impl Clarify for Link {
    fn ask<'a>(
        &'a self,
        _: SessionId,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            if !self.attended {
                return None;
            }
            let withdrawn = CancellationToken::new();
            let _guard = withdrawn.clone().drop_guard();
            let (answer, wait) = oneshot::channel();
            let (question, choices) = (question.to_owned(), choices.to_vec());
            self.said.send(Said::Clarify { question, choices, answer, withdrawn }).await.ok()?;
            wait.await.ok().flatten()
        })
    }
}

impl Outlet for Link {
    fn way(&self, _: &ChatRef) -> Way {
        Way { format: Format::SOURCE, keyed: false }
    }

    fn send<'a>(&'a self, parcel: &'a Parcel) -> BoxFuture<'a, Result<Option<String>, SendFailure>> {
        Box::pin(async move {
            let gone = || SendFailure {
                class: DeliveryFailure::Unreachable,
                message: "the terminal is gone".to_owned(),
                retry_after: Some(Duration::from_secs(1)),
            };
            let (sent, wait) = oneshot::channel();
            let reason = *self.ending();
            let deliver = Said::Deliver { parcel: parcel.clone(), reason, sent };
            self.said.send(deliver).await.map_err(|_| gone())?;
            wait.await.map_err(|_| gone())?;
            Ok(None)
        })
    }
}

/// What follows a failed model call, for the person.
fn next_step(action: FailureAction, state: &SessionState) -> String {
    match action {
        FailureAction::Retry { .. } => "; trying again".to_owned(),
        FailureAction::Compress => "; making the conversation shorter".to_owned(),
        FailureAction::Rotate => "; trying another key".to_owned(),
        FailureAction::FallBack { route } => {
            let choice = state.policy.as_ref().and_then(|policy| policy.route(route));
            choice
                .map(|choice| format!("; asking {} {} instead", choice.provider, choice.model))
                .unwrap_or_default()
        }
        FailureAction::Strip { what } => match what {
            Stripped::Reasoning => "; trying again without earlier reasoning",
            Stripped::SchemaPatterns => "; trying again with plainer tool schemas",
            Stripped::LongContext => "; trying again without the long context window",
            Stripped::ToolImages => "; trying again without the images of tools",
        }
        .to_owned(),
        FailureAction::ShrinkImages { side_px_max } => {
            format!("; trying again with images of at most {side_px_max} pixels a side")
        }
        FailureAction::GiveUp => String::new(),
    }
}

fn spending_words(event: &SpendingWarned) -> String {
    let whose = match event.scope {
        SpendingScope::Session => "this session",
        SpendingScope::Day => "today",
    };
    format!("{} % of the spending limit for {whose} is used ({})", event.percent, dollars(event.limit))
}
