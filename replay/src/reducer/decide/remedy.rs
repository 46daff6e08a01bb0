//! What is done about a failed model call: the cheapest step that may help. Reads flags, never words.
//!
//! In this order: smaller pictures, a smaller context, a request without what was refused, a short wait, another key
//! of the same provider, another model, a longer wait, nothing.

use herm_schema::StreamPos;
use herm_schema::events::*;

use crate::reducer::command::{Outlook, Route, Stamp};
use crate::reducer::estimate;
use crate::reducer::failure::flags;
use crate::reducer::state::*;

/// A wait that is not worth another key or model.
const SHORT_WAIT_US: u64 = 5 * 1_000_000;
/// A provider that wants to be left alone for longer than this is not waited for within a turn.
const RETRY_AFTER_MAX_US: u64 = 10 * 60 * 1_000_000;
/// Largest side of an image, in pixels, after the first and each further refusal.
const IMAGE_SIDES_PX: [u32; 3] = [1_568, 1_024, 512];

/// The route and the key that the next call goes to: the first that is ready from `from` on. Where
/// all rest, the one at `from` is asked all the same: only its provider knows.
pub fn way(policy: &Policy, turn: &Turn, failed: &[String], outlook: &Outlook) -> (u32, Option<String>) {
    let from = turn.route;
    let last = turn.credential.as_ref();
    let ready = (from..).map_while(|route| Some((route, policy.route(route)?)));
    let mut found =
        ready.filter_map(|(route, choice)| Some((route, key(choice, route, failed, last, outlook)?)));
    found.next().unwrap_or_else(|| {
        let choice = policy.route(from).unwrap_or(&policy.model);
        (from, choice.credentials.first().cloned())
    })
}

/// A key of this route that can be used: the `last` one again where it can, for the sake of the
/// provider's cache. `Some(None)` where none is needed.
fn key(
    choice: &ModelChoice,
    route: u32,
    failed: &[String],
    last: Option<&String>,
    outlook: &Outlook,
) -> Option<Option<String>> {
    let keys = match usize::try_from(route).ok().and_then(|route| outlook.routes.get(route)) {
        Some(Route::Resting { .. }) => return None,
        Some(Route::Ready { credentials }) => credentials,
        None => &choice.credentials,
    };
    if choice.credentials.is_empty() {
        return Some(None);
    }
    let usable = |key: &&String| !failed.contains(key);
    let again = last.filter(|last| keys.contains(last)).filter(usable);
    again.or_else(|| keys.iter().find(usable)).cloned().map(Some)
}

/// What is done about `failure` of the call that is `running`.
pub fn remedy(
    state: &SessionState,
    turn: &Turn,
    running: &ModelIntent,
    failure: &ModelFailure,
    stamp: &Stamp,
) -> FailureAction {
    let Some(policy) = &state.policy else {
        return FailureAction::GiveUp;
    };
    let limits = &policy.limits;
    let flags = flags(failure.class);
    if failure.class == FailureClass::PayloadTooLarge
        && let Some(action) = smaller_images(state)
    {
        return action;
    }
    if flags.should_compress && may_compress(state) {
        return FailureAction::Compress;
    }
    if let Some(action) = without(state, failure.class) {
        return action;
    }
    let wait = backoff(limits, turn.route_attempts, stamp.seed).max(failure.retry_after_us.unwrap_or(0));
    // What comes after the turn's time is up would not be asked any more.
    let ready = stamp.now.plus(wait).since(turn.started_at);
    let in_time = limits.run_budget_us.is_none_or(|budget_us| ready < budget_us);
    let may_wait = flags.retryable
        && !flags.should_compress
        && turn.route_attempts < limits.model_attempts_max
        && wait <= RETRY_AFTER_MAX_US
        && in_time;
    let retry = FailureAction::Retry { not_before: stamp.now.plus(wait) };
    let mut failed = turn.failed_keys.clone();
    failed.extend(running.credential.clone());
    let own = policy.route(turn.route).unwrap_or(&policy.model);
    let other_key = flags.should_rotate_credential
        && key(own, turn.route, &failed, None, &stamp.outlook).is_some_and(|key| key.is_some());
    let other_route = flags.should_fallback.then(|| next_route(policy, turn.route, &stamp.outlook)).flatten();
    if may_wait && wait <= SHORT_WAIT_US && !is_upstream(failure.class, other_route) {
        return retry;
    }
    if other_key {
        return FailureAction::Rotate;
    }
    match other_route {
        Some(route) => FailureAction::FallBack { route },
        None if may_wait => retry,
        None => FailureAction::GiveUp,
    }
}

