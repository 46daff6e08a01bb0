//! A simulated disk that breaks its promises on purpose, the same way for the same seed.
//!
//! The model: what a file was when it was last synced is there after a crash; of what was written
//! since, any sectors may be there, the last of them torn in the middle. Names are made and changed in
//! order, and a prefix of the changes that includes everything synced by `sync_folder` survives.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::disk::{Disk, DiskFile};

/// Bytes that reach the disk together, unless they are torn.
const SECTOR_BYTES: usize = 512;

/// What goes wrong, and when; counted in operations that change something.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// The operation during which the machine dies; every later one fails.
    pub crash_at: Option<u64>,
    /// The sync that fails, counted in syncs of files.
    pub sync_fails_at: Option<u64>,
    /// Bytes that the disk holds.
    pub capacity_bytes: Option<u64>,
    /// Reads give less than was asked for.
    pub short_reads: bool,
}

/// A file system in memory.
#[derive(Clone, Default)]
pub struct SimDisk {
    sim: Arc<Mutex<Sim>>,
}

#[derive(Default)]
struct Sim {
    random: u64,
    faults: Faults,
    operations: u64,
    syncs: u64,
    crashed: bool,
    nodes: BTreeMap<u64, Node>,
    folders: BTreeSet<PathBuf>,
    names: BTreeMap<PathBuf, u64>,
    durable_names: BTreeMap<PathBuf, u64>,
    /// Changes of names not yet on the disk, in order.
    renaming: Vec<Change>,
}

#[derive(Clone, Default)]
struct Node {
    now: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Pending>,
    reserved_bytes: u64,
}

#[derive(Clone)]
enum Pending {
    Write(u64, Vec<u8>),
    Truncate(u64),
}

enum Change {
    Link(PathBuf, u64),
    Unlink(PathBuf),
    Rename(PathBuf, PathBuf),
}

impl SimDisk {
    pub fn new(seed: u64, faults: Faults) -> Self {
        let sim = Sim { random: seed ^ 0x9e37_79b9_7f4a_7c15, faults, ..Sim::default() };
        Self { sim: Arc::new(Mutex::new(sim)) }
    }

    /// Operations so far that changed something.
    pub fn operations(&self) -> u64 {
        self.sim().operations
    }

    /// The disk after the power came back: what was not synced is there in part.
    pub fn after_power_loss(&self, seed: u64, faults: Faults) -> Self {
        let mut old = self.sim();
        let other = Self::new(seed, faults);
        let mut sim = other.sim();
        let changes = std::mem::take(&mut old.renaming);
        let kept = sim.below(changes.len() as u64 + 1);
        let mut names = old.durable_names.clone();
        changes.iter().take(kept as usize).for_each(|change| change.apply(&mut names));
        let chance = sim.below(3);
        for (id, node) in &old.nodes {
            let survived = node.after_power_loss(&mut sim, chance);
            sim.nodes.insert(*id, survived);
        }
        sim.names = names.clone();
        sim.durable_names = names;
        sim.folders = old.folders.clone();
        drop(sim);
        other
    }

    /// Flips a bit of a file, in memory and on the disk; whether there is such a bit.
    pub fn flip(&self, path: &Path, bit: u64) -> bool {
        let mut sim = self.sim();
        let Some(node) = sim.names.get(path).copied().and_then(|id| sim.nodes.get_mut(&id)) else {
            return false;
        };
        let at = (bit / 8) as usize;
        let flipped = |bytes: &mut Vec<u8>| bytes.get_mut(at).map(|byte| *byte ^= 1 << (bit % 8)).is_some();
        flipped(&mut node.durable);
        flipped(&mut node.now)
    }

    /// The length of a file.
    pub fn file_bytes(&self, path: &Path) -> Option<u64> {
        let sim = self.sim();
        Some(sim.nodes.get(sim.names.get(path)?)?.now.len() as u64)
    }

