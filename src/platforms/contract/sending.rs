//! What goes out: once, where it should, and what is said of it when it does not.

use std::time::Duration;

use herm_schema::events::{ChatRef, DeliveryFailure};

use super::{Check, Fault, Happening, Kit, Said, Seen, Trial};
use crate::delivery::Unit;
use crate::platforms::{Outgoing, Say, SendFailure, Written};

pub(super) const CHECKS: &[Check] = &[
    ("a text arrives, and its id is told", texts),
    ("a text of the longest length arrives whole, a longer one is refused for good", longest),
    ("what it answers is shown", answering),
    ("a file arrives", files),
    ("a preview is replaced, and sent anew if it is gone", replacing),
    ("a repeat is recognised by its key", keyed),
    ("markup that is refused is sent plain", markup),
    ("too many: wait as long as the platform said", rate_limit),
    ("blocked, or no such chat: for good", gone),
    ("a failure of the platform itself can be retried", server_error),
    ("a connection cut before the answer leaves it open whether it was sent", cut),
    ("a platform that cannot be reached got nothing", unreachable),
    ("a slow answer is an answer", slow),
];

/// A text for a chat, of letters and spaces alone, which mean the same in every markup.
pub(super) fn text(chat: &ChatRef, text: &str) -> Outgoing {
    let key = format!("kit-{}", blake3::hash(format!("{chat:?}{text}").as_bytes()).to_hex());
    Outgoing {
        target: chat.clone(),
        content: Say::Text(Written::plain(text)),
        key: key.chars().take(64).collect(),
        possible_repeat: false,
        reply_to: None,
        replaces: None,
        buttons: Vec::new(),
    }
}

/// What stands in a chat.
pub(super) fn standing(kit: &Kit<'_>, chat: &ChatRef) -> Vec<Seen> {
    let sent = kit.bench.record().sent.into_iter();
    sent.filter(|seen| seen.chat == *chat && !seen.deleted).collect()
}

/// Sends; the id, and how many requests it took.
async fn sent(kit: &Kit<'_>, outgoing: &Outgoing) -> (Option<String>, usize) {
    let before = kit.bench.record().requests;
    match kit.bench.platform().send(outgoing).await {
        Ok(id) => (id, kit.bench.record().requests - before),
        Err(failure) => panic!("not sent: {failure:?}"),
    }
}

/// Sends under a fault; the failure, which says no secret, and how many requests it took. `None` if the
/// double cannot fail so.
async fn failed(kit: &Kit<'_>, chat: &ChatRef, fault: Fault) -> Option<(SendFailure, usize)> {
    let platform = kit.bench.platform();
    let before = kit.bench.record().requests;
    if !kit.bench.fail(fault) {
        return None;
    }
    match platform.send(&text(chat, "something to say")).await {
        Ok(id) => panic!("{fault:?}, and yet it was sent as {id:?}"),
        Err(failure) => {
            kit.is_clean(&format!("{failure:?}"));
            assert!(!failure.message.is_empty());
            Some((failure, kit.bench.record().requests - before))
        }
    }
}

fn texts<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let (chat, other) = (kit.any_chat(), kit.any_chat());
        let (id, requests) = sent(kit, &text(&chat, "hello people")).await;
        sent(kit, &text(&other, "hello others")).await;
        let there = standing(kit, &chat);
        let [seen] = there.as_slice() else { panic!("not one message: {there:?}") };
        assert_eq!(seen.text, "hello people");
        assert_eq!((id.as_ref().unwrap_or(&seen.message_id), requests), (&seen.message_id, 1));
        assert!(seen.reply_to.is_none() && seen.file.is_none() && seen.buttons.is_empty());
        sent(kit, &text(&chat, "hello again")).await;
        let there: Vec<String> = standing(kit, &chat).into_iter().map(|seen| seen.text).collect();
        assert_eq!(there, ["hello people", "hello again"]);
    })
}

