//! Where the web tools may go: not to this machine, not into its networks, not where a cloud keeps
//! credentials, not to what a person has blocked.
//!
//! An address is judged when it is connected to: the client asks [`Guard`] to resolve a name, every
//! address of the answer is judged, and only judged addresses are connected to. There is no second
//! look-up in between that could answer otherwise. An address that is written as a number never
//! reaches the resolver, so [`Guard::admits`] judges it before.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::providers::BoxFuture;

/// Names of the hosts where clouds keep credentials.
const METADATA_HOSTS: &[&str] =
    &["metadata.google.internal", "metadata.goog", "metadata", "instance-data", "instance-data.ec2.internal"];
/// Their addresses outside of the link-local network: Alibaba, Azure, Oracle.
const METADATA_V4: &[Ipv4Addr] =
    &[Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(192, 0, 0, 192)];
/// Those of Amazon in IPv6, and of Google.
const METADATA_V6: &[Ipv6Addr] = &[
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

/// Turns names into addresses.
pub trait LookUp: Send + Sync {
    fn look_up<'a>(&'a self, host: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>>;
}

/// As the system does.
struct System;

impl LookUp for System {
    fn look_up<'a>(&'a self, host: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Why a place is not gone to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("only `http` and `https` addresses are fetched, and this is `{scheme}`")]
    Scheme { scheme: String },
    #[error("`{host}` is {what}; web tools do not fetch from there")]
    Private { host: String, what: &'static str },
    #[error("`{host}` is blocked by `security.website_blocklist.domains`")]
    Blocked { host: String },
    #[error("`{url}` is no address: {reason}")]
    NoUrl { url: String, reason: String },
}

/// Judges places.
#[derive(Clone)]
pub struct Guard {
    allow_private: bool,
    blocked: Arc<[String]>,
    /// Addresses that a test serves from.
    exempt: Arc<[IpAddr]>,
    names: Arc<dyn LookUp>,
}

impl Guard {
    pub fn new(allow_private: bool, blocked_domains: Vec<String>) -> Self {
        let plain =
            |domain: String| domain.trim().trim_start_matches("*.").trim_matches('.').to_ascii_lowercase();
        let blocked = blocked_domains.into_iter().map(plain).filter(|domain| !domain.is_empty()).collect();
        Self { allow_private, blocked, exempt: Arc::new([]), names: Arc::new(System) }
    }

    /// With another way to look names up, and addresses that are let pass: for tests on this machine.
    #[cfg(test)]
    pub(super) fn with(self, names: Arc<dyn LookUp>, exempt: &[IpAddr]) -> Self {
        Self { names, exempt: exempt.into(), ..self }
    }

    pub(super) fn allows_private(&self) -> bool {
        self.allow_private
    }

    /// Reads an address and judges what can be judged without a look-up.
    ///
    /// # Errors
    /// Why it is not fetched.
    pub fn read(&self, text: &str) -> Result<Url, Refused> {
        let text = text.trim();
        let no_url = |reason: String| Refused::NoUrl { url: text.chars().take(200).collect(), reason };
        let url = Url::parse(text).or_else(|error| match error.to_string() {
            // `example.com/page`, as people write it.
            reason if text.contains("://") || text.is_empty() => Err(no_url(reason)),
            _ => Url::parse(&format!("https://{text}")).map_err(|error| no_url(error.to_string())),
        })?;
        self.admits(&url)?;
        Ok(url)
    }

    /// Judges an address as far as that goes without a look-up.
    ///
    /// # Errors
    /// Why it is not fetched.
    pub fn admits(&self, url: &Url) -> Result<(), Refused> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refused::Scheme { scheme: url.scheme().to_owned() });
        }
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).trim_end_matches('.');
        let host = host.to_ascii_lowercase();
        if let Ok(ip) = host.parse::<IpAddr>() {
            return self.admits_ip(&host, ip);
        }
        if METADATA_HOSTS.contains(&host.as_str()) {
            return Err(Refused::Private { host, what: "where a cloud keeps credentials" });
        }
        let below = |domain: &&String| {
            host == **domain || host.strip_suffix(domain.as_str()).is_some_and(|h| h.ends_with('.'))
        };
        if self.blocked.iter().any(|domain| below(&domain)) {
            return Err(Refused::Blocked { host });
        }
        Ok(())
    }

    fn admits_ip(&self, host: &str, ip: IpAddr) -> Result<(), Refused> {
        let refused = |what| Err(Refused::Private { host: host.to_owned(), what });
        let ip = plain(ip);
        if self.exempt.contains(&ip) {
            return Ok(());
        }
        if keeps_credentials(ip) {
            return refused("where a cloud keeps credentials");
        }
        match private(ip) {
            Some(what) if !self.allow_private => refused(what),
            _ => Ok(()),
        }
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let host = name.as_str();
            let found = guard.names.look_up(host).await?;
            // One address that is not to be gone to spoils the name: nobody mixes them in good faith.
            found.iter().try_for_each(|ip| guard.admits_ip(host, *ip))?;
            let addresses: Addrs = Box::new(found.into_iter().map(|ip| SocketAddr::new(ip, 0)));
            Ok(addresses)
        })
    }
}