    fn sim(&self) -> MutexGuard<'_, Sim> {
        self.sim.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Node {
    fn after_power_loss(&self, sim: &mut Sim, chance: u64) -> Self {
        let mut bytes = self.durable.clone();
        for pending in &self.pending {
            match pending {
                Pending::Truncate(length) if sim.below(2) < chance => bytes.truncate(*length as usize),
                Pending::Truncate(_) => {}
                Pending::Write(offset, written) => sectors(*offset, written, |at, sector| {
                    if sim.below(2) < chance {
                        // Now and then a sector is torn.
                        let torn = sim.below(4) == 0 && chance < 2;
                        let keep = if torn { sim.below(sector.len() as u64) as usize } else { sector.len() };
                        overwrite(&mut bytes, at, sector.get(..keep).unwrap_or_default());
                    }
                }),
            }
        }
        Self { now: bytes.clone(), durable: bytes, pending: Vec::new(), reserved_bytes: self.reserved_bytes }
    }
}

fn sectors(offset: u64, bytes: &[u8], mut each: impl FnMut(u64, &[u8])) {
    let (mut at, mut rest) = (offset, bytes);
    while !rest.is_empty() {
        let room = SECTOR_BYTES - (at as usize % SECTOR_BYTES);
        let (sector, after) = rest.split_at_checked(room).unwrap_or((rest, &[]));
        each(at, sector);
        at += sector.len() as u64;
        rest = after;
    }
}

fn overwrite(bytes: &mut Vec<u8>, offset: u64, new: &[u8]) {
    let (from, to) = (offset as usize, offset as usize + new.len());
    if bytes.len() < to && !new.is_empty() {
        bytes.resize(to, 0);
    }
    bytes.iter_mut().skip(from).zip(new).for_each(|(old, new)| *old = *new);
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<PathBuf, u64>) {
        match self {
            Self::Link(path, id) => drop(names.insert(path.clone(), *id)),
            Self::Unlink(path) => drop(names.remove(path)),
            Self::Rename(from, to) => {
                if let Some(id) = names.remove(from) {
                    names.insert(to.clone(), id);
                }
            }
        }
    }

    fn is_in(&self, folder: &Path) -> bool {
        let (Self::Link(path, _) | Self::Unlink(path) | Self::Rename(_, path)) = self;
        path.parent() == Some(folder)
    }
}

fn no_such_file() -> io::Error {
    ErrorKind::NotFound.into()
}

fn died() -> io::Error {
    io::Error::other("the machine is down")
}

impl Sim {
    /// A number below `limit`, which is not zero.
    fn below(&mut self, limit: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % limit.max(1)
    }

    fn is_up(&self) -> io::Result<()> {
        if self.crashed { Err(died()) } else { Ok(()) }
    }

    /// Counts an operation; whether it is the one during which the machine dies.
    fn begin(&mut self) -> io::Result<bool> {
        self.is_up()?;
        self.crashed = self.faults.crash_at == Some(self.operations);
        self.operations += 1;
        Ok(self.crashed)
    }

    fn used_bytes(&self) -> u64 {
        self.names.values().filter_map(|id| self.nodes.get(id)).map(Node::size).sum()
    }

    fn free_bytes(&self) -> u64 {
        self.faults.capacity_bytes.unwrap_or(1 << 40).saturating_sub(self.used_bytes())
    }

    fn change(&mut self, change: Change) -> io::Result<()> {
        let dies = self.begin()?;
        change.apply(&mut self.names);
        self.renaming.push(change);
        if dies { Err(died()) } else { Ok(()) }
    }

