//! Chaos: many chats on four platforms that misbehave, and a gateway that is killed at any moment. Every message
//! that was accepted is answered: once where the platform knows keys; elsewhere at most twice, with the mark,
//! or it is shown that nobody knows.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use herm::platforms::contract::{Bench, Happening, Said};
use herm_schema::Event;
use herm_schema::events::{ChatKind, ChatRef};

use super::doubles::{discord, matrix, slack, telegram};
use super::gateway::{Gateway, echo};

/// Chats of each platform, messages of each chat, kills after each round: the bounded version.
/// `CHAOS_CHATS` and `CHAOS_KILLS` make more of it.
const CHATS: usize = 12;
const MESSAGES: usize = 3;
const KILLS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(150);
/// Nothing has come for so long: nothing comes any more.
const STILL: Duration = Duration::from_secs(5);

/// A platform in the storm.
struct Storm<'a> {
    name: &'static str,
    bench: &'a dyn Bench,
    chats: Vec<ChatRef>,
    keyed: bool,
    /// What is said while herm is down comes when it is back.
    keeps: bool,
}

impl Storm<'_> {
    fn texts(&self, chat: &ChatRef) -> Vec<String> {
        let sent = self.bench.record().sent.into_iter();
        sent.filter(|seen| seen.chat == *chat && !seen.deleted).map(|seen| seen.text).collect()
    }

    /// How often each answer stands in a chat, and how often with the mark.
    fn answers(&self, chat: &ChatRef) -> BTreeMap<String, (usize, usize)> {
        let mut seen = BTreeMap::<String, (usize, usize)>::new();
        for text in self.texts(chat) {
            let plain = text.trim_start_matches("(possibly repeated)").trim().to_owned();
            // What herm itself has to say, such as that it was restarted, is no answer.
            if !plain.starts_with("you said") {
                continue;
            }
            let entry = seen.entry(plain.clone()).or_default();
            entry.0 += 1;
            entry.1 += usize::from(plain != text);
        }
        seen
    }
}

