//! How large the context is, in tokens: what the provider last reported, plus a rough count of
//! what has come since.

use herm_schema::events::{Attachment, CompressionPolicy};

use super::state::*;

/// Bytes of UTF-8 that make a token, roughly.
const BYTES_PER_TOKEN: u64 = 4;
/// What a message costs besides its text.
const TOKENS_PER_ENTRY: u64 = 4;
/// What an image costs, about, with any vendor.
const TOKENS_PER_IMAGE: u64 = 1_600;

/// Size of the next request.
pub fn tokens(state: &SessionState) -> u64 {
    let count = |entries: &[Entry]| entries.iter().map(entry).fold(0, u64::saturating_add);
    let reported = state.context.reported;
    match reported.and_then(|r| Some((r.tokens, state.view.get(r.entries as usize..)?))) {
        Some((tokens, since)) => tokens.saturating_add(count(since)),
        None => fixed(state).saturating_add(count(&state.view)),
    }
}

/// Size of the request as herm counts it, without the provider's help.
pub fn rough(state: &SessionState) -> u64 {
    let view = state.view.iter().map(entry).fold(0, u64::saturating_add);
    fixed(state).saturating_add(view)
}

/// The system prompt and the tools: what no compression can shrink.
fn fixed(state: &SessionState) -> u64 {
    let prompt = state.prompt.map_or(0, |blob| blob.bytes);
    let tools = state.offer.as_ref().map_or(0, |offer| offer.definitions.bytes);
    (prompt.saturating_add(tools)).div_ceil(BYTES_PER_TOKEN)
}

/// Size of one entry.
pub fn entry(entry: &Entry) -> u64 {
    let pictures = |files: &[Attachment]| {
        let images = files.iter().filter(|file| file.media_type.starts_with("image/")).count() as u64;
        images.saturating_mul(BYTES_PER_TOKEN * TOKENS_PER_IMAGE)
    };
    let bytes = match &entry.body {
        Body::User { text, attachments } => (text.len() as u64).saturating_add(pictures(attachments)),
        Body::Summary { text } => text.len() as u64,
        Body::Assistant { message, .. } => {
            let calls = message.calls.iter().map(|call| call.name.len() + call.arguments.0.len() + 16);
            (message.text.len() + calls.sum::<usize>()) as u64
        }
        Body::Result { shown, images, notes, .. } => shown
            .bytes()
            .saturating_add(pictures(images))
            .saturating_add(notes.iter().map(|note| note.len() as u64).sum()),
        Body::Late { asked, shown, images } => {
            (asked.arguments.0.len() as u64).saturating_add(shown.bytes()).saturating_add(pictures(images))
        }
    };
    bytes.div_ceil(BYTES_PER_TOKEN).saturating_add(TOKENS_PER_ENTRY)
}

/// Tokens that a request may hold beside the answer.
pub fn room(state: &SessionState) -> u64 {
    state.choice().map_or(u64::MAX, |model| {
        u64::from(model.context_window_tokens.saturating_sub(model.output_tokens_max))
    })
}

/// Size at which compression starts.
pub fn threshold(state: &SessionState) -> u64 {
    let percent = state.policy.as_ref().map_or(100, |policy| u64::from(policy.compression.threshold_percent));
    room(state).saturating_mul(percent) / 100
}

/// Whether the context is to be compressed before the next model call.
pub fn wants_compression(state: &SessionState, policy: &CompressionPolicy) -> bool {
    let many = policy.messages_max > 0 && state.view.len() as u64 > u64::from(policy.messages_max);
    policy.enabled
        && state.context.attempts < policy.attempts_max
        && state.context.ineffective < INEFFECTIVE_MAX
        && (many || tokens(state) > threshold(state))
}

/// Compressions in a row that gained nothing, after which none is tried until a count shows room.
pub const INEFFECTIVE_MAX: u32 = 2;
