//! Changes on their way to a [`Store`]: kept in memory for a while, so that a row that changes often, or is gone
//! again soon, costs one write or none.
//!
//! What is lost with the process is folded again: the checkpoint is a row like any other, so what is written
//! is always the state after one event.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Error;
use super::store::{Changes, MemoryStore, Store};

/// Rows that wait, at most.
const ROWS_MAX: usize = 4_096;
/// Bytes of keys and values that wait, at most, beyond the last batch taken in.
const BYTES_MAX: usize = 4 << 20;
/// How long a change waits, at most, while there is somebody to ask.
const WRITE_AFTER: Duration = Duration::from_secs(3);

/// A store, and what was not written to it yet.
pub struct Buffered {
    store: Arc<dyn Store>,
    unwritten: Changes,
    bytes: usize,
    since: Instant,
}

impl Buffered {
    pub fn of(store: Arc<dyn Store>) -> Self {
        Self { store, unwritten: Changes::new(), bytes: 0, since: Instant::now() }
    }

    /// With nothing in it.
    pub fn empty() -> Self {
        Self::of(Arc::new(MemoryStore::default()))
    }

    /// # Errors
    /// `Store` if it is damaged.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        match self.unwritten.get(key) {
            Some(change) => Ok(change.clone()),
            None => self.store.get(key),
        }
    }

    /// Everything whose key begins with `prefix`.
    ///
    /// # Errors
    /// `Store` if it is damaged.
    pub fn scan(&self, prefix: &[u8]) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, Error> {
        let mut pairs = self.store.scan(prefix)?.into_iter().collect();
        lay_over(&mut pairs, &self.unwritten, prefix);
        Ok(pairs)
    }

    /// Takes in changes that belong together.
    ///
    /// # Errors
    /// `Store` if it was time to write, and they cannot be written.
    pub fn take(&mut self, changes: Changes) -> Result<(), Error> {
        if self.unwritten.is_empty() {
            self.since = Instant::now();
        }
        let size =
            |(key, value): (&Vec<u8>, &Option<Vec<u8>>)| key.len() + value.as_ref().map_or(0, Vec::len);
        self.bytes += changes.iter().map(size).sum::<usize>();
        self.unwritten.extend(changes);
        if self.unwritten.len() > ROWS_MAX || self.bytes > BYTES_MAX { self.write() } else { Ok(()) }
    }

    /// Writes what has waited long enough.
    ///
    /// # Errors
    /// Those of [`Buffered::write`].
    pub fn write_in_time(&mut self) -> Result<(), Error> {
        if self.unwritten.is_empty() || self.since.elapsed() < WRITE_AFTER { Ok(()) } else { self.write() }
    }

    /// Writes everything.
    ///
    /// # Errors
    /// `Store` if it cannot be written.
    pub fn write(&mut self) -> Result<(), Error> {
        let mut changes = std::mem::take(&mut self.unwritten);
        self.bytes = 0;
        let mut failed = None;
        // What came and went in between was never there.
        changes.retain(|key, value| {
            value.is_some()
                || self.store.get(key).map(|there| there.is_some()).unwrap_or_else(|error| {
                    failed = Some(error);
                    true
                })
        });
        match failed {
            Some(error) => Err(error),
            None if changes.is_empty() => Ok(()),
            None => self.store.write(changes),
        }
    }
}

/// What begins with `prefix`, as `changes` leave it.
pub fn lay_over(pairs: &mut BTreeMap<Vec<u8>, Vec<u8>>, changes: &Changes, prefix: &[u8]) {
    for (key, change) in changes.range(prefix.to_vec()..).take_while(|(key, _)| key.starts_with(prefix)) {
        match change {
            Some(value) => pairs.insert(key.clone(), value.clone()),
            None => pairs.remove(key),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(key: &str, value: Option<&str>) -> Changes {
        Changes::from([(key.into(), value.map(|value| value.into()))])
    }

    #[test]
    fn what_came_and_went_is_never_written_and_what_was_there_goes() {
        let store = Arc::new(MemoryStore::default());
        store.write(change("old", Some("1"))).unwrap();
        let mut buffered = Buffered::of(store.clone());
        for (key, value) in [("new", Some("2")), ("brief", Some("3")), ("brief", None), ("old", None)] {
            buffered.take(change(key, value)).unwrap();
        }
        assert_eq!(store.scan(b"").unwrap().len(), 1);
        assert_eq!(buffered.scan(b"").unwrap(), BTreeMap::from([(b"new".to_vec(), b"2".to_vec())]));
        assert_eq!((buffered.get(b"old").unwrap(), buffered.get(b"brief").unwrap()), (None, None));
        buffered.write().unwrap();
        assert_eq!(store.scan(b"").unwrap(), [(b"new".to_vec(), b"2".to_vec())]);
    }

    #[test]
    fn too_much_is_not_kept_waiting() {
        let store = Arc::new(MemoryStore::default());
        let mut buffered = Buffered::of(store.clone());
        buffered.take(change("large", Some(&"x".repeat(BYTES_MAX)))).unwrap();
        assert_eq!(store.scan(b"").unwrap().len(), 1);
        for number in 0..=ROWS_MAX {
            buffered.take(change(&number.to_string(), Some("x"))).unwrap();
        }
        assert!(store.scan(b"").unwrap().len() > ROWS_MAX);
    }
}
