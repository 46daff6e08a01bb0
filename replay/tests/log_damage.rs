//! Damage, strangers and broken indexes: each ends in recovery or a clear error.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use herm_replay::log::contract::{all, append, message};
use herm_replay::log::index::{SledStore, Store, Syncing};
use herm_replay::log::segments::{Entry, Options, Pointer};
use herm_replay::log::verify::{Kind, verify};
use herm_replay::log::{Append, Error, Log, SegmentLog, repair};
use herm_schema::{IdempotencyKey, Position, Recorded, StreamId, StreamPos};

fn small(folder: &Path) -> Options {
    Options { segment_bytes: 4 << 10, index_from_events: 8, ..Options::new(folder) }
}

/// A closed log of 60 events in three streams, and what it holds.
fn filled(folder: &Path) -> Vec<Recorded> {
    let log = SegmentLog::open(small(folder)).unwrap();
    for number in 0..60 {
        let key = (number % 4 == 0).then(|| IdempotencyKey::of(&[&number.to_string()]));
        let event = message(&format!("{number} {}", "é".repeat(number)));
        log.append(Append { key, ..append(["a", "b", "c"][number % 3], vec![event]) }).unwrap();
    }
    let stats = log.wait_indexed(Duration::from_secs(60));
    assert_eq!(stats.indexed, Position(60), "{stats:?}");
    assert!(stats.segments > 3);
    all(&log)
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<_> = names.filter(|path| path.extension().is_some_and(|e| e == "seg")).collect();
    names.sort();
    names
}

/// Where a record begins in a segment, and how long it is.
fn find(bytes: &[u8], position: u64) -> (usize, usize) {
    let at = (0..bytes.len())
        .find(|at| {
            let record = herm_schema::codec::read_record(&bytes[*at..]);
            record.is_ok_and(|record| record.envelope.position.0 == position)
        })
        .unwrap();
    (at, herm_schema::codec::read_record(&bytes[at..]).unwrap().bytes)
}

fn damaged(change: impl FnOnce(&Path)) -> (tempfile::TempDir, Vec<Recorded>) {
    let folder = tempfile::tempdir().unwrap();
    let events = filled(folder.path());
    change(folder.path());
    (folder, events)
}

/// The log refuses, is repaired by the plan, and holds everything but `lost`.
fn repairs(folder: &Path, events: &[Recorded], lost: &[u64]) {
    let refused = SegmentLog::open(small(folder)).err();
    assert!(matches!(refused, Some(Error::Damaged { .. })), "{refused:?}");
    let before = SegmentLog::open_read_only(folder).unwrap();
    let readable: Vec<_> = before.read_all(Position(0)).collect();
    assert!(matches!(readable.last(), Some(Err(Error::Damaged { .. }))), "the reading ends with the damage");
    let plan = repair::plan(folder).unwrap();
    assert!(plan.to_string().contains("give up"), "{plan}");
    repair::apply(&plan).unwrap();
    let log = SegmentLog::open(small(folder)).unwrap();
    let left: Vec<_> = events.iter().filter(|e| !lost.contains(&e.envelope.position.0)).cloned().collect();
    assert_eq!(all(&log), left);
    for stream in ["a", "b", "c"] {
        let stream = append(stream, vec![]).stream;
        let own: Vec<_> = left.iter().filter(|event| event.envelope.stream == stream).cloned().collect();
        assert_eq!(log.read_stream(stream, StreamPos(0)).collect::<Result<Vec<_>, _>>().unwrap(), own);
    }
    let next = log.append(append("a", vec![message("after")])).unwrap();
    assert_eq!(next.events[0].envelope.position, Position(61));
    drop(log);
    let report = verify(folder).unwrap();
    assert!(report.is_sound(), "{report}");
    assert_eq!(report.events, left.len() as u64 + 1);
    assert!(repair::plan(folder).unwrap().is_empty());
    assert!(plan.kept_in.join("plan.json").exists());
}

#[test]
fn a_sound_log_verifies() {
    let (folder, events) = damaged(|_| {});
    let report = verify(folder.path()).unwrap();
    assert!(report.findings.is_empty(), "{report}");
    assert_eq!((report.events, report.streams), (events.len() as u64, 3));
}

