//! PURE: the words that servers use. Tables, in the order in which they are asked.

use herm_schema::events::FailureClass as C;

const OVERFLOW: &[&str] = &[
    "maximum context length",
    "context length",
    "context_length",
    "context window",
    "context size",
    "context limit",
    "maximum model length",
    "max_model_len",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input too long",
    "too many input tokens",
    "maximum number of tokens allowed",
    "reduce the length of the messages",
    "reduce the length of the input",
    "exceeds the maximum number of input tokens",
    "maximum prompt length",
    "too many tokens",
    "exceeded model token limit",
    "range of input length should be",
    "context the overflows",
    "prompt exceeds max length",
    "larger than the maximum allowed input",
    "上下文长度",
    "超过最大长度",
    "输入长度超过",
];

const POLICY: &[&str] = &[
    "guardrail restrictions and data policy",
    "no endpoints found matching your data policy",
    "data policy",
    "unsupported_country",
    "country, region, or territory not supported",
    "user location is not supported",
];

const GRAMMAR: &[&str] = &[
    "failed to parse grammar",
    "failed to initialize samplers",
    "unable to generate parser",
    "error parsing grammar",
    "json schema conversion failed",
    "unrecognized schema",
    "pattern must start with",
];

const CONTENT: &[&str] = &[
    "content policy",
    "content management policy",
    "content filter",
    "safety system",
    "safety policies",
    "usage policies",
    "flagged",
    "moderation",
];

const MODEL: &[&str] = &[
    "model not found",
    "model_not_found",
    "no such model",
    "unknown model",
    "invalid model",
    "is not a valid model",
    "model is not available",
    "model is not supported",
    "no endpoints found",
    "not a chat model",
    "no models loaded",
    "failed to load model",
    "does not support tools",
    "on-demand throughput",
    "access to the model",
    "has been deprecated",
    "has been decommissioned",
];

const IMAGE: &[&str] =
    &["image exceeds", "image is too large", "image too large", "image dimensions", "image size"];

const BILLING: &[&str] = &[
    "insufficient credit",
    "insufficient balance",
    "insufficient fund",
    "credit balance",
    "spend limit",
    "spending limit",
    "billing",
    "payment required",
    "exceeded your current quota",
    "out of credits",
    "requires more credits",
    "can only afford",
    "included credits",
    "available credits",
    "key limit exceeded",
    "check your plan",
    "prepayment",
    "余额不足",
    "欠费",
];

const RATE: &[&str] = &[
    "rate limit",
    "rate_limit",
    "too many requests",
    "requests per",
    "tokens per",
    "per minute",
    "per day",
    "throttl",
    "请求过于频繁",
    "速率限制",
];

/// A limit that may be a bill or a matter of time.
const USAGE_LIMIT: &[&str] = &["usage limit", "quota", "limit exceeded"];
const TRANSIENT: &[&str] = &[
    "try again",
    "trying again",
    "retry",
    "resets",
    "reset at",
    "reset in",
    "reset after",
    "will reset",
    "window",
    "hourly",
    "daily",
    "weekly",
    "per minute",
    "per second",
];
/// Somebody behind a gateway limits it.
const UPSTREAM: &[&str] = &["rate-limited upstream", "rate limited upstream", "upstream rate limit"];
/// A field that the server does not know; whatever the field is called.
const UNKNOWN_FIELD: &[&str] = &[
    "unknown parameter",
    "unknown field",
    "unknown name",
    "unrecognized request argument",
    "unsupported parameter",
    "extra inputs are not permitted",
    "additional properties are not allowed",
    "extra fields not permitted",
];
const AUTH_PERMANENT: &[&str] = &[
    "has been deactivated",
    "has been disabled",
    "has been revoked",
    "has been suspended",
    "account is disabled",
    "account is suspended",
    "key has expired",
    "key expired",
    "key is disabled",
];

const OVERLOADED: &[&str] = &[
    "overloaded",
    "over capacity",
    "at capacity",
    "no capacity",
    "capacity exceeded",
    "server is busy",
    "too busy",
    "currently loading",
    "loading model",
    "high demand",
];
const AUTH: &[&str] = &[
    "invalid api key",
    "incorrect api key",
    "api key not valid",
    "api key expired",
    "invalid key",
    "no auth credentials",
    "invalid token",
    "invalid api token",
    "api key not valid",
    "api key not found",
    "invalid subscription key",
    "security token included in the request is",
    "unauthorized",
];

fn any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

pub(super) fn is_transient(text: &str) -> bool {
    any(text, TRANSIENT)
}

