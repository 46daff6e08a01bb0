//! Matrix over a real homeserver: Synapse, from PyPI, on loopback with SQLite. Without it the test says
//! that it is skipped.

use std::sync::Arc;

use herm::platforms::contract::{Desk, Running, eventually};
use herm::platforms::{Act, Content, Outgoing, Platform, Say, Stopped, What, Written};
use herm_schema::events::{ChatKind, ChatRef, DeliveryFailure};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::synapse::{LOOK_EVERY, Person, START_MAX, Synapse, joined, python};

fn place(room: &str) -> ChatRef {
    ChatRef { platform: "matrix".to_owned(), chat: room.to_owned(), thread: None }
}

fn text(chat: &ChatRef, key: &str, text: &str, plain: &str) -> Outgoing {
    Outgoing {
        target: chat.clone(),
        content: Say::Text(Written { text: text.to_owned(), plain: plain.to_owned() }),
        key: key.to_owned(),
        possible_repeat: false,
        reply_to: None,
        replaces: None,
        buttons: Vec::new(),
    }
}

#[tokio::test]
async fn a_person_talks_with_herm_through_synapse() {
    let Some(python) = python() else {
        println!("skipped: Synapse is not installed, see `.ci/run`");
        return;
    };
    let synapse = Synapse::start(python).await;
    let (herm, ada, bob) =
        (synapse.register("herm").await, synapse.register("ada").await, synapse.register("bob").await);
    let platform = synapse.adapter(&herm.token);
    assert_eq!(platform.probe().await.unwrap().id, herm.id);

    reads(&synapse, &herm, &ada, &bob).await;
    let room = ada.room(&[&herm], json!({"is_direct": true})).await;
    let desk = Desk::new(100_000);
    let running = Running::start(platform.clone(), &desk);
    ada.say(&room, "the first").await;
    desk.message(&place(&room), "the first").await;
    writes(&*platform, &ada, &room).await;
    running.stop().await;
    restarts(&synapse, &herm, &ada, &room, &desk).await;
    refuses(&synapse, &*platform, &herm, &ada, &room).await;
}

