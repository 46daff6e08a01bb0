//! What people do with the memory: see who wrote what and why, take it back, say yes or no.

use herm_replay::log::Log;
use herm_replay::memory::{Command, Memories, decide};
use herm_schema::events::*;
use herm_schema::{Event, Micros, Position, SessionId, StreamId, StreamPos, TurnId};

use super::notes::{Notes, Origin};
use super::{name, named};

/// Longest piece of a message that is shown as the reason of a write, in characters.
const WHY_CHARS_MAX: usize = 120;

/// One write, with who did it and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    pub at: StreamPos,
    pub time: Micros,
    pub turn: Option<TurnId>,
    pub cause: Option<Position>,
    pub written: MemoryWritten,
    pub undone: bool,
    /// Who proposed it, where somebody else approved it.
    pub proposed: Option<Author>,
}

impl Write {
    /// The session and the call of the model that it goes back to.
    pub fn call(&self) -> Option<(SessionId, herm_schema::CallRef)> {
        match self.proposed.as_ref().unwrap_or(&self.written.author) {
            Author::Model { session, call } => Some((*session, *call)),
            Author::Files | Author::Person { .. } => None,
        }
    }
}

/// Every write of a profile, the oldest first, and what is remembered after them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    pub all: Vec<Write>,
    /// What the model would have had remembered, and was not let.
    pub refused: Vec<(StreamPos, Micros, MemoryRefused)>,
    pub memories: Memories,
}

impl Writes {
    /// Folds the stream of a profile.
    ///
    /// # Errors
    /// Those of the log.
    pub fn of(log: &dyn Log, profile: StreamId) -> Result<Self, herm_replay::log::Error> {
        let mut writes = Self::default();
        let mut proposals = std::collections::BTreeMap::new();
        for recorded in log.read_stream(profile, StreamPos(0)) {
            let recorded = recorded?;
            herm_replay::memory::evolve(&mut writes.memories, &recorded);
            let envelope = &recorded.envelope;
            match recorded.event {
                Event::MemoryWritten(written) => writes.all.push(Write {
                    at: envelope.stream_pos,
                    time: envelope.recorded_at,
                    turn: envelope.turn,
                    cause: envelope.cause,
                    proposed: written.proposal.and_then(|at| proposals.get(&at).cloned()),
                    undone: false,
                    written,
                }),
                Event::MemoryRefused(refused) => {
                    writes.refused.push((envelope.stream_pos, envelope.recorded_at, refused));
                }
                Event::MemoryProposed(proposed) => {
                    proposals.insert(envelope.stream_pos, proposed.author);
                }
                _ => {}
            }
        }
        let memories = &writes.memories;
        writes.all.iter_mut().for_each(|write| write.undone = memories.is_undone(write.at));
        Ok(writes)
    }

    /// The last write of these spaces that can be taken back without being named.
    pub fn last(&self, of: impl Fn(&MemorySpace) -> bool) -> Option<&Write> {
        let mut writes = self.all.iter().rev();
        writes.find(|write| !write.undone && write.written.undoes.is_none() && of(&write.written.space))
    }
}

/// What a person said in the turn that a write belongs to: why it was made. `None` where nobody did.
pub fn why(log: &dyn Log, write: &Write) -> Option<String> {
    let (session, call) = write.call()?;
    let mut said = None;
    for recorded in log.read_stream(session.stream(), StreamPos(0)).map_while(Result::ok) {
        if recorded.envelope.stream_pos >= call.message {
            break;
        }
        match recorded.event {
            Event::MessageReceived(message) => said = Some(message.text),
            Event::SteerReceived(steer) => said = Some(steer.text),
            Event::RedirectReceived(redirect) => said = Some(redirect.text),
            _ => {}
        }
    }
    let said = said?.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(said.chars().take(WHY_CHARS_MAX).collect())
}

/// What was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    pub write: StreamPos,
    /// The event that takes it back; it can be taken back itself.
    pub by: StreamPos,
    pub written: MemoryWritten,
}

impl Undone {
    /// For a person, on one line.
    pub fn in_words(&self) -> String {
        let MemoryWritten { space, target, changes, .. } = &self.written;
        let changes = herm_replay::memory::changed(space, *target, changes);
        format!("taken back: {}  {changes}; `undo {}` brings it back", name(self.write), name(self.by))
    }

