//! The built-in memory: what is remembered as events, and the files beside.
//!
//! One process owns the log, and in it all writes go through one of these, one after another: what two
//! sessions write at once is both kept. Before anything is done, the files are looked at.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use herm_replay::log::{Append, Error, Expect, Log};
use herm_replay::memory::{Command, Memories, Operation, Refusal, decide, evolve};
use herm_replay::reducer::barrier::barrier;
use herm_schema::events::*;
use herm_schema::{
    CallRef, Event, IdempotencyKey, NewEvent, Position, SessionId, StreamId, StreamPos, TurnId,
};

use super::files::{Files, Standing};
use super::{Asked, Live, MemoryConfig, MemoryProvider, Outcome, Refused, block};
use crate::config::REDACTED;
use crate::runtime::{Clock, Redact};
use crate::threats;

/// Both lists of a space.
pub(super) const TARGETS: [MemoryTarget; 2] = [MemoryTarget::Memory, MemoryTarget::User];

/// The memory of a profile.
pub struct Notes {
    pub(super) log: Arc<dyn Log>,
    pub(super) profile: StreamId,
    pub(super) config: MemoryConfig,
    files: Files,
    redact: Redact,
    clock: Arc<dyn Clock>,
    fold: Mutex<Memories>,
}

/// What a [`Notes`] works with.
pub struct Setting<'a> {
    pub log: Arc<dyn Log>,
    pub profile: StreamId,
    /// The profile's home.
    pub home: &'a std::path::Path,
    pub config: MemoryConfig,
    pub redact: Redact,
    pub clock: Arc<dyn Clock>,
}

/// Where an event comes from.
#[derive(Clone, Copy, Default)]
pub(super) struct Origin {
    pub cause: Option<Position>,
    pub turn: Option<TurnId>,
    pub key: Option<IdempotencyKey>,
}

impl Notes {
    pub fn new(with: Setting<'_>) -> Self {
        let Setting { log, profile, home, config, redact, clock } = with;
        let files = Files::of(home);
        Self { log, profile, config, files, redact, clock, fold: Mutex::default() }
    }

    /// What is remembered now: all that is in the log, and what people changed in the files of `space`.
    ///
    /// # Errors
    /// In words: the log or a file cannot be read.
    pub(super) fn now(&self, space: &MemorySpace) -> Result<MutexGuard<'_, Memories>, String> {
        let mut fold = self.fold.lock().unwrap_or_else(PoisonError::into_inner);
        self.catch_up(&mut fold).map_err(|error| format!("the log cannot be read: {error}"))?;
        for target in TARGETS {
            self.take_in(&mut fold, space, target)?;
        }
        Ok(fold)
    }

    fn catch_up(&self, fold: &mut Memories) -> Result<(), Error> {
        let from = if fold.head == StreamPos(0) { fold.head } else { fold.head.next() };
        for recorded in self.log.read_stream(self.profile, from) {
            evolve(fold, &recorded?);
        }
        Ok(())
    }

    /// What somebody changed in a file becomes an event; a file that is late is written.
    fn take_in(&self, fold: &mut Memories, space: &MemorySpace, target: MemoryTarget) -> Result<(), String> {
        match self.files.look(space, target, fold.entries(space, target))? {
            Standing::Same => return Ok(()),
            Standing::Behind => {}
            Standing::Edited { base, entries } => {
                let clean = |entries: Vec<String>| entries.iter().map(|text| (self.redact)(text)).collect();
                let (base, entries) = (clean(base), clean(entries));
                let command = Command::TakeIn { space: space.clone(), target, base, entries };
                let event = decide(fold, command).map_err(|refusal| refusal.to_string())?;
                self.record(fold, event, Origin::default()).map_err(|error| error.to_string())?;
            }
        }
        self.project(fold, space, target);
        Ok(())
    }

    /// Appends, and folds what was appended; under a key that is known, nothing new is.
    pub(super) fn record(
        &self,
        fold: &mut Memories,
        event: Option<Event>,
        origin: Origin,
    ) -> Result<StreamPos, Error> {
        let Some(event) = event else { return Ok(fold.head) };
        let Origin { cause, turn, key } = origin;
        let append = Append {
            stream: self.profile,
            // Others append to this stream too, and never anything about memory.
            expect: Expect::Any,
            key,
            at: self.clock.now(),
            durability: barrier(&event).durability(),
            events: vec![NewEvent { event, cause, turn }],
        };
        let committed = self.log.append(append)?;
        self.catch_up(fold)?;
        Ok(committed.events.first().map_or(fold.head, |first| first.envelope.stream_pos))
    }

    /// A file that cannot be written now is written when it is looked at next; the log has it.
    pub(super) fn project(&self, fold: &Memories, space: &MemorySpace, target: MemoryTarget) {
        if let Err(error) = self.files.write(space, target, fold.entries(space, target)) {
            let path = self.files.path(space, target);
            tracing::warn!(%error, path = %path.display(), "what is remembered could not be written to its file");
        }
    }

    /// Why a text is not fit to be remembered.
    fn unfit(&self, operations: &[Operation]) -> Option<(MemoryRefusal, String)> {
        operations.iter().find_map(|operation| {
            let (Operation::Add { content } | Operation::Replace { content, .. }) = operation else {
                return None;
            };
            if let Some(threat) = threats::find(content, threats::ALL) {
                let said = format!(
                    "not kept: it matches the threat pattern `{}`, and memory is read in every session",
                    threat.name
                );
                return Some((MemoryRefusal::Threat, said));
            }
            let secret = content.contains(REDACTED) || (self.redact)(content) != *content;
            let said = "not kept: it holds a secret; secrets belong into `.env`, and memory says where";
            secret.then(|| (MemoryRefusal::Secret, said.to_owned()))
        })
    }

    fn refuse(&self, fold: &mut Memories, asked: &Asked, why: MemoryRefusal, message: String) -> Refused {
        let Asked { session, call, space, target, .. } = asked;
        let event = MemoryRefused {
            space: space.clone(),
            target: *target,
            author: Author::Model { session: *session, call: *call },
            why,
            message: (self.redact)(&message),
        };
        if let Err(error) = self.record(fold, Some(event.into()), self.origin(*session, *call)) {
            tracing::warn!(%error, "a refusal could not be recorded");
        }
        self.refused(fold, space, *target, message)
    }

    fn refused(
        &self,
        fold: &Memories,
        space: &MemorySpace,
        target: MemoryTarget,
        message: String,
    ) -> Refused {
        let entries = fold.entries(space, target).to_vec();
        Refused { message, entries, limit_chars: self.config.limits.of(target) }
    }

    fn live(&self, fold: &Memories, space: &MemorySpace, target: MemoryTarget, outcome: Outcome) -> Live {
        let entries = fold.entries(space, target).to_vec();
        Live { target, outcome, entries, limit_chars: self.config.limits.of(target) }
    }

    /// The answer of the model that asked for a call, and a key that is the call's alone.
    fn origin(&self, session: SessionId, call: CallRef) -> Origin {
        let asked = self.log.read_stream(session.stream(), call.message).next();
        let envelope = asked.and_then(Result::ok).map(|recorded| recorded.envelope);
        let key = IdempotencyKey::of(&["memory", &session.to_string(), &call.to_string()]);
        Origin {
            cause: envelope.as_ref().map(|envelope| envelope.position),
            turn: envelope.and_then(|envelope| envelope.turn),
            key: Some(key),
        }
    }
}

