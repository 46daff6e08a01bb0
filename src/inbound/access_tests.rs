use super::*;
use crate::inbound::testing::{message, said};
use crate::platforms::{Author, Reply};
use serde_json::{Value, json};

fn settings(section: Value) -> PlatformSettings {
    let file = json!({"platforms": {"telegram": section}});
    let parsed = crate::inbound::settings::GatewaySettings::parse(&file, &|_| None).unwrap();
    parsed.0.platform("telegram").clone()
}

fn admitted(inbound: &Inbound, section: Value) -> Admission {
    with(inbound, section, false)
}

fn with(inbound: &Inbound, section: Value, takes_part: bool) -> Admission {
    let capabilities = Capabilities::plain("telegram");
    let paired = |id: &str| id == "paired";
    let settings = settings(section);
    admit(inbound, &Rules { settings: &settings, capabilities: &capabilities, paired: &paired, takes_part })
}

const YES: Admission = Admission::Allowed { admin: false };
const OWNER: Admission = Admission::Allowed { admin: true };

fn no(reason: Reason) -> Admission {
    Admission::Ignored(reason)
}

fn direct(user: &str) -> Inbound {
    said(ChatKind::Direct, user, user)
}

/// In the group `G`, without a mention.
fn group(user: &str) -> Inbound {
    said(ChatKind::Group, "G", user)
}

fn mentioned(mut inbound: Inbound) -> Inbound {
    message(&mut inbound).mentioned = true;
    inbound
}

#[test]
fn a_stranger_is_offered_a_code_in_a_direct_chat_and_nothing_elsewhere() {
    assert_eq!(admitted(&direct("1"), json!({})), Admission::AskPairing);
    assert_eq!(admitted(&direct("1"), json!({"allowed_users": []})), Admission::AskPairing);
    let ignore = json!({"unauthorized_dm_behavior": "ignore"});
    assert_eq!(admitted(&direct("1"), ignore), no(Reason::Stranger));
    assert_eq!(admitted(&mentioned(group("1")), json!({})), no(Reason::Stranger));
    let mut press = direct("1");
    press.what = What::Button { message_id: "1".into(), data: "yes".into() };
    assert_eq!(admitted(&press, json!({})), no(Reason::Stranger));
}

#[test]
fn ids_let_in_and_names_and_texts_do_not() {
    let list = json!({"allowed_users": ["42"]});
    assert_eq!(admitted(&direct("42"), list.clone()), OWNER);
    assert_eq!(admitted(&direct("paired"), list.clone()), YES);
    for near in ["042", "42 ", "4", "421"] {
        assert_eq!(admitted(&direct(near), list.clone()), Admission::AskPairing, "{near}");
    }
    let mut liar = direct("7");
    liar.author.name = Some("42".into());
    message(&mut liar).text = "I am 42, let me in".into();
    assert_eq!(admitted(&liar, list.clone()), Admission::AskPairing);
    let mut alias = direct("7");
    alias.author.aliases = vec!["42".into()];
    assert_eq!(admitted(&alias, list), OWNER);
}

#[test]
fn an_account_without_an_id_is_nobody() {
    let nobody = Inbound { author: Author::default(), ..direct("") };
    let capabilities = Capabilities::plain("telegram");
    let settings = settings(json!({"allowed_users": ["", "42"]}));
    let rules =
        Rules { settings: &settings, capabilities: &capabilities, paired: &|_| true, takes_part: true };
    assert_eq!(admit(&nobody, &rules), no(Reason::Stranger));
}

#[test]
fn own_words_and_other_programs_are_not_read() {
    let mut own = direct("42");
    own.author.ours = true;
    let all = json!({"allow_all": true, "allow_bots": "all"});
    assert_eq!(admitted(&own, all.clone()), no(Reason::Own));
    let mut bot = group("9");
    bot.author.bot = true;
    assert_eq!(admitted(&mentioned(bot.clone()), json!({"allow_all": true})), no(Reason::Bot));
    assert_eq!(admitted(&mentioned(bot.clone()), all), YES);
    let mentions = json!({"allow_all": true, "allow_bots": "mentions", "require_mention": false});
    assert_eq!(admitted(&bot, mentions.clone()), no(Reason::BotUnaddressed));
    assert_eq!(admitted(&mentioned(bot.clone()), mentions), YES);
    // The ban is lifted, and nothing else.
    assert_eq!(admitted(&mentioned(bot), json!({"allow_bots": "all"})), no(Reason::Stranger));
    let mut direct_bot = direct("9");
    direct_bot.author.bot = true;
    assert_eq!(admitted(&direct_bot, json!({"allow_bots": "all"})), no(Reason::Stranger));
}

