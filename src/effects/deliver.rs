//! A chunk of an answer goes out.

use herm_replay::log::Log;
use herm_replay::reducer::state::ChunkStatus;
use herm_replay::reducer::{Command, SessionState};
use herm_schema::StreamPos;
use herm_schema::events::Part;

use super::{Outcome, Run, Task};
use crate::delivery::{Content, Parcel};
use crate::runtime::Redact;

pub fn run(intent: StreamPos, delivery: StreamPos, chunk: u16, state: &SessionState, run: Run) -> Task {
    let owed = state.deliveries.get(&delivery).and_then(|planned| {
        let part = planned.chunks.get(usize::from(chunk))?;
        let ChunkStatus::Attempted { possible_repeat, .. } = part.status else {
            return None;
        };
        let first = chunk == 0;
        let parcel = Parcel {
            target: planned.target.clone(),
            session: Some(run.session),
            content: Content::Text(String::new()),
            key: format!("{}-{delivery}-{chunk}", run.session),
            possible_repeat,
            first,
            reply_to: planned.reply_to.clone(),
            replaces: planned.preview.clone().filter(|_| first),
        };
        Some((parcel, part.part.clone()))
    });
    Box::pin(async move {
        let Some((parcel, part)) = owed else {
            return Outcome::Cancelled;
        };
        let parcel = match content(&*run.ports.log, &part, &run.ports.redact) {
            Ok(content) => Parcel { content, ..parcel },
            Err(error) => return Outcome::Fault(error.to_string()),
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

/// What a part of a delivery holds, without secrets.
///
/// # Errors
/// The log does not have the file any more.
pub fn content(log: &dyn Log, part: &Part, redact: &Redact) -> Result<Content, herm_replay::log::Error> {
    Ok(match part {
        Part::Text(text) => Content::Text(redact(text)),
        Part::File(file) => Content::File {
            name: file.name.clone(),
            media_type: file.media_type.clone(),
            bytes: log.blob(file.content)?,
        },
    })
}
