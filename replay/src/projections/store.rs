//! Where the small projections are kept: sorted keys and values, one sled tree each, all in one
//! database. Derived data: what is lost here is folded again.
//!
//! Every call into sled is guarded, because sled panics on damage. A database that another process
//! holds is not damage: that process is the owner of the home, and this one keeps its own in memory.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::Error;

/// What sled may keep in memory, in bytes. Small: the rows are small, and so is the home's allowance.
const CACHE_BYTES: u64 = 4 << 20;
/// How often sled writes down what it has, in milliseconds.
const FLUSH_EVERY_MS: u64 = 2_000;

/// Values to be put, or removed, by key.
pub type Changes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;
/// A key and its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// Sorted keys and values that change together.
pub trait Store: Send + Sync {
    /// # Errors
    /// `Store` if it is damaged.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error>;

    /// Everything whose key begins with `prefix`, in order.
    ///
    /// # Errors
    /// `Store` if it is damaged.
    fn scan(&self, prefix: &[u8]) -> Result<Vec<Pair>, Error>;

    /// All of `changes`, or none.
    ///
    /// # Errors
    /// `Store` if they cannot be written.
    fn write(&self, changes: Changes) -> Result<(), Error>;
}

/// A store that ends with the process.
#[derive(Default)]
pub struct MemoryStore(RwLock<BTreeMap<Vec<u8>, Vec<u8>>>);

impl Store for MemoryStore {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned())
    }

    fn scan(&self, prefix: &[u8]) -> Result<Vec<Pair>, Error> {
        let map = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let from = map.range::<[u8], _>((Bound::Included(prefix), Bound::Unbounded));
        let within = from.take_while(|(key, _)| key.starts_with(prefix));
        Ok(within.map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    fn write(&self, changes: Changes) -> Result<(), Error> {
        let mut map = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for (key, value) in changes {
            match value {
                Some(value) => map.insert(key, value),
                None => map.remove(&key),
            };
        }
        Ok(())
    }
}

struct SledStore {
    name: String,
    tree: sled::Tree,
}

impl Store for SledStore {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        guarded(&self.name, "look up a key", || Ok(self.tree.get(key)?.map(|value| value.to_vec())))
    }

    fn scan(&self, prefix: &[u8]) -> Result<Vec<Pair>, Error> {
        guarded(&self.name, "scan", || {
            let pairs = self.tree.scan_prefix(prefix);
            pairs.map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec()))).collect()
        })
    }

    fn write(&self, changes: Changes) -> Result<(), Error> {
        let mut batch = sled::Batch::default();
        for (key, value) in changes {
            match value {
                Some(value) => batch.insert(key, value),
                None => batch.remove(key),
            }
        }
        guarded(&self.name, "write", || self.tree.apply_batch(batch))
    }
}

/// Calls sled; its errors and its panics are both damage.
fn guarded<T>(
    name: &str,
    operation: &'static str,
    call: impl FnOnce() -> sled::Result<T>,
) -> Result<T, Error> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| Error::store(name, operation, error)),
        Err(panic) => Err(Error::store(name, operation, panic_text(&*panic))),
    }
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

/// The one database of the small projections, opened when the first of them is asked for.
pub struct Shelf {
    /// `None` keeps everything in memory.
    folder: Option<PathBuf>,
    state: Mutex<ShelfState>,
}

#[derive(Default)]
struct ShelfState {
    db: Option<sled::Db>,
    /// Another process holds the database.
    busy: bool,
    /// How often the database was replaced; stores of an earlier one are not to be used.
    epoch: u64,
}

/// Names which tree of a projection is the current one.
const GENERATIONS: &str = "generations";

impl Shelf {
    /// The database in `folder`, which need not exist yet.
    pub fn at(folder: PathBuf) -> Self {
        Self { folder: Some(folder), state: Mutex::default() }
    }

