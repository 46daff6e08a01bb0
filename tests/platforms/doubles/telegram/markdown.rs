//! MarkdownV2 as Telegram reads it, with the errors that it gives.
//!
//! Source: core.telegram.org/bots/api#markdownv2-style, and `do_parse_markdown_v2` of
//! github.com/tdlib/td, `td/telegram/MessageEntity.cpp`.

/// A text without its markup, and what the markup said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    pub text: String,
    /// Kind, offset and length in UTF-16 code units.
    pub entities: Vec<(Kind, usize, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bold,
    Italic,
    Underline,
    Strikethrough,
    Spoiler,
    Code,
    Pre,
    TextLink,
    CustomEmoji,
    Blockquote,
}

const RESERVED: &str = "_*[]()~`>#+-=|{}.!";

/// Length as Telegram counts.
pub fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

struct Open {
    kind: Kind,
    offset: usize,
    byte: usize,
}

struct Parser<'a> {
    bytes_of: Vec<(usize, char)>,
    at: usize,
    source: &'a str,
    parsed: Parsed,
    open: Vec<Open>,
    line_begins: bool,
}

/// # Errors
/// What follows `Bad Request: can't parse entities: `.
pub fn parse(source: &str) -> Result<Parsed, String> {
    let parser = Parser {
        bytes_of: source.char_indices().collect(),
        at: 0,
        source,
        parsed: Parsed::default(),
        open: Vec::new(),
        line_begins: true,
    };
    parser.run()
}

impl Parser<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.bytes_of.get(self.at + ahead).map(|(_, c)| *c)
    }

    fn sees(&self, mark: &str) -> bool {
        let from = self.bytes_of.get(self.at).map_or(self.source.len(), |(byte, _)| *byte);
        self.source.get(from..).is_some_and(|rest| rest.starts_with(mark))
    }

    fn byte(&self) -> usize {
        self.bytes_of.get(self.at).map_or(self.source.len(), |(byte, _)| *byte)
    }

    fn push(&mut self, c: char) {
        self.parsed.text.push(c);
        if c == '\n' {
            self.line_begins = true;
        } else if !c.is_whitespace() {
            self.line_begins = false;
        }
    }

    fn run(mut self) -> Result<Parsed, String> {
        while let Some(c) = self.peek(0) {
            // Any character of ASCII may be escaped.
            if c == '\\' && self.peek(1).is_some_and(|next| ('\u{1}'..='\u{7e}').contains(&next)) {
                let escaped = self.peek(1).unwrap();
                self.at += 2;
                self.push(escaped);
                continue;
            }
            let inside = self.open.last().map(|open| open.kind);
            if inside == Some(Kind::Blockquote) && (c == '\n' && self.peek(1) != Some('>')) {
                self.close();
            }
            let reserved = match inside {
                Some(Kind::Code | Kind::Pre) => c == '`',
                _ => RESERVED.contains(c),
            };
            if !reserved {
                self.at += 1;
                self.push(c);
                continue;
            }
            if !self.ends()? {
                self.begins(c)?;
            }
        }
        if self.open.last().is_some_and(|open| open.kind == Kind::Blockquote) {
            self.close();
        }
        match self.open.last() {
            Some(open) => {
                Err(format!("Can't find end of {:?} entity at byte offset {}", open.kind, open.byte))
            }
            None => Ok(self.parsed),
        }
    }

    fn close(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let length = units(&self.parsed.text) - open.offset;
        if length > 0 {
            self.parsed.entities.push((open.kind, open.offset, length));
        }
    }

    /// Whether the innermost entity ended here.
    fn ends(&mut self) -> Result<bool, String> {
        let Some(kind) = self.open.last().map(|open| open.kind) else { return Ok(false) };
        let mark = match kind {
            Kind::Bold => "*",
            // Two of them are an underline's, in whatever way they are nested.
            Kind::Italic if self.sees("__") => return Ok(false),
            Kind::Italic => "_",
            Kind::Underline => "__",
            Kind::Strikethrough => "~",
            Kind::Spoiler => "||",
            Kind::Code => "`",
            Kind::Pre => "```",
            Kind::TextLink | Kind::CustomEmoji => "]",
            Kind::Blockquote => return Ok(false),
        };
        if !self.sees(mark) {
            return Ok(false);
        }
        self.at += mark.len();
        if mark == "]" && self.peek(0) == Some('(') {
            self.at += 1;
            self.address()?;
        }
        self.close();
        Ok(true)
    }

    /// What stands in the round brackets behind a link's text.
    fn address(&mut self) -> Result<(), String> {
        let begin = self.byte();
        loop {
            match self.peek(0) {
                None => return Err(format!("Can't find end of a URL at byte offset {begin}")),
                Some(')') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('\\') => self.at += 2,
                Some(_) => self.at += 1,
            }
        }
    }

    fn begins(&mut self, c: char) -> Result<(), String> {
        let begun = match c {
            '_' if self.sees("__") => Some((Kind::Underline, 2)),
            '_' => Some((Kind::Italic, 1)),
            '*' => Some((Kind::Bold, 1)),
            '~' => Some((Kind::Strikethrough, 1)),
            '|' if self.sees("||") => Some((Kind::Spoiler, 2)),
            '[' => Some((Kind::TextLink, 1)),
            '!' if self.sees("![") => Some((Kind::CustomEmoji, 2)),
            '`' if self.sees("```") => Some((Kind::Pre, 3)),
            '`' => Some((Kind::Code, 1)),
            '>' if self.line_begins => {
                // Further lines of the same quotation begin so as well.
                self.at += 1;
                if self.open.iter().all(|open| open.kind != Kind::Blockquote) {
                    self.begin(Kind::Blockquote);
                }
                return Ok(());
            }
            _ => None,
        };
        let inside_code = self.open.last().is_some_and(|open| matches!(open.kind, Kind::Code | Kind::Pre));
        let Some((kind, length)) = begun.filter(|_| !inside_code) else {
            return Err(format!("Character '{c}' is reserved and must be escaped with the preceding '\\'"));
        };
        self.begin(kind);
        self.at += length;
        if kind == Kind::Pre {
            self.language();
        }
        Ok(())
    }

    fn begin(&mut self, kind: Kind) {
        let (offset, byte) = (units(&self.parsed.text), self.byte());
        self.open.push(Open { kind, offset, byte });
    }

    /// The name of a language, up to the end of its line.
    fn language(&mut self) {
        let rest: String = self.bytes_of[self.at..].iter().map(|(_, c)| *c).collect();
        let name = rest.chars().take_while(|c| !c.is_whitespace() && *c != '`').count();
        if rest.chars().nth(name).is_some_and(|c| c == '\n') {
            self.at += name + 1;
        }
    }
}
