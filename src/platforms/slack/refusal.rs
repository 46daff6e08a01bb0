//! PURE: what Slack's refusals mean for a message, and for the account.
//!
//! Source: docs.slack.dev, the errors of `chat.postMessage`, `chat.update`, `chat.delete`, `reactions.add`,
//! `files.completeUploadExternal`, `auth.test` and `apps.connections.open`.

use std::time::Duration;

use herm_schema::events::DeliveryFailure;

use super::api::Failed;
use crate::platforms::link::Broken;
use crate::platforms::{SendFailure, Stopped};

/// When another attempt makes sense after something that passes.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// As above, when Slack says "too many" and not for how long.
const RATE_LIMIT_DEFAULT: Duration = Duration::from_secs(30);
/// As above, when the account is refused: a person has to do something first.
const UNAUTHORISED_RETRY_AFTER: Duration = Duration::from_secs(300);

/// The conversation is not there, or herm may not write there.
const GONE: &[&str] = &[
    "channel_not_found",
    "is_archived",
    "not_in_channel",
    "user_not_found",
    "user_disabled",
    "cannot_dm_bot",
    "messages_tab_disabled",
    "restricted_action",
    "restricted_action_read_only_channel",
    "restricted_action_thread_only_channel",
    "restricted_action_non_threadable_channel",
    "restricted_action_thread_locked",
    "thread_not_found",
];
/// The account does not work, or may not do this.
const ACCOUNT: &[&str] = &[
    "invalid_auth",
    "not_authed",
    "account_inactive",
    "token_revoked",
    "token_expired",
    "not_allowed_token_type",
    "missing_scope",
    "no_permission",
    "access_denied",
    "team_access_not_granted",
    "org_login_required",
    "ekm_access_denied",
    "app_disabled",
];
const RATE_LIMITED: &[&str] = &["ratelimited", "rate_limited", "message_limit_exceeded"];
/// Slack itself failed.
const FAILED: &[&str] = &["internal_error", "fatal_error", "service_unavailable", "request_timeout"];
/// The message to be changed is not there, or is none that can be changed.
const MESSAGE_GONE: &[&str] = &["message_not_found", "cant_update_message", "edit_window_closed"];
/// What is answered to is not there, or is nothing that can be answered to.
const UNANSWERABLE: &[&str] = &["thread_not_found", "message_not_found", "cannot_reply_to_message"];

/// Which of the two accounts was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Bot,
    App,
}

fn says(failed: &Failed, words: &[&str]) -> bool {
    matches!(failed, Failed::Refused { error, .. } if words.contains(&error.as_str()))
}

pub(super) fn is_message_gone(failed: &Failed) -> bool {
    says(failed, MESSAGE_GONE)
}

pub(super) fn is_unanswerable(failed: &Failed) -> bool {
    says(failed, UNANSWERABLE)
}

/// It was deleted before.
pub(super) fn is_deleted_already(failed: &Failed) -> bool {
    says(failed, &["message_not_found"])
}

pub(super) fn is_reacted_already(failed: &Failed) -> bool {
    says(failed, &["already_reacted"])
}

/// Nothing is told, and that will stay so; unlike a failure on the way.
pub(super) fn is_for_good(failed: &Failed) -> bool {
    let passes = says(failed, RATE_LIMITED) || says(failed, FAILED);
    matches!(failed, Failed::Refused { status: 200, .. }) && !passes
}

/// A failure before anything was to be shown: it was certainly not.
pub(super) fn before_sending(failed: Failed) -> SendFailure {
    match of_message(failed) {
        SendFailure { class: DeliveryFailure::Unknown, message, .. } => {
            let retry_after = Some(RETRY_AFTER);
            SendFailure { class: DeliveryFailure::Unreachable, message, retry_after }
        }
        other => other,
    }
}

