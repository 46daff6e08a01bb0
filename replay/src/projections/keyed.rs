//! A projection whose store is a row of keys: the machinery around a [`Fold`].
//!
//! A batch of events becomes one batch of changes, in which the checkpoint rides.

use std::sync::Arc;

use herm_schema::Recorded;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::buffered::{Buffered, lay_over};
use super::store::{Changes, Pair, Shelf};
use super::{Checkpoint, Error, Projection};
use crate::log::Log;

/// Where the checkpoint is kept; no fold has a key that begins like this.
const CHECKPOINT_KEY: &[u8] = b"\0checkpoint";

/// What one event changes.
pub trait Fold: Send + Sync {
    /// Like [`Projection::name`].
    const NAME: &'static str;
    /// Like [`Projection::schema`].
    const SCHEMA: u32;

    /// Takes in one event. Must depend on nothing but the events so far.
    ///
    /// # Errors
    /// Those of the rows; a fold has none of its own.
    fn apply(&self, recorded: &Recorded, rows: &mut Rows<'_>, log: &dyn Log) -> Result<(), Error>;
}

/// The rows as they are with the changes of this batch.
pub struct Rows<'a> {
    name: &'static str,
    store: &'a Buffered,
    changes: Changes,
}

impl<'a> Rows<'a> {
    /// The rows of `store`, with no changes yet.
    pub fn of(name: &'static str, store: &'a Buffered) -> Self {
        Self { name, store, changes: Changes::new() }
    }

    /// # Errors
    /// `Store` if the store is damaged, or holds something else there.
    pub fn get<T: DeserializeOwned>(&self, key: &[u8]) -> Result<Option<T>, Error> {
        let bytes = match self.changes.get(key) {
            Some(change) => change.clone(),
            None => self.store.get(key)?,
        };
        bytes.map(|bytes| decode(self.name, &bytes)).transpose()
    }

    /// # Errors
    /// `Store` if the row does not encode.
    pub fn put<T: Serialize>(&mut self, key: Vec<u8>, row: &T) -> Result<(), Error> {
        let bytes = bincode::serde::encode_to_vec(row, bincode::config::standard())
            .map_err(|error| Error::store(self.name, "encode a row", error))?;
        self.changes.insert(key, Some(bytes));
        Ok(())
    }

    pub fn remove(&mut self, key: Vec<u8>) {
        self.changes.insert(key, None);
    }

    /// The row at `key`, changed by `change`; one that is not there is begun with its default.
    ///
    /// # Errors
    /// Those of `get` and `put`.
    pub fn update<T: Serialize + DeserializeOwned + Default>(
        &mut self,
        key: Vec<u8>,
        change: impl FnOnce(&mut T),
    ) -> Result<(), Error> {
        let mut row = self.get(&key)?.unwrap_or_default();
        change(&mut row);
        self.put(key, &row)
    }

    /// Changes the row at `key` if there is one.
    ///
    /// # Errors
    /// Those of `get` and `put`.
    pub fn modify<T: Serialize + DeserializeOwned>(
        &mut self,
        key: &[u8],
        change: impl FnOnce(&mut T),
    ) -> Result<(), Error> {
        let Some(mut row) = self.get(key)? else {
            return Ok(());
        };
        change(&mut row);
        self.put(key.to_vec(), &row)
    }

    /// Keys and values that begin with `prefix`, in order.
    ///
    /// # Errors
    /// `Store` if the store is damaged.
    pub fn scan(&self, prefix: &[u8]) -> Result<Vec<Pair>, Error> {
        let mut pairs = self.store.scan(prefix)?;
        lay_over(&mut pairs, &self.changes, prefix);
        Ok(pairs.into_iter().collect())
    }

    /// Rows that begin with `prefix`, in order of their keys.
    ///
    /// # Errors
    /// `Store` if the store is damaged.
    pub fn rows<T: DeserializeOwned>(&self, prefix: &[u8]) -> Result<Vec<(Vec<u8>, T)>, Error> {
        let pairs = self.scan(prefix)?.into_iter();
        pairs.map(|(key, value)| Ok((key, decode(self.name, &value)?))).collect()
    }
}

