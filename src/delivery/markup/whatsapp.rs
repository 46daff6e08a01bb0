//! WhatsApp's marks (faq.whatsapp.com, "How to format your messages").

use super::{Mark, Pen, Place, prefixed, says_itself, without_fences};
use crate::delivery::document::Link;

pub struct WhatsApp;

impl Pen for WhatsApp {
    /// There are no escapes; ticks alone could swallow what follows.
    fn text(&self, text: &str, _: Place, out: &mut String) {
        without_fences(text, out);
    }

    fn mark(&self, mark: Mark) -> (&'static str, &'static str) {
        match mark {
            Mark::Strong => ("*", "*"),
            Mark::Emphasis => ("_", "_"),
            Mark::Strike => ("~", "~"),
        }
    }

    fn marks_whole_words(&self) -> bool {
        true
    }

    fn code(&self, text: &str, _: Place, out: &mut String) {
        out.push('`');
        // There is no way to write a tick in code; this one looks like it.
        out.push_str(&text.replace('`', "ˋ"));
        out.push('`');
    }

    fn link(&self, label: &str, text: &str, link: &Link, out: &mut String) {
        out.push_str(label);
        if !says_itself(text, &link.url) && !link.url.is_empty() {
            out.push_str(&format!(" ({})", link.url));
        }
    }

    fn code_block(&self, _: &str, text: &str) -> String {
        let mut out = String::from("```\n");
        without_fences(text, &mut out);
        out.push_str("\n```");
        out
    }

    fn code_lines(&self, text: &str, out: &mut String) {
        without_fences(text, out);
    }

    fn quote(&self, body: &str, nested: bool) -> String {
        if nested { body.to_owned() } else { prefixed("> ", body) }
    }
}
