//! Requests that a platform sends to herm: web hooks and the like, as an adapter sees them.
//!
//! Whoever serves HTTP reads the request, bounds its body, and hands it over by
//! [`super::Platform::ingress`]; the adapter proves who sent it, gives what it holds to the inlet, and
//! says what to answer. Nothing here knows of a server.

/// A request that came in over HTTP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ingress {
    /// In capitals, such as `POST`.
    pub method: String,
    /// What follows the place that the platform is mounted at, with its slash; `/` if nothing does.
    pub path: String,
    /// As it stood in the address, without the question mark.
    pub query: String,
    /// In the order in which they came.
    pub headers: Vec<(String, String)>,
    /// Whole and as it came, since signatures are over its bytes.
    pub body: Vec<u8>,
}

impl Ingress {
    /// The first header of a name, whatever its case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let named = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str())
    }
}

/// What is answered to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IngressAnswer {
    /// Of HTTP.
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl IngressAnswer {
    /// Nothing but a status.
    pub fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    /// A status, and a line that says why.
    pub fn saying(status: u16, text: &str) -> Self {
        let headers = vec![("content-type".to_owned(), "text/plain; charset=utf-8".to_owned())];
        Self { status, headers, body: format!("{text}\n").into_bytes() }
    }
}

/// Whether a secret that was sent is the one that was agreed on; takes as long wherever they differ.
pub fn is_same_secret(sent: &str, agreed: &str) -> bool {
    // Hashes of BLAKE3 compare in constant time, and have one length.
    blake3::hash(sent.as_bytes()) == blake3::hash(agreed.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_found_whatever_its_case() {
        let headers = vec![("X-One".to_owned(), "1".to_owned()), ("x-one".to_owned(), "2".to_owned())];
        let request = Ingress { headers, ..Ingress::default() };
        assert_eq!(request.header("X-ONE"), Some("1"));
        assert_eq!(request.header("x-two"), None);
    }

    #[test]
    fn only_the_same_secret_is_the_same() {
        assert!(is_same_secret("abc", "abc"));
        for other in ["", "ab", "abcd", "abd"] {
            assert!(!is_same_secret(other, "abc"), "{other}");
        }
    }
}
