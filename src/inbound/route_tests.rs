use herm_schema::events::ChatKind;
use serde_json::json;

use super::*;
use crate::inbound::settings::Warning;
use crate::inbound::testing::{place, said};

fn with(routes: Value) -> (GatewaySettings, Vec<Warning>) {
    let file = json!({"gateway": {
        "profiles": ["default", "server", "channel", "thread", "person"], "profile_routes": routes,
    }});
    GatewaySettings::parse(&file, &|_| None).unwrap()
}

/// The routes of the seeds' first document, and one for a person.
fn seeds() -> GatewaySettings {
    with(json!([
        {"name": "server-default", "platform": "discord", "guild_id": "S", "profile": "server"},
        {"name": "special-channel", "platform": "discord", "guild_id": "S", "chat_id": "C", "profile": "channel"},
        {"name": "thread-route", "platform": "discord", "chat_id": "C", "thread_id": "T", "profile": "thread"},
        {"name": "mine", "platform": "discord", "sender": 42, "profile": "person"},
    ]))
    .0
}

fn post(chat: &str, thread: Option<&str>, user: &str) -> Inbound {
    let mut inbound = said(ChatKind::Channel, chat, user);
    inbound.chat.place = place("discord", chat, thread);
    inbound.chat.guild = Some("S".into());
    inbound
}

fn profile(inbound: &Inbound, settings: &GatewaySettings) -> String {
    match route(inbound, settings) {
        Routed::Served { profile, .. } | Routed::Rejected { profile, .. } => profile,
    }
}

#[test]
fn the_most_specific_route_wins_whatever_the_order() {
    let settings = seeds();
    assert_eq!(profile(&post("X", None, "1"), &settings), "server");
    assert_eq!(profile(&post("C", None, "1"), &settings), "channel");
    assert_eq!(profile(&post("C", Some("T"), "1"), &settings), "thread");
    assert_eq!(profile(&post("C", Some("U"), "1"), &settings), "channel");
    assert_eq!(profile(&post("C", Some("T"), "42"), &settings), "person");
    let mut elsewhere = post("C", Some("T"), "42");
    elsewhere.chat.place.platform = "slack".into();
    assert_eq!(route(&elsewhere, &settings), Routed::Served { profile: "default".into(), route: None });
}

#[test]
fn weights_are_those_of_the_reference_and_never_tie_between_kinds() {
    let weights: Vec<u8> = seeds().routes.iter().map(Route::weight).collect();
    assert_eq!(weights, [1 + 2, 1 + 2 + 4, 1 + 4 + 8, 1 + 16]);
}

#[test]
fn everything_that_a_route_names_must_be_so() {
    let settings =
        with(json!([{"platform": "discord", "guild_id": "S", "chat_id": "C", "profile": "channel"}])).0;
    let mut other = post("C", None, "1");
    other.chat.guild = Some("other".into());
    assert_eq!(profile(&other, &settings), "default");
    other.chat.guild = None;
    assert_eq!(profile(&other, &settings), "default");
    assert_eq!(profile(&post("C", None, "1"), &settings), "channel");
}

#[test]
fn a_thread_counts_as_its_forum_and_as_itself() {
    let settings = seeds();
    let mut thread = post("T", None, "1");
    thread.chat.parent = Some("C".into());
    assert_eq!(profile(&thread, &settings), "thread");
    thread.chat.place.chat = "T2".into();
    assert_eq!(profile(&thread, &settings), "channel");
    // A chat that hangs on nothing is no thread, even if it is called like one.
    assert_eq!(profile(&post("T", None, "1"), &settings), "server");
}

#[test]
fn of_two_that_name_the_same_the_first_is_taken_and_the_second_is_told() {
    let (settings, warnings) = with(json!([
        {"name": "one", "chat_id": "C", "profile": "channel"},
        {"name": "two", "chat_id": "C", "profile": "server"},
        {"name": "off", "chat_id": "C", "profile": "server", "enabled": false},
    ]));
    assert_eq!(profile(&post("C", None, "1"), &settings), "channel");
    assert_eq!(
        warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["`gateway.profile_routes[1]`: names the same as `one`, which stands before it and is always taken"]
    );
    // A thread fits the route of its chat and that of its forum: the order of the file decides.
    let (settings, _) = with(json!([
        {"name": "forum", "chat_id": "F", "profile": "server"},
        {"name": "thread", "chat_id": "T", "profile": "thread"},
    ]));
    let mut thread = post("T", None, "1");
    thread.chat.parent = Some("F".into());
    assert_eq!(profile(&thread, &settings), "server");
}

#[test]
fn a_profile_that_is_not_served_here_is_a_rejection_and_no_fall_back() {
    let settings = with(json!([{"name": "away", "chat_id": "C", "profile": "elsewhere"}])).0;
    let Routed::Rejected { profile, why } = route(&post("C", None, "1"), &settings) else {
        panic!("it was served");
    };
    assert_eq!(profile, "elsewhere");
    assert_eq!(why, "the route `away` leads to the profile `elsewhere`, which is not served here");
}

#[test]
fn every_route_is_explained() {
    let told: Vec<String> =
        explain(&post("C", None, "42"), &seeds()).iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "`server-default` to `server` (weight 3): fits, but `mine` goes before",
            "`special-channel` to `channel` (weight 7): fits, but `mine` goes before",
            "`thread-route` to `thread` (weight 13): there is no thread, and it wants `T`",
            "`mine` to `person` (weight 17): taken",
        ]
    );
    let settings =
        with(json!([{"name": "off", "profile": "server", "platform": "discord", "enabled": "no"}])).0;
    assert_eq!(explain(&post("C", None, "1"), &settings)[0].verdict, Verdict::Disabled);
    let settings = with(json!([{"name": "n", "profile": "server", "platform": "slack"}])).0;
    let told = explain(&post("C", None, "1"), &settings)[0].to_string();
    assert_eq!(told, "`n` to `server` (weight 1): platform is `discord`, not `slack`");
}

#[test]
fn a_route_with_a_slip_is_refused() {
    let file = json!({"gateway": {"profile_routes": [{"profil": "x", "chat_id": 1.5}, "y"]}});
    let error = GatewaySettings::parse(&file, &|_| None).unwrap_err().to_string();
    for told in [
        "`gateway.profile_routes[0].profil`: is not a setting; did you mean `gateway.profile_routes[0].profile`?",
        "`gateway.profile_routes[0].chat_id`: cannot be `1.5`",
        "`gateway.profile_routes[0]`: names no `profile`",
        "`gateway.profile_routes[1]`: is a section",
    ] {
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn a_sender_is_known_by_any_id_and_by_no_name() {
    let settings = seeds();
    let mut alias = post("X", None, "7");
    alias.author.aliases = vec!["42".into()];
    assert_eq!(profile(&alias, &settings), "person");
    let mut liar = post("X", None, "7");
    liar.author.name = Some("42".into());
    assert_eq!(profile(&liar, &settings), "server");
}