#[test]
fn a_flipped_bit_in_the_middle() {
    let (folder, events) = damaged(|folder| {
        let path = &segments(folder)[0];
        let mut bytes = fs::read(path).unwrap();
        let (at, length) = find(&bytes, 5);
        bytes[at + length - 3] ^= 4;
        fs::write(path, bytes).unwrap();
    });
    let report = verify(folder.path()).unwrap();
    assert_eq!(report.findings[0].kind, Kind::Broken, "{report}");
    assert_eq!(report.findings[0].position, Position(5));
    assert_eq!(report.findings[0].stream, Some(append("b", vec![]).stream));
    assert_eq!(report.readable.len(), 2, "{report}");
    repairs_indexed(&folder, &events, &[5]);
}

/// As [`repairs`]; the open trusts the index for sealed segments, so the index goes first.
fn repairs_indexed(folder: &tempfile::TempDir, events: &[Recorded], lost: &[u64]) {
    fs::remove_file(folder.path().join("mark")).unwrap();
    repairs(folder.path(), events, lost);
}

#[test]
fn a_record_that_was_cut_out() {
    let (folder, events) = damaged(|folder| {
        let path = &segments(folder)[0];
        let mut bytes = fs::read(path).unwrap();
        let (at, length) = find(&bytes, 4);
        bytes.drain(at..at + length);
        fs::write(path, bytes).unwrap();
    });
    let report = verify(folder.path()).unwrap();
    assert_eq!(
        (report.findings[0].kind, report.findings[0].position),
        (Kind::Missing, Position(4)),
        "{report}"
    );
    repairs(folder.path(), &events, &[4]);
}

#[test]
fn two_records_that_changed_places() {
    let (folder, _) = damaged(|folder| {
        let path = &segments(folder)[0];
        let bytes = fs::read(path).unwrap();
        let ((a, a_len), (b, b_len)) = (find(&bytes, 4), find(&bytes, 6));
        let parts = [
            &bytes[..a],
            &bytes[b..b + b_len],
            &bytes[a + a_len..b],
            &bytes[a..a + a_len],
            &bytes[b + b_len..],
        ];
        fs::write(path, parts.concat()).unwrap();
    });
    let report = verify(folder.path()).unwrap();
    let kinds: Vec<_> = report.findings.iter().map(|finding| finding.kind).collect();
    assert!(kinds.contains(&Kind::Reordered), "{report}");
}

#[test]
fn a_segment_that_is_gone() {
    let (folder, events) = damaged(|folder| fs::remove_file(&segments(folder)[1]).unwrap());
    let firsts: Vec<u64> = segments(folder.path())
        .iter()
        .map(|path| path.file_stem().unwrap().to_str().unwrap().parse().unwrap())
        .collect();
    let last_before = events.len() as u64;
    assert!(firsts[1] < last_before);
    let report = verify(folder.path()).unwrap();
    assert_eq!(report.findings[0].kind, Kind::Missing, "{report}");
    let lost: Vec<_> = (report.findings[0].position.0..firsts[1]).collect();
    repairs(folder.path(), &events, &lost);
}

#[test]
fn a_tail_that_was_on_the_disk_and_is_cut() {
    let (folder, events) = damaged(|folder| {
        let path = segments(folder).pop().unwrap();
        let bytes = fs::read(&path).unwrap();
        let (at, length) = find(&bytes, 60);
        fs::write(path, &bytes[..at + length / 2]).unwrap();
    });
    let report = verify(folder.path()).unwrap();
    assert!(!report.is_sound(), "{report}");
    repairs(folder.path(), &events, &[60]);
}

#[test]
fn a_torn_tail_is_cut_without_a_word() {
    let (folder, events) = damaged(|folder| {
        let path = segments(folder).pop().unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let (at, length) = find(&bytes, 60);
        let half = bytes[at..at + length / 2].to_vec();
        bytes.extend(half);
        fs::write(path, bytes).unwrap();
    });
    let report = verify(folder.path()).unwrap();
    assert_eq!(report.findings[0].kind, Kind::TornTail, "{report}");
    assert!(report.is_sound());
    let log = SegmentLog::open(small(folder.path())).unwrap();
    assert_eq!(all(&log), events);
    log.append(append("a", vec![message("on")])).unwrap();
}

