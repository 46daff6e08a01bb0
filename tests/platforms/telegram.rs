//! Telegram over its double.

use std::time::Duration;

use herm::platforms::contract::{self, Bench, Desk, Fault, Happening, Running, Said, eventually};
use herm::platforms::table::{PLATFORMS, Section};
use herm::platforms::{Act, Ingress, Outgoing, Say, Stopped, What, Written};
use herm_schema::events::{ChatKind, ChatRef, DeliveryFailure};
use serde_json::json;

use crate::doubles::telegram::markdown::{self, Kind};
use crate::doubles::telegram::{Double, Mischief, TOKEN};

fn text(chat: &ChatRef, text: &str, plain: &str) -> Outgoing {
    Outgoing {
        target: chat.clone(),
        content: Say::Text(Written { text: text.to_owned(), plain: plain.to_owned() }),
        key: "key-1".to_owned(),
        possible_repeat: false,
        reply_to: None,
        replaces: None,
        buttons: Vec::new(),
    }
}

#[tokio::test]
async fn it_keeps_the_contract() {
    let double = Double::start();
    contract::check(&double).await;
    assert_eq!(double.problems(), Vec::<String>::new());
}

#[tokio::test]
async fn markup_is_read_and_what_cannot_be_read_is_sent_plain() {
    let double = Double::start();
    let (platform, chat) = (double.platform(), double.chat(ChatKind::Direct, 1).unwrap());
    platform.send(&text(&chat, "*bold* and 1\\.5", "bold and 1.5")).await.unwrap();
    platform.send(&text(&chat, "*bold and 1.5", "bold and 1.5, plain")).await.unwrap();
    let texts = double.texts_of(chat.chat.parse().unwrap());
    assert_eq!(texts, ["bold and 1.5", "bold and 1.5, plain"]);
    assert_eq!(double.record().requests, 3);
}

#[tokio::test]
async fn a_group_that_moved_is_gone_and_says_where_it_went() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Group, 2).unwrap();
    double.migrate(&chat, -1_001_999_999_999);
    let failure = double.platform().send(&text(&chat, "x", "x")).await.unwrap_err();
    assert_eq!((failure.class, failure.retry_after), (DeliveryFailure::Gone, None));
    assert!(failure.message.contains("-1001999999999"), "{}", failure.message);
}

#[tokio::test]
async fn an_image_is_a_photo_and_what_is_none_a_document() {
    let double = Double::start();
    let (platform, chat) = (double.platform(), double.chat(ChatKind::Direct, 1).unwrap());
    for (bytes, requests) in [(b"\x89PNG and more".to_vec(), 1), (b"no image".to_vec(), 3)] {
        let (name, media_type) = ("a \"picture\".png".to_owned(), "image/png".to_owned());
        let content = Say::File { name, media_type, bytes: bytes.clone() };
        let id = platform.send(&Outgoing { content, ..text(&chat, "", "") }).await.unwrap();
        let sent = double.record().sent;
        let seen = sent.iter().find(|seen| Some(&seen.message_id) == id.as_ref()).unwrap();
        assert_eq!(seen.file, Some(("a picture.png".to_owned(), bytes)));
        assert_eq!(double.record().requests, requests);
    }
}

#[tokio::test]
async fn the_general_topic_is_not_named_when_sending() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Group, 2).unwrap();
    let general = ChatRef { thread: Some("1".to_owned()), ..chat.clone() };
    let platform = double.platform();
    platform.send(&text(&general, "x", "x")).await.unwrap();
    platform.act(&Act::Typing { chat: general }).await.unwrap();
    assert_eq!((double.record().sent[0].chat.clone(), double.record().typing), (chat.clone(), vec![chat]));
    let topic = double.chat(ChatKind::Group, 3).unwrap();
    assert!(topic.thread.is_some());
    platform.send(&text(&topic, "y", "y")).await.unwrap();
    assert_eq!(double.record().sent[1].chat, topic);
}

