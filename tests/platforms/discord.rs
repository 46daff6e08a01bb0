//! Discord over its double.

use std::sync::Arc;
use std::time::Duration;

use herm::platforms::contract::{self, Bench, Desk, Fault, Happening, Running, Said, Who, eventually};
use herm::platforms::table::{PLATFORMS, Section};
use herm::platforms::{Act, Message, Outgoing, Say, Stopped, What, Written};
use herm_schema::events::{ChatKind, ChatRef, DeliveryFailure};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::doubles::discord::{Double, GUILD, HERM, Mischief, TOKEN};

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

#[tokio::test]
async fn it_keeps_the_contract() {
    let double = Double::start();
    contract::check(&double).await;
    assert_eq!(double.problems(), Vec::<String>::new());
}

#[tokio::test]
async fn a_thread_is_a_chat_of_its_own_and_hangs_on_its_channel() {
    let double = Double::start();
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    // The first is told of by the server, the second has to be asked for.
    for number in [1, 4001] {
        let thread = double.chat(ChatKind::Channel, number).unwrap();
        double.write(&thread, "in a thread");
        let (inbound, _) = desk.message(&thread, "in a thread").await;
        assert_eq!(inbound.chat.parent.as_deref(), Some("1130000000000000000"));
        assert_eq!((inbound.chat.guild.as_deref(), inbound.chat.place.thread), (Some(GUILD), None));
    }
    let channel = double.chat(ChatKind::Channel, 4002).unwrap();
    double.write(&channel, "in a channel");
    let (inbound, _) = desk.message(&channel, "in a channel").await;
    assert_eq!((inbound.chat.parent, inbound.chat.kind), (None, ChatKind::Channel));
    running.stop().await;
}

#[tokio::test]
async fn herm_is_called_by_name_by_its_role_and_by_a_command() {
    let double = Double::start();
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    let chat = double.chat(ChatKind::Channel, 0).unwrap();
    double.write(&chat, "to nobody");
    double.happen(&Happening::Said(Said { mention: true, ..Said::new(&chat, "by name") }));
    assert!(!came(&desk, &chat, "to nobody").await.mentioned);
    let named = came(&desk, &chat, "by name").await;
    assert_eq!((named.text.as_str(), named.mentioned), ("by name", true));
    let by_role = json!({
        "id": "1390000000000000001", "channel_id": chat.chat, "guild_id": GUILD, "type": 0,
        "content": "<@&1060000000000000001> by role", "mention_roles": ["1060000000000000001"],
        "author": {"id": "1010000000000000000", "username": "person_0"},
    });
    double.dispatch("MESSAGE_CREATE", by_role);
    assert!(came(&desk, &chat, "by role").await.mentioned);
    double.slash(&chat, "model", Some(" glm-4.6 "));
    double.slash(&chat, "stop", None);
    assert!(came(&desk, &chat, "/stop").await.mentioned);
    assert_eq!(came(&desk, &chat, "/model").await.text, "/model glm-4.6");
    let callbacks = eventually("both answers", || {
        let callbacks = double.callbacks();
        (callbacks.len() == 2).then_some(callbacks)
    })
    .await;
    assert!(callbacks.iter().all(|callback| callback["type"] == 4 && callback["data"]["flags"] == 64));
    running.stop().await;
}

#[tokio::test]
async fn the_commands_of_chats_are_told_once() {
    let double = Double::start();
    let platform = double.platform();
    let desk = Desk::new(1000);
    let running = Running::start(platform, &desk);
    let commands = eventually("the commands", || Some(double.commands()).filter(|all| !all.is_empty())).await;
    assert!(commands.iter().any(|command| command["name"] == "new"));
    assert!(commands.iter().all(|command| command["name"] != "exit"));
    running.stop().await;
}

