//! Reading the inbox: the cursor goes past a mail when it was taken, and then the mail is marked as read.
//!
//! The cursor is `UIDVALIDITY:UID` of the last mail, kept by herm: the mark alone would not do, since
//! people read the same mailbox with other programs. Without a cursor herm has never read here: then only
//! unread mails count that came since this start. If the server numbers its mails anew, herm goes on from
//! now, for the numbers of before mean nothing any more, and warns.

use herm_schema::Micros;
use tokio_util::sync::CancellationToken;

use super::Email;
use super::inbound::{self, Mail, Reader};
use super::mailbox::{Failed, Listed, Mailbox};
use crate::platforms::{Inlet, Stopped};

/// Mails before the newest that are looked at when herm has never read here.
const FIRST_MAILS_MAX: u32 = 500;
/// How much longer a mail may be than the files in it may be: they are written in base64.
const MAIL_BYTES_MORE: u64 = 1 << 20;

/// Reads until `stop`.
pub(super) async fn read_until(
    email: &Email,
    inlet: &dyn Inlet,
    stop: &CancellationToken,
) -> Result<(), Stopped> {
    tokio::select! {
        biased;
        () = stop.cancelled() => Ok(()),
        ended = read(email, inlet) => ended,
    }
}

async fn read(email: &Email, inlet: &dyn Inlet) -> Result<(), Stopped> {
    let mut mailbox = Mailbox::open(&email.account).await.map_err(|failed| stopped(email, failed))?;
    let validity = mailbox.validity;
    let newest = mailbox.next.saturating_sub(1);
    let (mut last, mut is_first) = match inlet.cursor().as_deref().and_then(numbers) {
        Some((known, uid)) if known == validity => (uid, false),
        Some(_) => {
            tracing::warn!("the mail server numbers its mails anew; herm goes on from now");
            advance(inlet, validity, newest).await?;
            (newest, false)
        }
        None => (newest.saturating_sub(FIRST_MAILS_MAX), true),
    };
    loop {
        let listed = mailbox.behind(last).await.map_err(|failed| stopped(email, failed))?;
        for mail in listed {
            let is_old = is_first && mail.uid <= newest && (mail.seen || mail.arrived < email.begun);
            let is_taken = !is_old && take(email, inlet, &mut mailbox, &mail).await?;
            last = mail.uid;
            advance(inlet, validity, last).await?;
            if is_taken && !mail.seen {
                mailbox.mark(last).await.map_err(|failed| stopped(email, failed))?;
            }
        }
        if is_first && last < newest {
            // There was none at all.
            last = newest;
        }
        if is_first {
            advance(inlet, validity, last).await?;
            is_first = false;
        }
        mailbox.wait().await.map_err(|failed| stopped(email, failed))?;
    }
}

fn numbers(cursor: &str) -> Option<(u32, u32)> {
    let (validity, uid) = cursor.split_once(':')?;
    Some((validity.parse().ok()?, uid.parse().ok()?))
}

async fn advance(inlet: &dyn Inlet, validity: u32, uid: u32) -> Result<(), Stopped> {
    let advanced = inlet.advance(format!("{validity}:{uid}")).await;
    advanced.map_err(|not_now| transient(&not_now.to_string()))
}

fn transient(message: &str) -> Stopped {
    Stopped::Transient { message: message.to_owned(), retry_after: None }
}

/// What a failure of the mailbox means for reading.
pub(super) fn stopped(email: &Email, failed: Failed) -> Stopped {
    match failed {
        Failed::Passing(why) => transient(&email.clean(&format!("the mailbox cannot be read: {why}"))),
        Failed::Account(why) => Stopped::Terminal {
            message: email.clean(&format!("the mail server does not take the password: {why}")),
            fix:
                "set `EMAIL_ADDRESS` and `EMAIL_PASSWORD` to what your provider gives for programs, which is \
                  often a password of its own"
                    .to_owned(),
        },
    }
}

/// Gives a mail to the inlet; whether it was one for herm.
async fn take(
    email: &Email,
    inlet: &dyn Inlet,
    mailbox: &mut Mailbox,
    listed: &Listed,
) -> Result<bool, Stopped> {
    let media_bytes_max = inlet.media_bytes_max();
    let bytes_max = media_bytes_max.saturating_mul(2).saturating_add(MAIL_BYTES_MORE);
    let whole = listed.bytes <= bytes_max;
    let fetched = mailbox.mail(listed.uid, whole).await.map_err(|failed| stopped(email, failed))?;
    let Some(raw) = fetched else { return Ok(false) };
    let cut = (!whole).then(|| format!("the mail has {} bytes, over the limit of {bytes_max}", listed.bytes));
    let reader = Reader {
        address: &email.account.address,
        ids: &email.ids,
        servers: email.servers.as_deref(),
        media_bytes_max,
        cut,
    };
    let at = (listed.arrived > 0).then(|| Micros(listed.arrived.saturating_mul(1_000_000)));
    let fallback = format!("{}.{}", mailbox.validity, listed.uid);
    match inbound::read(&raw, &fallback, at, &reader) {
        Mail::Came { inbound, standing } => {
            if !standing.last.is_empty() {
                email.threads.keep(&inbound.chat.place, standing);
            }
            let taken = inlet.take(*inbound).await;
            taken.map(|_| true).map_err(|not_now| transient(&not_now.to_string()))
        }
        Mail::Unproven { from } => {
            tracing::warn!(from, uid = listed.uid, "a mail is passed over: nobody vouches for its sender");
            Ok(false)
        }
        Mail::Nothing => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn a_cursor_is_two_numbers() {
        assert_eq!(numbers("17:42"), Some((17, 42)));
        for wrong in ["", "17", "17:", "x:1", "1:2:3"] {
            assert_eq!(numbers(wrong), None, "{wrong}");
        }
    }
}
