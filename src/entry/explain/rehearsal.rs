//! What herm does about a failure, found out by doing it: the reducer itself runs a turn whose every
//! model call fails in the same way, and what it decides is written down.

use herm_replay::reducer::{Command, Effect, SessionState, Stamp, decide, evolve, owed};
use herm_schema::envelope::Codec;
use herm_schema::events::*;
use herm_schema::{
    BlobRef, Digest, Envelope, Event, Micros, NewEvent, Position, Recorded, SessionId, StreamPos,
};

/// Decisions after which it is plain how it goes on.
const ACTIONS_MAX: usize = 40;
/// Steps after which a turn that does not end is left alone.
const STEPS_MAX: usize = 400;
const START: Micros = Micros(1_796_000_000_000_000);

/// What was decided, one after another, until the turn ended. With `seed`, waits are spread.
pub fn actions(policy: Policy, failure: &ModelFailure, seed: u64) -> Vec<(FailureAction, Micros)> {
    let mut turn = Rehearsal { state: SessionState::default(), now: START, seed, actions: Vec::new() };
    turn.ask(Command::Open(opened()));
    turn.ask(Command::Configure(policy));
    turn.ask(Command::Receive { message: message(), visible_text: String::new() });
    for _ in 0..STEPS_MAX {
        let Some(effect) = owed(&turn.state).into_iter().next() else { break };
        let Some(command) = turn.outcome(&effect, failure) else { break };
        turn.ask(command);
        if turn.actions.len() >= ACTIONS_MAX {
            break;
        }
    }
    turn.actions
}

struct Rehearsal {
    state: SessionState,
    now: Micros,
    seed: u64,
    actions: Vec<(FailureAction, Micros)>,
}

impl Rehearsal {
    /// What comes of an effect here; `None` where the turn is over.
    fn outcome(&mut self, effect: &Effect, failure: &ModelFailure) -> Option<Command> {
        Some(match effect {
            Effect::Advance => Command::Advance,
            Effect::Wait { until } => {
                self.now = self.now.max(*until);
                Command::Advance
            }
            Effect::BuildPrompt { .. } => Command::PromptBuilt {
                prompt: BlobRef::of(b"prompt"),
                definitions: BlobRef::of(b"[]"),
                tools: Vec::new(),
            },
            Effect::CallModel { intent, .. } => {
                Command::ModelFailed { intent: *intent, failure: failure.clone() }
            }
            Effect::Compress { intent, .. } => Command::Compressed {
                intent: *intent,
                result: Err("there is nothing to leave out".to_owned()),
            },
            _ => return None,
        })
    }

    fn ask(&mut self, command: Command) {
        let stamp = Stamp { now: self.now, seed: self.seed, ..Stamp::default() };
        let Ok(events) = decide(&self.state, command, stamp) else { return };
        for new in events {
            if let Event::ModelCallFailed(failed) = &new.event {
                self.actions.push((failed.action, self.now));
            }
            let recorded = self.recorded(new);
            evolve(&mut self.state, &recorded);
        }
        self.now = self.now.plus(1_000);
    }

    /// The event as a log would have it.
    fn recorded(&self, new: NewEvent) -> Recorded {
        let pos = self.state.head.stream_pos.0 + 1;
        let envelope = Envelope {
            position: Position(pos),
            stream: SessionId::opened(START, [0; 10]).stream(),
            stream_pos: StreamPos(pos),
            recorded_at: self.now,
            kind: new.event.kind(),
            version: new.event.version(),
            cause: new.cause,
            turn: new.turn,
            key: None,
            batch_left: 0,
            epoch: 0,
            key_id: 0,
            codec: Codec::Plain,
            chain: Digest::default(),
        };
        Recorded { envelope, event: new.event }
    }
}

fn chat() -> ChatRef {
    ChatRef { platform: "cli".to_owned(), chat: "rehearsal".to_owned(), thread: None }
}

fn opened() -> SessionOpened {
    SessionOpened {
        key: String::new(),
        shared: false,
        profile: "default".to_owned(),
        chat: chat(),
        cwd: "/".to_owned(),
        environment: "local".to_owned(),
        herm_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn message() -> MessageReceived {
    MessageReceived {
        message_id: "1".to_owned(),
        chat: chat(),
        sender: Sender { id: "1".to_owned(), name: None },
        text: "a question".to_owned(),
        attachments: Vec::new(),
        context: None,
    }
}
