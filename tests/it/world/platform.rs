//! A platform that remembers what the person saw.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use herm::platforms::{Capabilities, Outgoing, Platform, SendFailure};
use herm::providers::BoxFuture;
use herm_schema::events::DeliveryFailure;

use super::Ground;

/// A chunk as the person saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub key: String,
    pub text: String,
    /// Marked as a possible repeat.
    pub marked: bool,
}

/// What goes wrong with one sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendTrouble {
    /// Not sent; another attempt makes sense.
    Unreachable,
    /// Not sent, and never will be.
    Gone,
    /// It was sent, but nobody can tell.
    LostReceipt,
    PanicBefore,
    PanicAfter,
}

pub struct RecordingPlatform {
    pub ground: Arc<Mutex<Ground>>,
    pub keyed: bool,
    pub message_chars_max: Option<usize>,
}

impl RecordingPlatform {
    /// With a key a repeat is recognised and not shown.
    fn show(&self, outgoing: &Outgoing) {
        let mut ground = self.ground.lock().unwrap_or_else(PoisonError::into_inner);
        let known = ground.seen.iter().any(|seen| seen.key == outgoing.key);
        if !(self.keyed && known) {
            let (key, text) = (outgoing.key.clone(), outgoing.text.clone());
            ground.seen.push(Seen { key, text, marked: outgoing.possible_repeat });
        }
    }
}

impl Platform for RecordingPlatform {
    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "scripted", keyed: self.keyed, message_chars_max: self.message_chars_max }
    }

    fn send<'a>(&'a self, outgoing: &'a Outgoing) -> BoxFuture<'a, Result<Option<String>, SendFailure>> {
        Box::pin(async move {
            let trouble = {
                let mut ground = self.ground.lock().unwrap_or_else(PoisonError::into_inner);
                ground.send_troubles.pop_front().flatten()
            };
            let failed = |class, retry_after| Err(SendFailure { class, message: "no".into(), retry_after });
            let soon = Some(Duration::from_secs(10));
            tokio::time::sleep(Duration::from_secs(1)).await;
            match trouble {
                Some(SendTrouble::Unreachable) => return failed(DeliveryFailure::Unreachable, soon),
                Some(SendTrouble::Gone) => return failed(DeliveryFailure::Gone, None),
                Some(SendTrouble::PanicBefore) => panic!("the platform panics"),
                Some(SendTrouble::LostReceipt | SendTrouble::PanicAfter) | None => self.show(outgoing),
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            match trouble {
                Some(SendTrouble::PanicAfter) => panic!("the platform panics"),
                Some(SendTrouble::LostReceipt) => failed(DeliveryFailure::Unknown, soon),
                _ => Ok(Some(outgoing.key.clone())),
            }
        })
    }
}
