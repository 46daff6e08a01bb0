//! Telegram's MarkdownV2 (core.telegram.org/bots/api#markdownv2-style, Bot API 9).

use super::{Mark, Pen, Place, indented, leads_somewhere, numbered, prefixed, says_itself};
use crate::delivery::document::{Link, Marker};

pub struct Telegram;

/// Must be escaped everywhere outside of code, or the message is refused.
const RESERVED: &str = "_*[]()~`>#+-=|{}.!\\";

fn escaped(text: &str, which: &str, out: &mut String) {
    for char in text.chars() {
        if which.contains(char) {
            out.push('\\');
        }
        out.push(char);
    }
}

impl Pen for Telegram {
    fn text(&self, text: &str, _: Place, out: &mut String) {
        escaped(text, RESERVED, out);
    }

    fn mark(&self, mark: Mark) -> (&'static str, &'static str) {
        match mark {
            Mark::Strong => ("*", "*"),
            Mark::Emphasis => ("_", "_"),
            Mark::Strike => ("~", "~"),
        }
    }

    fn code(&self, text: &str, _: Place, out: &mut String) {
        out.push('`');
        escaped(text, "`\\", out);
        out.push('`');
    }

    /// "Entities … may contain and may be part of any other entities, except pre and code."
    fn code_nests(&self) -> bool {
        false
    }

    fn link(&self, label: &str, text: &str, link: &Link, out: &mut String) {
        if says_itself(text, &link.url) {
            out.push_str(label);
        } else if leads_somewhere(&link.url) {
            out.push('[');
            out.push_str(label);
            out.push_str("](");
            escaped(&link.url, ")\\", out);
            out.push(')');
        } else {
            out.push_str(label);
            escaped(&format!(" ({})", link.url), RESERVED, out);
        }
    }

    fn code_block(&self, info: &str, text: &str) -> String {
        let mut out = String::from("```");
        // Only the language: what else stands there would be shown as code.
        escaped(info.split_whitespace().next().unwrap_or_default(), "`\\", &mut out);
        out.push('\n');
        escaped(text, "`\\", &mut out);
        out.push_str("\n```");
        out
    }

    fn code_lines(&self, text: &str, out: &mut String) {
        escaped(text, "`\\", out);
    }

    /// A quote cannot be inside of anything: the mark counts only where a line begins.
    fn quote(&self, body: &str, nested: bool) -> String {
        if nested { body.to_owned() } else { prefixed(">", body) }
    }

    fn item(&self, marker: &Marker, body: &str) -> String {
        indented(&numbered(marker, "• ", "\\."), body, true)
    }
}
