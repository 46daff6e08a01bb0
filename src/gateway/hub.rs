//! The hub: what every part of a running gateway shares.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use herm_replay::gateway::Command;
use herm_schema::Micros;
use herm_schema::events::{ChatRef, DeliveryKind, DeliveryPlanned, Part};

use super::desk::{Desk, Error};
use super::hooks::Hooks;
use super::metrics::Metrics;
use super::profile::Profile;
use super::switchboard::Switchboard;
use crate::config::{Environment, GatewayConfig, Loaded, Secret};
use crate::delivery::{Outlet, Way, plan};
use crate::inbound::settings::{GatewaySettings, LiveSettings};
use crate::platforms::NotNow;
use crate::runtime::{Clock, SystemClock};

/// How the adapter of a platform is doing.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Health {
    Starting,
    /// A round trip succeeded; under this name.
    Up {
        name: String,
    },
    /// It is tried again.
    Retrying {
        why: String,
    },
    /// It is not tried again until something is changed.
    Down {
        why: String,
        fix: String,
    },
    /// An owner paused it.
    Paused,
}

/// What is asked of the daemon by a command or a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Stop,
    Restart,
    Reload,
}

/// A running gateway.
pub struct Hub {
    pub loaded: Loaded,
    pub desk: Arc<Desk>,
    pub switchboard: Arc<Switchboard>,
    pub profiles: BTreeMap<String, Arc<Profile>>,
    pub hooks: Arc<Hooks>,
    pub metrics: Arc<Metrics>,
    pub started_at: Micros,
    pub wishes: tokio::sync::mpsc::Sender<Wish>,
    settings: Arc<LiveSettings>,
    /// Why nothing is taken now; empty while it is.
    closed: Mutex<Option<String>>,
    draining: AtomicBool,
    health: Mutex<BTreeMap<String, Health>>,
    /// Platforms that an owner paused.
    paused: Mutex<BTreeMap<String, bool>>,
    pub pause_changed: tokio::sync::Notify,
    /// Where the API server listens.
    api: std::sync::OnceLock<std::net::SocketAddr>,
}

/// What a hub is made of.
pub struct Parts {
    pub loaded: Loaded,
    pub desk: Arc<Desk>,
    pub switchboard: Arc<Switchboard>,
    pub profiles: BTreeMap<String, Arc<Profile>>,
    pub hooks: Arc<Hooks>,
    pub metrics: Arc<Metrics>,
    pub settings: Arc<LiveSettings>,
    pub wishes: tokio::sync::mpsc::Sender<Wish>,
}

impl Hub {
    pub fn new(parts: Parts) -> Arc<Self> {
        let Parts { loaded, desk, switchboard, profiles, hooks, metrics, settings, wishes } = parts;
        Arc::new(Self {
            loaded,
            desk,
            switchboard,
            profiles,
            hooks,
            metrics,
            started_at: SystemClock.now(),
            wishes,
            settings,
            closed: Mutex::default(),
            draining: AtomicBool::new(false),
            health: Mutex::default(),
            paused: Mutex::default(),
            pause_changed: tokio::sync::Notify::new(),
            api: std::sync::OnceLock::new(),
        })
    }

    pub fn settings(&self) -> Arc<GatewaySettings> {
        self.settings.now()
    }

    /// New settings hold from now on, also in the sessions that are in memory.
    pub async fn set(&self, settings: GatewaySettings) {
        self.settings.set(settings);
        for profile in self.profiles.values() {
            profile.rooms.refresh().await;
        }
    }

    /// Whether something may come in.
    ///
    /// # Errors
    /// Why not.
    pub fn open(&self) -> Result<(), NotNow> {
        let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.clone().map_or(Ok(()), |why| Err(NotNow { why }))
    }

    /// Nothing is taken for this reason, or everything is again.
    pub fn close(&self, why: Option<&str>) {
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.draining.load(Ordering::Relaxed) {
            *closed = why.map(str::to_owned);
        }
    }

