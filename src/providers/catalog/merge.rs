//! Lays a person's fields over the built-in ones.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::providers::Error;

/// The TOML files of a folder with the names that they stand for, in the order of names.
pub(super) fn files(folder: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<(String, PathBuf)> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_lowercase(), path)))
        .collect();
    found.sort();
    found
}

/// Reads one file; the name is the file's, whatever it says itself.
pub(super) fn read(name: &str, path: &Path) -> Result<Value, Error> {
    let bad = |reason: String| Error::BadVendor { place: path.display().to_string(), reason };
    let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    let mut fields = parse(&text).map_err(bad)?;
    if let Value::Object(fields) = &mut fields {
        fields.insert("name".to_owned(), name.into());
    }
    Ok(fields)
}

pub(super) fn parse(text: &str) -> Result<Value, String> {
    toml::from_str::<Value>(text).map_err(|error| error.to_string().trim_end().to_owned())
}

/// What a vendor begins with that is not built in.
pub(super) fn empty(name: &str) -> Value {
    json!({"name": name})
}

/// `fields` over `below`: tables field by field, models by their names, anything else whole.
pub(super) fn over(below: Value, fields: Value) -> Value {
    match (below, fields) {
        (Value::Object(mut below), Value::Object(fields)) => {
            for (name, value) in fields {
                let value = match (name.as_str(), below.remove(&name)) {
                    ("models", Some(Value::Array(models))) => models_over(models, value),
                    // Alternatives of one another, not parts of a whole.
                    ("prices", _) | (_, None) => value,
                    (_, Some(below)) => over(below, value),
                };
                below.insert(name, value);
            }
            Value::Object(below)
        }
        (_, fields) => fields,
    }
}

fn models_over(mut below: Vec<Value>, value: Value) -> Value {
    let Value::Array(models) = value else { return value };
    for model in models {
        let same = |known: &&mut Value| known.get("name").is_some() && known.get("name") == model.get("name");
        match below.iter_mut().find(same) {
            Some(known) => *known = over(known.take(), model),
            None => below.push(model),
        }
    }
    Value::Array(below)
}

/// Says of each model and each price that it is a person's.
pub(super) fn marked(mut fields: Value) -> Value {
    let models = fields.get_mut("models").and_then(Value::as_array_mut);
    for model in models.into_iter().flatten().filter_map(Value::as_object_mut) {
        model.insert("own_window".to_owned(), model.contains_key("context_window").into());
        model.insert("own_prices".to_owned(), model.contains_key("prices").into());
    }
    fields
}
