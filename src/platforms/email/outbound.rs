//! What herm says, as mails that answer in their thread.

use herm_schema::events::{ChatRef, DeliveryFailure};
use lettre::Message;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, Mailbox as Named, MultiPart, SinglePart};

use super::headers::{Headers, is_id};
use super::mailbox::Mailbox;
use super::threads::Standing;
use super::{Email, FILE_BYTES_MAX, smtp};
use crate::platforms::{Outgoing, Say, SendFailure, Written};

/// Longest subject of a thread that herm begins, in characters.
const SUBJECT_CHARS_MAX: usize = 60;
/// Ids in `References`; programs need the first and the last ones.
const REFERENCES_MAX: usize = 20;

fn refused(why: impl ToString) -> SendFailure {
    SendFailure { class: DeliveryFailure::Refused, message: why.to_string(), retry_after: None }
}

/// Sends a chunk; the id of the mail.
pub(super) async fn send(email: &Email, outgoing: &Outgoing) -> Result<Option<String>, SendFailure> {
    let standing = standing(email, &outgoing.target).await;
    let id = email.ids.of(&outgoing.key);
    let message = built(email, outgoing, standing.as_ref(), &id)?;
    let sent = smtp::send(&email.account, message.envelope(), &message.formatted()).await;
    sent.map_err(|failure| SendFailure { message: email.clean(&failure.message), ..failure })?;
    Ok(Some(id))
}

/// Where the thread stands; after a restart the mailbox knows. A mail that only knows how its thread
/// began stands in it all the same, so that nothing fails where this does.
async fn standing(email: &Email, chat: &ChatRef) -> Option<Standing> {
    let root = chat.thread.as_deref()?;
    if let Some(standing) = email.threads.get(chat) {
        return Some(standing);
    }
    let mut mailbox = Mailbox::open(&email.account).await.ok()?;
    let raw = mailbox.last_of(root).await.ok()??;
    let headers = Headers::of(&raw);
    let subject = mail_parser::MessageParser::default().parse_headers(&raw[..]);
    let standing = Standing {
        subject: subject.and_then(|mail| mail.subject().map(str::to_owned)).unwrap_or_default(),
        last: headers.ids("message-id").into_iter().next()?,
        references: headers.ids("references"),
    };
    email.threads.keep(chat, standing.clone());
    Some(standing)
}

fn built(
    email: &Email,
    outgoing: &Outgoing,
    standing: Option<&Standing>,
    id: &str,
) -> Result<Message, SendFailure> {
    let named = |address: &str| address.parse().map(|address| Named::new(None, address)).map_err(refused);
    let Outgoing { target, content, reply_to, .. } = outgoing;
    let mut message = Message::builder()
        .from(named(&email.account.address)?)
        .to(named(&target.chat)?)
        .subject(subject(target, content, standing))
        .message_id(Some(format!("<{id}>")))
        // Programs do not answer this, so that two of them do not answer each other for ever (RFC 3834).
        .raw_header(HeaderValue::new(
            HeaderName::new_from_ascii_str("Auto-Submitted"),
            "auto-replied".to_owned(),
        ));
    let answered = reply_to.clone().or_else(|| standing.map(|standing| standing.last.clone()));
    if let Some(answered) = answered.as_ref().filter(|id| is_id(id)) {
        message = message.in_reply_to(format!("<{answered}>"));
    }
    let references = references(target, standing, answered);
    if !references.is_empty() {
        message = message.references(references);
    }
    match content {
        Say::Text(Written { text, plain }) if text == plain => {
            message.singlepart(SinglePart::plain(plain.clone()))
        }
        Say::Text(Written { text, plain }) => {
            message.multipart(MultiPart::alternative_plain_html(plain.clone(), text.clone()))
        }
        Say::File { name, media_type, bytes } => {
            if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > FILE_BYTES_MAX {
                let size = bytes.len();
                return Err(refused(format!(
                    "the file has {size} bytes, over the limit of {FILE_BYTES_MAX}"
                )));
            }
            let kind =
                ContentType::parse(media_type).or_else(|_| ContentType::parse("application/octet-stream"));
            let file = Attachment::new(name.clone()).body(bytes.clone(), kind.map_err(refused)?);
            message
                .multipart(MultiPart::mixed().singlepart(SinglePart::plain(String::new())).singlepart(file))
        }
    }
    .map_err(refused)
}

/// The root first, the mail that is answered last.
fn references(target: &ChatRef, standing: Option<&Standing>, answered: Option<String>) -> String {
    let mut ids: Vec<String> = target.thread.iter().cloned().collect();
    let between = standing.map(|standing| standing.references.as_slice()).unwrap_or_default();
    let skipped = between.len().saturating_sub(REFERENCES_MAX);
    ids.extend(between.iter().skip(skipped).cloned());
    ids.extend(standing.map(|standing| standing.last.clone()));
    ids.extend(answered);
    let mut known = std::collections::HashSet::new();
    // The last place counts, but for the root.
    let mut kept: Vec<String> =
        ids.iter().skip(1).rev().filter(|id| known.insert((*id).clone())).cloned().collect();
    kept.reverse();
    let root = ids.first().filter(|id| !known.contains(*id) || kept.first() != Some(id));
    let all = root.into_iter().chain(kept.iter().filter(|id| root != Some(id)));
    all.filter(|id| is_id(id)).map(|id| format!("<{id}>")).collect::<Vec<_>>().join(" ")
}

fn subject(target: &ChatRef, content: &Say, standing: Option<&Standing>) -> String {
    if let Some(standing) = standing {
        let subject = standing.subject.trim();
        let is_answer = subject.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case("re:"));
        return if is_answer { subject.to_owned() } else { format!("Re: {subject}") };
    }
    if target.thread.is_some() {
        return "Re: your mail".to_owned();
    }
    let first = match content {
        Say::Text(written) => written.plain.lines().find(|line| !line.trim().is_empty()).unwrap_or("herm"),
        Say::File { name, .. } => name,
    };
    first.trim().chars().filter(|c| !c.is_control()).take(SUBJECT_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(thread: Option<&str>) -> ChatRef {
        let thread = thread.map(str::to_owned);
        ChatRef { platform: "email".to_owned(), chat: "ada@x.org".to_owned(), thread }
    }

    fn standing(subject: &str) -> Standing {
        let references = vec!["root@x".to_owned(), "b@x".to_owned()];
        Standing { subject: subject.to_owned(), last: "c@x".to_owned(), references }
    }

    #[test]
    fn a_subject_is_kept_and_gets_one_re() {
        let said = Say::Text(Written::plain("\nfirst line\nsecond"));
        let thread = chat(Some("root@x"));
        assert_eq!(subject(&thread, &said, Some(&standing("Plans"))), "Re: Plans");
        assert_eq!(subject(&thread, &said, Some(&standing("RE: Plans"))), "RE: Plans");
        assert_eq!(subject(&chat(None), &said, None), "first line");
    }

    #[test]
    fn references_begin_with_the_root_and_end_with_what_is_answered() {
        let thread = chat(Some("root@x"));
        let of =
            |answered: Option<&str>| references(&thread, Some(&standing("x")), answered.map(str::to_owned));
        assert_eq!(of(Some("c@x")), "<root@x> <b@x> <c@x>");
        assert_eq!(of(Some("b@x")), "<root@x> <c@x> <b@x>");
        assert_eq!(references(&thread, None, None), "<root@x>");
        assert_eq!(references(&thread, None, Some("no id>\r\nX: y".to_owned())), "<root@x>");
        assert_eq!(references(&chat(None), None, None), "");
    }
}