/// What it means for a message.
pub(super) fn of_message(failed: Failed) -> SendFailure {
    let (gone, account) = (says(&failed, GONE), says(&failed, ACCOUNT));
    let (limited, faulty) = (says(&failed, RATE_LIMITED), says(&failed, FAILED));
    match failed {
        Failed::Broken(Broken::Unreachable(why)) => SendFailure {
            class: DeliveryFailure::Unreachable,
            message: format!("Slack cannot be reached: {why}"),
            retry_after: Some(RETRY_AFTER),
        },
        Failed::Broken(Broken::Unanswered(why)) => SendFailure {
            class: DeliveryFailure::Unknown,
            message: format!("Slack did not answer: {why}"),
            // It may stand there: whether it is said again is for a person to decide.
            retry_after: None,
        },
        Failed::Refused { status, error, retry_after } => {
            let (class, retry_after) = match status {
                429 => (DeliveryFailure::RateLimited, Some(retry_after.unwrap_or(RATE_LIMIT_DEFAULT))),
                _ if limited => {
                    (DeliveryFailure::RateLimited, Some(retry_after.unwrap_or(RATE_LIMIT_DEFAULT)))
                }
                500.. => (DeliveryFailure::Unknown, Some(RETRY_AFTER)),
                _ if faulty => (DeliveryFailure::Unknown, Some(RETRY_AFTER)),
                // Nothing was sent, and the message is not to blame.
                401 => (DeliveryFailure::Unreachable, Some(UNAUTHORISED_RETRY_AFTER)),
                _ if account => (DeliveryFailure::Unreachable, Some(UNAUTHORISED_RETRY_AFTER)),
                _ if gone => (DeliveryFailure::Gone, None),
                _ => (DeliveryFailure::Refused, None),
            };
            SendFailure { class, message: format!("Slack says {status}: {error}"), retry_after }
        }
    }
}

/// What it means for reading.
pub(super) fn of_account(failed: Failed, whose: Whose) -> Stopped {
    let account = says(&failed, ACCOUNT);
    match failed {
        Failed::Broken(Broken::Unreachable(why)) => {
            Stopped::Transient { message: format!("Slack cannot be reached: {why}"), retry_after: None }
        }
        Failed::Broken(Broken::Unanswered(why)) => {
            Stopped::Transient { message: format!("Slack did not answer: {why}"), retry_after: None }
        }
        Failed::Refused { status, error, .. } if account || status == 401 => {
            let (name, fix) = match whose {
                Whose::Bot => (
                    "bot's",
                    "at https://api.slack.com/apps, `OAuth & Permissions`: add the scopes, reinstall, and set \
                     `SLACK_BOT_TOKEN`",
                ),
                Whose::App => (
                    "app's",
                    "at https://api.slack.com/apps, `Basic Information`, `App-Level Tokens`: generate one with \
                     `connections:write`, switch on `Socket Mode`, and set `SLACK_APP_TOKEN`",
                ),
            };
            let message = format!("Slack does not take the {name} token: {error}");
            Stopped::Terminal { message, fix: fix.to_owned() }
        }
        Failed::Refused { status, error, retry_after } => {
            Stopped::Transient { message: format!("Slack says {status}: {error}"), retry_after }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, error: &str) -> Failed {
        Failed::Refused { status, error: error.to_owned(), retry_after: None }
    }

    #[test]
    fn each_refusal_has_its_class() {
        for (status, error, class, again) in [
            (200, "channel_not_found", DeliveryFailure::Gone, false),
            (200, "is_archived", DeliveryFailure::Gone, false),
            (200, "not_in_channel", DeliveryFailure::Gone, false),
            (200, "msg_too_long", DeliveryFailure::Refused, false),
            (200, "invalid_blocks", DeliveryFailure::Refused, false),
            (200, "invalid_auth", DeliveryFailure::Unreachable, true),
            (200, "account_inactive", DeliveryFailure::Unreachable, true),
            (200, "ratelimited", DeliveryFailure::RateLimited, true),
            (429, "", DeliveryFailure::RateLimited, true),
            (200, "internal_error", DeliveryFailure::Unknown, true),
            (503, "", DeliveryFailure::Unknown, true),
        ] {
            let failure = of_message(refused(status, error));
            assert_eq!((failure.class, failure.retry_after.is_some()), (class, again), "{error}");
            assert!(failure.message.contains(error));
        }
        let failure = before_sending(refused(200, "internal_error"));
        assert_eq!(failure.class, DeliveryFailure::Unreachable);
    }

    #[test]
    fn a_token_that_is_not_taken_is_named() {
        for error in ["invalid_auth", "account_inactive", "token_revoked", "missing_scope"] {
            let Stopped::Terminal { fix, .. } = of_account(refused(200, error), Whose::Bot) else { panic!() };
            assert!(fix.contains("SLACK_BOT_TOKEN"), "{fix}");
        }
        let Stopped::Terminal { fix, .. } = of_account(refused(200, "not_authed"), Whose::App) else {
            panic!()
        };
        assert!(fix.contains("SLACK_APP_TOKEN") && fix.contains("connections:write"), "{fix}");
        for (status, error) in [(200, "internal_error"), (429, "ratelimited"), (502, "")] {
            assert!(matches!(of_account(refused(status, error), Whose::Bot), Stopped::Transient { .. }));
        }
    }
}
