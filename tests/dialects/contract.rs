//! What every wire format must do, over the table of them.

use herm::providers::dialects::{build, names};
use herm::providers::{LoadedMessage, LoadedRequest};
use herm_schema::events::{CacheTtl, Finish, ModelChoice, Usage};
use serde_json::Value;

use super::support::{Reply, Wire, reply};
use super::{check, histories, model};

fn dialect(wire: Wire) -> std::sync::Arc<dyn herm::providers::dialects::Dialect> {
    build(wire.name(), &Value::Null).unwrap()
}

fn request(wire: Wire, messages: &[LoadedMessage]) -> LoadedRequest {
    let request = histories::request(wire.name(), model(wire), messages);
    // Breakpoints of an explicit cache move on with the conversation; all else stays.
    LoadedRequest { choice: ModelChoice { cache_ttl: CacheTtl::Off, ..request.choice }, ..request }
}

#[test]
fn the_table_is_the_list_of_wire_formats() {
    let mut known: Vec<_> = names().collect();
    let mut tested: Vec<_> = Wire::ALL.iter().map(|wire| wire.name()).collect();
    known.sort_unstable();
    tested.sort_unstable();
    assert_eq!(known, tested);
}

#[test]
fn a_following_request_shares_every_byte_up_to_the_new_message() {
    let (messages, sent) = histories::conversation(&[0, 2, 1, 0, 3, 0]);
    for wire in Wire::ALL {
        let body = |count: &usize| dialect(wire).encode(&request(wire, &messages[..*count])).body;
        let bodies: Vec<_> = sent.iter().map(body).collect();
        for pair in bodies.windows(2) {
            // What closes the last message and the list is not part of it.
            let end = pair[0].iter().rposition(|byte| !b"]}\"".contains(byte)).unwrap() + 1;
            let (before, after) = (&pair[0][..end], &pair[1]);
            let shared = before.iter().zip(after).take_while(|(a, b)| a == b).count();
            assert_eq!(shared, end, "{wire:?}: {}", String::from_utf8_lossy(&after[shared..]));
        }
    }
}

#[test]
fn what_is_sent_is_the_same_each_time_and_passes_the_strict_reading() {
    let (messages, sent) = histories::conversation(&[1, 0, 2]);
    for wire in Wire::ALL {
        for count in &sent {
            let request = request(wire, &messages[..*count]);
            let first = dialect(wire).encode(&request);
            assert_eq!(check(wire, &first), Ok(()), "{wire:?}");
            assert_eq!(dialect(wire).encode(&request), first, "{wire:?}");
        }
    }
}

/// The scripted answer of a reply.
fn answer(reply: Reply) -> reply::Answer {
    match reply.kind {
        reply::Kind::Answer(answer) => answer,
        _ => panic!("no answer"),
    }
}

#[test]
fn a_streamed_answer_is_read_whatever_its_pieces_are() {
    let calls =
        [("call_a", "read_file", "{\"path\":\"é.txt\"}"), ("call_b", "read_file", "{\"path\":\"b\"}")];
    let said = answer(Reply::calls(&calls).saying("Ich sehe 你好 nach.").usage(120, 30));
    for wire in Wire::ALL {
        let bytes = wire.stream(&said).concat();
        for size in [1, 2, 7, 64, bytes.len()] {
            let asked = request(wire, &[LoadedMessage::user("hi")]);
            let mut reader = dialect(wire).reader(&asked);
            let mut content = false;
            for piece in bytes.chunks(size) {
                content |= reader.feed(piece).unwrap().content;
            }
            assert!(content && reader.is_complete(), "{wire:?}, pieces of {size}");
            let (read, _) = reader.finish().unwrap();
            assert_eq!(read.message.text, "Ich sehe 你好 nach.", "{wire:?}, pieces of {size}");
            assert_eq!(read.finish, Finish::ToolCalls, "{wire:?}");
            let usage = Usage { input: 120, output: 30, ..Usage::default() };
            assert_eq!(read.usage, Some(usage), "{wire:?}");
            let names: Vec<_> = read.message.calls.iter().map(|call| call.name.as_str()).collect();
            assert_eq!(names, ["read_file", "read_file"], "{wire:?}");
            for (call, (_, _, arguments)) in read.message.calls.iter().zip(calls) {
                let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
                assert_eq!(parsed(&call.arguments.0), parsed(arguments), "{wire:?}");
            }
        }
    }
}

#[test]
fn a_stream_that_ends_early_is_no_answer_wherever_it_is_cut() {
    let said = answer(Reply::call("terminal", &serde_json::json!({"command": "rm -rf build"})));
    for wire in Wire::ALL {
        let bytes = wire.stream(&answer(Reply::calls(&[]).saying("Partly").without_finish())).concat();
        let mut reader = dialect(wire).reader(&request(wire, &[LoadedMessage::user("hi")]));
        reader.feed(&bytes).unwrap();
        assert!(reader.finish().is_err(), "{wire:?}: an end without a finish reason is no success");
        let bytes = wire.stream(&said).concat();
        let cut = (0..bytes.len() * 2 / 3).step_by(11);
        for end in cut {
            let mut reader = dialect(wire).reader(&request(wire, &[LoadedMessage::user("hi")]));
            let fed = reader.feed(&bytes[..end]);
            if let (Ok(_), false) = (&fed, reader.is_complete()) {
                assert!(reader.finish().is_err(), "{wire:?} cut at {end} of {}", bytes.len());
            }
        }
    }
}

#[test]
fn a_cut_answer_says_so() {
    for wire in Wire::ALL {
        let said = answer(Reply::text("so far").finish("length"));
        let mut reader = dialect(wire).reader(&request(wire, &[LoadedMessage::user("hi")]));
        reader.feed(&wire.stream(&said).concat()).unwrap();
        assert_eq!(reader.finish().unwrap().0.finish, Finish::Length, "{wire:?}");
    }
}

#[test]
fn a_failure_in_the_middle_of_a_stream_is_a_failure() {
    for wire in Wire::ALL {
        let mut pieces = wire.stream(&answer(Reply::text("It is a longer answer than that.")));
        pieces.truncate(3);
        pieces.push(wire.failure());
        let mut reader = dialect(wire).reader(&request(wire, &[LoadedMessage::user("hi")]));
        let fed = pieces.iter().try_for_each(|piece| reader.feed(piece).map(drop));
        let failure = match fed {
            Err(failure) => failure,
            Ok(()) => reader.finish().expect_err(wire.name()),
        };
        let flags = herm_replay::reducer::failure::flags(failure.class);
        assert!(flags.retryable, "{wire:?}: {failure:?}");
    }
}

#[test]
fn garbage_is_a_failure_and_never_a_panic() {
    let garbage: [&[u8]; 6] = [
        b"",
        b"\0\0\0\0",
        b"<html><title>502</title></html>",
        b"data: {\"a\":\n\n",
        b"{\"ok\":true}",
        &[0xff; 300],
    ];
    for wire in Wire::ALL {
        for bytes in garbage {
            let mut reader = dialect(wire).reader(&request(wire, &[LoadedMessage::user("hi")]));
            let read = reader.feed(bytes).and_then(|_| reader.finish());
            assert!(read.is_err(), "{wire:?} read {:?}", String::from_utf8_lossy(bytes));
        }
    }
}
