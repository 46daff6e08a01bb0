//! Where requests go: a provider that was named, an address that was named, or the first for which
//! there is a key.

use std::collections::BTreeMap;

use super::keys::{HeldKey, Kind, filled, first, held, scheme_of};
use super::place::Place;
use super::{CUSTOM, CUSTOM_KEY_VARIABLE, Sources, Wanted};
use crate::providers::catalog::{Heading, Vendor};
use crate::providers::http::auth::{google_project, vertex};
use crate::providers::probe::Found;
use crate::providers::{Error, offline};

/// Azure and Vertex AI in the catalogue.
const AZURE: &str = "azure-foundry";
const VERTEX: &str = "vertex";

/// How alike a name must be to be suggested, from 0 to 1.
const SUGGESTION_LIKENESS_MIN: f64 = 0.6;

/// Where requests go, before model and wire format are known.
pub(super) struct Target {
    pub vendor: Vendor,
    /// Placeholders filled.
    pub base_url: String,
    /// What filled them.
    pub placeholders: BTreeMap<String, String>,
    /// What they stand for, also where the address has none: a signature names the region all the same.
    pub known: BTreeMap<String, String>,
    /// The address is not the vendor's own.
    pub moved: bool,
    pub keys: Vec<HeldKey>,
    /// What a server said of the model that it has.
    pub found: Option<Found>,
    pub why: String,
}

impl Target {
    /// The target for this model: at Vertex AI each maker of models has an address of its own.
    ///
    /// # Errors
    /// [`Error::BadBaseUrl`] for a project or a location that cannot be in an address.
    pub(super) fn for_model(mut self, model: &str) -> Result<Self, Error> {
        let filled = |name: &str| self.placeholders.get(name);
        if let (vertex::TEMPLATE, Some(project), Some(region)) =
            (self.vendor.base_url.as_str(), filled("project"), filled("region"))
        {
            let publisher = vertex::Publisher::of_model(model);
            let url = vertex::base_url(project, region, publisher).ok_or_else(|| Error::BadBaseUrl {
                url: self.vendor.base_url.clone(),
                reason: format!("there is no project `{project}` in a location `{region}`"),
            })?;
            self.base_url = url;
        }
        Ok(self)
    }
}

/// As people write names.
pub(super) fn clean(name: &str) -> String {
    name.trim().to_lowercase()
}

/// A vendor of which nothing is known but its name.
pub(super) fn custom(name: &str) -> Vendor {
    Vendor {
        name: name.to_owned(),
        title: String::new(),
        aliases: Vec::new(),
        base_url: String::new(),
        base_url_variables: Vec::new(),
        dialect: "chat_completions".to_owned(),
        auth: "bearer".to_owned(),
        auth_of: BTreeMap::new(),
        key_variables: vec![CUSTOM_KEY_VARIABLE.to_owned()],
        model: None,
        model_prefixes: Vec::new(),
        context_window: None,
        output_max: None,
        models_list: true,
        local: true,
        oauth: false,
        oauth_client_id: None,
        oauth_token_url: None,
        by_name_only: false,
        unavailable: None,
        as_of: String::new(),
        source: String::new(),
        quirks: serde_json::Map::new(),
        quirks_of: BTreeMap::new(),
        headers: BTreeMap::new(),
        placeholders: BTreeMap::new(),
        models: Vec::new(),
    }
}

/// Somebody's server at this address; where it is a vendor's, spoken to as that vendor is, with the
/// key that belongs to addresses.
fn custom_at(base_url: Option<&str>, at: Sources<'_>) -> Result<Vendor, Error> {
    let known = base_url.and_then(|url| at_address(url, at));
    let known = known.map(|name| at.catalogue.vendor(&name)).transpose()?.flatten();
    let usual = custom(CUSTOM);
    Ok(match known {
        None => usual,
        Some(known) => Vendor {
            dialect: known.dialect,
            auth_of: for_one_key(&known.auth),
            auth: known.auth,
            quirks: known.quirks,
            quirks_of: known.quirks_of,
            headers: known.headers,
            ..usual
        },
    })
}

/// The key that belongs to addresses stands alone: where requests are signed with several, or with a
/// file, it is a token, which is taken there just as well.
fn for_one_key(auth: &str) -> BTreeMap<String, String> {
    let signed = matches!(auth, "sigv4" | "google");
    signed.then(|| (CUSTOM_KEY_VARIABLE.to_owned(), "bearer".to_owned())).into_iter().collect()
}

/// What was asked for, or what a key stands for; `None` if there is neither.
pub(super) fn asked_for(wanted: &Wanted, at: Sources<'_>) -> Result<Option<Target>, Error> {
    match (wanted.provider.as_deref().map(clean), wanted.base_url.as_deref()) {
        (Some(name), base_url) => by_name(&name, base_url, at).map(Some),
        (None, Some(base_url)) => by_address(base_url, at).map(Some),
        (None, None) => by_key(wanted.model.as_deref(), at),
    }
}

