//! Finds messages: what the index knows, and what the log holds beyond it.
//!
//! The last few events are not in the index yet. They are read and compared word by word, by the
//! same rules, so that a message is found as soon as it is said.

use std::panic::{AssertUnwindSafe, catch_unwind};

use herm_schema::{Micros, Position, Recorded, SessionId, StreamPos};
use serde::Serialize;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, BoostQuery, Occur, PhraseQuery, Query as IndexQuery, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, Order as FieldOrder, Searcher, Term};

use super::messages::{self, Role};
use super::query::{Atom, Query, Wanted};
use super::runner::{Followed, Runner};
use super::search::{Fields, Opened, SearchIndex, failed, is_wanted};
use super::snippet::{LOOKED_AT_CHARS, head, snippet};
use super::store::panic_text;
use super::tokenizer::Words;
use super::{Checkpoint, Error, Projection};
use crate::log::Log;

/// Events that are read word by word, at most, before the index is brought up to date instead.
const UNINDEXED_EVENTS_MAX: u64 = 512;
/// How much more a whole identifier counts than its parts.
const WHOLE_BOOST: f32 = 2.0;

/// Which of the messages that fit come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Relevance,
    Newest,
    Oldest,
}

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    pub query: &'a Query,
    /// Said by one of these; empty for anybody.
    pub roles: &'a [Role],
    pub order: Order,
    /// Messages that are answered, at most.
    pub hits_max: usize,
}

/// A message that fits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    pub position: Position,
    pub session: SessionId,
    /// What names the message in its session.
    pub message: StreamPos,
    pub at: Micros,
    pub role: Role,
}

/// Messages that fit, best first.
///
/// # Errors
/// Those of the log. A damaged index is built anew; one that cannot be is done without.
pub fn find(runner: &Runner<SearchIndex>, log: &dyn Log, asked: &Asked<'_>) -> Result<Vec<Hit>, Error> {
    if asked.query.is_empty() || asked.hits_max == 0 {
        return Ok(Vec::new());
    }
    let mut words = Words::default();
    for wanted in [Wanted::All, Wanted::Any] {
        let positions = positions(runner, log, asked, wanted, &mut words)?;
        if !positions.is_empty() || asked.query.atoms.len() == 1 {
            return positions.into_iter().map(|at| hit(log, at)).collect();
        }
    }
    Ok(Vec::new())
}

fn positions(
    runner: &Runner<SearchIndex>,
    log: &dyn Log,
    asked: &Asked<'_>,
    wanted: Wanted,
    words: &mut Words,
) -> Result<Vec<Position>, Error> {
    let (indexed, covered) = match in_index(runner, log, asked, wanted) {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(%error, "search index unusable; building it anew");
            let rebuilt = runner.rebuild().and_then(|()| in_index(runner, log, asked, wanted));
            rebuilt.unwrap_or_default()
        }
    };
    let mut beyond = unindexed(log, covered, asked, wanted, words)?;
    let merged = match asked.order {
        Order::Oldest => [indexed, beyond].concat(),
        Order::Newest | Order::Relevance => {
            beyond.reverse();
            [beyond, indexed].concat()
        }
    };
    Ok(merged.into_iter().take(asked.hits_max).collect())
}

/// What the index answers, and the last event it covers.
fn in_index(
    runner: &Runner<SearchIndex>,
    log: &dyn Log,
    asked: &Asked<'_>,
    wanted: Wanted,
) -> Result<(Vec<Position>, Position), Error> {
    if runner.with(|index| index.writes()) {
        let covered =
            guarded(runner, |index| Ok(index.searchable()?.map_or(Position(0), |(_, at)| at.position)))?;
        if log.tail().last.0.saturating_sub(covered.0) > UNINDEXED_EVENTS_MAX {
            runner.catch_up()?;
            guarded(runner, Projection::write)?;
        }
    }
    guarded(runner, |index| {
        let Some((opened, covered)) = index.searchable()? else {
            return Ok((Vec::new(), Position(0)));
        };
        if !vouched(log, covered) {
            return Err(Error::store("search", "compare with the log", "the index is of another log"));
        }
        Ok((ask(opened, asked, wanted)?, covered.position))
    })
}

/// Whether the event that the index stands at is in this log.
fn vouched(log: &dyn Log, covered: Checkpoint) -> bool {
    let standing_at = log.read_all(covered.position).next();
    covered.position == Position(0)
        || standing_at.is_some_and(|event| event.is_ok_and(|event| Checkpoint::at(&event) == covered))
}

/// Damaged files can make tantivy panic; that is an error here.
fn guarded<T>(
    runner: &Runner<SearchIndex>,
    call: impl FnOnce(&mut SearchIndex) -> Result<T, Error>,
) -> Result<T, Error> {
    runner.with(|index| match catch_unwind(AssertUnwindSafe(|| call(index))) {
        Ok(result) => result,
        Err(panic) => Err(Error::store("search", "read", panic_text(&*panic))),
    })
}

