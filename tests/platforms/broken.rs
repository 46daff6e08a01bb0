//! The contract kit finds what is wrong: adapters that each break one promise do not pass.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use herm::platforms::contract::{self, Bench, Fault, Happening, Record, Who};
use herm::platforms::{
    Act, Capabilities, Identity, Inbound, Inlet, NotNow, Outgoing, Platform, SendFailure, Stopped, Taken,
};
use herm::providers::BoxFuture;
use herm_schema::events::{ChatKind, ChatRef, DeliveryFailure};
use tokio_util::sync::CancellationToken;

use crate::doubles::telegram::{Double, TOKEN};

/// What an adapter does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Nothing,
    /// It sends twice.
    Repeats,
    /// It acknowledges before a message was taken.
    Early,
    /// It makes ids of its own.
    OwnIds,
    /// It says "not sent" where nobody knows.
    Sure,
    /// It waits for what it does before it stops.
    Deaf,
    /// It tells its token.
    Tells,
    /// It marks everything as from people.
    Blind,
}

struct Broken {
    inner: Arc<dyn Platform>,
    wrong: Wrong,
}

struct Between<'a> {
    inner: &'a dyn Inlet,
    wrong: Wrong,
}

/// Numbers for ids of its own.
static COUNT: AtomicUsize = AtomicUsize::new(0);

impl Inlet for Between<'_> {
    fn take(&self, mut inbound: Inbound) -> BoxFuture<'_, Result<Taken, NotNow>> {
        match self.wrong {
            Wrong::OwnIds => inbound.id = COUNT.fetch_add(1, Ordering::Relaxed).to_string(),
            Wrong::Blind => (inbound.author.ours, inbound.author.bot) = (false, false),
            _ => {}
        }
        let take = self.inner.take(inbound);
        match self.wrong {
            Wrong::Early => {
                let taken = take.now_or_never().unwrap_or(Ok(Taken::Recorded));
                Box::pin(async { taken })
            }
            _ => take,
        }
    }

    fn media_bytes_max(&self) -> u64 {
        self.inner.media_bytes_max()
    }

    fn cursor(&self) -> Option<String> {
        self.inner.cursor()
    }

    fn advance(&self, cursor: String) -> BoxFuture<'_, Result<(), NotNow>> {
        self.inner.advance(cursor)
    }
}

impl Platform for Broken {
    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn run<'a>(
        &'a self,
        inlet: &'a dyn Inlet,
        stop: CancellationToken,
    ) -> BoxFuture<'a, Result<(), Stopped>> {
        Box::pin(async move {
            let between = Between { inner: inlet, wrong: self.wrong };
            let stop = if self.wrong == Wrong::Deaf { CancellationToken::new() } else { stop };
            self.inner.run(&between, stop).await
        })
    }

    fn send<'a>(&'a self, outgoing: &'a Outgoing) -> BoxFuture<'a, Result<Option<String>, SendFailure>> {
        Box::pin(async move {
            let mut sent = self.inner.send(outgoing).await;
            if self.wrong == Wrong::Repeats {
                sent = self.inner.send(outgoing).await;
            }
            sent.map_err(|mut failure| {
                match self.wrong {
                    Wrong::Sure if failure.class == DeliveryFailure::Unknown => {
                        failure.class = DeliveryFailure::Unreachable;
                    }
                    Wrong::Tells => failure.message.push_str(TOKEN),
                    _ => {}
                }
                failure
            })
        })
    }

    fn act<'a>(&'a self, act: &'a Act) -> BoxFuture<'a, Result<Option<String>, SendFailure>> {
        self.inner.act(act)
    }

    fn probe(&self) -> BoxFuture<'_, Result<Identity, Stopped>> {
        self.inner.probe()
    }
}

struct BrokenBench {
    double: Double,
    wrong: Wrong,
}

impl Bench for BrokenBench {
    fn platform(&self) -> Arc<dyn Platform> {
        Arc::new(Broken { inner: self.double.platform(), wrong: self.wrong })
    }

    fn secrets(&self) -> Vec<String> {
        self.double.secrets()
    }

    fn id_of(&self, who: Who) -> String {
        self.double.id_of(who)
    }

    fn chat(&self, kind: ChatKind, number: usize) -> Option<ChatRef> {
        self.double.chat(kind, number)
    }

    fn happen(&self, happening: &Happening) -> Option<String> {
        self.double.happen(happening)
    }

    fn is_acknowledged(&self, message_id: &str) -> Option<bool> {
        self.double.is_acknowledged(message_id)
    }

    fn record(&self) -> Record {
        self.double.record()
    }

    fn fail(&self, fault: Fault) -> bool {
        self.double.fail(fault)
    }

    fn heal(&self) {
        self.double.heal();
    }
}

/// What the kit says of an adapter that does this wrong; nothing if it passes.
async fn verdict(wrong: Wrong) -> Option<String> {
    let bench = BrokenBench { double: Double::start(), wrong };
    let checked = tokio::spawn(async move { contract::check(&bench).await }).await;
    let panic = checked.err()?.into_panic();
    let text = panic.downcast_ref::<String>().cloned();
    Some(text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap())
}

#[tokio::test]
async fn the_kit_finds_each_broken_promise() {
    assert_eq!(verdict(Wrong::Nothing).await, None);
    for (wrong, said) in [
        (Wrong::Repeats, "not one message"),
        (Wrong::Early, "acknowledged before it was taken"),
        (Wrong::OwnIds, "left: 3"),
        (Wrong::Sure, "Unreachable"),
        (Wrong::Deaf, "`stop` took longer"),
        (Wrong::Tells, "a secret is in a text"),
        (Wrong::Blind, "own words"),
    ] {
        let verdict = verdict(wrong).await.unwrap_or_else(|| panic!("{wrong:?} passes"));
        assert!(verdict.contains(said), "{wrong:?}: {verdict}");
        assert!(!verdict.contains(TOKEN), "the kit repeats no secret");
    }
}