    pub fn as_json(&self) -> serde_json::Value {
        serde_json::json!({ "write": name(self.write), "by": name(self.by), "said": self.in_words() })
    }
}

impl Notes {
    /// Takes a write back: the one that is named, or the last. Only one of a space that `may` names.
    ///
    /// # Errors
    /// In words: why not.
    pub fn undo(
        &self,
        text: &str,
        by: Option<Answerer>,
        may: impl Fn(&MemorySpace) -> bool,
    ) -> Result<Undone, String> {
        let read = |error| format!("the log cannot be read: {error}");
        let writes = Writes::of(&*self.log, self.profile).map_err(read)?;
        let found = match text.trim() {
            "" => writes.last(&may),
            text => {
                let at = named(text).ok_or_else(|| format!("`{text}` names no write; it is like `m12`"))?;
                writes.all.iter().find(|write| write.at == at && may(&write.written.space))
            }
        };
        let missing = || match text.trim() {
            "" => "there is nothing to take back".to_owned(),
            text => format!("there is no write `{text}`"),
        };
        let write = found.ok_or_else(missing)?;
        let (space, target) = (write.written.space.clone(), write.written.target);
        // What people changed in the file meanwhile comes first.
        let mut fold = self.now(&space)?;
        let command = Command::Undo { write: write.at, written: write.written.clone(), by };
        let event = decide(&fold, command).map_err(|refusal| refusal.to_string())?;
        let by = self.record(&mut fold, event, Origin::default()).map_err(|error| error.to_string())?;
        self.project(&fold, &space, target);
        Ok(Undone { write: write.at, by, written: write.written.clone() })
    }

    /// What waits for a word in a space.
    ///
    /// # Errors
    /// In words: the log or a file cannot be read.
    pub fn pending(&self, space: &MemorySpace) -> Result<Vec<(StreamPos, MemoryProposed)>, String> {
        let fold = self.now(space)?;
        Ok(fold.proposals(space).map(|(at, asked)| (at, asked.clone())).collect())
    }

    /// Says yes or no to what waits in a space: to the one that is named, or to `all`.
    ///
    /// # Errors
    /// In words: why not.
    pub fn answer(
        &self,
        space: &MemorySpace,
        text: &str,
        yes: bool,
        by: Option<Answerer>,
    ) -> Result<Vec<String>, String> {
        let mut waiting = self.pending(space)?;
        if text.trim() != "all" {
            let at = named(text).ok_or("say which, like `m12`, or `all`")?;
            waiting.retain(|(known, _)| *known == at);
        }
        if waiting.is_empty() {
            return Err("nothing like that waits for your word".to_owned());
        }
        let mut fold = self.now(space)?;
        let mut said = Vec::new();
        for (proposal, asked) in waiting {
            let (by, limits) = (by.clone(), self.config.limits);
            let command = match yes {
                true => Command::Approve { proposal, by, limits },
                false => Command::Decline { proposal, by },
            };
            let done = match decide(&fold, command) {
                Ok(event) => {
                    self.record(&mut fold, event, Origin::default()).map_err(|error| error.to_string())?;
                    self.project(&fold, space, asked.target);
                    if yes { "kept".to_owned() } else { "declined".to_owned() }
                }
                Err(refusal) => format!("not kept: {refusal}"),
            };
            said.push(format!("{}: {done}", name(proposal)));
        }
        Ok(said)
    }

    /// What is remembered in a space now.
    ///
    /// # Errors
    /// In words: the log or a file cannot be read.
    pub fn entries(&self, space: &MemorySpace, target: MemoryTarget) -> Result<Vec<String>, String> {
        Ok(self.now(space)?.entries(space, target).to_vec())
    }

    /// How full a list is, in words.
    pub fn usage(&self, target: MemoryTarget, entries: &[String]) -> String {
        super::block::usage(entries, self.config.limits.of(target))
    }

    /// The log that it is kept in, and the stream.
    pub fn log(&self) -> (&dyn Log, StreamId) {
        (&*self.log, self.profile)
    }
}
