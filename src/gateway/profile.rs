//! A profile that the gateway serves: its own home, log, models, tools, sessions and people.
//!
//! The boundary is the log: each profile has one of its own, and everything that takes a session's name
//! is asked of one profile's engine. There is no way to name a session across profiles.

use std::sync::Arc;

use herm_replay::log::Log;
use herm_replay::projections::Follower;
use herm_schema::events::{Policy, Scene};

use super::feed::{Feed, Tells};
use super::news::News;
use super::questions::Questions;
use super::rooms::Rooms;
use super::switchboard::Switchboard;
use crate::config::Loaded;
use crate::entry::Failure;
use crate::entry::engine::{Engine, Front};
use crate::inbound::settings::LiveSettings;
use crate::memory::{Whose, whose};
use crate::runtime::Redact;

/// A profile at work.
pub struct Profile {
    pub name: String,
    pub loaded: Loaded,
    pub engine: Arc<Engine>,
    pub feed: Arc<Feed>,
    pub questions: Arc<Questions>,
    pub rooms: Rooms,
    pub news: Arc<News>,
    _follower: Follower,
}

impl Profile {
    /// Starts on its log, which is open already.
    ///
    /// # Errors
    /// Its model cannot be had, or its projections cannot be read.
    pub async fn start(
        loaded: Loaded,
        log: Arc<dyn Log>,
        switchboard: &Arc<Switchboard>,
        tells: Tells,
        settings: &Arc<LiveSettings>,
    ) -> Result<Arc<Self>, Failure> {
        let name = loaded.home.profile_name().to_owned();
        let redactor = loaded.redactor.clone();
        let redact: Redact = Arc::new(move |text| redactor.redact(text).into_owned());
        let config = &loaded.config;
        let feed = Feed::new(&name, redact, tells);
        let questions = Questions::new(config.approvals.timeout, config.gateway.clarify_timeout);
        let front = Front {
            people: questions.clone(),
            outlet: switchboard.clone(),
            watch: feed.clone(),
            ask: questions.clone(),
            whose: whose(&loaded, settings),
        };
        let engine = Arc::new(Engine::start_on(&loaded, log, front).await?);
        feed.connect(switchboard, &engine);
        questions.connect(switchboard, &feed);
        let follower = engine.views.follow()?;
        engine.views.catch_up()?;
        let policy = policy(&loaded, &engine.policy);
        let rooms = Rooms::of(Arc::clone(&engine), loaded.clone(), policy, Arc::clone(settings))?;
        let news = News::of(&engine, &loaded);
        Ok(Arc::new(Self { name, loaded, engine, feed, questions, rooms, news, _follower: follower }))
    }
}

/// Whose memory a session has, by the settings of the moment.
fn whose(loaded: &Loaded, settings: &Arc<LiveSettings>) -> Whose {
    let settings = Arc::clone(settings);
    match loaded.config.memory.apart {
        true => whose::apart(move |platform, id| whose::owns(settings.now().platform(platform), id)),
        false => whose::together(),
    }
}

/// What sessions in chats run under.
fn policy(loaded: &Loaded, engine: &Policy) -> Policy {
    let debounce = loaded.config.gateway.debounce.as_micros();
    Policy { scene: Scene::Chat, debounce_us: u64::try_from(debounce).unwrap_or(u64::MAX), ..engine.clone() }
}
