//! `herm model test`: one small question, and what came of it.

use std::sync::Arc;

use clap::Args;
use herm_replay::reducer::request::RequestOptions;
use herm_replay::reducer::{cost, notices};
use herm_schema::events::{ModelChoice, ModelFailure};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{on_the_network, wanted};
use crate::config::Loaded;
use crate::entry::{Exit, Failure, Out, engine};
use crate::providers::{Answer, CallContext, Deadlines, LoadedMessage, LoadedRequest};

/// Tokens that the answer may have; models that reason need some before the first word.
const OUTPUT_TOKENS_MAX: u32 = 1_024;

/// Ask a model one small question: does it answer, how fast, at what price?
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  herm model test
  herm model test gpt-5.4 --provider openai
  herm model test --json

Exit status: 0 it answered, 4 it did not.")]
pub struct Test {
    /// Its name; the one that is configured if none is given.
    name: Option<String>,

    /// Who is asked for it.
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,

    /// One JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Test, loaded: &Loaded, out: &mut Out) -> Result<Exit, Failure> {
    let wanted = wanted(loaded, arguments.name.as_deref(), arguments.provider.as_deref());
    let (choice, why, outcome) = on_the_network(async {
        let resolved = engine::resolved(loaded, &wanted, None).await?;
        let request = request(&resolved.choice);
        let context = CallContext {
            cancel: CancellationToken::new(),
            deadlines: Deadlines::default(),
            show: Arc::new(|_| {}),
        };
        let nobody = || Failure::message(Exit::Config, "there is no key that could be used");
        let provider = resolved.provider(None).ok_or_else(nobody)?;
        let outcome = provider.call(&request, context).await;
        Ok::<_, Failure>((resolved.choice, resolved.why_dialect, outcome))
    })??;
    let told = match &outcome {
        Ok(answer) => answered(&choice, answer),
        Err(failure) => failed(failure),
    };
    let told = merged(
        json!({
            "provider": choice.provider, "model": choice.model, "dialect": choice.dialect, "why_dialect": why,
            "base_url": choice.base_url, "credential": choice.credentials.first(), "answered": outcome.is_ok(),
        }),
        told,
    );
    if arguments.json {
        out.json(&redacted(&told, loaded))?;
    } else {
        for line in lines(&told) {
            out.line(&loaded.redactor.redact(&line))?;
        }
    }
    Ok(if outcome.is_ok() { Exit::Ok } else { Exit::ModelFailed })
}

fn request(choice: &ModelChoice) -> LoadedRequest {
    LoadedRequest {
        output_tokens_max: OUTPUT_TOKENS_MAX.min(choice.output_tokens_max.max(1)),
        choice: choice.clone(),
        system: None,
        tools: Vec::new(),
        messages: vec![LoadedMessage::user("Answer with the single word: ready")],
        options: RequestOptions::default(),
    }
}

fn answered(choice: &ModelChoice, answer: &Answer) -> Value {
    let cost = answer.usage.zip(choice.prices.as_ref()).map(|(usage, prices)| cost::of(&usage, prices));
    json!({
        "text": answer.message.text,
        "first_content_ms": answer.timings.first_content_us / 1_000,
        "total_ms": answer.timings.total_us / 1_000,
        "usage": answer.usage,
        "cost_usd": cost.map(|micros| micros as f64 / 1_000_000.0),
        "prices_as_of": choice.prices.as_ref().map(|prices| prices.as_of.clone()),
    })
}

fn failed(failure: &ModelFailure) -> Value {
    json!({
        "class": format!("{:?}", failure.class),
        "status": failure.status,
        "message": failure.message,
        "retry_after_s": failure.retry_after_us.map(|micros| micros as f64 / 1_000_000.0),
        "user_text": notices::failure(failure),
    })
}

fn merged(mut first: Value, second: Value) -> Value {
    if let (Value::Object(first), Value::Object(second)) = (&mut first, second) {
        first.extend(second);
    }
    first
}

fn redacted(value: &Value, loaded: &Loaded) -> Value {
    let text = value.to_string();
    serde_json::from_str(&loaded.redactor.redact(&text)).unwrap_or(Value::Null)
}

fn lines(told: &Value) -> Vec<String> {
    let text = |name: &str| match told.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => "unknown".to_owned(),
        Some(other) => other.to_string(),
    };
    let mut lines = vec![
        format!("model:     {} of {}", text("model"), text("provider")),
        format!("dialect:   {} ({})", text("dialect"), text("why_dialect")),
    ];
    if told.get("answered") == Some(&Value::Bool(true)) {
        lines.push(format!("answer:    {}", text("text").replace('\n', " ")));
        lines.push(format!(
            "time:      {} ms to the first content, {} ms in all",
            text("first_content_ms"),
            text("total_ms")
        ));
        lines.push(format!("usage:     {}", text("usage")));
        lines.push(match told.get("cost_usd").and_then(Value::as_f64) {
            Some(dollars) => {
                let as_of = Some(text("prices_as_of")).filter(|day| !day.is_empty());
                let told = as_of.map_or_else(|| "as configured".to_owned(), |day| format!("prices of {day}"));
                format!("cost:      ${dollars:.6} ({told})")
            }
            None => "cost:      unknown".to_owned(),
        });
    } else {
        lines.push(format!("failure:   {}", text("class")));
        lines.push(format!("message:   {}", text("message")));
        lines.push(format!("you read:  {}", text("user_text")));
    }
    lines
}