#[tokio::test]
async fn what_discord_does_not_keep_for_a_session_is_fetched_from_the_channels() {
    const MISSED: usize = 130;
    let double = Double::start();
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    let (direct, thread) = (double.direct(1), double.chat(ChatKind::Group, 5).unwrap());
    for chat in [&direct, &thread] {
        double.write(chat, "before");
        desk.message(chat, "before").await;
    }
    running.stop().await;
    double.forget_sessions();
    double.set(|tempers| tempers.gives_early = false);
    // More than a page.
    let all: Vec<String> = (0..MISSED).map(|number| format!("missed {number}")).collect();
    for text in &all {
        double.write(&direct, text);
    }
    double.write(&thread, "missed in the thread");
    let running = Running::start(double.platform(), &desk);
    desk.message(&direct, &format!("missed {}", MISSED - 1)).await;
    assert_eq!(desk.texts(&direct)[1..], all);
    let (inbound, _) = desk.message(&thread, "missed in the thread").await;
    let before = desk.message(&thread, "before").await.0;
    assert_eq!(inbound.chat, before.chat, "a page does not say where it is from");
    double.write(&direct, "live");
    desk.message(&direct, "live").await;
    running.stop().await;
    assert_eq!(double.greetings().0, 2);
}

#[tokio::test]
async fn a_session_is_resumed_after_a_restart_and_what_came_meanwhile_comes() {
    let double = Double::start();
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    let (chat, new) = (double.direct(1), double.direct(2));
    let message_id = double.write(&chat, "before");
    desk.message(&chat, "before").await;
    running.stop().await;
    let edited = Happening::Edited { chat: chat.clone(), message_id, text: "edited meanwhile".to_owned() };
    double.happen(&edited);
    double.write(&new, "the first that was ever said here");
    let running = Running::start(double.platform(), &desk);
    desk.message(&new, "the first that was ever said here").await;
    let want = |inbound: &herm::platforms::Inbound| matches!(inbound.what, What::Edited { .. }).then_some(());
    desk.until(&chat, "the edit", want).await;
    running.stop().await;
    assert_eq!(double.greetings(), (1, 1));
}

#[tokio::test]
async fn what_the_gateway_asks_for_is_done() {
    let double = Double::start();
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    let chat = double.direct(1);
    let mut all = Vec::new();
    let orders: [&dyn Fn(); 6] = [
        &|| double.ask_to_reconnect(),
        &|| double.invalidate(true),
        &|| double.invalidate(false),
        &|| double.close(4000),
        &|| double.close(4009),
        &|| double.close(4007),
    ];
    double.write(&chat, "the first");
    desk.message(&chat, "the first").await;
    all.push("the first".to_owned());
    double.set(|tempers| tempers.gives_early = false);
    for (number, order) in orders.iter().enumerate() {
        for when in ["before", "after"] {
            let said = format!("{number} {when}");
            double.write(&chat, &said);
            if when == "before" {
                desk.message(&chat, &said).await;
                order();
            }
            all.push(said);
        }
        desk.message(&chat, all.last().unwrap()).await;
        // What is fetched may come before the next connection stands, which the next order is for.
        let stands = || {
            let (identified, resumed) = double.greetings();
            (identified + resumed == number + 2).then_some(())
        };
        eventually("the next connection", stands).await;
    }
    assert_eq!(desk.texts(&chat), all);
    running.stop().await;
    let (identified, resumed) = double.greetings();
    // Three of them end the session; the others go on with it.
    assert_eq!((identified, resumed), (4, 3));
    assert_eq!(double.problems(), Vec::<String>::new());
}

#[tokio::test]
async fn a_gateway_that_does_not_answer_heartbeats_is_left() {
    let double = Double::start();
    double.set(|tempers| (tempers.heartbeat, tempers.answers) = (Duration::from_millis(60), false));
    let desk = Desk::new(1000);
    let stopped = double.platform().run(&*desk, CancellationToken::new()).await.unwrap_err();
    let Stopped::Transient { message, .. } = stopped else { panic!("{stopped:?}") };
    assert!(message.contains("heartbeats"), "{message}");
    // One that answers stays, however long something is being taken.
    double.set(|tempers| tempers.answers = true);
    let running = Running::start(double.platform(), &desk);
    let chat = double.direct(1);
    desk.hold();
    double.write(&chat, "held");
    eventually("the offer", || (!desk.offered(&chat).is_empty()).then_some(())).await;
    let beats = double.beats();
    eventually("some heartbeats", || (double.beats() > beats + 5).then_some(())).await;
    desk.open();
    desk.message(&chat, "held").await;
    running.stop().await;
    assert_eq!(desk.offered(&chat).len(), 1, "the connection stood all the while");
    assert_eq!(double.problems(), Vec::<String>::new());
}

