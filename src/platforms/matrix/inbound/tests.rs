use std::collections::BTreeMap;

use super::*;
use crate::platforms::matrix::wire::Sync;

/// A sync as Synapse answers it, shortened.
const SYNC: &str = include_str!("../fixtures/sync.json");

fn me() -> Me {
    Me { id: "@herm:example.org".to_owned(), name: Some("herm".to_owned()) }
}

fn room() -> Room {
    let names = BTreeMap::from([("@ada:example.org".to_owned(), "Ada".to_owned())]);
    Room {
        kind: ChatKind::Group,
        title: Some("Plans".to_owned()),
        names,
        encryption: None,
        members: Vec::new(),
    }
}

fn sync() -> Sync {
    serde_json::from_str(SYNC).unwrap()
}

fn event(id: &str) -> Event {
    let news = sync().rooms;
    let rooms = news.join.into_values().chain(news.leave.into_values());
    let mut events = rooms.flat_map(|room| room.timeline.events);
    serde_json::from_value(events.find(|event| event["event_id"] == *id).unwrap()).unwrap()
}

fn came(id: &str, related: Option<&str>) -> Option<Came> {
    let known = related.map(|id| Known::of(&event(id), None));
    let scene = Scene { room_id: "!plans:example.org", room: &room(), related: known.as_ref(), me: &me() };
    let event = event(id);
    is_wanted(&event, &me()).then(|| read(&event, &scene)).flatten()
}

fn message(id: &str) -> Message {
    match came(id, None).unwrap().inbound.what {
        What::Message(message) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_sync_says_where_to_go_on_and_which_rooms_invite() {
    let sync = sync();
    assert_eq!(sync.next_batch, "s72595_4483_1934");
    assert_eq!(sync.rooms.invite.keys().collect::<Vec<_>>(), ["!invited:example.org"]);
    assert!(sync.rooms.join["!plans:example.org"].timeline.limited);
}

#[test]
fn a_message_says_who_where_and_when() {
    let inbound = came("$said", None).unwrap().inbound;
    assert_eq!((inbound.id.as_str(), inbound.at), ("$said", Some(Micros(1_764_500_000_123_000))));
    let author = inbound.author;
    assert_eq!((author.id.as_str(), author.name.as_deref()), ("@ada:example.org", Some("Ada")));
    assert!(author.aliases.is_empty() && !author.bot && !author.ours);
    assert_eq!((inbound.chat.kind, inbound.chat.title.as_deref()), (ChatKind::Group, Some("Plans")));
    assert_eq!(message("$said").text, "hello");
}

#[test]
fn a_notice_is_a_programs_and_own_words_are_ours() {
    assert!(came("$notice", None).unwrap().inbound.author.bot);
    assert!(came("$own", None).unwrap().inbound.author.ours);
}

#[test]
fn a_thread_is_a_place_and_its_fallback_no_answer() {
    let inbound = came("$threaded", None).unwrap().inbound;
    assert_eq!(inbound.chat.place.thread.as_deref(), Some("$said"));
    assert_eq!(message("$threaded").reply, None);
}

#[test]
fn an_answer_knows_whose_it_answers_and_drops_the_quotation() {
    let What::Message(message) = came("$answer", Some("$own")).unwrap().inbound.what else { panic!() };
    assert_eq!(message.text, "thank you");
    let reply = message.reply.unwrap();
    assert_eq!((reply.message_id.as_str(), reply.ours), ("$own", true));
    assert_eq!(reply.text.as_deref(), Some("herm speaks"));
}

#[test]
fn only_the_author_edits_a_message() {
    let what = came("$edit", Some("$said")).unwrap().inbound.what;
    assert_eq!(what, What::Edited { message_id: "$said".into(), text: "hello all".into() });
    assert_eq!(came("$edit", Some("$notice")), None, "the notice is another's");
    assert_eq!(came("$edit", None), None, "nobody knows whose it is");
}

#[test]
fn a_reaction_comes_and_goes() {
    let what = came("$reaction", Some("$threaded")).unwrap().inbound;
    assert_eq!(what.chat.place.thread.as_deref(), Some("$said"));
    let reaction = |added| What::Reaction { message_id: "$threaded".into(), emoji: "👍".into(), added };
    assert_eq!(what.what, reaction(true));
    let gone = came("$taken_back", Some("$reaction")).unwrap().inbound;
    assert_eq!((gone.what, gone.author.id.as_str()), (reaction(false), "@ada:example.org"));
    assert_eq!(came("$taken_back", Some("$said")), None, "messages are taken back without a word");
}

#[test]
fn files_are_told_with_names_types_and_captions() {
    let image = came("$image", None).unwrap();
    let file = image.file.unwrap();
    assert_eq!(file.source, Ok(("example.org".to_owned(), "abc_123-X".to_owned())));
    assert_eq!(
        (file.name.as_str(), file.media_type.as_str(), file.bytes),
        ("cat.png", "image/png", Some(512))
    );
    assert_eq!(message("$image").text, "");
    assert_eq!(message("$captioned").text, "look at this");
    assert_eq!(came("$captioned", None).unwrap().file.unwrap().name, "cat.png");
    let sealed = came("$sealed", None).unwrap().file.unwrap();
    assert_eq!(sealed.source, Ok(("example.org".to_owned(), "enc".to_owned())));
    assert!(sealed.sealed.is_some());
    for wrong in ["http://x/y", "mxc://x", "mxc:///y", "mxc://x/a/../b", "mxc://x/y?z"] {
        assert_eq!(address(wrong), None, "{wrong}");
    }
}

#[test]
fn being_put_out_is_told_and_other_changes_are_not() {
    let what = came("$kicked", None).unwrap().inbound.what;
    assert_eq!(what, What::Removed { why: "herm was put out of the room".into() });
    assert_eq!(came("$joined", None), None);
    assert_eq!(came("$topic", None), None);
    assert_eq!(came("$redacted", None), None);
}

#[test]
fn two_speak_alone_and_so_do_those_who_are_marked() {
    assert_eq!((kind(2, false), kind(3, false)), (ChatKind::Direct, ChatKind::Group));
    assert_eq!(kind(3, true), ChatKind::Direct);
}
