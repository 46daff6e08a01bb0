//! What was fetched as text for a model: the article of a page as Markdown, plain text as it is, and a
//! reason for everything that is no text.

use encoding_rs::{Encoding, UTF_8};

use super::fetch::Fetched;
use crate::tools::charset;

/// Bytes at the start of a page that are looked through for its encoding.
const META_BYTES: usize = 4 << 10;
/// Elements of a page that are looked at, at most.
const ELEMENTS_MAX: usize = 200_000;
/// Characters of an article below which the whole page is shown: what is left was not the article.
const ARTICLE_CHARS_MIN: usize = 200;

/// A page to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    pub title: String,
    pub content: String,
}

/// Reads what was fetched.
///
/// # Errors
/// Why it cannot be read as text, and what to do instead.
pub fn read(fetched: &Fetched) -> Result<Text, String> {
    let kind = fetched.content_type.split(';').next().unwrap_or_default().trim();
    if kind == "application/pdf" || fetched.bytes.starts_with(b"%PDF-") {
        return Err(
            "it is a PDF, which is not read here: download it with `terminal` and use `pdftotext`".to_owned()
        );
    }
    if kind.starts_with("image/") && kind != "image/svg+xml" {
        return Err(format!("it is an image (`{kind}`): look at it with `vision_analyze`"));
    }
    let textual = kind.is_empty()
        || kind.starts_with("text/")
        || ["json", "xml", "javascript", "yaml", "toml", "ecmascript", "x-sh", "sql"]
            .iter()
            .any(|word| kind.contains(word));
    let binary = || {
        format!(
            "it is not text (`{}`, {} bytes); download it with `terminal`",
            shown(kind),
            fetched.bytes.len()
        )
    };
    let looks_binary =
        fetched.bytes.iter().take(META_BYTES).any(|byte| *byte == 0) && declared(fetched).is_none();
    if !textual || (looks_binary && charset::decode(&fetched.bytes).is_none()) {
        return Err(binary());
    }
    let text = decoded(fetched);
    let start = text.trim_start().get(..64).map(str::to_ascii_lowercase).unwrap_or_default();
    let html = kind.contains("html")
        || (kind.is_empty() && (start.starts_with("<!doctype html") || start.starts_with("<html")));
    Ok(if html { of_html(&text, fetched.url.as_str()) } else { Text { title: String::new(), content: text } })
}

fn shown(kind: &str) -> &str {
    if kind.is_empty() { "unknown" } else { kind }
}

/// The encoding that the server or the page names.
fn declared(fetched: &Fetched) -> Option<&'static Encoding> {
    let named = |text: &str| {
        let at = text.find("charset=")? + "charset=".len();
        let name = text.get(at..)?.trim_start_matches(['"', '\'', ' ']);
        let end =
            name.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c))).unwrap_or(name.len());
        Encoding::for_label(name.get(..end)?.as_bytes())
    };
    named(&fetched.content_type).or_else(|| {
        let head = fetched.bytes.get(..META_BYTES).unwrap_or(&fetched.bytes);
        let head = String::from_utf8_lossy(head).to_ascii_lowercase();
        // A page that names UTF-16 in ASCII is not in UTF-16.
        named(&head).map(|encoding| encoding.output_encoding()).filter(|_| head.contains("<meta"))
    })
}

fn decoded(fetched: &Fetched) -> String {
    let bytes = &fetched.bytes;
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding.decode(bytes).0.into_owned();
    }
    match declared(fetched) {
        Some(encoding) => encoding.decode(bytes).0.into_owned(),
        None if fetched.cut => UTF_8.decode(bytes).0.into_owned(),
        None => charset::decode(bytes).map_or_else(|| UTF_8.decode(bytes).0.into_owned(), |(text, _)| text),
    }
}

/// The article; the whole page where it has none.
fn of_html(html: &str, url: &str) -> Text {
    let config = dom_smoothie::Config {
        text_mode: dom_smoothie::TextMode::Markdown,
        max_elements_to_parse: ELEMENTS_MAX,
        ..dom_smoothie::Config::default()
    };
    let article =
        dom_smoothie::Readability::new(html, Some(url), Some(config)).and_then(|mut page| page.parse());
    if let Ok(article) = article
        && article.text_content.chars().count() >= ARTICLE_CHARS_MIN
    {
        return Text { title: article.title.to_string(), content: tidy(&article.text_content) };
    }
    let page = dom_query::Document::from(html);
    let title = page.select("title").text().split_whitespace().collect::<Vec<_>>().join(" ");
    page.select("script, style, noscript, template, svg, iframe").remove();
    Text { title, content: tidy(&page.select("body").iter().map(|body| body.md_text()).collect::<String>()) }
}

