//! No markup: text that reads well anywhere.

use super::{Mark, Pen, Place, prefixed, quiet, says_itself};
use crate::delivery::document::Link;

/// Readable text.
pub struct Plain {
    /// Whether `@everyone` and its like are kept from calling anybody.
    pub quiet: bool,
}

impl Plain {
    fn put(&self, text: &str, out: &mut String) {
        if self.quiet { quiet(text, out) } else { out.push_str(text) }
    }
}

impl Pen for Plain {
    fn text(&self, text: &str, _: Place, out: &mut String) {
        self.put(text, out);
    }

    fn mark(&self, _: Mark) -> (&'static str, &'static str) {
        ("", "")
    }

    fn code(&self, text: &str, _: Place, out: &mut String) {
        self.put(text, out);
    }

    fn link(&self, label: &str, text: &str, link: &Link, out: &mut String) {
        out.push_str(label);
        if !says_itself(text, &link.url) && !link.url.is_empty() {
            out.push_str(" (");
            self.put(&link.url, out);
            out.push(')');
        }
    }

    fn code_block(&self, _: &str, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        self.put(text, &mut out);
        out
    }

    fn code_lines(&self, text: &str, out: &mut String) {
        self.put(text, out);
    }

    fn heading_is_strong(&self, _: u8) -> bool {
        false
    }

    fn quote(&self, body: &str, _: bool) -> String {
        prefixed("> ", body)
    }
}
