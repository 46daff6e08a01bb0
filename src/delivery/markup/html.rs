//! HTML as Matrix (client-server API 1.11, `formatted_body`) and e-mail take it: few tags, no
//! attributes but `href`, `start` and the language of code.

use super::{Mark, Pen, Place, leads_somewhere};
use crate::delivery::document::{Link, Marker};

pub struct Html;

fn escaped(text: &str, out: &mut String) {
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            char => out.push(char),
        }
    }
}

impl Pen for Html {
    fn text(&self, text: &str, _: Place, out: &mut String) {
        escaped(text, out);
    }

    fn mark(&self, mark: Mark) -> (&'static str, &'static str) {
        match mark {
            Mark::Strong => ("<strong>", "</strong>"),
            Mark::Emphasis => ("<em>", "</em>"),
            Mark::Strike => ("<del>", "</del>"),
        }
    }

    fn code(&self, text: &str, _: Place, out: &mut String) {
        out.push_str("<code>");
        escaped(text, out);
        out.push_str("</code>");
    }

    fn link(&self, label: &str, _: &str, link: &Link, out: &mut String) {
        if leads_somewhere(&link.url) {
            out.push_str("<a href=\"");
            escaped(&link.url, out);
            out.push_str("\">");
            out.push_str(label);
            out.push_str("</a>");
        } else {
            out.push_str(label);
            escaped(&format!(" ({})", link.url), out);
        }
    }

    fn code_block(&self, info: &str, text: &str) -> String {
        let mut out = String::from("<pre><code");
        if let Some(language) = info.split_whitespace().next() {
            out.push_str(" class=\"language-");
            escaped(language, &mut out);
            out.push('"');
        }
        out.push('>');
        escaped(text, &mut out);
        out.push_str("\n</code></pre>");
        out
    }

    fn code_lines(&self, text: &str, out: &mut String) {
        escaped(text, out);
    }

    fn line_break(&self, _: bool) -> &'static str {
        "<br>"
    }

    fn paragraph(&self, body: String) -> String {
        format!("<p>{body}</p>")
    }

    fn heading_is_strong(&self, _: u8) -> bool {
        false
    }

    fn heading(&self, level: u8, body: String) -> String {
        format!("<h{level}>{body}</h{level}>")
    }

    fn quote(&self, body: &str, _: bool) -> String {
        format!("<blockquote>{body}</blockquote>")
    }

    fn item(&self, marker: &Marker, body: &str) -> String {
        let task = marker.checked.map_or("", |checked| if checked { "☑ " } else { "☐ " });
        format!("<li>{task}{body}</li>")
    }

    fn list(&self, first: &Marker, items: &[String]) -> String {
        let items = items.concat();
        match first.number {
            None => format!("<ul>{items}</ul>"),
            Some(1) => format!("<ol>{items}</ol>"),
            Some(number) => format!("<ol start=\"{number}\">{items}</ol>"),
        }
    }

    fn rule(&self) -> &'static str {
        "<hr>"
    }

    fn gap(&self) -> &'static str {
        "\n"
    }

    fn item_gap(&self) -> &'static str {
        ""
    }

    fn item_is_bare(&self) -> bool {
        true
    }

    fn tables(&self) -> bool {
        true
    }

    fn table(&self, head: &[String], rows: &[Vec<String>]) -> String {
        let line = |cells: &[String], tag: &str| {
            let cells: String = cells.iter().map(|cell| format!("<{tag}>{cell}</{tag}>")).collect();
            format!("<tr>{cells}</tr>")
        };
        let body: String = rows.iter().map(|row| line(row, "td")).collect();
        format!("<table><thead>{}</thead><tbody>{body}</tbody></table>", line(head, "th"))
    }
}