/// Without the empty lines that layout leaves behind.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines().map(str::trim_end) {
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty <= 1 {
            out.push_str(line);
            out.push('\n');
        }
    }
    out.trim().to_owned()
}

/// Markdown of a part of a page.
trait Markdown {
    fn md_text(&self) -> String;
}

impl Markdown for dom_query::Selection<'_> {
    fn md_text(&self) -> String {
        self.nodes().iter().map(|node| node.md(None).to_string()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetched(content_type: &str, bytes: impl AsRef<[u8]>) -> Fetched {
        Fetched {
            url: reqwest::Url::parse("https://site.example/a/page").unwrap(),
            content_type: content_type.into(),
            bytes: bytes.as_ref().to_vec(),
            cut: false,
        }
    }

    fn article() -> String {
        let sentence =
            "The keeper of the stones wrote down what every traveller told, one line after the other. ";
        format!(
            "<html><head><title>Stones | Site</title><script>alert(1)</script></head><body>\
             <nav><a href='/'>Home</a><a href='/shop'>Shop now</a></nav>\
             <article><h1>Stones at the crossroads</h1><p>{}</p><h2>How</h2><p>{}</p>\
             <ul><li>one</li><li>two <a href='../b'>link</a></li></ul><pre><code>let x = 1;</code></pre></article>\
             <footer>All rights reserved. Cookies!</footer></body></html>",
            sentence.repeat(6),
            sentence.repeat(6)
        )
    }

    #[test]
    fn an_article_is_found_and_its_surroundings_are_not() {
        let text = read(&fetched("text/html", article())).unwrap();
        assert!(text.content.contains("keeper of the stones"), "{text:?}");
        assert!(text.content.contains("## How"), "{text:?}");
        assert!(text.content.contains("https://site.example/b"), "links are whole: {text:?}");
        for gone in ["Shop now", "alert(1)", "Cookies"] {
            assert!(!text.content.contains(gone), "{gone}: {text:?}");
        }
        assert!(text.title.starts_with("Stones"), "{text:?}");
    }

    #[test]
    fn a_page_without_an_article_is_shown_whole() {
        let html = "<html><head><title> A  list </title></head><body><h1>Prices</h1><ul><li>a: 1</li></ul><script>x()</script></body></html>";
        let text = read(&fetched("text/html", html)).unwrap();
        assert_eq!(text.title, "A list");
        assert!(
            text.content.contains("Prices") && text.content.contains("a: 1") && !text.content.contains("x()"),
            "{text:?}"
        );
        let empty = read(&fetched("text/html", "")).unwrap();
        assert_eq!(empty.content, "");
    }

    #[test]
    fn encodings_are_as_the_server_the_page_or_the_bytes_say() {
        let sjis = encoding_rs::SHIFT_JIS.encode("日本語のページ").0.into_owned();
        assert_eq!(read(&fetched("text/plain; charset=Shift_JIS", &sjis)).unwrap().content, "日本語のページ");
        let mut page = b"<html><head><meta charset=\"shift_jis\"></head><body>".to_vec();
        page.extend_from_slice(&sjis);
        assert!(read(&fetched("text/html", &page)).unwrap().content.contains("日本語のページ"));
        assert_eq!(read(&fetched("text/plain", b"caf\xe9")).unwrap().content, "café");
        assert_eq!(read(&fetched("", "naïve")).unwrap().content, "naïve");
        let utf16: Vec<u8> = "\u{feff}wide".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(read(&fetched("text/plain", &utf16)).unwrap().content, "wide");
    }

    #[test]
    fn what_is_no_text_is_refused_with_what_to_do() {
        let refused = |kind: &str, bytes: &[u8]| read(&fetched(kind, bytes)).unwrap_err();
        assert!(refused("application/pdf", b"%PDF-1.7").contains("pdftotext"));
        assert!(refused("application/octet-stream", b"%PDF-1.7").contains("PDF"));
        assert!(refused("image/png", b"\x89PNG").contains("vision_analyze"));
        assert!(refused("application/zip", b"PK").contains("not text"));
        assert!(refused("", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0").contains("not text"));
        assert_eq!(read(&fetched("application/ld+json", b"{\"a\":1}")).unwrap().content, "{\"a\":1}");
    }
}