#[tokio::test]
async fn a_switch_that_is_off_is_an_end_that_names_it() {
    let double = Double::start();
    double.set(|tempers| tempers.message_content = false);
    let stopped = Running::start(double.platform(), &Desk::new(1000)).gave_up().await;
    let Stopped::Terminal { fix, .. } = stopped else { panic!("{stopped:?}") };
    assert!(fix.contains("Message Content"), "{fix}");
}

#[tokio::test]
async fn no_more_sessions_are_begun_than_discord_allows() {
    let double = Double::start();
    double.set(|tempers| tempers.sessions_left = 0);
    let stopped = double.platform().run(&*Desk::new(1000), CancellationToken::new()).await.unwrap_err();
    let Stopped::Transient { retry_after, .. } = stopped else { panic!("{stopped:?}") };
    assert_eq!((retry_after, double.greetings().0), (Some(Duration::from_secs(60)), 0));
}

#[tokio::test]
async fn a_server_that_puts_herm_out_is_told_for_each_chat_in_which_somebody_spoke() {
    let double = Double::start();
    let desk = Desk::new(1000);
    let running = Running::start(double.platform(), &desk);
    let chats = [double.chat(ChatKind::Channel, 0).unwrap(), double.chat(ChatKind::Group, 1).unwrap()];
    for chat in &chats {
        double.write(chat, "here");
        desk.message(chat, "here").await;
    }
    double.dispatch("GUILD_DELETE", json!({"id": GUILD, "unavailable": true}));
    double.dispatch("GUILD_DELETE", json!({"id": GUILD}));
    for chat in &chats {
        let want = |inbound: &herm::platforms::Inbound| match &inbound.what {
            What::Removed { why } => Some(why.clone()),
            _ => None,
        };
        desk.until(chat, "being put out", want).await;
        assert_eq!(desk.of(chat).len(), 2, "an outage is no removal");
    }
    running.stop().await;
}

#[tokio::test]
async fn a_person_is_written_to_by_the_id() {
    let double = Double::start();
    let (platform, direct) = (double.platform(), double.direct(7));
    let person = ChatRef { chat: format!("@{}", double.id_of(Who::Person(7))), ..direct.clone() };
    platform.send(&text(&person, "hello you")).await.unwrap();
    platform.send(&text(&person, "hello again")).await.unwrap();
    assert_eq!(double.texts_of(&direct), ["hello you", "hello again"]);
    let nobody = ChatRef { chat: "@7".to_owned(), ..direct };
    let failure = platform.send(&text(&nobody, "x")).await.unwrap_err();
    assert_eq!((failure.class, failure.retry_after), (DeliveryFailure::Refused, None));
}

#[tokio::test]
async fn a_quick_repeat_is_shown_once_and_a_late_one_is_not_promised() {
    let double = Double::start();
    let (platform, chat) = (double.platform(), double.direct(1));
    assert!(!platform.capabilities().keyed);
    assert!(double.fail(Fault::CutBeforeAnswer));
    let failure = platform.send(&text(&chat, "said")).await.unwrap_err();
    assert_eq!(failure.class, DeliveryFailure::Unknown);
    platform.send(&text(&chat, "said")).await.unwrap();
    assert_eq!(double.texts_of(&chat), ["said"]);
    double.forget_nonces();
    platform.send(&text(&chat, "said")).await.unwrap();
    assert_eq!(double.texts_of(&chat), ["said", "said"]);
}

#[tokio::test]
async fn nothing_is_asked_of_a_channel_that_is_exhausted() {
    let double = Double::start();
    let (platform, chat, other) = (double.platform(), double.direct(1), double.direct(2));
    double.set(|tempers| tempers.exhausted = Some(Duration::from_millis(300)));
    platform.send(&text(&chat, "one")).await.unwrap();
    let failure = platform.send(&text(&chat, "two")).await.unwrap_err();
    assert_eq!(failure.class, DeliveryFailure::RateLimited);
    assert!(failure.retry_after.unwrap() <= Duration::from_millis(300));
    platform.send(&text(&other, "elsewhere")).await.unwrap();
    assert_eq!(double.record().requests, 2, "the second was not asked");
    let deadline = tokio::time::Instant::now() + contract::PATIENCE;
    while platform.send(&text(&chat, "two")).await.is_err() {
        assert!(tokio::time::Instant::now() < deadline);
        tokio::task::yield_now().await;
    }
    assert_eq!(double.texts_of(&chat), ["one", "two"]);
}

