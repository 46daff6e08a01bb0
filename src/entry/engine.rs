//! Puts the parts together: log, projections, model, tools, policies. Wiring, and nothing else.

use std::path::Path;
use std::sync::Arc;

use herm_replay::log::segments::Options;
use herm_replay::log::{self, Log, SegmentLog};
use herm_replay::projections::Views;
use herm_replay::projections::sessions::SessionRow;
use herm_replay::reducer::{SessionState, evolve};
use herm_schema::events::{ChatRef, MemorySpace, Policy, SessionOpened};
use herm_schema::{Event, SessionId, StreamPos};

use super::kept::Kept;
use super::model_table::{Models, models};
use super::tools::toolbox::{self, Toolbox};
use super::witness::Known;
use super::{Exit, Failure};
use crate::approval::{self, Asked, Mode, Outcome, Rules, Verdict};
use crate::checkpoints::Checkpoints;
use crate::config::{Home, Loaded, Redactor, Secret};
use crate::context::{Plain, Prompt};
use crate::delivery::Outlet;
use crate::effects::profile_stream;
use crate::environments::{Environment, Environments, VariablePolicy};
use crate::hooks::Hooks;
use crate::memory::{MemoryProvider, Notes, Whose};
use crate::providers::catalog::Catalogue;
use crate::providers::credentials::Store;
use crate::providers::resolve::{CUSTOM_KEY_VARIABLE, Resolved, Sources, Wanted, resolve_at};
use crate::providers::{BoxFuture, Deadlines};
use crate::runtime::{Grants, Judge, ModelTable, People, Ports, Sessions, SystemClock, Watch};
use crate::skills::Workshop;
use crate::tools::execute_code::{self, ExecuteCode};
use crate::tools::process::{self, Process, Processes};
use crate::tools::{OutputLimits, Services, Tools};

/// Where it is set, `sudo` may be given a password.
const SUDO_PASSWORD_VARIABLE: &str = "SUDO_PASSWORD";

/// What the people of a conversation are, to the runtime.
pub struct Front {
    pub people: Arc<dyn People>,
    pub outlet: Arc<dyn Outlet>,
    pub watch: Arc<dyn Watch>,
    pub ask: Arc<dyn Clarify>,
    /// Whose memory each session has.
    pub whose: Whose,
}

/// Asks a person what the model wants to know.
pub trait Clarify: Send + Sync {
    fn ask<'a>(
        &'a self,
        session: SessionId,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxFuture<'a, Option<String>>;
}

/// Everything that sessions run on, in the process that owns the home.
pub struct Engine {
    pub log: Arc<dyn Log>,
    pub views: Arc<Views>,
    pub sessions: Sessions,
    pub policy: Policy,
    pub models: Arc<ModelTable>,
    pub grants: Arc<Grants>,
    pub checkpoints: Option<Arc<Checkpoints>>,
    /// `None` where nothing is remembered.
    pub memory: Option<Arc<Notes>>,
    pub whose: Whose,
    pub skills: Arc<Workshop>,
    pub processes: Arc<Processes>,
    /// Where the command lines of sessions run; whoever ends a session closes its environment.
    pub environments: Arc<Environments>,
    /// Why this model is called.
    pub why: String,
    /// What is configured and cannot be had; worth a word, and no more.
    pub problems: Vec<String>,
}

impl Engine {
    /// Takes the home and finds the model.
    ///
    /// # Errors
    /// Another process owns the home, the log cannot be opened, or the model cannot be had.
    pub async fn start(loaded: &Loaded, front: Front) -> Result<Self, Failure> {
        Self::start_on(loaded, open_log(loaded)?, front).await
    }

    /// As [`Engine::start`], on a log that is open already.
    ///
    /// # Errors
    /// The model cannot be had, or a setting makes no sense.
    pub async fn start_on(loaded: &Loaded, log: Arc<dyn Log>, front: Front) -> Result<Self, Failure> {
        let views = Arc::new(Views::open(Arc::clone(&log), &loaded.home.index_dir()));
        let Models { table, policy, why, problems } = models(loaded, &log, &views).await?;
        let Toolbox { tools, processes, environments } = toolbox::toolbox(loaded, environments(loaded)?)?;
        processes.adopt();
        let (kept, whose) = (Kept::of(loaded, &log), Arc::clone(&front.whose));
        let (memory, skills) = (kept.memory.clone(), Arc::clone(&kept.skills));
        let parts = (tools, Arc::clone(&environments), front, kept);
        let ports = ports(loaded, &log, &views, Arc::clone(&table), parts)?;
        let checkpoints = ports.checkpoints.clone();
        let grants = Arc::clone(&ports.grants);
        environments.begin();
        let sessions = Sessions::new(Arc::new(ports));
        Ok(Self {
            log,
            views,
            sessions,
            models: table,
            grants,
            checkpoints,
            memory,
            whose,
            skills,
            processes,
            environments,
            policy,
            why,
            problems,
        })
    }

