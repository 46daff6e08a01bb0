//! `herm explain error`: what a failure is taken for, what is done about it, what a person is told.

use clap::Args;
use herm_replay::reducer::failure::flags;
use herm_replay::reducer::notices;
use herm_schema::Micros;
use herm_schema::events::{FailureAction, FailureClass, ModelChoice, ModelFailure, Policy};
use serde_json::{Value, json};

use super::rehearsal;
use crate::config::{Config, Settings};
use crate::entry::{Exit, Failure, Out, Start};
use crate::providers::classify;

/// Window of the model where none is named, in tokens.
const WINDOW_TOKENS: u32 = 200_000;

/// Say what a failure is taken for, what is done about it, and what a person is told.
///
/// The body of the answer comes on stdin; without a status, it is what the network or the library
/// said. What is done is shown for a provider with a second key and with another model to fall
/// back to, unless said otherwise.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  echo '{\"error\":{\"code\":\"insufficient_quota\"}}' | herm explain error --provider openai --status 429
  herm explain error --status 429 --retry-after 30 < body.json
  echo 'connect ECONNREFUSED 127.0.0.1:11434' | herm explain error --provider ollama")]
pub struct ErrorCommand {
    /// Who answered.
    #[arg(long, value_name = "NAME", default_value = "custom")]
    provider: String,

    /// HTTP status of the answer.
    #[arg(long, value_name = "NUMBER")]
    status: Option<u16>,

    /// A header of the answer, such as `retry-after: 30`.
    #[arg(long, value_name = "HEADER")]
    header: Vec<String>,

    /// The header `retry-after`.
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    retry_after: Option<String>,

    /// The moment of the answer instead of now, such as `2027-12-01T00:00:00Z`.
    #[arg(long, value_name = "RFC3339")]
    now: Option<String>,

    /// Tokens of the request that failed.
    #[arg(long, value_name = "COUNT")]
    tokens: Option<u64>,

    /// Tokens that the model can see.
    #[arg(long, value_name = "COUNT")]
    window: Option<u32>,

    /// Keys that the provider has.
    #[arg(long, value_name = "COUNT", default_value_t = 2)]
    keys: u32,

    /// Models to fall back to.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    fallbacks: u32,
}

pub fn run(arguments: &ErrorCommand, body: &[u8], start: &Start, out: &mut Out) -> Result<(), Failure> {
    let failure = classified(arguments, &String::from_utf8_lossy(body))?;
    let policy = policy(arguments, start);
    out.json(&explained(arguments, &failure, policy))?;
    Ok(())
}

/// The failure, as a model call would have it.
fn classified(arguments: &ErrorCommand, body: &str) -> Result<ModelFailure, Failure> {
    let now = match &arguments.now {
        Some(text) => {
            let moment: jiff::Timestamp = text.trim().parse().map_err(|_| {
                Failure::message(Exit::Usage, format!("`{text}` is no moment such as `2027-12-01T00:00:00Z`"))
            })?;
            Micros(moment.as_microsecond())
        }
        None => Micros(jiff::Timestamp::now().as_microsecond()),
    };
    let Some(status) = arguments.status else { return Ok(classify::told(body)) };
    let header = |line: &String| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_lowercase(), value.trim().to_owned()))
    };
    let wrong = || Failure::message(Exit::Usage, "a header is expected as `name: value`");
    let mut headers: Vec<(String, String)> =
        arguments.header.iter().map(header).collect::<Option<_>>().ok_or_else(wrong)?;
    headers.extend(arguments.retry_after.iter().map(|value| ("retry-after".to_owned(), value.clone())));
    Ok(classify::response(status, &headers, body, now))
}

/// That of the home, where it is valid, else the default; for a model with so many keys and fallbacks.
fn policy(arguments: &ErrorCommand, start: &Start) -> Policy {
    let config = start.load(&[]).map_or_else(|_| Config::of(&Settings::defaults()), |loaded| loaded.config);
    let model = |number: u32| ModelChoice {
        credentials: (0..arguments.keys).map(|key| format!("key-{number}-{key}")).collect(),
        context_window_tokens: arguments.window.unwrap_or(WINDOW_TOKENS),
        ..ModelChoice::new(&arguments.provider, &format!("model-{number}"), "chat_completions")
    };
    let fallbacks = (0..arguments.fallbacks).map(|number| model(number + 1)).collect();
    Policy { fallbacks, ..config.policy(model(0)) }
}