#[test]
fn in_a_group_herm_is_spoken_to_or_deaf() {
    let list = json!({"allowed_users": ["42"], "mention_patterns": ["^herm\\b"]});
    assert_eq!(admitted(&group("42"), list.clone()), no(Reason::Unaddressed));
    assert_eq!(admitted(&mentioned(group("42")), list.clone()), OWNER);
    let mut answer = group("42");
    message(&mut answer).reply = Some(Reply { message_id: "5".into(), text: None, ours: true });
    assert_eq!(admitted(&answer, list.clone()), OWNER);
    message(&mut answer).reply = Some(Reply { message_id: "5".into(), text: None, ours: false });
    assert_eq!(admitted(&answer, list.clone()), no(Reason::Unaddressed));
    let mut called = group("42");
    message(&mut called).text = "Herm, what now?".into();
    assert_eq!(admitted(&called, list.clone()), OWNER);
    message(&mut called).text = "thermal".into();
    assert_eq!(admitted(&called, list), no(Reason::Unaddressed));
    assert_eq!(admitted(&group("42"), json!({"allowed_users": ["42"], "require_mention": false})), OWNER);
}

#[test]
fn a_thread_that_herm_takes_part_in_is_a_talk_with_it() {
    let list = json!({"allowed_users": ["42"]});
    let mut thread = group("42");
    thread.chat.place.thread = Some("5".into());
    assert_eq!(with(&thread, list.clone(), false), no(Reason::Unaddressed));
    assert_eq!(with(&thread, list.clone(), true), OWNER);
    let strict = json!({"allowed_users": ["42"], "thread_require_mention": true});
    assert_eq!(with(&thread, strict, true), no(Reason::Unaddressed));
    // The open group is no thread, whoever has spoken there.
    assert_eq!(with(&group("42"), list, true), no(Reason::Unaddressed));
}

#[test]
fn route_forum_o_a_rule_on_the_parent_covers_its_threads_from_the_first_message_on() {
    let free = json!({"allow_all": true, "free_response_channels": ["F"]});
    let mut post = said(ChatKind::Channel, "T1", "a");
    post.chat.parent = Some("F".into());
    let elsewhere = said(ChatKind::Channel, "Z", "a");
    let answered = [&post, &post, &elsewhere].map(|post| admitted(post, free.clone()) == YES);
    assert_eq!(answered, [true, true, false]);
    let keys =
        [&post, &post].map(|post| crate::inbound::session_key::SessionKey::of(post, Default::default()));
    assert_eq!(keys[0], keys[1]);
}

#[test]
fn groups_can_be_ignored_named_and_opened() {
    let open = json!({"group_allowed_chats": ["G"]});
    assert_eq!(admitted(&mentioned(group("1")), open.clone()), YES);
    assert_eq!(admitted(&group("1"), open.clone()), no(Reason::Unaddressed));
    // Who speaks in an open group is not known in a direct chat for that.
    assert_eq!(admitted(&direct("1"), open), Admission::AskPairing);
    let only = json!({"allowed_users": ["42"], "allowed_chats": ["H"]});
    assert_eq!(admitted(&mentioned(group("42")), only.clone()), no(Reason::ChatNotAllowed));
    assert_eq!(admitted(&direct("42"), only), OWNER);
    let deaf = json!({"allowed_users": ["42"], "ignored_channels": ["G"]});
    assert_eq!(admitted(&mentioned(group("42")), deaf), no(Reason::ChannelIgnored));
    let mut topic = mentioned(group("42"));
    topic.chat.place.thread = Some("5".into());
    let deaf = |id: &str| json!({"allowed_users": ["42"], "ignored_channels": [id]});
    assert_eq!(admitted(&topic, deaf("G:5")), no(Reason::ChannelIgnored));
    assert_eq!(admitted(&topic, deaf("5")), OWNER);
}

#[test]
fn owners_are_those_whom_the_configuration_names() {
    let named = json!({"allowed_users": ["42", "43"], "admins": ["43", "44"]});
    assert_eq!(admitted(&direct("42"), named.clone()), YES);
    assert_eq!(admitted(&direct("43"), named.clone()), OWNER);
    assert_eq!(admitted(&direct("44"), named.clone()), OWNER);
    assert_eq!(admitted(&direct("paired"), named), YES);
    assert_eq!(admitted(&direct("1"), json!({"allow_all": true})), YES);
    let every = json!({"allowed_users": ["42"], "admins": "*"});
    assert_eq!(admitted(&direct("paired"), every.clone()), OWNER);
    assert_eq!(admitted(&direct("1"), every), Admission::AskPairing);
}

#[test]
fn who_came_in_by_the_platform_s_own_rules_is_in_and_no_owner() {
    let capabilities = Capabilities { own_access: true, ..Capabilities::plain("api_server") };
    let settings = settings(json!({}));
    let rules =
        Rules { settings: &settings, capabilities: &capabilities, paired: &|_| false, takes_part: false };
    assert_eq!(admit(&direct("key"), &rules), YES);
}

#[test]
fn what_the_platform_says_is_said_by_nobody() {
    let mut removed = direct("42");
    removed.what = What::Removed { why: "blocked".into() };
    assert_eq!(admitted(&removed, json!({"allow_all": true})), no(Reason::Unsaid));
    let mut reaction = group("42");
    reaction.what = What::Reaction { message_id: "1".into(), emoji: "👍".into(), added: true };
    assert_eq!(admitted(&reaction, json!({"allowed_users": ["42"]})), OWNER);
}
