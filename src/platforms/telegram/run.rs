//! Reading by long poll: the offset goes past an update when it and all before it were taken.
//!
//! Telegram keeps the offset: what was not asked past comes again, after a restart as well, for a day.
//! `drop_pending_updates` is never said.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::api::{CALL_MAX, Failed};
use super::inbound::{self, Unit};
use super::wire::{ALLOWED_UPDATES, GetUpdates, Nothing, Update, User};
use super::{Telegram, media, refusal};
use crate::platforms::{Inlet, Stopped};

/// How long Telegram waits for something to happen before it answers that nothing did.
const POLL: Duration = Duration::from_secs(25);
/// How much longer an answer may take.
const POLL_GRACE: Duration = Duration::from_secs(10);
/// Updates in one poll; the most that there can be.
const UPDATES_MAX: u32 = 100;
/// How long the last offset may take to be told when herm stops.
const FAREWELL_MAX: Duration = Duration::from_secs(1);

/// Reads until `stop`.
pub(super) async fn poll(
    telegram: &Telegram,
    inlet: &dyn Inlet,
    stop: &CancellationToken,
) -> Result<(), Stopped> {
    let ended = tokio::select! {
        biased;
        () = stop.cancelled() => Ok(()),
        ended = read(telegram, inlet) => ended,
    };
    if ended.is_ok() {
        // What was taken does not have to come again; if this is lost, it is known when it does.
        let _ = timeout(FAREWELL_MAX, updates(telegram, 1, Duration::ZERO)).await;
    }
    ended
}

async fn read(telegram: &Telegram, inlet: &dyn Inlet) -> Result<(), Stopped> {
    let me = telegram.me().await.map_err(refusal::of_account)?;
    loop {
        let updates = match updates(telegram, UPDATES_MAX, POLL).await {
            Ok(updates) => updates,
            Err(failed) if refusal::is_webhook_set(&failed) => {
                // Without `drop_pending_updates`, so nothing is lost.
                let gone: Result<IgnoredAny, Failed> =
                    telegram.api.call("deleteWebhook", &Nothing {}, CALL_MAX).await;
                gone.map_err(refusal::of_account)?;
                continue;
            }
            Err(failed) => return Err(refusal::of_account(failed)),
        };
        take(telegram, inlet, me, updates).await?;
    }
}

async fn updates(telegram: &Telegram, limit: u32, wait: Duration) -> Result<Vec<Value>, Failed> {
    // 0 before the first update: then Telegram begins with the first that it still has.
    let offset = Some(telegram.offset.load(Ordering::Acquire)).filter(|offset| *offset > 0);
    let timeout = wait.as_secs();
    let request = GetUpdates { offset, limit, timeout, allowed_updates: ALLOWED_UPDATES };
    telegram.api.call("getUpdates", &request, wait + POLL_GRACE).await
}

async fn take(telegram: &Telegram, inlet: &dyn Inlet, me: &User, updates: Vec<Value>) -> Result<(), Stopped> {
    let units = inbound::units(updates.into_iter().filter_map(|update| decoded(update, me)).collect());
    for (index, unit) in units.iter().enumerate() {
        if let Err(stopped) = take_unit(telegram, inlet, unit).await {
            if let Some(offset) = inbound::offset_before(&units, index) {
                telegram.offset.fetch_max(offset, Ordering::AcqRel);
            }
            return Err(stopped);
        }
        // A stop may come while the next one is being taken.
        let next = inbound::offset_before(&units, index + 1).unwrap_or(unit.last.saturating_add(1));
        telegram.offset.fetch_max(next, Ordering::AcqRel);
    }
    let last = units.iter().map(|unit| unit.last).max();
    if let Some(last) = last {
        telegram.offset.fetch_max(last.saturating_add(1), Ordering::AcqRel);
    }
    Ok(())
}

async fn take_unit(telegram: &Telegram, inlet: &dyn Inlet, unit: &Unit) -> Result<(), Stopped> {
    for came in &unit.came {
        let inbound = media::filled(&telegram.api, came.clone(), inlet.media_bytes_max()).await;
        inlet
            .take(inbound)
            .await
            .map_err(|not_now| Stopped::Transient { message: not_now.to_string(), retry_after: None })?;
    }
    Ok(())
}

/// An update that cannot be read will not be readable the next time either: it is passed over.
fn decoded(update: Value, me: &User) -> Option<(i64, Vec<inbound::Came>)> {
    let id = update.get("update_id").and_then(Value::as_i64)?;
    match serde_json::from_value::<Update>(update) {
        Ok(update) => Some((id, inbound::read(update, me))),
        Err(_) => {
            tracing::warn!(update_id = id, "an update of Telegram's cannot be read and is passed over");
            Some((id, Vec::new()))
        }
    }
}