fn size(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn message(number: usize, round: usize) -> String {
    format!("message {round} of {number}")
}

/// The messages of one platform that are in the log.
fn accepted(gateway: &Gateway, name: &str) -> BTreeSet<(String, String)> {
    let events = gateway.stage.events();
    let messages = events.into_iter().filter_map(|recorded| match recorded.event {
        Event::MessageReceived(message) if message.chat.platform == name => {
            Some((message.chat.chat, message.text))
        }
        _ => None,
    });
    messages.collect()
}

#[test]
fn every_message_is_answered_through_kills_cuts_repeats_and_refusals() {
    let (telegram, discord) = (telegram::Double::start(), discord::Double::start());
    let (slack, matrix) = (slack::Double::start(), matrix::Double::start());
    let yes = || "true".to_owned();
    let more = [
        ("DISCORD_BOT_TOKEN", discord::TOKEN.to_owned()),
        ("DISCORD_BASE_URL", discord.url()),
        ("DISCORD_ALLOW_ALL_USERS", yes()),
        ("SLACK_BOT_TOKEN", slack::TOKEN.to_owned()),
        ("SLACK_APP_TOKEN", slack::APP_TOKEN.to_owned()),
        ("SLACK_BASE_URL", slack.url()),
        ("SLACK_ALLOW_ALL_USERS", yes()),
        ("MATRIX_HOMESERVER", matrix.url()),
        ("MATRIX_ACCESS_TOKEN", matrix::TOKEN.to_owned()),
        ("MATRIX_ALLOW_ALL_USERS", yes()),
        ("HERM_GATEWAY_STREAMING", "false".to_owned()),
        ("HERM_BUSY_INPUT_MODE", "queue".to_owned()),
        ("HERM_GATEWAY_MEMORY_MAX_MIB", "0".to_owned()),
    ];
    let mut gateway = Gateway::with_telegram(echo(), &telegram, &more);
    gateway.start();
    super::stage::await_that("all platforms", || {
        gateway.get("/health/detailed").is_ok_and(|facts| {
            ["telegram", "discord", "slack", "matrix"]
                .iter()
                .all(|name| facts["platforms"][*name]["state"] == "up")
        })
    });
    let chats = size("CHAOS_CHATS", CHATS);
    let of = |bench: &dyn Bench| -> Vec<ChatRef> {
        (0..chats).filter_map(|number| bench.chat(ChatKind::Direct, number)).collect()
    };
    let storms = [
        Storm { name: "telegram", bench: &telegram, chats: of(&telegram), keyed: false, keeps: true },
        Storm { name: "discord", bench: &discord, chats: of(&discord), keyed: false, keeps: false },
        Storm { name: "slack", bench: &slack, chats: of(&slack), keyed: false, keeps: true },
        Storm { name: "matrix", bench: &matrix, chats: of(&matrix), keyed: true, keeps: true },
    ];
    let delay = Duration::from_millis(50);
    telegram.misbehave(telegram::Mischief {
        duplicate_every: 3,
        cut_poll_every: 7,
        cut_send_every: 11,
        rate_limit_every: 17,
        server_error_every: 23,
        delay_every: 5,
        delay,
    });
    discord.misbehave(discord::Mischief {
        duplicate_every: 3,
        cut_send_every: 13,
        rate_limit_every: 17,
        delay_every: 5,
        delay,
        ..discord::Mischief::default()
    });
    slack.misbehave(slack::Mischief {
        duplicate_every: 3,
        cut_send_every: 13,
        rate_limit_every: 19,
        delay_every: 5,
        delay,
        ..slack::Mischief::default()
    });
    let kills = size("CHAOS_KILLS", KILLS);
    for round in 0..MESSAGES {
        for storm in &storms {
            for (number, chat) in storm.chats.iter().enumerate() {
                storm.bench.happen(&Happening::Said(Said::new(chat, message(number, round))));
            }
        }
        for kill in 0..kills {
            // Not the same moment each time; it follows from the place in the test, so that it can be told.
            let moment = 60 + 97 * ((kill as u64 * 7 + round as u64 * 3) % 13);
            std::thread::sleep(Duration::from_millis(moment));
            gateway.kill();
            gateway.start();
        }
    }
    telegram.misbehave(telegram::Mischief::default());
    discord.misbehave(discord::Mischief::default());
    slack.misbehave(slack::Mischief::default());
    let until = Instant::now() + PATIENCE;
    for storm in &storms {
        settle(&gateway, storm, until);
    }
    let stopped = gateway.stop();
    assert_eq!(stopped.exit, 0, "{}", stopped.err);
    // The log verifies: reading the events checks it.
    for storm in &storms {
        check(&gateway, storm);
    }
}

/// Waits until every message of a platform is answered, or nobody knows of its answer.
fn settle(gateway: &Gateway, storm: &Storm<'_>, until: Instant) {
    let (mut last, mut still) = ((0, 0), Instant::now());
    loop {
        let wanted = |number: usize, round: usize| format!("you said: {}", message(number, round));
        let listed = gateway.herm(&["delivery", "list"]).out;
        let open = listed.lines().filter(|line| line.contains(&format!("  {}:", storm.name)));
        let (unknown, tried): (Vec<&str>, Vec<&str>) = open.partition(|line| line.contains("nobody knows"));
        let mut missing = Vec::new();
        for (number, chat) in storm.chats.iter().enumerate() {
            let answers = storm.answers(chat);
            missing.extend(
                (0..MESSAGES).map(|round| wanted(number, round)).filter(|text| !answers.contains_key(text)),
            );
        }
        let answered = storm.chats.len() * MESSAGES - missing.len();
        if (answered, unknown.len()) != last {
            (last, still) = ((answered, unknown.len()), Instant::now());
        }
        // What was never accepted is found out from the log, when nobody writes it any more.
        let enough = match storm.keeps {
            true => missing.len() <= unknown.len(),
            false => still.elapsed() >= STILL,
        };
        if tried.is_empty() && enough {
            return;
        }
        assert!(Instant::now() < until, "{}: {missing:?} never came\n{listed}", storm.name);
        std::thread::sleep(Duration::from_millis(300));
    }
}

fn check(gateway: &Gateway, storm: &Storm<'_>) {
    for chat in &storm.chats {
        for (text, (times, marked)) in storm.answers(chat) {
            let most = if storm.keyed { 1 } else { 2 };
            assert!(times <= most, "{}: {text} came {times} times", storm.name);
            assert!(times == 1 || marked >= 1, "{}: {text} came twice without the mark", storm.name);
        }
    }
    let accepted = accepted(gateway, storm.name);
    let unanswered = accepted.iter().filter(|(chat, text)| {
        let at = storm.chats.iter().find(|known| known.chat == *chat);
        at.is_none_or(|chat| !storm.answers(chat).contains_key(&format!("you said: {text}")))
    });
    let unknown = gateway.herm(&["delivery", "list"]).out;
    let unknown = unknown.lines().filter(|line| line.contains(&format!("  {}:", storm.name))).count();
    let unanswered: Vec<_> = unanswered.collect();
    assert!(unanswered.len() <= unknown, "{}: {unanswered:?} were accepted and not answered", storm.name);
    if storm.keeps {
        assert_eq!(accepted.len(), storm.chats.len() * MESSAGES, "{}: some were never accepted", storm.name);
    }
}
