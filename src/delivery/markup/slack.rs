//! Slack's mrkdwn (docs.slack.dev, "Formatting message text").

use super::{Mark, Pen, Place, indented, leads_somewhere, numbered, prefixed, quiet, without_fences};
use crate::delivery::document::{Link, Marker};

pub struct Slack;

/// Slack reads control sequences out of these three wherever they stand, in code too.
fn escaped(text: &str, out: &mut String) {
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            char => out.push(char),
        }
    }
}

impl Pen for Slack {
    fn text(&self, text: &str, _: Place, out: &mut String) {
        let (mut calm, mut apart) = (String::new(), String::new());
        quiet(text, &mut calm);
        // There is no escape for ticks; a fence in a text would swallow what follows.
        without_fences(&calm, &mut apart);
        escaped(&apart, out);
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
        escaped(&text.replace('`', "ˋ"), out);
        out.push('`');
    }

    fn link(&self, label: &str, text: &str, link: &Link, out: &mut String) {
        if !leads_somewhere(&link.url) {
            out.push_str(label);
            self.text(&format!(" ({})", link.url), Place::default(), out);
            return;
        }
        out.push('<');
        escaped(&link.url.replace('|', "%7C"), out);
        if text != link.url {
            out.push('|');
            self.text(&text.replace('\n', " "), Place::default(), out);
        }
        out.push('>');
    }

    fn code_block(&self, _: &str, text: &str) -> String {
        let mut out = String::from("```\n");
        self.code_lines(text, &mut out);
        out.push_str("\n```");
        out
    }

    fn code_lines(&self, text: &str, out: &mut String) {
        let mut apart = String::with_capacity(text.len());
        without_fences(text, &mut apart);
        escaped(&apart, out);
    }

    fn quote(&self, body: &str, nested: bool) -> String {
        if nested { body.to_owned() } else { prefixed("> ", body) }
    }

    fn item(&self, marker: &Marker, body: &str) -> String {
        indented(&numbered(marker, "• ", "."), body, true)
    }
}
