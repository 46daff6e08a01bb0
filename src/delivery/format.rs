//! How a platform wants its texts: which markup, and how long in which unit.

/// What a text on a platform may look like and how long it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    pub markup: Markup,
    /// Longest message after rendering; `None` for no limit.
    pub limit: Option<Limit>,
}

/// Longest message, in the unit that the platform counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub max: usize,
    pub unit: Unit,
}

/// What a platform counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Unicode scalar values.
    Chars,
    /// UTF-16 code units.
    Utf16,
    /// Bytes of UTF-8.
    Bytes,
    /// What people see as one character.
    Graphemes,
}

/// The markup that a platform reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markup {
    /// The Markdown as the model wrote it: a terminal, an API.
    Source,
    /// No markup at all: what markup there was becomes readable text.
    Plain,
    /// Discord's Markdown.
    Discord,
    /// Telegram's MarkdownV2.
    TelegramMarkdownV2,
    /// Slack's mrkdwn.
    SlackMrkdwn,
    /// HTML as Matrix and e-mail take it.
    Html,
    /// WhatsApp's marks.
    WhatsApp,
}

impl Format {
    /// Everything as it is, of any length.
    pub const SOURCE: Self = Self { markup: Markup::Source, limit: None };
}
