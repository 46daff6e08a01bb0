//! Events as JSON, a self-describing object a line. This is the archival form.
//!
//! `{"position":41,"stream":"session-…",…,"event":"MessageReceived","payload":{…}}`: the fields of the
//! envelope, the event's name and its payload, as `schema/events.schema.json` describes them. With
//! blobs there is `blobs`: for each hash that the payload names `{"text":…}`, or `{"hex":…}` if it is
//! not UTF-8, or `{"missing":true}`.

use std::io::Write;

use herm_schema::{BlobRef, Micros, Position, Recorded, SessionId, StreamPos};
use serde_json::{Map, Value, json};

use crate::log::{Error, Log, Records};

/// Which events are exported.
pub struct Events {
    pub session: Option<SessionId>,
    pub since: Option<Micros>,
    pub with_blobs: bool,
}

/// Writes them, oldest first.
///
/// # Errors
/// Those of the log and of the writer.
pub fn write(log: &dyn Log, chosen: &Events, out: &mut dyn Write) -> anyhow::Result<()> {
    let records: Records<'_> = match chosen.session {
        Some(session) => log.read_stream(session.stream(), StreamPos(1)),
        None => log.read_all(Position(1)),
    };
    for recorded in records {
        let recorded = recorded?;
        if chosen.since.is_some_and(|since| recorded.envelope.recorded_at < since) {
            continue;
        }
        let mut object = object(&recorded)?;
        if chosen.with_blobs {
            add_blobs(log, &mut object)?;
        }
        serde_json::to_writer(&mut *out, &object)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// An event as an object.
///
/// # Errors
/// When it is no JSON, which no event is.
pub fn object(recorded: &Recorded) -> serde_json::Result<Value> {
    let mut object = serde_json::to_value(&recorded.envelope)?;
    let tagged = serde_json::to_value(&recorded.event)?;
    let payload = tagged.as_object().and_then(|tagged| tagged.values().next()).cloned();
    if let Some(object) = object.as_object_mut() {
        object.insert("event".to_owned(), json!(recorded.event.name()));
        object.insert("payload".to_owned(), payload.unwrap_or_default());
    }
    Ok(object)
}

fn add_blobs(log: &dyn Log, object: &mut Value) -> Result<(), Error> {
    let mut named = Vec::new();
    find_blobs(object.get("payload").unwrap_or(&Value::Null), &mut named);
    let mut blobs = Map::new();
    for blob in named {
        let content = match log.blob(blob) {
            Ok(bytes) => content(bytes),
            Err(Error::BlobMissing { .. }) => json!({ "missing": true }),
            Err(error) => return Err(error),
        };
        blobs.insert(blob.hash.to_string(), content);
    }
    if let Some(object) = object.as_object_mut().filter(|_| !blobs.is_empty()) {
        object.insert("blobs".to_owned(), Value::Object(blobs));
    }
    Ok(())
}

fn content(bytes: Vec<u8>) -> Value {
    match String::from_utf8(bytes) {
        Ok(text) => json!({ "text": text }),
        Err(error) => {
            let hex: String = error.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "hex": hex })
        }
    }
}

/// References look alike wherever they stand: `{"hash":…,"bytes":…}` and nothing else.
fn find_blobs(value: &Value, found: &mut Vec<BlobRef>) {
    match value {
        Value::Object(fields) => {
            let reference =
                (fields.len() == 2).then(|| serde_json::from_value::<BlobRef>(value.clone()).ok());
            match reference.flatten() {
                Some(blob) => found.push(blob),
                None => fields.values().for_each(|value| find_blobs(value, found)),
            }
        }
        Value::Array(values) => values.iter().for_each(|value| find_blobs(value, found)),
        _ => {}
    }
}
