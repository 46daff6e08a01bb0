//! Encrypted rooms of Matrix, over a real homeserver and with a client of somebody else's: Synapse and
//! matrix-nio, from PyPI. Without them the test says that it is skipped.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use herm::platforms::contract::{Desk, Running};
use herm::platforms::{Content, Outgoing, Platform, Say, What, Written};
use herm_schema::events::{ChatKind, ChatRef, DeliveryFailure};
use serde_json::{Value, json};

use crate::synapse::{Person, Synapse, cache, joined, python};

/// A client that runs beside the test.
struct Client {
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Client {
    fn start(python: &Path, synapse: &Synapse, person: &Person, store: &Path) -> Self {
        std::fs::create_dir_all(store).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/platforms/peers/nio_client.py");
        let mut command = Command::new(python);
        command.arg(script).args([&synapse.url, &person.id, "correct horse"]).arg(store);
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (orders, answers) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut client = Self { process, orders, answers: BufReader::new(answers) };
        assert!(client.answer()["device_id"].is_string());
        client
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"))
    }

    /// Does something, and says what came of it. Others go on meanwhile.
    fn order(&mut self, order: Value) -> Value {
        tokio::task::block_in_place(|| {
            writeln!(self.orders, "{order}").unwrap();
            let answer = self.answer();
            assert!(answer.get("error").is_none(), "{order}: {answer}");
            answer
        })
    }

    fn say(&mut self, room: &str, text: &str) -> String {
        let said = self.order(json!({"do": "say", "room": room, "text": text}));
        said["event_id"].as_str().unwrap().to_owned()
    }

    fn until(&mut self, body: &str) -> Value {
        self.order(json!({"do": "until", "body": body}))
    }
}

fn place(room: &str) -> ChatRef {
    ChatRef { platform: "matrix".to_owned(), chat: room.to_owned(), thread: None }
}

fn text(room: &str, key: &str, text: &str) -> Outgoing {
    Outgoing {
        target: place(room),
        content: Say::Text(Written { text: format!("<b>{text}</b>"), plain: text.to_owned() }),
        key: key.to_owned(),
        possible_repeat: false,
        reply_to: None,
        replaces: None,
        buttons: Vec::new(),
    }
}

fn peer() -> Option<PathBuf> {
    let python = cache()?.join("nio/bin/python");
    python.exists().then_some(python)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_talks_with_herm_in_an_encrypted_room() {
    let (Some(python), Some(peer)) = (python(), peer()) else {
        println!("skipped: Synapse or matrix-nio is not installed, see `.ci/run`");
        return;
    };
    let synapse = Synapse::start(python).await;
    let (herm, ada) = (synapse.register("herm").await, synapse.register("ada").await);
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    let desk = Desk::new(100_000);
    let platform = synapse.adapter_in(&herm.token, Some(&keys));
    let running = Running::start(platform.clone(), &desk);
    let mut client = Client::start(&peer, &synapse, &ada, &folder.path().join("ada"));
    let made = client.order(json!({"do": "room", "invite": [herm.id]}));
    let room = made["room_id"].as_str().unwrap().to_owned();
    joined(&herm, &room).await;
    client.order(json!({"do": "joined", "room": room, "user": herm.id}));

    reads(&mut client, &desk, &room).await;
    writes(&mut client, &*platform, &room).await;
    waits_for_a_key(&mut client, &desk, &room).await;
    let mode = std::fs::metadata(&keys).unwrap().permissions().mode();
    assert_eq!(mode & 0o77, 0, "the keys are for nobody else");

    // Nobody but the running one uses the keys.
    let second = synapse.adapter_in(&herm.token, Some(&keys));
    let failure = second.send(&text(&room, "second", "no")).await.unwrap_err();
    assert_eq!((failure.class, failure.retry_after.is_some()), (DeliveryFailure::Unreachable, true));
    drop(second);
    running.stop().await;
    drop(platform);

    restarts(&mut client, &synapse, &herm, &keys, &desk, &room).await;
    new_device(&peer, &synapse, (&herm, &ada), folder.path(), &room).await;
    without_its_keys(&mut client, &synapse, &herm, folder.path(), &room).await;
    for event in ada.events(&room).await {
        let in_the_clear = event["type"] == "m.room.message" && event["content"]["msgtype"] != "m.notice";
        assert!(!in_the_clear, "{event}");
    }
}

/// What a person says comes in.
async fn reads(client: &mut Client, desk: &std::sync::Arc<Desk>, room: &str) {
    let chat = place(room);
    let first = client.say(room, "the first");
    let (inbound, message) = desk.message(&chat, "the first").await;
    assert_eq!((inbound.chat.kind, message.message_id.as_str()), (ChatKind::Direct, first.as_str()));
    let relation = json!({"m.relates_to": {"m.in_reply_to": {"event_id": first}}});
    client.order(json!({"do": "say", "room": room, "text": "an answer", "more": relation}));
    let (_, message) = desk.message(&chat, "an answer").await;
    let reply = message.reply.unwrap();
    assert_eq!((reply.message_id.as_str(), reply.text.as_deref()), (first.as_str(), Some("the first")));
    let change = json!({
        "m.new_content": {"msgtype": "m.text", "body": "changed"},
        "m.relates_to": {"rel_type": "m.replace", "event_id": first},
    });
    client.order(json!({"do": "say", "room": room, "text": "* changed", "more": change}));
    let edited = What::Edited { message_id: first, text: "changed".to_owned() };
    desk.until(&chat, "an edit", |inbound| (inbound.what == edited).then_some(())).await;
    let bytes: Vec<u8> = (0..=255).collect();
    client.order(json!({"do": "file", "room": room, "name": "a.bin", "bytes": bytes}));
    let media = desk
        .until(&chat, "the file", |inbound| match &inbound.what {
            What::Message(message) => message.media.first().cloned(),
            _ => None,
        })
        .await;
    assert_eq!((media.name.as_str(), media.content), ("a.bin", Content::Bytes(bytes)));
}

/// What herm says arrives, and only sealed.
async fn writes(client: &mut Client, platform: &dyn Platform, room: &str) {
    let say = text(room, "key-1", "an answer of herm");
    let id = platform.send(&say).await.unwrap().unwrap();
    assert_eq!(platform.send(&say).await.unwrap().as_ref(), Some(&id), "the key is recognised");
    let read = client.until("an answer of herm");
    assert_eq!((&read["id"], &read["was_sealed"]), (&json!(id), &json!(true)), "{read}");
    assert_eq!(read["content"]["formatted_body"], "<b>an answer of herm</b>");
    let changed = Outgoing { replaces: Some(id.clone()), ..text(room, "key-2", "another answer") };
    assert_eq!(platform.send(&changed).await.unwrap(), Some(id));
    let read = client.until("another answer");
    assert_eq!(read["content"]["m.new_content"]["body"], "another answer", "{read}");
    let bytes = b"\x89PNG and more".to_vec();
    let (name, media_type) = ("cat.png".to_owned(), "image/png".to_owned());
    let content = Say::File { name, media_type, bytes: bytes.clone() };
    platform.send(&Outgoing { content, ..text(room, "key-3", "") }).await.unwrap();
    let read = client.until("cat.png");
    assert_eq!(read["content"]["msgtype"], "m.image");
    let fetched = client.order(json!({"do": "fetch", "file": read["content"]["file"]}));
    assert_eq!(fetched["bytes"], json!(bytes));
}

/// A message whose key is late is asked for in the room, and taken when the key comes.
async fn waits_for_a_key(client: &mut Client, desk: &std::sync::Arc<Desk>, room: &str) {
    client.order(json!({"do": "say_without_key", "room": room, "text": "too early"}));
    let told = client.until("I cannot read this message");
    assert_eq!(told["was_sealed"], json!(true));
    assert!(told["content"]["body"].as_str().unwrap().contains("its key has not come"), "{told}");
    client.order(json!({"do": "share_key", "room": room}));
    desk.message(&place(room), "too early").await;
}

/// What was said while herm was away is opened after it.
async fn restarts(
    client: &mut Client,
    synapse: &Synapse,
    herm: &Person,
    keys: &Path,
    desk: &std::sync::Arc<Desk>,
    room: &str,
) {
    const MISSED: usize = 70;
    for number in 0..MISSED {
        client.say(room, &format!("missed {number}"));
    }
    let platform = synapse.adapter_in(&herm.token, Some(keys));
    let running = Running::start(platform.clone(), desk);
    desk.message(&place(room), &format!("missed {}", MISSED - 1)).await;
    let missed: Vec<String> = (0..MISSED).map(|number| format!("missed {number}")).collect();
    let texts = desk.texts(&place(room));
    let read: Vec<String> = texts.into_iter().filter(|text| text.starts_with("missed")).collect();
    assert_eq!(read, missed);
    platform.send(&text(room, "key-4", "back again")).await.unwrap();
    client.until("back again");
    running.stop().await;
}

/// A device that a person adds reads what is said from then on; nobody who reads is needed for that.
async fn new_device(
    peer: &Path,
    synapse: &Synapse,
    (herm, ada): (&Person, &Person),
    folder: &Path,
    room: &str,
) {
    let mut second = Client::start(peer, synapse, ada, &folder.join("second"));
    let platform = synapse.adapter_in(&herm.token, Some(&folder.join("keys")));
    platform.send(&text(room, "key-5", "for all devices")).await.unwrap();
    let read = second.until("for all devices");
    assert_eq!((&read["sealed"], &read["was_sealed"]), (&json!(false), &json!(true)), "{read}");
}

/// Without its keys herm neither reads nor writes in the room, says so, and takes no other's keys.
async fn without_its_keys(client: &mut Client, synapse: &Synapse, herm: &Person, folder: &Path, room: &str) {
    let platform = synapse.adapter_in(&herm.token, Some(&folder.join("other")));
    let failure = platform.send(&text(room, "key-6", "in the clear")).await.unwrap_err();
    assert_eq!((failure.class, failure.retry_after), (DeliveryFailure::Refused, None), "{failure:?}");
    assert!(failure.message.contains("another program uses it"), "{failure:?}");
    let desk = Desk::new(100_000);
    let running = Running::start(platform.clone(), &desk);
    // The first reading of an account passes over what was said before.
    assert!(platform.probe().await.is_ok());
    client.say(room, "are you there?");
    let told = client.until("herm cannot read encrypted messages");
    assert_eq!(told["was_sealed"], json!(false));
    running.stop().await;
}