    /// The newest session of this home, if there is one.
    ///
    /// # Errors
    /// Those of the projections.
    pub fn newest(&self) -> Result<Option<SessionId>, Failure> {
        let rows = self.views.sessions().map_err(|error| Failure::new(Exit::Failed, error))?;
        Ok(rows.first().map(|row| row.id))
    }
}

/// Takes the log of a home for this process alone.
///
/// # Errors
/// Another process owns the home, or the log cannot be opened.
pub fn open_log(loaded: &Loaded) -> Result<Arc<dyn Log>, Failure> {
    loaded.home.create()?;
    let mut options = Options::new(loaded.home.log_dir());
    options.allow_unsafe_file_system = loaded.config.security.allow_unsafe_file_system;
    Ok(Arc::new(SegmentLog::open(options)?))
}

/// The model that the configuration and the environment come to.
///
/// # Errors
/// Something was asked for that cannot be had.
pub async fn model(loaded: &Loaded) -> Result<Resolved, Failure> {
    resolved(loaded, &wanted(loaded), None).await
}

/// What the configuration asks for.
pub fn wanted(loaded: &Loaded) -> Wanted {
    let asked = &loaded.config.model;
    Wanted {
        provider: asked.provider.clone(),
        model: asked.model.clone(),
        base_url: asked.base_url.clone(),
        api_mode: asked.api_mode.clone(),
        context_window: asked.context_window_tokens,
        output_max: asked.output_tokens_max,
        effort: asked.effort,
        cache_ttl: Some(asked.cache_ttl),
    }
}

/// The model that `wanted` comes to with the vendors and the keys of this home. What becomes known of
/// the keys is recorded in `log`.
///
/// # Errors
/// Something was asked for that cannot be had.
pub async fn resolved(
    loaded: &Loaded,
    wanted: &Wanted,
    log: Option<&Arc<dyn Log>>,
) -> Result<Resolved, Failure> {
    let witness = Known::witness(loaded, log);
    let catalogue = catalogue(loaded)?;
    let store = Store::of(loaded.home.root());
    let keys = |name: &str| key(loaded, name);
    let at = Sources {
        keys: &keys,
        catalogue: &catalogue,
        store: Some(&store),
        witness: Some(&witness),
        local_servers: true,
        keys_needed: true,
    };
    resolve_at(wanted, at).await.map_err(|error| Failure::new(Exit::Config, error).hint("herm doctor"))
}

/// The vendors that are known in this home.
///
/// # Errors
/// What a person added to them does not fit.
pub fn catalogue(loaded: &Loaded) -> Result<Catalogue, Failure> {
    Catalogue::of(loaded.home.root(), &loaded.config.providers)
        .map_err(|error| Failure::new(Exit::Config, error).hint("herm config explain providers"))
}

/// A variable that may hold a key.
pub fn key(loaded: &Loaded, name: &str) -> Option<Secret> {
    let configured = loaded.config.model.api_key.clone().filter(|_| name == CUSTOM_KEY_VARIABLE);
    configured.or_else(|| loaded.environment.get(name).map(Secret::new))
}

/// Where command lines run.
pub fn environments(loaded: &Loaded) -> Result<Arc<Environments>, Failure> {
    let terminal = &loaded.config.terminal;
    let remove = loaded.environment.dotenv().map(|(name, _)| name.to_owned()).collect();
    let policy = VariablePolicy { remove, passthrough: terminal.env_passthrough.clone() };
    // What runs elsewhere or with fewer rights is carried there by herm itself.
    let herm = std::env::current_exe()?;
    let settings = terminal.environments.clone();
    Ok(Arc::new(Environments::new(settings, policy, loaded.home.root(), herm)))
}

