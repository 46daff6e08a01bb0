//! Slack over its double.

use std::sync::Arc;
use std::time::Duration;

use herm::platforms::contract::{self, Bench, Desk, Fault, Happening, Running, Said, Who, eventually};
use herm::platforms::table::{PLATFORMS, Section};
use herm::platforms::{Act, Button, Inbound, Ingress, Message, Outgoing, Say, Stopped, What, Written};
use herm_schema::events::{ChatKind, ChatRef, DeliveryFailure};
use serde_json::json;

use crate::doubles::slack::posted::{request, signed};
use crate::doubles::slack::{APP_TOKEN, Double, Mischief, SIGNING_SECRET, TEAM, TOKEN};

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

fn text(chat: &ChatRef, text: &str) -> Outgoing {
    Outgoing {
        target: chat.clone(),
        content: Say::Text(Written::plain(text)),
        key: format!("key-{text}"),
        possible_repeat: false,
        reply_to: None,
        replaces: None,
        buttons: Vec::new(),
    }
}

async fn came(desk: &Desk, chat: &ChatRef, text: &str) -> Message {
    desk.message(chat, text).await.1
}

fn removed(inbound: &Inbound) -> Option<String> {
    match &inbound.what {
        What::Removed { why } => Some(why.clone()),
        _ => None,
    }
}

#[tokio::test]
async fn it_keeps_the_contract() {
    let double = Double::start();
    contract::check(&double).await;
    assert_eq!(double.problems(), Vec::<String>::new());
}

#[tokio::test]
async fn a_mention_is_taken_once_and_people_are_known_by_name() {
    let double = Double::start();
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    let chat = double.chat(ChatKind::Channel, 2).unwrap();
    double.happen(&Happening::Said(Said { mention: true, ..Said::new(&chat, "a < b & c") }));
    double.write(&chat, "to nobody");
    let (inbound, message) = desk.message(&chat, "a < b & c").await;
    assert_eq!((message.text.as_str(), message.mentioned), ("a < b & c", true));
    assert_eq!(inbound.author.name.as_deref(), Some("Person 0"));
    assert_eq!(inbound.author.aliases, ["person_0", "p0@example.org"]);
    assert_eq!(
        (inbound.chat.title.as_deref(), inbound.chat.guild.as_deref()),
        (Some("#channel-2"), Some(TEAM))
    );
    assert!(!came(&desk, &chat, "to nobody").await.mentioned);
    assert_eq!(desk.of(&chat).len(), 2);
    running.stop().await;
    // Asked for once each, whatever is said.
    assert_eq!((double.calls("users.info"), double.calls("conversations.info")), (1, 1));
}

#[tokio::test]
async fn commands_are_texts() {
    let double = Double::start();
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    let chat = double.direct(1);
    for (number, (command, args, typed)) in [
        ("/herm", "new", "/new"),
        ("/herm", "Model glm --provider z", "/Model glm --provider z"),
        ("/herm", "what is this?", "what is this?"),
        ("/herm", " ", "/help"),
        ("/stop", "", "/stop"),
    ]
    .into_iter()
    .enumerate()
    {
        let payload = json!({
            "command": command, "text": args, "user_id": "U0PERSON0", "user_name": "person",
            "channel_id": chat.chat, "channel_name": "directmessage", "team_id": TEAM,
            "trigger_id": format!("{number}.2.x"), "response_url": "https://hooks.slack.com/commands/x",
        });
        double.envelope("slash_commands", payload);
        let want = |inbound: &Inbound| match &inbound.what {
            What::Message(message) if message.text == typed => Some(message.clone()),
            _ => None,
        };
        let message = desk.until(&chat, typed, want).await;
        assert!(message.mentioned);
        // There is no message that could be answered to or reacted to.
        let answer = Outgoing { reply_to: Some(message.message_id.clone()), ..text(&chat, "done") };
        double.platform().send(&answer).await.unwrap();
        let at = (chat.clone(), message.message_id);
        let react = Act::React { chat: at.0, message_id: at.1, emoji: "👀".to_owned() };
        assert_eq!(double.platform().act(&react).await, Ok(None));
    }
    running.stop().await;
}

