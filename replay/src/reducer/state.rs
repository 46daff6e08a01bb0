//! What a session is at one moment: a fold of its events and nothing besides.

use std::collections::VecDeque;

use herm_schema::events::*;
use herm_schema::{BlobRef, CallRef, Digest, JsonText, Micros, Position, SessionId, StreamPos, Text, TurnId};
use serde::{Deserialize, Serialize};

use super::request::RequestOptions;
use crate::deliveries::Deliveries;
pub use crate::deliveries::{Chunk, ChunkStatus, Delivery};

/// Raised when the shape or meaning of [`SessionState`] changes; snapshots of others are dropped.
pub const STATE_VERSION: u32 = 4;

/// A session at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionState {
    pub session: Option<SessionId>,
    pub head: StreamHead,
    pub opened: Option<SessionOpened>,
    pub policy: Option<Policy>,
    /// What a client adds at the end of the system prompt.
    pub client_system: Option<String>,
    /// `None` until built, and again when it has to be built anew.
    pub prompt: Option<BlobRef>,
    /// Why the next prompt is built.
    pub prompt_due: Option<PromptReason>,
    pub offer: Option<Offer>,
    /// The conversation as the model sees it, oldest first.
    pub view: Vec<Entry>,
    /// Messages that wait for their turn, first in, first out.
    pub queue: VecDeque<Queued>,
    pub turn: Option<Turn>,
    /// Deliveries with a chunk that is neither confirmed nor failed for good.
    pub deliveries: Deliveries,
    /// Lasting yeses of this session.
    pub grants: Vec<Grant>,
    /// Calls that nobody has answered for, oldest first, at most [`PARKED_MAX`].
    pub parked: Vec<Parked>,
    /// Questions of programs that run as calls; gone with their call.
    pub asides: Vec<Aside>,
    /// Command lines that run in the background.
    pub processes: Vec<Process>,
    pub context: ContextState,
    /// What requests of this session do without, because a provider refused it.
    pub without: Without,
    pub title: Option<String>,
    /// Times a model was asked for a title.
    pub title_attempts: u32,
    pub spending: Spending,
    /// Auxiliary calls without an outcome.
    pub auxiliary: Vec<Auxiliary>,
    pub turns: u64,
    pub model_calls: u32,
    pub last_exit: Option<ExitReason>,
    pub ended: Option<EndReason>,
}

/// The last event of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamHead {
    pub stream_pos: StreamPos,
    pub position: Position,
    pub recorded_at: Micros,
}

/// The tools that are offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    pub definitions: BlobRef,
    pub tools: Vec<ToolFacts>,
}

/// What waits for its turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    pub at: StreamPos,
    pub said_at: Micros,
    pub what: Waiting,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Waiting {
    Message {
        text: String,
        attachments: Vec<Attachment>,
        /// The platform's id of it; empty for what no person said.
        message_id: String,
        /// The sender's id; empty for what no person said.
        by: String,
    },
    /// A parked call that somebody has allowed since.
    Call { call: CallRef, asked: ToolCall },
}

impl Queued {
    pub fn text(at: StreamPos, text: impl Into<String>) -> Self {
        let (message_id, by) = (String::new(), String::new());
        let what = Waiting::Message { text: text.into(), attachments: Vec::new(), message_id, by };
        Self { at, said_at: Micros(0), what }
    }

    /// Who said it; `None` for what no person said.
    fn by(&self) -> Option<&str> {
        match &self.what {
            Waiting::Message { by, .. } => Some(by.as_str()).filter(|by| !by.is_empty()),
            Waiting::Call { .. } => None,
        }
    }
}

/// A lasting yes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub tool: String,
    pub pattern: String,
    /// Only for calls with this target; `None` for any.
    pub target: Option<String>,
}

impl Grant {
    pub fn covers(&self, tool: &str, pattern: &str, target: Option<&str>) -> bool {
        self.tool == tool
            && self.pattern == pattern
            && self.target.as_deref().is_none_or(|only| target == Some(only))
    }
}

/// Calls that wait for an answer after their turn went on; with more, the oldest is given up.
pub const PARKED_MAX: usize = 32;

/// A call that nobody has answered for: the model was told so, and the question stays open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    pub request: StreamPos,
    pub call: CallRef,
    pub asked: ToolCall,
    pub question: Asked,
}

/// A question of a program, which waits for the answer itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aside {
    pub request: StreamPos,
    pub call: CallRef,
    pub question: Asked,
}

/// A question to a person, as it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    pub tool: String,
    pub subject: String,
    pub reason: String,
    pub pattern: String,
    pub target: Option<String>,
}

/// A command line in the background.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub name: String,
    pub command: String,
    pub notify: bool,
    /// The call that left it.
    pub call: CallRef,
}