fn decode<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T, Error> {
    /// No row is longer, in bytes; a damaged length is not believed.
    const ROW_BYTES_MAX: usize = 64 << 20;
    let configuration = bincode::config::standard().with_limit::<ROW_BYTES_MAX>();
    let decoded = bincode::serde::decode_from_slice(bytes, configuration);
    decoded.map(|(row, _)| row).map_err(|error| Error::store(name, "decode a row", error))
}

#[derive(Serialize, Deserialize)]
struct Stored {
    schema: u32,
    checkpoint: Checkpoint,
}

/// A fold with its store.
pub struct Keyed<F> {
    fold: F,
    shelf: Arc<Shelf>,
    /// Which of the shelf's databases `store` belongs to.
    epoch: u64,
    store: Option<Buffered>,
    building: Option<(u64, Buffered)>,
}

impl<F: Fold> Keyed<F> {
    pub fn new(fold: F, shelf: Arc<Shelf>) -> Self {
        Self { fold, shelf, epoch: 0, store: None, building: None }
    }

    /// What it holds now. Without a store yet it is empty.
    pub fn read<T>(&self, read: impl FnOnce(&Rows<'_>) -> Result<T, Error>) -> Result<T, Error> {
        match &self.store {
            Some(store) => read(&Rows::of(F::NAME, store)),
            None => read(&Rows::of(F::NAME, &Buffered::empty())),
        }
    }

    /// Everything in it but the checkpoint, for comparing.
    ///
    /// # Errors
    /// `Store` if the store is damaged.
    pub fn dump(&self) -> Result<Vec<Pair>, Error> {
        let mut pairs = self.read(|rows| rows.scan(&[]))?;
        pairs.retain(|(key, _)| key != CHECKPOINT_KEY);
        Ok(pairs)
    }
}

impl<F: Fold> Projection for Keyed<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn schema(&self) -> u32 {
        F::SCHEMA
    }

    fn checkpoint(&mut self) -> Result<Option<Checkpoint>, Error> {
        let epoch = self.shelf.epoch();
        if self.epoch != epoch || self.store.is_none() {
            // In memory there is nothing to find again, so what is there stays.
            self.store = self.shelf.current(F::NAME)?.map(Buffered::of);
            self.epoch = epoch;
        }
        let Some(store) = &self.store else {
            return Ok(None);
        };
        let stored: Option<Stored> = Rows::of(F::NAME, store).get(CHECKPOINT_KEY)?;
        Ok(stored.filter(|stored| stored.schema == F::SCHEMA).map(|stored| stored.checkpoint))
    }

    fn apply(&mut self, batch: &[Recorded], log: &dyn Log) -> Result<(), Error> {
        let store = self.building.as_mut().map(|(_, store)| store).or(self.store.as_mut());
        let (Some(store), Some(last)) = (store, batch.last()) else {
            return Ok(());
        };
        let mut rows = Rows::of(F::NAME, store);
        for recorded in batch {
            self.fold.apply(recorded, &mut rows, log)?;
        }
        rows.put(CHECKPOINT_KEY.to_vec(), &Stored { schema: F::SCHEMA, checkpoint: Checkpoint::at(last) })?;
        let changes = rows.changes;
        store.take(changes)
    }

    fn begin(&mut self) -> Result<(), Error> {
        let (number, store) = self.shelf.begin(F::NAME)?;
        self.building = Some((number, Buffered::of(store)));
        self.epoch = self.shelf.epoch();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        if let Some((number, mut store)) = self.building.take() {
            store.write()?;
            self.shelf.finish(F::NAME, number)?;
            self.store = Some(store);
        }
        Ok(())
    }

    fn idle(&mut self) -> Result<(), Error> {
        self.store.as_mut().map_or(Ok(()), Buffered::write_in_time)
    }

    fn write(&mut self) -> Result<(), Error> {
        self.store.as_mut().map_or(Ok(()), Buffered::write)
    }

    fn discard(&mut self) -> Result<(), Error> {
        self.store = None;
        self.building = None;
        self.shelf.discard()
    }
}
