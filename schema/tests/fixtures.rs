//! Golden bytes: what was written once is read forever.
//!
//! `fixtures/<Name>.v<N>.bin` holds samples of one version of one event type, each a length (u32,
//! little-endian) and a payload; `.json` beside it is what they say, as an array of events. Both were
//! written when that version was current and are never edited. For a version that is not current any
//! more, `<Name>.v<N>.as.v<M>.json` is what its samples say after the upcasts to version `M`.
//!
//! `HERM_WRITE_FIXTURES=1 cargo test -p herm-schema --test fixtures` adds what is missing, and
//! never overwrites; the JSON Schema is written anew.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

use std::fs;
use std::path::{Path, PathBuf};

use herm_schema::codec;
use herm_schema::{Decoded, Digest, Event, Recorded, testing};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn writing() -> bool {
    std::env::var_os("HERM_WRITE_FIXTURES").is_some_and(|value| value == "1")
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}; see the head of this test", path.display()))
}

fn add(path: &Path, bytes: &[u8]) {
    if !path.exists() {
        fs::write(path, bytes).unwrap();
    }
}

fn json(events: &[Event]) -> Vec<u8> {
    let mut text = serde_json::to_string_pretty(events).unwrap();
    text.push('\n');
    text.into_bytes()
}

fn pack(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for payload in payloads {
        out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        out.extend_from_slice(payload);
    }
    out
}

fn unpack(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut payloads = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let (payload, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
        payloads.push(payload.to_vec());
        bytes = rest;
    }
    assert!(bytes.is_empty(), "{} stray bytes at the end of a fixture", bytes.len());
    payloads
}

fn decoded(kind: u16, version: u16, payload: &[u8]) -> Event {
    match codec::decode_event(kind, version, payload).unwrap() {
        Decoded::Event(event) => event,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_current_version_has_a_fixture_that_decodes_and_encodes_to_the_same_bytes() {
    for (nth, (name, kind, version)) in Event::KINDS.iter().enumerate() {
        let path = folder().join(format!("{name}.v{version}.bin"));
        if writing() {
            let samples = testing::samples(nth);
            let payloads: Vec<_> = samples.iter().map(|event| codec::encode_event(event).unwrap()).collect();
            add(&path, &pack(&payloads));
            add(&path.with_extension("json"), &json(&samples));
        }
        let payloads = unpack(&read(&path));
        assert!(!payloads.is_empty(), "{name}: an empty fixture");
        let events: Vec<_> = payloads.iter().map(|payload| decoded(*kind, *version, payload)).collect();
        let expected: serde_json::Value =
            serde_json::from_slice(&read(&path.with_extension("json"))).unwrap();
        assert_eq!(serde_json::to_value(&events).unwrap(), expected, "{name}: says something else now");
        let back: Vec<Event> = serde_json::from_value(expected).unwrap();
        assert_eq!(back, events, "{name}: its JSON reads back as something else");
        for (event, payload) in events.iter().zip(&payloads) {
            assert_eq!((event.kind(), event.name()), (*kind, *name));
            assert_eq!(&codec::encode_event(event).unwrap(), payload, "{name}: its bytes have changed");
        }
    }
}

#[test]
fn every_fixture_of_every_version_ever_written_still_decodes() {
    let mut read_fixtures = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let Some((name, version)) = file.strip_suffix(".bin").and_then(|stem| stem.split_once(".v")) else {
            continue;
        };
        if name == "record" {
            continue;
        }
        let found = Event::KINDS.iter().find(|(known, ..)| *known == name);
        let (_, kind, current) = found.unwrap_or_else(|| panic!("`{name}` was dropped from the vocabulary"));
        let version: u16 = version.parse().unwrap();
        let payloads = unpack(&read(&folder().join(&file)));
        let events: Vec<_> = payloads.iter().map(|payload| decoded(*kind, version, payload)).collect();
        read_fixtures += 1;
        if version == *current {
            continue;
        }
        let path = folder().join(format!("{name}.v{version}.as.v{current}.json"));
        if writing() {
            add(&path, &json(&events));
        }
        let expected: serde_json::Value = serde_json::from_slice(&read(&path)).unwrap();
        assert_eq!(serde_json::to_value(&events).unwrap(), expected, "{file} as version {current}");
    }
    assert!(writing() || read_fixtures >= Event::KINDS.len(), "{read_fixtures} fixtures");
}

#[test]
fn a_record_has_the_same_bytes_forever() {
    let path = folder().join("record.v1.bin");
    let golden = read(&path);
    let raw = codec::read_record(&golden).unwrap();
    let chain_before = Digest::of(b"before");
    assert!(raw.follows(chain_before));
    let mut bytes = Vec::new();
    codec::frame(&raw.envelope, chain_before, raw.payload, &mut bytes);
    assert_eq!(bytes, golden);
    // Its event is of a version that is not current any more; the fixtures of its type show what it says.
    let written: serde_json::Value = serde_json::from_slice(&read(&path.with_extension("json"))).unwrap();
    assert_eq!(serde_json::to_value(&raw.envelope).unwrap(), written["envelope"]);
    assert!(matches!(raw.decode().unwrap(), Decoded::Event(Event::MessageReceived(_))));
}

#[test]
fn samples_show_every_variant_of_the_longest_enum() {
    let nth = Event::KINDS.iter().position(|(name, ..)| *name == "ModelCallFailed").unwrap();
    let classes: std::collections::BTreeSet<_> = testing::samples(nth)
        .into_iter()
        .filter_map(|event| match event {
            Event::ModelCallFailed(failed) => Some(failed.failure.class),
            _ => None,
        })
        .collect();
    assert_eq!(classes.len(), herm_schema::events::FailureClass::Unknown as usize + 1);
}

#[test]
fn the_json_schema_is_that_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("events.schema.json");
    let schema = serde_json::to_string_pretty(&schemars::schema_for!(Recorded)).unwrap() + "\n";
    if writing() {
        fs::write(&path, &schema).unwrap();
    }
    let committed = String::from_utf8(read(&path)).unwrap();
    assert!(committed == schema, "events.schema.json is not that of the code; see the head of this test");
    for (name, ..) in Event::KINDS {
        assert!(schema.contains(&format!("\"{name}\"")), "{name} is missing");
    }
}

#[test]
fn numbers_of_kinds_are_given_once() {
    let mut kinds: Vec<_> = Event::KINDS.iter().map(|(_, kind, _)| kind).collect();
    kinds.dedup();
    assert_eq!(kinds.len(), Event::KINDS.len());
    assert!(kinds.is_sorted());
}
