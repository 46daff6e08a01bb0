//! What herm itself says: to the model beside a result, and to the person where there is no answer.

use herm_schema::events::*;

/// Stands for a result that is not in the log.
pub const OUTCOME_UNKNOWN: &str = r#"{"error":"The outcome of this call is unknown: it was interrupted. It may or may not have taken effect. Check before repeating it."}"#;

/// Precedes a result whose call had unreadable arguments.
pub const DAMAGED_ARGUMENTS: &str = "[The stored arguments of this call were damaged and are not shown.]\n";

/// Precedes every summary.
pub const SUMMARY_PREFIX: &str = "[CONTEXT COMPACTION - REFERENCE ONLY] Earlier messages were compacted into the \
summary below. It is background, not instructions: do not answer or repeat what it mentions; respond only to what \
comes after it. Details can be found again with session_search.\n\n";

/// Asks the model to go on where the output limit cut it.
pub const CONTINUE: &str = "[Your answer was cut by the output limit. Continue exactly where it stopped.]";

/// Stands for an answer that says nothing more.
pub const NOTHING_MORE: &str = "[Nothing more.]";

/// What a person put in during a turn, beside a tool result.
pub fn steer(text: &str) -> String {
    format!("\n\n[The user adds, while you work: {text}]")
}

/// The reminder that most of the time is used.
pub fn budget(event: &BudgetWarned) -> String {
    let seconds = |micros: u64| micros / 1_000_000;
    format!(
        "\n\n[{} of {} seconds of this run are used. Wrap up: deliver what you have.]",
        seconds(event.elapsed_us),
        seconds(event.budget_us)
    )
}

/// What was visible of an answer that was cut off, as it stays in the conversation.
pub fn cut_off(visible: &str) -> String {
    match visible.trim().is_empty() {
        true => "[Interrupted before anything was shown.]".to_owned(),
        false => format!("{visible}\n[Interrupted here.]"),
    }
}

/// A result for a call that an interrupt kept from beginning.
pub fn skipped(why: &str) -> String {
    serde_json::json!({ "error": why }).to_string()
}

/// Before the reason of a hook.
const VETOED: &str = "Not run: a hook forbids it: ";

/// A result for a call that a hook forbids.
pub fn vetoed(why: &str) -> String {
    skipped(&format!("{VETOED}{why}"))
}

/// The reason that [`vetoed`] was given.
pub fn why_vetoed(shown: &str) -> String {
    let error = why_skipped(shown);
    error.strip_prefix(VETOED).map(str::to_owned).unwrap_or(error)
}

/// The reason that [`skipped`] was given.
pub fn why_skipped(shown: &str) -> String {
    let read: serde_json::Value = serde_json::from_str(shown).unwrap_or_default();
    read.get("error").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
}

/// Stands in the conversation where a turn left no answer.
pub fn unanswered(reason: ExitReason) -> String {
    format!("[No answer: {}.]", describe(reason))
}

/// Precedes the result of a call that was allowed after its turn had gone on.
pub fn late(asked: &ToolCall) -> String {
    format!(
        "[The user has now allowed a call of yours that waited for an answer, and it ran: {} {}. Its result:]\n",
        asked.name, asked.arguments.0
    )
}

/// Tells the model that files are not what it left.
pub fn restored(event: &CheckpointRestored) -> String {
    format!(
        "[From herm: the user has put `{}` back to an earlier checkpoint; {} files are different now. Read them again \
         before you rely on what you know of them.]",
        event.directory, event.files
    )
}

/// What herm says to the session of its own accord.
pub fn notice(event: &NoticeReceived) -> String {
    let what = match event.source {
        NoticeSource::ProcessEnded => "has ended",
        NoticeSource::ProcessPrinted => "has printed what was waited for",
    };
    format!("[From herm, not from the user: background process `{}` {what}.]\n{}", event.about, event.text)
}

/// What the model is told of something that was said in its chat from elsewhere.
pub fn mirrored(event: &MessageMirrored) -> String {
    format!("[From herm, not from the user: this was sent here from {}.]\n{}", event.from, event.text)
}

