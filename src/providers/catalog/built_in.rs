//! The built-in vendors, in the order of preference: with several keys set, the first is taken.

/// Names each file after its vendor and puts its text into the program.
macro_rules! files {
    ($($name:literal,)*) => {
        &[$(($name, include_str!(concat!("vendors/", $name, ".toml"))),)*]
    };
}

/// Name and text of each.
pub(super) const FILES: &[(&str, &str)] = files![
    "openai",
    "anthropic",
    "openrouter",
    "nous",
    "deepseek",
    "gemini",
    "xai",
    "mistral",
    "groq",
    "together",
    "fireworks",
    "cohere",
    "cerebras",
    "perplexity",
    "alibaba",
    "alibaba-coding-plan",
    "arcee",
    "azure-foundry",
    "bedrock",
    "copilot",
    "copilot-acp",
    "deepinfra",
    "gmi",
    "huggingface",
    "kilocode",
    "kimi-coding",
    "kimi-coding-cn",
    "minimax",
    "minimax-cn",
    "minimax-oauth",
    "moa",
    "novita",
    "nvidia",
    "ollama-cloud",
    "openai-codex",
    "opencode-zen",
    "opencode-go",
    "qwen-oauth",
    "stepfun",
    "tencent-tokenhub",
    "upstage",
    "vertex",
    "xai-oauth",
    "xiaomi",
    "zai",
    "ollama",
    "lmstudio",
    "llamacpp",
    "vllm",
    "sglang",
];

/// The text of the vendor of this name.
pub(super) fn text(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
