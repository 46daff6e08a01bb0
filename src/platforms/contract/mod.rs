//! The contract kit: what every platform must do, run over each of them against its double.
//!
//! # What the author of a platform has to know
//!
//! An adapter is a folder `platforms/NAME/` and a row of [`super::table::PLATFORMS`]; its double is
//! `tests/platforms/doubles/NAME.rs`, a server on loopback that speaks the platform's own wire protocol:
//! its long poll, its web socket, its limits, its errors. The double implements [`Bench`], a test of a
//! line calls [`check`], and when that passes the adapter is done, but for what is special to its
//! platform: markup, entities, threads. Take `telegram` for an example.
//!
//! What the kit holds an adapter to:
//!
//! * **In.** Everything comes in once, with the platform's own id ([`super::Inbound::id`], the same when it is
//!   redelivered), with the author, place and kind that the platform vouches for; own words marked
//!   `ours`, those of programs `bot`; in the order of the chat. Files are fetched up to
//!   [`super::Inlet::media_bytes_max`], larger ones are [`super::Content::Left`] and say so.
//! * **Acknowledged** is only what [`super::Inlet::take`] returned `Ok` for, in whatever way the platform has:
//!   an offset, an answer to a frame, a mark, or a cursor that herm keeps ([`super::Inlet::advance`]). After
//!   `Err` the adapter does not go past it: it leaves `run` with [`super::Stopped::Transient`], or waits and
//!   reads it anew. It never spins.
//! * **A connection that breaks** is not an end: `run` says `Transient` and is begun again by whoever
//!   runs it, with the same adapter, or the adapter connects again by itself. Nothing is lost between.
//!   What was said while herm was away is read when it is back, where the platform keeps it.
//! * **A bad account** is [`super::Stopped::Terminal`], with a fix that a person can follow.
//! * **`stop`** ends `run` with `Ok` within [`STOP_MAX`], whatever it is doing.
//! * **Out.** One request for a sending, and never a second try by itself, with two exceptions in which
//!   the first was certainly refused: markup that the platform cannot read is sent plain, and a
//!   message to be replaced that is gone is sent anew.
//! * **Failures** are one of five classes. `RateLimited`: with the time that the platform said.
//!   `Gone`: blocked, removed, no such chat; nothing to retry. `Refused`: this message will never be
//!   taken. `Unreachable`: certainly not sent, retry. `Unknown`: the request was written and no answer
//!   came (without a time: a person decides, unless the platform knows keys), or one that says that the
//!   platform itself failed. A retry that makes sense has a time.
//! * **Secrets** are in no text that leaves the adapter: no error, no `Debug`. An address may hold one;
//!   `platforms/http.rs` builds clients, and says of their errors what they mean without the address.
//! * What [`super::Capabilities`] says that it cannot do is not tried, and nobody will ask for it.
//!
//! # What the author of a double has to know
//!
//! It has a thread and a runtime of its own, so that other tests can run the real binary against it.
//! [`Bench::happen`] returns `None` for what the platform does not have, [`Bench::fail`] `false`; the
//! check is left out then. Every check uses chats of its own ([`Bench::chat`] with rising numbers).

mod acting;
mod bench;
mod desk;
mod incoming;
mod lasting;
mod sending;
mod special;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub use bench::{Bench, Fault, Happening, Record, Said, Seen, Who};
pub use desk::{Desk, Running, eventually, never};

use herm_schema::events::{ChatKind, ChatRef};

/// How long what must come is waited for.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// How long a stop may take.
pub const STOP_MAX: Duration = Duration::from_secs(2);

/// Runs the whole kit.
///
/// # Panics
/// When a promise is not kept; the last line that was printed names it.
pub async fn check(bench: &dyn Bench) {
    let kit = Kit { bench, chats: AtomicUsize::new(0) };
    for (name, promise) in incoming::CHECKS
        .iter()
        .chain(special::CHECKS)
        .chain(lasting::CHECKS)
        .chain(sending::CHECKS)
        .chain(acting::CHECKS)
    {
        println!("promise: {name}");
        promise(&kit).await;
        bench.heal();
    }
}

/// A promise, and how it is tried.
type Check = (&'static str, for<'a> fn(&'a Kit<'a>) -> Trial<'a>);
type Trial<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// What the checks share.
struct Kit<'a> {
    bench: &'a dyn Bench,
    chats: AtomicUsize,
}

impl Kit<'_> {
    /// A chat that no other check uses; `None` if the platform has none of this kind.
    fn chat(&self, kind: ChatKind) -> Option<ChatRef> {
        self.bench.chat(kind, self.chats.fetch_add(1, Ordering::Relaxed))
    }

    /// A chat of the first kind that there is.
    fn any_chat(&self) -> ChatRef {
        let kinds = [ChatKind::Direct, ChatKind::Group, ChatKind::Channel];
        let found = kinds.into_iter().find_map(|kind| self.chat(kind));
        found.unwrap_or_else(|| panic!("the double has no chats at all"))
    }

    fn say(&self, said: Said) -> String {
        let id = self.bench.happen(&Happening::Said(said));
        id.unwrap_or_else(|| panic!("in the double nobody can say this"))
    }

    /// Nothing that must not be seen is in `text`.
    #[track_caller]
    fn is_clean(&self, text: &str) {
        for secret in self.bench.secrets() {
            assert!(!text.contains(&secret), "a secret is in a text: {}", text.replace(&secret, "<SECRET>"));
        }
    }
}
