//! A platform that remembers what the person saw.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use herm::delivery::{Format, Limit, Markup, Outlet, Parcel, Unit, Way};
use herm::platforms::SendFailure;
use herm::providers::BoxFuture;
use herm_schema::events::{ChatRef, DeliveryFailure};

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
    fn show(&self, parcel: &Parcel) {
        let mut ground = self.ground.lock().unwrap_or_else(PoisonError::into_inner);
        let known = ground.seen.iter().any(|seen| seen.key == parcel.key);
        if !(self.keyed && known) {
            let (key, text) = (parcel.key.clone(), parcel.text().to_owned());
            ground.seen.push(Seen { key, text, marked: parcel.possible_repeat });
        }
    }
}

impl Outlet for RecordingPlatform {
    fn way(&self, _: &ChatRef) -> Way {
        let limit = self.message_chars_max.map(|max| Limit { max, unit: Unit::Chars });
        Way { format: Format { markup: Markup::Source, limit }, keyed: self.keyed }
    }

    fn send<'a>(&'a self, parcel: &'a Parcel) -> BoxFuture<'a, Result<Option<String>, SendFailure>> {
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
                Some(SendTrouble::LostReceipt | SendTrouble::PanicAfter) | None => self.show(parcel),
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            match trouble {
                Some(SendTrouble::PanicAfter) => panic!("the platform panics"),
                Some(SendTrouble::LostReceipt) => failed(DeliveryFailure::Unknown, soon),
                _ => Ok(Some(parcel.key.clone())),
            }
        })
    }
}
