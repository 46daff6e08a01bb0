//! PURE: what Telegram's refusals mean for a message, and for the account.
//!
//! The Bot API has codes for a few and a sentence for all; the sentences are those of its server's source
//! (github.com/tdlib/telegram-bot-api, 9.3) and of Telegram's own error names.

use std::time::Duration;

use herm_schema::events::DeliveryFailure;

use super::api::Failed;
use crate::platforms::{SendFailure, Stopped};

/// When another attempt makes sense after something that passes.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// As above, when the server says "too many" and not for how long.
const RATE_LIMIT_DEFAULT: Duration = Duration::from_secs(30);
/// As above, when the account is refused: a person has to do something first.
const UNAUTHORISED_RETRY_AFTER: Duration = Duration::from_secs(300);

/// The chat is not there, or herm may not write there.
const GONE: &[&str] = &[
    "chat not found",
    "user not found",
    "peer_id_invalid",
    "group chat was deactivated",
    "chat was upgraded to a supergroup",
    "user is deactivated",
    "message thread not found",
    "topic_deleted",
    "topic_closed",
    "chat_write_forbidden",
    "have no write access to the chat",
    "bot is not a member",
];

/// The message to be changed is not there, or is none that can be changed.
const MESSAGE_GONE: &[&str] = &[
    "message to edit not found",
    "message can't be edited",
    "message_id_invalid",
    "there is no text in the message to edit",
];

fn says(failed: &Failed, sentences: &[&str]) -> bool {
    let said = failed.said();
    sentences.iter().any(|sentence| said.contains(sentence))
}

/// The markup cannot be read.
pub(super) fn is_bad_markup(failed: &Failed) -> bool {
    says(failed, &["can't parse entities"])
}

/// It stands so already.
pub(super) fn is_unchanged(failed: &Failed) -> bool {
    says(failed, &["message is not modified"])
}

pub(super) fn is_message_gone(failed: &Failed) -> bool {
    says(failed, MESSAGE_GONE)
}

/// It was deleted before.
pub(super) fn is_deleted_already(failed: &Failed) -> bool {
    says(failed, &["message to delete not found"])
}

/// It is an image, but none that Telegram shows as a photo.
pub(super) fn is_no_photo(failed: &Failed) -> bool {
    says(failed, &["photo_invalid", "image_process_failed", "photo_ext_invalid", "photo_save_file_invalid"])
}

/// Another program reads, or a web hook is set.
pub(super) fn is_webhook_set(failed: &Failed) -> bool {
    matches!(failed, Failed::Refused { code: 409, .. }) && says(failed, &["webhook"])
}

/// What it means for a message.
pub(super) fn of_message(failed: Failed) -> SendFailure {
    let gone = says(&failed, GONE);
    match failed {
        Failed::Unreachable(why) => SendFailure {
            class: DeliveryFailure::Unreachable,
            message: format!("Telegram cannot be reached: {why}"),
            retry_after: Some(RETRY_AFTER),
        },
        Failed::Unanswered(why) => SendFailure {
            class: DeliveryFailure::Unknown,
            message: format!("Telegram did not answer: {why}"),
            retry_after: None,
        },
        Failed::Refused { migrated_to: Some(chat), .. } => SendFailure {
            class: DeliveryFailure::Gone,
            message: format!("the group has become the supergroup `{chat}`"),
            retry_after: None,
        },
        Failed::Refused { code, description, retry_after, .. } => {
            let (class, retry_after) = match code {
                429 => (DeliveryFailure::RateLimited, Some(retry_after.unwrap_or(RATE_LIMIT_DEFAULT))),
                // Nothing was sent, and the message is not to blame.
                401 | 404 => (DeliveryFailure::Unreachable, Some(UNAUTHORISED_RETRY_AFTER)),
                403 => (DeliveryFailure::Gone, None),
                500.. => (DeliveryFailure::Unknown, Some(RETRY_AFTER)),
                _ if gone => (DeliveryFailure::Gone, None),
                _ => (DeliveryFailure::Refused, None),
            };
            SendFailure { class, message: format!("Telegram says {code}: {description}"), retry_after }
        }
    }
}