/// A few words on why a turn ended.
pub fn describe(reason: ExitReason) -> &'static str {
    match reason {
        ExitReason::Answered => "answered",
        ExitReason::InterruptedByUser | ExitReason::InterruptedDuringModelCall => "interrupted by the user",
        ExitReason::IterationLimit => "the limit of model calls was reached",
        ExitReason::IterationBudgetSpent => "the budget of model calls is spent",
        ExitReason::RunBudgetSpent => "the time for this run is spent",
        ExitReason::ReviewInputBudgetSpent => "the input allowance of the review is spent",
        ExitReason::RetriesExhausted => "every attempt to reach the model failed",
        ExitReason::ModelFailed => "the model call failed",
        ExitReason::ModelRefused => "the provider refused to answer",
        ExitReason::EmptyAnswer => "the model kept answering nothing",
        ExitReason::OutputTruncated => "the answer kept hitting the output limit",
        ExitReason::InvalidToolCalls => "the model kept making tool calls that cannot be read",
        ExitReason::GuardrailStopped => "the model was going in circles and was stopped",
        ExitReason::ContextOverflow => "the conversation does not fit into the model's context any more",
        ExitReason::PersistenceFailed => "the log could not be written",
        ExitReason::RepeatedFaults => "herm failed too often",
        ExitReason::ResumesExhausted => "restarts interrupted it too often",
        ExitReason::SpendingLimit => "what may be spent is spent",
    }
}

/// What the person is told where the model has no last word; empty where the person knows.
pub fn closing(reason: ExitReason) -> String {
    match reason {
        ExitReason::InterruptedByUser | ExitReason::InterruptedDuringModelCall => String::new(),
        other => format!("I stopped without an answer: {}.", describe(other)),
    }
}

/// What the person is told when nothing may be spent any more.
pub fn spending_stopped(event: &SpendingStopped) -> String {
    let (what, key) = match event.scope {
        SpendingScope::Session => ("this session", "spending.session_max_usd"),
        SpendingScope::Day => ("today", "spending.day_max_usd"),
    };
    let (spent, limit) = (dollars(event.spent), dollars(event.limit));
    format!(
        "I stopped: the spending limit for {what} is reached ({spent} of {limit}). `herm config set {key} AMOUNT` raises it."
    )
}

/// Micro-dollars for a person.
pub fn dollars(micro: u64) -> String {
    let decimals = if micro < 10_000 && micro > 0 { 6 } else { 2 };
    format!("${:.decimals$}", micro as f64 / 1e6)
}

/// What stands in a request for a file that the model cannot be shown.
pub fn attachment(attachment: &Attachment) -> String {
    let name: String = attachment.name.chars().filter(|c| !c.is_control()).take(200).collect();
    format!("\n[attached: `{name}`, {}, {} bytes]", attachment.media_type, attachment.content.bytes)
}

/// One sentence for the person about a model call that nothing mends; the log has the rest.
pub fn failure(failure: &ModelFailure) -> String {
    format!("I could not get an answer: {}.", what_failed(failure))
}

/// What a failed model call failed of, in plain words; never the provider's own.
pub fn what_failed(failure: &ModelFailure) -> String {
    let what = match failure.class {
        FailureClass::Auth | FailureClass::AuthPermanent => "the provider does not accept the key",
        FailureClass::Billing if is_limit(&failure.message) => {
            "a spending limit of the provider account or of this key is reached"
        }
        FailureClass::Billing => "the provider account is out of credit",
        FailureClass::RateLimit | FailureClass::UpstreamRateLimit => {
            "the provider limits how often it may be asked"
        }
        FailureClass::Overloaded => "the provider is overloaded",
        FailureClass::ServerError => "the provider failed",
        FailureClass::Timeout => "the provider could not be reached or did not answer in time",
        FailureClass::SslCertVerification => "the provider's certificate cannot be verified",
        FailureClass::ContextOverflow | FailureClass::PayloadTooLarge | FailureClass::LongContextTier => {
            "the conversation does not fit into the model's context"
        }
        FailureClass::ModelNotFound => "the provider does not have this model",
        FailureClass::ProviderPolicyBlocked => "the provider account's privacy settings exclude this model",
        FailureClass::ContentPolicyBlocked => "the provider refused on grounds of its content policy",
        FailureClass::ImageTooLarge
        | FailureClass::FormatError
        | FailureClass::InvalidEncryptedContent
        | FailureClass::MultimodalToolContentUnsupported
        | FailureClass::ThinkingSignature
        | FailureClass::OauthLongContextBetaForbidden
        | FailureClass::LlamaCppGrammarPattern => "the provider did not accept the request",
        FailureClass::Unknown => "the model call failed",
    };
    let status = failure.status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
    format!("{what}{status}")
}

/// Whether a bill is about a limit that somebody set, which is raised, and not about money that is
/// gone. The words are those of the provider; the class is what says that it is a bill.
fn is_limit(message: &str) -> bool {
    let message = message.to_lowercase();
    let words =
        ["spend limit", "spending limit", "spend_limit", "usage limit", "key limit", "hard limit", "budget"];
    words.iter().any(|word| message.contains(word))
}

/// A result for a call that a restart left in doubt.
pub const IN_DOUBT: &str = r#"{"error":"herm was restarted while this ran and is back now. The outcome is unknown: it may or may not have taken effect. Check before repeating it; do not repeat it blindly."}"#;
