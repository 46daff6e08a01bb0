use super::*;

/// Events as the gateway gives them (API v10, "Message Object", "Message Reaction Add", "Interaction").
const EVENTS: &str = include_str!("../fixtures/events.json");

fn me() -> User {
    User { id: "7".to_owned(), username: "herm".to_owned(), global_name: None, bot: true }
}

fn came(event: &str, name: &str) -> Option<Came> {
    let events: Value = serde_json::from_str(EVENTS).unwrap();
    assert!(events[name].is_object(), "{name}");
    read(event, &events[name], &me(), &Places::default()).unwrap()
}

fn said(name: &str) -> (Came, Said) {
    let came = came("MESSAGE_CREATE", name).unwrap();
    match came.what.clone() {
        What::Message(message) => (came, message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_says_who_where_and_when() {
    let (came, message) = said("message");
    assert_eq!((came.id.as_str(), came.channel.as_str()), ("1317206872763400001", "1317206872763300001"));
    assert_eq!(came.guild.as_deref(), Some("1317206872763200001"));
    assert_eq!(came.at, Some(Micros(1_764_501_753_456_000)));
    let (name, aliases) = (Some("Ada at work".to_owned()), vec!["ada".to_owned()]);
    assert_eq!(came.author, Author { id: "42".to_owned(), name, aliases, bot: false, ours: false });
    assert_eq!((message.text.as_str(), message.mentioned), ("what is this and <@99>?", true));
    let files: Vec<_> = came.files.iter().map(|file| (file.filename.as_str(), file.size)).collect();
    assert_eq!(files, [("notes.pdf", Some(1200)), ("blob", Some(3))]);
}

#[test]
fn an_answer_says_what_it_answers_even_if_that_is_gone() {
    let (came, message) = said("reply");
    assert_eq!(came.guild.as_deref(), Some(""), "a direct chat");
    let text = Some("what herm said".to_owned());
    assert_eq!(message.reply, Some(Reply { message_id: "1317206872763400000".into(), text, ours: true }));
    assert!(!message.mentioned);
    let reply = said("reply_to_deleted").1.reply.unwrap();
    assert_eq!((reply.text, reply.ours), (None, false));
}

#[test]
fn what_is_passed_on_and_stickers_are_told_and_news_of_the_channel_are_not() {
    let (came, message) = said("forwarded");
    assert_eq!(message.text, "[forwarded] said elsewhere");
    assert_eq!((came.files.len(), message.reply), (1, None));
    assert_eq!(said("sticker").1.text, "[sticker: Wave]");
    assert_eq!(super::tests::came("MESSAGE_CREATE", "joined"), None);
    assert!(said("webhook").0.author.bot);
}

#[test]
fn an_edit_has_an_id_of_its_own_and_a_preview_of_a_link_is_none() {
    let edit = came("MESSAGE_UPDATE", "edited").unwrap();
    assert_eq!(edit.what, What::Edited { message_id: "1317206872763400001".into(), text: "changed".into() });
    assert_eq!(edit.id, "1317206872763400001.2025-11-30T11:25:00.000000+00:00");
    assert_eq!(came("MESSAGE_UPDATE", "unfurled"), None);
}

#[test]
fn reactions_tell_emoji_as_the_api_takes_them() {
    let reaction = |event, name| match came(event, name).unwrap() {
        Came { what: What::Reaction { emoji, added, .. }, author, guild, .. } => {
            (emoji, added, author, guild)
        }
        other => panic!("{other:?}"),
    };
    let (emoji, added, author, _) = reaction("MESSAGE_REACTION_ADD", "reaction");
    assert_eq!((emoji.as_str(), added), ("herm:1317206872763500001", true));
    assert_eq!((author.id.as_str(), author.name.as_deref()), ("42", Some("Ada")));
    let (emoji, added, author, guild) = reaction("MESSAGE_REACTION_REMOVE", "direct_reaction");
    assert_eq!((emoji.as_str(), added, author.id.as_str()), ("👍", false, "42"));
    assert_eq!(guild.as_deref(), Some(""));
}

#[test]
fn buttons_and_commands_can_be_answered_and_their_tokens_are_not_seen() {
    let button = came("INTERACTION_CREATE", "button").unwrap();
    let data = "approve:1".to_owned();
    assert_eq!(button.what, What::Button { message_id: "1317206872763400009".into(), data });
    assert_eq!(button.press.as_ref().unwrap().token.reveal(), "unique_interaction_token");
    assert!(!format!("{button:?}").contains("unique_interaction_token"));
    // The example of "Snowflakes".
    assert_eq!(moment_of_id("175928847299117063"), Some(Micros(1_462_015_105_796_000)));
    assert_eq!(button.at, moment_of_id("846462639134605312"));
    let slash = came("INTERACTION_CREATE", "slash").unwrap();
    let What::Message(message) = slash.what else { panic!() };
    assert_eq!((message.text.as_str(), message.mentioned), ("/model glm --provider z", true));
    assert_eq!(slash.author.name.as_deref(), Some("Ada at work"));
}

#[test]
fn what_cannot_be_read_is_said_and_what_is_not_known_is_nothing() {
    let read = |name, data| read(name, &data, &me(), &Places::default());
    assert!(read("MESSAGE_CREATE", serde_json::json!({"id": 1})).is_err());
    assert_eq!(read("PRESENCE_UPDATE", Value::Null).unwrap(), None);
}
