//! No bytes make the reader of `responses` panic, whatever their borders are, and what it reads can go back.
#![no_main]

use herm::providers::dialects::Dialect;
use herm::providers::dialects::responses::{NAME, Responses};
use herm::providers::{LoadedMessage, LoadedRequest};
use herm_replay::reducer::request::{Call, RequestOptions};
use herm_schema::events::ModelChoice;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [size, bytes @ ..] = input else { return };
    let mut request = LoadedRequest {
        choice: ModelChoice::new("vendor", "model", NAME),
        system: None,
        tools: Vec::new(),
        messages: Vec::new(),
        output_tokens_max: 100,
        options: RequestOptions::default(),
    };
    let dialect = Responses::default();
    let read = |size: usize| {
        let mut reader = dialect.reader(&request);
        for chunk in bytes.chunks(size) {
            reader.feed(chunk).ok()?;
        }
        reader.finish().ok().map(|(answer, _)| answer)
    };
    let answer = read(usize::from(*size).max(1));
    // Where the bytes are cut makes no difference.
    assert_eq!(answer, read(usize::MAX));
    let Some(answer) = answer else { return };
    let calls = answer.message.calls.into_iter();
    request.messages = vec![
        LoadedMessage::user("x"),
        LoadedMessage::Assistant {
            text: answer.message.text,
            calls: calls
                .map(|call| Call { id: call.id, name: call.name, arguments: call.arguments })
                .collect(),
            extras: answer.message.extras,
        },
    ];
    let sent = dialect.encode(&request);
    assert!(!sent.body.is_empty());
    assert_eq!(sent, dialect.encode(&request));
});