/// What it means for reading.
pub(super) fn of_account(failed: Failed) -> Stopped {
    match failed {
        Failed::Unreachable(why) => {
            Stopped::Transient { message: format!("Telegram cannot be reached: {why}"), retry_after: None }
        }
        Failed::Unanswered(why) => {
            Stopped::Transient { message: format!("Telegram did not answer: {why}"), retry_after: None }
        }
        Failed::Refused { code: 401 | 404, description, .. } => Stopped::Terminal {
            message: format!("Telegram does not know the bot's token: {description}"),
            fix:
                "ask @BotFather for the token (`/mybots`, the bot, `API Token`) and set `TELEGRAM_BOT_TOKEN`"
                    .to_owned(),
        },
        Failed::Refused { code: 409, description, .. } => Stopped::Transient {
            message: format!("another program reads this bot's messages, stop it: {description}"),
            retry_after: None,
        },
        Failed::Refused { code, description, retry_after, .. } => {
            Stopped::Transient { message: format!("Telegram says {code}: {description}"), retry_after }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, description: &str) -> Failed {
        let description = description.to_owned();
        Failed::Refused { code, description, retry_after: None, migrated_to: None }
    }

    #[test]
    fn each_refusal_has_its_class() {
        for (code, description, class) in [
            (403, "Forbidden: bot was blocked by the user", DeliveryFailure::Gone),
            (403, "Forbidden: bot was kicked from the supergroup chat", DeliveryFailure::Gone),
            (400, "Bad Request: chat not found", DeliveryFailure::Gone),
            (400, "Bad Request: message thread not found", DeliveryFailure::Gone),
            (400, "Bad Request: TOPIC_CLOSED", DeliveryFailure::Gone),
            (400, "Bad Request: message is too long", DeliveryFailure::Refused),
            (413, "Request Entity Too Large", DeliveryFailure::Refused),
            (400, "Bad Request: not enough rights to send photos to the chat", DeliveryFailure::Refused),
        ] {
            let failure = of_message(refused(code, description));
            assert_eq!((failure.class, failure.retry_after), (class, None), "{description}");
            assert!(failure.message.contains(description));
        }
        for (code, class) in [
            (429, DeliveryFailure::RateLimited),
            (401, DeliveryFailure::Unreachable),
            (502, DeliveryFailure::Unknown),
        ] {
            let failure = of_message(refused(code, "x"));
            assert_eq!((failure.class, failure.retry_after.is_some()), (class, true), "{code}");
        }
    }

    #[test]
    fn a_group_that_moved_names_where_it_went() {
        let description = "Bad Request: group chat was upgraded to a supergroup chat".to_owned();
        let failed = Failed::Refused { code: 400, description, retry_after: None, migrated_to: Some(-1001) };
        let failure = of_message(failed);
        assert_eq!((failure.class, failure.retry_after), (DeliveryFailure::Gone, None));
        assert!(failure.message.contains("`-1001`"), "{}", failure.message);
    }

    #[test]
    fn only_a_bad_token_ends_the_reading() {
        for code in [401, 404] {
            assert!(matches!(of_account(refused(code, "Unauthorized")), Stopped::Terminal { .. }));
        }
        for code in [409, 429, 500, 502] {
            assert!(matches!(of_account(refused(code, "x")), Stopped::Transient { .. }), "{code}");
        }
    }

    #[test]
    fn a_web_hook_is_told_from_another_reader() {
        let hook = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete \
                    the webhook first";
        assert!(is_webhook_set(&refused(409, hook)));
        let reader = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is \
                      running";
        assert!(!is_webhook_set(&refused(409, reader)));
    }
}
