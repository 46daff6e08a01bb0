//! What was said while no connection stood: each conversation and thread that herm knows is asked for what
//! follows its mark.
//!
//! Source: docs.slack.dev, "Events API" (what is not acknowledged is tried three more times, within about an
//! hour, and never again), "conversations.history" and "conversations.replies". What Slack does deliver again
//! is known by its place and time.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use futures_util::future::Either;
use serde::Deserialize;
use tokio::time::{sleep, timeout};

use super::api::Failed;
use super::inbound::{self, Came};
use super::marks::{Mark, Marks, is_after};
use super::refusal::{self, Whose};
use super::take::{Delivery, take_patiently};
use super::wire::{Me, Message};
use super::{Slack, locked};
use crate::platforms::{Inlet, Stopped};

/// Messages on a page.
const PAGE: &str = "200";
/// Pages of one place.
const PAGES_MAX: usize = 10;
/// How often a page is asked for that Slack gives later, and the longest wait for it.
const TRIES_MAX: usize = 3;
const WAIT_MAX: Duration = Duration::from_secs(60);
/// How often it is kept how far herm has come.
const KEEP_EVERY: Duration = Duration::from_secs(1);
/// How long that may take when herm stops.
const FAREWELL_MAX: Duration = Duration::from_secs(1);

#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default)]
    messages: Vec<Message>,
    #[serde(default)]
    response_metadata: Metadata,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    next_cursor: String,
}

/// Lets `reading` run from the marks of before, and keeps those that it comes to.
pub(super) async fn marking(
    slack: &Slack,
    inlet: &dyn Inlet,
    reading: impl Future<Output = Result<(), Stopped>>,
) -> Result<(), Stopped> {
    if let Some(cursor) = inlet.cursor() {
        let mut marks = locked(&slack.marks);
        if *marks == Marks::default() {
            *marks = Marks::parse(&cursor);
        }
    }
    let keeping = async {
        loop {
            sleep(KEEP_EVERY).await;
            if let Err(stopped) = keep(slack, inlet).await {
                return stopped;
            }
        }
    };
    let ended = futures_util::future::select(Box::pin(reading), Box::pin(keeping)).await;
    let ended = match ended {
        Either::Left((ended, _)) => ended,
        Either::Right((stopped, _)) => Err(stopped),
    };
    // If this is lost, a little more is asked for again, and is known.
    let _ = timeout(FAREWELL_MAX, keep(slack, inlet)).await;
    ended
}

/// Tells herm how far it has come.
async fn keep(slack: &Slack, inlet: &dyn Inlet) -> Result<(), Stopped> {
    let marks = locked(&slack.marks).clone();
    let cursor = marks.cursor();
    if marks == Marks::default() || inlet.cursor().as_ref() == Some(&cursor) {
        return Ok(());
    }
    let kept = inlet.advance(cursor).await;
    kept.map_err(|error| Stopped::Transient { message: error.to_string(), retry_after: None })
}

/// Takes what was missed since a connection stood, place by place, in the order of each.
pub(super) async fn fetch(slack: &Slack, inlet: &dyn Inlet, me: &Me) -> Result<(), Stopped> {
    if !slack.gap.load(Relaxed) {
        return Ok(());
    }
    let places = locked(&slack.marks).latest_first();
    for mark in places {
        for came in of_place(slack, me, &mark).await? {
            take_patiently(slack, inlet, me, &Delivery::Missed(Box::new(came))).await?;
        }
    }
    slack.gap.store(false, Relaxed);
    Ok(())
}

/// What was said in a place after its mark, the oldest first.
async fn of_place(slack: &Slack, me: &Me, mark: &Mark) -> Result<Vec<Came>, Stopped> {
    let (mut all, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = match page(slack, mark, &cursor).await {
            Ok(page) => page,
            Err(failed) if refusal::is_for_good(&failed) => {
                // herm does not see it any more; it is found again when somebody speaks there.
                locked(&slack.marks).forget(&mark.channel, mark.thread.as_deref());
                return Ok(Vec::new());
            }
            Err(failed) => return Err(refusal::of_account(failed, Whose::Bot)),
        };
        all.extend(page.messages);
        pages += 1;
        cursor = page.response_metadata.next_cursor;
        if cursor.is_empty() {
            break;
        }
        if pages == PAGES_MAX {
            tracing::warn!(
                channel = mark.channel,
                "more was said on Slack while herm was away than is fetched"
            );
            break;
        }
    }
    // A thread comes with what it hangs on, which is older; pages come the newest first.
    all.retain(|message| is_after(&message.ts, &mark.ts));
    all.sort_by(
        |a, b| if is_after(&a.ts, &b.ts) { std::cmp::Ordering::Greater } else { std::cmp::Ordering::Less },
    );
    let came = all.into_iter().filter_map(|message| {
        // A page does not say where it is from.
        inbound::said(Message { channel: mark.channel.clone(), ..message }, me)
    });
    Ok(came.collect())
}

async fn page(slack: &Slack, mark: &Mark, cursor: &str) -> Result<Page, Failed> {
    let mut query = vec![("channel", mark.channel.as_str()), ("oldest", mark.ts.as_str()), ("limit", PAGE)];
    let method = match &mark.thread {
        Some(thread) => {
            query.push(("ts", thread));
            "conversations.replies"
        }
        None => "conversations.history",
    };
    if !cursor.is_empty() {
        query.push(("cursor", cursor));
    }
    let mut tries = 1;
    loop {
        match slack.api.get(method, &query).await {
            Err(Failed::Refused { retry_after: Some(wait), .. }) if tries < TRIES_MAX && wait <= WAIT_MAX => {
                sleep(wait).await;
                tries += 1;
            }
            answered => return answered,
        }
    }
}
