//! The default log over a simulated disk: power cuts at every operation, and every other fault.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test fails by panicking"
)]

use std::path::Path;
use std::sync::{Arc, mpsc};

use herm_replay::log::contract::{self, all, append, chains_hold, message, turn};
use herm_replay::log::faulty::{Faults, SimDisk};
use herm_replay::log::segments::Options;
use herm_replay::log::{Append, Durability, Error, Log, MemoryLog, SegmentLog};
use herm_schema::{IdempotencyKey, Position, Recorded};

const FOLDER: &str = "/home/log";

fn open(disk: &SimDisk) -> Result<SegmentLog, Error> {
    let options = Options::on_disk(FOLDER, Arc::new(disk.clone()));
    SegmentLog::open(Options { segment_bytes: 6 << 10, reserve_bytes: 64 << 10, ..options })
}

/// The appends of a run, the same for the same seed.
fn appends(seed: u64) -> Vec<Append> {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |limit: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % limit
    };
    let one = |number: u64| {
        let body = "x".repeat(below(900) as usize);
        let events = (0..1 + below(3)).map(|part| message(&format!("{number}.{part} {body}"))).collect();
        let durability = if below(3) == 0 { Durability::Queued } else { Durability::Disk };
        let key = (below(2) == 0).then(|| IdempotencyKey::of(&[&number.to_string()]));
        Append { durability, key, ..append(["a", "b", "c"][below(3) as usize], events) }
    };
    (1..=24).map(one).collect()
}

/// Runs the appends, three under way at once, until the disk fails; what was acknowledged as being
/// on the disk.
fn run(disk: &SimDisk, appends: &[Append]) -> Vec<Recorded> {
    let Ok(log) = open(disk) else {
        return Vec::new();
    };
    let mut acknowledged = Vec::new();
    for group in appends.chunks(3) {
        let (answer, answers) = mpsc::channel();
        for append in group {
            let (answer, durable) = (answer.clone(), append.durability == Durability::Disk);
            log.submit(append.clone(), Box::new(move |result| drop(answer.send((durable, result)))));
        }
        drop(answer);
        let given = answers.into_iter().filter_map(|(durable, result)| Some((durable, result.ok()?)));
        acknowledged
            .extend(given.filter(|(durable, _)| *durable).flat_map(|(_, committed)| committed.events));
    }
    acknowledged
}

fn check(disk: &SimDisk, appends: &[Append], whole: &[Recorded], acknowledged: &[Recorded], case: &str) {
    let log = open(disk).unwrap_or_else(|error| panic!("{case}: {error}"));
    let events = all(&log);
    assert_eq!(events, whole[..events.len()], "{case}: not a prefix");
    assert!(chains_hold(&events), "{case}");
    assert!(events.last().is_none_or(|last| last.envelope.batch_left == 0), "{case}: half an append");
    for event in acknowledged {
        assert_eq!(events.get(event.envelope.position.0 as usize - 1), Some(event), "{case}: lost");
    }
    // Everything once more: what has a key is known, and the log takes the rest.
    for append in appends.iter().filter(|append| append.key.is_some()) {
        let here = events.iter().any(|event| event.envelope.key == append.key);
        let again = log.append(append.clone()).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(again.duplicate, here, "{case}");
    }
    let before = all(&log);
    drop(log);
    assert_eq!(all(&open(disk).unwrap_or_else(|error| panic!("{case}: {error}"))), before, "{case}");
}

#[test]
fn a_power_cut_at_any_operation_loses_nothing_acknowledged() {
    for seed in 0..12 {
        let appends = appends(seed);
        let memory = MemoryLog::new();
        appends.iter().for_each(|append| drop(memory.append(append.clone()).unwrap()));
        let whole = memory.events();
        let undisturbed = SimDisk::new(seed, Faults::default());
        run(&undisturbed, &appends);
        let operations = undisturbed.operations();
        assert!(operations > 40, "{operations}");
        for crash in 0..=operations {
            let short_reads = crash % 2 == 0;
            let disk = SimDisk::new(seed, Faults { crash_at: Some(crash), ..Faults::default() });
            let acknowledged = run(&disk, &appends);
            let faults = Faults { short_reads, ..Faults::default() };
            let disk = disk.after_power_loss(seed ^ crash << 8, faults);
            check(&disk, &appends, &whole, &acknowledged, &format!("seed {seed}, crash at {crash}"));
        }
    }
}