impl MemoryProvider for Notes {
    fn block(&self, space: &MemorySpace) -> Option<String> {
        // A file that cannot be read keeps nobody from what the log holds.
        let fold = self.now(space).unwrap_or_else(|error| {
            tracing::warn!(%error, "a file of the memory is passed over");
            self.fold.lock().unwrap_or_else(PoisonError::into_inner)
        });
        let kept = TARGETS.into_iter().filter(|target| self.config.keeps(*target));
        let blocks: Vec<String> = kept
            .filter_map(|target| {
                block::rendered(target, fold.entries(space, target), self.config.limits.of(target))
            })
            .collect();
        (!blocks.is_empty()).then(|| blocks.join("\n\n"))
    }

    fn write(&self, asked: Asked) -> Result<Live, Refused> {
        let Asked { session, call, space, target, operations } = &asked;
        let nothing = |message: String| Refused {
            message,
            entries: Vec::new(),
            limit_chars: self.config.limits.of(*target),
        };
        let mut fold = self.now(space).map_err(|why| nothing(format!("nothing was changed: {why}")))?;
        if !self.config.keeps(*target) {
            return Err(nothing("this list is switched off".to_owned()));
        }
        if let Some((why, message)) = self.unfit(operations) {
            return Err(self.refuse(&mut fold, &asked, why, message));
        }
        let command = Command::Write {
            space: space.clone(),
            target: *target,
            operations: operations.clone(),
            author: Author::Model { session: *session, call: *call },
            limits: self.config.limits,
            propose: self.config.approval,
        };
        let event = match decide(&fold, command) {
            Ok(event) => event,
            Err(refusal) => {
                return Err(self.refuse(&mut fold, &asked, refusal.class(), told(&refusal)));
            }
        };
        let at = match self.record(&mut fold, event, self.origin(*session, *call)) {
            Ok(at) => at,
            Err(error) => {
                return Err(self.refused(&fold, space, *target, format!("it cannot be recorded: {error}")));
            }
        };
        if self.config.approval {
            return Ok(self.live(&fold, space, *target, Outcome::Proposed(at)));
        }
        self.project(&fold, space, *target);
        Ok(self.live(&fold, space, *target, Outcome::Written(at)))
    }

    fn found_out(
        &self,
        session: SessionId,
        call: CallRef,
        space: &MemorySpace,
    ) -> Option<Result<Live, Refused>> {
        let wanted = Author::Model { session, call };
        let fold = self.now(space).ok()?;
        let events = self.log.read_stream(self.profile, StreamPos(0)).filter_map(Result::ok);
        events.into_iter().find_map(|recorded| {
            let at = recorded.envelope.stream_pos;
            match recorded.event {
                Event::MemoryWritten(event) if event.author == wanted => {
                    Some(Ok(self.live(&fold, &event.space, event.target, Outcome::Written(at))))
                }
                Event::MemoryProposed(event) if event.author == wanted => {
                    Some(Ok(self.live(&fold, &event.space, event.target, Outcome::Proposed(at))))
                }
                Event::MemoryRefused(event) if event.author == wanted => {
                    Some(Err(self.refused(&fold, &event.space, event.target, event.message)))
                }
                _ => None,
            }
        })
    }
}

/// What the model is told of a refusal.
fn told(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Full { .. } => format!("not kept: {refusal}; do it in this turn"),
        other => format!("not changed: {other}"),
    }
}