fn ask(opened: &Opened, asked: &Asked<'_>, wanted: Wanted) -> Result<Vec<Position>, Error> {
    let searcher = opened.reader.searcher();
    let query = index_query(opened.fields, asked, wanted);
    let top = TopDocs::with_limit(asked.hits_max);
    let found: Vec<DocAddress> = match asked.order {
        Order::Relevance => {
            let found = searcher.search(&query, &top.order_by_score()).map_err(failed("search"))?;
            found.into_iter().map(|(_, address)| address).collect()
        }
        Order::Newest | Order::Oldest => {
            let order = if asked.order == Order::Newest { FieldOrder::Desc } else { FieldOrder::Asc };
            let by_position = top.order_by_fast_field::<u64>("position", order);
            let found = searcher.search(&query, &by_position).map_err(failed("search"))?;
            found.into_iter().map(|(_, address)| address).collect()
        }
    };
    found.into_iter().map(|address| position_of(&searcher, address)).collect()
}

fn position_of(searcher: &Searcher, address: DocAddress) -> Result<Position, Error> {
    let reader = searcher.segment_reader(address.segment_ord);
    let column = reader.fast_fields().u64("position").map_err(failed("read a position"))?;
    let position = column.first(address.doc_id);
    position.map(Position).ok_or_else(|| Error::store("search", "read a position", "none"))
}

fn index_query(fields: Fields, asked: &Asked<'_>, wanted: Wanted) -> BooleanQuery {
    let occur = match wanted {
        Wanted::All => Occur::Must,
        Wanted::Any => Occur::Should,
    };
    let atoms = asked.query.atoms.iter().map(|atom| (occur, atom_query(fields, atom))).collect();
    let text: Box<dyn IndexQuery> = Box::new(BooleanQuery::new(atoms));
    let mut parts = vec![(Occur::Must, text)];
    if !asked.roles.is_empty() {
        let roles = asked.roles.iter().map(|role| Term::from_field_text(fields.role, role.word()));
        parts.push((Occur::Must, Box::new(BooleanQuery::new_multiterms_query(roles.collect()))));
    }
    BooleanQuery::new(parts)
}

fn atom_query(fields: Fields, atom: &Atom) -> Box<dyn IndexQuery> {
    let term = |text: &str| Term::from_field_text(fields.body, text);
    let single = |text: &str| -> Box<dyn IndexQuery> {
        Box::new(TermQuery::new(term(text), IndexRecordOption::WithFreqs))
    };
    let steps: Box<dyn IndexQuery> = match atom.steps.as_slice() {
        [(_, only)] => single(only),
        steps => Box::new(PhraseQuery::new_with_offset(
            steps.iter().map(|(step, text)| (*step, term(text))).collect(),
        )),
    };
    match &atom.whole {
        None => steps,
        Some(whole) => {
            let whole: Box<dyn IndexQuery> = Box::new(BoostQuery::new(single(whole), WHOLE_BOOST));
            Box::new(BooleanQuery::new(vec![(Occur::Should, whole), (Occur::Should, steps)]))
        }
    }
}

/// Messages after `covered` that fit, oldest first.
fn unindexed(
    log: &dyn Log,
    covered: Position,
    asked: &Asked<'_>,
    wanted: Wanted,
    words: &mut Words,
) -> Result<Vec<Position>, Error> {
    if log.tail().last <= covered {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for recorded in log.read_all(covered.next()) {
        let recorded = recorded?;
        let Some((role, text)) = messages::said(&recorded.event) else {
            continue;
        };
        if !is_wanted(role, asked.roles) {
            continue;
        }
        let text = messages::text_of(log, &text).unwrap_or_default();
        let fitting = asked.query.found_in(&words.pieces(head(&text, LOOKED_AT_CHARS)));
        let needed = if wanted == Wanted::All { asked.query.atoms.len() } else { 1 };
        if fitting >= needed {
            found.push(recorded.envelope.position);
        }
    }
    Ok(found)
}

fn hit(log: &dyn Log, position: Position) -> Result<Hit, Error> {
    let recorded = message_at(log, position)?;
    let gone = || Error::store("search", "read a message", format!("position {position} holds none"));
    let (role, _) = messages::said(&recorded.event).ok_or_else(gone)?;
    let session = SessionId::of_stream(recorded.envelope.stream).ok_or_else(gone)?;
    let (message, at) = (recorded.envelope.stream_pos, recorded.envelope.recorded_at);
    Ok(Hit { position, session, message, at, role })
}

fn message_at(log: &dyn Log, position: Position) -> Result<Recorded, Error> {
    let gone = || Error::store("search", "read a message", format!("there is no position {position}"));
    Ok(log.read_all(position).next().ok_or_else(gone)??)
}

/// The part of a message in which most of the query stands, with `>>>` and `<<<` around the finds.
///
/// # Errors
/// Those of the log.
pub fn shown(log: &dyn Log, hit: &Hit, query: &Query) -> Result<String, Error> {
    let recorded = message_at(log, hit.position)?;
    let Some((_, text)) = messages::said(&recorded.event) else {
        return Ok(String::new());
    };
    // Found, but lost since: the hit stands, there is nothing to show of it.
    let text = messages::text_of(log, &text).unwrap_or_default();
    Ok(snippet(&mut Words::default(), &text, query))
}
