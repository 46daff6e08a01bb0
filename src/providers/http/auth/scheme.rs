//! The table of ways to authenticate, as a vendor's file names them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Authorize, Header, Nothing};
use crate::config::Secret;
use crate::providers::Error;

/// What a way to authenticate is made from.
pub struct Given<'a> {
    /// The key; `None` where there is none.
    pub key: Option<Secret>,
    /// Looks up the other variables that belong to the key.
    pub variable: &'a dyn Fn(&str) -> Option<Secret>,
    /// What fills the placeholders of the vendor's address, such as `region`.
    pub placeholders: &'a BTreeMap<String, String>,
    pub base_url: &'a str,
}

/// Makes one; gets what follows the colon in `header:x-api-key`.
type Build = fn(&str, &Given<'_>) -> Result<Arc<dyn Authorize>, Error>;

/// A way to authenticate is a row here and a file beside this one.
const SCHEMES: &[(&str, Build)] = &[("bearer", bearer), ("header", header), ("none", none)];

/// Headers that a key may stand in: their names live as long as the program.
const HEADERS: &[&str] = &["x-api-key", "x-goog-api-key", "api-key", "x-auth-token", "authorization"];

/// The scheme `name` with what is given.
///
/// # Errors
/// [`Error::UnknownScheme`], and what the scheme itself cannot do without.
pub fn build(name: &str, given: &Given<'_>) -> Result<Arc<dyn Authorize>, Error> {
    let (scheme, parameter) = name.split_once(':').unwrap_or((name, ""));
    match SCHEMES.iter().find(|(known, _)| *known == scheme) {
        Some((_, build)) => build(parameter, given),
        None => Err(unknown(name, SCHEMES.iter().map(|(known, _)| *known))),
    }
}

fn unknown(name: &str, known: impl Iterator<Item = &'static str>) -> Error {
    Error::UnknownScheme { name: name.to_owned(), known: known.collect::<Vec<_>>().join(", ") }
}

fn bearer(_: &str, given: &Given<'_>) -> Result<Arc<dyn Authorize>, Error> {
    Ok(match &given.key {
        Some(key) => Arc::new(Header::bearer(key.clone())),
        None => Arc::new(Nothing),
    })
}

fn header(name: &str, given: &Given<'_>) -> Result<Arc<dyn Authorize>, Error> {
    let header = HEADERS.iter().find(|known| **known == name);
    let header = header.ok_or_else(|| unknown(&format!("header:{name}"), HEADERS.iter().copied()))?;
    Ok(match &given.key {
        Some(key) => Arc::new(Header::named(header, key.clone())),
        None => Arc::new(Nothing),
    })
}

fn none(_: &str, _: &Given<'_>) -> Result<Arc<dyn Authorize>, Error> {
    Ok(Arc::new(Nothing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_are_built_by_name_and_others_are_refused() {
        let given = Given {
            key: Some(Secret::new("k")),
            variable: &|_| None,
            placeholders: &BTreeMap::new(),
            base_url: "https://h/v1",
        };
        for (name, keyed) in [("bearer", true), ("header:x-api-key", true), ("none", false)] {
            assert_eq!(build(name, &given).unwrap().fingerprint().is_some(), keyed, "{name}");
        }
        for name in ["header:x-unheard-of", "smoke"] {
            let told = build(name, &given).err().unwrap().to_string();
            assert!(told.contains(name), "{told}");
        }
    }
}
