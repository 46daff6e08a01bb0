use herm_replay::reducer::failure::flags;
use herm_schema::events::FailureClass as C;
use serde_json::json;

use super::*;

fn class(status: u16, body: &str) -> C {
    response(status, &[], body, Micros(0)).class
}

fn openai(status: u16, code: &str, message: &str) -> C {
    class(status, &json!({"error": {"code": code, "type": null, "message": message}}).to_string())
}

fn says(status: u16, message: &str) -> C {
    class(status, &json!({"error": {"message": message}}).to_string())
}

#[test]
fn the_cases_of_the_wild() {
    // Case `err-class-o`.
    assert_eq!(openai(429, "insufficient_quota", "You exceeded your current quota"), C::Billing);
    assert_eq!(says(429, "Rate limit exceeded: 200 requests per minute"), C::RateLimit);
    let upstream = json!({"error": {"message": "Provider returned error",
        "metadata": {"provider_name": "X", "raw": "Rate limit exceeded"}}});
    assert_eq!(class(429, &upstream.to_string()), C::UpstreamRateLimit);
    let long = json!({"error": {"type": "invalid_request_error",
        "message": "prompt is too long: 210000 tokens > 200000 maximum"}});
    assert_eq!(class(400, &long.to_string()), C::ContextOverflow);
    let overloaded = json!({"error": {"type": "overloaded_error", "message": "Overloaded"}});
    assert_eq!(class(529, &overloaded.to_string()), C::Overloaded);
    assert_eq!(class(413, ""), C::PayloadTooLarge);
    assert_eq!(says(401, "invalid key"), C::Auth);
    assert_eq!(says(400, "messages.3: all messages must have non-empty content"), C::FormatError);
    let refused = transport(&TransportFailure::Refused).class;

    let acts = [
        (C::Billing, (false, false, true, true)),
        (C::RateLimit, (true, false, true, true)),
        (C::UpstreamRateLimit, (true, false, false, true)),
        (C::ContextOverflow, (true, true, false, false)),
        (C::Overloaded, (true, false, false, true)),
        (C::PayloadTooLarge, (true, true, false, false)),
        (C::Auth, (false, false, true, true)),
        (C::FormatError, (false, false, false, false)),
        (refused, (true, false, false, true)),
    ];
    for (class, expected) in acts {
        let flags = flags(class);
        let found =
            (flags.retryable, flags.should_compress, flags.should_rotate_credential, flags.should_fallback);
        assert_eq!(found, expected, "{class:?}");
    }
}