/// One piece of the conversation, named by the event that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub at: StreamPos,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    User {
        text: String,
        attachments: Vec<Attachment>,
    },
    Assistant {
        message: AssistantMessage,
        /// Cut by the output limit; the model is asked to go on.
        cut: bool,
    },
    Result {
        call: CallRef,
        shown: Text,
        images: Vec<Attachment>,
        /// What people and herm have put beside it, in order.
        notes: Vec<String>,
    },
    /// Result of a call that was allowed after its turn had gone on.
    Late {
        asked: ToolCall,
        shown: Text,
        images: Vec<Attachment>,
    },
    /// Stands for what was compressed.
    Summary {
        text: String,
    },
}

/// What has been spent, in micro-dollars.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    pub spent: u64,
    /// Answered calls whose price is not known.
    pub unpriced_calls: u32,
    /// The highest share that was warned of, by scope.
    pub warned: Vec<(SpendingScope, u8)>,
}

/// A model call besides the conversation, under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Auxiliary {
    pub at: StreamPos,
    pub task: AuxiliaryTask,
    pub provider: String,
    /// Fingerprint of the key.
    pub credential: Option<String>,
    pub prices: Option<Prices>,
}

/// What a provider refused, and what is left out since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Without {
    /// Reasoning items of answers up to here.
    pub reasoning_to: Option<StreamPos>,
    pub schema_patterns: bool,
    pub long_context: bool,
    pub tool_images: bool,
    pub image_side_px_max: Option<u32>,
}

impl Without {
    /// Whether the reasoning items of the answer at `at` are left out.
    pub fn reasoning_of(&self, at: StreamPos) -> bool {
        self.reasoning_to.is_some_and(|to| at <= to)
    }

    /// As a request carries it.
    pub fn options(&self) -> RequestOptions {
        RequestOptions {
            no_tool_calls: false,
            plain_schemas: self.schema_patterns,
            no_long_context: self.long_context,
            image_side_px_max: self.image_side_px_max,
        }
    }
}

/// What is known of the size of the context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextState {
    /// Tokens of the last request and its answer, by the provider, and how many entries they cover.
    pub reported: Option<Reported>,
    /// Compressions since a provider last showed that the context fits.
    pub attempts: u32,
    /// Compressions in a row that gained nothing.
    pub ineffective: u32,
    pub compressions: u32,
    /// Compressions in a row that failed.
    pub failures: u32,
    /// None is begun before this time, unless the provider says that the context does not fit.
    pub rests_until: Option<Micros>,
    /// Context size at which pruning is looked at again.
    pub prune_rearm_tokens: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    pub tokens: u64,
    pub entries: u64,
}

/// A turn under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    pub id: TurnId,
    pub started_at: Micros,
    /// Position of its `TurnStarted`.
    pub started: Position,
    pub phase: Phase,
    pub totals: TurnTotals,
    /// Iterations less those given back.
    pub budget_used: u32,
    /// What is to be put beside the newest tool result before the next model call.
    pub notes: Vec<TurnNote>,
    pub budget_warned: bool,
    /// The newest entry is a tool result that no request has held yet: notes may stand beside it.
    pub unsent_result: bool,
    /// Set when the turn is to end as soon as nothing is running.
    pub stop: Option<ExitReason>,
    pub interrupted: bool,
    /// The provider said that the context does not fit.
    pub overflowed: bool,
    pub faults: u32,
    pub resumes: u32,
    pub empty_answers: u32,
    pub invalid_rounds: u32,
    pub continuations: u32,
    /// Text of answers that were cut by the output limit, to be put before the rest.
    pub partial: String,
    /// Which model of the policy answers now: 0 is the session's own, 1 its first fallback.
    pub route: u32,
    /// Attempts at the model call under way that went to this route.
    pub route_attempts: u32,
    /// The key that was used last, by fingerprint: the provider's cache is warm for it.
    pub credential: Option<String>,
    /// Keys that were given up for this model call, by fingerprint.
    pub failed_keys: Vec<String>,
    /// Why the session's own model was left, for the person.
    pub first_failure: Option<ModelFailure>,
    /// Finished tool calls of this turn, for the guardrails.
    pub history: Vec<CallTrace>,
    /// Directories of which a checkpoint was taken in this turn.
    pub checkpoints: Vec<String>,
    /// The platform's id of the message that it answers.
    pub answers: Option<String>,
    /// The platform's id of the message that shows how the answer comes to be.
    pub preview: Option<String>,
}

/// Something to be put beside a tool result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnNote {
    pub at: StreamPos,
    pub text: String,
    /// Said by a person: it becomes a message of its own if the turn ends first.
    pub steer: bool,
}