    fn write(&mut self, id: u64, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let dies = self.begin()?;
        let free = self.free_bytes();
        let node = self.nodes.get_mut(&id).ok_or_else(no_such_file)?;
        let grows = (offset + bytes.len() as u64).saturating_sub(node.now.len() as u64);
        let full = grows > free;
        // A full disk takes what fits, as a real one does.
        let fits =
            if full { (bytes.len() as u64).saturating_sub(grows - free) as usize } else { bytes.len() };
        let bytes = bytes.get(..fits).unwrap_or_default();
        overwrite(&mut node.now, offset, bytes);
        node.pending.push(Pending::Write(offset, bytes.to_vec()));
        match (dies, full) {
            (true, _) => Err(died()),
            (_, true) => Err(ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }

    fn sync(&mut self, id: u64) -> io::Result<()> {
        let dies = self.begin()?;
        self.syncs += 1;
        if dies {
            return Err(died());
        }
        let node = self.nodes.get_mut(&id).ok_or_else(no_such_file)?;
        if self.faults.sync_fails_at == Some(self.syncs) {
            // As Linux does: the pages count as clean now, and may never have been written.
            node.pending.clear();
            return Err(io::Error::from_raw_os_error(rustix::io::Errno::IO.raw_os_error()));
        }
        node.durable = node.now.clone();
        node.pending.clear();
        Ok(())
    }
}

impl Node {
    fn size(&self) -> u64 {
        self.reserved_bytes.max(self.now.len() as u64)
    }
}

struct SimFile {
    disk: SimDisk,
    id: u64,
}

impl DiskFile for SimFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut sim = self.disk.sim();
        sim.is_up()?;
        let limit = if sim.faults.short_reads { 1 + sim.below(700) as usize } else { usize::MAX };
        let node = sim.nodes.get(&self.id).ok_or_else(no_such_file)?;
        let bytes = node.now.get(offset as usize..).unwrap_or_default();
        Ok(into.iter_mut().zip(bytes).take(limit).map(|(to, from)| *to = *from).count())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.disk.sim().write(self.id, offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.sim().sync(self.id)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        let mut sim = self.disk.sim();
        let dies = sim.begin()?;
        let node = sim.nodes.get_mut(&self.id).ok_or_else(no_such_file)?;
        node.now.truncate(length as usize);
        node.pending.push(Pending::Truncate(length));
        if dies { Err(died()) } else { Ok(()) }
    }

    fn length(&self) -> io::Result<u64> {
        let sim = self.disk.sim();
        sim.is_up()?;
        Ok(sim.nodes.get(&self.id).ok_or_else(no_such_file)?.now.len() as u64)
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, _write: bool) -> io::Result<Box<dyn DiskFile>> {
        let sim = self.sim();
        sim.is_up()?;
        let id = *sim.names.get(path).ok_or_else(no_such_file)?;
        Ok(Box::new(SimFile { disk: self.clone(), id }))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut sim = self.sim();
        let id = sim.nodes.keys().next_back().map_or(1, |last| last + 1);
        sim.nodes.insert(id, Node::default());
        sim.change(Change::Link(path.to_owned(), id))?;
        Ok(Box::new(SimFile { disk: self.clone(), id }))
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        let mut sim = self.sim();
        sim.is_up()?;
        sim.folders.extend(path.ancestors().map(Path::to_owned));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.sim().change(Change::Rename(from.to_owned(), to.to_owned()))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.sim().change(Change::Unlink(path.to_owned()))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let sim = self.sim();
        sim.is_up()?;
        let here = sim.names.keys().filter(|path| path.parent() == Some(folder));
        Ok(here.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut sim = self.sim();
        if sim.begin()? {
            return Err(died());
        }
        // The journal is ordered: what came before goes with it.
        let count = sim.renaming.iter().rposition(|change| change.is_in(folder)).map_or(0, |last| last + 1);
        let changes: Vec<_> = sim.renaming.drain(..count).collect();
        let mut names = std::mem::take(&mut sim.durable_names);
        changes.iter().for_each(|change| change.apply(&mut names));
        sim.durable_names = names;
        Ok(())
    }

    fn exists(&self, path: &Path) -> bool {
        let sim = self.sim();
        sim.names.contains_key(path) || sim.folders.contains(path)
    }

    fn free_bytes(&self, _path: &Path) -> io::Result<u64> {
        Ok(self.sim().free_bytes())
    }

    fn reserve(&self, path: &Path, bytes: u64) -> io::Result<()> {
        if self.sim().free_bytes() < bytes {
            return Err(ErrorKind::StorageFull.into());
        }
        self.create(path)?;
        let mut sim = self.sim();
        if let Some(node) = sim.names.get(path).copied().and_then(|id| sim.nodes.get_mut(&id)) {
            node.reserved_bytes = bytes;
        }
        Ok(())
    }
}
