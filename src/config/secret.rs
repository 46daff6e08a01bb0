//! A text that must not be seen.

use std::fmt;

use herm_schema::Digest;

/// A key, token or password. Prints as its fingerprint, and has no `Serialize`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself: for a header or a child's environment, and nothing else.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Names the secret without telling it: `key-` and eight hexadecimal digits of its hash.
    pub fn fingerprint(&self) -> String {
        format!("key-{}", Digest::of(self.0.as_bytes()).short())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fingerprint())
    }
}
