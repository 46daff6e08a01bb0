//! The daemon: starts everything, goes on with what was left open, watches, and ends in order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use herm_replay::gateway::Command;
use herm_replay::log::Log;
use herm_schema::events::{ConfigurationReloaded, DrainReason};
use herm_schema::{Event, Micros};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::control::Socket;
use super::desk::Desk;
use super::feed::Tells;
use super::hooks::{Hook, Hooks};
use super::hub::{self, Health, Hub, Parts, Wish};
use super::metrics::Metrics;
use super::pages::Pages;
use super::previews::Previews;
use super::profile::Profile;
use super::sections::{self, Found};
use super::supervise::supervise;
use super::switchboard::Switchboard;
use super::telemetry::Traces;
use super::{resume, status};
use crate::config::{FIRST_PROFILE, Loaded};
use crate::entry::engine::open_log;
use crate::entry::ready::{self, Phase};
use crate::entry::{Exit, Failure, Start};
use crate::inbound::settings::LiveSettings;
use crate::runtime::{Clock, Redact, SystemClock};

/// How often memory, disk and idle sessions are looked at.
const WATCH_EVERY: Duration = Duration::from_secs(5);
/// How long a session stays in memory without moving, when memory is short.
const PRESSED_IDLE: Duration = Duration::from_secs(5);
/// Wishes that wait, at most.
const WISHES_MAX: usize = 4;
/// How long deliveries of the gateway's own have at the end.
const LAST_WORDS_TIME_MAX: Duration = Duration::from_secs(5);

/// How a run of the daemon ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Stopped,
    /// It is to be started again.
    Restart,
}

/// Runs the gateway of a home until it is asked to stop.
///
/// # Errors
/// It cannot start: another process owns the home, no model can be had, a setting makes no sense.
pub async fn run(start: &Start) -> Result<Ended, Failure> {
    let (wishes, mut wished) = mpsc::channel(WISHES_MAX);
    let Running { hub, stop, mut tasks } = begin(start, wishes).await?;
    let mut signals = Signals::listen()?;
    let mut watch = tokio::time::interval(WATCH_EVERY);
    let mut pages = Pages::default();
    let reason = loop {
        tokio::select! {
            biased;
            wish = wished.recv() => match wish {
                Some(Wish::Stop) | None => break DrainReason::Asked,
                Some(Wish::Restart) => break DrainReason::Restart,
                Some(Wish::Reload) => reload(&hub, start).await,
            },
            signal = signals.next() => match signal {
                Wish::Stop => break DrainReason::Asked,
                Wish::Restart => break DrainReason::Restart,
                Wish::Reload => reload(&hub, start).await,
            },
            _ = watch.tick() => {
                if look(&hub) {
                    break DrainReason::Memory;
                }
                pages.look(hub.profiles.values().map(|profile| profile.engine.log.tail().last.0));
            }
        }
    };
    tokio::select! {
        () = drain(&hub, &stop, reason) => {}
        // Asked twice is asked to hurry.
        signal = signals.next() => tracing::warn!(?signal, "not waiting any longer"),
    }
    tasks.shutdown().await;
    Ok(match reason {
        DrainReason::Restart | DrainReason::Memory => Ended::Restart,
        DrainReason::Asked | DrainReason::Disk => Ended::Stopped,
    })
}

/// A gateway that runs, for the daemon and for tests.
pub struct Running {
    pub hub: Arc<Hub>,
    /// Cancelled to stop reading.
    pub stop: CancellationToken,
    pub tasks: JoinSet<()>,
}

