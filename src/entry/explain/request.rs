//! `herm explain request`: what would be sent for a conversation.

use std::sync::Arc;

use clap::Args;
use herm_schema::events::ModelChoice;
use serde_json::{Map, Value, json};

use super::neutral;
use crate::entry::{Exit, Failure, Out, Start, engine};
use crate::providers::catalog::Catalogue;
use crate::providers::dialects::{self, Dialect, canonical};
use crate::providers::{Error, LoadedRequest};

/// Say what would be sent for a conversation: path, headers and body, without the key.
///
/// The conversation comes on stdin as JSON: `{"system", "tools", "messages": [{"role", "content",
/// "tool_calls", "tool_call_id"}]}`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  echo '[{\"role\":\"user\",\"content\":\"hi\"}]' | herm explain request --dialect chat_completions
  herm explain request --provider mistral --model mistral-large-latest < conversation.json")]
pub struct Request {
    /// Wire format; the provider's own if none is named.
    #[arg(long, value_name = "FORMAT")]
    dialect: Option<String>,

    /// Model that is asked.
    #[arg(long, value_name = "NAME", default_value = "model")]
    model: String,

    /// Provider that is asked; its peculiarities are respected.
    #[arg(long, value_name = "NAME", default_value = "custom")]
    provider: String,

    /// Ask for the answer in one piece.
    #[arg(long)]
    whole: bool,
}

/// A wire format with the peculiarities of a provider, and what is known of a model of its.
pub(super) fn spoken(
    catalogue: &Catalogue,
    provider: &str,
    model: &str,
    dialect: Option<&str>,
) -> Result<(Arc<dyn Dialect>, ModelChoice), Error> {
    let vendor = catalogue.vendor(&provider.trim().to_lowercase())?;
    let own = vendor.as_ref().map(|vendor| {
        let of_model = vendor.model(model).and_then(|known| known.dialect.clone());
        canonical(&of_model.unwrap_or_else(|| vendor.dialect.clone())).to_owned()
    });
    let name = dialect.map(canonical).or(own.as_deref()).unwrap_or("chat_completions").to_owned();
    let same = |vendor: &&_| canonical(&crate::providers::catalog::Vendor::clone(vendor).dialect) == name;
    let quirks = vendor.as_ref().filter(same).map_or(Value::Null, |it| Value::Object(it.quirks.clone()));
    let built = dialects::build(&name, &quirks)?;
    let known = vendor.as_ref().and_then(|vendor| vendor.model(model));
    let provider = vendor.as_ref().map_or(provider, |vendor| vendor.name.as_str());
    let usual = ModelChoice::new(provider, model, &name);
    let choice = ModelChoice {
        // Whoever writes an image down wants to see it sent, unless the model is known to take none.
        images: known.and_then(|known| known.images).unwrap_or(true),
        ..usual
    };
    Ok((built, choice))
}

pub fn run(arguments: &Request, input: &[u8], start: &Start, out: &mut Out) -> Result<(), Failure> {
    let usage = |message: String| Failure::message(Exit::Usage, message).hint("herm explain request --help");
    let value: Value =
        serde_json::from_slice(input).map_err(|error| usage(format!("stdin is no JSON: {error}")))?;
    let catalogue = engine::catalogue(&start.load(&[])?)?;
    let spoken = spoken(&catalogue, &arguments.provider, &arguments.model, arguments.dialect.as_deref());
    let (dialect, choice) = spoken.map_err(|error| Failure::new(Exit::Usage, error))?;
    let choice = ModelChoice { stream: !arguments.whole, ..choice };
    let request = neutral::read(&value, choice).map_err(usage)?;
    out.json(&encoded(dialect.as_ref(), &request))?;
    Ok(())
}