/// What a finished tool call came to, as far as the guardrails care.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTrace {
    pub name: String,
    pub arguments: Digest,
    pub result: Digest,
    pub failed: bool,
    pub repeatable: bool,
}

/// Where a turn stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Between steps: the gate decides what comes next.
    Gate,
    /// A model call runs.
    Calling(ModelIntent),
    /// Another attempt at the same model call is due.
    Waiting { not_before: Micros, call: u32, attempt: u32, purpose: ModelPurpose },
    /// Tool calls of one answer.
    Tools(Batch),
    /// A compression runs.
    Compressing { intent: StreamPos, position: Position, before_tokens: u64 },
    /// The turn is over; its last word, if there is one, is to be planned.
    Closing { reason: ExitReason, kind: DeliveryKind, text: String },
    /// The last word is on its way.
    Delivering { reason: ExitReason, delivery: StreamPos },
}

/// A model call that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelIntent {
    pub at: StreamPos,
    pub position: Position,
    pub call: u32,
    pub attempt: u32,
    pub purpose: ModelPurpose,
    /// Fingerprint of the key.
    pub credential: Option<String>,
}

/// The tool calls of one answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    pub message: StreamPos,
    pub calls: Vec<CallState>,
    /// A single call, allowed after its turn had gone on: its answer is not the newest message.
    pub late: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallState {
    pub call: CallRef,
    pub asked: ToolCall,
    /// Which calls run together: calls of a segment begin when all earlier segments have ended.
    pub segment: u16,
    pub status: CallStatus,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallStatus {
    /// Not looked at yet, or approved and to be looked at again.
    Ready { approved: bool },
    /// A person is asked.
    Asked { request: StreamPos, position: Position, question: Asked },
    /// It runs.
    Started { intent: StreamPos, position: Position, arguments: JsonText, effect: EffectClass },
    /// It has its result.
    Done,
}

impl CallState {
    /// Whether a person was asked about it by this request, and has not answered.
    pub fn asked_at(&self, at: StreamPos) -> bool {
        matches!(self.status, CallStatus::Asked { request, .. } if request == at)
    }
}

impl SessionState {
    /// The model that answers now: the session's own, or the fallback that the turn has come to.
    pub fn choice(&self) -> Option<&ModelChoice> {
        let policy = self.policy.as_ref()?;
        let route = self.turn.as_ref().map_or(0, |turn| turn.route);
        policy.route(route).or(Some(&policy.model))
    }

    /// Digest over everything in it; the same for the same events on every machine.
    pub fn digest(&self) -> Digest {
        let bytes = bincode::serde::encode_to_vec((STATE_VERSION, self), bincode::config::standard());
        Digest::of(&bytes.unwrap_or_default())
    }

    /// What the reducer must know of a tool; `None` if it is not offered.
    pub fn tool(&self, name: &str) -> Option<&ToolFacts> {
        self.offer.as_ref()?.tools.iter().find(|tool| tool.name == name)
    }

    /// A tool call of the running batch.
    pub fn call(&self, call: CallRef) -> Option<&CallState> {
        match &self.turn.as_ref()?.phase {
            Phase::Tools(batch) => batch.calls.iter().find(|state| state.call == call),
            _ => None,
        }
    }

    /// Whether anything is left to be done or delivered.
    pub fn has_open_work(&self) -> bool {
        self.turn.is_some() || !self.queue.is_empty() || !self.deliveries.is_empty()
    }

    /// The position that the next event will have in the stream.
    pub fn next_pos(&self) -> StreamPos {
        self.head.stream_pos.next()
    }

    /// What waits and shares the next turn, oldest first: the messages that one person said in a row,
    /// each so soon after the one before that the debounce had not passed.
    pub fn next_inbound(&self) -> Vec<&Queued> {
        let debounce_us = self.policy.as_ref().map_or(0, |policy| policy.debounce_us);
        let mut run: Vec<&Queued> = Vec::new();
        for queued in &self.queue {
            let follows = run.last().is_none_or(|last| {
                debounce_us > 0
                    && last.by().is_some()
                    && last.by() == queued.by()
                    && queued.said_at.since(last.said_at) <= debounce_us
            });
            if !follows {
                break;
            }
            run.push(queued);
        }
        run
    }

    /// Until when the next turn waits for more from the same person; `None` if it does not.
    pub fn debounced_until(&self) -> Option<Micros> {
        let debounce_us = self.policy.as_ref().map_or(0, |policy| policy.debounce_us);
        let last = self.next_inbound().last().copied().filter(|last| last.by().is_some())?;
        (debounce_us > 0).then(|| last.said_at.plus(debounce_us))
    }
}