fn longest<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let Some(limit) = kit.bench.platform().capabilities().format.limit else { return };
        // The widest character in each unit.
        let (wide, units) = match limit.unit {
            Unit::Utf16 => ("😀", 2),
            Unit::Bytes => ("😀", 4),
            Unit::Chars | Unit::Graphemes => ("😀", 1),
        };
        let whole = wide.repeat(limit.max / units);
        let chat = kit.any_chat();
        sent(kit, &text(&chat, &whole)).await;
        let there: Vec<String> = standing(kit, &chat).into_iter().map(|seen| seen.text).collect();
        assert!(there == [whole.as_str()], "{} characters came", there.concat().chars().count());
        let longer = text(&chat, &format!("{whole}{wide}"));
        if let Err(failure) = kit.bench.platform().send(&longer).await {
            assert_eq!((failure.class, failure.retry_after), (DeliveryFailure::Refused, None), "{failure:?}");
        }
    })
}

fn answering<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let chat = kit.any_chat();
        let asked = kit.say(Said::new(&chat, "a question"));
        let outgoing = Outgoing { reply_to: Some(asked.clone()), ..text(&chat, "the answer") };
        sent(kit, &outgoing).await;
        let there = standing(kit, &chat);
        let replies: Vec<_> = there.iter().map(|seen| (seen.text.as_str(), seen.reply_to.as_ref())).collect();
        assert_eq!(replies, [("the answer", Some(&asked))]);
        // What it answers is gone by now: it is said all the same.
        if kit.bench.happen(&Happening::Deleted { chat: chat.clone(), message_id: asked }).is_some() {
            sent(kit, &Outgoing { key: "kit-late".to_owned(), ..outgoing }).await;
            assert_eq!(standing(kit, &chat).len(), 2);
        }
    })
}

fn files<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        if kit.bench.platform().capabilities().file_bytes_max.is_none() {
            return;
        }
        let chat = kit.any_chat();
        let bytes: Vec<u8> = (0..=255).cycle().take(3000).collect();
        let (name, media_type) = ("grün notes.bin".to_owned(), "application/octet-stream".to_owned());
        let content = Say::File { name: name.clone(), media_type, bytes: bytes.clone() };
        let (id, _) = sent(kit, &Outgoing { content, ..text(&chat, "a file") }).await;
        let there = standing(kit, &chat);
        let [seen] = there.as_slice() else { panic!("not one message: {there:?}") };
        assert!(seen.file == Some((name, bytes)), "another file came");
        assert_eq!(id.as_ref().unwrap_or(&seen.message_id), &seen.message_id);
    })
}

fn replacing<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        if kit.bench.platform().capabilities().edit_every.is_none() {
            return;
        }
        let chat = kit.any_chat();
        let (first, _) = sent(kit, &text(&chat, "a preview")).await;
        let Some(first) = first else { panic!("what can be changed has an id") };
        let replacing = |said: &str| Outgoing { replaces: Some(first.clone()), ..text(&chat, said) };
        let (id, requests) = sent(kit, &replacing("the answer")).await;
        assert_eq!((id.as_ref(), requests), (Some(&first), 1));
        // It stands so already: that is no failure.
        let (id, _) = sent(kit, &replacing("the answer")).await;
        assert_eq!(id.as_ref(), Some(&first));
        let there: Vec<String> = standing(kit, &chat).into_iter().map(|seen| seen.text).collect();
        assert_eq!(there, ["the answer"]);
        let deleted = Happening::Deleted { chat: chat.clone(), message_id: first.clone() };
        if kit.bench.happen(&deleted).is_some() {
            let (id, _) = sent(kit, &replacing("the answer at last")).await;
            assert_ne!(id.as_ref(), Some(&first));
            let there: Vec<String> = standing(kit, &chat).into_iter().map(|seen| seen.text).collect();
            assert_eq!(there, ["the answer at last"]);
        }
    })
}

