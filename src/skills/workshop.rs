//! What is changed in the profile's own skills: an event first, then the files.
//!
//! The event names what each file was and becomes, both kept as blobs; so a change that was cut short by the
//! end of herm is carried to its end by whoever finds the event ([`Workshop::found_out`]), and one that
//! has no event was not begun. One change at a time.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use herm_replay::log::{Append, Error, Expect, Log};
use herm_replay::reducer::barrier::barrier;
use herm_schema::events::{Author, SkillFile, SkillLoaded, SkillWritten};
use herm_schema::{BlobRef, CallRef, Event, IdempotencyKey, NewEvent, SessionId, StreamId, StreamPos};

use super::plan::{self, Plan, Planned};
use super::{Library, Skill, linked};
use crate::memory::replace;
use crate::runtime::{Clock, Redact};

/// Writes skills, and knows them.
pub struct Workshop {
    pub library: Library,
    pub log: Arc<dyn Log>,
    pub profile: StreamId,
    pub clock: Arc<dyn Clock>,
    pub redact: Redact,
    /// Held while something is changed.
    pub busy: Mutex<()>,
}

/// What the model asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub name: String,
    pub change: Change,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Create {
        category: Option<String>,
        content: String,
    },
    /// All of `SKILL.md`.
    Edit {
        content: String,
    },
    /// A part of a file, of `SKILL.md` unless named.
    Patch {
        file: Option<String>,
        old: String,
        new: String,
        all: bool,
    },
    Delete,
    WriteFile {
        file: String,
        content: String,
    },
    RemoveFile {
        file: String,
    },
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub at: StreamPos,
    pub event: SkillWritten,
    pub folder: PathBuf,
}

/// Why nothing was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

impl Workshop {
    /// Makes a change that the model asks for.
    ///
    /// # Errors
    /// Why nothing was changed.
    pub fn change(&self, edit: Edit, session: SessionId, call: CallRef) -> Result<Written, Refused> {
        let _busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = plan::plan(self, &edit).map_err(Refused)?;
        let key = IdempotencyKey::of(&["skill", &session.to_string(), &call.to_string()]);
        let author = Author::Model { session, call };
        self.carry_out(plan, author, None, Some(key)).map_err(Refused)
    }

    /// Records a plan and makes the files what it says.
    pub(super) fn carry_out(
        &self,
        plan: Plan,
        author: Author,
        undoes: Option<StreamPos>,
        key: Option<IdempotencyKey>,
    ) -> Result<Written, String> {
        let Plan { name, category, action, folder, files } = plan;
        let kept = |bytes: Option<Vec<u8>>| -> Result<Option<BlobRef>, Error> {
            bytes.map(|bytes| self.log.put_blob(&bytes)).transpose()
        };
        let file = |planned: Planned| -> Result<SkillFile, Error> {
            Ok(SkillFile { path: planned.path, before: kept(planned.before)?, after: kept(planned.after)? })
        };
        let files: Result<Vec<SkillFile>, Error> = files.into_iter().map(file).collect();
        let files = files.map_err(|error| format!("it cannot be kept: {error}"))?;
        let event = SkillWritten { name, category, action, files, author, undoes };
        let at = self
            .record(event.clone().into(), key)
            .map_err(|error| format!("it cannot be recorded: {error}"))?;
        self.apply(&event, &folder)?;
        Ok(Written { at, event, folder })
    }

    /// What became of a call that was begun before a restart, carried to its end; `None` if it was not begun.
    pub fn found_out(&self, session: SessionId, call: CallRef) -> Option<Result<Written, Refused>> {
        let _busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = Author::Model { session, call };
        let mut events = self.log.read_stream(self.profile, StreamPos(0)).filter_map(Result::ok);
        events.find_map(|recorded| match recorded.event {
            Event::SkillWritten(event) if event.author == wanted => {
                let folder = self.folder(&event);
                let applied = self.apply(&event, &folder).map_err(Refused);
                Some(applied.map(|()| Written { at: recorded.envelope.stream_pos, event, folder }))
            }
            _ => None,
        })
    }

    /// Where a skill lies that an event names.
    pub(super) fn folder(&self, event: &SkillWritten) -> PathBuf {
        let category = event.category.as_ref().map(|category| self.library.own.join(category));
        category.unwrap_or_else(|| self.library.own.clone()).join(&event.name)
    }

    /// Makes each file what the event says, unless it is that already.
    fn apply(&self, event: &SkillWritten, folder: &Path) -> Result<(), String> {
        for file in &event.files {
            let path = folder.join(&file.path);
            let now = linked::bytes(&path).ok().map(|bytes| BlobRef::of(&bytes));
            if now == file.after {
                continue;
            }
            let done = match file.after {
                None => std::fs::remove_file(&path).map_err(|error| error.to_string()),
                Some(blob) => {
                    let bytes = self.log.blob(blob).map_err(|error| error.to_string())?;
                    replace(&path, &bytes).map_err(|error| error.to_string())
                }
            };
            done.map_err(|why| format!("`{}` of `{}` cannot be written: {why}", file.path, event.name))?;
        }
        if event.files.iter().any(|file| file.after.is_none()) {
            self.tidy(folder);
        }
        Ok(())
    }

    /// Folders that hold nothing any more go, up to that of all skills.
    fn tidy(&self, folder: &Path) {
        for name in super::names::FOLDERS {
            drop(std::fs::remove_dir(folder.join(name)));
        }
        let above = folder
            .ancestors()
            .take_while(|path| path.starts_with(&self.library.own) && *path != self.library.own);
        for path in above {
            if std::fs::remove_dir(path).is_err() {
                return;
            }
        }
    }

    /// The model has read a skill, or a person has put it before the model.
    pub fn note_loaded(&self, skill: &Skill, file: Option<&str>, session: SessionId, call: Option<CallRef>) {
        let (name, file) = (skill.name.clone(), file.map(str::to_owned));
        let what = file.clone().unwrap_or_default();
        let key = call.map(|call| {
            IdempotencyKey::of(&["skill loaded", &session.to_string(), &call.to_string(), &name, &what])
        });
        let event = SkillLoaded { name, file, session, call };
        // Only counted; whoever reads it reads it all the same.
        if let Err(error) = self.record(event.into(), key) {
            tracing::warn!(%error, "that a skill was read could not be recorded");
        }
    }

    fn record(&self, event: Event, key: Option<IdempotencyKey>) -> Result<StreamPos, Error> {
        let (cause, turn) = self.origin(&event);
        let append = Append {
            stream: self.profile,
            expect: Expect::Any,
            key,
            at: self.clock.now(),
            durability: barrier(&event).durability(),
            events: vec![NewEvent { event, cause, turn }],
        };
        let committed = self.log.append(append)?;
        Ok(committed.events.first().map(|first| first.envelope.stream_pos).unwrap_or_default())
    }

    /// The answer of the model that asked for it, and its turn.
    fn origin(&self, event: &Event) -> (Option<herm_schema::Position>, Option<herm_schema::TurnId>) {
        let call = match event {
            Event::SkillWritten(SkillWritten { author: Author::Model { session, call }, .. }) => {
                Some((session, call))
            }
            Event::SkillLoaded(SkillLoaded { session, call: Some(call), .. }) => Some((session, call)),
            _ => None,
        };
        let asked =
            call.and_then(|(session, call)| self.log.read_stream(session.stream(), call.message).next());
        let envelope = asked.and_then(Result::ok).map(|recorded| recorded.envelope);
        (envelope.as_ref().map(|envelope| envelope.position), envelope.and_then(|envelope| envelope.turn))
    }
}
