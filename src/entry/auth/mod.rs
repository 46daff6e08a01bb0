//! `herm auth`: the keys and tokens that herm has, by fingerprint. A secret comes in here and is
//! never shown again.

mod add;
pub mod ask;
mod rests;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::time::Clockface;
use super::{Exit, Failure, Out, Start, engine};
use crate::config::Loaded;
use crate::providers::catalog::{Catalogue, Vendor};
use crate::providers::credentials::{self, Entry, Held, Store};
use crate::providers::resolve::{CUSTOM, HeldKey, Sources, held};
use crate::runtime::models::Rest;
use crate::runtime::{Clock, SystemClock};

/// Add, list and remove the keys and tokens of providers.
#[derive(Args, Debug)]
pub struct Auth {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    Add(add::Add),
    /// List what `herm auth add` was given.
    #[command(after_help = "\
Examples:
  herm auth list
  herm auth list openai --json")]
    List {
        /// Only this provider.
        provider: Option<String>,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Remove a key or token that `herm auth add` was given.
    #[command(after_help = "\
Examples:
  herm auth remove openai key-1a2b3c4d
  herm auth remove openai --all")]
    Remove {
        /// Whose it is.
        provider: String,
        /// Its fingerprint or label, as `herm auth list` shows it.
        #[arg(required_unless_present = "all")]
        which: Option<String>,
        /// All of this provider.
        #[arg(long, conflicts_with = "which")]
        all: bool,
    },
    /// Use keys again that rest because of a failure.
    #[command(after_help = "\
Examples:
  herm auth reset openai
  herm auth reset openai key-1a2b3c4d")]
    Reset {
        /// Whose they are.
        provider: String,
        /// Only the key of this fingerprint.
        credential: Option<String>,
    },
    /// Show every key that herm would use, where it is, and whether it rests.
    #[command(after_help = "\
Examples:
  herm auth status
  herm auth status anthropic --json")]
    Status {
        /// Only this provider.
        provider: Option<String>,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
}

pub fn run(arguments: &Auth, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::Add(arguments) => add::run(arguments, start, out)?,
        Action::List { provider, json } => list(provider.as_deref(), *json, start, out)?,
        Action::Remove { provider, which, all } => remove(provider, which.as_deref(), *all, start, out)?,
        Action::Reset { provider, credential } => reset(provider, credential.as_deref(), start, out)?,
        Action::Status { provider, json } => status(provider.as_deref(), *json, start, out)?,
    }
    out.end()?;
    Ok(Exit::Ok)
}

impl From<credentials::Error> for Failure {
    fn from(error: credentials::Error) -> Self {
        Self::new(Exit::Config, error)
    }
}

/// The vendor's own name for what a person calls it.
fn named(catalogue: &Catalogue, provider: &str) -> Result<Vendor, Failure> {
    let name = provider.trim().to_lowercase();
    let found = catalogue.vendor(&name).map_err(|error| Failure::new(Exit::Config, error))?;
    found.ok_or_else(|| {
        let message = format!("there is no provider `{provider}` in the catalogue");
        Failure::message(Exit::Usage, message).hint("herm model list")
    })
}

/// The entries of one provider or of all.
fn entries(store: &Store, vendor: Option<&Vendor>) -> Result<Vec<Entry>, Failure> {
    let own = |entry: &Entry| {
        vendor.is_none_or(|it| entry.provider == it.name || it.aliases.contains(&entry.provider))
    };
    Ok(store.read()?.into_iter().filter(own).collect())
}

fn list(provider: Option<&str>, json: bool, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let catalogue = engine::catalogue(&start.load(&[])?)?;
    let vendor = provider.map(|name| named(&catalogue, name)).transpose()?;
    let clock = Clockface::of(start);
    for entry in entries(&Store::of(start.home.root()), vendor.as_ref())? {
        if json {
            out.json(&as_json(&entry))?;
            continue;
        }
        let label = entry.label.as_ref().map(|label| format!(" `{label}`")).unwrap_or_default();
        let mut line = format!("{} {}{label}: {}", entry.provider, entry.fingerprint(), entry.described());
        if let Held::Oauth(tokens) = &entry.held
            && let Some(at) = tokens.expires_at
        {
            let until = clock.minute(herm_schema::Micros(at.saturating_mul(1_000_000)));
            line.push_str(&format!(", token until {until}"));
        }
        out.line(&line)?;
    }
    Ok(())
}

fn as_json(entry: &Entry) -> Value {
    let (kind, expires_at, quarantined) = match &entry.held {
        Held::Key { .. } => ("key", None, None),
        Held::Command { .. } => ("command", None, None),
        Held::Keyring { .. } => ("keyring", None, None),
        Held::Oauth(tokens) => ("oauth", tokens.expires_at, tokens.quarantined.clone()),
    };
    json!({
        "provider": entry.provider,
        "fingerprint": entry.fingerprint(),
        "label": entry.label,
        "kind": kind,
        "place": entry.described(),
        "added_at": entry.added_at,
        "expires_at": expires_at,
        "quarantined": quarantined,
    })
}

fn remove(
    provider: &str,
    which: Option<&str>,
    all: bool,
    start: &Start,
    out: &mut Out,
) -> Result<(), Failure> {
    let catalogue = engine::catalogue(&start.load(&[])?)?;
    let vendor = named(&catalogue, provider)?;
    let own = |entry: &Entry| entry.provider == vendor.name || vendor.aliases.contains(&entry.provider);
    let meant = |entry: &Entry| {
        all || which == Some(entry.fingerprint().as_str())
            || (which.is_some() && which == entry.label.as_deref())
    };
    let mut removed: Vec<String> = Vec::new();
    Store::of(start.home.root()).change(|entries| {
        entries.retain(|entry| {
            let keep = !(own(entry) && meant(entry));
            if !keep {
                removed.push(entry.fingerprint());
            }
            keep
        });
    })?;
    if removed.is_empty() {
        let message = format!("`{}` has no such key in auth.json", vendor.name);
        return Err(Failure::message(Exit::Failed, message).hint(format!("herm auth list {}", vendor.name)));
    }
    for fingerprint in removed {
        out.line(&format!("removed {fingerprint} of {}", vendor.name))?;
    }
    Ok(())
}

fn reset(provider: &str, credential: Option<&str>, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let catalogue = engine::catalogue(&start.load(&[])?)?;
    let name = match provider.trim() {
        CUSTOM => CUSTOM.to_owned(),
        provider => named(&catalogue, provider)?.name,
    };
    rests::reset(&start.home, &name, credential)?;
    out.line(&format!("{} of {name} may be used again", credential.unwrap_or("every key")))?;
    Ok(())
}

fn status(provider: Option<&str>, json: bool, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let loaded = start.load(&[])?;
    let catalogue = engine::catalogue(&loaded)?;
    let only = provider.map(|name| named(&catalogue, name)).transpose()?.map(|vendor| vendor.name);
    let credentials = rests::of(&start.home)?;
    let now = SystemClock.now();
    let names: Vec<String> = catalogue.names().map(str::to_owned).collect();
    let mut shown = Vec::new();
    for name in names.into_iter().filter(|name| only.as_ref().is_none_or(|only| only == name)) {
        let Some(vendor) = catalogue.vendor(&name).map_err(|error| Failure::new(Exit::Config, error))? else {
            continue;
        };
        for key in keys(&vendor, &loaded, &catalogue)? {
            let rest = credentials.rest(&vendor.name, &key.fingerprint, now);
            shown.push((vendor.name.clone(), key.fingerprint.clone()));
            let (place, label) = (key.place.as_str(), key.label.as_deref());
            Standing { provider: &vendor.name, fingerprint: &key.fingerprint, place, label, rest }
                .show(json, start, out)?;
        }
    }
    // Keys that rest and are not here any more, or belong to an address that no vendor has.
    for (provider, fingerprint) in credentials.resting(now) {
        let known = shown.iter().any(|(p, f)| p == provider && f == fingerprint);
        if !known && only.as_ref().is_none_or(|only| only == provider) {
            let rest = credentials.rest(provider, fingerprint, now);
            Standing { provider, fingerprint, place: "known from the log", label: None, rest }
                .show(json, start, out)?;
        }
    }
    Ok(())
}

/// A key and whether it can be used.
struct Standing<'a> {
    provider: &'a str,
    fingerprint: &'a str,
    place: &'a str,
    label: Option<&'a str>,
    rest: Option<Rest>,
}

