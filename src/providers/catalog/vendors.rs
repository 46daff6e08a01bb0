//! DATA: the rows. Addresses, variables and models as the vendors document them, as of 2026-11;
//! a context window is the smallest of the vendor's current models, so that it always fits.

use super::{LocalServer, Vendor};
use crate::providers::dialects::chat_completions::{OutputLimitField, Quirks};

/// Vendors, in the order of preference.
pub const VENDORS: &[Vendor] = &[
    Vendor {
        name: "openai",
        base_url: "https://api.openai.com/v1",
        key_variables: &["OPENAI_API_KEY"],
        model: "gpt-4.1",
        model_prefixes: &["gpt-", "o3", "o4", "chatgpt-"],
        context_window_tokens: 128_000,
        quirks: Quirks { output_limit: OutputLimitField::MaxCompletionTokens, ..Quirks::USUAL },
    },
    Vendor {
        name: "openrouter",
        base_url: "https://openrouter.ai/api/v1",
        key_variables: &["OPENROUTER_API_KEY"],
        model: "openrouter/auto",
        model_prefixes: &[
            "openrouter/",
            "anthropic/",
            "openai/",
            "google/",
            "meta-llama/",
            "deepseek/",
            "qwen/",
            "x-ai/",
            "mistralai/",
        ],
        context_window_tokens: 128_000,
        quirks: Quirks::USUAL,
    },
    Vendor {
        name: "nous",
        base_url: "https://inference-api.nousresearch.com/v1",
        key_variables: &["NOUS_API_KEY"],
        model: "Hermes-4-405B",
        model_prefixes: &["Hermes-", "nousresearch/"],
        context_window_tokens: 128_000,
        quirks: Quirks::USUAL,
    },
    Vendor {
        name: "deepseek",
        base_url: "https://api.deepseek.com/v1",
        key_variables: &["DEEPSEEK_API_KEY"],
        model: "deepseek-chat",
        model_prefixes: &["deepseek-"],
        context_window_tokens: 128_000,
        quirks: Quirks { echo_reasoning: true, ..Quirks::USUAL },
    },
    Vendor {
        name: "gemini",
        base_url: "https://generativelanguage.googleapis.com/v1beta/openai",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        model: "gemini-2.5-flash",
        model_prefixes: &["gemini-"],
        context_window_tokens: 1_000_000,
        quirks: Quirks::USUAL,
    },
    Vendor {
        name: "xai",
        base_url: "https://api.x.ai/v1",
        key_variables: &["XAI_API_KEY"],
        model: "grok-4",
        model_prefixes: &["grok-"],
        context_window_tokens: 128_000,
        quirks: Quirks::USUAL,
    },
    Vendor {
        name: "mistral",
        base_url: "https://api.mistral.ai/v1",
        key_variables: &["MISTRAL_API_KEY"],
        model: "mistral-large-latest",
        model_prefixes: &["mistral-", "codestral-", "magistral-", "ministral-"],
        context_window_tokens: 128_000,
        // Refuses fields that it does not know, and reports its usage unasked.
        quirks: Quirks { stream_options: false, ..Quirks::USUAL },
    },
    Vendor {
        name: "groq",
        base_url: "https://api.groq.com/openai/v1",
        key_variables: &["GROQ_API_KEY"],
        model: "llama-3.3-70b-versatile",
        model_prefixes: &[],
        context_window_tokens: 128_000,
        quirks: Quirks::USUAL,
    },
    Vendor {
        name: "together",
        base_url: "https://api.together.xyz/v1",
        key_variables: &["TOGETHER_API_KEY"],
        model: "meta-llama/Llama-3.3-70B-Instruct-Turbo",
        model_prefixes: &[],
        context_window_tokens: 128_000,
        quirks: Quirks::USUAL,
    },
    Vendor {
        name: "fireworks",
        base_url: "https://api.fireworks.ai/inference/v1",
        key_variables: &["FIREWORKS_API_KEY"],
        model: "accounts/fireworks/models/llama-v3p3-70b-instruct",
        model_prefixes: &["accounts/fireworks/"],
        context_window_tokens: 128_000,
        quirks: Quirks::USUAL,
    },
];

/// Servers on this machine and their usual ports, in the order of preference.
pub const LOCAL_SERVERS: &[LocalServer] = &[
    LocalServer { name: "ollama", port: 11_434 },
    LocalServer { name: "lmstudio", port: 1_234 },
    LocalServer { name: "llamacpp", port: 8_080 },
    LocalServer { name: "vllm", port: 8_000 },
];
