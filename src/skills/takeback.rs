//! Who wrote and who read which skill, and taking a write back: what each file was is put in the place of what it became.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use herm_replay::log::{Error, Log};
use herm_schema::events::{Answerer, Author, SkillAction, SkillWritten};
use herm_schema::{BlobRef, Event, Micros, StreamId, StreamPos, TurnId};

use super::plan::{Plan, Planned};
use super::{Workshop, linked, name, named};

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    pub at: StreamPos,
    pub time: Micros,
    pub turn: Option<TurnId>,
    pub written: SkillWritten,
    pub undone: bool,
}

/// What was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    pub write: StreamPos,
    pub by: StreamPos,
    pub written: SkillWritten,
}

/// Every write of a profile, the oldest first.
///
/// # Errors
/// Those of the log.
pub fn writes(log: &dyn Log, profile: StreamId) -> Result<Vec<Write>, Error> {
    let mut writes: Vec<Write> = Vec::new();
    for recorded in log.read_stream(profile, StreamPos(0)) {
        let recorded = recorded?;
        let envelope = recorded.envelope;
        if let Event::SkillWritten(written) = recorded.event {
            let undone = written.undoes.and_then(|at| writes.iter_mut().find(|write| write.at == at));
            undone.into_iter().for_each(|write| write.undone = true);
            let (at, time, turn) = (envelope.stream_pos, envelope.recorded_at, envelope.turn);
            writes.push(Write { at, time, turn, written, undone: false });
        }
    }
    Ok(writes)
}

/// How often each skill was read, and when last.
///
/// # Errors
/// Those of the log.
pub fn loads(log: &dyn Log, profile: StreamId) -> Result<BTreeMap<String, (u64, Micros)>, Error> {
    let mut loads: BTreeMap<String, (u64, Micros)> = BTreeMap::new();
    for recorded in log.read_stream(profile, StreamPos(0)) {
        let recorded = recorded?;
        if let Event::SkillLoaded(loaded) = recorded.event {
            let (count, last) = loads.entry(loaded.name).or_default();
            (*count, *last) = (count.saturating_add(1), recorded.envelope.recorded_at);
        }
    }
    Ok(loads)
}

impl Undone {
    /// For a person, on one line.
    pub fn in_words(&self) -> String {
        let SkillWritten { name: skill, action, .. } = &self.written;
        format!(
            "taken back: {} ({action:?} of `{skill}`); `undo {}` brings it back",
            name(self.write),
            name(self.by)
        )
    }

    pub fn as_json(&self) -> serde_json::Value {
        serde_json::json!({ "write": name(self.write), "by": name(self.by), "said": self.in_words() })
    }
}

impl Workshop {
    /// Takes a write back: the one that is named, or the last.
    ///
    /// # Errors
    /// In words: why not.
    pub fn undo(&self, text: &str, by: Option<Answerer>) -> Result<Undone, String> {
        let _busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let read = |error: Error| format!("the log cannot be read: {error}");
        let all = writes(&*self.log, self.profile).map_err(read)?;
        let write = match text.trim() {
            "" => all.iter().rev().find(|write| !write.undone && write.written.undoes.is_none()),
            text => {
                let at = named(text).ok_or_else(|| format!("`{text}` names no write; it is like `s12`"))?;
                all.iter().find(|write| write.at == at)
            }
        };
        let write = write.ok_or_else(|| "there is no such write".to_owned())?;
        if write.undone {
            return Err("it was taken back already".to_owned());
        }
        let written = &write.written;
        let folder = self.folder(written);
        let mut files = Vec::new();
        for file in &written.files {
            let now = linked::bytes(&folder.join(&file.path)).ok();
            if now.as_deref().map(BlobRef::of) != file.after {
                return Err(format!("`{}` of `{}` was changed since", file.path, written.name));
            }
            let before = file.before.map(|blob| self.log.blob(blob)).transpose().map_err(read)?;
            files.push(Planned { path: file.path.clone(), before: now, after: before });
        }
        let (name, category) = (written.name.clone(), written.category.clone());
        let plan = Plan { name, category, action: SkillAction::Undo, folder, files };
        let done = self.carry_out(plan, Author::Person { by }, Some(write.at), None)?;
        Ok(Undone { write: write.at, by: done.at, written: written.clone() })
    }
}