/// Starts everything.
///
/// # Errors
/// As [`run`].
pub async fn begin(start: &Start, wishes: mpsc::Sender<Wish>) -> Result<Running, Failure> {
    let loaded = start.load(&[])?;
    let (settings, warnings) = hub::settings(&loaded.config.gateway, &loaded.environment)?;
    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    let metrics = Arc::new(Metrics::default());
    let mut problems = Vec::new();
    let hooks = Hooks::of(&loaded.home.root().join("hooks"), &mut problems);
    problems.iter().for_each(|problem| tracing::warn!("{problem}"));
    let log = open_log(&loaded)?;
    let redactor = loaded.redactor.clone();
    let redact: Redact = Arc::new(move |text| redactor.redact(text).into_owned());
    let desk = Desk::open(Arc::clone(&log), Arc::new(SystemClock), redact)?;
    let previews = Arc::new(Previews::default());
    let settings = LiveSettings::new(settings);
    let switchboard = Switchboard::new(Arc::clone(&desk), Arc::clone(&previews), Arc::clone(&settings));
    let traces = loaded.config.gateway.otlp.as_deref();
    let traces = traces.and_then(|endpoint| match Traces::to(endpoint) {
        Ok(traces) => Some(traces),
        Err(error) => {
            tracing::warn!(%error, "traces are not sent");
            None
        }
    });
    let tells = || Tells {
        previews: Arc::clone(&previews),
        hooks: Arc::clone(&hooks),
        metrics: Arc::clone(&metrics),
        traces: traces.clone(),
        texts: loaded.config.gateway.streaming,
    };
    let mut profiles = BTreeMap::new();
    for name in hub::served(&loaded.config.gateway) {
        let (own, log): (Loaded, Arc<dyn Log>) = match name.as_str() {
            FIRST_PROFILE => (loaded.clone(), Arc::clone(&log)),
            name => {
                let own = Start { home: start.home.profile(name) }.load(&[])?;
                let log = open_log(&own)?;
                (own, log)
            }
        };
        let profile = Profile::start(own, log, &switchboard, tells(), &settings).await?;
        for problem in &profile.engine.problems {
            tracing::warn!(profile = name, "a fallback is left out: {problem}");
        }
        profiles.insert(name, profile);
    }
    let found = sections::found(&loaded);
    let hub = Hub::new(Parts { loaded, desk, switchboard, profiles, hooks, metrics, settings, wishes });
    hub.learn(&sections::secrets(&hub.loaded));
    serve(hub, found).await
}

async fn serve(hub: Arc<Hub>, found: Vec<Found>) -> Result<Running, Failure> {
    let stop = CancellationToken::new();
    let mut tasks = JoinSet::new();
    let socket = Socket::bind(&hub.loaded.home.gateway_socket())?;
    let open = resume::open_work(&hub);
    let command = Command::Start {
        herm_version: env!("CARGO_PKG_VERSION").to_owned(),
        open_work: u32::try_from(open.len()).unwrap_or(u32::MAX),
    };
    let started = hub.desk.ask(command, None).await.map_err(|error| Failure::new(Exit::Failed, error))?;
    let resumes = started.iter().any(|recorded| match &recorded.event {
        Event::GatewayStarted(started) => started.resumes,
        _ => false,
    });
    // Deliveries go on while what was left open is gone on with, and until the very end.
    tasks.spawn({
        let hub = Arc::clone(&hub);
        async move {
            let outlet = Arc::clone(&hub.switchboard);
            if let Err(error) = hub.desk.deliver(outlet, CancellationToken::new()).await {
                tracing::error!(%error, "the gateway's own deliveries end");
            }
        }
    });
    tasks.spawn(socket.serve(Arc::clone(&hub), stop.clone()));
    let mut begun = Vec::new();
    for Found { name, made } in found {
        match made {
            Ok(platform) => {
                begun.push(name);
                tasks.spawn(supervise(Arc::clone(&hub), platform, stop.clone()));
            }
            Err(wrong) => {
                tracing::error!(platform = name, "{wrong}");
                hub.report(name, Health::Down { why: wrong.reason, fix: wrong.fix });
            }
        }
    }
    crate::api::start(&hub, &stop, &mut tasks).await?;
    resume::go_on(&hub, open, resumes, &stop).await;
    hub.hooks.call(&Hook { event: "gateway:startup".to_owned(), data: status::json(&hub) });
    tell_system(Phase::Ready);
    tracing::info!(platforms = ?begun, "the gateway is ready");
    let at = hub.api().map(|address| format!("; the API at http://{address}")).unwrap_or_default();
    eprintln!("herm gateway: ready, {} profiles, platforms: {}{at}", hub.profiles.len(), named(&begun));
    Ok(Running { hub, stop, tasks })
}

fn named(platforms: &[&str]) -> String {
    if platforms.is_empty() { "none; herm gateway setup".to_owned() } else { platforms.join(", ") }
}

