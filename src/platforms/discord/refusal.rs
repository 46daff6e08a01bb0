//! PURE: what Discord's refusals mean for a message, and for the account.
//!
//! Source: API v10, "Opcodes and Status Codes": JSON error codes and gateway close codes.

use std::time::Duration;

use herm_schema::events::DeliveryFailure;

use super::api::Failed;
use crate::platforms::link::Broken;
use crate::platforms::{SendFailure, Stopped};

/// When another attempt makes sense after something that passes.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// As above, when Discord says "too many" and not for how long.
const RATE_LIMIT_DEFAULT: Duration = Duration::from_secs(5);
/// As above, when the account is refused: a person has to do something first.
const UNAUTHORISED_RETRY_AFTER: Duration = Duration::from_secs(300);

/// The channel is not there, or herm may not write there.
const GONE: &[i64] = &[
    10003,  // unknown channel
    10004,  // unknown guild
    10013,  // unknown user
    50001,  // missing access
    50007,  // cannot send messages to this user
    50013,  // missing permissions
    50278,  // no server in common with this user
    160005, // the thread is locked
];
const UNKNOWN_MESSAGE: i64 = 10008;
/// It is another's message, which cannot be changed.
const NOT_OURS: i64 = 50005;
const ALREADY_ANSWERED: i64 = 40060;

fn code_of(failed: &Failed) -> i64 {
    match failed {
        Failed::Refused { code, .. } => *code,
        Failed::Broken(_) => 0,
    }
}

/// The message to be changed is not there, or is none that can be changed.
pub(super) fn is_message_gone(failed: &Failed) -> bool {
    [UNKNOWN_MESSAGE, NOT_OURS].contains(&code_of(failed))
}

/// It was deleted before.
pub(super) fn is_deleted_already(failed: &Failed) -> bool {
    code_of(failed) == UNKNOWN_MESSAGE
}

/// The interaction was answered before.
pub(super) fn is_answered_already(failed: &Failed) -> bool {
    code_of(failed) == ALREADY_ANSWERED
}

/// Nothing can be asked there, and that will stay so.
pub(super) fn is_for_good(failed: &Failed) -> bool {
    matches!(failed, Failed::Refused { status: 400 | 403 | 404, .. })
}

/// What it means for a message.
pub(super) fn of_message(failed: Failed) -> SendFailure {
    match failed {
        Failed::Broken(Broken::Unreachable(why)) => SendFailure {
            class: DeliveryFailure::Unreachable,
            message: format!("Discord cannot be reached: {why}"),
            retry_after: Some(RETRY_AFTER),
        },
        Failed::Broken(Broken::Unanswered(why)) => SendFailure {
            class: DeliveryFailure::Unknown,
            message: format!("Discord did not answer: {why}"),
            // It may stand there: whether it is said again is for a person to decide.
            retry_after: None,
        },
        Failed::Refused { status, code, message, retry_after } => {
            let (class, retry_after) = match status {
                429 => (DeliveryFailure::RateLimited, Some(retry_after.unwrap_or(RATE_LIMIT_DEFAULT))),
                // Nothing was sent, and the message is not to blame.
                401 => (DeliveryFailure::Unreachable, Some(UNAUTHORISED_RETRY_AFTER)),
                500.. => (DeliveryFailure::Unknown, Some(RETRY_AFTER)),
                _ if GONE.contains(&code) => (DeliveryFailure::Gone, None),
                _ => (DeliveryFailure::Refused, None),
            };
            let message = format!("Discord says {status} ({code}): {message}");
            SendFailure { class, message, retry_after }
        }
    }
}

