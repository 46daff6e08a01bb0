//! All projections of one log, and what they answer.

use std::path::Path;
use std::sync::Arc;

use herm_schema::events::ChatRef;
use herm_schema::{Micros, SessionId, StreamPos};

use super::find::{self, Asked, Hit};
use super::keyed::Keyed;
use super::open_work::{self, OpenWork, OpenWorks};
use super::outbox::{self, Delivery, Outbox};
use super::query::Query;
use super::runner::{Followed, Runner, Status};
use super::search::SearchIndex;
use super::sessions::{self, SessionList, SessionRow, Snapshots};
use super::store::Shelf;
use super::usage::{self, CredentialUsage, ToolUsage, Usage, UsageKey, Usages};
use super::{Error, Follower, Projection, session_search};
use crate::log::Log;
use crate::reducer::SessionState;

/// Folder of the small projections' database, below the index folder.
const SMALL: &str = "projections";
/// Folder of the search index, below the index folder.
const SEARCH: &str = "search";

/// The projections of one log.
pub struct Views {
    log: Arc<dyn Log>,
    shelf: Arc<Shelf>,
    pub(super) sessions: Runner<Keyed<SessionList>>,
    pub(super) snapshots: Runner<Keyed<Snapshots>>,
    pub(super) open_work: Runner<Keyed<OpenWorks>>,
    pub(super) outbox: Runner<Keyed<Outbox>>,
    pub(super) usage: Runner<Keyed<Usages>>,
    pub(super) search: Runner<SearchIndex>,
}

impl Views {
    /// For the process that owns the home: kept below `index`. Nothing is opened yet.
    pub fn open(log: Arc<dyn Log>, index: &Path) -> Self {
        Self::with(log, Shelf::at(index.join(SMALL)), SearchIndex::new(Some(index.join(SEARCH))))
    }

    /// For a process that must not write: folded in memory when asked. A search index below `index`
    /// that another process keeps is read; without one the log is.
    pub fn read_only(log: Arc<dyn Log>, index: Option<&Path>) -> Self {
        let search = SearchIndex::read_only(index.map(|index| index.join(SEARCH)));
        Self::with(log, Shelf::in_memory(), search)
    }

    fn with(log: Arc<dyn Log>, shelf: Shelf, search: SearchIndex) -> Self {
        let shelf = Arc::new(shelf);
        Self {
            sessions: Runner::new(log.clone(), Keyed::new(SessionList, shelf.clone())),
            snapshots: Runner::new(log.clone(), Keyed::new(Snapshots, shelf.clone())),
            open_work: Runner::new(log.clone(), Keyed::new(OpenWorks, shelf.clone())),
            outbox: Runner::new(log.clone(), Keyed::new(Outbox, shelf.clone())),
            usage: Runner::new(log.clone(), Keyed::new(Usages, shelf.clone())),
            search: Runner::new(log.clone(), search),
            log,
            shelf,
        }
    }

    pub fn log(&self) -> &Arc<dyn Log> {
        &self.log
    }

    /// The row of projections; a new one gets its line here.
    pub fn all(&self) -> [&dyn Followed; 6] {
        [&self.sessions, &self.snapshots, &self.open_work, &self.outbox, &self.usage, &self.search]
    }

    /// How each is doing.
    pub fn status(&self) -> Vec<Status> {
        self.all().iter().map(|projection| projection.status()).collect()
    }

    /// Builds one anew, or all of them.
    ///
    /// # Errors
    /// `Unknown` for a name that none has; otherwise the first that failed, after all were tried.
    pub fn rebuild(&self, name: Option<&str>) -> Result<(), Error> {
        let all = self.all();
        let chosen: Vec<_> = all.iter().filter(|one| name.is_none_or(|name| one.name() == name)).collect();
        if let (true, Some(name)) = (chosen.is_empty(), name) {
            let known: Vec<_> = all.iter().map(|one| format!("`{}`", one.name())).collect();
            return Err(Error::Unknown { name: name.to_owned(), known: known.join(", ") });
        }
        let results: Vec<_> = chosen.into_iter().map(|projection| projection.rebuild()).collect();
        results.into_iter().collect()
    }

    /// Brings the small ones to the end of the log; for a process that is about to end.
    ///
    /// # Errors
    /// The first that failed, after all were tried.
    pub fn catch_up(&self) -> Result<(), Error> {
        let small: [&dyn Followed; 5] =
            [&self.sessions, &self.snapshots, &self.open_work, &self.outbox, &self.usage];
        let results: Vec<_> =
            small.into_iter().map(|one| one.catch_up().and_then(|()| one.write())).collect();
        self.shelf.flush();
        results.into_iter().collect()
    }

    /// Keeps all of them close to the end of the log, until the follower is dropped.
    ///
    /// # Errors
    /// When no thread can be made.
    pub fn follow(self: &Arc<Self>) -> std::io::Result<Follower> {
        Follower::start(self)
    }