/// Groq and OpenAI call a request that is above the tokens of a minute a rate limit.
pub(super) fn is_too_large_for_a_minute(text: &str) -> bool {
    text.contains("request too large") && any(text, &["tokens per", "tpm"])
}

pub(super) fn is_upstream(text: &str) -> bool {
    any(text, UPSTREAM)
}

pub(super) fn is_unknown_field(text: &str) -> bool {
    any(text, UNKNOWN_FIELD)
}

/// What a key is refused for, where it is not the key itself.
pub(super) fn of_refusal(text: &str, status: Option<u16>) -> Option<C> {
    use C::*;
    let about_else = |class: &C| {
        matches!(
            class,
            Billing
                | ProviderPolicyBlocked
                | ContentPolicyBlocked
                | ModelNotFound
                | AuthPermanent
                | OauthLongContextBetaForbidden
                | LongContextTier
                | RateLimit
        )
    };
    of_text(text, status).filter(about_else)
}

pub(super) fn image_or(text: &str, class: C) -> C {
    if any(text, IMAGE) { C::ImageTooLarge } else { class }
}

/// What a limit is about: money or time.
pub(super) fn of_limit(text: &str) -> C {
    if text.contains("extra usage") && text.contains("long context") {
        return C::LongContextTier;
    }
    if any(text, BILLING) && !is_transient(text) {
        return C::Billing;
    }
    if any(text, RATE) {
        return C::RateLimit;
    }
    if any(text, USAGE_LIMIT) && !is_transient(text) { C::Billing } else { C::RateLimit }
}

/// The class by words alone; `None` if they say nothing.
pub(super) fn of_text(text: &str, status: Option<u16>) -> Option<C> {
    let tables: [(&[&str], C); 10] = [
        (POLICY, C::ProviderPolicyBlocked),
        (GRAMMAR, C::LlamaCppGrammarPattern),
        (OVERFLOW, C::ContextOverflow),
        (IMAGE, C::ImageTooLarge),
        (MODEL, C::ModelNotFound),
        (BILLING, C::Billing),
        (AUTH_PERMANENT, C::AuthPermanent),
        (CONTENT, C::ContentPolicyBlocked),
        (OVERLOADED, C::Overloaded),
        (AUTH, C::Auth),
    ];
    if let Some(class) = of_special(text) {
        return Some(class);
    }
    let named = text.contains("model") && any(text, &["does not exist", "not found", "do not have access"]);
    let found = tables.iter().find(|(words, _)| any(text, words)).map(|(_, class)| *class);
    let found = found.or(named.then_some(C::ModelNotFound));
    let found = match found {
        Some(C::Billing) if is_transient(text) => Some(C::RateLimit),
        None if any(text, RATE) || any(text, USAGE_LIMIT) => Some(of_limit(text)),
        found => found,
    };
    // A status that is plain is not talked away by a word in passing.
    found.filter(|class| match status {
        Some(401) => matches!(class, C::Billing | C::AuthPermanent),
        Some(402) => matches!(class, C::Billing | C::RateLimit),
        Some(502..=504 | 529) => matches!(class, C::ContextOverflow | C::ModelNotFound | C::Overloaded),
        _ => true,
    })
}

/// Refusals of one vendor's special features.
fn of_special(text: &str) -> Option<C> {
    let thinking = text.contains("thinking")
        && any(
            text,
            &[
                "signature",
                "cannot be modified",
                "but found",
                "blocks in the latest assistant message cannot be",
            ],
        );
    if thinking || any(text, &["thought_signature", "thought signature"]) {
        return Some(C::ThinkingSignature);
    }
    // A reasoning item of the Responses API that is not what was given out, or not whole.
    let item = any(text, &["item 'rs_", "item with id 'rs_"])
        && any(text, &["not found", "without its required", "was provided without"]);
    if item || (text.contains("reasoning") && text.contains("required following item")) {
        return Some(C::InvalidEncryptedContent);
    }
    if text.contains("encrypted content") && any(text, &["could not be", "invalid", "verif"]) {
        return Some(C::InvalidEncryptedContent);
    }
    if text.contains("long context beta") {
        return Some(C::OauthLongContextBetaForbidden);
    }
    if text.contains("extra usage") && text.contains("long context") {
        return Some(C::LongContextTier);
    }
    let about_tool_content =
        text.contains("tool") && any(text, &["image_url", "multimodal", "content must be a string"]);
    about_tool_content.then_some(C::MultimodalToolContentUnsupported)
}
