//! The search index: every message, by its words. The texts themselves stay in the log.
//!
//! tantivy keeps it in `search/v<N>`. How far it has come rides in the payload of its commits, so a
//! process that is killed leaves documents and checkpoint that agree to the event. The writer, which
//! holds memory and threads, is opened when there is something to index and let go when there has
//! not been for a while; readers do not need it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use herm_schema::{Position, Recorded};
use serde::{Deserialize, Serialize};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, TantivyDocument, TantivyError};

use super::messages::{self, Role};
use super::snippet::{LOOKED_AT_CHARS, head};
use super::tokenizer::HermTokenizer;
use super::{Checkpoint, Error, Projection};
use crate::log::Log;

/// Documents that are collected before they are committed, at most. A commit is a segment of its own, which is
/// merged later: few and large ones cost least. What is not committed is found by reading the log.
const COMMIT_DOCS: usize = 1_000;
/// How long a document waits for its commit, at most.
const COMMIT_AFTER: Duration = Duration::from_secs(2);
/// How long the writer is kept without work.
const WRITER_IDLE: Duration = Duration::from_secs(30);
/// What the writer may collect in memory, in bytes; one thread.
const WRITER_BYTES: usize = 64 << 20;

const NAME: &str = "search";
/// Of the fields and the tokenizer.
const SCHEMA: u32 = 1;
const TOKENIZER: &str = "herm";

/// The fields of a document.
#[derive(Clone, Copy)]
pub(crate) struct Fields {
    /// Position in the log; the only thing stored.
    pub position: Field,
    pub stream: Field,
    pub at: Field,
    pub role: Field,
    pub body: Field,
}

/// What rides in a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Payload {
    schema: u32,
    checkpoint: Checkpoint,
}

/// The index as a projection.
pub struct SearchIndex {
    /// Holds the folders `v1`, `v2` …; `None` keeps no index, and every search reads the log.
    folder: Option<PathBuf>,
    current: Option<Opened>,
    building: Option<Opened>,
    /// Another process writes the index.
    busy: bool,
}

pub(crate) struct Opened {
    folder: PathBuf,
    pub index: Index,
    pub reader: IndexReader,
    pub fields: Fields,
    writer: Option<IndexWriter>,
    /// What the last commit covers.
    committed: Option<Checkpoint>,
    /// What was handed to the writer since.
    pending: Option<Pending>,
    used: Instant,
}

struct Pending {
    fed: Checkpoint,
    docs: usize,
    since: Instant,
}

impl SearchIndex {
    /// An index below `folder`, which need not exist yet; nothing is opened.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, current: None, building: None, busy: false }
    }

    /// The same, for a process that must not write it.
    pub fn read_only(folder: Option<PathBuf>) -> Self {
        Self { busy: true, ..Self::new(folder) }
    }

    /// What can be searched, and the last event it covers; `None` without an index.
    ///
    /// # Errors
    /// `Store` if it is damaged.
    pub(crate) fn searchable(&mut self) -> Result<Option<(&Opened, Checkpoint)>, Error> {
        self.open_current()?;
        let Some(opened) = &self.current else {
            return Ok(None);
        };
        // What another process has committed since shows now.
        let covered = committed(&opened.index)?;
        opened.reader.reload().map_err(failed("reload"))?;
        Ok(covered.map(|covered| (opened, covered)))
    }

    /// Whether this process keeps the index up to date.
    pub(crate) fn writes(&self) -> bool {
        self.folder.is_some() && !self.busy
    }

    fn open_current(&mut self) -> Result<(), Error> {
        let Some(folder) = self.folder.as_deref().filter(|_| self.current.is_none()) else {
            return Ok(());
        };
        if let Some((_, newest)) = versions(folder)?.into_iter().max() {
            self.current = Some(Opened::open(newest)?);
        }
        Ok(())
    }
}