#[test]
fn a_log_of_a_newer_herm() {
    let (folder, _) = damaged(|folder| {
        let path = folder.join("MANIFEST");
        let text = fs::read_to_string(&path).unwrap().replace("format 1", "format 2");
        fs::write(path, text).unwrap();
    });
    for result in [SegmentLog::open(small(folder.path())).err(), verify(folder.path()).err()] {
        assert!(matches!(result, Some(Error::Newer { .. })), "{result:?}");
    }
}

#[test]
fn a_second_owner_and_a_reader_beside_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let log = SegmentLog::open(small(folder.path())).unwrap();
    let second = SegmentLog::open(small(folder.path())).err();
    assert!(matches!(second, Some(Error::Locked { pid, .. }) if pid == std::process::id()), "{second:?}");
    let reader = SegmentLog::open_read_only(folder.path()).unwrap();
    for number in 0..50 {
        log.append(append("a", vec![message(&number.to_string())])).unwrap();
        assert_eq!(reader.wait(Position(number), Duration::from_secs(60)), Position(number + 1));
    }
    assert_eq!(all(&reader), all(&log));
    assert!(matches!(reader.append(append("a", vec![message("x")])), Err(Error::ReadOnly)));
}

#[test]
fn a_backup_opens_and_goes_on() {
    let (folder, events) = damaged(|_| {});
    let log = SegmentLog::open(small(folder.path())).unwrap();
    let blob = log.put_blob(b"large").unwrap();
    let copy = folder.path().join("copy");
    assert_eq!(log.backup(&copy).unwrap(), Position(60));
    for _ in 0..2 {
        let copied = SegmentLog::open(small(&copy)).unwrap();
        assert_eq!(all(&copied)[..60], events);
        assert_eq!(copied.blob(blob).unwrap(), b"large");
        copied.append(append("a", vec![message("on")])).unwrap();
    }
}

#[test]
fn a_damaged_blob_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let log = SegmentLog::open(small(folder.path())).unwrap();
    let blob = log.put_blob(b"some bytes").unwrap();
    let hash = blob.hash.to_string();
    let path = folder.path().join("blobs").join(&hash[..2]).join(&hash);
    fs::write(&path, b"other bytes").unwrap();
    assert!(matches!(log.blob(blob), Err(Error::BlobDamaged { .. })));
    log.put_blob(b"some bytes").unwrap();
    assert_eq!(log.blob(blob).unwrap(), b"some bytes");
}

/// An index that does one thing wrong.
struct Wrong {
    inner: SledStore,
    how: &'static str,
}

impl Store for Wrong {
    fn applied(&self) -> Result<Position, String> {
        match self.how {
            "ahead" => Ok(Position(1_000_000)),
            "behind" => Ok(Position(1)),
            _ => self.inner.applied(),
        }
    }

    fn apply(&mut self, entries: &[Entry]) -> Result<(), String> {
        assert_ne!(self.how, "panics on apply", "as told");
        self.inner.apply(entries)
    }

    fn head(&self, stream: StreamId) -> Result<Option<(StreamPos, Pointer)>, String> {
        let head = self.inner.head(stream)?;
        match self.how {
            "panics on read" => panic!("as told"),
            "fails" => Err("as told".to_owned()),
            "hangs" => {
                std::thread::park_timeout(Duration::from_secs(1));
                Ok(head)
            }
            "lies about heads" => Ok(head.map(|(at, pointer)| (at, Pointer { bytes: 7, ..pointer }))),
            _ => Ok(head),
        }
    }

    fn key(&self, key: IdempotencyKey) -> Result<Option<Pointer>, String> {
        self.inner.key(key)
    }

    fn records(&self, stream: StreamId, from: StreamPos, to: StreamPos) -> Result<Vec<Pointer>, String> {
        let mut records = self.inner.records(stream, from, to)?;
        match self.how {
            "forgets records" => drop(records.pop()),
            "mixes records up" => records.reverse(),
            _ => {}
        }
        Ok(records)
    }