/// A gateway's upstream that limits everybody: another model is at hand, and waiting helps nobody.
fn is_upstream(class: FailureClass, other_route: Option<u32>) -> bool {
    class == FailureClass::UpstreamRateLimit && other_route.is_some()
}

fn next_route(policy: &Policy, now: u32, outlook: &Outlook) -> Option<u32> {
    let later = (now.saturating_add(1)..).map_while(|route| Some((route, policy.route(route)?)));
    later.filter_map(|(route, choice)| key(choice, route, &[], None, outlook).map(|_| route)).next()
}

/// The same request without what was refused, once each.
fn without(state: &SessionState, class: FailureClass) -> Option<FailureAction> {
    let left = &state.without;
    let newest = newest_extras(state);
    let strip = |what, done: bool| (!done).then_some(FailureAction::Strip { what });
    match class {
        FailureClass::ThinkingSignature | FailureClass::InvalidEncryptedContent => {
            let done = newest.is_none_or(|at| left.reasoning_of(at));
            strip(Stripped::Reasoning, done)
        }
        FailureClass::LlamaCppGrammarPattern => strip(Stripped::SchemaPatterns, left.schema_patterns),
        FailureClass::OauthLongContextBetaForbidden => strip(Stripped::LongContext, left.long_context),
        FailureClass::MultimodalToolContentUnsupported => {
            strip(Stripped::ToolImages, left.tool_images || !has_images(state, true))
        }
        FailureClass::ImageTooLarge => smaller_images(state),
        _ => None,
    }
}

/// The next smaller size of images, where there are any and there is one: pictures are most of what is
/// large, and making them smaller loses nothing of what was said.
fn smaller_images(state: &SessionState) -> Option<FailureAction> {
    let any = has_images(state, false);
    let now = state.without.image_side_px_max.unwrap_or(u32::MAX);
    let side_px_max = IMAGE_SIDES_PX.into_iter().find(|side| any && *side < now)?;
    Some(FailureAction::ShrinkImages { side_px_max })
}

/// Whether a request holds pictures: those of tools only, or any.
fn has_images(state: &SessionState, of_tools: bool) -> bool {
    let image = |file: &Attachment| file.media_type.starts_with("image/");
    let sent = !state.without.tool_images;
    state.view.iter().any(|entry| match &entry.body {
        Body::User { attachments, .. } => !of_tools && attachments.iter().any(image),
        Body::Result { images, .. } | Body::Late { images, .. } => sent && images.iter().any(image),
        Body::Assistant { .. } | Body::Summary { .. } => false,
    })
}

/// The newest answer with reasoning items.
fn newest_extras(state: &SessionState) -> Option<StreamPos> {
    state.view.iter().rev().find_map(|entry| match &entry.body {
        Body::Assistant { message, .. } if message.extras.is_some() => Some(entry.at),
        _ => None,
    })
}

fn may_compress(state: &SessionState) -> bool {
    let policy = state.policy.as_ref().map(|policy| &policy.compression);
    policy.is_some_and(|policy| policy.enabled && state.context.attempts < policy.attempts_max)
        && state.context.ineffective < estimate::INEFFECTIVE_MAX
}

/// Doubles from the base to the maximum, then a random half of it off: a crowd spreads out.
fn backoff(limits: &Limits, attempt: u32, seed: u64) -> u64 {
    let doubled = limits.retry_base_us.saturating_mul(1 << attempt.saturating_sub(1).min(20));
    let ceiling = doubled.min(limits.retry_max_us);
    let spread = ceiling / 2;
    ceiling - if spread == 0 { 0 } else { seed % (spread + 1) }
}
