//! Vendors' own lists of models, as they were when they were last asked for: a file each in
//! `cache/models/` of the home. Derived data; may be deleted.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::config;
use crate::providers::dialects::ListedModel;

/// Largest file that is read, in bytes.
const BYTES_MAX: u64 = 16 << 20;

/// What a vendor listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// RFC 3339.
    pub fetched_at: String,
    pub models: Vec<ListedModel>,
}

fn path(home: &Path, vendor: &str) -> Option<PathBuf> {
    // The name becomes a file's: nothing that leads out of the folder.
    let plain = !vendor.is_empty()
        && !vendor.starts_with('.')
        && vendor.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    plain.then(|| home.join("cache").join("models").join(format!("{vendor}.json")))
}

/// The list, if there is one that can be read. A damaged one counts as none.
pub(super) fn read(home: &Path, vendor: &str) -> Option<Listed> {
    let path = path(home, vendor)?;
    if std::fs::metadata(&path).ok()?.len() > BYTES_MAX {
        return None;
    }
    let value: Value = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
    let tokens = |value: Option<&Value>| value.and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
    let model = |value: &Value| {
        Some(ListedModel {
            name: value.get("name")?.as_str()?.to_owned(),
            context_window_tokens: tokens(value.get("context_window")),
            output_tokens_max: tokens(value.get("output_max")),
            images: value.get("images").and_then(Value::as_bool),
        })
    };
    Some(Listed {
        fetched_at: value.get("fetched_at").and_then(Value::as_str).unwrap_or_default().to_owned(),
        models: value.get("models")?.as_array()?.iter().filter_map(model).collect(),
    })
}

/// Puts the list in the place of the one before.
///
/// # Errors
/// [`config::Error::Io`].
pub fn write(home: &Path, vendor: &str, listed: &Listed) -> Result<(), config::Error> {
    let named = std::io::Error::other("its name makes no file name");
    let path = path(home, vendor).ok_or_else(|| config::Error::Io {
        operation: "write a list of models for",
        path: vendor.into(),
        source: named,
    })?;
    if let Some(folder) = path.parent() {
        let failed = |source| config::Error::Io { operation: "make", path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let model = |model: &ListedModel| {
        json!({
            "name": model.name,
            "context_window": model.context_window_tokens,
            "output_max": model.output_tokens_max,
            "images": model.images,
        })
    };
    let models: Vec<Value> = listed.models.iter().map(model).collect();
    let value = json!({"fetched_at": listed.fetched_at, "models": models});
    config::write_atomically(&path, &format!("{value:#}\n"))
}
