//! What an adapter lives through: cuts, absence, a bad account, being stopped.

use super::incoming::MEDIA_BYTES_MAX;
use super::sending::text;
use super::{Check, Desk, Fault, Kit, Running, Said, Trial, eventually};
use crate::platforms::Stopped;

pub(super) const CHECKS: &[Check] = &[
    ("a connection that is cut loses nothing", cut),
    ("a platform that cannot be reached for a while loses nothing", away),
    ("what was said while herm was away comes in when it is back", missed),
    ("a bad account is an end, with a fix and without the secret", bad_account),
    ("who it is can be asked", probe),
    ("a stop ends it whatever it does", stopping),
];

fn cut<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        const ROUNDS: usize = 4;
        let desk = Desk::new(MEDIA_BYTES_MAX);
        let running = Running::start(kit.bench.platform(), &desk);
        let chat = kit.any_chat();
        let mut all = Vec::new();
        for round in 0..ROUNDS {
            for when in ["before", "after"] {
                let said = format!("round {round} {when} the cut");
                kit.say(Said::new(&chat, said.as_str()));
                all.push(said);
                if when == "before" && !kit.bench.fail(Fault::Cut) {
                    return running.stop().await;
                }
            }
            eventually("both", || (desk.texts(&chat).len() >= all.len()).then_some(())).await;
        }
        assert_eq!(desk.texts(&chat), all);
        running.stop().await;
    })
}

fn away<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let desk = Desk::new(MEDIA_BYTES_MAX);
        let platform = kit.bench.platform();
        let running = Running::start(platform.clone(), &desk);
        let chat = kit.any_chat();
        kit.say(Said::new(&chat, "before"));
        desk.message(&chat, "before").await;
        if kit.bench.fail(Fault::Unreachable) {
            kit.say(Said::new(&chat, "between"));
            let failed = platform.probe().await;
            assert!(matches!(failed, Err(Stopped::Transient { .. })), "{failed:?}");
            kit.is_clean(&format!("{failed:?}"));
            kit.bench.heal();
            desk.message(&chat, "between").await;
            kit.say(Said::new(&chat, "behind"));
            desk.message(&chat, "behind").await;
            assert_eq!(desk.texts(&chat), ["before", "between", "behind"]);
        }
        running.stop().await;
    })
}

fn missed<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let desk = Desk::new(MEDIA_BYTES_MAX);
        let running = Running::start(kit.bench.platform(), &desk);
        let chat = kit.any_chat();
        kit.say(Said::new(&chat, "here"));
        desk.message(&chat, "here").await;
        running.stop().await;
        if !kit.bench.keeps_what_is_missed() {
            return;
        }
        kit.say(Said::new(&chat, "missed one"));
        kit.say(Said::new(&chat, "missed another"));
        // The same desk: what herm keeps is still there after a restart.
        let running = Running::start(kit.bench.platform(), &desk);
        desk.message(&chat, "missed another").await;
        assert_eq!(desk.texts(&chat), ["here", "missed one", "missed another"]);
        running.stop().await;
    })
}

fn bad_account<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let chat = kit.any_chat();
        if !kit.bench.fail(Fault::Unauthorised) {
            return;
        }
        let desk = Desk::new(MEDIA_BYTES_MAX);
        let platform = kit.bench.platform();
        let stopped = [
            Running::start(platform.clone(), &desk).gave_up().await,
            match platform.probe().await {
                Err(stopped) => stopped,
                Ok(identity) => panic!("a bad account has an identity: {identity:?}"),
            },
        ];
        for stopped in stopped {
            kit.is_clean(&format!("{stopped:?}"));
            let Stopped::Terminal { message, fix } = stopped else { panic!("no end: {stopped:?}") };
            assert!(!message.is_empty() && !fix.is_empty(), "{message}: {fix}");
        }
        match platform.send(&text(&chat, "into the void")).await {
            Err(failure) => kit.is_clean(&format!("{failure:?}")),
            Ok(id) => panic!("a bad account has sent {id:?}"),
        }
    })
}

fn probe<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        match kit.bench.platform().probe().await {
            Ok(identity) => {
                assert_eq!(identity.id, kit.bench.id_of(super::Who::Herm));
                assert!(!identity.name.is_empty());
            }
            Err(stopped) => panic!("the account does not work: {stopped:?}"),
        }
    })
}

fn stopping<'a>(kit: &'a Kit<'a>) -> Trial<'a> {
    Box::pin(async move {
        let chat = kit.any_chat();
        // At once; while it waits for something; while something is being taken.
        let desk = Desk::new(MEDIA_BYTES_MAX);
        Running::start(kit.bench.platform(), &desk).stop().await;
        let running = Running::start(kit.bench.platform(), &desk);
        kit.say(Said::new(&chat, "it is there"));
        desk.message(&chat, "it is there").await;
        running.stop().await;
        let running = Running::start(kit.bench.platform(), &desk);
        desk.hold();
        let message_id = kit.say(Said::new(&chat, "being taken"));
        eventually("the offer", || (desk.offered(&chat).len() > 1).then_some(())).await;
        running.stop().await;
        assert_ne!(kit.bench.is_acknowledged(&message_id), Some(true), "acknowledged without being taken");
        desk.open();
        if kit.bench.keeps_what_is_missed() {
            let running = Running::start(kit.bench.platform(), &desk);
            desk.message(&chat, "being taken").await;
            running.stop().await;
        }
    })
}
