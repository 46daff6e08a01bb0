//! `web_search` and `web_extract`: finding pages, and reading them.
//!
//! Who searches is a row of [`search_vendors`]; who reads is one of them, or herm itself: [`fetch`] with
//! its [`guard`], and [`page`]. Both only look, so they may run twice and side by side.

mod extract;
pub(super) mod fetch;
pub(super) mod guard;
mod page;
mod search;
mod search_vendors;

use std::sync::Arc;

pub use guard::Guard;

use self::fetch::Fetcher;
use self::search_vendors::{VENDORS, Vendor};
use super::Tool;
use super::vendors::Vendors;
use crate::config::{Secret, WebConfig};

/// Who reads pages where nobody else does.
const FETCH: &str = "fetch";
/// The variable that names a person's own searcher.
const SEARXNG_URL: &str = "SEARXNG_URL";

/// A vendor that can be asked.
#[derive(Clone)]
struct Backend {
    vendor: &'static Vendor,
    base: String,
    key: Option<Secret>,
}

/// Both tools, as the configuration has them.
///
/// # Errors
/// The configuration names a vendor that there is not, or one that cannot do what it is named for.
pub fn tools(config: &WebConfig, vendors: &Vendors<'_>, guard: &Guard) -> Result<[Arc<dyn Tool>; 2], String> {
    let named = |key: &str, name: &str| {
        VENDORS.iter().find(|vendor| vendor.name == name).ok_or_else(|| {
            let near = super::toolsets::nearest(name, VENDORS.iter().map(|vendor| vendor.name));
            let near = super::toolsets::suggestion(near.as_deref());
            format!("`{key}` names `{name}`, which is no web backend{near}")
        })
    };
    let chosen = config.search.as_deref().map(|name| named("web.search_backend", name)).transpose()?;
    let searcher = match chosen {
        Some(vendor) => backend(vendor, vendors),
        None => first(vendors),
    };
    let reader = match config.extract.as_deref() {
        Some(FETCH) => None,
        Some(name) => {
            let vendor = named("web.extract_backend", name)?;
            if vendor.pages.is_none() {
                return Err(format!(
                    "`web.extract_backend` is `{name}`, which does not read pages; `{FETCH}` does"
                ));
            }
            Some(backend(vendor, vendors))
        }
        // One that was chosen for both does both, where it can.
        None => chosen.filter(|vendor| vendor.pages.is_some()).map(|vendor| backend(vendor, vendors)),
    };
    let fetcher = Fetcher::new(guard);
    let extract = extract::WebExtract {
        reader: reader.transpose(),
        fetcher,
        guard: guard.clone(),
        chars_max: config.extract_chars_max,
    };
    Ok([Arc::new(search::WebSearch { searcher }), Arc::new(extract)])
}

/// A vendor with its key.
fn backend(vendor: &'static Vendor, vendors: &Vendors<'_>) -> Result<Backend, String> {
    let own = vendors.key(&[SEARXNG_URL]).filter(|_| vendor.base.is_empty());
    let own = own.as_ref().map_or(vendor.base, Secret::reveal);
    let base = vendors.endpoint(vendor.name, own);
    if base.is_empty() {
        return Err(format!("`{}` has no address: set `{SEARXNG_URL}` or `tool_endpoints`", vendor.name));
    }
    let key = vendors.key(vendor.keys);
    if let (Some(variable), None) = (vendor.keys.first(), &key) {
        return Err(format!("`{}` has no key: set `{variable}` in `.env`", vendor.name));
    }
    Ok(Backend { vendor, base, key })
}

/// The first vendor that a key or an address is found for. One that wants neither is not taken unasked:
/// what a person looks for goes only where that person sends it.
fn first(vendors: &Vendors<'_>) -> Result<Backend, String> {
    let wants_something = |vendor: &&Vendor| !vendor.keys.is_empty() || vendor.base.is_empty();
    let found = VENDORS.iter().filter(wants_something).find_map(|vendor| backend(vendor, vendors).ok());
    found.ok_or_else(|| {
        let variables: Vec<&str> = VENDORS.iter().filter_map(|vendor| vendor.keys.first().copied()).collect();
        format!(
            "no searcher: set one of {}, {SEARXNG_URL} in `.env`, or run `herm config set web.backend ddgs`, which needs no key",
            variables.join(", ")
        )
    })
}
