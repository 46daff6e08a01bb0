//! The row of platforms: a name, what its section of the configuration holds, how it is made.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Platform;
use crate::config::Secret;

/// What an adapter reads of the configuration: the section `platforms.NAME`, with the environment
/// variables of the row laid over it.
#[derive(Clone, Debug, Default)]
pub struct Section {
    values: std::collections::BTreeMap<String, Given>,
    folder: Option<PathBuf>,
}

#[derive(Clone, Debug)]
enum Given {
    Text(String),
    Secret(Secret),
}

impl Section {
    pub fn set(&mut self, field: &Field, value: &str) {
        let given = match field.secret {
            true => Given::Secret(Secret::new(value)),
            false => Given::Text(value.to_owned()),
        };
        self.values.insert(field.name.to_owned(), given);
    }

    /// The adapter may keep what is its own here: what neither the log nor the platform can hold.
    pub fn keep_in(&mut self, folder: PathBuf) {
        self.folder = Some(folder);
    }

    /// Where the adapter may keep what is its own; it may not exist yet.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// A setting that is no secret; `None` if it is not set or empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.values.get(name) {
            Some(Given::Text(text)) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    pub fn secret(&self, name: &str) -> Option<&Secret> {
        match self.values.get(name) {
            Some(Given::Secret(secret)) => Some(secret),
            _ => None,
        }
    }

    /// The values of a list: separated by commas.
    pub fn list(&self, name: &str) -> Vec<String> {
        let words = self.text(name).unwrap_or_default().split(',');
        words.map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
    }

    /// # Errors
    /// Which setting is missing, and the variable that sets it.
    pub fn needed(&self, row: &Row, name: &str) -> Result<&Secret, Misconfigured> {
        self.secret(name).ok_or_else(|| row.missing(name))
    }
}

/// A setting of a platform.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Below `platforms.NAME` in `config.yaml`.
    pub name: &'static str,
    /// The variable that sets it.
    pub env: &'static str,
    pub secret: bool,
    pub doc: &'static str,
}

/// Makes a platform of what is configured.
pub type Make = fn(&Row, &Section) -> Result<Arc<dyn Platform>, Misconfigured>;

/// A platform that can be had.
pub struct Row {
    pub name: &'static str,
    /// One sentence for `herm platforms`.
    pub about: &'static str,
    pub fields: &'static [Field],
    /// The settings without which it is not switched on.
    pub needs: &'static [&'static str],
    /// How a person gets what it needs, step by step, for `herm gateway setup`.
    pub setup: &'static str,
    pub make: Make,
}

impl Row {
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    pub fn missing(&self, name: &str) -> Misconfigured {
        let variable = self.field(name).map_or("", |field| field.env);
        Misconfigured {
            platform: self.name,
            reason: format!("`platforms.{}.{name}` is not set", self.name),
            fix: format!("set `{variable}` in .env"),
        }
    }
}

/// A platform cannot be made as it is configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{platform}: {reason}")]
pub struct Misconfigured {
    pub platform: &'static str,
    pub reason: String,
    pub fix: String,
}

/// Every platform that can be switched on.
pub const PLATFORMS: &[Row] = &[
    super::telegram::ROW,
    super::discord::ROW,
    super::slack::ROW,
    super::matrix::ROW,
    super::email::ROW,
    super::webhook::ROW,
    crate::api::settings::ROW,
];
