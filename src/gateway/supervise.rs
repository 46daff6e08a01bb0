//! Adapters, one by one: each is made, tried by a round trip, let run, and begun again when it stops. What
//! is wrong with one never touches another.

use std::sync::Arc;
use std::time::{Duration, Instant};

use herm_replay::gateway::Command;
use herm_schema::events::CursorMoved;
use tokio_util::sync::CancellationToken;

use super::hub::{Health, Hub};
use crate::platforms::{Capabilities, Inbound, Inlet, NotNow, Platform, Stopped, Taken};
use crate::providers::BoxFuture;

/// First wait before an adapter is begun again; doubles each time.
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(300);
/// An adapter that ran so long begins with the first wait again.
const STEADY_AFTER: Duration = Duration::from_secs(60);
/// How long one that stopped for good waits for an owner to resume it.
const PROBE_EVERY: Duration = Duration::from_secs(60);
/// Longest round trip.
const PROBE_TIME_MAX: Duration = Duration::from_secs(30);
/// Longest time that an adapter has to stop.
const STOP_TIME_MAX: Duration = Duration::from_secs(5);

/// Where one adapter puts what comes in.
struct Mouth {
    hub: Arc<Hub>,
    capabilities: Capabilities,
}

impl Inlet for Mouth {
    fn take(&self, inbound: Inbound) -> BoxFuture<'_, Result<Taken, NotNow>> {
        Box::pin(async move {
            let hub = Arc::clone(&self.hub);
            let capabilities = self.capabilities.clone();
            // A panic on the way of one message is that message's alone.
            let taken = tokio::spawn(async move { hub.take(inbound, &capabilities).await }).await;
            taken.unwrap_or_else(|error| {
                tracing::error!(%error, "a message could not be taken");
                Err(NotNow { why: "herm failed".to_owned() })
            })
        })
    }

    fn media_bytes_max(&self) -> u64 {
        self.hub.loaded.config.gateway.media_bytes_max
    }

    fn cursor(&self) -> Option<String> {
        self.hub.desk.read(|state| state.cursors.get(self.capabilities.name).cloned())
    }

    fn advance(&self, cursor: String) -> BoxFuture<'_, Result<(), NotNow>> {
        Box::pin(async move {
            let moved = CursorMoved { platform: self.capabilities.name.to_owned(), cursor };
            let moved = self.hub.desk.try_ask(Command::MoveCursor(moved)).await;
            moved.map(drop).map_err(|error| NotNow { why: error.to_string() })
        })
    }
}

/// The inlet of a platform.
pub fn inlet(hub: &Arc<Hub>, platform: &dyn Platform) -> Arc<dyn Inlet> {
    Arc::new(Mouth { hub: Arc::clone(hub), capabilities: platform.capabilities().clone() })
}

/// Runs a platform until `stop`.
pub async fn supervise(hub: Arc<Hub>, platform: Arc<dyn Platform>, stop: CancellationToken) {
    let name = platform.capabilities().name;
    let mut wait = RETRY_FIRST;
    hub.report(name, Health::Starting);
    hub.switchboard.connect(Arc::clone(&platform));
    while !stop.is_cancelled() {
        if hub.is_paused(name) {
            hub.report(name, Health::Paused);
            wait_for(&hub, &stop, None).await;
            continue;
        }
        let began = Instant::now();
        let stopped = run(&hub, &platform, &stop).await;
        if stop.is_cancelled() {
            return;
        }
        if began.elapsed() >= STEADY_AFTER {
            wait = RETRY_FIRST;
        }
        match stopped {
            Ok(()) if hub.is_paused(name) => {}
            // It has no reason to end; it is not begun again in a circle.
            Ok(()) => wait_for(&hub, &stop, Some(wait)).await,
            Err(Stopped::Transient { message, retry_after }) => {
                // One lost connection is the way of networks.
                match wait > RETRY_FIRST * 4 {
                    true => tracing::warn!(platform = name, message, "not connected"),
                    false => tracing::info!(platform = name, message, "not connected"),
                }
                hub.report(name, Health::Retrying { why: message });
                wait_for(&hub, &stop, Some(retry_after.unwrap_or(wait))).await;
                wait = (wait * 2).min(RETRY_MAX);
            }
            Err(Stopped::Terminal { message, fix }) => {
                tracing::error!(platform = name, message, fix, "stopped for good");
                hub.report(name, Health::Down { why: message, fix });
                wait_for(&hub, &stop, None).await;
            }
        }
    }
}

async fn wait_for(hub: &Hub, stop: &CancellationToken, time: Option<Duration>) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = hub.pause_changed.notified() => {}
        () = async { tokio::time::sleep(time.unwrap_or_default()).await }, if time.is_some() => {}
    }
}

/// One run: a round trip first, and again every minute; a platform whose socket is open and that does not
/// answer is not up.
async fn run(hub: &Arc<Hub>, platform: &Arc<dyn Platform>, stop: &CancellationToken) -> Result<(), Stopped> {
    let name = platform.capabilities().name;
    let identity = probe(&**platform).await?;
    hub.report(name, Health::Up { name: identity.name });
    let inlet = inlet(hub, &**platform);
    let cancel = stop.child_token();
    let _guard = cancel.clone().drop_guard();
    let mut task = tokio::spawn({
        let (platform, cancel) = (Arc::clone(platform), cancel.clone());
        async move { platform.run(&*inlet, cancel).await }
    });
    let mut probes = tokio::time::interval(PROBE_EVERY);
    probes.tick().await;
    loop {
        tokio::select! {
            ended = &mut task => return ended.unwrap_or_else(|error| Err(failed(&error))),
            () = stop.cancelled() => break,
            () = hub.pause_changed.notified(), if !stop.is_cancelled() => {
                if hub.is_paused(name) {
                    break;
                }
            }
            _ = probes.tick() => {
                // Paused while nobody listened for it.
                if hub.is_paused(name) {
                    break;
                }
                match probe(&**platform).await {
                    Ok(identity) => hub.report(name, Health::Up { name: identity.name }),
                    Err(Stopped::Terminal { message, fix }) => {
                        task.abort();
                        return Err(Stopped::Terminal { message, fix });
                    }
                    Err(Stopped::Transient { message, .. }) => hub.report(name, Health::Retrying { why: message }),
                }
            }
        }
    }
    cancel.cancel();
    if tokio::time::timeout(STOP_TIME_MAX, &mut task).await.is_err() {
        task.abort();
    }
    Ok(())
}

async fn probe(platform: &dyn Platform) -> Result<crate::platforms::Identity, Stopped> {
    let probed = tokio::time::timeout(PROBE_TIME_MAX, platform.probe()).await;
    probed.unwrap_or_else(|_| {
        let message = format!("no answer within {} s", PROBE_TIME_MAX.as_secs());
        Err(Stopped::Transient { message, retry_after: None })
    })
}

fn failed(error: &tokio::task::JoinError) -> Stopped {
    Stopped::Transient { message: format!("the adapter failed: {error}"), retry_after: None }
}
