//! Who we are to a vendor: every key there is for it, in variables and in `auth.json`.

use std::sync::Arc;

use super::{Keys, Sources};
use crate::config::Secret;
use crate::providers::Error;
use crate::providers::catalog::{Heading, Vendor};
use crate::providers::credentials::{Entry, Fetch, Held, Oauth, Source, Store, Witness};

/// Further keys of one variable are in `NAME_2` to `NAME_9`.
const NUMBERS: std::ops::RangeInclusive<u8> = 2..=9;

/// One key, named by its fingerprint; the key itself may have to be fetched.
#[derive(Clone)]
pub struct HeldKey {
    pub fingerprint: String,
    /// Where it is: the variable, or what kind of entry of `auth.json`.
    pub place: String,
    pub label: Option<String>,
    pub(super) kind: Kind,
    /// The variable that it was found in, for the scheme that belongs to it.
    pub(super) variable: Option<String>,
    /// `_2` and so on, which the variables that belong to it bear too.
    pub(super) suffix: String,
}

#[derive(Clone)]
pub(super) enum Kind {
    Known(Secret),
    Fetched(Arc<dyn Source>),
}

/// A variable that is set and not blank.
pub(super) fn filled(variable: &str, keys: Keys<'_>) -> Option<Secret> {
    keys(variable).filter(|secret| !secret.reveal().trim().is_empty())
}

/// The scheme for a key where the vendor is spoken to in its own wire format: its variable's, else
/// the vendor's.
pub(super) fn scheme_of<'a>(key: &HeldKey, vendor: &'a Vendor) -> &'a str {
    let own = key.variable.as_ref().and_then(|variable| vendor.auth_of.get(variable));
    own.unwrap_or(&vendor.auth)
}

/// The variable and its numbered ones.
fn numbered(variable: &str) -> impl Iterator<Item = (String, String)> {
    let plain = (variable.to_owned(), String::new());
    let more = NUMBERS.map(move |number| (format!("{variable}_{number}"), format!("_{number}")));
    [plain].into_iter().chain(more.collect::<Vec<_>>())
}

/// Every key for `vendor`, each once, in the order in which they are found: variables first.
///
/// # Errors
/// [`Error::Credentials`] if `auth.json` cannot be read.
pub fn held(vendor: &Vendor, at: Sources<'_>) -> Result<Vec<HeldKey>, Error> {
    let mut found: Vec<HeldKey> = Vec::new();
    for (variable, suffix) in vendor.key_variables.iter().flat_map(|name| numbered(name)) {
        let Some(secret) = filled(&variable, at.keys) else { continue };
        let base = variable.strip_suffix(suffix.as_str()).unwrap_or(&variable).to_owned();
        found.push(HeldKey {
            fingerprint: secret.fingerprint(),
            place: variable,
            label: None,
            kind: Kind::Known(secret),
            variable: Some(base),
            suffix,
        });
    }
    if let Some(store) = at.store {
        found.extend(stored(vendor, store, at.witness)?);
    }
    let mut names: Vec<String> = Vec::new();
    found.retain(|key| {
        let new = !names.contains(&key.fingerprint);
        names.push(key.fingerprint.clone());
        new
    });
    Ok(found)
}

fn stored(vendor: &Vendor, store: &Store, witness: Option<&Arc<dyn Witness>>) -> Result<Vec<HeldKey>, Error> {
    let entries = store.read().map_err(|error| Error::Credentials { reason: error.to_string() })?;
    let own = |entry: &Entry| entry.provider == vendor.name || vendor.aliases.contains(&entry.provider);
    let key = |entry: Entry| HeldKey {
        fingerprint: entry.fingerprint(),
        place: entry.described(),
        label: entry.label.clone(),
        kind: match entry.held {
            Held::Key { secret } => Kind::Known(secret),
            Held::Command { command } => Kind::Fetched(Arc::new(Fetch::command(&command))),
            Held::Keyring { service, user } => Kind::Fetched(Arc::new(Fetch::keyring(&service, &user))),
            Held::Oauth(_) => Kind::Fetched(Arc::new(account(store, entry.id, witness))),
        },
        variable: None,
        suffix: String::new(),
    };
    Ok(entries.into_iter().filter(own).map(key).collect())
}

fn account(store: &Store, id: String, witness: Option<&Arc<dyn Witness>>) -> Oauth {
    let account = Oauth::new(store.clone(), id);
    match witness.map(Arc::clone) {
        Some(witness) => account.observed(Arc::new(move |refreshed| witness.refreshed(refreshed))),
        None => account,
    }
}

/// Where the first key for a vendor is; nothing but its heading is needed to tell.
pub(super) fn first(heading: &Heading, entries: &[Entry], keys: Keys<'_>) -> Option<String> {
    let variable = heading
        .key_variables
        .iter()
        .flat_map(|name| numbered(name))
        .find_map(|(variable, _)| filled(&variable, keys).map(|_| format!("{variable} is set")));
    variable.or_else(|| {
        let own =
            |entry: &&Entry| entry.provider == heading.name || heading.aliases.contains(&entry.provider);
        entries.iter().find(own).map(|_| format!("auth.json has a credential of `{}`", heading.name))
    })
}
