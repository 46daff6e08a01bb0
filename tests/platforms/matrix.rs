//! Matrix over its double.

use herm::platforms::contract::{self, Bench, Desk, Happening, Running, Said, Who, eventually};
use herm::platforms::table::{PLATFORMS, Section};
use herm::platforms::{Act, Inlet, Outgoing, Say, What, Written};
use herm_schema::events::{ChatKind, ChatRef, DeliveryFailure};
use serde_json::json;

use crate::doubles::matrix::{Double, SERVER, TOKEN};

fn text(chat: &ChatRef, text: &str, plain: &str) -> Outgoing {
    Outgoing {
        target: chat.clone(),
        content: Say::Text(Written { text: text.to_owned(), plain: plain.to_owned() }),
        key: format!("key-{}", plain.len()),
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
async fn it_keeps_the_contract_where_timelines_are_cut_short() {
    let double = Double::start();
    double.cut_short(2);
    contract::check(&double).await;
    assert_eq!(double.problems(), Vec::<String>::new());
}

#[tokio::test]
async fn markup_goes_beside_the_plain_text() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Direct, 1).unwrap();
    let platform = double.platform();
    let id = platform.send(&text(&chat, "<strong>bold</strong>", "bold")).await.unwrap().unwrap();
    let content = double.content_of(&id);
    assert_eq!((&content["msgtype"], &content["body"]), (&json!("m.text"), &json!("bold")));
    assert_eq!(content["formatted_body"], "<strong>bold</strong>");
    assert_eq!(content["format"], "org.matrix.custom.html");
    let plain = platform.send(&text(&chat, "as it is", "as it is")).await.unwrap().unwrap();
    assert!(double.content_of(&plain).get("formatted_body").is_none());
}

#[tokio::test]
async fn what_is_said_in_a_thread_stays_there_and_names_whom_it_answers() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Group, 3).unwrap();
    let desk = Desk::new(1000);
    let platform = double.platform();
    let running = Running::start(platform.clone(), &desk);
    let asked = double.happen(&Happening::Said(Said::new(&chat, "asked"))).unwrap();
    desk.message(&chat, "asked").await;
    let answer = Outgoing { reply_to: Some(asked.clone()), ..text(&chat, "answer", "answer") };
    let id = platform.send(&answer).await.unwrap().unwrap();
    let content = double.content_of(&id);
    let relation = json!({
        "rel_type": "m.thread", "event_id": "$root3", "is_falling_back": false,
        "m.in_reply_to": {"event_id": asked},
    });
    assert_eq!(content["m.relates_to"], relation);
    assert_eq!(content["m.mentions"]["user_ids"], json!([double.id_of(Who::Person(0))]));
    running.stop().await;
}

#[tokio::test]
async fn an_event_that_is_too_large_is_refused_for_good() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Direct, 1).unwrap();
    let long = "x".repeat(70_000);
    let failure = double.platform().send(&text(&chat, &long, &long)).await.unwrap_err();
    assert_eq!((failure.class, failure.retry_after), (DeliveryFailure::Refused, None));
    // The longest text with markup fits, as another text for a message as well.
    let (marked, plain) = ("😀".repeat(4000), "ü".repeat(8000));
    let platform = double.platform();
    let first = platform.send(&text(&chat, &marked, &plain)).await.unwrap();
    let again = Outgoing { replaces: first.clone(), ..text(&chat, &marked, &plain) };
    assert_eq!(platform.send(&again).await.unwrap(), first);
}

#[tokio::test]
async fn an_encrypted_room_is_told_once_and_not_again_after_a_restart() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Direct, 1).unwrap();
    let desk = Desk::new(1000);
    let sealed = json!({"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AwgAEnACgAkLmt6q"});
    for round in 0..2 {
        let running = Running::start(double.platform(), &desk);
        for _ in 0..2 {
            double.put(&chat, Who::Person(0), "m.room.encrypted", sealed.clone());
        }
        let last = format!("in clear {round}");
        double.happen(&Happening::Said(Said::new(&chat, last.as_str())));
        desk.message(&chat, &last).await;
        running.stop().await;
    }
    let sent = double.record().sent;
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(sent[0].text.contains("encrypted"));
    assert_eq!(double.content_of(&sent[0].message_id)["msgtype"], "m.notice");
}

#[tokio::test]
async fn an_invitation_is_followed_and_what_was_said_since_is_read() {
    let double = Double::start();
    let room_id = format!("!invited:{SERVER}");
    let chat = ChatRef { platform: "matrix".to_owned(), chat: room_id.clone(), thread: None };
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    double.invite(&room_id, "before the invitation", "are you there");
    let (inbound, _) = desk.message(&chat, "are you there").await;
    assert_eq!(inbound.chat.kind, ChatKind::Direct);
    assert_eq!(desk.texts(&chat), ["are you there"]);
    running.stop().await;
}