impl Projection for SearchIndex {
    fn name(&self) -> &'static str {
        NAME
    }

    fn schema(&self) -> u32 {
        SCHEMA
    }

    fn checkpoint(&mut self) -> Result<Option<Checkpoint>, Error> {
        self.open_current()?;
        Ok(self.current.as_ref().and_then(Opened::standing))
    }

    fn apply(&mut self, batch: &[Recorded], log: &dyn Log) -> Result<(), Error> {
        let building = self.building.is_some();
        let Some(opened) = self.building.as_mut().or(self.current.as_mut()).filter(|_| !self.busy) else {
            return Ok(());
        };
        let applied = opened.apply(batch, log, !building);
        if let Err(Error::Busy { .. }) = &applied {
            self.busy = true;
        }
        applied
    }

    fn begin(&mut self) -> Result<(), Error> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let newest = versions(folder)?.into_iter().map(|(number, _)| number).max().unwrap_or(0);
        // The name counts only once it is finished, so that a half-built index is never taken for one.
        let building = folder.join(format!("building-{}", newest.saturating_add(1)));
        remove(&building)?;
        std::fs::create_dir_all(&building).map_err(|error| Error::io("create", &building, error))?;
        self.building = Some(Opened::create(building)?);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        let (Some(folder), Some(mut built)) = (self.folder.clone(), self.building.take()) else {
            return Ok(());
        };
        built.commit()?;
        built.let_writer_go()?;
        let from = built.folder.clone();
        drop(built);
        let old = versions(&folder)?;
        let number = old.iter().map(|(number, _)| *number).max().unwrap_or(0).saturating_add(1);
        let to = folder.join(format!("v{number}"));
        self.current = None;
        std::fs::rename(&from, &to).map_err(|error| Error::io("rename", &from, error))?;
        old.iter().try_for_each(|(_, old)| remove(old))?;
        self.current = Some(Opened::open(to)?);
        Ok(())
    }

    fn discard(&mut self) -> Result<(), Error> {
        self.current = None;
        self.building = None;
        self.folder.as_deref().map_or(Ok(()), super::store::set_aside)
    }

    fn write(&mut self) -> Result<(), Error> {
        self.current.as_mut().map_or(Ok(()), Opened::commit)
    }

    fn idle(&mut self) -> Result<(), Error> {
        let Some(opened) = self.current.as_mut() else {
            return Ok(());
        };
        // Events that say nothing are not worth a commit of their own.
        match opened.pending.as_ref().filter(|pending| pending.docs > 0) {
            Some(pending) if pending.since.elapsed() >= COMMIT_AFTER => opened.commit(),
            None if opened.writer.is_some() && opened.used.elapsed() >= WRITER_IDLE => opened.let_writer_go(),
            _ => Ok(()),
        }
    }
}

impl Opened {
    fn create(folder: PathBuf) -> Result<Self, Error> {
        let (schema, _) = schema();
        let index = Index::create_in_dir(&folder, schema).map_err(failed("create"))?;
        Self::of(folder, index)
    }

    fn open(folder: PathBuf) -> Result<Self, Error> {
        let index = Index::open_in_dir(&folder).map_err(failed("open"))?;
        Self::of(folder, index)
    }

    fn of(folder: PathBuf, index: Index) -> Result<Self, Error> {
        let (schema, fields) = schema();
        if index.schema() != schema {
            return Err(Error::store(NAME, "open", "other fields than this herm knows"));
        }
        index.tokenizers().register(TOKENIZER, HermTokenizer::default());
        let reader =
            index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().map_err(failed("open"))?;
        let committed = committed(&index)?;
        Ok(Self {
            folder,
            index,
            reader,
            fields,
            writer: None,
            committed,
            pending: None,
            used: Instant::now(),
        })
    }

    /// The last event that was handed over, committed or not.
    fn standing(&self) -> Option<Checkpoint> {
        self.pending.as_ref().map(|pending| pending.fed).or(self.committed)
    }

    fn apply(&mut self, batch: &[Recorded], log: &dyn Log, in_time: bool) -> Result<(), Error> {
        for recorded in batch {
            let added = self.add(recorded, log)?;
            let pending = self.pending.get_or_insert_with(|| Pending {
                fed: Checkpoint::default(),
                docs: 0,
                since: Instant::now(),
            });
            pending.fed = Checkpoint::at(recorded);
            if added && pending.docs == 0 {
                pending.since = Instant::now();
            }
            pending.docs += usize::from(added);
            if in_time && pending.docs >= COMMIT_DOCS {
                self.commit()?;
            }
        }
        Ok(())
    }