#[tokio::test]
async fn an_album_is_one_message_and_an_update_that_cannot_be_read_is_passed_over() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Direct, 1).unwrap();
    let id: i64 = chat.chat.parse().unwrap();
    double.write(id, "before");
    double.update(json!({"message": {"message_id": "no number", "chat": 7}}));
    let document = |message_id: i64, caption: &str| {
        double.update(json!({"message": {
            "message_id": message_id, "date": 1, "chat": {"id": id, "type": "private"}, "caption": caption,
            "from": {"id": 1, "is_bot": false, "first_name": "A"}, "media_group_id": "g",
            "document": {"file_id": "none", "file_name": format!("{message_id}.txt")},
        }}));
    };
    document(501, "an album");
    double.write(id, "between");
    document(502, "");
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    desk.message(&chat, "between").await;
    let taken = desk.of(&chat);
    let albums: Vec<usize> = taken
        .iter()
        .filter_map(|inbound| match &inbound.what {
            What::Message(message) => Some(message.media.len()),
            _ => None,
        })
        .collect();
    assert_eq!(albums, [0, 2, 0]);
    running.stop().await;
    eventually("all asked past", || (double.waiting() == 0).then_some(())).await;
}

#[tokio::test]
async fn a_web_hook_of_before_is_taken_away_without_losing_what_waits() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Direct, 1).unwrap();
    double.write(chat.chat.parse().unwrap(), "waits");
    let hooked = double.adapter(&[("webhook_url", "https://herm.example/t"), ("webhook_secret", "s3cret-x")]);
    let desk = Desk::new(1000);
    let running = Running::start(hooked, &desk);
    let set = eventually("the web hook", || double.webhook()).await;
    assert_eq!(set, ("https://herm.example/t".to_owned(), "s3cret-x".to_owned()));
    running.stop().await;
    assert!(double.webhook().is_some(), "what happens while herm is away is posted again later");
    let running = Running::start(double.platform(), &desk);
    desk.message(&chat, "waits").await;
    running.stop().await;
    assert_eq!((double.webhook(), double.problems()), (None, Vec::new()));
}

#[tokio::test]
async fn a_web_hook_takes_what_telegram_posts_and_nobody_else() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Direct, 1).unwrap();
    let platform =
        double.adapter(&[("webhook_url", "https://herm.example/t"), ("webhook_secret", "s3cret-x")]);
    let desk = Desk::new(1000);
    let message_id = double.happen(&Happening::Said(Said::new(&chat, "posted"))).unwrap();
    let posted = |secret: Option<&str>, body: Vec<u8>| Ingress {
        method: "POST".to_owned(),
        path: "/".to_owned(),
        headers: secret
            .map(|secret| ("X-Telegram-Bot-Api-Secret-Token".to_owned(), secret.to_owned()))
            .into_iter()
            .collect(),
        body,
        ..Ingress::default()
    };
    let body = serde_json::to_vec(&double.update_of(&message_id)).unwrap();
    for secret in [None, Some(""), Some("s3cret-y"), Some("s3cret-")] {
        assert_eq!(platform.ingress(&posted(secret, body.clone()), &*desk).await.status, 401);
    }
    assert_eq!(desk.of(&chat), []);
    desk.refuse(1);
    let right = posted(Some("s3cret-x"), body);
    assert_eq!(platform.ingress(&right, &*desk).await.status, 503, "to be posted again");
    for _ in 0..2 {
        assert_eq!(platform.ingress(&right, &*desk).await.status, 200);
    }
    assert_eq!(desk.texts(&chat), ["posted"], "once, by its id");
    let garbled = posted(Some("s3cret-x"), b"{".to_vec());
    assert_eq!(platform.ingress(&garbled, &*desk).await.status, 200);
    let get = Ingress { method: "GET".to_owned(), ..right.clone() };
    assert_eq!(platform.ingress(&get, &*desk).await.status, 405);
    assert_eq!(double.platform().ingress(&right, &*desk).await.status, 404, "no web hook is configured");
}

