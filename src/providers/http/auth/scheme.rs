//! The table of ways to authenticate, as a vendor's file names them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Authorize, AwsKeys, Header, Nothing, SigV4};
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
const SCHEMES: &[(&str, Build)] = &[
    ("bearer", bearer),
    ("header", header),
    ("anthropic", anthropic),
    ("azure", |_, given| header("api-key", given)),
    ("google", google),
    ("sigv4", sigv4),
    ("none", none),
];

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

fn anthropic(_: &str, given: &Given<'_>) -> Result<Arc<dyn Authorize>, Error> {
    Ok(match &given.key {
        Some(key) => super::anthropic::auth(key.clone()),
        None => Arc::new(Nothing),
    })
}

fn google(_: &str, given: &Given<'_>) -> Result<Arc<dyn Authorize>, Error> {
    Ok(match &given.key {
        Some(key) => Arc::new(google_of(key)?),
        None => Arc::new(Nothing),
    })
}

/// The key is the path of a credentials file, or its text.
fn google_of(key: &Secret) -> Result<super::google::Google, Error> {
    let bad = |reason: String| Error::Credentials { reason };
    let text = key.reveal().trim();
    let read;
    let text = match text.starts_with('{') {
        true => text,
        false => {
            read = std::fs::read_to_string(text)
                .map_err(|error| bad(format!("the credentials file `{text}` cannot be read: {error}")))?;
            &read
        }
    };
    super::google::Google::from_json(text).map_err(|error| bad(error.to_string()))
}

/// The project that a credentials file of Google's names.
///
/// # Errors
/// [`Error::Credentials`] if it cannot be read.
pub fn google_project(key: &Secret) -> Result<Option<String>, Error> {
    Ok(google_of(key)?.project().map(str::to_owned))
}

fn sigv4(_: &str, given: &Given<'_>) -> Result<Arc<dyn Authorize>, Error> {
    let Some(access_key_id) = given.key.clone() else {
        return Ok(Arc::new(Nothing));
    };
    let secret_access_key = (given.variable)("AWS_SECRET_ACCESS_KEY").ok_or_else(|| Error::Credentials {
        reason: "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not".to_owned(),
    })?;
    let session_token = (given.variable)("AWS_SESSION_TOKEN");
    let region = given.placeholders.get("region").cloned().unwrap_or_else(|| "us-east-1".to_owned());
    Ok(Arc::new(SigV4::bedrock(AwsKeys { access_key_id, secret_access_key, session_token }, region)))
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
