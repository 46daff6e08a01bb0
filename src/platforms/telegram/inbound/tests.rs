use super::*;

/// Updates as the Bot API sends them.
const UPDATES: &str = include_str!("../fixtures/updates.json");

fn me() -> User {
    let username = Some("herm_bot".to_owned());
    User { id: 7, is_bot: true, first_name: "herm".to_owned(), last_name: None, username }
}

fn all() -> Vec<(i64, Vec<Came>)> {
    let updates: Vec<Update> = serde_json::from_str(UPDATES).unwrap();
    updates.into_iter().map(|update| (update.update_id, read(update, &me()))).collect()
}

fn came(update_id: i64) -> Vec<Came> {
    all().into_iter().find(|(id, _)| *id == update_id).unwrap().1
}

fn one(update_id: i64) -> Inbound {
    let mut came = came(update_id);
    assert_eq!(came.len(), 1);
    came.remove(0).inbound
}

fn message(update_id: i64) -> Message {
    match one(update_id).what {
        What::Message(message) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_private_message_says_who_and_when() {
    let inbound = one(100);
    assert_eq!((inbound.id.as_str(), inbound.at), ("100", Some(Micros(1_764_500_000_000_000))));
    assert_eq!(inbound.chat.kind, ChatKind::Direct);
    assert_eq!(inbound.chat.title.as_deref(), Some("Ada L"));
    let aliases = vec!["@ada".to_owned(), "ada".to_owned()];
    let name = Some("Ada L".to_owned());
    assert_eq!(inbound.author, Author { id: "42".to_owned(), name, aliases, bot: false, ours: false });
    assert_eq!(message(100).text, "/start");
}

#[test]
fn a_topic_is_a_thread_and_its_beginning_is_no_answer() {
    let place = one(101).chat.place;
    assert_eq!((place.chat.as_str(), place.thread.as_deref()), ("-1001", Some("5")));
    assert_eq!(message(101).reply, None);
    assert_eq!(one(102).chat.place.thread, None, "the general topic has no number");
}

#[test]
fn an_answer_outside_of_a_topic_has_no_thread() {
    assert_eq!(one(103).chat.place.thread, None);
    let reply = message(103).reply.unwrap();
    assert_eq!((reply.message_id.as_str(), reply.ours), ("3", true));
    assert_eq!(reply.text.as_deref(), Some("what herm said"));
}

#[test]
fn a_hidden_administrator_and_a_channel_speak_as_chats() {
    let author = one(104).author;
    assert_eq!((author.id.as_str(), author.bot), ("-1002", false));
    let inbound = one(105);
    assert_eq!((inbound.chat.kind, inbound.author.id.as_str()), (ChatKind::Channel, "-1003"));
}

#[test]
fn a_changed_reaction_is_two_things_with_two_ids() {
    let came = came(107);
    let what: Vec<_> = came.iter().map(|came| (came.inbound.id.as_str(), &came.inbound.what)).collect();
    let reaction = |emoji: &str, added| What::Reaction { message_id: "9".into(), emoji: emoji.into(), added };
    let (gone, new) = (reaction("👍", false), reaction("custom:5368324170671202286", true));
    assert_eq!(what, [("107", &gone), ("107.1", &new)]);
}

#[test]
fn a_pressed_button_can_be_answered_by_its_id() {
    let inbound = one(108);
    assert_eq!(inbound.what, What::Button { message_id: "12".into(), data: "approve:1".into() });
    assert_eq!(press_of(&inbound.id), "4382bfdwdsb323b2d9");
}

#[test]
fn edits_and_blocks_come_in_and_changes_of_the_chat_do_not() {
    assert_eq!(one(106).what, What::Edited { message_id: "1".into(), text: "changed".into() });
    assert_eq!(one(106).at, Some(Micros(1_764_500_006_000_000)));
    assert_eq!(one(109).what, What::Removed { why: "the person has blocked the bot".into() });
    assert_eq!((came(110), came(116)), (Vec::new(), Vec::new()));
}

#[test]
fn files_are_told_with_names_and_types() {
    let files = |id| came(id).remove(0).files;
    let name = |file: &Wanted| (file.file_id.clone(), file.name.clone(), file.media_type.clone());
    let named = |id| files(id).iter().map(name).collect::<Vec<_>>();
    let expect = |a: &str, b: &str, c: &str| vec![(a.to_owned(), b.to_owned(), c.to_owned())];
    assert_eq!(named(111), expect("large", "photo.jpg", "image/jpeg"));
    assert_eq!(named(112), expect("anim", "a.mp4", "video/mp4"), "an animation is one file");
    assert_eq!(named(114), expect("stick", "sticker.webm", "video/webm"));
    assert_eq!(message(114).text, "[sticker: 😀]");
    assert_eq!(message(115).text, "[location: 52.5, 13.4]");
}

#[test]
fn an_album_is_one_message_and_is_not_divided_by_the_offset() {
    let units = units(all());
    let at = units.iter().position(|unit| unit.first == 111).unwrap();
    let album = &units[at];
    assert_eq!((album.last, album.came.len(), album.came[0].files.len()), (113, 1, 2));
    assert_eq!(album.came[0].inbound.id, "111");
    // 112 stands between its parts, so the album comes again with it.
    assert_eq!(units[at + 1].first, 112);
    assert_eq!(offset_before(&units, at + 1), Some(111));
    assert_eq!(offset_before(&units, at + 2), Some(114));
    assert_eq!(offset_before(&units, 0), Some(100));
    assert_eq!(offset_before(&units, units.len()), None);
}

#[test]
fn parts_of_another_chat_are_no_parts() {
    let mut updates = all();
    let stranger = updates.iter_mut().find(|(id, _)| *id == 113).unwrap();
    stranger.1[0].inbound.chat.place.chat = "44".to_owned();
    assert!(units(updates).iter().all(|unit| unit.first == unit.last));
}
