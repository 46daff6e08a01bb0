//! Discord's Markdown (support.discord.com, "Markdown Text 101"; docs.discord.com, API v10).

use super::{Mark, Pen, Place, leads_somewhere, quiet, says_itself, without_fences};
use crate::delivery::document::Link;

pub struct Discord;

/// Escapes what would be markup; addresses stay as they are, or they would lead elsewhere.
fn escaped(text: &str, place: Place, out: &mut String) {
    let mut line_start = place.line_start;
    for word in text.split_inclusive(char::is_whitespace) {
        let mut word = word;
        if word.starts_with("https://") || word.starts_with("http://") {
            let end = word.find(|char| "`<>*|\\[]".contains(char)).unwrap_or(word.len());
            let (address, rest) = word.split_at_checked(end).unwrap_or((word, ""));
            out.push_str(address);
            line_start = false;
            word = rest;
        }
        let digits = word.trim_start_matches(|char: char| char.is_ascii_digit());
        let numbered = line_start && digits.len() < word.len() && digits.starts_with('.');
        let mut opened = false;
        for char in word.chars() {
            let first = line_start && !opened && "#>-+".contains(char);
            let dot = numbered && char == '.' && !std::mem::replace(&mut opened, true);
            if first || dot || "\\*_~`|[]".contains(char) {
                out.push('\\');
            }
            opened |= !numbered;
            out.push(char);
        }
        line_start = false;
    }
}

impl Pen for Discord {
    fn text(&self, text: &str, place: Place, out: &mut String) {
        let mut calm = String::with_capacity(text.len());
        quiet(text, &mut calm);
        escaped(&calm, place, out);
    }

    fn mark(&self, mark: Mark) -> (&'static str, &'static str) {
        match mark {
            Mark::Strong => ("**", "**"),
            Mark::Emphasis => ("*", "*"),
            Mark::Strike => ("~~", "~~"),
        }
    }

    fn code(&self, text: &str, _: Place, out: &mut String) {
        if text.contains('`') {
            out.push_str("`` ");
            without_fences(text, out);
            out.push_str(" ``");
        } else {
            out.push('`');
            out.push_str(text);
            out.push('`');
        }
    }

    fn link(&self, label: &str, text: &str, link: &Link, out: &mut String) {
        if says_itself(text, &link.url) {
            out.push_str(text);
        } else if leads_somewhere(&link.url) {
            out.push('[');
            out.push_str(label);
            out.push_str("](");
            out.push_str(&link.url.replace('(', "%28").replace(')', "%29"));
            out.push(')');
        } else {
            out.push_str(label);
            self.text(&format!(" ({})", link.url), Place::default(), out);
        }
    }

    fn code_block(&self, info: &str, text: &str) -> String {
        let mut out = format!("```{}\n", info.split_whitespace().next().unwrap_or_default());
        without_fences(text, &mut out);
        // A tick at the end would belong to the fence only on the same line.
        out.push_str("\n```");
        out
    }

    fn code_lines(&self, text: &str, out: &mut String) {
        without_fences(text, out);
    }

    /// There are three levels.
    fn heading_is_strong(&self, level: u8) -> bool {
        level > 3
    }

    fn heading(&self, level: u8, body: String) -> String {
        match level {
            1..=3 => format!("{} {body}", "#".repeat(usize::from(level))),
            _ => body,
        }
    }

    fn quote(&self, body: &str, nested: bool) -> String {
        if nested {
            return body.to_owned();
        }
        let lines: Vec<String> = body.split('\n').map(|line| format!("> {line}")).collect();
        lines.join("\n")
    }
}
