//! A chunk of an answer goes out.

use herm_replay::reducer::state::ChunkStatus;
use herm_replay::reducer::{Command, SessionState};
use herm_schema::StreamPos;

use super::{Outcome, Run, Task};
use crate::delivery::Parcel;

pub fn run(intent: StreamPos, delivery: StreamPos, chunk: u16, state: &SessionState, run: Run) -> Task {
    let parcel = state.deliveries.get(&delivery).and_then(|planned| {
        let part = planned.chunks.get(usize::from(chunk))?;
        let ChunkStatus::Attempted { possible_repeat, .. } = part.status else {
            return None;
        };
        Some(Parcel {
            target: planned.target.clone(),
            text: (run.ports.redact)(&part.text),
            key: format!("{}-{delivery}-{chunk}", run.session),
            possible_repeat,
        })
    });
    Box::pin(async move {
        let Some(parcel) = parcel else {
            return Outcome::Cancelled;
        };
        let command = match run.ports.outlet.send(&parcel).await {
            Ok(platform_message_id) => Command::Delivered { intent, platform_message_id },
            Err(failure) => {
                let now = run.ports.clock.now();
                let micros = |wait: std::time::Duration| u64::try_from(wait.as_micros()).unwrap_or(u64::MAX);
                Command::DeliveryFailed {
                    intent,
                    class: failure.class,
                    message: (run.ports.redact)(&failure.message),
                    retry_at: failure.retry_after.map(|wait| now.plus(micros(wait))),
                }
            }
        };
        Outcome::Command(command)
    })
}
