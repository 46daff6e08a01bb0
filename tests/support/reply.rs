//! What the scripted model server answers with.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// Holds a reply back until the test lets it go on.
#[derive(Clone)]
pub struct Gate(Arc<Semaphore>);

impl Gate {
    pub fn closed() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    /// Opens it for good.
    pub fn open(&self) {
        self.0.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    pub async fn pass(&self) {
        let _ = self.0.acquire().await;
    }
}

/// One reply. Streamed or not as the request asks, unless it says otherwise.
#[derive(Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub kind: Kind,
    /// Passed before the status line is sent.
    pub before: Option<Gate>,
    /// Passed after so many pieces.
    pub gate: Option<(usize, Gate)>,
    /// The connection is closed after so many pieces.
    pub cut_after: Option<usize>,
    /// A failure of the vendor's own comes after so many pieces.
    pub fails_after: Option<usize>,
}

#[derive(Clone)]
pub enum Kind {
    Answer(Answer),
    /// These bytes as the body, in these pieces.
    Raw {
        content_type: String,
        pieces: Vec<Vec<u8>>,
    },
    /// Not a byte, until the client goes away.
    Silence,
    /// A stream of nothing but comments, until the client goes away.
    KeepAlives,
}

/// What the model says.
#[derive(Clone)]
pub struct Answer {
    pub text: String,
    pub reasoning: String,
    /// Id, name, arguments.
    pub calls: Vec<(String, String, String)>,
    pub finish: Option<String>,
    pub usage: Option<(u64, u64)>,
    /// Pieces that the text comes in.
    pub pieces: usize,
    pub done: bool,
}

impl Reply {
    fn of(kind: Kind) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            kind,
            before: None,
            gate: None,
            cut_after: None,
            fails_after: None,
        }
    }

    fn answer(answer: Answer) -> Self {
        Self::of(Kind::Answer(answer))
    }

    pub fn text(text: &str) -> Self {
        Self::answer(Answer {
            text: text.to_owned(),
            reasoning: String::new(),
            calls: Vec::new(),
            finish: Some("stop".to_owned()),
            usage: Some((10, 5)),
            pieces: 3,
            done: true,
        })
    }

    /// One tool call with the id `call_1`.
    pub fn call(name: &str, arguments: &Value) -> Self {
        Self::calls(&[("call_1", name, &arguments.to_string())])
    }

    /// Calls as id, name, arguments.
    pub fn calls(calls: &[(&str, &str, &str)]) -> Self {
        let owned = |(id, name, arguments): &(&str, &str, &str)| {
            ((*id).to_owned(), (*name).to_owned(), (*arguments).to_owned())
        };
        Self::text("").finish("tool_calls").edit(|answer| answer.calls = calls.iter().map(owned).collect())
    }

    pub fn status(status: u16, body: &str) -> Self {
        let pieces = vec![body.as_bytes().to_vec()];
        let kind = Kind::Raw { content_type: "application/json".to_owned(), pieces };
        Self { status, ..Self::of(kind) }
    }

    /// A stream of these bytes, with status 200.
    pub fn raw(pieces: &[&[u8]]) -> Self {
        let pieces = pieces.iter().map(|piece| piece.to_vec()).collect();
        Self::of(Kind::Raw { content_type: "text/event-stream".to_owned(), pieces })
    }

    pub fn silence() -> Self {
        Self::of(Kind::Silence)
    }

    pub fn keep_alives() -> Self {
        Self::of(Kind::KeepAlives)
    }

    fn edit(mut self, change: impl FnOnce(&mut Answer)) -> Self {
        if let Kind::Answer(answer) = &mut self.kind {
            change(answer);
        }
        self
    }

    pub fn finish(self, reason: &str) -> Self {
        self.edit(|answer| answer.finish = Some(reason.to_owned()))
    }

    pub fn without_finish(self) -> Self {
        self.edit(|answer| {
            answer.finish = None;
            answer.done = false;
        })
    }

    pub fn without_done(self) -> Self {
        self.edit(|answer| answer.done = false)
    }

    /// Text beside tool calls.
    pub fn saying(self, text: &str) -> Self {
        self.edit(|answer| answer.text = text.to_owned())
    }

    pub fn reasoning(self, text: &str) -> Self {
        self.edit(|answer| answer.reasoning = text.to_owned())
    }

    pub fn usage(self, input: u64, output: u64) -> Self {
        self.edit(|answer| answer.usage = Some((input, output)))
    }

    pub fn without_usage(self) -> Self {
        self.edit(|answer| answer.usage = None)
    }

    /// How many pieces the text is streamed in.
    pub fn pieces(self, pieces: usize) -> Self {
        self.edit(|answer| answer.pieces = pieces.max(1))
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Nothing is sent until `gate` is open.
    pub fn held_by(mut self, gate: &Gate) -> Self {
        self.before = Some(gate.clone());
        self
    }

    /// After `pieces` pieces of the body nothing more is sent until `gate` is open.
    pub fn gate_after(mut self, pieces: usize, gate: &Gate) -> Self {
        self.gate = Some((pieces, gate.clone()));
        self
    }

    /// The vendor reports a failure after `pieces` pieces of the body.
    pub fn fails_after(mut self, pieces: usize) -> Self {
        self.fails_after = Some(pieces);
        self
    }

    /// The connection breaks after `pieces` pieces of the body.
    pub fn cut_after(mut self, pieces: usize) -> Self {
        self.cut_after = Some(pieces);
        self
    }
}

