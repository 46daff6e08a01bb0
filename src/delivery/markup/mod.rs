//! How each markup is written: a file each, all of them a [`Pen`].
//!
//! A pen knows how one thing looks and nothing of what stands around it; `render` walks the document
//! and holds the pen. What a markup cannot say is said in words: a table in records, a heading in bold.

mod discord;
mod html;
mod plain;
mod slack;
mod source;
mod telegram;
mod whatsapp;

pub use plain::Plain;
pub use source::Source;

use super::Markup;
use super::document::{Link, Marker};

/// An invisible space of no width, which keeps what stands on both sides from being read as one.
pub(super) const APART: char = '\u{200b}';

/// Which mark is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Strong,
    Emphasis,
    Strike,
}

/// Where a text stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub line_start: bool,
    /// Inside a cell of a table, or anywhere else where a line cannot be broken.
    pub one_line: bool,
}

/// Writes one markup.
pub trait Pen {
    /// Text in which nothing is markup.
    fn text(&self, text: &str, place: Place, out: &mut String);
    /// What stands before and after.
    fn mark(&self, mark: Mark) -> (&'static str, &'static str);
    fn code(&self, text: &str, place: Place, out: &mut String);
    /// `label` is written already; `text` is the same without any markup.
    fn link(&self, label: &str, text: &str, link: &Link, out: &mut String);
    /// A whole block of code.
    fn code_block(&self, info: &str, text: &str) -> String;
    /// Lines of code as they stand inside the block.
    fn code_lines(&self, text: &str, out: &mut String);

    fn line_break(&self, _hard: bool) -> &'static str {
        "\n"
    }
    /// Whether code may be strong, or the text of a link.
    fn code_nests(&self) -> bool {
        true
    }
    /// Whether marks are read only at the borders of words, so that some have to be made.
    fn marks_whole_words(&self) -> bool {
        false
    }
    fn paragraph(&self, body: String) -> String {
        body
    }
    /// Whether a heading is nothing but strong.
    fn heading_is_strong(&self, _level: u8) -> bool {
        true
    }
    fn heading(&self, _level: u8, body: String) -> String {
        body
    }
    /// `nested`: inside another quote or an item.
    fn quote(&self, body: &str, nested: bool) -> String;
    fn item(&self, marker: &Marker, body: &str) -> String {
        indented(&numbered(marker, "- ", "."), body, true)
    }
    fn list(&self, _first: &Marker, items: &[String]) -> String {
        items.join("\n")
    }
    fn rule(&self) -> &'static str {
        "———"
    }
    /// Between blocks.
    fn gap(&self) -> &'static str {
        "\n\n"
    }
    /// Between the blocks of an item.
    fn item_gap(&self) -> &'static str {
        "\n"
    }
    /// Whether a paragraph in an item is only its text.
    fn item_is_bare(&self) -> bool {
        false
    }
    /// Whether there are tables.
    fn tables(&self) -> bool {
        false
    }
    /// Rows of cells that are written already.
    fn table(&self, _head: &[String], _rows: &[Vec<String>]) -> String {
        String::new()
    }
}

/// The pen of a markup, and the one of its readable text.
pub fn pens(markup: Markup) -> (&'static dyn Pen, &'static dyn Pen) {
    const PLAIN: &Plain = &Plain { quiet: false };
    const QUIET: &Plain = &Plain { quiet: true };
    match markup {
        Markup::Source => (&Source, PLAIN),
        Markup::Plain => (PLAIN, PLAIN),
        Markup::Discord => (&discord::Discord, QUIET),
        Markup::TelegramMarkdownV2 => (&telegram::Telegram, PLAIN),
        Markup::SlackMrkdwn => (&slack::Slack, QUIET),
        Markup::Html => (&html::Html, PLAIN),
        Markup::WhatsApp => (&whatsapp::WhatsApp, PLAIN),
    }
}

/// The marker of an item: its number, or else `dash`; a box for a task.
fn numbered(marker: &Marker, dash: &str, after: &str) -> String {
    let number = marker.number.map(|number| format!("{number}{after} "));
    let checked = marker.checked.map(|checked| if checked { "☑ " } else { "☐ " });
    match (number, checked) {
        (Some(number), checked) => number + checked.unwrap_or_default(),
        (None, Some(checked)) => checked.to_owned(),
        (None, None) => dash.to_owned(),
    }
}

/// Whether the line opens or closes a block of code. Nothing else begins so: pens see to that.
fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

/// The marker and the body, its further lines as deep as two spaces; those of code stay where they
/// are if `code_stays`.
fn indented(marker: &str, body: &str, code_stays: bool) -> String {
    let mut out = marker.to_owned();
    let mut in_code = false;
    for (index, line) in body.split('\n').enumerate() {
        let fence = code_stays && is_fence(line);
        if index > 0 {
            out.push('\n');
            if !(in_code || fence || line.is_empty()) {
                out.push_str("  ");
            }
        } else if fence {
            // A block of code begins on a line of its own.
            out.truncate(out.trim_end().len());
            out.push('\n');
        }
        in_code ^= fence;
        out.push_str(line);
    }
    out
}

/// Every line with the prefix, but for those of code: there the prefix would be part of the code.
fn prefixed(prefix: &str, body: &str) -> String {
    let mut out = String::with_capacity(body.len() + body.len() / 16);
    let mut in_code = false;
    for (index, line) in body.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let fence = is_fence(line);
        if !(in_code || fence) {
            out.push_str(prefix);
        }
        in_code ^= fence;
        out.push_str(line);
    }
    out
}

/// Code in which no fence can be read, for markups that know no way to write one.
fn without_fences(text: &str, out: &mut String) {
    let mut ticks = 0;
    for char in text.chars() {
        ticks = if char == '`' { ticks + 1 } else { 0 };
        if ticks > 1 {
            out.push(APART);
        }
        out.push(char);
    }
}

/// Keeps `@everyone` and its like from calling anybody: they are not herm's to call, and a model says
/// what it was told to say.
fn quiet(text: &str, out: &mut String) {
    const CALLS: &[&str] = &["everyone", "here", "channel", "group", "subteam", "&"];
    let mut before = '\0';
    for (index, char) in text.char_indices() {
        if before == '@' || (before == '<' && char == '!') {
            let rest = text.get(index..).unwrap_or_default();
            let calls =
                |call: &&str| rest.get(..call.len()).is_some_and(|start| start.eq_ignore_ascii_case(call));
            if char == '!' || CALLS.iter().any(calls) {
                out.push(APART);
            }
        }
        out.push(char);
        before = char;
    }
}

/// Whether people can follow the address: what chat platforms make a link of. Others are refused by
/// them, or run something.
fn leads_somewhere(url: &str) -> bool {
    const SCHEMES: &[&str] = &["http://", "https://", "mailto:", "tel:"];
    let starts =
        |scheme: &&str| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    SCHEMES.iter().any(starts) && !url.contains(char::is_whitespace)
}

/// Whether the text of a link says its address already.
fn says_itself(text: &str, url: &str) -> bool {
    text == url || url.strip_prefix("mailto:").is_some_and(|address| address == text)
}