fn explained(arguments: &ErrorCommand, failure: &ModelFailure, policy: Policy) -> Value {
    let flags = flags(failure.class);
    let actions = rehearsal::actions(policy, failure, 0);
    let mut plan: Vec<&str> = Vec::new();
    for (action, _) in &actions {
        let word = word(*action);
        if plan.last() != Some(&word) {
            plan.push(word);
        }
    }
    let first = actions.first().map(|(action, at)| (*action, wait_s(*action, *at)));
    let (action, wait) = first.unwrap_or((FailureAction::GiveUp, None));
    json!({
        "provider": arguments.provider,
        "class": class(failure.class),
        "status": failure.status,
        "flags": {
            "retryable": flags.retryable,
            "should_compress": flags.should_compress,
            "should_rotate_credential": flags.should_rotate_credential,
            "should_fallback": flags.should_fallback,
        },
        "retry_after_s": failure.retry_after_us.map(seconds),
        "action": word(action),
        "wait_s": wait,
        "plan": plan,
        "key_stays_good": !flags.should_rotate_credential && failure.class != FailureClass::AuthPermanent,
        "sentence": sentence(action, failure.class, wait),
        "user_text": notices::failure(failure),
        "message": failure.message,
        "tokens": arguments.tokens,
        "window": arguments.window,
    })
}

/// As events and logs have it: `rate_limit`.
pub(super) fn class(class: FailureClass) -> Value {
    let mut text = String::new();
    for c in format!("{class:?}").chars() {
        if c.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(c.to_lowercase());
    }
    text.into()
}

/// Whole numbers as such.
fn seconds(micros: u64) -> Value {
    match micros % 1_000_000 {
        0 => (micros / 1_000_000).into(),
        _ => (micros as f64 / 1_000_000.0).into(),
    }
}

fn wait_s(action: FailureAction, at: Micros) -> Option<Value> {
    match action {
        FailureAction::Retry { not_before } => Some(seconds(not_before.since(at))),
        _ => None,
    }
}

fn word(action: FailureAction) -> &'static str {
    match action {
        FailureAction::Retry { .. } => "retry",
        FailureAction::Compress => "compress",
        FailureAction::GiveUp => "give_up",
        FailureAction::Rotate => "rotate",
        FailureAction::FallBack { .. } => "fall_back",
        FailureAction::Strip { .. } => "strip",
        FailureAction::ShrinkImages { .. } => "shrink_images",
    }
}

fn sentence(action: FailureAction, class: FailureClass, wait: Option<Value>) -> String {
    let wait = wait.map(|wait| format!(" {wait} s")).unwrap_or_default();
    match action {
        FailureAction::Retry { .. } if flags(class).should_rotate_credential => {
            format!("wait{wait} and retry; then the next key, then the next model")
        }
        FailureAction::Retry { .. } => format!("wait{wait} and retry; the key stays good"),
        FailureAction::Compress if class == FailureClass::PayloadTooLarge => {
            "shrink the request and send it again".to_owned()
        }
        FailureAction::Compress => "compress the conversation and send it again".to_owned(),
        FailureAction::Rotate if flags(class).retryable => {
            "ask with the next key, then the next model; this key rests".to_owned()
        }
        FailureAction::Rotate => {
            "no retry with this key: ask with the next key, then the next model".to_owned()
        }
        FailureAction::FallBack { .. } if flags(class).should_rotate_credential => {
            "no retry: there is no other key, so ask the next model".to_owned()
        }
        FailureAction::FallBack { .. } => "ask the next model; the key stays good".to_owned(),
        FailureAction::Strip { .. } => "leave out what was refused and send it again, once".to_owned(),
        FailureAction::ShrinkImages { side_px_max } => {
            format!("make the images smaller ({side_px_max} pixels a side) and send it again")
        }
        FailureAction::GiveUp => "abort: the same request would fail again; nothing is compressed".to_owned(),
    }
}

#[cfg(test)]
mod tests;