#[test]
fn a_context_that_does_not_fit_has_many_wordings() {
    for (status, message) in [
        (400, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"),
        (400, "the request exceeds the available context size (4096 tokens), try increasing it"),
        (400, "Requested tokens (5000) exceed context window of 4096"),
        (400, "The input token count (9) exceeds the maximum number of tokens allowed (8)."),
        (400, "input length and `max_tokens` exceed context limit: 199 + 20 > 200"),
        (422, "Please reduce the length of the messages or completion."),
        (500, "context length exceeded"),
        (400, "This endpoint's maximum context length is 32768 tokens"),
        (400, "prompt too long; exceeded max context length by 5 tokens"),
        (400, "The decoder prompt (length 9) is longer than the maximum model length of 8"),
    ] {
        assert_eq!(says(status, message), C::ContextOverflow, "{message}");
    }
    assert_eq!(openai(400, "context_length_exceeded", "x"), C::ContextOverflow);
    assert_eq!(
        class(400, "{\"error\":{\"code\":400,\"type\":\"exceed_context_size_error\",\"message\":\"x\"}}"),
        C::ContextOverflow
    );
}

#[test]
fn money_and_time_are_told_apart() {
    assert_eq!(says(402, "API key USD spend limit exceeded"), C::Billing);
    assert_eq!(says(429, "usage limit exceeded"), C::Billing);
    assert_eq!(says(429, "usage limit exceeded, try again in 5 minutes"), C::RateLimit);
    assert_eq!(says(402, "usage limit reached, resets at 10:00"), C::RateLimit);
    assert_eq!(
        openai(429, "rate_limit_exceeded", "Rate limit reached for gpt in organization"),
        C::RateLimit
    );
    assert_eq!(says(402, ""), C::Billing);
    assert_eq!(class(429, ""), C::RateLimit);
    assert_eq!(says(402, "This request requires more credits, or fewer max_tokens"), C::Billing);
    let tpm = "Request too large for model on tokens per minute (TPM): Limit 6000, Requested 7000";
    assert_eq!(openai(429, "rate_limit_exceeded", tpm), C::PayloadTooLarge);
}

#[test]
fn a_model_that_is_not_there_and_one_that_a_setting_hides() {
    assert_eq!(openai(404, "model_not_found", "The model `x` does not exist"), C::ModelNotFound);
    assert_eq!(
        class(404, "{\"error\":\"model \\\"x\\\" not found, try pulling it first\"}"),
        C::ModelNotFound
    );
    assert_eq!(says(400, "foo/bar is not a valid model ID"), C::ModelNotFound);
    let hidden = "No endpoints available matching your guardrail restrictions and data policy.";
    assert_eq!(says(404, hidden), C::ProviderPolicyBlocked);
}

#[test]
fn the_rest_of_what_servers_say() {
    assert_eq!(class(500, "oops"), C::ServerError);
    assert_eq!(class(502, "<html><title>Bad gateway</title></html>"), C::ServerError);
    assert_eq!(class(503, ""), C::Overloaded);
    assert_eq!(class(504, ""), C::Timeout);
    assert_eq!(class(403, "{\"error\":{\"message\":\"forbidden\"}}"), C::Auth);
    assert_eq!(openai(401, "account_deactivated", "x"), C::AuthPermanent);
    assert_eq!(openai(400, "content_policy_violation", "x"), C::ContentPolicyBlocked);
    assert_eq!(says(400, "failed to parse grammar"), C::LlamaCppGrammarPattern);
    assert_eq!(says(400, "image exceeds 5 MB maximum"), C::ImageTooLarge);
    assert_eq!(says(400, "Invalid `signature` in `thinking` block"), C::ThinkingSignature);
    let changed =
        "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified";
    assert_eq!(says(400, changed), C::ThinkingSignature);
    assert_eq!(class(422, "{\"detail\":[{\"msg\":\"field required\"}]}"), C::FormatError);
    assert_eq!(says(429, "Extra usage is required for long context requests"), C::LongContextTier);
    let certificate = TransportFailure::Certificate { detail: "expired".into() };
    assert_eq!(transport(&certificate).class, C::SslCertVerification);
}

#[test]
fn a_report_inside_of_an_answer_names_its_own_status() {
    let failure = reported(&json!({"error": {"code": 429, "message": "slow down, try again in 2s"}}));
    assert_eq!((failure.class, failure.status), (C::RateLimit, Some(429)));
    assert_eq!(failure.retry_after_us, Some(2_000_000));
    assert_eq!(reported(&json!({"error": "it broke"})).class, C::Unknown);
    assert_eq!(reported(&json!({"error": {"type": "server_error", "message": "x"}})).class, C::ServerError);
}

#[test]
fn amazon_names_the_kind_in_a_header() {
    let class = |status: u16, kind: &str, message: &str| {
        let header = ("x-amzn-ErrorType".to_owned(), format!("{kind}:http://internal.amazon.com/coral/"));
        response(status, &[header], &json!({"message": message}).to_string(), Micros(0)).class
    };
    assert_eq!(class(429, "ThrottlingException", "Too many tokens, please wait"), C::RateLimit);
    assert_eq!(class(403, "ExpiredTokenException", "The security token is expired"), C::Auth);
    assert_eq!(class(503, "ServiceUnavailableException", "Try later"), C::Overloaded);
    assert_eq!(class(408, "ModelTimeoutException", "x"), C::Timeout);
    assert_eq!(class(424, "ModelErrorException", "x"), C::ServerError);
    assert_eq!(
        class(400, "ValidationException", "Input is too long for requested model."),
        C::ContextOverflow
    );
    assert_eq!(class(400, "ValidationException", "The model is malformed"), C::FormatError);
}

#[test]
fn messages_say_what_the_server_said_and_are_bounded() {
    assert_eq!(response(401, &[], "{\"error\":{\"message\":\"no\"}}", Micros(0)).message, "HTTP 401: no");
    let long = response(500, &[], &"é".repeat(5_000), Micros(0)).message;
    assert_eq!(long.chars().count(), MESSAGE_CHARS_MAX + 1);
    let page = response(502, &[], "<html><title>Bad gateway</title>", Micros(0)).message;
    assert_eq!(page, "HTTP 502: a web page titled `Bad gateway` instead of an answer");
}

#[test]
fn what_gemini_and_responses_say_is_understood() {
    let class =
        |status: u16, body: serde_json::Value| response(status, &[], &body.to_string(), Micros(0)).class;
    let of_gemini =
        |status: &str, message: &str| json!({"error":{"code":400,"status":status,"message":message}});
    let key = of_gemini("INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.");
    assert_eq!(class(400, key), FailureClass::Auth);
    for said in [
        "Function call is missing a thought_signature in functionCall parts.",
        "Corrupted thought signature.",
    ] {
        assert_eq!(class(400, of_gemini("INVALID_ARGUMENT", said)), FailureClass::ThinkingSignature);
    }
    let of_openai = |code: &str, message: &str| json!({"error":{"code":code,"message":message}});
    let lonely = "Item 'rs_1' of type 'reasoning' was provided without its required following item.";
    assert_eq!(class(400, of_openai("invalid_request_error", lonely)), FailureClass::InvalidEncryptedContent);
    assert_eq!(class(503, of_openai("server_is_overloaded", "busy")), FailureClass::Overloaded);
    assert_eq!(class(403, of_openai("usage_not_included", "upgrade")), FailureClass::Billing);
}

proptest::proptest! {
    #[test]
    fn no_body_panics(status in 0u16..1000, body in ".{0,200}") {
        let _ = response(status, &[("retry-after".into(), body.clone())], &body, Micros(0));
    }
}