/// What it means for reading.
pub(super) fn of_account(failed: Failed) -> Stopped {
    match failed {
        Failed::Broken(Broken::Unreachable(why)) => {
            Stopped::Transient { message: format!("Discord cannot be reached: {why}"), retry_after: None }
        }
        Failed::Broken(Broken::Unanswered(why)) => {
            Stopped::Transient { message: format!("Discord did not answer: {why}"), retry_after: None }
        }
        Failed::Refused { status: 401, message, .. } => bad_token(&message),
        Failed::Refused { status, code, message, retry_after } => {
            Stopped::Transient { message: format!("Discord says {status} ({code}): {message}"), retry_after }
        }
    }
}

fn bad_token(said: &str) -> Stopped {
    Stopped::Terminal {
        message: format!("Discord does not know the bot's token: {said}"),
        fix: "at https://discord.com/developers/applications, `Bot`, `Reset Token`, and set `DISCORD_BOT_TOKEN`"
            .to_owned(),
    }
}

/// Whether a session cannot be resumed after it was closed so.
pub(super) fn ends_session(code: u16) -> bool {
    // An invalid number, a session that timed out, and what is no session at all.
    matches!(code, 4007 | 4009 | 4004 | 4010..=4014)
}

/// What it means that the gateway closed the connection with a code.
pub(super) fn of_close(code: u16) -> Stopped {
    let terminal = |message: &str, fix: &str| Stopped::Terminal {
        message: format!("Discord's gateway closed the connection with {code}: {message}"),
        fix: fix.to_owned(),
    };
    match code {
        4004 => bad_token("its gateway says 4004"),
        4010 | 4011 => terminal(
            "the bot is on so many servers that it would have to be divided",
            "take the bot out of servers, so that fewer than 2,500 are left",
        ),
        4012 => terminal("it does not speak version 10 any more", "install a newer herm"),
        4013 => terminal("it does not know what herm wants to be told", "install a newer herm"),
        4014 => terminal(
            "herm may not read what messages say",
            "at https://discord.com/developers/applications, `Bot`, switch on the Message Content intent",
        ),
        _ => Stopped::Transient {
            message: format!("Discord's gateway closed the connection with {code}"),
            retry_after: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, code: i64) -> Failed {
        Failed::Refused { status, code, message: "words".to_owned(), retry_after: None }
    }

    #[test]
    fn each_refusal_has_its_class() {
        for (status, code, class) in [
            (404, 10003, DeliveryFailure::Gone),
            (403, 50001, DeliveryFailure::Gone),
            (403, 50013, DeliveryFailure::Gone),
            (403, 50007, DeliveryFailure::Gone),
            (400, 50035, DeliveryFailure::Refused),
            (400, 50006, DeliveryFailure::Refused),
            (413, 40005, DeliveryFailure::Refused),
        ] {
            let failure = of_message(refused(status, code));
            assert_eq!((failure.class, failure.retry_after), (class, None), "{code}");
            assert!(failure.message.contains("words"));
        }
        for (status, class) in [
            (429, DeliveryFailure::RateLimited),
            (401, DeliveryFailure::Unreachable),
            (502, DeliveryFailure::Unknown),
        ] {
            let failure = of_message(refused(status, 0));
            assert_eq!((failure.class, failure.retry_after.is_some()), (class, true), "{status}");
        }
    }

    #[test]
    fn a_switch_that_is_off_is_named_and_most_closings_pass() {
        let Stopped::Terminal { fix, .. } = of_close(4014) else { panic!() };
        assert!(fix.contains("Message Content"), "{fix}");
        for code in [4004, 4010, 4011, 4012, 4013] {
            assert!(matches!(of_close(code), Stopped::Terminal { .. }), "{code}");
        }
        for code in [1000, 1001, 1006, 4000, 4002, 4003, 4005, 4007, 4008, 4009] {
            assert!(matches!(of_close(code), Stopped::Transient { .. }), "{code}");
        }
        assert!(ends_session(4007) && ends_session(4009) && !ends_session(4000) && !ends_session(4008));
        assert!(matches!(of_account(refused(401, 0)), Stopped::Terminal { .. }));
        assert!(matches!(of_account(refused(500, 0)), Stopped::Transient { .. }));
    }
}