fn ports(
    loaded: &Loaded,
    log: &Arc<dyn Log>,
    views: &Arc<Views>,
    models: Arc<ModelTable>,
    (tools, environments, front, kept): (Tools, Arc<Environments>, Front, Kept),
) -> Result<Ports, Failure> {
    let config = &loaded.config;
    let hooks = Hooks::of(&config.hooks)
        .map_err(|error| Failure::new(Exit::Config, error).hint("herm config explain hooks"))?;
    let redactor = loaded.redactor.clone();
    let Kept { memory, skills } = kept;
    let memory = memory.map(|notes| notes as Arc<dyn MemoryProvider>);
    let (from_views, from_log) = (Arc::clone(views), Arc::clone(log));
    Ok(Ports {
        log: Arc::clone(log),
        clock: Arc::new(SystemClock),
        models,
        deadlines: Deadlines::default(),
        tools,
        services: Arc::new(Surroundings {
            views: Arc::clone(views),
            ask: front.ask,
            environments,
            redactor: redactor.clone(),
            memory: memory.clone(),
            whose: Arc::clone(&front.whose),
            skills: Arc::clone(&skills),
        }),
        limits: OutputLimits {
            bytes_max: config.tool_output.bytes_max,
            lines_max: config.tool_output.lines_max,
            line_bytes_max: config.tool_output.line_bytes_max,
        },
        judge: judge(loaded),
        grants: Arc::new(Grants::new(Arc::clone(log), profile_stream(loaded.home.profile_name()))),
        people: front.people,
        checkpoints: checkpoints(loaded).map(Arc::new),
        hooks: Arc::new(hooks),
        prompt: Arc::new(Prompt {
            soul: config.soul_file(&loaded.home),
            memory,
            whose: front.whose,
            skills: Some(skills.library.clone()),
        }),
        engine: Arc::new(Plain),
        outlet: front.outlet,
        redact: Arc::new(move |text| redactor.redact(text).into_owned()),
        load: Arc::new(move |id| {
            // A projection is a convenience; the log is the truth.
            from_views.load_state(id).or_else(|_| fold(&*from_log, id))
        }),
        watch: front.watch,
        home: loaded.home.root().to_owned(),
    })
}

/// The checkpoints of this home; `None` where none are kept.
pub fn checkpoints(loaded: &Loaded) -> Option<Checkpoints> {
    let folder = loaded.home.root().join("checkpoints");
    let person = loaded.environment.get("HOME").map(std::path::PathBuf::from);
    let limits = loaded.config.checkpoints.as_ref()?.limits;
    Some(Checkpoints::new(folder, limits, person.as_deref()))
}

/// The state of a session, from its first event.
///
/// # Errors
/// Those of the log.
pub fn fold(log: &dyn Log, id: SessionId) -> Result<SessionState, log::Error> {
    let mut state = SessionState::default();
    for recorded in log.read_stream(id.stream(), StreamPos(0)) {
        evolve(&mut state, &recorded?);
    }
    Ok(state)
}

/// Judges command lines by the settings; lasting yeses are looked at after it.
fn judge(loaded: &Loaded) -> Judge {
    let person = loaded.environment.get("HOME").map(std::path::PathBuf::from);
    let home = loaded.home.root().to_owned();
    // Whether approvals are off is the session's to say: its policy is in the log.
    let rules = Rules { mode: Mode::Manual, ..judging_rules(loaded) };
    Arc::new(move |tool, arguments, cwd: &Path, scene| {
        if tool == ExecuteCode::NAME {
            return program(arguments, |line| {
                let asked =
                    Asked { command: line, cwd, home: person.as_deref(), agent_home: Some(home.as_path()) };
                approval::judge(&asked, &rules, scene.into(), &approval::NoScripts).verdict
            });
        }
        let Some((line, cwd)) = judged(tool, arguments, cwd) else {
            return Verdict::Allow;
        };
        let Some(line) = line else {
            let reason = "What it would do cannot be told.".to_owned();
            return Verdict::Ask { reason, rule: "unreadable", pattern: tool.to_owned(), target: None };
        };
        let asked =
            Asked { command: &line, cwd: &cwd, home: person.as_deref(), agent_home: Some(home.as_path()) };
        let mut judgement = approval::judge(&asked, &rules, scene.into(), &approval::Files);
        approval::saved::keep(&mut judgement, &line, &home);
        match judgement.outcome {
            Outcome::Runs => Verdict::Allow,
            Outcome::Asks | Outcome::Denied | Outcome::Blocked => judgement.verdict,
        }
    })
}

/// Judges a program: what stands in it as a command line must break no rule that nobody can allow;
/// whether the rest runs, a person says.
fn program(arguments: &serde_json::Value, judge: impl Fn(&str) -> Verdict) -> Verdict {
    let code = arguments.get("code").and_then(serde_json::Value::as_str).unwrap_or_default();
    let lines = execute_code::command_lines(code);
    let mut verdicts = lines.iter().map(|line| judge(line));
    let blocked = verdicts.find(|verdict| matches!(verdict, Verdict::Block { .. }));
    blocked.unwrap_or_else(|| Verdict::Ask {
        reason: "It runs a program that the model wrote.".to_owned(),
        rule: "execute-code",
        pattern: ExecuteCode::NAME.to_owned(),
        target: None,
    })
}

