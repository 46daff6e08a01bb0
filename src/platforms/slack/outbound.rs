//! What herm says, as calls of the Web API: one request, and a second only after a certain refusal.
//!
//! Source: docs.slack.dev, "chat.postMessage", "chat.update", "Blocks".

use herm_schema::events::ChatRef;
use serde_json::{Value, json};

use super::api::Failed;
use super::wire::{Sent, Written};
use super::{Slack, inbound, mrkdwn, refusal, upload};
use crate::platforms::{Button, Outgoing, Say, SendFailure, Written as Text};

/// Longest text of a section, in characters; and sections beside the row of buttons.
const SECTION_CHARS_MAX: usize = 3000;
const SECTIONS_MAX: usize = 49;
/// Longest label, in characters; and buttons in a row.
const LABEL_CHARS_MAX: usize = 75;
const BUTTONS_MAX: usize = 25;

/// Sends a chunk; the id of the message, where Slack tells it.
pub(super) async fn send(slack: &Slack, outgoing: &Outgoing) -> Result<Option<String>, SendFailure> {
    match &outgoing.content {
        Say::Text(written) => text(slack, outgoing, written).await.map(Some).map_err(refusal::of_message),
        Say::File { name, bytes, .. } => upload::send(slack, outgoing, name, bytes).await,
    }
}

async fn text(slack: &Slack, outgoing: &Outgoing, written: &Text) -> Result<String, Failed> {
    if let Some(standing) = outgoing.replaces.as_deref() {
        let changed = change(slack, &outgoing.target, standing, written, &outgoing.buttons).await;
        match changed {
            Err(failed) if refusal::is_message_gone(&failed) => {}
            Err(failed) => return Err(failed),
            Ok(()) => return Ok(standing.to_owned()),
        }
    }
    post(slack, &outgoing.target, written, outgoing.reply_to.as_deref(), &outgoing.buttons).await
}

/// In which thread it is said, and whether it is shown in the conversation as well. Slack shows an answer
/// below what it answers; whoever reads the conversation shall see it all the same.
pub(super) fn thread<'a>(chat: &'a ChatRef, reply_to: Option<&'a str>) -> (Option<&'a str>, bool) {
    match chat.thread.as_deref() {
        Some(thread) => (Some(thread), false),
        None => {
            let answered = reply_to.filter(|id| inbound::is_ts(id));
            (answered, answered.is_some())
        }
    }
}

/// Sends a new message.
pub(super) async fn post(
    slack: &Slack,
    chat: &ChatRef,
    written: &Text,
    reply_to: Option<&str>,
    buttons: &[Button],
) -> Result<String, Failed> {
    let text = marked(written);
    let (thread_ts, reply_broadcast) = thread(chat, reply_to);
    let blocks = (!buttons.is_empty()).then(|| blocks(&text, buttons));
    let body = Written { channel: &chat.chat, ts: None, text: &text, thread_ts, reply_broadcast, blocks };
    let sent: Result<Sent, Failed> = slack.api.post("chat.postMessage", &body).await;
    match sent {
        // What it answers is gone by now: it is said all the same, and nothing was sent yet.
        Err(failed) if reply_broadcast && refusal::is_unanswerable(&failed) => {
            let body = Written { thread_ts: None, reply_broadcast: false, ..body };
            slack.api.post::<Sent>("chat.postMessage", &body).await.map(|sent| sent.ts)
        }
        sent => sent.map(|sent| sent.ts),
    }
}

/// Gives a message another text and other buttons.
pub(super) async fn change(
    slack: &Slack,
    chat: &ChatRef,
    message_id: &str,
    written: &Text,
    buttons: &[Button],
) -> Result<(), Failed> {
    let text = marked(written);
    let blocks = if buttons.is_empty() { Vec::new() } else { blocks(&text, buttons) };
    set(slack, &chat.chat, message_id, &text, blocks).await
}

/// As [`change`], with what Slack's markup and blocks are to be.
pub(super) async fn set(
    slack: &Slack,
    channel: &str,
    message_id: &str,
    text: &str,
    blocks: Vec<Value>,
) -> Result<(), Failed> {
    let body = Written {
        channel,
        ts: Some(message_id),
        text,
        thread_ts: None,
        reply_broadcast: false,
        blocks: Some(blocks),
    };
    slack.api.post::<Sent>("chat.update", &body).await.map(|_| ())
}

/// The text in Slack's markup. Where both forms are the same nothing is markup, and what looks like a
/// control sequence is none.
pub(super) fn marked(written: &Text) -> String {
    match written.text == written.plain {
        true => mrkdwn::escaped(&written.plain),
        false => written.text.clone(),
    }
}

fn blocks(text: &str, buttons: &[Button]) -> Vec<Value> {
    let section = |text: String| json!({"type": "section", "text": {"type": "mrkdwn", "text": text}});
    let mut blocks: Vec<Value> = pieces(text).into_iter().take(SECTIONS_MAX).map(section).collect();
    let keys = buttons.iter().take(BUTTONS_MAX).enumerate().map(|(index, button)| {
        let label: String = button.label.chars().take(LABEL_CHARS_MAX).collect();
        json!({
            "type": "button", "action_id": format!("herm-{index}"), "value": button.data,
            "text": {"type": "plain_text", "text": label, "emoji": true},
        })
    });
    blocks.push(json!({"type": "actions", "elements": keys.collect::<Vec<_>>()}));
    blocks
}

/// The text in pieces that fit into sections, cut at the ends of lines where there are some.
fn pieces(text: &str) -> Vec<String> {
    let (mut pieces, mut piece, mut chars) = (Vec::new(), String::new(), 0);
    for line in text.split_inclusive('\n') {
        let count = line.chars().count();
        if chars + count > SECTION_CHARS_MAX && chars > 0 {
            pieces.push(std::mem::take(&mut piece));
            chars = 0;
        }
        for char in line.chars() {
            if chars == SECTION_CHARS_MAX {
                pieces.push(std::mem::take(&mut piece));
                chars = 0;
            }
            piece.push(char);
            chars += 1;
        }
    }
    pieces.push(piece);
    pieces.retain(|piece| !piece.trim().is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_into_sections_and_nothing_is_lost() {
        let lines = "a line of words\n".repeat(400);
        let long = format!("{lines}{}", "ü".repeat(7000));
        let pieces = pieces(&long);
        assert_eq!(pieces.concat(), long);
        assert!(pieces.iter().all(|piece| piece.chars().count() <= SECTION_CHARS_MAX));
        assert!(pieces[0].ends_with('\n'));
    }

    #[test]
    fn what_is_no_markup_is_escaped_and_what_is_markup_is_not() {
        assert_eq!(marked(&Text::plain("<!channel> & co")), "&lt;!channel&gt; &amp; co");
        let written = Text { text: "*bold* &amp; <https://x.org|x>".into(), plain: "bold & x".into() };
        assert_eq!(marked(&written), written.text);
    }

    #[test]
    fn an_answer_is_in_the_thread_and_only_a_message_can_be_answered() {
        let chat = ChatRef { platform: "slack".into(), chat: "C1".into(), thread: None };
        let threaded = ChatRef { thread: Some("1.000001".into()), ..chat.clone() };
        assert_eq!(thread(&chat, None), (None, false));
        assert_eq!(thread(&chat, Some("2.000002")), (Some("2.000002"), true));
        assert_eq!(thread(&chat, Some("398738663015.47445629121.803a0b")), (None, false));
        assert_eq!(thread(&threaded, Some("2.000002")), (Some("1.000001"), false));
    }
}