    /// Nothing is written anywhere.
    pub fn in_memory() -> Self {
        Self { folder: None, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, ShelfState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes when every store that was handed out is out of use.
    pub fn epoch(&self) -> u64 {
        self.state().epoch
    }

    /// The current store of a projection; `None` if it has none yet, or keeps it in memory.
    ///
    /// # Errors
    /// `Store` if the database is damaged.
    pub fn current(&self, name: &str) -> Result<Option<Arc<dyn Store>>, Error> {
        let Some(db) = self.database(false)? else {
            return Ok(None);
        };
        match generation(&db, name)? {
            0 => Ok(None),
            number => self.tree(&db, name, number).map(Some),
        }
    }

    /// An empty store beside the current one, and its number.
    ///
    /// # Errors
    /// `Store` if the database is damaged, `Io` if it cannot be made.
    pub fn begin(&self, name: &str) -> Result<(u64, Arc<dyn Store>), Error> {
        let Some(db) = self.database(true)? else {
            return Ok((0, Arc::new(MemoryStore::default())));
        };
        let number = generation(&db, name)?.saturating_add(1);
        let tree = tree_name(name, number);
        guarded(name, "clear a tree", || db.drop_tree(tree.as_bytes()))?;
        Ok((number, self.tree(&db, name, number)?))
    }

    /// Makes the store with this number the current one, and drops the one before.
    ///
    /// # Errors
    /// `Store` if the database is damaged.
    pub fn finish(&self, name: &str, number: u64) -> Result<(), Error> {
        let Some(db) = self.database(false)?.filter(|_| number > 0) else {
            return Ok(());
        };
        guarded(name, "name the current tree", || {
            db.open_tree(GENERATIONS)?.insert(name, &number.to_be_bytes())?;
            db.drop_tree(tree_name(name, number.saturating_sub(1)).as_bytes()).map(drop)
        })
    }

    /// Moves the whole database aside, for it is damaged.
    ///
    /// # Errors
    /// `Io` if it cannot be moved.
    pub fn discard(&self) -> Result<(), Error> {
        let mut state = self.state();
        state.epoch += 1;
        let db = state.db.take();
        // Dropping a damaged database may panic as well.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(db)));
        self.folder.as_deref().map_or(Ok(()), set_aside)
    }

    /// Writes down what is still in memory.
    pub fn flush(&self) {
        if let Some(db) = self.state().db.clone() {
            let _ = guarded("all", "flush", || db.flush());
        }
    }

    /// The database; `None` in memory, in another process's hands, or when it is not there and not
    /// to be made.
    fn database(&self, make: bool) -> Result<Option<sled::Db>, Error> {
        let mut state = self.state();
        let Some(folder) = self.folder.as_deref().filter(|_| !state.busy) else {
            return Ok(None);
        };
        if state.db.is_none() && (make || folder.exists()) {
            match open(folder) {
                Ok(db) => state.db = Some(db),
                Err(Error::Busy { .. }) => state.busy = true,
                Err(error) => return Err(error),
            }
        }
        Ok(state.db.clone())
    }

    fn tree(&self, db: &sled::Db, name: &str, number: u64) -> Result<Arc<dyn Store>, Error> {
        let tree = guarded(name, "open a tree", || db.open_tree(tree_name(name, number)))?;
        Ok(Arc::new(SledStore { name: name.to_owned(), tree }))
    }
}

fn tree_name(name: &str, number: u64) -> String {
    format!("{name}.{number}")
}

fn generation(db: &sled::Db, name: &str) -> Result<u64, Error> {
    let stored = guarded(name, "look up the current tree", || db.open_tree(GENERATIONS)?.get(name))?;
    Ok(stored.and_then(|bytes| bytes.as_ref().try_into().ok()).map_or(0, u64::from_be_bytes))
}

fn open(folder: &Path) -> Result<sled::Db, Error> {
    if let Some(above) = folder.parent() {
        std::fs::create_dir_all(above).map_err(|error| Error::io("create", above, error))?;
    }
    let configuration =
        sled::Config::new().path(folder).cache_capacity(CACHE_BYTES).flush_every_ms(Some(FLUSH_EVERY_MS));
    guarded("all", "open the database", || configuration.open()).map_err(|error| match &error {
        // sled gives the lock's failure no kind of its own.
        Error::Store { reason, .. } if reason.contains("acquire lock") => {
            Error::Busy { path: folder.to_owned() }
        }
        _ => error,
    })
}

/// Renames `folder` to `<folder>.damaged`, in the place of one that was set aside earlier.
pub(crate) fn set_aside(folder: &Path) -> Result<(), Error> {
    let mut name = folder.as_os_str().to_owned();
    name.push(".damaged");
    let aside = PathBuf::from(name);
    if aside.exists() {
        std::fs::remove_dir_all(&aside).map_err(|error| Error::io("remove", &aside, error))?;
    }
    match std::fs::rename(folder, &aside) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("move aside", folder, error))
        }
        _ => Ok(()),
    }
}
