//! `herm explain stream`: how the bytes of an answer are read.

use clap::Args;
use herm_schema::events::{Finish, ModelFailure};
use serde_json::{Value, json};

use super::request::spoken;
use crate::entry::{Exit, Failure, Out, Start, engine};
use crate::providers::dialects::{Dialect, Progress, ReadAnswer};
use crate::providers::{Delta, LoadedRequest};

/// Say how the bytes of an answer are read: a line for each piece, then what it came to.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  herm explain stream --dialect chat_completions < answer.sse
  printf '646174613a207b7d\\n0a0a\\n' | herm explain stream --dialect chat_completions --hex")]
pub struct Stream {
    /// Wire format; the provider's own if none is named.
    #[arg(long, value_name = "FORMAT")]
    dialect: Option<String>,

    /// Model that was asked.
    #[arg(long, value_name = "NAME", default_value = "model")]
    model: String,

    /// Provider that answers; its peculiarities are respected.
    #[arg(long, value_name = "NAME", default_value = "custom")]
    provider: String,

    /// Stdin holds a piece a line, in hexadecimal digits, as the network brought them.
    #[arg(long)]
    hex: bool,

    /// Bytes of a piece; all at once if none is named.
    #[arg(long, value_name = "BYTES", conflicts_with = "hex")]
    chunk: Option<usize>,
}

pub fn run(arguments: &Stream, input: &[u8], start: &Start, out: &mut Out) -> Result<(), Failure> {
    let usage = |message: String| Failure::message(Exit::Usage, message).hint("herm explain stream --help");
    let catalogue = engine::catalogue(&start.load(&[])?)?;
    let spoken = spoken(&catalogue, &arguments.provider, &arguments.model, arguments.dialect.as_deref());
    let (dialect, choice) = spoken.map_err(|error| Failure::new(Exit::Usage, error))?;
    let request = LoadedRequest {
        output_tokens_max: choice.output_tokens_max,
        choice,
        system: None,
        tools: Vec::new(),
        messages: Vec::new(),
        options: Default::default(),
    };
    let chunks: Vec<Vec<u8>> = if arguments.hex {
        pieces(&String::from_utf8_lossy(input)).map_err(usage)?
    } else {
        input.chunks(arguments.chunk.unwrap_or(input.len()).max(1)).map(<[u8]>::to_vec).collect()
    };
    for line in lines(dialect.as_ref(), &request, &chunks) {
        out.json(&line)?;
    }
    Ok(())
}

/// What is printed: a line for each piece that can be shown, and the outcome last.
fn lines(dialect: &dyn Dialect, request: &LoadedRequest, chunks: &[Vec<u8>]) -> Vec<Value> {
    let mut reader = dialect.reader(request);
    let mut lines = Vec::new();
    for chunk in chunks {
        // As over the network: what follows the end mark is not read any more.
        if reader.is_over() {
            break;
        }
        match reader.feed(chunk) {
            Ok(progress) => lines.extend(shown(progress)),
            Err(failure) => {
                lines.push(failed(&failure));
                return lines;
            }
        }
    }
    match reader.finish() {
        Ok((answer, progress)) => {
            lines.extend(shown(progress));
            lines.push(outcome(&answer));
        }
        Err(failure) => lines.push(failed(&failure)),
    }
    lines
}

fn shown(progress: Progress) -> impl Iterator<Item = Value> {
    progress.deltas.into_iter().map(|delta| match delta {
        Delta::Text(text) => json!({"delta": "text", "text": text}),
        Delta::Reasoning(text) => json!({"delta": "reasoning", "text": text}),
        Delta::ToolCall { name } => json!({"delta": "tool_call", "name": name}),
    })
}

fn outcome(answer: &ReadAnswer) -> Value {
    let call = |call: &herm_schema::events::ToolCall| {
        let arguments = serde_json::from_str::<Value>(&call.arguments.0);
        json!({
            "id": call.id,
            "name": call.name,
            "arguments": call.arguments.0,
            "arguments_json": arguments.ok(),
        })
    };
    let finish = match answer.finish {
        Finish::Stop => "stop",
        Finish::ToolCalls => "tool_calls",
        Finish::Length => "length",
        Finish::ContentFilter => "content_filter",
    };
    let calls: Vec<Value> = answer.message.calls.iter().map(call).collect();
    json!({
        "outcome": "answer",
        "complete": answer.finish != Finish::Length,
        "text": answer.message.text,
        "reasoning": answer.message.reasoning,
        // Arguments that the limit cut are never executed.
        "calls_run": !calls.is_empty() && answer.finish != Finish::Length,
        "calls": calls,
        "finish": finish,
        "usage": answer.usage,
        "response_id": answer.response_id,
        "extras": answer.message.extras.as_ref().map(|it| json!({"family": it.family, "json": it.json.0})),
    })
}

fn failed(failure: &ModelFailure) -> Value {
    json!({
        "outcome": "failure",
        "complete": false,
        "calls_run": false,
        "failure": {
            "class": super::error::class(failure.class),
            "status": failure.status,
            "message": failure.message,
            "retry_after_s": failure.retry_after_us.map(|micros| micros as f64 / 1_000_000.0),
        },
    })
}