/// What people do comes in.
async fn reads(synapse: &Synapse, herm: &Person, ada: &Person, bob: &Person) {
    let old = ada.room(&[herm], json!({})).await;
    let desk = Desk::new(100_000);
    let running = Running::start(synapse.adapter(&herm.token), &desk);
    // The invitation is from before the start.
    joined(herm, &old).await;
    let room = ada.room(&[herm, bob], json!({"name": "Plans"})).await;
    let chat = place(&room);
    // Said before herm has come, and for it all the same.
    ada.say(&room, "welcome herm").await;
    let (inbound, _) = desk.message(&chat, "welcome herm").await;
    assert_eq!((inbound.author.id.as_str(), inbound.author.name.as_deref()), (ada.id.as_str(), Some("ada")));
    bob.ask("POST", &format!("v3/join/{room}"), Some(json!({}))).await;
    let mention = json!({
        "msgtype": "m.text", "body": "herm: hi", "m.mentions": {"user_ids": [herm.id]},
        "format": "org.matrix.custom.html",
        "formatted_body": format!("<a href=\"https://matrix.to/#/{}\">herm</a>: hi", herm.id),
    });
    let asked = bob.send(&room, "m.room.message", mention).await;
    let (inbound, message) = desk.message(&chat, "hi").await;
    assert_eq!((inbound.chat.kind, inbound.chat.title.as_deref()), (ChatKind::Group, Some("Plans")));
    assert_eq!((message.text.as_str(), message.mentioned, &message.message_id), ("hi", true, &asked));
    let edit = json!({
        "msgtype": "m.text", "body": "* hello", "m.new_content": {"msgtype": "m.text", "body": "hello"},
        "m.relates_to": {"rel_type": "m.replace", "event_id": asked},
    });
    bob.send(&room, "m.room.message", edit).await;
    let edited = What::Edited { message_id: asked.clone(), text: "hello".to_owned() };
    let relation = json!({"rel_type": "m.annotation", "event_id": asked, "key": "👍"});
    let given = ada.send(&room, "m.reaction", json!({"m.relates_to": relation})).await;
    let reaction = |added| What::Reaction { message_id: asked.clone(), emoji: "👍".to_owned(), added };
    ada.ask("PUT", &format!("v3/rooms/{room}/redact/{given}/1"), Some(json!({}))).await;
    for what in [edited, reaction(true), reaction(false)] {
        desk.until(&chat, "a change", |inbound| (inbound.what == what).then_some(())).await;
    }
    let threaded = json!({
        "msgtype": "m.text", "body": "in a thread",
        "m.relates_to": {"rel_type": "m.thread", "event_id": asked, "is_falling_back": true,
            "m.in_reply_to": {"event_id": asked}},
    });
    ada.send(&room, "m.room.message", threaded).await;
    let thread = ChatRef { thread: Some(asked.clone()), ..chat.clone() };
    let (_, message) = desk.message(&thread, "in a thread").await;
    assert_eq!(message.reply, None);
    let bytes: Vec<u8> = (0..=255).collect();
    let url = format!("{}/_matrix/media/v3/upload?filename=a.bin", ada.url);
    let upload = ada.client.post(url).bearer_auth(&ada.token).body(bytes.clone());
    let uploaded: Value = serde_json::from_str(&upload.send().await.unwrap().text().await.unwrap()).unwrap();
    let file = json!({"msgtype": "m.file", "body": "a.bin", "url": uploaded["content_uri"]});
    ada.send(&room, "m.room.message", file).await;
    let media = desk
        .until(&chat, "the file", |inbound| match &inbound.what {
            What::Message(message) => message.media.first().cloned(),
            _ => None,
        })
        .await;
    assert_eq!((media.name.as_str(), media.content), ("a.bin", Content::Bytes(bytes)));
    let kick = json!({"user_id": herm.id});
    ada.ask("POST", &format!("v3/rooms/{room}/kick"), Some(kick)).await;
    let removed =
        |inbound: &herm::platforms::Inbound| matches!(inbound.what, What::Removed { .. }).then_some(());
    desk.until(&chat, "being put out", removed).await;
    running.stop().await;
}

/// What herm says arrives.
async fn writes(platform: &dyn Platform, ada: &Person, room: &str) {
    let chat = place(room);
    let say = text(&chat, "key-1", "<strong>bold</strong>", "bold");
    let id = platform.send(&say).await.unwrap().unwrap();
    assert_eq!(platform.send(&say).await.unwrap().as_ref(), Some(&id), "the key is recognised");
    let event = ada.event(room, &id).await;
    assert_eq!(event["content"]["formatted_body"], "<strong>bold</strong>");
    let longest = "😀".repeat(4000);
    platform.send(&text(&chat, "key-2", &longest, &longest)).await.unwrap();
    let changed = Outgoing { replaces: Some(id.clone()), ..text(&chat, "key-3", "changed", "changed") };
    assert_eq!(platform.send(&changed).await.unwrap().as_ref(), Some(&id));
    let relations = ada.ask("GET", &format!("v1/rooms/{room}/relations/{id}/m.replace"), None).await;
    assert_eq!(relations["chunk"][0]["content"]["m.new_content"]["body"], "changed", "{relations}");
    platform.act(&Act::Typing { chat: chat.clone() }).await.unwrap();
    for _ in 0..2 {
        let (chat, message_id) = (chat.clone(), id.clone());
        platform.act(&Act::React { chat, message_id, emoji: "👀".to_owned() }).await.unwrap();
    }
    let relations = ada.ask("GET", &format!("v1/rooms/{room}/relations/{id}/m.annotation"), None).await;
    assert_eq!(relations["chunk"].as_array().map(Vec::len), Some(1), "{relations}");
    for _ in 0..2 {
        let (chat, message_id) = (chat.clone(), id.clone());
        platform.act(&Act::Delete { chat, message_id }).await.unwrap();
    }
    assert_eq!(ada.event(room, &id).await["content"], json!({}));
    let anew = platform.send(&Outgoing { key: "key-4".to_owned(), ..changed }).await.unwrap().unwrap();
    assert_ne!(anew, id, "what is gone is sent anew");
    let bytes = b"\x89PNG and more".to_vec();
    let (name, media_type) = ("grün cat.png".to_owned(), "image/png".to_owned());
    let content = Say::File { name, media_type, bytes: bytes.clone() };
    let file = platform.send(&Outgoing { content, ..text(&chat, "key-5", "", "") }).await.unwrap().unwrap();
    let content = ada.event(room, &file).await["content"].clone();
    assert_eq!((&content["msgtype"], &content["body"]), (&json!("m.image"), &json!("grün cat.png")));
    let address = content["url"].as_str().unwrap().trim_start_matches("mxc://").to_owned();
    let url = format!("{}/_matrix/client/v1/media/download/{address}", ada.url);
    let fetched = ada.client.get(url).bearer_auth(&ada.token).send().await.unwrap().bytes().await.unwrap();
    assert_eq!(fetched, bytes);
}