#[tokio::test]
async fn what_slack_posts_is_taken_when_it_is_signed() {
    let double = Double::start();
    let platform = double.adapter(&[("signing_secret", SIGNING_SECRET)]);
    let desk = Desk::new(1000);
    let challenge = br#"{"type": "url_verification", "token": "x", "challenge": "3eZbrw1aBm2rZgRNFdxV"}"#;
    let answer = platform.ingress(&request(JSON, challenge), &*desk).await;
    assert_eq!((answer.status, answer.body.trim_ascii()), (200, b"3eZbrw1aBm2rZgRNFdxV".as_slice()));
    let chat = double.chat(ChatKind::Channel, 1).unwrap();
    let message_id = double.write(&chat, "posted");
    let body = serde_json::to_vec(&double.payload_of(&message_id)).unwrap();
    let right = request(JSON, &body);
    let mut unsigned = right.clone();
    unsigned.headers.pop();
    let forged = Ingress { body: [body.as_slice(), b" "].concat(), ..right.clone() };
    for wrong in [unsigned, forged, signed(JSON, &body, 1_764_500_000)] {
        assert_eq!(platform.ingress(&wrong, &*desk).await.status, 401);
    }
    assert_eq!(desk.of(&chat), []);
    desk.refuse(1);
    assert_eq!(platform.ingress(&right, &*desk).await.status, 503, "to be posted again");
    for _ in 0..2 {
        assert_eq!(platform.ingress(&right, &*desk).await.status, 200);
    }
    assert_eq!(desk.texts(&chat), ["posted"], "once, by its id");
    let garbled = request(JSON, b"{");
    assert_eq!(platform.ingress(&garbled, &*desk).await.status, 200);
    let get = Ingress { method: "GET".to_owned(), ..right.clone() };
    assert_eq!(platform.ingress(&get, &*desk).await.status, 405);
    assert_eq!(double.platform().ingress(&right, &*desk).await.status, 404, "no secret is configured");
}

#[tokio::test]
async fn commands_and_pressings_are_posted_as_forms() {
    let double = Double::start();
    let platform = double.adapter(&[("signing_secret", SIGNING_SECRET)]);
    let desk = Desk::new(1000);
    let chat = double.direct(3);
    let command = format!(
        "command=%2Fherm&text=say+%C3%BC+%26+more&user_id=U0PERSON0&user_name=p&channel_id={}&trigger_id=1.2.3",
        chat.chat
    );
    assert_eq!(platform.ingress(&request(FORM, command.as_bytes()), &*desk).await.status, 200);
    assert_eq!(desk.texts(&chat), ["say ü & more"]);
    let payload = "%7B%22type%22%3A%22block_actions%22%2C%22trigger_id%22%3A%221.2.4%22%2C%22user%22%3A%7B%22id%22%3A\
        %22U0PERSON0%22%7D%2C%22channel%22%3A%7B%22id%22%3A%22D0CHAT3%22%7D%2C%22message%22%3A%7B%22ts%22%3A\
        %221764500000.000001%22%2C%22text%22%3A%22may+I%22%7D%2C%22actions%22%3A%5B%7B%22value%22%3A%22yes%22%7D%5D%7D";
    let body = format!("payload={payload}");
    assert_eq!(platform.ingress(&request(FORM, body.as_bytes()), &*desk).await.status, 200);
    let what = What::Button { message_id: "1764500000.000001".to_owned(), data: "yes".to_owned() };
    assert!(desk.of(&chat).iter().any(|inbound| inbound.what == what && inbound.id == "1.2.4"));
    // It runs without a socket.
    let running = Running::start(platform, &desk);
    eventually("the account", || (double.calls("auth.test") > 0).then_some(())).await;
    running.stop().await;
    assert_eq!(double.connections(), 0);
}

#[tokio::test]
async fn a_new_connection_is_opened_when_slack_asks_and_nothing_comes_twice() {
    let double = Double::start();
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    let chat = double.direct(1);
    let mut all = Vec::new();
    for (number, reason) in ["warning", "refresh_requested", "too_many_websockets"].into_iter().enumerate() {
        double.write(&chat, &format!("{number} before"));
        desk.message(&chat, &format!("{number} before")).await;
        desk.hold();
        double.write(&chat, &format!("{number} held"));
        eventually("the offer", || (desk.offered(&chat).len() == number * 3 + 2).then_some(())).await;
        double.disconnect(reason);
        double.write(&chat, &format!("{number} after"));
        desk.open();
        desk.message(&chat, &format!("{number} after")).await;
        all.extend(["before", "held", "after"].map(|when| format!("{number} {when}")));
    }
    assert_eq!(desk.texts(&chat), all);
    assert_eq!(
        desk.offered(&chat).len(),
        all.len(),
        "what was held was acknowledged over the old connection"
    );
    eventually("the last connection", || (double.connections() == 4).then_some(())).await;
    running.stop().await;
    // The last word is on its way when the adapter has ended; the double has still to read it.
    eventually("the last acknowledgement", || (double.waiting() == 0).then_some(())).await;
}

