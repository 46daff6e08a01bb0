//! No text makes cutting and rendering panic, loop, or give a part that a platform would refuse, or
//! take more time than its length explains.
#![no_main]

use std::time::{Duration, Instant};

use herm::delivery::{Format, Limit, Markup, Unit, measure, plan, render};
use libfuzzer_sys::fuzz_target;

/// A sanitized build is slow; what grows faster than the text passes this all the same.
const TIME_MAX: Duration = Duration::from_millis(500);
const TIME_PER_KILOBYTE_MAX: Duration = Duration::from_millis(200);

const MARKUPS: [Markup; 7] = [
    Markup::Source,
    Markup::Plain,
    Markup::Discord,
    Markup::TelegramMarkdownV2,
    Markup::SlackMrkdwn,
    Markup::Html,
    Markup::WhatsApp,
];
const UNITS: [Unit; 4] = [Unit::Chars, Unit::Utf16, Unit::Bytes, Unit::Graphemes];

fuzz_target!(|input: &[u8]| {
    let [markup, unit, max, text @ ..] = input else { return };
    let text = &*String::from_utf8_lossy(text);
    let markup = MARKUPS[usize::from(*markup) % MARKUPS.len()];
    let unit = UNITS[usize::from(*unit) % UNITS.len()];
    // Tags alone take some room.
    let limit = Limit { max: 16 + usize::from(*max) * 4, unit };
    let format = Format { markup, limit: Some(limit) };
    let begin = Instant::now();
    let parts = plan::parts(text, &format);
    let kilobytes = u32::try_from(text.len() >> 10).unwrap_or(u32::MAX);
    let allowed = TIME_MAX + TIME_PER_KILOBYTE_MAX.saturating_mul(kilobytes);
    assert!(begin.elapsed() < allowed, "{:?} for {} bytes", begin.elapsed(), text.len());
    assert!(!parts.is_empty() && parts.len() <= text.len().max(1));
    for part in &parts {
        assert!(text.is_empty() || !part.is_empty(), "an empty part of {text:?}");
        let written = render(part, &format);
        assert!(measure(&written.text, unit) <= limit.max, "{written:?} of {text:?} for {format:?}");
        assert!(measure(&written.plain, unit) <= limit.max, "{written:?} of {text:?} for {format:?}");
    }
});