#[tokio::test]
async fn another_reader_is_told_and_passes() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Direct, 1).unwrap();
    let desk = Desk::new(1000);
    let (first, second) = (double.platform(), double.platform());
    let stop = tokio_util::sync::CancellationToken::new();
    let conflict = {
        let running = Running::start(second, &desk);
        let stopped = loop {
            // Whoever asks later sends the other away.
            if let Err(stopped) = first.run(&*desk, stop.clone()).await {
                break stopped;
            }
        };
        running.stop().await;
        stopped
    };
    let Stopped::Transient { message, .. } = conflict else { panic!("{conflict:?}") };
    assert!(message.contains("another program reads"), "{message}");
    double.write(chat.chat.parse().unwrap(), "afterwards");
    let running = Running::start(first, &desk);
    desk.message(&chat, "afterwards").await;
    running.stop().await;
}

#[tokio::test]
async fn what_duplicates_cuts_and_delays_loses_nothing() {
    const MESSAGES: usize = 60;
    let double = Double::start();
    double.misbehave(Mischief {
        duplicate_every: 2,
        cut_poll_every: 3,
        delay_every: 3,
        delay: Duration::from_millis(5),
        ..Mischief::default()
    });
    let chat = double.chat(ChatKind::Direct, 1).unwrap();
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    for number in 0..MESSAGES {
        double.write(chat.chat.parse().unwrap(), &format!("number {number}"));
        if number % 10 == 0 {
            assert!(double.fail(Fault::Cut));
        }
        let answer = format!("answer {number}");
        double.platform().send(&text(&chat, &answer, &answer)).await.unwrap();
    }
    eventually("all", || (desk.of(&chat).len() >= MESSAGES).then_some(())).await;
    let all: Vec<String> = (0..MESSAGES).map(|number| format!("number {number}")).collect();
    assert_eq!(desk.texts(&chat), all);
    assert_eq!(double.texts_of(chat.chat.parse().unwrap()).len(), MESSAGES);
    running.stop().await;
}

#[test]
fn what_is_configured_wrongly_is_said_without_the_token() {
    let row = PLATFORMS.iter().find(|row| row.name == "telegram").unwrap();
    let made = |settings: &[(&str, &str)]| {
        let mut section = Section::default();
        for (name, value) in settings {
            section.set(row.field(name).unwrap(), value);
        }
        (row.make)(row, &section).map(|_| ())
    };
    assert_eq!(made(&[("token", TOKEN)]), Ok(()));
    for settings in [
        &[][..],
        &[("token", "1:a/../b")],
        &[("token", TOKEN), ("base_url", "nowhere")],
        &[("token", TOKEN), ("base_url", "ftp://host")],
        &[("token", TOKEN), ("webhook_url", "https://host")],
        &[("token", TOKEN), ("webhook_url", "https://host"), ("webhook_secret", "with space")],
    ] {
        let wrong = made(settings).unwrap_err();
        assert!(!wrong.fix.is_empty() && !format!("{wrong:?} {wrong}").contains(TOKEN), "{wrong:?}");
    }
}

#[test]
fn the_double_reads_markup_as_telegram_does() {
    let parsed = markdown::parse("*a _b_* \\. `c.d` ||s|| [t\\.](https://x.y/z)\n>q\n>r\nend").unwrap();
    assert_eq!(parsed.text, "a b . c.d s t.\nq\nr\nend");
    let kinds: Vec<Kind> = parsed.entities.iter().map(|entity| entity.0).collect();
    use Kind::{Blockquote, Bold, Code, Italic, Spoiler, TextLink};
    assert_eq!(kinds, [Italic, Bold, Code, Spoiler, TextLink, Blockquote]);
    let code = markdown::parse("```rust\nlet a = b[0] - 1.5;\n```").unwrap();
    assert_eq!((code.text.as_str(), code.entities[0].0), ("let a = b[0] - 1.5;\n", Kind::Pre));
    for (wrong, why) in [
        ("1.5", "Character '.' is reserved"),
        ("a-b", "Character '-' is reserved"),
        ("a > b", "Character '>' is reserved"),
        ("a | b", "Character '|' is reserved"),
        ("*a", "Can't find end of Bold entity at byte offset 0"),
        ("ü _a", "Can't find end of Italic entity at byte offset 3"),
        ("[a](b", "Can't find end of a URL"),
        ("`a", "Can't find end of Code entity"),
        ("*a _b* c_", "Can't find end of"),
    ] {
        let error = markdown::parse(wrong).unwrap_err();
        assert!(error.contains(why), "{wrong}: {error}");
    }
}