#[tokio::test]
async fn socket_mode_that_is_switched_off_is_an_end() {
    let double = Double::start();
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    let chat = double.direct(1);
    double.write(&chat, "hello");
    desk.message(&chat, "hello").await;
    double.disconnect("link_disabled");
    let Stopped::Terminal { fix, .. } = running.gave_up().await else { panic!() };
    assert!(fix.contains("Socket Mode"), "{fix}");
}

#[tokio::test]
async fn archives_deletions_and_leavings_are_removals_and_those_of_others_are_not() {
    let double = Double::start();
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    let chats: Vec<ChatRef> =
        (0..3).map(|number| double.chat(ChatKind::Channel, number * 2).unwrap()).collect();
    double.event(json!({"type": "member_left_channel", "user": "U0PERSON1", "channel": chats[0].chat}));
    for (kind, chat) in ["channel_archive", "channel_deleted", "group_archive"].into_iter().zip(&chats) {
        double.event(json!({"type": kind, "channel": chat.chat, "user": "U0PERSON1"}));
        assert!(!desk.until(chat, kind, removed).await.is_empty());
        assert_eq!(desk.of(chat).len(), 1);
    }
    running.stop().await;
}

#[tokio::test]
async fn a_thread_is_answered_in_the_thread_and_a_message_below_it_and_in_the_channel() {
    let double = Double::start();
    let (platform, chat) = (double.platform(), double.chat(ChatKind::Channel, 2).unwrap());
    let thread = double.chat(ChatKind::Group, 3).unwrap();
    assert!(thread.thread.is_some());
    platform.send(&text(&thread, "in the thread")).await.unwrap();
    assert_eq!(double.texts_of(&thread), ["in the thread"]);
    let asked = double.write(&chat, "a question");
    let answer = Outgoing { reply_to: Some(asked.clone()), ..text(&chat, "the answer") };
    platform.send(&answer).await.unwrap();
    assert_eq!(double.sent_to(&chat)[0].reply_to, Some(asked));
    let lost = ChatRef { thread: Some("1600000000.000001".to_owned()), ..thread };
    let failure = platform.send(&text(&lost, "x")).await.unwrap_err();
    assert_eq!((failure.class, failure.retry_after), (DeliveryFailure::Gone, None));
}

#[tokio::test]
async fn what_looks_like_a_call_of_everybody_is_none_and_a_person_is_written_to_by_the_id() {
    let double = Double::start();
    let (platform, direct) = (double.platform(), double.direct(7));
    let person = ChatRef { chat: double.id_of(Who::Person(7)), ..direct.clone() };
    platform.send(&text(&person, "<!channel> & <@U1>")).await.unwrap();
    assert_eq!(double.texts_of(&direct), ["<!channel> & <@U1>"]);
}

#[tokio::test]
async fn long_questions_have_buttons_and_they_go_after_a_restart() {
    let double = Double::start();
    let (platform, chat) = (double.platform(), double.direct(1));
    let buttons = vec![Button { label: "x".repeat(300), data: "yes".to_owned() }];
    let question = "a line of a long question\n".repeat(300);
    let asked = platform.send(&Outgoing { buttons, ..text(&chat, &question) }).await.unwrap().unwrap();
    assert_eq!(double.sent_to(&chat)[0].buttons.len(), 1);
    let act = Act::Answered {
        chat: chat.clone(),
        message_id: asked,
        press: "pressed before".to_owned(),
        text: "so be it".to_owned(),
    };
    double.platform().act(&act).await.unwrap();
    let seen = &double.sent_to(&chat)[0];
    assert_eq!((seen.buttons.len(), seen.text.as_str()), (0, question.as_str()));
}

#[tokio::test]
async fn a_file_that_cannot_be_put_was_not_sent() {
    let double = Double::start();
    let (platform, chat) = (double.platform(), double.direct(1));
    let content = |name: &str| Say::File {
        name: name.to_owned(),
        media_type: "text/plain".to_owned(),
        bytes: b"some bytes".to_vec(),
    };
    assert!(double.fail(Fault::Unreachable));
    let file = Outgoing { content: content("a.txt"), ..text(&chat, "") };
    let failure = platform.send(&file).await.unwrap_err();
    assert_eq!(failure.class, DeliveryFailure::Unreachable);
    double.heal();
    assert!(double.fail(Fault::CutBeforeAnswer));
    let failure = platform.send(&file).await.unwrap_err();
    assert_eq!((failure.class, double.sent_to(&chat).len()), (DeliveryFailure::Unknown, 1));
    let ids = [platform.send(&file).await.unwrap(), platform.send(&file).await.unwrap()];
    assert_eq!(ids.iter().flatten().count(), 1, "Slack may not tell it yet");
    assert_eq!(double.sent_to(&chat).len(), 3);
}