    fn near(&self, position: Position) -> Result<Option<Pointer>, String> {
        self.inner.near(position)
    }

    fn flush(&mut self) -> Result<Syncing, String> {
        self.inner.flush()
    }
}

#[test]
fn an_index_that_fails_in_any_way_is_not_believed() {
    let ways = [
        "panics on read",
        "panics on apply",
        "fails",
        "hangs",
        "lies about heads",
        "forgets records",
        "mixes records up",
        "ahead",
        "behind",
    ];
    for how in ways {
        let folder = tempfile::tempdir().unwrap();
        let events = filled(folder.path());
        let options = Options {
            index: Some(Arc::new(move |path: &Path| {
                Ok(Box::new(Wrong { inner: SledStore::open(path)?, how }) as Box<dyn Store>)
            })),
            index_patience: Duration::from_millis(200),
            ..small(folder.path())
        };
        let log = SegmentLog::open(options).unwrap();
        for stream in ["a", "b", "c"] {
            let stream = append(stream, vec![]).stream;
            let own: Vec<_> =
                events.iter().filter(|event| event.envelope.stream == stream).cloned().collect();
            assert_eq!(
                log.read_stream(stream, StreamPos(0)).collect::<Result<Vec<_>, _>>().unwrap(),
                own,
                "{how}"
            );
        }
        for number in 0..30 {
            let committed = log.append(append("a", vec![message("more")])).unwrap();
            assert_eq!(committed.events[0].envelope.stream_pos, StreamPos(21 + number), "{how}");
        }
        // An index that only hangs on heads or panics on what it is to take over may not have been met yet.
        let stats = log.wait_indexed(Duration::from_secs(60));
        assert!(stats.index_failure.is_some(), "{how}: {stats:?}");
        assert_eq!(all(&log).len(), 90, "{how}");
    }
}

#[test]
fn an_index_that_is_missing_or_garbage_is_built_anew() {
    for garbage in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let events = filled(folder.path());
        let index = folder.path().join("index");
        if garbage {
            fs::write(index.join("db"), vec![0x5a; 100_000]).unwrap();
        } else {
            fs::remove_dir_all(&index).unwrap();
        }
        let log = SegmentLog::open(small(folder.path())).unwrap();
        let stream = append("b", vec![]).stream;
        let own: Vec<_> = events.iter().filter(|event| event.envelope.stream == stream).cloned().collect();
        assert_eq!(log.read_stream(stream, StreamPos(0)).collect::<Result<Vec<_>, _>>().unwrap(), own);
        let stats = log.wait_indexed(Duration::from_secs(60));
        assert_eq!((stats.indexed, stats.index_degraded), (Position(60), None), "garbage: {garbage}");
    }
}

#[test]
fn an_append_that_lost_its_middle_is_known_to_have_lost_it_after_the_repair() {
    let folder = tempfile::tempdir().unwrap();
    let log = SegmentLog::open(Options::new(folder.path())).unwrap();
    log.append(append("a", vec![message("1"), message("2"), message("3")])).unwrap();
    for number in 4..8 {
        log.append(append("a", vec![message(&number.to_string())])).unwrap();
    }
    drop(log);
    let segment = &segments(folder.path())[0];
    let mut bytes = fs::read(segment).unwrap();
    let (at, length) = find(&bytes, 2);
    bytes[at + length - 1] ^= 1;
    fs::write(segment, bytes).unwrap();
    repair::apply(&repair::plan(folder.path()).unwrap()).unwrap();
    let report = verify(folder.path()).unwrap();
    assert!(report.is_sound(), "{report}");
    let log = SegmentLog::open(Options::new(folder.path())).unwrap();
    let left: Vec<_> = all(&log).iter().map(|event| event.envelope.position.0).collect();
    assert_eq!(left, [1, 3, 4, 5, 6, 7]);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    // A part of the system that nobody can write, not even root.
    let error = SegmentLog::open(Options::new("/proc/herm-log")).err();
    let Some(Error::Io { path, .. } | Error::UnsafeFileSystem { path, .. }) = error else {
        panic!("{error:?}")
    };
    assert!(path.starts_with("/proc"), "{}", path.display());
}
