//! The cases of area `2-pairing`, on the neutral form that every dialect starts from.

use herm_replay::reducer::repair::repair;
use herm_replay::reducer::request::{Call, Message, Part};
use herm_schema::JsonText;

fn user(text: &str) -> Message {
    Message::User { parts: vec![text.into()] }
}

fn assistant(calls: &[(&str, &str)]) -> Message {
    let call = |(id, arguments): &(&str, &str)| Call {
        id: (*id).into(),
        name: "f".into(),
        arguments: JsonText((*arguments).into()),
    };
    Message::Assistant { text: String::new(), calls: calls.iter().map(call).collect(), extras: None }
}

fn result(id: &str, text: &str) -> Message {
    Message::Tool { id: id.into(), name: "f".into(), parts: vec![text.into()] }
}

/// Role, ids and text of each message.
fn outline(messages: Vec<Message>) -> Vec<String> {
    let text = |parts: &[Part]| {
        let inline = |part: &Part| if let Part::Inline(text) = part { text.clone() } else { String::new() };
        parts.iter().map(inline).collect::<String>()
    };
    let line = |message: Message| match message {
        Message::User { parts } => format!("user:{}", text(&parts)),
        Message::Assistant { calls, .. } => {
            let ids: Vec<_> = calls.iter().map(|call| format!("{}{}", call.id, call.arguments.0)).collect();
            format!("assistant:{}", ids.join(" "))
        }
        Message::Tool { id, parts, .. } => format!("tool {id}:{}", text(&parts)),
    };
    repair(messages).into_iter().map(line).collect()
}

#[test]
fn pair_missing_results_are_answered_in_place() {
    let calls = assistant(&[("A", "{}"), ("B", "{}"), ("C", "{}")]);
    let sent = outline(vec![user("go"), calls, result("B", "b"), user("and now?")]);
    assert_eq!(sent[1], "assistant:A{} B{} C{}");
    assert!(sent[2].starts_with("tool A:") && sent[2].contains("outcome of this call is unknown"));
    assert_eq!(sent[3], "tool B:b");
    assert!(sent[4].starts_with("tool C:") && sent[4].contains("unknown"));
    assert_eq!(sent[5], "user:and now?");
}

#[test]
fn pair_ids_that_a_provider_uses_again_are_told_apart() {
    let sent = outline(vec![
        user("1"),
        assistant(&[("exec_0", "{}"), ("exec_1", "{}")]),
        result("exec_0", "r1"),
        result("exec_1", "r2"),
        assistant(&[("exec_0", "{}")]),
        result("exec_0", "r3"),
        user("2"),
    ]);
    let expected = [
        "user:1",
        "assistant:exec_0{} exec_1{}",
        "tool exec_0:r1",
        "tool exec_1:r2",
        "assistant:exec_0_2{}",
        "tool exec_0_2:r3",
        "user:2",
    ];
    assert_eq!(sent, expected);
}

#[test]
fn pair_parallel_calls_stored_one_by_one_go_out_as_one_answer() {
    let history =
        vec![assistant(&[("A", "{}")]), assistant(&[("B", "{}")]), result("A", "a"), result("B", "b")];
    assert_eq!(outline(history), ["assistant:A{} B{}", "tool A:a", "tool B:b"]);
}

#[test]
fn pair_alternation_is_mended_and_a_valid_redirect_left_alone() {
    assert_eq!(outline(vec![user("first"), user("second")]), ["user:first\n\nsecond"]);
    let redirect = vec![user("Q1"), assistant(&[("t1", "{}")]), result("t1", "out"), user("Q2")];
    assert_eq!(outline(redirect), ["user:Q1", "assistant:t1{}", "tool t1:out", "user:Q2"]);
    assert_eq!(outline(vec![user(""), user("real")]), ["user:real"]);
}

#[test]
fn pair_damaged_arguments_are_sent_as_an_empty_object_with_a_note() {
    let history = vec![
        user("go"),
        assistant(&[("c1", r#"{"path": "a"#), ("c2", r#"{"path":"b"}"#)]),
        result("c1", "x"),
        result("c2", "y"),
    ];
    let sent = outline(history);
    assert_eq!(sent[1], r#"assistant:c1{} c2{"path":"b"}"#);
    assert!(
        sent[2].starts_with("tool c1:[The stored arguments of this call were damaged")
            && sent[2].ends_with('x')
    );
    assert_eq!(sent[3], "tool c2:y");
}

#[test]
fn pair_orphan_and_repeated_results_are_left_out() {
    let history = vec![
        user("go"),
        result("lost", "?"),
        assistant(&[("A", "{}")]),
        result("A", "a"),
        result("A", "again"),
        result("B", "b"),
        user("on"),
    ];
    assert_eq!(outline(history), ["user:go", "assistant:A{}", "tool A:a", "user:on"]);
}

#[test]
fn what_is_well_formed_stays_as_it_is() {
    let history = vec![user("go"), assistant(&[("A", "{}")]), result("A", "a"), user("on")];
    assert_eq!(repair(history.clone()), history);
}