/// A local server that was found.
pub(super) fn found(found: Found, why: String, at: Sources<'_>) -> Result<Target, Error> {
    let vendor = at.catalogue.vendor(&found.name)?.unwrap_or_else(|| custom(&found.name));
    let keys = keys_of(&vendor, at)?;
    let base_url = found.base_url.clone();
    Ok(Target {
        base_url,
        placeholders: BTreeMap::new(),
        known: BTreeMap::new(),
        moved: false,
        keys,
        found: Some(found),
        why,
        vendor,
    })
}

/// Its own keys; for a server of one's own the key of `model.api_key` as well.
fn keys_of(vendor: &Vendor, at: Sources<'_>) -> Result<Vec<HeldKey>, Error> {
    let mut vendor = vendor.clone();
    if vendor.local && !vendor.key_variables.iter().any(|name| name == CUSTOM_KEY_VARIABLE) {
        vendor.key_variables.push(CUSTOM_KEY_VARIABLE.to_owned());
    }
    held(&vendor, at)
}

/// A provider that was named, at its own address or another.
fn by_name(name: &str, base_url: Option<&str>, at: Sources<'_>) -> Result<Target, Error> {
    let why = format!("provider `{name}` was asked for");
    let vendor = match at.catalogue.vendor(name)? {
        Some(vendor) => vendor,
        None if name == CUSTOM => custom_at(base_url, at)?,
        None => return Err(unknown(name, at)),
    };
    if vendor.name == CUSTOM && base_url.is_none() {
        return Err(Error::BaseUrlMissing { provider: name.to_owned() });
    }
    of_vendor(vendor, base_url, why, at)
}

/// An address that was named: a vendor's own, or somebody's.
fn by_address(base_url: &str, at: Sources<'_>) -> Result<Target, Error> {
    let why = format!("the base URL `{}` was asked for", without_login(base_url.trim()));
    let vendor = match at_address(base_url, at) {
        Some(name) => at.catalogue.vendor(&name)?,
        None => None,
    };
    let Some(mut vendor) = vendor else { return of_vendor(custom(CUSTOM), Some(base_url), why, at) };
    let mut keys = keys_of(&vendor, at)?;
    if keys.is_empty() {
        // The key that was given along with an address is meant for it, whoever's it is.
        vendor.auth_of.extend(for_one_key(&vendor.auth));
        let variables = vec![CUSTOM_KEY_VARIABLE.to_owned()];
        keys = held(&Vendor { key_variables: variables, ..vendor.clone() }, at)?;
    }
    let base_url = base_url.trim().to_owned();
    let known = filled_in(&vendor, &base_url, &keys, at)?.known;
    let placeholders = BTreeMap::new();
    Ok(Target { vendor, base_url, placeholders, known, moved: false, keys, found: None, why })
}

fn without_login(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        _ => url.to_owned(),
    }
}

/// The vendor whose address this is: by its host, then by the longest beginning of its path.
fn at_address(base_url: &str, at: Sources<'_>) -> Option<String> {
    let place = Place::of(base_url);
    // Their hosts have more forms than one template.
    let by_form = [(place.is_azure(), AZURE), (place.is_vertex(), VERTEX)];
    if let Some((_, name)) = by_form.iter().find(|(is, name)| *is && at.catalogue.name_of(name).is_some()) {
        return Some((*name).to_owned());
    }
    let (host, path) = split(base_url.trim());
    let mut best: Option<(usize, String)> = None;
    for heading in at.catalogue.headings().filter(|heading| !heading.local) {
        let (own_host, own_path) = split(&heading.base_url);
        if !is_host(&own_host, &host) {
            continue;
        }
        let shared = if path.starts_with(&own_path) { own_path.len() + 1 } else { 0 };
        if best.as_ref().is_none_or(|(longest, _)| shared > *longest) {
            best = Some((shared, heading.name));
        }
    }
    best.map(|(_, name)| name)
}

/// Host with port, in lower case, and path.
fn split(url: &str) -> (String, String) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    (host.to_lowercase(), path.trim_end_matches('/').to_owned())
}

/// Whether `host` is `own`, in which a placeholder stands for anything.
fn is_host(own: &str, host: &str) -> bool {
    match own.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?.1))) {
        None => !own.is_empty() && own == host,
        Some((before, after)) => host
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after))
            .is_some_and(|rest| !rest.is_empty()),
    }
}

/// The first vendor for which there is a key; one whose own model is asked for comes before.
fn by_key(model: Option<&str>, at: Sources<'_>) -> Result<Option<Target>, Error> {
    let entries = match at.store {
        Some(store) => store.read().map_err(|error| Error::Credentials { reason: error.to_string() })?,
        None => Vec::new(),
    };
    let headings: Vec<Heading> = at.catalogue.headings().filter(|heading| !heading.local).collect();
    let owners = headings.iter().filter(|heading| model.is_some_and(|model| heading.owns(model)));
    let others = headings.iter().filter(|heading| !heading.by_name_only);
    for heading in owners.chain(others) {
        let Some(why) = first(heading, &entries, at.keys) else { continue };
        if let Some(vendor) = at.catalogue.vendor(&heading.name)? {
            return of_vendor(vendor, None, why, at).map(Some);
        }
    }
    Ok(None)
}