    /// Every session, the last active one first.
    ///
    /// # Errors
    /// `Parked`, or those of the store.
    pub fn sessions(&self) -> Result<Vec<SessionRow>, Error> {
        self.sessions.read(|keyed| keyed.read(sessions::list))
    }

    /// One session; `None` if it is not in the log.
    ///
    /// # Errors
    /// `Parked`, or those of the store.
    pub fn session(&self, id: SessionId) -> Result<Option<SessionRow>, Error> {
        self.sessions.read(|keyed| keyed.read(|rows| sessions::get(rows, id)))
    }

    /// The state of a session now: its newest snapshot and what follows. Whatever is wrong with the
    /// snapshot, the log has the say.
    ///
    /// # Errors
    /// `NoSession` if it is not in the log, those of the log otherwise.
    pub fn load_state(&self, id: SessionId) -> Result<SessionState, Error> {
        self.state_at(id, StreamPos(u64::MAX))
    }

    /// The state of a session after its event `until`.
    ///
    /// # Errors
    /// Like [`Views::load_state`].
    pub fn state_at(&self, id: SessionId, until: StreamPos) -> Result<SessionState, Error> {
        if self.log.head(id.stream())?.is_none() {
            return Err(Error::NoSession { session: id.to_string() });
        }
        // An old snapshot is as good as a new one, so nothing is caught up with here.
        let snapshot = self.snapshots.with(|keyed| {
            keyed.checkpoint()?;
            keyed.read(|rows| sessions::snapshot(rows, id))
        });
        let snapshot = snapshot.unwrap_or_else(|error| {
            tracing::warn!(%error, "snapshot unusable; folding the whole session");
            None
        });
        sessions::state_at(self.log.as_ref(), id.stream(), snapshot, until)
    }

    /// The newest snapshot of a session, if it has one.
    ///
    /// # Errors
    /// Those of the store.
    pub fn snapshot(&self, id: SessionId) -> Result<Option<sessions::Snapshot>, Error> {
        self.snapshots.read(|keyed| keyed.read(|rows| sessions::snapshot(rows, id)))
    }

    /// Sessions that are not done, and what is left to do.
    ///
    /// # Errors
    /// `Parked`, or those of the store.
    pub fn open_work(&self) -> Result<Vec<(SessionId, OpenWork)>, Error> {
        self.open_work.read(|keyed| keyed.read(open_work::list))
    }

    /// Every delivery, target by target, oldest first.
    ///
    /// # Errors
    /// `Parked`, or those of the store.
    pub fn outbox(&self) -> Result<Vec<Delivery>, Error> {
        self.outbox.read(|keyed| keyed.read(outbox::all))
    }

    /// Deliveries to one target, oldest first.
    ///
    /// # Errors
    /// `Parked`, or those of the store.
    pub fn outbox_to(&self, target: &ChatRef) -> Result<Vec<Delivery>, Error> {
        self.outbox.read(|keyed| keyed.read(|rows| outbox::to(rows, target)))
    }

    /// Counts from the day of `since` on.
    ///
    /// # Errors
    /// `Parked`, or those of the store.
    pub fn usage_since(&self, since: Micros) -> Result<Vec<(UsageKey, Usage)>, Error> {
        self.usage.read(|keyed| keyed.read(|rows| usage::since(rows, since)))
    }

    /// Tools from the day of `since` on, by day and name.
    ///
    /// # Errors
    /// `Parked`, or those of the store.
    pub fn tools_since(&self, since: Micros) -> Result<Vec<(i64, String, ToolUsage)>, Error> {
        self.usage.read(|keyed| keyed.read(|rows| usage::tools_since(rows, since)))
    }

    /// Every key that was ever used: provider, fingerprint, counts.
    ///
    /// # Errors
    /// `Parked`, or those of the store.
    pub fn credentials(&self) -> Result<Vec<(String, String, CredentialUsage)>, Error> {
        self.usage.read(|keyed| keyed.read(usage::credentials))
    }

    /// Messages that fit, best first.
    ///
    /// # Errors
    /// Those of the log.
    pub fn find(&self, asked: &Asked<'_>) -> Result<Vec<Hit>, Error> {
        find::find(&self.search, self.log.as_ref(), asked)
    }

    /// The part of a message that fits a query best, with `>>>` and `<<<` around what was found.
    ///
    /// # Errors
    /// Those of the log.
    pub fn snippet(&self, hit: &Hit, query: &Query) -> Result<String, Error> {
        find::shown(self.log.as_ref(), hit, query)
    }

    /// The `session_search` tool: JSON arguments to a JSON result. `current` is the session that asks.
    pub fn session_search(&self, arguments: &str, current: Option<SessionId>) -> String {
        session_search::answer(self, arguments, current, &|_| true)
    }

    /// The same for somebody who may not know of every session.
    pub fn session_search_among(
        &self,
        arguments: &str,
        current: Option<SessionId>,
        visible: &dyn Fn(&SessionRow) -> bool,
    ) -> String {
        session_search::answer(self, arguments, current, visible)
    }
}