#[test]
fn a_failed_sync_poisons_the_log_for_good() {
    for fails_at in 3..12 {
        let disk = SimDisk::new(7, Faults { sync_fails_at: Some(fails_at), ..Faults::default() });
        let log = open(&disk).unwrap();
        let mut poisoned = false;
        for number in 0..20 {
            match log.append(append("a", vec![message(&format!("{number}"))])) {
                Ok(_) => assert!(!poisoned, "sync {fails_at}: acknowledged after a failed sync"),
                Err(Error::Poisoned { operation: "sync", .. }) => poisoned = true,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(poisoned, "sync {fails_at}");
    }
}

#[test]
fn a_full_disk_refuses_the_outside_first_and_loses_nothing() {
    let capacity_bytes = Some(1_300 << 10);
    let disk = SimDisk::new(3, Faults { capacity_bytes, ..Faults::default() });
    let log = open(&disk).unwrap();
    let large = || message(&"x".repeat(4_000));
    let mut acknowledged = Vec::new();
    let refusal = loop {
        match log.append(append("a", vec![large()])) {
            Ok(committed) => acknowledged.extend(committed.events),
            Err(error) => break error,
        }
    };
    assert!(matches!(refusal, Error::Full { .. }), "{refusal}");
    // What follows from it is still taken.
    for _ in 0..20 {
        acknowledged.extend(log.append(append("a", vec![turn(), turn()])).unwrap().events);
    }
    // Until there is no room at all: still an answer, and the log goes on reading.
    let end = loop {
        match log.append(append("b", vec![turn(), large(), large(), large()])) {
            Ok(committed) => acknowledged.extend(committed.events),
            Err(error) => break error,
        }
    };
    assert!(matches!(end, Error::Full { .. }), "{end}");
    assert_eq!(all(&log), acknowledged);
    drop(log);
    let roomy = disk.after_power_loss(1, Faults::default());
    let log = open(&roomy).unwrap();
    assert_eq!(all(&log), acknowledged);
    log.append(append("a", vec![large()])).unwrap();
}

#[test]
fn any_flipped_bit_is_found_and_named() {
    let disk = SimDisk::new(1, Faults::default());
    let said = run(&disk, &appends(1));
    assert!(!said.is_empty());
    let segment = Path::new(FOLDER).join(format!("{:020}.seg", 1));
    let bits = disk.file_bytes(&segment).unwrap() * 8;
    for step in 0..400 {
        let bit = step * 7_919 % bits;
        assert!(disk.flip(&segment, bit));
        let error = open(&disk).err().unwrap_or_else(|| panic!("bit {bit} was not noticed"));
        let named = matches!(&error, Error::Damaged { path, .. } if *path == segment)
            || matches!(&error, Error::Newer { .. });
        assert!(named, "bit {bit}: {error}");
        assert!(disk.flip(&segment, bit));
    }
    assert_eq!(open(&disk).unwrap().tail().last, Position(all(&open(&disk).unwrap()).len() as u64));
}

#[test]
fn the_contract_holds_on_a_simulated_disk() {
    let disks = std::cell::RefCell::new(Vec::new());
    contract::run(&|log| {
        if log.is_none() {
            let faults = Faults { short_reads: true, ..Faults::default() };
            let seed = disks.borrow().len() as u64;
            disks.borrow_mut().push(SimDisk::new(seed, faults));
        }
        drop(log);
        let disk = disks.borrow().last().unwrap().clone();
        Arc::new(open(&disk).unwrap())
    });
}