/// A vendor at its own address, or where `base_url` or its variable has moved it.
fn of_vendor(vendor: Vendor, base_url: Option<&str>, why: String, at: Sources<'_>) -> Result<Target, Error> {
    if let Some(reason) = vendor.unavailable.clone().filter(|_| base_url.is_none()) {
        return Err(Error::Unavailable { provider: vendor.name, reason });
    }
    let by_variable = vendor.base_url_variables.iter().find_map(|name| Some((name, filled(name, at.keys)?)));
    let by_variable = by_variable.map(|(name, url)| (name.clone(), url.reveal().trim().to_owned()));
    let (moved, why) = match (base_url, by_variable) {
        (Some(url), _) => (Some(url.trim().to_owned()), why),
        (None, Some((name, url))) => (Some(url), why.replace(" is set", &format!(" and {name} are set"))),
        (None, None) => (None, why),
    };
    let keys = keys_of(&vendor, at)?;
    // A server of one's own that only speaks like the vendor may need no key.
    let needed = at.keys_needed && moved.is_none() && !vendor.local && vendor.auth != "none";
    if keys.is_empty() && needed {
        return Err(no_key(vendor));
    }
    let named = moved.as_deref().unwrap_or(&vendor.base_url);
    let Filled { base_url, placeholders, known } = filled_in(&vendor, named, &keys, at)?;
    let same_host = is_host(&split(&vendor.base_url).0, &split(&base_url).0);
    let moved = moved.is_some() && !same_host;
    Ok(Target { vendor, base_url, placeholders, known, moved, keys, found: None, why })
}

fn no_key(vendor: Vendor) -> Error {
    if vendor.oauth {
        return Error::TokenMissing { provider: vendor.name };
    }
    Error::KeyMissing { provider: vendor.name, variables: vendor.key_variables }
}

/// An address, see [`Target`].
struct Filled {
    base_url: String,
    placeholders: BTreeMap<String, String>,
    known: BTreeMap<String, String>,
}

/// An address of the vendor with its placeholders filled. Only those that stand in it must be known.
fn filled_in(vendor: &Vendor, base_url: &str, keys: &[HeldKey], at: Sources<'_>) -> Result<Filled, Error> {
    let mut base_url = base_url.to_owned();
    let (mut placeholders, mut known) = (BTreeMap::new(), BTreeMap::new());
    for (name, placeholder) in &vendor.placeholders {
        let stands = format!("{{{name}}}");
        let is_needed = base_url.contains(&stands);
        let set = placeholder.variables.iter().find_map(|variable| filled(variable, at.keys));
        let mut value = set.map(|value| value.reveal().trim().to_owned());
        if value.is_none() && name == "project" && is_needed {
            value = project_of(vendor, keys, at)?;
        }
        let value = value.or_else(|| placeholder.default.clone());
        let value = value.or_else(|| (!at.keys_needed).then(|| name.to_uppercase()));
        let value = match value {
            Some(value) => value,
            None if !is_needed => continue,
            None => {
                return Err(Error::PlaceholderUnset {
                    provider: vendor.name.clone(),
                    placeholder: name.clone(),
                    variables: placeholder.variables.clone(),
                });
            }
        };
        // It becomes a part of a host: nothing that would make it another one.
        if !value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c)) {
            let reason = format!("`{name}` cannot be `{value}`");
            return Err(Error::BadBaseUrl { url: vendor.base_url.clone(), reason });
        }
        if is_needed {
            base_url = base_url.replace(&stands, &value);
            placeholders.insert(name.clone(), value.clone());
        }
        known.insert(name.clone(), value);
    }
    Ok(Filled { base_url, placeholders, known })
}

/// The project of Google's that the first credentials file belongs to.
fn project_of(vendor: &Vendor, keys: &[HeldKey], at: Sources<'_>) -> Result<Option<String>, Error> {
    let files = keys.iter().filter(|key| scheme_of(key, vendor) == "google");
    for key in files {
        let Kind::Known(secret) = &key.kind else { continue };
        match google_project(secret) {
            Ok(Some(project)) => return Ok(Some(project)),
            Err(error) if at.keys_needed => return Err(error),
            Ok(None) | Err(_) => {}
        }
    }
    Ok(None)
}

fn unknown(name: &str, at: Sources<'_>) -> Error {
    let names: Vec<&str> = at.catalogue.names().chain([CUSTOM, offline::PROVIDER]).collect();
    let likeness = |known: &&str| strsim::jaro_winkler(name, known);
    let best = names.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    Error::UnknownProvider {
        name: name.to_owned(),
        suggestion: best.filter(|known| likeness(known) >= SUGGESTION_LIKENESS_MIN).map(str::to_owned),
        known: names.join(", "),
    }
}
