//! Handing a mail over by SMTP (RFC 5321), command by command, so that it is known how far it came; and
//! what refusals mean.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use herm_schema::events::DeliveryFailure;
use lettre::address::Envelope;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::ClientId;
use tokio::time::timeout;

use super::{Account, Security};
use crate::platforms::SendFailure;

/// How long a connection may take to stand.
const CONNECT_MAX: Duration = Duration::from_secs(20);
/// How long all of it may take.
const SEND_MAX: Duration = Duration::from_secs(180);
/// When another try makes sense.
const RETRY_AFTER: Duration = Duration::from_secs(60);
/// The same where the server says that there were too many: servers count by minutes or by hours.
const RATE_LIMIT_DEFAULT: Duration = Duration::from_secs(300);
/// When to look whether a person has set another password.
const UNAUTHORISED_RETRY_AFTER: Duration = Duration::from_secs(300);

/// Hands a mail over.
pub(super) async fn send(account: &Account, envelope: &Envelope, mail: &[u8]) -> Result<(), SendFailure> {
    let written = AtomicBool::new(false);
    let sent = timeout(SEND_MAX, transact(account, envelope, mail, &written)).await;
    let late = || unanswered("timed out", written.load(Ordering::Acquire));
    sent.unwrap_or_else(|_| Err(late()))
}

async fn transact(
    account: &Account,
    envelope: &Envelope,
    mail: &[u8],
    written: &AtomicBool,
) -> Result<(), SendFailure> {
    let mut connection = connected(account).await?;
    let before = |error: Error| failure(&error, false);
    connection.command(Mail::new(envelope.from().cloned(), Vec::new())).await.map_err(before)?;
    for to in envelope.to() {
        connection.command(Rcpt::new(to.clone(), Vec::new())).await.map_err(before)?;
    }
    connection.command(Data).await.map_err(before)?;
    // From here on the server may have it, whatever is heard of it.
    written.store(true, Ordering::Release);
    connection.message(mail).await.map_err(|error| failure(&error, true))?;
    // It has it; a farewell that fails changes nothing.
    let _ = timeout(Duration::from_secs(1), connection.quit()).await;
    Ok(())
}

/// A connection with an account.
async fn connected(account: &Account) -> Result<AsyncSmtpConnection, SendFailure> {
    let host = &account.smtp;
    let wrong = |error: Error| unanswered(&said(&error), false);
    let tls = match host.security {
        Security::None => None,
        _ => {
            // The first installation stays; a second one finds it and changes nothing.
            let _ = rustls::crypto::ring::default_provider().install_default();
            Some(TlsParameters::new_rustls(host.name.clone()).map_err(wrong)?)
        }
    };
    let domain = account.address.rsplit_once('@').map_or("localhost", |(_, domain)| domain);
    let hello = ClientId::Domain(domain.to_owned());
    let implicit = tls.clone().filter(|_| host.security == Security::Implicit);
    let address = (host.name.as_str(), host.port);
    let connection = AsyncSmtpConnection::connect_tokio1(address, Some(CONNECT_MAX), &hello, implicit, None);
    let mut connection = connection.await.map_err(|error| failure(&error, false))?;
    if let (Security::StartTls, Some(tls)) = (host.security, tls) {
        // A server that does not offer it is refused here: the password goes nowhere in clear.
        connection.starttls(tls, &hello).await.map_err(wrong)?;
    }
    let mechanisms = [Mechanism::Plain, Mechanism::Login];
    // A relay of one's own may not ask who one is.
    if connection.server_info().get_auth_mechanism(&mechanisms).is_some() {
        let credentials = Credentials::new(account.user.clone(), account.password.reveal().to_owned());
        connection.auth(&mechanisms, &credentials).await.map_err(|error| {
            let retry_after = if error.is_permanent() { UNAUTHORISED_RETRY_AFTER } else { RETRY_AFTER };
            let message = format!("the mail server does not take the password: {}", said(&error));
            // Nothing was sent, and the mail is not to blame.
            SendFailure { class: DeliveryFailure::Unreachable, message, retry_after: Some(retry_after) }
        })?;
    }
    Ok(connection)
}

fn unanswered(why: &str, written: bool) -> SendFailure {
    match written {
        true => SendFailure {
            class: DeliveryFailure::Unknown,
            message: format!("the mail server did not say whether it took the mail: {why}"),
            // It may have arrived, and a mail cannot be taken back: a person decides.
            retry_after: None,
        },
        false => SendFailure {
            class: DeliveryFailure::Unreachable,
            message: format!("the mail server cannot be reached: {why}"),
            retry_after: Some(RETRY_AFTER),
        },
    }
}

fn failure(error: &Error, written: bool) -> SendFailure {
    match error.status() {
        Some(code) => refused(&format!("{code}"), &said(error)),
        None => unanswered(&said(error), written),
    }
}

/// What a refusal means: `code` of three digits, `text` with the enhanced code (RFC 3463), if there is one.
fn refused(code: &str, text: &str) -> SendFailure {
    let lower = text.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let too_many = [
        "too many",
        "too much",
        "rate limit",
        "rate-limit",
        "ratelimit",
        "throttl",
        "4.7.28",
        "quota exceeded for sending",
    ];
    // Of the many codes of 5.1, those that say that the mailbox or its server is not there.
    let no_mailbox = [
        "5.1.1",
        "5.1.2",
        "5.1.3",
        "5.1.6",
        "5.1.10",
        "user unknown",
        "unknown user",
        "no such user",
        "mailbox unavailable",
        "does not exist",
    ];
    let (class, retry_after) = match code.starts_with('4') {
        true if has(&too_many) => (DeliveryFailure::RateLimited, Some(RATE_LIMIT_DEFAULT)),
        true => (DeliveryFailure::Unreachable, Some(RETRY_AFTER)),
        false if has(&no_mailbox) => (DeliveryFailure::Gone, None),
        false => (DeliveryFailure::Refused, None),
    };
    SendFailure { class, message: format!("the mail server says: {text}"), retry_after }
}

/// An error with its cause, which holds the server's words.
fn said(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_its_class() {
        for (code, text, class) in [
            ("550", "550 5.1.1 <x@y>: Recipient address rejected: User unknown", DeliveryFailure::Gone),
            ("550", "550 No such user here", DeliveryFailure::Gone),
            ("554", "554 5.7.1 message looks like spam", DeliveryFailure::Refused),
            ("552", "552 5.3.4 message too big", DeliveryFailure::Refused),
        ] {
            let failure = refused(code, text);
            assert_eq!((failure.class, failure.retry_after), (class, None), "{text}");
        }
        for (code, text, class) in [
            ("450", "450 4.2.0 greylisted, try again", DeliveryFailure::Unreachable),
            ("421", "421 4.7.28 unusual rate of mail", DeliveryFailure::RateLimited),
            ("452", "452 4.5.3 too many recipients", DeliveryFailure::RateLimited),
        ] {
            let failure = refused(code, text);
            assert_eq!((failure.class, failure.retry_after.is_some()), (class, true), "{text}");
        }
    }

    #[test]
    fn silence_after_the_mail_was_written_is_no_failure_to_repeat() {
        assert_eq!(unanswered("cut", true).class, DeliveryFailure::Unknown);
        assert_eq!(unanswered("cut", true).retry_after, None);
        assert_eq!(unanswered("cut", false).class, DeliveryFailure::Unreachable);
    }
}