impl Standing<'_> {
    fn show(&self, json: bool, start: &Start, out: &mut Out) -> Result<(), Failure> {
        let Self { provider, fingerprint, place, label, rest } = self;
        if json {
            let rest =
                rest.map(|rest| json!({"class": format!("{:?}", rest.class), "until_us": rest.until.0}));
            out.json(&json!({
                "provider": provider, "fingerprint": fingerprint, "place": place, "label": label, "rests": rest,
            }))?;
            return Ok(());
        }
        let label = label.map(|label| format!(" `{label}`")).unwrap_or_default();
        let state = match rest {
            Some(rest) if rest.until.0 == i64::MAX => {
                format!("rests until `herm auth reset` ({:?})", rest.class)
            }
            Some(rest) => {
                format!("rests until {} ({:?})", Clockface::of(start).minute(rest.until), rest.class)
            }
            None => "ready".to_owned(),
        };
        out.line(&format!("{provider} {fingerprint}{label}: {place}; {state}"))?;
        Ok(())
    }
}

/// Every key for a vendor, as a model call would find them.
fn keys(vendor: &Vendor, loaded: &Loaded, catalogue: &Catalogue) -> Result<Vec<HeldKey>, Failure> {
    let store = Store::of(loaded.home.root());
    let variables = |name: &str| engine::key(loaded, name);
    let at = Sources {
        keys: &variables,
        catalogue,
        store: Some(&store),
        witness: None,
        local_servers: false,
        keys_needed: false,
    };
    held(vendor, at).map_err(|error| Failure::new(Exit::Config, error))
}

#[cfg(test)]
mod tests;