/// The command line that a call comes to, and where; `None` inside where it cannot be told, and outside
/// for a call that runs nothing.
fn judged(
    tool: &str,
    arguments: &serde_json::Value,
    cwd: &Path,
) -> Option<(Option<String>, std::path::PathBuf)> {
    if tool == Process::NAME {
        return process::written(arguments).map(|line| (Some(line), cwd.to_owned()));
    }
    match crate::tools::terminal::command_line(arguments, cwd) {
        Some((line, cwd)) => Some((Some(line), cwd)),
        None => Some((None, cwd.to_owned())),
    }
}

/// What the configuration says about command lines.
pub fn judging_rules(loaded: &Loaded) -> Rules {
    let approvals = &loaded.config.approvals;
    Rules {
        mode: approvals.mode,
        deny: approvals.deny.clone(),
        allowlist: approvals.allowlist.clone(),
        grants: vec![],
        sudo_password: loaded.environment.get(SUDO_PASSWORD_VARIABLE).is_some_and(|text| !text.is_empty()),
        cron: approvals.cron,
        single_query: approvals.single_query,
    }
}

/// What tools may ask of the rest of herm.
struct Surroundings {
    views: Arc<Views>,
    ask: Arc<dyn Clarify>,
    redactor: Redactor,
    environments: Arc<Environments>,
    memory: Option<Arc<dyn MemoryProvider>>,
    whose: Whose,
    skills: Arc<Workshop>,
}

impl Surroundings {
    /// Whose a session is; how it was opened is the first thing that its stream says.
    fn whose(&self, session: SessionId) -> Option<MemorySpace> {
        let first = self.views.log().read_stream(session.stream(), StreamPos(0)).next()?.ok()?;
        match first.event {
            Event::SessionOpened(opened) => Some((self.whose)(&opened.chat, &opened.key)),
            _ => None,
        }
    }
}

impl Services for Surroundings {
    fn redacted(&self, text: &str) -> String {
        self.redactor.redact(text).into_owned()
    }

    fn log(&self) -> &dyn Log {
        &**self.views.log()
    }

    fn skills(&self) -> Option<Arc<Workshop>> {
        Some(Arc::clone(&self.skills))
    }

    fn owned(&self, session: SessionId) -> bool {
        self.whose(session) == Some(MemorySpace::Profile)
    }

    fn memory(&self, session: SessionId) -> Option<(Arc<dyn MemoryProvider>, MemorySpace)> {
        Some((self.memory.clone()?, self.whose(session)?))
    }

    fn search_sessions(&self, session: SessionId, arguments: &serde_json::Value) -> serde_json::Value {
        // One whose own session cannot be read finds nothing of others.
        let own = self.whose(session);
        let visible = |row: &SessionRow| {
            let chat = ChatRef {
                platform: row.platform.clone(),
                chat: row.chat.clone(),
                thread: row.thread.clone(),
            };
            own == Some(MemorySpace::Profile) || own == Some((self.whose)(&chat, &row.key))
        };
        let answer = self.views.session_search_among(&arguments.to_string(), Some(session), &visible);
        serde_json::from_str(&answer).unwrap_or(serde_json::Value::String(answer))
    }

    fn ask<'a>(
        &'a self,
        session: SessionId,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxFuture<'a, Option<String>> {
        self.ask.ask(session, question, choices)
    }

    fn elsewhere(&self, session: SessionId, opened_in: &Path) -> Option<Arc<dyn Environment>> {
        let environment = self.environments.of(&session.to_string(), opened_in).ok()?;
        (!environment.is_this_machine()).then_some(environment)
    }

    fn stands(&self, session: SessionId, opened_in: &Path) -> Option<std::path::PathBuf> {
        self.environments.cwd(&session.to_string(), opened_in)
    }
}

/// What a new conversation in a terminal opens with; its command lines run where `loaded` says, for good.
pub fn opened(loaded: &Loaded, cwd: &Path) -> SessionOpened {
    SessionOpened {
        key: String::new(),
        shared: false,
        profile: loaded.home.profile_name().to_owned(),
        chat: super::chat::terminal_chat(),
        cwd: cwd.to_string_lossy().into_owned(),
        environment: loaded.config.terminal.environments.backend.name().to_owned(),
        herm_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Whether a home has a log yet.
pub fn has_log(home: &Home) -> bool {
    home.log_dir().join("MANIFEST").exists()
}