#[tokio::test]
async fn an_answer_to_what_is_gone_is_sent_all_the_same_and_buttons_go_after_a_restart() {
    let double = Double::start();
    let (platform, chat) = (double.platform(), double.direct(1));
    let reply_to = Some("1234567890123456789".to_owned());
    platform.send(&Outgoing { reply_to, ..text(&chat, "an answer") }).await.unwrap();
    assert_eq!(double.sent_to(&chat)[0].reply_to, None);
    let buttons = vec![herm::platforms::Button { label: "x".repeat(300), data: "yes".to_owned() }];
    let asked = platform.send(&Outgoing { buttons, ..text(&chat, "may I") }).await.unwrap().unwrap();
    let act = Act::Answered {
        chat: chat.clone(),
        message_id: asked.clone(),
        press: "pressed before".to_owned(),
        text: "so be it".to_owned(),
    };
    double.platform().act(&act).await.unwrap();
    let seen = double.sent_to(&chat).into_iter().find(|seen| seen.message_id == asked).unwrap();
    assert_eq!((seen.buttons.len(), seen.text.as_str()), (0, "may I"));
}

#[tokio::test]
async fn what_duplicates_cuts_and_delays_loses_nothing() {
    const MESSAGES: usize = 60;
    let double = Double::start();
    double.misbehave(Mischief {
        duplicate_every: 2,
        cut_gateway_every: 7,
        delay_every: 3,
        delay: Duration::from_millis(5),
        ..Mischief::default()
    });
    let chat = double.direct(1);
    let desk = Desk::new(1000);
    let platform = double.platform();
    let running = Running::start(Arc::clone(&platform), &desk);
    double.write(&chat, "number 0");
    desk.message(&chat, "number 0").await;
    double.set(|tempers| tempers.gives_early = false);
    for number in 1..MESSAGES {
        double.write(&chat, &format!("number {number}"));
        if number % 20 == 0 {
            double.forget_sessions();
        }
        platform.send(&text(&chat, &format!("answer {number}"))).await.unwrap();
    }
    desk.message(&chat, &format!("number {}", MESSAGES - 1)).await;
    let persons = double.id_of(Who::Person(0));
    let of_person = desk.of(&chat).into_iter().filter(|inbound| inbound.author.id == persons);
    let texts: Vec<String> = of_person
        .filter_map(|inbound| match inbound.what {
            What::Message(message) => Some(message.text),
            _ => None,
        })
        .collect();
    let all: Vec<String> = (0..MESSAGES).map(|number| format!("number {number}")).collect();
    assert_eq!(texts, all);
    assert_eq!(double.texts_of(&chat).len(), MESSAGES - 1);
    assert!(desk.of(&chat).iter().all(|inbound| inbound.author.ours == (inbound.author.id == HERM)));
    running.stop().await;
    assert_eq!(double.problems(), Vec::<String>::new());
}

#[tokio::test]
async fn another_gateway_can_be_set() {
    let double = Double::start();
    let adapter = double.adapter(&[("gateway_url", &double.gateway_url())]);
    let desk = Desk::new(1000);
    let running = Running::start(adapter, &desk);
    let chat = double.direct(1);
    double.write(&chat, "hello");
    desk.message(&chat, "hello").await;
    running.stop().await;
}

#[test]
fn what_is_configured_wrongly_is_said_without_the_token() {
    let row = PLATFORMS.iter().find(|row| row.name == "discord").unwrap();
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
        &[("token", "with\nline")],
        &[("token", TOKEN), ("base_url", "nowhere")],
        &[("token", TOKEN), ("gateway_url", "https://host")],
    ] {
        let wrong = made(settings).unwrap_err();
        assert!(!wrong.fix.is_empty() && !format!("{wrong:?} {wrong}").contains(TOKEN), "{wrong:?}");
    }
}
