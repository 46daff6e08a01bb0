//! A file, in three steps: where to put it, putting it, and showing it; only the last is a sending.
//!
//! Source: docs.slack.dev, "files.getUploadURLExternal" and "files.completeUploadExternal".

use herm_schema::events::DeliveryFailure;
use serde_json::Value;

use super::outbound::thread;
use super::wire::{Completed, Upload, UploadUrl, Uploaded};
use super::{FILE_BYTES_MAX, Slack, refusal};
use crate::platforms::{Outgoing, SendFailure};

/// Sends a file; the id of the message, if Slack tells it at once.
pub(super) async fn send(
    slack: &Slack,
    outgoing: &Outgoing,
    name: &str,
    bytes: &[u8],
) -> Result<Option<String>, SendFailure> {
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > FILE_BYTES_MAX {
        let message = format!("the file has {} bytes, over the limit of {FILE_BYTES_MAX}", bytes.len());
        return Err(SendFailure { class: DeliveryFailure::Refused, message, retry_after: None });
    }
    let length = bytes.len().to_string();
    let query = [("filename", name), ("length", length.as_str())];
    let place: UploadUrl =
        slack.api.get("files.getUploadURLExternal", &query).await.map_err(refusal::before_sending)?;
    let put = slack.api.put_file(&place.upload_url, bytes.to_vec()).await;
    put.map_err(refusal::before_sending)?;
    let channel = &outgoing.target.chat;
    let (thread_ts, _) = thread(&outgoing.target, outgoing.reply_to.as_deref());
    let files = [Upload { id: &place.file_id, title: name }];
    let body = Completed { files, channel_id: channel, thread_ts };
    let uploaded: Uploaded =
        slack.api.post("files.completeUploadExternal", &body).await.map_err(refusal::of_message)?;
    Ok(uploaded.files.first().and_then(|file| shown_as(file, channel)))
}

/// The message in which a file is shown: `{"shares": {"public": {"C1": [{"ts": "…"}]}}}`.
fn shown_as(file: &Value, channel: &str) -> Option<String> {
    let shares = file.get("shares")?;
    ["public", "private"].into_iter().find_map(|kind| {
        let share = shares.get(kind)?.get(channel)?.as_array()?.first()?;
        share.get("ts")?.as_str().map(str::to_owned)
    })
}