#[tokio::test]
async fn what_duplicates_cuts_and_delays_loses_nothing() {
    const MESSAGES: usize = 60;
    let double = Double::start();
    double.misbehave(Mischief {
        duplicate_every: 2,
        cut_socket_every: 7,
        delay_every: 3,
        delay: Duration::from_millis(5),
        ..Mischief::default()
    });
    let chat = double.direct(1);
    let desk = Desk::new(1000);
    let platform = double.platform();
    let running = Running::start(Arc::clone(&platform), &desk);
    for number in 0..MESSAGES {
        double.write(&chat, &format!("number {number}"));
        platform.send(&text(&chat, &format!("answer {number}"))).await.unwrap();
    }
    desk.message(&chat, &format!("number {}", MESSAGES - 1)).await;
    let of_person = desk.of(&chat).into_iter().filter(|inbound| !inbound.author.ours);
    let texts: Vec<String> = of_person
        .filter_map(|inbound| match inbound.what {
            What::Message(message) => Some(message.text),
            _ => None,
        })
        .collect();
    let all: Vec<String> = (0..MESSAGES).map(|number| format!("number {number}")).collect();
    assert_eq!(texts, all);
    assert_eq!(double.texts_of(&chat).len(), MESSAGES);
    eventually("all acknowledged", || (double.waiting() == 0).then_some(())).await;
    running.stop().await;
    assert_eq!(double.problems(), Vec::<String>::new());
}

#[test]
fn what_is_configured_wrongly_is_said_without_the_tokens() {
    let row = PLATFORMS.iter().find(|row| row.name == "slack").unwrap();
    let made = |settings: &[(&str, &str)]| {
        let mut section = Section::default();
        for (name, value) in settings {
            section.set(row.field(name).unwrap(), value);
        }
        (row.make)(row, &section).map(|_| ())
    };
    assert_eq!(made(&[("token", TOKEN), ("app_token", APP_TOKEN)]), Ok(()));
    assert_eq!(made(&[("token", TOKEN), ("signing_secret", SIGNING_SECRET)]), Ok(()));
    for settings in [
        &[][..],
        &[("app_token", APP_TOKEN)],
        &[("token", TOKEN)],
        &[("token", APP_TOKEN), ("app_token", TOKEN)],
        &[("token", TOKEN), ("app_token", "xapp-1\n2")],
        &[("token", TOKEN), ("app_token", APP_TOKEN), ("base_url", "nowhere")],
    ] {
        let wrong = made(settings).unwrap_err();
        let said = format!("{wrong:?} {wrong}");
        assert!(!wrong.fix.is_empty() && !said.contains(TOKEN) && !said.contains(APP_TOKEN), "{wrong:?}");
    }
}

#[tokio::test]
async fn what_slack_delivers_no_more_is_asked_for_and_comes_in_order() {
    const MISSED: usize = 130;
    let double = Double::start();
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    let (direct, thread) = (double.direct(1), double.chat(ChatKind::Group, 5).unwrap());
    for chat in [&direct, &thread] {
        double.write(chat, "before");
        came(&desk, chat, "before").await;
    }
    running.stop().await;
    double.lose(true);
    // More than a page.
    let all: Vec<String> = (0..MISSED).map(|number| format!("missed {number}")).collect();
    for text in &all {
        double.write(&direct, text);
    }
    double.write(&thread, "missed in the thread");
    double.lose(false);
    double.write(&direct, "delivered");
    let running = Running::start(double.platform(), &desk);
    came(&desk, &direct, "delivered").await;
    let expected: Vec<String> = all.into_iter().chain(["delivered".to_owned()]).collect();
    assert_eq!(desk.texts(&direct)[1..], expected, "in order, and none twice");
    let (inbound, _) = desk.message(&thread, "missed in the thread").await;
    assert_eq!(inbound.chat, desk.message(&thread, "before").await.0.chat);
    assert_eq!(desk.texts(&thread).len(), 2, "what the thread hangs on is not new");
    running.stop().await;
    assert_eq!(double.problems(), Vec::<String>::new());
}