fn keyed<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        if !kit.bench.platform().capabilities().keyed {
            return;
        }
        let chat = kit.any_chat();
        let (first, _) = sent(kit, &text(&chat, "said once")).await;
        let (again, _) = sent(kit, &text(&chat, "said once")).await;
        assert_eq!((standing(kit, &chat).len(), again), (1, first));
        // Cut before the answer: the same key shows it once all the same.
        if failed(kit, &chat, Fault::CutBeforeAnswer).await.is_some() {
            sent(kit, &text(&chat, "something to say")).await;
            assert_eq!(standing(kit, &chat).len(), 2);
        }
    })
}

fn markup<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        if !kit.bench.fail(Fault::MarkupRefused) {
            return;
        }
        let chat = kit.any_chat();
        let written = Written { text: "with markup".to_owned(), plain: "without any".to_owned() };
        let outgoing = Outgoing { content: Say::Text(written), ..text(&chat, "") };
        let (id, requests) = sent(kit, &outgoing).await;
        let there = standing(kit, &chat);
        let [seen] = there.as_slice() else { panic!("not one message: {there:?}") };
        assert_eq!((seen.text.as_str(), requests), ("without any", 2));
        assert_eq!(id.as_ref().unwrap_or(&seen.message_id), &seen.message_id);
    })
}

fn rate_limit<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let (chat, after) = (kit.any_chat(), Duration::from_secs(7));
        let Some((failure, requests)) = failed(kit, &chat, Fault::RateLimited { after }).await else {
            return;
        };
        assert_eq!((failure.class, requests), (DeliveryFailure::RateLimited, 1), "{failure:?}");
        let told = failure.retry_after.unwrap_or_default();
        assert!(told >= after && told <= after + Duration::from_secs(1), "{told:?}");
        assert_eq!(standing(kit, &chat), []);
        sent(kit, &text(&chat, "something to say")).await;
        assert_eq!(standing(kit, &chat).len(), 1);
    })
}

fn gone<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        for fault in [Fault::Blocked, Fault::ChatGone] {
            let Some((failure, requests)) = failed(kit, &kit.any_chat(), fault).await else { continue };
            assert_eq!((failure.class, failure.retry_after), (DeliveryFailure::Gone, None), "{failure:?}");
            assert_eq!(requests, 1, "{fault:?}");
        }
    })
}

fn server_error<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let chat = kit.any_chat();
        let Some((failure, requests)) = failed(kit, &chat, Fault::ServerError).await else { return };
        let open = [DeliveryFailure::Unknown, DeliveryFailure::Unreachable];
        assert!(open.contains(&failure.class) && failure.retry_after.is_some(), "{failure:?}");
        assert_eq!((requests, standing(kit, &chat).len()), (1, 0), "no second try");
    })
}

fn cut<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let chat = kit.any_chat();
        let Some((failure, requests)) = failed(kit, &chat, Fault::CutBeforeAnswer).await else { return };
        assert_eq!(failure.class, DeliveryFailure::Unknown, "{failure:?}");
        // A time-out that may have been a success, retried, gave people nine copies; a person decides.
        let keyed = kit.bench.platform().capabilities().keyed;
        assert!(keyed || failure.retry_after.is_none(), "it may have arrived: {failure:?}");
        assert_eq!((requests, standing(kit, &chat).len()), (1, 1), "no second try");
    })
}

fn unreachable<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let chat = kit.any_chat();
        let Some((failure, requests)) = failed(kit, &chat, Fault::Unreachable).await else { return };
        assert_eq!((failure.class, requests), (DeliveryFailure::Unreachable, 0), "{failure:?}");
        assert!(failure.retry_after.is_some(), "{failure:?}");
        kit.bench.heal();
        sent(kit, &text(&chat, "something to say")).await;
        assert_eq!(standing(kit, &chat).len(), 1);
    })
}

fn slow<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let chat = kit.any_chat();
        if kit.bench.fail(Fault::Delayed(Duration::from_millis(400))) {
            let (_, requests) = sent(kit, &text(&chat, "in good time")).await;
            assert_eq!((requests, standing(kit, &chat).len()), (1, 1));
        }
    })
}
