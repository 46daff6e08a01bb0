use clap::Parser;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: ErrorCommand,
}

fn told(line: &str, body: &str) -> Value {
    let words = std::iter::once("explain").chain(line.split('|').map(str::trim).filter(|it| !it.is_empty()));
    let arguments = Line::parse_from(words).arguments;
    let failure = classified(&arguments, body).unwrap();
    let start = Start { home: crate::config::Home::at("/nowhere") };
    explained(&arguments, &failure, policy(&arguments, &start))
}

#[test]
fn each_failure_is_met_with_what_helps() {
    // Case `err-class-o`.
    let upstream = r#"{"error":{"message":"Provider returned error","metadata":{"provider_name":"X","raw":"Rate limit exceeded"}}}"#;
    let long = r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#;
    let empty = r#"{"error":{"message":"messages.3: all messages must have non-empty content"}}"#;
    for (line, body, action, retryable, rotates) in [
        (
            "--provider|openai|--status|429",
            r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#,
            "rotate",
            false,
            true,
        ),
        (
            "--status|429",
            r#"{"error":{"message":"Rate limit exceeded: 200 requests per minute"}}"#,
            "retry",
            true,
            true,
        ),
        ("--provider|openrouter|--status|429", upstream, "fall_back", true, false),
        ("--provider|anthropic|--status|400", long, "compress", true, false),
        (
            "--provider|anthropic|--status|529",
            r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "retry",
            true,
            false,
        ),
        ("--status|413", "", "compress", true, false),
        ("--status|401", r#"{"error":{"message":"invalid key"}}"#, "rotate", false, true),
        ("--provider|anthropic|--status|400|--tokens|66000|--window|200000", empty, "give_up", false, false),
        (
            "--provider|ollama|--tokens|180000|--window|200000",
            "connect ECONNREFUSED 127.0.0.1:11434",
            "retry",
            true,
            false,
        ),
    ] {
        let told = told(line, body);
        assert_eq!(told["action"], action, "{told}");
        assert_eq!(told["flags"]["retryable"], retryable, "{told}");
        assert_eq!(told["flags"]["should_rotate_credential"], rotates, "{told}");
        assert_eq!(told["flags"]["should_compress"], action == "compress", "{told}");
    }
}

#[test]
fn a_plan_goes_from_the_cheapest_step_to_giving_up() {
    let bill = r#"{"error":{"code":"insufficient_quota"}}"#;
    assert_eq!(told("--status|429", bill)["plan"], json!(["rotate", "fall_back", "rotate", "give_up"]));
    assert_eq!(told("--status|429|--keys|1|--fallbacks|0", bill)["plan"], json!(["give_up"]));
    let waits = told("--status|429|--retry-after|30|--keys|1|--fallbacks|0", "{}");
    assert_eq!(
        (&waits["action"], &waits["wait_s"], &waits["retry_after_s"]),
        (&json!("retry"), &json!(30), &json!(30))
    );
}

#[test]
fn what_is_to_be_waited_is_read_in_both_legal_forms() {
    // Case `err-retryafter-o`.
    let wait = |value: &str| {
        let line = format!("--status|429|--now|2027-12-01T00:00:00Z|--retry-after={value}");
        told(&line, "")["retry_after_s"].clone()
    };
    assert_eq!(wait("30"), 30);
    assert_eq!(wait("Wed, 01 Dec 2027 00:00:45 GMT"), 45);
    assert_eq!(wait("-5"), 0);
    assert_eq!(wait("soon"), Value::Null);
    assert_eq!(told("--status|429|--header|Retry-After: 7", "")["retry_after_s"], 7);
    assert_eq!(told("--status|429", "")["retry_after_s"], Value::Null);
}

#[test]
fn a_spending_limit_is_told_as_one() {
    // Case `err-ui-o`.
    for (status, body) in [
        ("402", "API key USD spend limit exceeded"),
        (
            "403",
            r#"{"error":{"message":"Key limit exceeded (monthly limit). Manage it at openrouter.ai","code":403}}"#,
        ),
        ("403", "Your team has either used all available credits or reached its monthly spending limit."),
        (
            "400",
            r#"{"error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}}"#,
        ),
    ] {
        let told = told(&format!("--status|{status}"), body);
        let text = told["user_text"].as_str().unwrap().to_lowercase();
        assert!(text.contains("spending limit"), "{told}");
        assert!(
            !text.contains("rate limit")
                && !text.contains("key is invalid")
                && !text.contains("accept the key")
        );
    }
}

#[test]
fn a_header_or_a_moment_that_is_none_is_refused() {
    let parse = |words: &[&str]| {
        let words = std::iter::once("explain").chain(words.iter().copied());
        classified(&Line::parse_from(words).arguments, "").unwrap_err().exit
    };
    assert_eq!(parse(&["--status", "429", "--header", "nonsense"]), Exit::Usage);
    assert_eq!(parse(&["--status", "429", "--now", "yesterday"]), Exit::Usage);
}

#[test]
fn classes_are_named_as_in_the_log_of_the_reference() {
    assert_eq!(class(FailureClass::LlamaCppGrammarPattern), "llama_cpp_grammar_pattern");
    assert_eq!(class(FailureClass::Auth), "auth");
}
