//! What is needed to choose a vendor, read without parsing its file.
//!
//! A built-in file gives these fields on one line each, before its first table; a test compares
//! every heading with its file as a TOML parser reads it.

use super::Vendor;

/// The beginning of a vendor's file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heading {
    pub name: String,
    pub aliases: Vec<String>,
    pub base_url: String,
    pub key_variables: Vec<String>,
    pub model_prefixes: Vec<String>,
    pub local: bool,
    pub by_name_only: bool,
    pub oauth: bool,
}

impl Heading {
    pub(super) fn of(vendor: &Vendor) -> Self {
        Self {
            name: vendor.name.clone(),
            aliases: vendor.aliases.clone(),
            base_url: vendor.base_url.clone(),
            key_variables: vendor.key_variables.clone(),
            model_prefixes: vendor.model_prefixes.clone(),
            local: vendor.local,
            by_name_only: vendor.by_name_only,
            oauth: vendor.oauth,
        }
    }

    pub(super) fn of_text(name: &str, text: &str) -> Self {
        let mut heading = Self { name: name.to_owned(), ..Self::default() };
        for line in text.lines().take_while(|line| !line.starts_with('[')) {
            let Some((field, value)) = line.split_once(" = ") else { continue };
            match field {
                "aliases" => heading.aliases = quoted(value),
                "base_url" => heading.base_url = quoted(value).pop().unwrap_or_default(),
                "key_variables" => heading.key_variables = quoted(value),
                "model_prefixes" => heading.model_prefixes = quoted(value),
                "local" => heading.local = value == "true",
                "by_name_only" => heading.by_name_only = value == "true",
                "oauth" => heading.oauth = value == "true",
                _ => {}
            }
        }
        heading
    }

    /// Whether the model's name begins like one of its own.
    pub fn owns(&self, model: &str) -> bool {
        self.model_prefixes.iter().any(|prefix| model.starts_with(prefix.as_str()))
    }

    /// Without user, port and path, in lower case.
    pub fn host(&self) -> &str {
        self.base_url.split("://").nth(1).and_then(|rest| rest.split(['/', ':']).next()).unwrap_or_default()
    }
}

/// The texts between double quotes.
fn quoted(value: &str) -> Vec<String> {
    value.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}
