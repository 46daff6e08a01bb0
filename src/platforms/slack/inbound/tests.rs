use super::*;

/// Payloads of the Events API (docs.slack.dev, "message event" and its subtypes, "reaction_added").
const EVENTS: &str = include_str!("../fixtures/events.json");

fn me() -> Me {
    let (user, team) = ("herm".to_owned(), "Team".to_owned());
    Me { user_id: "U7".to_owned(), user, team, team_id: "T1".to_owned(), bot_id: Some("B7".to_owned()) }
}

fn came(name: &str) -> Option<Came> {
    let events: Value = serde_json::from_str(EVENTS).unwrap();
    assert!(events[name].is_object(), "{name}");
    event(&Callback::deserialize(&events[name]).unwrap(), &me()).unwrap()
}

fn message(name: &str) -> (Came, Said) {
    let came = came(name).unwrap();
    match came.what.clone() {
        What::Message(message) => (came, message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_says_who_where_and_when() {
    let (came, said) = message("message");
    assert_eq!((came.channel.as_str(), came.thread.as_deref()), ("C2147483705", None));
    assert_eq!((came.author.id.as_str(), came.author.bot), ("U2147483697", false));
    assert_eq!(came.at, Some(Micros(1_355_517_523_000_005)));
    assert_eq!((said.text.as_str(), said.mentioned), ("Hello & see (https://x.org)", true));
    assert_eq!(said.message_id, "1355517523.000005");
}

#[test]
fn a_mention_is_the_message_that_it_stands_in() {
    let (message, mention) = (came("message").unwrap(), came("mention").unwrap());
    assert_eq!((message.id, message.what), (mention.id, mention.what));
}

#[test]
fn a_thread_has_a_place_and_its_first_message_is_outside() {
    let (came, said) = message("in_thread");
    assert_eq!(came.thread.as_deref(), Some("1482960137.000001"));
    assert!(said.reply.unwrap().ours, "below a message of herm's");
    assert_eq!(message("begins_thread").0.thread, None);
}

#[test]
fn programs_and_own_words_are_known() {
    let author = came("bot").unwrap().author;
    assert_eq!((author.id.as_str(), author.name.as_deref(), author.bot), ("BB12033", Some("github"), true));
    let author = came("own").unwrap().author;
    assert_eq!((author.id.as_str(), author.ours), ("U7", true));
}

#[test]
fn an_edit_is_one_when_the_text_is_another() {
    let edit = came("changed").unwrap();
    let what = What::Edited { message_id: "1355517523.000005".into(), text: "Hello, world!".into() };
    assert_eq!((edit.what, edit.id.as_str()), (what, "C1.1355517523.000005.1358878755.000001"));
    for name in ["unfurled", "unfurled_after_edit", "deleted", "joined", "limited", "another_left"] {
        assert_eq!(came(name), None, "{name}");
    }
}

#[test]
fn files_reactions_and_removals_come_in() {
    let (came_in, said) = message("file");
    assert_eq!((said.text.as_str(), came_in.files.len()), ("look", 2));
    assert_eq!(came_in.files[0].name.as_deref(), Some("diagram.png"));
    let reaction = came("reaction").unwrap();
    assert_eq!(reaction.id, "Ev13");
    let (message_id, emoji) = ("1360782400.498405".to_owned(), "👍".to_owned());
    assert_eq!(reaction.what, What::Reaction { message_id, emoji, added: true });
    for name in ["left", "archived"] {
        assert!(matches!(came(name).unwrap().what, What::Removed { .. }), "{name}");
    }
}

#[test]
fn ids_of_messages_are_told_from_others() {
    assert!(is_ts("1360782400.498405"));
    for other in ["", "398738663015.47445629121.803a0b", "1360782400", "1360782400.49840", "a.000001"] {
        assert!(!is_ts(other), "{other}");
    }
}