#[tokio::test]
async fn an_invitation_is_not_followed_where_that_is_configured() {
    let double = Double::start();
    let room_id = format!("!invited:{SERVER}");
    let desk = Desk::new(1000);
    let running = Running::start(double.adapter(&[("auto_join", "false")]), &desk);
    double.invite(&room_id, "a", "b");
    let chat = double.chat(ChatKind::Direct, 1).unwrap();
    double.happen(&Happening::Said(Said::new(&chat, "later")));
    desk.message(&chat, "later").await;
    assert!(!double.is_in(&room_id));
    running.stop().await;
}

#[tokio::test]
async fn an_invitation_of_before_the_first_start_is_followed_and_messages_are_not_answered() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Direct, 1).unwrap();
    double.happen(&Happening::Said(Said::new(&chat, "long ago")));
    let room_id = format!("!invited:{SERVER}");
    double.invite(&room_id, "a", "b");
    let started = std::time::SystemTime::now();
    // The clock counts in milliseconds.
    eventually("the next millisecond", || (started.elapsed().unwrap().as_millis() > 1).then_some(())).await;
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    eventually("the join", || double.is_in(&room_id).then_some(())).await;
    double.happen(&Happening::Said(Said::new(&chat, "now")));
    desk.message(&chat, "now").await;
    assert_eq!(desk.texts(&chat), ["now"]);
    running.stop().await;
}

#[tokio::test]
async fn a_place_that_the_server_does_not_know_any_more_is_left() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Direct, 1).unwrap();
    let desk = Desk::new(1000);
    desk.advance(format!("{} s999999", double.id_of(Who::Herm))).await.unwrap();
    let running = Running::start(double.platform(), &desk);
    double.happen(&Happening::Said(Said::new(&chat, "after the loss")));
    desk.message(&chat, "after the loss").await;
    running.stop().await;
}

#[tokio::test]
async fn nobody_edits_the_words_of_another() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Group, 2).unwrap();
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    let message_id = double.happen(&Happening::Said(Said::new(&chat, "pay one"))).unwrap();
    let forged = json!({
        "msgtype": "m.text", "body": "* pay all", "m.new_content": {"msgtype": "m.text", "body": "pay all"},
        "m.relates_to": {"rel_type": "m.replace", "event_id": message_id},
    });
    double.put(&chat, Who::Person(1), "m.room.message", forged);
    double.happen(&Happening::Said(Said::new(&chat, "done")));
    desk.message(&chat, "done").await;
    assert!(!desk.of(&chat).iter().any(|inbound| matches!(inbound.what, What::Edited { .. })));
    running.stop().await;
}

#[tokio::test]
async fn a_reaction_is_taken_back() {
    let double = Double::start();
    let chat = double.chat(ChatKind::Direct, 1).unwrap();
    let message_id = double.happen(&Happening::Said(Said::new(&chat, "look"))).unwrap();
    let platform = double.platform();
    let react = |emoji: &str| Act::React {
        chat: chat.clone(),
        message_id: message_id.clone(),
        emoji: emoji.to_owned(),
    };
    for _ in 0..2 {
        // The second time it stands there already.
        platform.act(&react("👀")).await.unwrap();
    }
    assert_eq!(double.record().reactions.len(), 1);
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    platform.act(&react("")).await.unwrap();
    double.happen(&Happening::Said(Said::new(&chat, "done")));
    desk.message(&chat, "done").await;
    running.stop().await;
    assert!(double.is_taken_back("m.reaction"));
}

#[test]
fn what_is_configured_wrongly_is_said_without_the_token() {
    let row = PLATFORMS.iter().find(|row| row.name == "matrix").unwrap();
    let made = |settings: &[(&str, &str)]| {
        let mut section = Section::default();
        for (name, value) in settings {
            section.set(row.field(name).unwrap(), value);
        }
        (row.make)(row, &section).map(|_| ())
    };
    assert_eq!(made(&[("token", TOKEN), ("homeserver", "https://matrix.example.org")]), Ok(()));
    for settings in [
        &[][..],
        &[("token", TOKEN)],
        &[("token", "with space"), ("homeserver", "https://host")],
        &[("token", TOKEN), ("homeserver", "matrix.example.org")],
        &[("token", TOKEN), ("homeserver", "ftp://host")],
    ] {
        let wrong = made(settings).unwrap_err();
        assert!(!wrong.fix.is_empty() && !format!("{wrong:?} {wrong}").contains(TOKEN), "{wrong:?}");
    }
}
