//! PURE: what a homeserver's refusals mean for a message, and for the account.
//!
//! The codes are those of the client-server API 1.11, "Standard error response".

use std::time::Duration;

use herm_schema::events::DeliveryFailure;

use super::api::Failed;
use crate::platforms::{SendFailure, Stopped};

/// When another try makes sense where the server does not say.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// The same after too many requests without a time.
const RATE_LIMIT_DEFAULT: Duration = Duration::from_secs(10);
/// When to look whether a person has set another token.
const UNAUTHORISED_RETRY_AFTER: Duration = Duration::from_secs(300);

/// The token is not known, or the account is not any more.
fn is_bad_account(code: u16, errcode: &str) -> bool {
    code == 401
        || matches!(
            errcode,
            "M_UNKNOWN_TOKEN" | "M_MISSING_TOKEN" | "M_USER_DEACTIVATED" | "M_USER_SUSPENDED"
        )
}

/// What it means for a message.
pub(super) fn of_message(failed: Failed) -> SendFailure {
    match failed {
        Failed::Unreachable(why) => SendFailure {
            class: DeliveryFailure::Unreachable,
            message: format!("the homeserver cannot be reached: {why}"),
            retry_after: Some(RETRY_AFTER),
        },
        Failed::Unanswered(why) => SendFailure {
            class: DeliveryFailure::Unknown,
            message: format!("the homeserver did not answer: {why}"),
            retry_after: Some(RETRY_AFTER),
        },
        Failed::Unsealed { why, may_pass } => SendFailure {
            class: if may_pass { DeliveryFailure::Unreachable } else { DeliveryFailure::Refused },
            message: format!("the room is encrypted, and {why}"),
            retry_after: may_pass.then_some(RETRY_AFTER),
        },
        Failed::Refused { code, errcode, error, retry_after } => {
            let (class, retry_after) = match (code, errcode.as_str()) {
                (429, _) | (_, "M_LIMIT_EXCEEDED") => {
                    (DeliveryFailure::RateLimited, Some(retry_after.unwrap_or(RATE_LIMIT_DEFAULT)))
                }
                // Nothing was sent, and the message is not to blame.
                (code, errcode) if is_bad_account(code, errcode) => {
                    (DeliveryFailure::Unreachable, Some(UNAUTHORISED_RETRY_AFTER))
                }
                // Not in the room any more, or without the right to speak there.
                (_, "M_FORBIDDEN" | "M_NOT_FOUND") => (DeliveryFailure::Gone, None),
                (500.., _) => (DeliveryFailure::Unknown, Some(RETRY_AFTER)),
                // A proxy before the server that does not know its way.
                (404, "") => (DeliveryFailure::Unreachable, Some(RETRY_AFTER)),
                _ => (DeliveryFailure::Refused, None),
            };
            SendFailure { class, message: said(code, &errcode, &error), retry_after }
        }
    }
}

/// What it means for a message when something before its sending failed, such as an upload: nothing was sent.
pub(super) fn before_sending(failed: Failed) -> SendFailure {
    let failure = of_message(failed);
    match failure.class {
        DeliveryFailure::Unknown => SendFailure { class: DeliveryFailure::Unreachable, ..failure },
        // It is the file that is not wanted, whatever the room.
        DeliveryFailure::Gone => SendFailure { class: DeliveryFailure::Refused, ..failure },
        _ => failure,
    }
}

/// What it means for reading.
pub(super) fn of_account(failed: Failed) -> Stopped {
    match failed {
        Failed::Unreachable(why) => Stopped::Transient {
            message: format!("the homeserver cannot be reached: {why}"),
            retry_after: None,
        },
        Failed::Unanswered(why) => {
            Stopped::Transient { message: format!("the homeserver did not answer: {why}"), retry_after: None }
        }
        Failed::Unsealed { why, .. } => {
            Stopped::Transient { message: format!("the keys of encrypted rooms: {why}"), retry_after: None }
        }
        Failed::Refused { code, errcode, error, .. } if is_bad_account(code, &errcode) => Stopped::Terminal {
            message: format!("the homeserver does not take the token: {}", said(code, &errcode, &error)),
            fix: "log in once more as `herm gateway setup matrix` tells, and set `MATRIX_ACCESS_TOKEN`"
                .to_owned(),
        },
        Failed::Refused { code, errcode, error, retry_after } => {
            Stopped::Transient { message: said(code, &errcode, &error), retry_after }
        }
    }
}

fn said(code: u16, errcode: &str, error: &str) -> String {
    format!("the homeserver says {code} {errcode}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, errcode: &str) -> Failed {
        Failed::Refused { code, errcode: errcode.to_owned(), error: "why".to_owned(), retry_after: None }
    }

    #[test]
    fn each_refusal_has_its_class() {
        for (code, errcode, class) in [
            (403, "M_FORBIDDEN", DeliveryFailure::Gone),
            (404, "M_NOT_FOUND", DeliveryFailure::Gone),
            (413, "M_TOO_LARGE", DeliveryFailure::Refused),
            (400, "M_BAD_JSON", DeliveryFailure::Refused),
        ] {
            let failure = of_message(refused(code, errcode));
            assert_eq!((failure.class, failure.retry_after), (class, None), "{errcode}");
            assert!(failure.message.contains(errcode));
        }
        for (code, errcode, class) in [
            (429, "M_LIMIT_EXCEEDED", DeliveryFailure::RateLimited),
            (401, "M_UNKNOWN_TOKEN", DeliveryFailure::Unreachable),
            (403, "M_USER_DEACTIVATED", DeliveryFailure::Unreachable),
            (404, "", DeliveryFailure::Unreachable),
            (502, "", DeliveryFailure::Unknown),
            (500, "M_UNKNOWN", DeliveryFailure::Unknown),
        ] {
            let failure = of_message(refused(code, errcode));
            assert_eq!((failure.class, failure.retry_after.is_some()), (class, true), "{code} {errcode}");
        }
    }

    #[test]
    fn a_time_that_is_told_is_kept() {
        let after = Some(Duration::from_millis(1234));
        let Failed::Refused { code, errcode, error, .. } = refused(429, "M_LIMIT_EXCEEDED") else { panic!() };
        let failure = of_message(Failed::Refused { code, errcode, error, retry_after: after });
        assert_eq!(failure.retry_after, after);
    }

    #[test]
    fn a_failed_upload_has_sent_nothing() {
        let failure = before_sending(Failed::Unanswered("cut".to_owned()));
        assert_eq!(failure.class, DeliveryFailure::Unreachable);
        assert_eq!(before_sending(refused(403, "M_FORBIDDEN")).class, DeliveryFailure::Refused);
    }

    #[test]
    fn only_a_bad_account_ends_the_reading() {
        for (code, errcode) in
            [(401, "M_UNKNOWN_TOKEN"), (401, "M_MISSING_TOKEN"), (403, "M_USER_DEACTIVATED")]
        {
            assert!(matches!(of_account(refused(code, errcode)), Stopped::Terminal { .. }), "{errcode}");
        }
        for (code, errcode) in
            [(403, "M_FORBIDDEN"), (429, "M_LIMIT_EXCEEDED"), (500, ""), (502, "M_UNKNOWN")]
        {
            assert!(matches!(of_account(refused(code, errcode)), Stopped::Transient { .. }), "{errcode}");
        }
    }
}
