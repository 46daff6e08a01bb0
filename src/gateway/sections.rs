//! Which platforms are switched on, each with its section of the configuration and the variables over it.

use std::sync::Arc;

use serde_json::Value;

use crate::config::{Loaded, Secret};
use crate::platforms::Platform;
use crate::platforms::table::{Misconfigured, PLATFORMS, Row, Section};

/// A platform that is switched on.
pub struct Found {
    pub name: &'static str,
    pub made: Result<Arc<dyn Platform>, Misconfigured>,
}

/// The platforms that are switched on: all that they need is set, or a section stands there.
pub fn found(loaded: &Loaded) -> Vec<Found> {
    PLATFORMS.iter().filter_map(|row| find(loaded, row)).collect()
}

/// One platform, if it is switched on.
pub fn find(loaded: &Loaded, row: &'static Row) -> Option<Found> {
    let section = section(loaded, row);
    is_on(loaded, row, &section).then(|| Found { name: row.name, made: make(row, &section) })
}

fn make(row: &Row, section: &Section) -> Result<Arc<dyn Platform>, Misconfigured> {
    for name in row.needs {
        if section.secret(name).is_none() && section.text(name).is_none() {
            return Err(row.missing(name));
        }
    }
    (row.make)(row, section)
}

/// Whether a platform is switched on.
pub fn is_on(loaded: &Loaded, row: &Row, section: &Section) -> bool {
    let written = loaded.config.gateway.platforms.get(row.name);
    match written.and_then(|written| written.get("enabled")) {
        Some(Value::Bool(on)) => *on,
        Some(Value::String(on)) => matches!(on.as_str(), "true" | "yes" | "on"),
        _ => {
            let set = |name: &&str| section.secret(name).is_some() || section.text(name).is_some();
            written.is_some() || (!row.needs.is_empty() && row.needs.iter().all(set))
        }
    }
}

/// What an adapter reads.
pub fn section(loaded: &Loaded, row: &Row) -> Section {
    let written = loaded.config.gateway.platforms.get(row.name);
    let mut section = Section::default();
    section.keep_in(loaded.home.platform_dir(row.name));
    for field in row.fields {
        let value = loaded.environment.get(field.env).map(str::to_owned);
        let value = value.or_else(|| written.and_then(|written| written.get(field.name)).and_then(as_text));
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            section.set(field, &value);
        }
    }
    section
}

/// The secrets of all platforms, which nothing may show.
pub fn secrets(loaded: &Loaded) -> Vec<Secret> {
    let of = |row: &'static Row| {
        let section = section(loaded, row);
        let fields = row.fields.iter().filter(|field| field.secret);
        fields.filter_map(|field| section.secret(field.name).cloned()).collect::<Vec<_>>()
    };
    let mut secrets: Vec<Secret> = PLATFORMS.iter().flat_map(of).collect();
    inner(&loaded.config.gateway.platforms, &mut secrets);
    secrets
}

/// What is called a secret, wherever it stands in the sections.
fn inner(value: &Value, found: &mut Vec<Secret>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| match (is_secret(name), value) {
            (true, Value::String(text)) if !text.is_empty() => found.push(Secret::new(text)),
            _ => inner(value, found),
        }),
        Value::Array(items) => items.iter().for_each(|item| inner(item, found)),
        _ => {}
    }
}

fn is_secret(name: &str) -> bool {
    ["secret", "token", "password", "api_key"].iter().any(|word| name.contains(word)) || name == "key"
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(yes.to_string()),
        Value::Array(items) => Some(items.iter().filter_map(as_text).collect::<Vec<_>>().join(",")),
        Value::Object(_) => Some(value.to_string()),
        Value::Null => None,
    }
}
