//! Addresses that hand out the machine's own credentials to whoever asks from it.

use super::{Found, quoted};
use crate::approval::reading::Invocation;
use crate::approval::word::Field;

/// Metadata services of clouds, in the spellings of their addresses.
const METADATA_HOSTS: &[&str] = &[
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "169.254.170.2",
    "100.100.100.200",
    "fd00:ec2::254",
    "metadata.google.internal",
    "metadata.goog",
];
const FETCH: &[&str] =
    &["curl", "wget", "http", "https", "xh", "fetch", "aria2c", "lynx", "nc", "ncat", "ftp"];

pub fn found(name: &str, call: &Invocation, found: &mut Found) {
    if !FETCH.contains(&name) {
        return;
    }
    let hosts = call.arguments.iter().map(Field::text).map(host);
    if let Some(host) = hosts.into_iter().find(|host| METADATA_HOSTS.contains(&host.as_str())) {
        let reason = format!("It asks {} for the credentials of this machine.", quoted(&host));
        found.about("cloud-credentials", reason, format!("{name} {host}"), Some(host));
    }
}

/// The host of an address, without scheme, user and port.
fn host(text: &str) -> String {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let named = authority.rsplit('@').next().unwrap_or_default();
    let host = match named.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => named.split(':').next().unwrap_or_default(),
    };
    host.trim_end_matches('.').to_lowercase()
}