/// What was said while herm was away is read from the cursor on, in its order, more than a sync holds.
async fn restarts(synapse: &Synapse, herm: &Person, ada: &Person, room: &str, desk: &Arc<Desk>) {
    const MISSED: usize = 130;
    for number in 0..MISSED {
        ada.say(room, &format!("missed {number}")).await;
    }
    let running = Running::start(synapse.adapter(&herm.token), desk);
    let chat = place(room);
    desk.message(&chat, &format!("missed {}", MISSED - 1)).await;
    let missed: Vec<String> = (0..MISSED).map(|number| format!("missed {number}")).collect();
    let texts = desk.texts(&chat);
    let read: Vec<String> = texts.into_iter().filter(|text| text.starts_with("missed")).collect();
    assert_eq!(read, missed);
    // An encrypted room is told so.
    let encryption = json!({
        "type": "m.room.encryption", "state_key": "", "content": {"algorithm": "m.megolm.v1.aes-sha2"},
    });
    let sealed = ada.room(&[herm], json!({"initial_state": [encryption]})).await;
    joined(herm, &sealed).await;
    ada.send(&sealed, "m.room.encrypted", json!({"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "x"}))
        .await;
    let end = Instant::now() + START_MAX;
    loop {
        let told =
            ada.events(&sealed).await.into_iter().filter(|event| event["content"]["msgtype"] == "m.notice");
        if told.count() == 1 {
            break;
        }
        assert!(Instant::now() < end, "it was not told");
        sleep(LOOK_EVERY).await;
    }
    let own =
        eventually("own words", || desk.of(&chat).into_iter().find(|inbound| inbound.author.id == herm.id))
            .await;
    assert!(own.author.ours);
    running.stop().await;
}

/// What cannot be done is said in its class.
async fn refuses(synapse: &Synapse, platform: &dyn Platform, herm: &Person, ada: &Person, room: &str) {
    let long = "x".repeat(70_000);
    let failure = platform.send(&text(&place(room), "key-6", &long, &long)).await.unwrap_err();
    assert_eq!(failure.class, DeliveryFailure::Refused, "{failure:?}");
    ada.ask("POST", &format!("v3/rooms/{room}/ban"), Some(json!({"user_id": herm.id}))).await;
    for room in [room, "!nowhere:herm.test"] {
        let failure = platform.send(&text(&place(room), "key-7", "x", "x")).await.unwrap_err();
        assert_eq!((failure.class, failure.retry_after), (DeliveryFailure::Gone, None), "{failure:?}");
    }
    herm.ask("POST", "v3/logout", Some(json!({}))).await;
    let stopped = synapse.adapter(&herm.token).probe().await.unwrap_err();
    assert!(matches!(stopped, Stopped::Terminal { .. }), "{stopped:?}");
    assert!(!format!("{stopped:?}").contains(&herm.token));
}