    /// Hands over the document of an event, if it says something; whether it did.
    fn add(&mut self, recorded: &Recorded, log: &dyn Log) -> Result<bool, Error> {
        let Some((role, text)) = messages::said(&recorded.event) else {
            return Ok(false);
        };
        // A text whose blob is lost cannot be found; everything else still can.
        let text = messages::text_of(log, &text).unwrap_or_default();
        if text.trim().is_empty() {
            return Ok(false);
        }
        let fields = self.fields;
        let mut document = TantivyDocument::new();
        document.add_u64(fields.position, recorded.envelope.position.0);
        document.add_text(fields.stream, recorded.envelope.stream.to_string());
        document.add_i64(fields.at, recorded.envelope.recorded_at.0);
        document.add_text(fields.role, role.word());
        document.add_text(fields.body, head(&text, LOOKED_AT_CHARS));
        self.writer()?.add_document(document).map_err(failed("add a message"))?;
        Ok(true)
    }

    fn writer(&mut self) -> Result<&mut IndexWriter, Error> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => {
                let opened = self.index.writer_with_num_threads(1, WRITER_BYTES);
                let writer: IndexWriter = opened.map_err(|error| match error {
                    TantivyError::LockFailure(..) => Error::Busy { path: self.folder.clone() },
                    other => failed("open for writing")(other),
                })?;
                // Files of a process that was killed before it committed.
                writer.garbage_collect_files().wait().map_err(failed("collect garbage"))?;
                writer
            }
        };
        self.used = Instant::now();
        Ok(self.writer.insert(writer))
    }

    /// Makes what was handed over visible and lasting, together with how far it goes.
    fn commit(&mut self) -> Result<(), Error> {
        let Some(fed) = self.pending.as_ref().map(|pending| pending.fed) else {
            return Ok(());
        };
        let payload = serde_json::to_string(&Payload { schema: SCHEMA, checkpoint: fed })
            .map_err(|error| Error::store(NAME, "write a checkpoint", error))?;
        let mut prepared = self.writer()?.prepare_commit().map_err(failed("prepare a commit"))?;
        prepared.set_payload(&payload);
        prepared.commit().map_err(failed("commit"))?;
        self.committed = Some(fed);
        self.pending = None;
        self.reader.reload().map_err(failed("reload"))
    }

    fn let_writer_go(&mut self) -> Result<(), Error> {
        match self.writer.take() {
            Some(writer) => writer.wait_merging_threads().map_err(failed("finish merging")),
            None => Ok(()),
        }
    }
}

fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let fields = Fields {
        position: builder.add_u64_field("position", FAST | INDEXED | STORED),
        stream: builder.add_text_field("stream", STRING),
        at: builder.add_i64_field("at", FAST | INDEXED),
        role: builder.add_text_field("role", STRING),
        body: builder.add_text_field("body", TextOptions::default().set_indexing_options(indexing)),
    };
    (builder.build(), fields)
}

/// What the last commit covers; `None` for an index of another schema, or without a commit of ours.
fn committed(index: &Index) -> Result<Option<Checkpoint>, Error> {
    let metas = index.load_metas().map_err(failed("read the checkpoint"))?;
    let Some(text) = metas.payload else {
        return Ok(None);
    };
    let payload: Payload =
        serde_json::from_str(&text).map_err(|error| Error::store(NAME, "read the checkpoint", error))?;
    Ok(Some(payload).filter(|payload| payload.schema == SCHEMA).map(|payload| payload.checkpoint))
}

/// The finished indexes in `folder`, by number.
fn versions(folder: &Path) -> Result<Vec<(u32, PathBuf)>, Error> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", folder, error)),
    };
    let numbered = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        let number = path.file_name()?.to_str()?.strip_prefix('v')?.parse().ok()?;
        Some((number, path))
    });
    Ok(numbered.collect())
}

fn remove(folder: &Path) -> Result<(), Error> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", folder, error)),
        _ => Ok(()),
    }
}

pub(crate) fn failed(operation: &'static str) -> impl Fn(TantivyError) -> Error {
    move |error| Error::store(NAME, operation, error)
}

/// How many documents an index folder holds, and the position that its last commit covers; for
/// checking one against the other.
///
/// # Errors
/// `Store` if there is no readable index.
pub fn documents(folder: &Path) -> Result<Option<(u64, Position)>, Error> {
    let mut index = SearchIndex::read_only(Some(folder.to_owned()));
    let found = index.searchable()?;
    Ok(found.map(|(opened, covered)| (opened.reader.searcher().num_docs(), covered.position)))
}

/// Whether `role` is among `wanted`; none wanted means all.
pub(crate) fn is_wanted(role: Role, wanted: &[Role]) -> bool {
    wanted.is_empty() || wanted.contains(&role)
}