fn encoded(dialect: &dyn Dialect, request: &LoadedRequest) -> Value {
    let wire = dialect.encode(request);
    let headers: Map<String, Value> =
        wire.headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_str().into())).collect();
    let body = serde_json::from_slice(&wire.body);
    let body: Value = body.unwrap_or_else(|_| String::from_utf8_lossy(&wire.body).into_owned().into());
    json!({"dialect": dialect.name(), "path": wire.path, "headers": headers, "body": body})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(provider: &str, conversation: Value) -> Value {
        let (dialect, choice) =
            spoken(&Catalogue::built_in(), provider, "m", Some("chat_completions")).unwrap();
        encoded(dialect.as_ref(), &neutral::read(&conversation, choice).unwrap())
    }

    fn roles(body: &Value) -> Vec<&str> {
        body["messages"].as_array().unwrap().iter().map(|it| it["role"].as_str().unwrap()).collect()
    }

    fn assistant(ids: &[&str]) -> Value {
        let calls: Vec<Value> =
            ids.iter().map(|id| json!({"id": id, "name": "f", "arguments": "{}"})).collect();
        json!({"role": "assistant", "tool_calls": calls})
    }

    fn tool(id: &str, content: &str) -> Value {
        json!({"role": "tool", "tool_call_id": id, "content": content})
    }

    #[test]
    fn a_missing_result_is_answered_in_place() {
        // Case `pair-missing-o`.
        let user = |content: &str| json!({"role": "user", "content": content});
        let conversation = json!([user("go"), assistant(&["A", "B", "C"]), tool("B", "b"), user("and now?")]);
        let body = &sent("custom", conversation)["body"];
        assert_eq!(roles(body), ["user", "assistant", "tool", "tool", "tool", "user"]);
        let results: Vec<_> = (2..5).map(|at| &body["messages"][at]).collect();
        let ids: Vec<_> = results.iter().map(|it| it["tool_call_id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["A", "B", "C"]);
        assert_eq!(results[1]["content"], "b");
        assert!(results[0]["content"].as_str().unwrap().contains("unknown"));
    }

    #[test]
    fn calls_that_were_stored_one_by_one_go_out_together() {
        // Case `pair-parallel-o`.
        let conversation = json!([assistant(&["A"]), assistant(&["B"]), tool("A", "a"), tool("B", "b")]);
        let body = &sent("custom", conversation)["body"];
        let messages = body["messages"].as_array().unwrap();
        let calls = messages.iter().find_map(|it| it["tool_calls"].as_array()).unwrap();
        let ids: Vec<_> = calls.iter().map(|call| call["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["A", "B"]);
        assert_eq!(roles(body).iter().filter(|role| **role == "tool").count(), 2);
    }

    #[test]
    fn ids_that_come_again_each_turn_are_unique_on_the_wire() {
        // Case `pair-dupid-o`.
        let user = |content: &str| json!({"role": "user", "content": content});
        let conversation = json!([
            user("1"),
            assistant(&["exec_0", "exec_1"]),
            tool("exec_0", "r1"),
            tool("exec_1", "r2"),
            assistant(&["exec_0"]),
            tool("exec_0", "r3"),
            user("2")
        ]);
        let body = &sent("custom", conversation)["body"];
        let messages = body["messages"].as_array().unwrap();
        let results: Vec<_> = messages.iter().filter(|it| it["role"] == "tool").collect();
        let contents: Vec<_> = results.iter().map(|it| it["content"].as_str().unwrap()).collect();
        assert_eq!(contents, ["r1", "r2", "r3"]);
        let mut ids: Vec<_> = results.iter().map(|it| it["tool_call_id"].as_str().unwrap()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 3);
    }

    #[test]
    fn damaged_arguments_are_left_out_and_said() {
        // Case `pair-badargs-o`.
        let conversation = json!([
            {"role": "assistant", "tool_calls": [
                {"id": "c1", "name": "read_file", "arguments": "{\"path\": \"a"},
                {"id": "c2", "name": "read_file", "arguments": "{\"path\":\"b\"}"}]},
            tool("c1", "x"), tool("c2", "y")]);
        let body = sent("custom", conversation)["body"].clone();
        let messages = body["messages"].as_array().unwrap();
        let calls = messages.iter().find_map(|it| it["tool_calls"].as_array()).unwrap();
        assert_eq!(calls[0]["function"]["arguments"], "{}");
        assert_eq!(calls[1]["function"]["arguments"], "{\"path\":\"b\"}");
        let result = messages.iter().find(|it| it["tool_call_id"] == "c1").unwrap();
        assert!(result["content"].as_str().unwrap().starts_with('['), "{result}");
    }

    #[test]
    fn alternation_is_mended() {
        // Case `pair-alternation-o`.
        let user = |content: &str| json!({"role": "user", "content": content});
        let content = |conversation: Value| {
            let sent = sent("custom", conversation);
            let messages = sent["body"]["messages"].as_array().unwrap().clone();
            messages.into_iter().map(|it| it["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(content(json!([user("first"), user("second")])), ["first\n\nsecond"]);
        assert_eq!(content(json!([user(""), user("real")])), ["real"]);
    }

    #[test]
    fn a_providers_peculiarities_are_respected() {
        let conversation = json!([{"role": "user", "content": "hi"}]);
        assert!(sent("openai", conversation.clone())["body"].get("max_completion_tokens").is_some());
        assert!(sent("mistral", conversation.clone())["body"].get("stream_options").is_none());
        assert!(sent("custom", conversation)["body"].get("stream_options").is_some());
    }
}
