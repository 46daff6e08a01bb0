//! How long a message may be on each platform and which markup it reads; for platforms without an
//! adapter too, so that `herm explain split` can show what would be sent.

use super::{Format, Limit, Markup, Unit};

const fn format(markup: Markup, max: usize, unit: Unit) -> Format {
    Format { markup, limit: Some(Limit { max, unit }) }
}

use Markup::{Discord, Html, Plain, SlackMrkdwn, Source, TelegramMarkdownV2, WhatsApp};
use Unit::{Bytes, Chars, Utf16};

/// By the platform's name. Where a vendor says "characters" and not of which kind, UTF-16 units are
/// counted: there are never fewer of them.
pub const FORMATS: &[(&str, Format)] = &[
    ("cli", Format::SOURCE),
    ("api_server", format(Source, 65_536, Chars)),
    // Bot API: 1-4096 characters after entities parsing, and its offsets are UTF-16 units.
    ("telegram", format(TelegramMarkdownV2, 4_096, Utf16)),
    // The API is written in Python 3 and counts code points (discord/discord-api-docs#1315).
    ("discord", format(Discord, 2_000, Chars)),
    // chat.postMessage cuts at 40,000.
    ("slack", format(SlackMrkdwn, 39_000, Utf16)),
    // An event has at most 65,536 bytes, and holds the text twice: with markup and without.
    ("matrix", format(Html, 16_000, Bytes)),
    ("email", format(Html, 50_000, Chars)),
    ("whatsapp", format(WhatsApp, 4_096, Utf16)),
    ("whatsapp_cloud", format(WhatsApp, 4_096, Utf16)),
    ("signal", format(Plain, 8_000, Utf16)),
    ("mattermost", format(Source, 4_000, Utf16)),
    // Twilio refuses more (its error 21617).
    ("sms", format(Plain, 1_600, Utf16)),
    ("homeassistant", format(Plain, 4_096, Utf16)),
    ("dingtalk", format(Source, 20_000, Utf16)),
    ("feishu", format(Source, 8_000, Utf16)),
    ("wecom", format(Source, 4_000, Utf16)),
    ("wecom_callback", format(Plain, 4_000, Utf16)),
    ("weixin", format(Plain, 2_000, Utf16)),
    ("qqbot", format(Plain, 4_000, Utf16)),
    ("yuanbao", format(Plain, 4_000, Utf16)),
    ("bluebubbles", format(Plain, 4_000, Utf16)),
    ("photon", format(Plain, 8_000, Utf16)),
    // Its text is Slack's markup but for the escapes; without any it is right everywhere.
    ("google_chat", format(Plain, 4_000, Utf16)),
    ("teams", format(Html, 28_000, Utf16)),
    // A bubble takes 5,000 UTF-16 units; some room is left for what LINE adds.
    ("line", format(Plain, 4_500, Utf16)),
    // A line has 512 bytes with its prefix.
    ("irc", format(Plain, 450, Bytes)),
    // A longer one becomes a file.
    ("ntfy", format(Plain, 4_096, Bytes)),
    ("simplex", format(Plain, 8_000, Bytes)),
    ("raft", format(Source, 16 << 10, Bytes)),
    ("relay", format(Plain, 4_096, Utf16)),
    ("webhook", format(Source, 1 << 20, Bytes)),
    ("msgraph_webhook", format(Source, 1 << 20, Bytes)),
];

/// The format of a platform; `None` if there is no such platform.
pub fn of(platform: &str) -> Option<Format> {
    FORMATS.iter().find(|(name, _)| *name == platform).map(|(_, format)| *format)
}