/// Memory, disk, idle sessions; whether the process is to begin again.
fn look(hub: &Hub) -> bool {
    let config = &hub.loaded.config.gateway;
    let memory = status::memory_bytes();
    let pressed = config.memory_bytes_max.is_some_and(|max| memory > max / 4 * 3);
    let patience = if pressed { PRESSED_IDLE } else { config.idle };
    let mut sessions = 0;
    for profile in hub.profiles.values() {
        for id in profile.feed.idle(patience) {
            // One that waits for a person stays: who answers must find it.
            if profile.engine.sessions.running(id).is_some_and(|handle| !handle.is_busy()) {
                profile.news.forget(id);
                profile.engine.sessions.release(id);
            }
        }
        sessions += profile.engine.sessions.count();
    }
    hub.metrics.sizes(sessions, memory);
    if let Some(min) = config.disk_bytes_min {
        match status::disk_free(hub.loaded.home.root()) {
            Some(free) if free < min => {
                tracing::error!(free, min, "the disk is nearly full: nothing is taken");
                hub.close(Some("the disk is nearly full"));
            }
            _ => hub.close(None),
        }
    }
    let over = config.memory_bytes_max.is_some_and(|max| memory > max);
    if over {
        tracing::warn!(memory, "too much memory is in use: finishing, then starting anew");
    }
    over
}

/// Takes nothing more, lets what runs finish, records how that went.
pub async fn drain(hub: &Arc<Hub>, stop: &CancellationToken, reason: DrainReason) {
    hub.drain("the gateway is stopping");
    tell_system(Phase::Stopping);
    hub.hooks.call(&Hook { event: "gateway:shutdown".to_owned(), data: status::json(hub) });
    stop.cancel();
    let deadline = tokio::time::Instant::now() + hub.loaded.config.gateway.drain_timeout;
    let mut unfinished = 0;
    for profile in hub.profiles.values() {
        for handle in profile.engine.sessions.handles() {
            if tokio::time::timeout_at(deadline, handle.idle()).await.is_err() {
                unfinished += 1;
            }
        }
    }
    hub.desk.settled(LAST_WORDS_TIME_MAX).await;
    if let Err(error) = hub.desk.try_ask(Command::Drained { reason, unfinished }).await {
        tracing::error!(%error, "the end cannot be recorded");
    }
    for profile in hub.profiles.values() {
        profile.engine.environments.close_all().await;
    }
    tracing::info!(unfinished, "the gateway has stopped");
}

/// Reads the configuration again: what can hold at once does, the rest after a restart.
async fn reload(hub: &Arc<Hub>, start: &Start) {
    let fresh = start.load(&[]).and_then(|loaded| {
        hub::settings(&loaded.config.gateway, &loaded.environment).map(|(settings, _)| (loaded, settings))
    });
    let (loaded, settings) = match fresh {
        Ok(fresh) => fresh,
        Err(error) => {
            tracing::error!(%error, "the configuration is not taken; the one before holds");
            return;
        }
    };
    let differs = hub.loaded.settings.differing(&loaded.settings);
    let (changed, after_restart): (Vec<_>, Vec<_>) = differs.into_iter().partition(|path| is_live(path));
    hub.set(settings).await;
    tracing::info!(?changed, ?after_restart, "the configuration was read again");
    let reloaded = ConfigurationReloaded { changed, after_restart };
    if let Err(error) = hub.desk.try_ask(Command::Reloaded(reloaded)).await {
        tracing::error!(%error, "the reload cannot be recorded");
    }
}

/// Settings that hold as soon as they are read.
fn is_live(path: &str) -> bool {
    matches!(
        path,
        "platforms"
            | "gateway.profile_routes"
            | "gateway.default_profile"
            | "gateway.group_sessions_per_user"
            | "gateway.thread_sessions_per_user"
            | "gateway.allowed_users"
            | "gateway.allow_all_users"
    )
}

struct Signals {
    stop: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    reload: tokio::signal::unix::Signal,
    restart: tokio::signal::unix::Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            stop: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            reload: signal(SignalKind::hangup())?,
            restart: signal(SignalKind::user_defined1())?,
        })
    }

    async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.stop.recv() => Wish::Stop,
            _ = self.interrupt.recv() => Wish::Stop,
            _ = self.reload.recv() => Wish::Reload,
            _ = self.restart.recv() => Wish::Restart,
        }
    }
}

/// Tells the system, where it wants to be told.
fn tell_system(phase: Phase) {
    let socket = std::env::var_os("NOTIFY_SOCKET");
    if let Err(error) = ready::notify(socket.as_deref(), phase, "") {
        tracing::warn!(%error, "the system cannot be told");
    }
}

/// Age of something that happened at `at`.
pub fn age(at: Micros) -> Duration {
    Duration::from_micros(SystemClock.now().since(at))
}
