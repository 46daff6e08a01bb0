//! Every vendor that there is a key for, in the order in which one is asked that nobody named: for calls
//! besides the conversation, and only where the person has said that any vendor may hear of it.
//!
//! Source: the resolution chain of the auxiliary client in the seeds: after the session's own provider
//! OpenRouter, Nous, the own endpoint (which is the session's own here), Anthropic, then whoever has a key.

use super::keys::first;
use super::{Resolved, Sources, Wanted, resolve_at};
use crate::providers::Error;

/// Asked before all others: gateways that have a model for everything, and Anthropic.
const BEFORE: [&str; 3] = ["openrouter", "nous", "anthropic"];
/// Never asked: which models an account of ChatGPT may use is told nowhere and changes, so that any name
/// would be wrong some day.
const LEFT_OUT: [&str; 1] = ["openai-codex"];

/// Those that can be asked without looking anything up, but for the ones in `asked_anyway`.
///
/// # Errors
/// `auth.json` cannot be read.
pub async fn any_vendor(asked_anyway: &[&str], at: Sources<'_>) -> Result<Vec<Resolved>, Error> {
    let entries = match at.store {
        Some(store) => store.read().map_err(|error| Error::Credentials { reason: error.to_string() })?,
        None => Vec::new(),
    };
    let mut names: Vec<String> = at
        .catalogue
        .headings()
        .filter(|heading| {
            !heading.local && !heading.by_name_only && first(heading, &entries, at.keys).is_some()
        })
        .map(|heading| heading.name)
        .filter(|name| !LEFT_OUT.contains(&name.as_str()) && !asked_anyway.contains(&name.as_str()))
        .collect();
    names.sort_by_key(|name| BEFORE.iter().position(|known| known == name).unwrap_or(BEFORE.len()));
    let at = Sources { local_servers: false, ..at };
    let mut found = Vec::new();
    for name in names {
        // Without a usual model its server would have to be asked at every start.
        let has_model = at.catalogue.vendor(&name)?.is_some_and(|vendor| vendor.model.is_some());
        if !has_model {
            continue;
        }
        match resolve_at(&Wanted { provider: Some(name), ..Wanted::default() }, at).await {
            Ok(resolved) => found.push(resolved),
            // It was not asked for, so it is missed by nobody.
            Err(error) => tracing::debug!(%error, "a vendor with a key cannot be asked"),
        }
    }
    Ok(found)
}
