//! Every wire format against strict validators that were written from the vendors' documents, over
//! generated conversations and logs; and herm itself against a server that speaks each of them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail by panicking")]

mod anthropic_messages;
mod bedrock_converse;
mod chat_completions;
mod claude;
mod contract;
mod gemini;
mod histories;
mod keys;
mod litellm;
mod logs;
mod responses;
mod rules;
mod signature;
mod talks;

#[path = "../../replay/tests/views_support/mod.rs"]
mod scripted;
#[path = "../binary/stage.rs"]
#[allow(dead_code, reason = "the other tests of the binary use the rest")]
mod stage;
#[path = "../support/mod.rs"]
mod support;

use herm::providers::dialects::WireRequest;
use support::Wire;

/// The strict reading of a wire format's rules.
fn check(wire: Wire, request: &WireRequest) -> Result<(), String> {
    match wire {
        Wire::ChatCompletions => chat_completions::check(request),
        Wire::AnthropicMessages => anthropic_messages::check(request),
        Wire::Responses => responses::check(request),
        Wire::BedrockConverse => bedrock_converse::check(request),
        Wire::Gemini => gemini::check(request),
    }
}

/// A model that the wire format is spoken to.
fn model(wire: Wire) -> &'static str {
    match wire {
        Wire::ChatCompletions => "some-model",
        Wire::AnthropicMessages => "claude-sonnet-4-5",
        Wire::Responses => "gpt-5",
        Wire::BedrockConverse => "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        Wire::Gemini => "gemini-2.5-flash",
    }
}