impl Answer {
    /// The body of an answer that is not streamed.
    pub fn whole(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.text});
        if !self.reasoning.is_empty() {
            message["reasoning_content"] = self.reasoning.clone().into();
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.iter().map(|call| call_json(call, None)).collect();
        }
        let mut body = json!({"id": "r", "object": "chat.completion", "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish}]});
        if let Some((input, output)) = self.usage {
            body["usage"] = json!({"prompt_tokens": input, "completion_tokens": output});
        }
        body
    }

    /// The pieces of a streamed one, an event each.
    pub fn stream(&self) -> Vec<String> {
        let chunk = |delta: Value, finish: Option<&str>| {
            json!({"id": "r", "object": "chat.completion.chunk", "model": "scripted",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        };
        let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
        if !self.reasoning.is_empty() {
            events.push(chunk(json!({"reasoning_content": self.reasoning}), None));
        }
        events.extend(
            split(&self.text, self.pieces).into_iter().map(|text| chunk(json!({"content": text}), None)),
        );
        for (index, call) in self.calls.iter().enumerate() {
            let (id, name, arguments) = call;
            let begun = call_json(&(id.clone(), name.clone(), String::new()), Some(index));
            events.push(chunk(json!({"tool_calls": [begun]}), None));
            for part in split(arguments, 2) {
                let delta = json!({"index": index, "function": {"arguments": part}});
                events.push(chunk(json!({"tool_calls": [delta]}), None));
            }
        }
        if let Some(finish) = &self.finish {
            events.push(chunk(json!({}), Some(finish)));
        }
        if let Some((input, output)) = self.usage {
            events.push(json!({"id": "r", "choices": [],
                "usage": {"prompt_tokens": input, "completion_tokens": output}}));
        }
        let mut lines: Vec<String> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        if self.done {
            lines.push("data: [DONE]\n\n".to_owned());
        }
        lines
    }
}

fn call_json((id, name, arguments): &(String, String, String), index: Option<usize>) -> Value {
    let mut call = json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    if let Some(index) = index {
        call["index"] = index.into();
    }
    call
}

/// `text` in about `pieces` pieces, cut between characters.
pub fn split(text: &str, pieces: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    if chars.is_empty() {
        return Vec::new();
    }
    chars.chunks(chars.len().div_ceil(pieces)).map(|piece| piece.iter().collect()).collect()
}