/// Lines of hexadecimal digits; spaces do not matter.
fn pieces(text: &str) -> Result<Vec<Vec<u8>>, String> {
    let mut pieces = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let digits: Option<Vec<u32>> =
            line.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16)).collect();
        let digits = digits.filter(|digits| digits.len() % 2 == 0);
        let digits =
            digits.ok_or_else(|| format!("line {} is not pairs of hexadecimal digits", number + 1))?;
        let byte = |pair: &[u32]| pair.iter().fold(0, |byte, digit| byte * 16 + digit);
        pieces.push(digits.chunks(2).map(byte).filter_map(|byte| u8::try_from(byte).ok()).collect());
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::catalog::Catalogue;

    fn read(chunks: &[Vec<u8>]) -> Vec<Value> {
        let (dialect, choice) =
            spoken(&Catalogue::built_in(), "custom", "m", Some("chat_completions")).unwrap();
        let request = LoadedRequest {
            choice,
            system: None,
            tools: Vec::new(),
            messages: Vec::new(),
            output_tokens_max: 9,
            options: Default::default(),
        };
        lines(dialect.as_ref(), &request, chunks)
    }

    fn event(delta: Value, finish: Option<&str>) -> Vec<u8> {
        let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        format!("data: {chunk}\n\n").into_bytes()
    }

    fn last(chunks: &[Vec<u8>]) -> Value {
        read(chunks).pop().unwrap()
    }

    fn text(text: &str, finish: Option<&str>) -> Vec<u8> {
        event(json!({"content": text}), finish)
    }

    fn call(index: u32, id: &str, name: &str, arguments: &str, finish: Option<&str>) -> Vec<u8> {
        let call = json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}});
        event(json!({"tool_calls": [call]}), finish)
    }

    #[test]
    fn a_closed_socket_is_no_end_and_a_missing_mark_is_harmless() {
        // Case `stream-end-o`.
        let cut = last(&[text("Par", None)]);
        assert_eq!((&cut["outcome"], &cut["complete"]), (&json!("failure"), &json!(false)));
        let cut = last(&[call(0, "c", "terminal", "{\"cmd\":\"rm ", None)]);
        assert_eq!((&cut["outcome"], &cut["calls_run"]), (&json!("failure"), &json!(false)));
        let long = last(&[call(0, "c", "f", "{\"a\":1}", None), event(json!({}), Some("length"))]);
        assert_eq!((&long["finish"], &long["calls_run"]), (&json!("length"), &json!(false)));
        let whole = last(&[text("ok", Some("stop"))]);
        assert_eq!((&whole["text"], &whole["complete"]), (&json!("ok"), &json!(true)));
    }

    #[test]
    fn calls_under_one_index_and_names_sent_again_are_told_apart() {
        // Cases `stream-index0-o` and `stream-resend-o`.
        let end = event(json!({}), Some("tool_calls"));
        let three = last(&[
            call(0, "c1", "write_file", "{\"path\":\"a\"}", None),
            call(0, "c2", "write_file", "{\"path\":\"b\"}", None),
            call(0, "c3", "write_file", "{\"path\":\"c\"}", None),
            end.clone(),
        ]);
        let found: Vec<_> = three["calls"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| (&it["id"], &it["arguments_json"]["path"]))
            .collect();
        assert_eq!(
            found,
            [(&json!("c1"), &json!("a")), (&json!("c2"), &json!("b")), (&json!("c3"), &json!("c"))]
        );
        let one = last(&[
            call(0, "c1", "read_file", "", None),
            call(0, "c1", "read_file", "{\"p\":", None),
            call(0, "c1", "read_file", "\"x\"}", None),
            end,
        ]);
        assert_eq!(one["calls"].as_array().unwrap().len(), 1);
        assert_eq!(
            (&one["calls"][0]["name"], &one["calls"][0]["arguments_json"]),
            (&json!("read_file"), &json!({"p": "x"}))
        );
    }

    #[test]
    fn thoughts_between_tags_are_not_shown_as_text() {
        // Case `stream-think-o`.
        for (deltas, visible) in [
            (vec!["<", "think>plan</think>", "Done"], "Done"),
            (vec!["<think>a", "b", "</think>", "Let me check."], "Let me check."),
            (vec!["Use the <think> element for notes"], "Use the <think> element for notes"),
            (vec!["<think>never closed"], ""),
            (vec!["<Thinking>p</Thin", "king>Yes"], "Yes"),
            (vec!["<x:thinking>p</x:thinking>Ok"], "Ok"),
        ] {
            let mut chunks: Vec<_> = deltas.iter().map(|delta| text(delta, None)).collect();
            chunks.push(event(json!({}), Some("stop")));
            assert_eq!(last(&chunks)["text"], visible, "{deltas:?}");
        }
    }

    #[test]
    fn pieces_in_hexadecimal_may_cut_a_character() {
        // Case `stream-utf8-o`, with the chunk that this wire format has.
        let whole = text("你好", Some("stop"));
        let at = whole.iter().position(|byte| *byte > 0x7f).unwrap() + 2;
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let text = format!("{}\n{}\n", hex(&whole[..at]), hex(&whole[at..]));
        assert_eq!(last(&pieces(&text).unwrap())["text"], "你好");
        assert_eq!(pieces("6g").unwrap_err(), "line 1 is not pairs of hexadecimal digits");
        assert!(pieces("646").is_err());
    }

    #[test]
    fn a_failure_in_the_stream_is_told_with_its_class() {
        let failure = last(&[b"data: {\"error\":{\"code\":429,\"message\":\"slow down\"}}\n\n".to_vec()]);
        assert_eq!(failure["failure"]["class"], "rate_limit");
    }
}
