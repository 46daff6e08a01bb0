//! What else comes in: mentions, answers, files, edits, reactions, pressed buttons, being put out.

use herm_schema::events::{ChatKind, ChatRef};

use super::incoming::MEDIA_BYTES_MAX;
use super::sending::text;
use super::{Check, Desk, Happening, Kit, Running, Said, Trial, Who, eventually};
use crate::platforms::{Act, Button, Content, Inbound, Outgoing, What};

pub(super) const CHECKS: &[Check] = &[
    ("who is spoken to by name knows it, and the name is taken out", mentions),
    ("an answer says what it answers, and whether that was ours", replies),
    ("a file comes with its bytes, up to the limit", files),
    ("edits, reactions and being put out come in", changes),
    ("a pressed button comes in and is answered", buttons),
];

fn mentions<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let Some(chat) = kit.chat(ChatKind::Group) else { return };
        let desk = Desk::new(MEDIA_BYTES_MAX);
        let running = Running::start(kit.bench.platform(), &desk);
        kit.say(Said::new(&chat, "to nobody"));
        let said = Said { mention: true, ..Said::new(&chat, "to herm 😀 itself") };
        if kit.bench.happen(&Happening::Said(said)).is_some() {
            let (_, message) = desk.message(&chat, "to herm").await;
            assert!(message.mentioned);
            assert_eq!(message.text, "to herm 😀 itself");
        }
        let (_, message) = desk.message(&chat, "to nobody").await;
        assert!(!message.mentioned);
        running.stop().await;
    })
}

fn replies<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let desk = Desk::new(MEDIA_BYTES_MAX);
        let platform = kit.bench.platform();
        let running = Running::start(platform.clone(), &desk);
        let chat = kit.any_chat();
        let asked = kit.say(Said::new(&chat, "a question"));
        let said = platform.send(&text(&chat, "herm speaks")).await;
        let own = said.unwrap_or_else(|failure| panic!("not sent: {failure:?}"));
        for (to, ours) in [(Some(asked), false), (own, true)] {
            // Where messages of herm's have no ids nobody can answer them.
            let Some(to) = to else { continue };
            let answer = format!("an answer to {}", if ours { "herm" } else { "a person" });
            let reply_to = Some(to.clone());
            let said = Said { reply_to, ..Said::new(&chat, answer.as_str()) };
            if kit.bench.happen(&Happening::Said(said)).is_none() {
                continue;
            }
            let (_, message) = desk.message(&chat, &answer).await;
            let Some(reply) = message.reply else { panic!("it is not known that it is an answer") };
            assert_eq!((reply.message_id, reply.ours), (to, ours));
        }
        running.stop().await;
    })
}

fn files<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let desk = Desk::new(MEDIA_BYTES_MAX);
        let running = Running::start(kit.bench.platform(), &desk);
        let chat = kit.any_chat();
        let small: Vec<u8> = (0..=255).collect();
        let large = vec![7; usize::try_from(MEDIA_BYTES_MAX).unwrap_or(usize::MAX) + 1];
        for (caption, bytes) in [("a small file", &small), ("a large file", &large)] {
            let file = Some(("notes.txt".to_owned(), "text/plain".to_owned(), bytes.clone()));
            let said = Said { file, ..Said::new(&chat, caption) };
            if kit.bench.happen(&Happening::Said(said)).is_none() {
                continue;
            }
            let (_, message) = desk.message(&chat, caption).await;
            let [media] = message.media.as_slice() else { panic!("not one file: {message:?}") };
            assert_eq!(media.name, "notes.txt");
            assert!(media.media_type.starts_with("text/plain"), "{}", media.media_type);
            match &media.content {
                Content::Bytes(came) => assert_eq!((caption, came), ("a small file", &small)),
                Content::Left(why) => {
                    assert!(caption == "a large file" && !why.is_empty(), "{caption}: {why}")
                }
            }
        }
        running.stop().await;
    })
}

