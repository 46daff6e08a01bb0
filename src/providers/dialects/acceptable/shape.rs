//! PURE: names and ids in an alphabet and a length of a vendor's own.
//!
//! Everything here is a function of its input alone: the same name is always fitted the same way,
//! so that a call, its result and its tool still agree, and a prefix stays what it was.

use std::borrow::Cow;
use std::collections::BTreeMap;

use herm_schema::Digest;

use crate::providers::LoadedRequest;

/// An alphabet and a length for names or ids.
#[derive(Clone, Copy)]
pub struct Shape {
    pub chars_max: usize,
    /// Allowed besides ASCII letters and digits; must hold `_`.
    pub also: &'static str,
}

impl Shape {
    /// `text` itself where it fits. Otherwise a digest of it is part of what comes out, so that two
    /// texts do not become one.
    pub fn fit(self, text: &str) -> Cow<'_, str> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || self.also.contains(c);
        if !text.is_empty() && text.len() <= self.chars_max && text.chars().all(allowed) {
            return Cow::Borrowed(text);
        }
        let digest = Digest::of(text.as_bytes()).short();
        let room = self.chars_max.saturating_sub(digest.len() + 1);
        let kept = text.chars().take(room).map(|c| if allowed(c) { c } else { '_' });
        Cow::Owned(kept.chain(['_']).chain(digest.chars()).collect())
    }

    /// For the answer: the names of `request`'s tools that were changed, by what they became.
    pub fn renamed(self, request: &LoadedRequest) -> BTreeMap<String, String> {
        let names = request.tools.iter().map(|tool| (self.fit(&tool.name).into_owned(), tool.name.clone()));
        names.filter(|(sent, own)| sent != own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { chars_max: 16, also: "_-" };

    #[test]
    fn what_fits_stays_and_what_does_not_stays_apart() {
        assert_eq!(SHAPE.fit("call_1-A"), "call_1-A");
        let (a, b) = (SHAPE.fit("call.1"), SHAPE.fit("call:1"));
        assert_ne!(a, b);
        assert!(a.starts_with("call_1_"), "{a}");
        for text in ["", "é", "functions.x:0", "0123456789abcdefgh"] {
            let fitted = SHAPE.fit(text);
            assert!(!fitted.is_empty() && fitted.len() <= 16, "{fitted}");
            assert_eq!(SHAPE.fit(&fitted), fitted, "fitting twice changes nothing");
        }
    }
}
