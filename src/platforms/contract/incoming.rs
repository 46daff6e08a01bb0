//! What comes in: once, from whom, where, in order, acknowledged when it was taken.

use herm_schema::events::{ChatKind, ChatRef};

use super::{Check, Desk, Happening, Kit, Running, Said, Trial, Who, eventually, never};
use crate::platforms::What;

pub(super) const CHECKS: &[Check] = &[
    ("what is said comes in once, with who, where and when", once),
    ("own words are marked as ours, those of programs as a bot's", marks),
    ("what is redelivered has the id that it had", redelivered),
    ("nothing is acknowledged before it was taken", acknowledged),
    ("what was not taken comes again", not_now),
    ("each chat keeps its order", order),
];

/// Bytes of a file that the checks let in.
pub(super) const MEDIA_BYTES_MAX: u64 = 1000;

fn once<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let desk = Desk::new(MEDIA_BYTES_MAX);
        let platform = kit.bench.platform();
        let name = platform.capabilities().name;
        let running = Running::start(platform, &desk);
        for kind in [ChatKind::Direct, ChatKind::Group, ChatKind::Channel] {
            let Some(chat) = kit.chat(kind) else { continue };
            assert_eq!(chat.platform, name, "places are named after the platform");
            let message_id = kit.say(Said::new(&chat, "hello from a person"));
            let (inbound, message) = desk.message(&chat, "hello from a person").await;
            assert_eq!(message.message_id, message_id);
            assert_eq!((inbound.chat.kind, &inbound.chat.place), (kind, &chat));
            assert!(!inbound.id.is_empty());
            assert!(inbound.at.is_some(), "when it was said");
            let author = inbound.author;
            // In a channel it may be the channel itself that speaks.
            if kind != ChatKind::Channel {
                assert_eq!(author.id, kit.bench.id_of(Who::Person(0)));
            }
            assert!(!author.ours && !author.bot, "{author:?}");
            assert!(message.media.is_empty() && message.reply.is_none());
            let who = if kind == ChatKind::Direct { Who::Person(0) } else { Who::Person(1) };
            kit.say(Said { who, ..Said::new(&chat, "and once more") });
            desk.message(&chat, "and once more").await;
            assert_eq!(desk.offered(&chat).len(), 2, "each came once");
        }
        running.stop().await;
    })
}

fn marks<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let desk = Desk::new(MEDIA_BYTES_MAX);
        let running = Running::start(kit.bench.platform(), &desk);
        let chat = kit.chat(ChatKind::Group).unwrap_or_else(|| kit.any_chat());
        for (who, text) in [(Who::Herm, "own words"), (Who::Bot, "words of a program")] {
            let said = Said { who, ..Said::new(&chat, text) };
            // A platform may keep these from herm altogether.
            kit.bench.happen(&Happening::Said(said));
        }
        kit.say(Said::new(&chat, "words of a person"));
        desk.message(&chat, "words of a person").await;
        for inbound in desk.of(&chat) {
            let is_of = |who| inbound.author.id == kit.bench.id_of(who);
            assert_eq!(inbound.author.ours, is_of(Who::Herm), "own words are marked: {inbound:?}");
            assert!(inbound.author.bot || !is_of(Who::Bot), "{inbound:?}");
        }
        running.stop().await;
    })
}

fn redelivered<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let desk = Desk::new(MEDIA_BYTES_MAX);
        let running = Running::start(kit.bench.platform(), &desk);
        let chat = kit.any_chat();
        let message_id = kit.say(Said::new(&chat, "said once"));
        desk.message(&chat, "said once").await;
        if kit.bench.happen(&Happening::Redelivered { message_id }).is_some() {
            kit.say(Said::new(&chat, "said later"));
            desk.message(&chat, "said later").await;
            // Either the adapter knew it, or it has the id by which the pipeline knows it.
            assert_eq!(desk.texts(&chat).len(), 2, "{:?}", desk.offered(&chat));
        }
        running.stop().await;
    })
}

/// Waits until the platform counts a message as read, if it counts.
async fn counted(kit: &Kit<'_>, message_id: &str) {
    eventually("the acknowledgement", || {
        (kit.bench.is_acknowledged(message_id) != Some(false)).then_some(())
    })
    .await;
}

fn acknowledged<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let desk = Desk::new(MEDIA_BYTES_MAX);
        let running = Running::start(kit.bench.platform(), &desk);
        let chat = kit.any_chat();
        desk.hold();
        let first = kit.say(Said::new(&chat, "the first"));
        let second = kit.say(Said::new(&chat, "the second"));
        eventually("the offer", || (!desk.offered(&chat).is_empty()).then_some(())).await;
        let early = || [&first, &second].into_iter().find(|id| kit.bench.is_acknowledged(id) == Some(true));
        never("acknowledged before it was taken", early).await;
        desk.open();
        desk.message(&chat, "the second").await;
        counted(kit, &first).await;
        counted(kit, &second).await;
        running.stop().await;
    })
}

fn not_now<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let desk = Desk::new(MEDIA_BYTES_MAX);
        let running = Running::start(kit.bench.platform(), &desk);
        let chat = kit.any_chat();
        kit.say(Said::new(&chat, "before"));
        desk.message(&chat, "before").await;
        desk.refuse(2);
        let refused = kit.say(Said::new(&chat, "refused at first"));
        eventually("two refusals", || {
            let offered = desk.offered(&chat);
            (offered.iter().filter(|(_, accepted)| !accepted).count() == 2).then_some(())
        })
        .await;
        kit.say(Said::new(&chat, "after"));
        desk.message(&chat, "after").await;
        assert_eq!(desk.texts(&chat), ["before", "refused at first", "after"], "in their order");
        counted(kit, &refused).await;
        let ids: Vec<String> =
            desk.offered(&chat).into_iter().filter(|(_, taken)| !taken).map(|(id, _)| id).collect();
        let taken = desk.of(&chat);
        assert!(
            ids.iter().all(|id| taken.iter().any(|inbound| inbound.id == *id)),
            "it came again under the id that it had"
        );
        running.stop().await;
        assert!(taken.iter().all(|inbound| matches!(inbound.what, What::Message(_))));
    })
}

fn order<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        const MESSAGES: usize = 20;
        let desk = Desk::new(MEDIA_BYTES_MAX);
        let running = Running::start(kit.bench.platform(), &desk);
        let chats: Vec<ChatRef> = (0..3).map(|_| kit.any_chat()).collect();
        let text = |number: usize| format!("number {number} of them");
        for number in 0..MESSAGES {
            for chat in &chats {
                kit.say(Said::new(chat, text(number)));
            }
        }
        let all: Vec<String> = (0..MESSAGES).map(text).collect();
        for chat in &chats {
            eventually("all of them", || (desk.texts(chat).len() >= MESSAGES).then_some(())).await;
            assert_eq!(desk.texts(chat), all);
        }
        running.stop().await;
    })
}