fn changes<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let desk = Desk::new(MEDIA_BYTES_MAX);
        let running = Running::start(kit.bench.platform(), &desk);
        // Two, since a double may make every other one a thread, and some things concern no thread.
        let groups = [kit.chat(ChatKind::Group), kit.chat(ChatKind::Group)];
        let mut chats: Vec<ChatRef> = groups.into_iter().flatten().collect();
        if chats.is_empty() {
            chats.push(kit.any_chat());
        }
        for chat in chats {
            changes_of(kit, &desk, chat).await;
        }
        running.stop().await;
    })
}

async fn changes_of(kit: &Kit<'_>, desk: &Desk, chat: ChatRef) {
    let message_id = kit.say(Said::new(&chat, "as it was"));
    desk.message(&chat, "as it was").await;
    let at = (chat.clone(), message_id.clone());
    let edited = Happening::Edited { chat: at.0, message_id: at.1, text: "as it is".to_owned() };
    if kit.bench.happen(&edited).is_some() {
        let what = What::Edited { message_id: message_id.clone(), text: "as it is".to_owned() };
        came(desk, &chat, "the edit", &what).await;
    }
    let at = (chat.clone(), message_id.clone());
    let (who, emoji) = (Who::Person(0), "👍");
    let reacted = Happening::Reacted { chat: at.0, message_id: at.1, who, emoji };
    if kit.bench.happen(&reacted).is_some() {
        let what = What::Reaction { message_id, emoji: emoji.to_owned(), added: true };
        let inbound = came(desk, &chat, "the reaction", &what).await;
        assert_eq!(inbound.author.id, kit.bench.id_of(who));
    }
    if kit.bench.happen(&Happening::Removed { chat: chat.clone() }).is_some() {
        let removed = |inbound: &Inbound| matches!(inbound.what, What::Removed { .. }).then_some(());
        desk.until(&chat, "being put out", removed).await;
    }
    let all = desk.of(&chat);
    let ids: std::collections::HashSet<&str> = all.iter().map(|inbound| inbound.id.as_str()).collect();
    assert_eq!(ids.len(), all.len(), "each has an id of its own");
}

async fn came(desk: &Desk, chat: &ChatRef, name: &str, what: &What) -> Inbound {
    desk.until(chat, name, |inbound| (inbound.what == *what).then(|| inbound.clone())).await
}

fn buttons<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let platform = kit.bench.platform();
        if !platform.capabilities().buttons {
            return;
        }
        let desk = Desk::new(MEDIA_BYTES_MAX);
        let running = Running::start(platform.clone(), &desk);
        let chat = kit.any_chat();
        let button = |label: &str, data: &str| Button { label: label.to_owned(), data: data.to_owned() };
        // The longest data that a button may carry.
        let buttons = vec![button("Yes", &"y".repeat(64)), button("No", "no")];
        let outgoing = Outgoing { buttons: buttons.clone(), ..text(&chat, "may I") };
        let message_id = match platform.send(&outgoing).await {
            Ok(Some(id)) => id,
            other => panic!("a message with buttons has an id: {other:?}"),
        };
        let seen = |id: &str| kit.bench.record().sent.into_iter().find(|seen| seen.message_id == *id);
        assert_eq!(seen(&message_id).map(|seen| seen.buttons), Some(buttons));
        let (data, who) = ("no".to_owned(), Who::Person(0));
        let at = (chat.clone(), message_id.clone());
        kit.bench.happen(&Happening::Pressed { chat: at.0, message_id: at.1, who, data: data.clone() });
        let what = What::Button { message_id: message_id.clone(), data };
        let pressed = came(&desk, &chat, "the pressing", &what).await;
        assert_eq!(pressed.author.id, kit.bench.id_of(who));
        let (press, answer) = (pressed.id, "so be it".to_owned());
        let at = (chat.clone(), message_id.clone());
        let act = Act::Answered { chat: at.0, message_id: at.1, press, text: answer.clone() };
        let done = platform.act(&act).await;
        assert!(done.is_ok(), "{done:?}");
        eventually("the answer to the pressing", || {
            kit.bench.record().answers.contains(&answer).then_some(())
        })
        .await;
        let left = seen(&message_id).map(|seen| seen.buttons.len());
        assert_eq!(left, Some(0), "the buttons go");
        running.stop().await;
    })
}