    /// Nothing is taken any more.
    pub fn drain(&self, why: &str) {
        self.close(Some(why));
        self.draining.store(true, Ordering::Relaxed);
    }

    pub fn report(&self, platform: &str, health: Health) {
        self.metrics.platform(platform, matches!(health, Health::Up { .. }));
        self.health.lock().unwrap_or_else(PoisonError::into_inner).insert(platform.to_owned(), health);
    }

    /// The API server listens here.
    pub fn set_api(&self, address: std::net::SocketAddr) {
        let _ = self.api.set(address);
    }

    /// Where the API server listens, if it does.
    pub fn api(&self) -> Option<std::net::SocketAddr> {
        self.api.get().copied()
    }

    /// How each platform is doing.
    pub fn health(&self) -> BTreeMap<String, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What herm is called on a platform, as far as that is known.
    pub fn own_name(&self, platform: &str) -> String {
        let health = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        match health.get(platform) {
            Some(Health::Up { name }) => name.clone(),
            _ => String::new(),
        }
    }

    pub fn pause(&self, platform: &str, paused: bool) {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner).insert(platform.to_owned(), paused);
        self.pause_changed.notify_waiters();
    }

    pub fn is_paused(&self, platform: &str) -> bool {
        let paused = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        paused.get(platform).copied().unwrap_or(false)
    }

    /// A word of herm's own for a chat, ready to be planned.
    pub fn notice(&self, target: &ChatRef, markdown: &str, reply_to: Option<String>) -> DeliveryPlanned {
        let Way { format, keyed } = self.switchboard.way(target);
        let redacted = self.loaded.redactor.redact(markdown);
        DeliveryPlanned {
            target: target.clone(),
            kind: DeliveryKind::Notice,
            chunks: plan::parts(&redacted, &format).into_iter().map(Part::Text).collect(),
            keyed,
            reply_to,
            possible_repeat: false,
        }
    }

    /// Says something of herm's own in a chat, once it is in the log.
    ///
    /// # Errors
    /// Those of the log.
    pub async fn say(&self, target: &ChatRef, markdown: &str) -> Result<(), Error> {
        self.desk.ask(Command::Say(self.notice(target, markdown, None)), None).await.map(drop)
    }

    /// The profile of this name.
    pub fn profile(&self, name: &str) -> Option<&Arc<Profile>> {
        self.profiles.get(name)
    }

    /// Secrets that became known are taken out of everything from now on.
    pub fn learn(&self, secrets: &[Secret]) {
        self.loaded.redactor.learn(secrets);
        self.profiles.values().for_each(|profile| profile.loaded.redactor.learn(secrets));
    }
}

/// The gateway's settings, as the configuration and the variables have them.
///
/// # Errors
/// What does not fit.
pub fn settings(
    gateway: &GatewayConfig,
    environment: &Environment,
) -> Result<(GatewaySettings, Vec<String>), crate::config::Error> {
    let file = serde_json::json!({
        "gateway": {
            "profiles": served(gateway),
            "default_profile": gateway.default_profile,
            "profile_routes": gateway.routes,
            "group_sessions_per_user": gateway.group_sessions_per_user,
            "thread_sessions_per_user": gateway.thread_sessions_per_user,
        },
        "platforms": gateway.platforms,
    });
    let variable = |name: &str| {
        let set = environment.get(name).map(str::to_owned);
        set.or_else(|| match name {
            "GATEWAY_ALLOWED_USERS" if !gateway.allowed_users.is_empty() => {
                Some(gateway.allowed_users.join(","))
            }
            "GATEWAY_ALLOW_ALL_USERS" if gateway.allow_all_users => Some("true".to_owned()),
            _ => None,
        })
    };
    let (settings, warnings) = GatewaySettings::parse(&file, &variable)?;
    Ok((settings, warnings.into_iter().map(|warning| warning.to_string()).collect()))
}

/// The profiles that a home serves, the first one first.
pub fn served(gateway: &GatewayConfig) -> Vec<String> {
    let mut names = vec![crate::config::FIRST_PROFILE.to_owned()];
    for name in &gateway.profiles {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}
