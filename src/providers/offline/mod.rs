//! The built-in model: no network, no weights, nothing random. It follows plain instructions by
//! calling real tools, one step a model call, and says what it is to anything else.
//!
//! It remembers nothing: which step is next is read off the request, from the last user message
//! ([`plan`]) and the tool results after it ([`report`]). So it goes on after a restart like any
//! other model. [`words`] reads sentences.

mod plan;
mod report;
mod words;

use std::time::Instant;

use herm_schema::events::{AssistantMessage, Finish, ModelChoice, ModelFailure, Timings, ToolCall, Usage};

use self::plan::{Line, Step};
use super::classify::{self, TransportFailure};
use super::{Answer, BoxFuture, CallContext, Delta, LoadedMessage, LoadedRequest, Provider};

/// Name of the provider.
pub const PROVIDER: &str = "offline";
/// Name of its only model.
pub const MODEL: &str = "herm-offline";
/// Tokens that it says it takes; it has no limit of its own.
const CONTEXT_WINDOW_TOKENS: u32 = 128_000;
const OUTPUT_TOKENS_MAX: u32 = 8_192;
/// Bytes that count as a token.
const BYTES_PER_TOKEN: u64 = 4;

/// The built-in model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offline;

/// How it is chosen.
pub fn choice() -> ModelChoice {
    ModelChoice {
        context_window_tokens: CONTEXT_WINDOW_TOKENS,
        output_tokens_max: OUTPUT_TOKENS_MAX,
        ..ModelChoice::new(PROVIDER, MODEL, PROVIDER)
    }
}

impl Provider for Offline {
    fn call<'a>(
        &'a self,
        request: &'a LoadedRequest,
        context: CallContext,
    ) -> BoxFuture<'a, Result<Answer, ModelFailure>> {
        Box::pin(async move {
            let started = Instant::now();
            let message = answer(request);
            let mut first_content_us = 0;
            for word in message.text.split_inclusive(char::is_whitespace) {
                // Gives way, so that a long answer can be interrupted like anybody's.
                tokio::task::yield_now().await;
                if context.cancel.is_cancelled() {
                    return Err(classify::transport(&TransportFailure::Cancelled));
                }
                if first_content_us == 0 {
                    first_content_us = micros(started);
                }
                (context.show)(Delta::Text(word.to_owned()));
            }
            for call in &message.calls {
                (context.show)(Delta::ToolCall { name: call.name.clone() });
            }
            Ok(Answer {
                finish: if message.calls.is_empty() { Finish::Stop } else { Finish::ToolCalls },
                usage: Some(usage(request, &message)),
                timings: Timings { first_content_us, total_us: micros(started) },
                response_id: None,
                message,
            })
        })
    }
}

fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// What it answers: the next step, or the report of all of them.
fn answer(request: &LoadedRequest) -> AssistantMessage {
    let (asked, results) = split_turn(&request.messages);
    let lines = plan::read(asked);
    if !lines.iter().any(|line| matches!(line, Line::Step(_))) {
        return said(ABOUT.to_owned());
    }
    let offered = |step: &Step| request.tools.iter().any(|tool| tool.name == step.tool());
    let runnable: Vec<&Step> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Step(step) if offered(step) => Some(step),
            _ => None,
        })
        .collect();
    if let Some(step) = runnable.get(results.len()) {
        let text = match runnable.len() {
            1 => String::new(),
            steps => format!("Step {} of {steps}: {}", results.len() + 1, step.title()),
        };
        let call = ToolCall {
            id: format!("offline_{}", results.len() + 1),
            name: step.tool().to_owned(),
            arguments: step.arguments(),
        };
        return AssistantMessage { text, calls: vec![call], ..AssistantMessage::default() };
    }
    said(report::write(&lines, &results, !request.tools.is_empty(), offered))
}

fn said(text: String) -> AssistantMessage {
    AssistantMessage { text, ..AssistantMessage::default() }
}

/// The last user message, and the texts of the tool results after it.
fn split_turn(messages: &[LoadedMessage]) -> (&str, Vec<&str>) {
    let mut results = Vec::new();
    for message in messages.iter().rev() {
        match message {
            LoadedMessage::User { text, .. } => {
                results.reverse();
                return (text, results);
            }
            LoadedMessage::Tool { text, .. } => results.push(text.as_str()),
            LoadedMessage::Assistant { .. } => {}
        }
    }
    ("", results)
}

fn usage(request: &LoadedRequest, message: &AssistantMessage) -> Usage {
    let said = |message: &LoadedMessage| match message {
        LoadedMessage::User { text, .. } | LoadedMessage::Tool { text, .. } => text.len(),
        LoadedMessage::Assistant { text, calls, .. } => {
            text.len() + calls.iter().map(|call| call.name.len() + call.arguments.0.len()).sum::<usize>()
        }
    };
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len())
        .sum();
    let input = request.system.as_deref().map_or(0, str::len)
        + tools
        + request.messages.iter().map(said).sum::<usize>();
    let output = message.text.len()
        + message.calls.iter().map(|call| call.name.len() + call.arguments.0.len()).sum::<usize>();
    let tokens = |bytes: usize| (bytes as u64).div_ceil(BYTES_PER_TOKEN);
    Usage { input: tokens(input), output: tokens(output), ..Usage::default() }
}

const ABOUT: &str = "\
I am herm's built-in offline model. I have no language model behind me: I follow plain \
instructions with real tools, and I cannot answer anything else.

What I understand, one step a line:
  run: COMMAND LINE
  read: PATH
  find: PATTERN [in PATH]
  write: PATH: TEXT
  search: WORDS            (your past sessions)
or in words, such as: read notes.md · run `ls` · list the files in src

To talk to a real model, do one of these:
  export OPENAI_API_KEY=…  (or OPENROUTER_API_KEY, DEEPSEEK_API_KEY, GROQ_API_KEY, GEMINI_API_KEY …)
  start a local server: Ollama, LM Studio, llama.cpp or vLLM on its usual port is found by itself
  herm config set model.provider NAME; herm config set model.default MODEL
  herm chat --base-url http://HOST:PORT/v1 --model MODEL";

#[cfg(test)]
mod tests;
