//! What the targets share: a reader fed in pieces of any size must not panic, must say the same
//! whatever the sizes are, and must not show what it does not keep.

use herm::providers::dialects::{Dialect, ReadAnswer};
use herm::providers::{Delta, LoadedMessage, LoadedRequest};
use herm_replay::reducer::request::RequestOptions;
use herm_schema::events::{ModelChoice, ModelFailure};

type Read = Result<(ReadAnswer, String), ModelFailure>;

/// Reads `bytes` whole and in pieces whose sizes `cuts` gives.
pub fn check(dialect: &dyn Dialect, cuts: &[u8], bytes: &[u8]) {
    let whole = read(dialect, std::iter::once(bytes));
    let single = read(dialect, bytes.chunks(1));
    let cut = read(dialect, Pieces { sizes: cuts.iter().cycle(), rest: bytes });
    for other in [single, cut] {
        match (&whole, &other) {
            (Ok(whole), Ok(other)) => assert_eq!(whole, other),
            (Err(whole), Err(other)) => assert_eq!(whole.class, other.class),
            _ => panic!("the cuts decide: {whole:?} or {other:?}"),
        }
    }
    if let Ok((answer, shown)) = whole {
        assert_eq!(answer.message.text, shown, "what is shown is what is kept");
        resend(dialect, &answer);
    }
}

/// What was read can be sent back, and is the same bytes each time.
fn resend(dialect: &dyn Dialect, answer: &ReadAnswer) {
    use herm_replay::reducer::request::Call;
    let message = &answer.message;
    let calls = message.calls.iter().map(|call| Call {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
    });
    let said = LoadedMessage::Assistant {
        text: message.text.clone(),
        calls: calls.collect(),
        extras: message.extras.clone(),
    };
    let request = request(vec![LoadedMessage::user("x"), said, LoadedMessage::user("y")]);
    let sent = dialect.encode(&request);
    assert!(!sent.body.is_empty());
    assert_eq!(sent, dialect.encode(&request));
}

fn read<'a>(dialect: &dyn Dialect, pieces: impl Iterator<Item = &'a [u8]>) -> Read {
    let mut reader = dialect.reader(&request(Vec::new()));
    let mut shown = String::new();
    let mut show = |deltas: Vec<Delta>| {
        for delta in deltas {
            if let Delta::Text(text) = delta {
                shown.push_str(&text);
            }
        }
    };
    for piece in pieces {
        show(reader.feed(piece)?.deltas);
    }
    let (answer, progress) = reader.finish()?;
    show(progress.deltas);
    Ok((answer, shown))
}

fn request(messages: Vec<LoadedMessage>) -> LoadedRequest {
    LoadedRequest {
        choice: ModelChoice::new("p", "claude-opus-4-6", "d"),
        system: None,
        tools: Vec::new(),
        messages,
        output_tokens_max: 4_096,
        options: RequestOptions::default(),
    }
}

struct Pieces<'a, I> {
    sizes: I,
    rest: &'a [u8],
}

impl<'a, 'b, I: Iterator<Item = &'b u8>> Iterator for Pieces<'a, I> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let size = usize::from(self.sizes.next().copied().unwrap_or(255)).clamp(1, self.rest.len());
        let (head, rest) = self.rest.split_at(size);
        self.rest = rest;
        Some(head)
    }
}

/// The first bytes of an input, as sizes of pieces, and the others.
pub fn split(input: &[u8]) -> (&[u8], &[u8]) {
    input.split_at(input.len().min(4))
}