/// The address that is really meant: IPv4 in the clothes of IPv6 is IPv4.
fn plain(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = ip else { return ip };
    let s = v6.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match s {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => v4(high, low),
        // Compatible (obsolete), but not `::` and `::1`.
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => v4(high, low),
        // NAT64, and 6to4.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => v4(high, low),
        _ => ip,
    }
}

fn keeps_credentials(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_link_local() || METADATA_V4.contains(&v4),
        IpAddr::V6(v6) => METADATA_V6.contains(&v6),
    }
}

/// What kind of place nobody outside can reach; `None` for the public internet.
fn private(ip: IpAddr) -> Option<&'static str> {
    match ip {
        IpAddr::V4(v4) => private_v4(v4),
        IpAddr::V6(v6) => private_v6(v6),
    }
}

/// The IANA registry of special addresses.
fn private_v4(ip: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, _] = ip.octets();
    Some(match (a, b, c) {
        (127, ..) => "this machine",
        (0, ..) => "this machine or this network",
        (10, ..) | (192, 168, _) => "a private address",
        (172, 16..=31, _) => "a private address",
        (100, 64..=127, _) => "an address of a provider's inner network",
        (169, 254, _) => "a link-local address",
        (192, 0, 0) | (192, 0, 2) | (198, 51, 100) | (203, 0, 113) | (192, 88, 99) => "a reserved address",
        (198, 18..=19, _) => "an address for benchmarks",
        (224..=239, ..) => "a multicast address",
        (240.., ..) => "a reserved address",
        _ => return None,
    })
}

fn private_v6(ip: Ipv6Addr) -> Option<&'static str> {
    let s = ip.segments();
    Some(match s {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => "this machine",
        [0xfc00..=0xfdff, ..] => "a private address",
        [0xfe80..=0xfebf, ..] => "a link-local address",
        [0xfec0..=0xfeff, ..] => "a private address",
        [0xff00..=0xffff, ..] => "a multicast address",
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => "an address for documentation",
        [0x2001, 0, ..] => "a Teredo address",
        [0x100, 0, 0, 0, ..] | [0x64, 0xff9b, 1, ..] | [0, ..] => "a reserved address",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        Guard::new(false, Vec::new())
    }

    #[test]
    fn every_way_to_write_a_private_address_is_refused() {
        for url in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0177.0.0.1/",
            "http://0/",
            "http://0.0.0.0:8080/",
            "http://10.1.2.3/",
            "http://172.16.0.1/",
            "http://172.31.255.255/",
            "http://192.168.1.1/",
            "http://100.64.0.1/",
            "http://169.254.169.254/latest/meta-data",
            "http://198.18.0.1/",
            "http://224.0.0.1/",
            "http://255.255.255.255/",
            "http://[::1]/",
            "http://[::]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:a9fe:a9fe]/",
            "http://[::127.0.0.1]/",
            "http://[64:ff9b::10.0.0.1]/",
            "http://[2002:7f00:1::]/",
            "http://[fe80::1]/",
            "http://[fd00:ec2::254]/",
            "http://[fc00::1]/",
            "http://metadata.google.internal/",
            "http://metadata.google.internal./",
            "http://user:pass@127.0.0.1/",
            "127.0.0.1/x",
            "http://１２７.0.0.1/",
        ] {
            assert!(matches!(guard().read(url), Err(Refused::Private { .. })), "{url}");
        }
    }

    #[test]
    fn only_the_web_is_fetched() {
        for url in
            ["file:///etc/passwd", "ftp://example.com/", "gopher://x/", "data:text/html,x", "javascript:1"]
        {
            assert!(matches!(guard().read(url), Err(Refused::Scheme { .. })), "{url}");
        }
        for url in ["", "http://", "https://exa mple.com/"] {
            assert!(matches!(guard().read(url), Err(Refused::NoUrl { .. })), "{url:?}");
        }
    }

    #[test]
    fn public_addresses_pass() {
        for url in [
            "https://example.com/a?b#c",
            "example.com/page",
            "http://93.184.216.34/",
            "http://172.32.0.1/",
            "http://100.128.0.1/",
            "http://[2606:2800:220:1:248:1893:25c8:1946]/",
        ] {
            assert!(guard().read(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn what_is_allowed_is_not_where_credentials_are_kept() {
        let open = Guard::new(true, Vec::new());
        assert!(open.read("http://127.0.0.1:8080/").is_ok() && open.read("http://192.168.0.9/").is_ok());
        for url in [
            "http://169.254.169.254/",
            "http://100.100.100.200/",
            "http://[fd00:ec2::254]/",
            "http://metadata.goog/",
        ] {
            assert!(open.read(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_blocked_domain_is_blocked_with_all_below_it() {
        let guard = Guard::new(false, vec!["Bad.Example".into(), "*.worse.example".into()]);
        for url in ["http://bad.example/", "https://www.bad.example./x", "http://a.b.worse.example/"] {
            assert!(matches!(guard.read(url), Err(Refused::Blocked { .. })), "{url}");
        }
        assert!(guard.read("http://notbad.example/").is_ok());
    }
}
