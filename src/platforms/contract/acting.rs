//! What is shown and never owed: typing, posting, changing, taking back, reacting.

use herm_schema::events::ChatRef;

use super::sending::standing;
use super::{Check, Happening, Kit, Said, Trial};
use crate::platforms::{Act, Written};

pub(super) const CHECKS: &[Check] = &[
    ("typing is shown", typing),
    ("a message is posted, changed and taken back", posting),
    ("a reaction is given", reacting),
];

async fn done(kit: &Kit<'_>, act: Act) -> Option<String> {
    match kit.bench.platform().act(&act).await {
        Ok(id) => id,
        Err(failure) => panic!("{act:?} failed: {failure:?}"),
    }
}

fn typing<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let chat = kit.any_chat();
        done(kit, Act::Typing { chat: chat.clone() }).await;
        let shown = kit.bench.record().typing.contains(&chat);
        assert_eq!(shown, kit.bench.platform().capabilities().typing.is_some());
    })
}

fn texts(kit: &Kit<'_>, chat: &ChatRef) -> Vec<String> {
    standing(kit, chat).into_iter().map(|seen| seen.text).collect()
}

fn posting<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let platform = kit.bench.platform();
        let can = platform.capabilities();
        let chat = kit.any_chat();
        let asked = kit.say(Said::new(&chat, "a question"));
        let written = |text: &str| Written::plain(text);
        let post = Act::Post { chat: chat.clone(), text: written("at work"), reply_to: Some(asked) };
        let Some(message_id) = done(kit, post).await else {
            assert!(can.edit_every.is_none(), "what can be changed can be posted");
            return;
        };
        assert_eq!(texts(kit, &chat), ["at work"]);
        if can.edit_every.is_some() {
            for text in ["still at work", "still at work", "done"] {
                let at = (chat.clone(), message_id.clone());
                done(kit, Act::Edit { chat: at.0, message_id: at.1, text: written(text) }).await;
                assert_eq!(texts(kit, &chat), [text]);
            }
        }
        if can.deletes {
            for _ in 0..2 {
                // The second time there is nothing left, which is what was wanted.
                let at = (chat.clone(), message_id.clone());
                done(kit, Act::Delete { chat: at.0, message_id: at.1 }).await;
                assert_eq!(texts(kit, &chat), Vec::<String>::new());
            }
        }
    })
}

fn reacting<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        if !kit.bench.platform().capabilities().reactions {
            return;
        }
        let chat = kit.any_chat();
        let said = Happening::Said(Said::new(&chat, "look at this"));
        let Some(message_id) = kit.bench.happen(&said) else { return };
        let (emoji, at) = ("👀".to_owned(), (chat, message_id.clone()));
        done(kit, Act::React { chat: at.0, message_id: at.1, emoji: emoji.clone() }).await;
        assert!(kit.bench.record().reactions.contains(&(message_id, emoji)));
    })
}
