//! Markdown itself (CommonMark 0.31 with GitHub's tables, strikethrough and task lists), such that
//! `read::parse` reads again what was written.

use super::{Mark, Pen, Place, says_itself};
use crate::delivery::document::{Link, Marker};

pub struct Source;

/// The longest row of ticks in it.
fn ticks(text: &str) -> usize {
    text.split(|char| char != '`').map(str::len).max().unwrap_or(0)
}

/// Whether something like `&amp;` begins here.
fn entity(rest: &str) -> bool {
    let name = rest.trim_start_matches('#').trim_start_matches(|char: char| char.is_ascii_alphanumeric());
    name.is_empty() || (name.starts_with(';') && name.len() < rest.len())
}

/// Escapes what would be markup, and no more than that where it shows.
fn escaped(text: &str, place: Place, out: &mut String) {
    let begin = text.trim_start_matches(|char: char| char.is_ascii_digit());
    let numbered = place.line_start && begin.len() < text.len() && begin.starts_with(['.', ')']);
    let dot = text.len() - begin.len();
    let mut before = ' ';
    for (index, char) in text.char_indices() {
        let rest = || text.get(index + char.len_utf8()..).unwrap_or_default();
        let escape = match char {
            '\\' | '`' | '*' | '[' | ']' | '<' | '~' | '|' => true,
            '_' => !(before.is_alphanumeric() && rest().starts_with(char::is_alphanumeric)),
            '&' => entity(rest().get(..32).unwrap_or(rest())),
            '>' | '+' | '-' | '=' | ':' => place.line_start && index == 0,
            '#' => before.is_whitespace() || rest().is_empty(),
            '.' | ')' => numbered && index == dot,
            _ => false,
        };
        if escape {
            out.push('\\');
        }
        out.push(char);
        before = char;
    }
}

fn address(url: &str, out: &mut String) {
    let wrapped = url.is_empty() || url.contains(|char: char| char.is_whitespace() || char.is_control());
    if wrapped {
        out.push('<');
    }
    for char in url.chars() {
        match char {
            '\n' | '\r' => out.push(' '),
            '\\' | '(' | ')' | '<' | '>' | '&' | '`' | '|' | '*' | '_' | '[' | ']' | '~' => {
                out.push('\\');
                out.push(char);
            }
            char => out.push(char),
        }
    }
    if wrapped {
        out.push('>');
    }
}

impl Pen for Source {
    fn text(&self, text: &str, place: Place, out: &mut String) {
        escaped(text, place, out);
    }

    fn mark(&self, mark: Mark) -> (&'static str, &'static str) {
        match mark {
            Mark::Strong => ("**", "**"),
            Mark::Emphasis => ("*", "*"),
            Mark::Strike => ("~~", "~~"),
        }
    }

    fn code(&self, text: &str, place: Place, out: &mut String) {
        let fence = "`".repeat(ticks(text) + 1);
        let edge = |char: char| char == '`' || char == ' ';
        let pad = if text.starts_with(edge) || text.ends_with(edge) { " " } else { "" };
        out.push_str(&fence);
        out.push_str(pad);
        match place.one_line {
            true => out.push_str(&text.replace('|', "\\|")),
            false => out.push_str(text),
        }
        out.push_str(pad);
        out.push_str(&fence);
    }

    fn link(&self, label: &str, text: &str, link: &Link, out: &mut String) {
        let own = says_itself(text, &link.url) && link.url.contains(':') && !link.image;
        if own && !text.contains(|char: char| char.is_whitespace() || "<>|`\\".contains(char)) {
            out.push('<');
            out.push_str(text);
            out.push('>');
            return;
        }
        out.push_str(if link.image { "![" } else { "[" });
        out.push_str(label);
        out.push_str("](");
        address(&link.url, out);
        out.push(')');
    }

    fn code_block(&self, info: &str, text: &str) -> String {
        let begins = |line: &str| line.trim_start().starts_with("```");
        let longest = text.lines().filter(|line| begins(line)).map(ticks).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        let info = info.replace('\\', "\\\\").replace('&', "\\&");
        format!("{fence}{info}\n{text}\n{fence}")
    }

    fn code_lines(&self, text: &str, out: &mut String) {
        out.push_str(text);
    }

    fn line_break(&self, hard: bool) -> &'static str {
        if hard { "\\\n" } else { "\n" }
    }

    fn heading_is_strong(&self, _: u8) -> bool {
        false
    }

    fn heading(&self, level: u8, body: String) -> String {
        format!("{} {body}", "#".repeat(usize::from(level)))
    }

    fn quote(&self, body: &str, _: bool) -> String {
        let lines =
            body.split('\n').map(|line| if line.is_empty() { ">".to_owned() } else { format!("> {line}") });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn item(&self, marker: &Marker, body: &str) -> String {
        let dash = marker.number.map_or_else(|| "- ".to_owned(), |number| format!("{number}. "));
        let deep = " ".repeat(dash.len());
        let task = marker.checked.map_or("", |checked| if checked { "[x] " } else { "[ ] " });
        let mut out = format!("{dash}{task}");
        for (index, line) in body.split('\n').enumerate() {
            if index > 0 {
                out.push('\n');
                if !line.is_empty() {
                    out.push_str(&deep);
                }
            }
            out.push_str(line);
        }
        out
    }

    fn rule(&self) -> &'static str {
        "***"
    }

    fn item_gap(&self) -> &'static str {
        "\n\n"
    }

    fn tables(&self) -> bool {
        true
    }

    fn table(&self, head: &[String], rows: &[Vec<String>]) -> String {
        let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
        let mut lines = vec![line(head), line(&vec!["---".to_owned(); head.len()])];
        lines.extend(rows.iter().map(|row| line(row)));
        lines.join("\n")
    }
}
