//! PURE: the ids of herm's mails: the same for every attempt at the same chunk, and nobody else's.

use crate::config::Secret;

/// How the ids begin.
const BEGIN: &str = "herm.";
/// Hexadecimal digits of the seal.
const SEAL_CHARS: usize = 24;

/// Makes ids, and knows its own again. They hold a seal made with the account's password: whoever has
/// not got a mail of herm's cannot say that it came back, or that it was answered.
pub(super) struct Ids {
    key: [u8; 32],
    domain: String,
}

impl Ids {
    pub fn new(address: &str, password: &Secret) -> Self {
        let key = blake3::derive_key("herm 2026 email message ids", password.reveal().as_bytes());
        let domain = address.rsplit_once('@').map_or("localhost", |(_, domain)| domain);
        Self { key, domain: domain.to_owned() }
    }

    /// The id of a chunk, without angle brackets.
    pub fn of(&self, key: &str) -> String {
        format!("{BEGIN}{key}.{}@{}", self.seal(key), self.domain)
    }

    pub fn is_own(&self, id: &str) -> bool {
        let inner = id.strip_prefix(BEGIN).and_then(|id| id.strip_suffix(self.domain.as_str()));
        let parts = inner.and_then(|inner| inner.strip_suffix('@')).and_then(|inner| inner.rsplit_once('.'));
        parts.is_some_and(|(key, seal)| super::super::ingress::is_same_secret(seal, &self.seal(key)))
    }

    fn seal(&self, key: &str) -> String {
        let hash = blake3::keyed_hash(&self.key, key.as_bytes()).to_hex();
        hash.chars().take(SEAL_CHARS).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_same_each_time_and_cannot_be_made_up() {
        let ids = Ids::new("herm@example.org", &Secret::new("p"));
        let id = ids.of("delivery-1.0");
        assert_eq!(id, ids.of("delivery-1.0"));
        assert!(ids.is_own(&id) && id.ends_with("@example.org"));
        let others = Ids::new("herm@example.org", &Secret::new("q"));
        for other in [others.of("delivery-1.0"), ids.of("x").replace("herm.x", "herm.y"), "a@b".to_owned()] {
            assert!(!ids.is_own(&other), "{other}");
        }
    }
}
