//! A scripted world: a model, tools, people and a platform that do what a script says, and the
//! truth about what happened out there, which outlives every crash of herm.

mod model;
mod platform;
mod tools;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use herm::approval::Verdict;
use herm::context::Plain;
use herm::effects::Answer;
use herm::providers::{BoxFuture, Deadlines, LoadedMessage, Provider};
use herm::runtime::{
    ApprovalQuestion, Clock, Error, Grants, Models, People, Ports, PromptSource, Sessions, TokioClock, Watch,
};
use herm::tools::{OutputLimits, Services, Tool};
use herm_replay::log::{self, Log};
use herm_replay::reducer::{SessionState, evolve};
use herm_schema::events::*;
use herm_schema::{CallRef, Micros, Recorded, SessionId, StreamId, StreamKind, StreamPos};

pub use model::{Reply, ScriptedModel, Trouble, call, say};
pub use platform::{RecordingPlatform, Seen, SendTrouble};

/// When every world begins.
pub const START: Micros = Micros(1_796_000_000_000_000);
/// Virtual time after which work that has not ended never will.
const FOREVER: Duration = Duration::from_secs(7 * 86_400);

/// Events of one life, at most.
const EVENTS_MAX: u32 = 20_000;

/// What a person does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Say { id: String, text: String },
    Interrupt,
}

/// An input on its way to herm.
#[derive(Clone, Debug)]
pub struct Post {
    /// After [`START`], in milliseconds.
    pub at_ms: u64,
    pub input: Input,
    pub acknowledged: bool,
}

/// The truth about the world; herm only learns of it through answers.
#[derive(Default)]
pub struct Ground {
    /// How often each tool call took effect.
    pub effects: BTreeMap<CallRef, u32>,
    /// What the person has been shown, in order.
    pub seen: Vec<Seen>,
    pub inbox: Vec<Post>,
    /// Every request that reached the model.
    pub requests: Vec<Vec<LoadedMessage>>,
    /// What goes wrong at each step of the script before it is answered.
    pub troubles: BTreeMap<usize, VecDeque<Trouble>>,
    pub send_troubles: VecDeque<Option<SendTrouble>>,
    /// Messages that were received although they had been before.
    pub received_twice: BTreeSet<String>,
    /// What was wrong with a request.
    pub complaints: Vec<String>,
}

/// One world, shared by all lives of herm in it.
#[derive(Clone)]
pub struct World {
    pub ground: Arc<Mutex<Ground>>,
    pub script: Arc<Vec<Reply>>,
    pub policy: Policy,
    pub keyed: bool,
    pub message_chars_max: Option<usize>,
    pub decision: Decision,
}

impl World {
    pub fn new(policy: Policy, script: Vec<Reply>, inputs: Vec<(u64, Input)>) -> Self {
        let post = |(at_ms, input)| Post { at_ms, input, acknowledged: false };
        let ground = Ground { inbox: inputs.into_iter().map(post).collect(), ..Ground::default() };
        Self {
            ground: Arc::new(Mutex::new(ground)),
            script: Arc::new(script),
            policy,
            keyed: false,
            message_chars_max: None,
            decision: Decision::Allowed { scope: GrantScope::Once },
        }
    }

    pub fn ground(&self) -> MutexGuard<'_, Ground> {
        self.ground.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        tools::all(&self.ground)
    }

    /// Everything an actor needs, over `log`.
    pub fn ports(&self, log: Arc<dyn Log>, clock: Arc<dyn Clock>) -> Ports {
        let model = ScriptedModel { ground: self.ground.clone(), script: self.script.clone() };
        let platform = RecordingPlatform {
            ground: self.ground.clone(),
            keyed: self.keyed,
            message_chars_max: self.message_chars_max,
        };
        Ports {
            clock,
            models: Arc::new(OneModel(Arc::new(model))),
            deadlines: Deadlines::default(),
            tools: self.tools().into(),
            services: Arc::new(NoServices(log.clone())),
            limits: OutputLimits::default(),
            judge: Arc::new(judge),
            grants: Arc::new(Grants::new(log.clone(), StreamId::named(StreamKind::Profile, "default"))),
            people: Arc::new(ScriptedPeople(self.decision)),
            checkpoints: None,
            hooks: Arc::default(),
            prompt: Arc::new(FixedPrompt),
            engine: Arc::new(Plain),
            outlet: Arc::new(platform),
            redact: Arc::new(str::to_owned),
            load: loader(log.clone()),
            watch: Arc::new(Patience::default()),
            home: "/nowhere/herm".into(),
            log,
        }
    }

    /// One life of herm in this world: opens or resumes the session of `log`, lets people say what
    /// they have not said yet, and waits until nothing is owed.
    pub async fn live(&self, log: &Arc<log::MemoryLog>, base: Micros, seed: u64) -> SessionState {
        let clock = Arc::new(TokioClock::starting(base, seed));
        let sessions = Sessions::new(Arc::new(self.ports(log.clone(), clock.clone())));
        let handle = match session_of(log) {
            None => sessions.open(opened(), self.policy.clone()).await.unwrap(),
            Some(id) => {
                let handle = sessions.resume(id, None).await.unwrap();
                if handle.state().await.unwrap().policy.is_none() {
                    handle.configure(self.policy.clone()).await.unwrap();
                }
                handle
            }
        };
        let posts = self.ground().inbox.len();
        for index in 0..posts {
            let post = self.ground().inbox[index].clone();
            if post.acknowledged {
                continue;
            }
            tokio::time::sleep(clock.left(START.plus(post.at_ms * 1_000))).await;
            match &post.input {
                Input::Say { id, text } => match handle.receive(message(id, text)).await {
                    Ok(_) => {}
                    Err(Error::Duplicate { .. }) => drop(self.ground().received_twice.insert(id.clone())),
                    Err(error) => panic!("message `{id}` is refused: {error}"),
                },
                Input::Interrupt => match handle.interrupt(InterruptSource::Person).await {
                    Ok(_) | Err(Error::Rejected(_)) => {}
                    Err(error) => panic!("interrupt fails: {error}"),
                },
            }
            self.ground().inbox[index].acknowledged = true;
        }
        match tokio::time::timeout(FOREVER, handle.idle()).await {
            Ok(ended) => ended.unwrap(),
            Err(_) => panic!("work never ends: {:#?}", handle.state().await.unwrap().turn),
        }
        handle.state().await.unwrap()
    }
}

/// Runs to the end on a clock that only moves when nothing else can; everything that still runs
/// then is dropped where it stands, as if the process had been killed.
pub fn on_a_stopped_clock<F: Future>(work: F) -> F::Output {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(work)
}

/// The session that a log holds.
pub fn session_of(log: &log::MemoryLog) -> Option<SessionId> {
    log.read_all(herm_schema::Position(0)).find_map(|r| SessionId::of_stream(r.unwrap().envelope.stream))
}

/// Folds the stream of a session.
pub fn loader(log: Arc<dyn Log>) -> herm::runtime::Loader {
    Arc::new(move |id| {
        let mut state = SessionState::default();
        for recorded in log.read_stream(id.stream(), StreamPos(0)) {
            evolve(&mut state, &recorded?);
        }
        Ok(state)
    })
}

pub fn chat() -> ChatRef {
    ChatRef { platform: "scripted".into(), chat: "here".into(), thread: None }
}

pub fn opened() -> SessionOpened {
    SessionOpened {
        key: String::new(),
        shared: false,
        profile: "default".into(),
        chat: chat(),
        cwd: "/work".into(),
        environment: "local".into(),
        herm_version: "test".into(),
    }
}

pub fn message(id: &str, text: &str) -> MessageReceived {
    let sender = Sender { id: "me".into(), name: None };
    MessageReceived {
        message_id: id.into(),
        chat: chat(),
        sender,
        text: text.into(),
        attachments: Vec::new(),
        context: None,
    }
}

pub fn says(id: &str, text: &str) -> Input {
    Input::Say { id: id.into(), text: text.into() }
}

pub fn policy() -> Policy {
    Policy {
        model: ModelChoice {
            context_window_tokens: 128_000,
            output_tokens_max: 1_000,
            ..ModelChoice::new("scripted", "m", "chat_completions")
        },
        fallbacks: Vec::new(),
        spending: SpendingPolicy::default(),
        titles: false,
        limits: Limits {
            iterations_max: 60,
            iteration_budget: 60,
            run_budget_us: None,
            model_attempts_max: 4,
            faults_max: 8,
            resumes_max: 3,
            retry_base_us: 1_000_000,
            retry_max_us: 60_000_000,
        },
        compression: CompressionPolicy {
            enabled: true,
            threshold_percent: 50,
            protect_first: 1,
            protect_last: 4,
            attempts_max: 3,
            prune_above_tokens: 0,
            prune_reclaim_min_tokens: 4_096,
            shrink_min_percent: 5,
            messages_max: 5_000,
        },
        guardrails: GuardrailPolicy {
            warnings: true,
            hard_stop: true,
            exact_failure_warn: 2,
            exact_failure_stop: 5,
            same_tool_failure_warn: 3,
            same_tool_failure_stop: 8,
            no_progress_warn: 2,
            no_progress_stop: 5,
        },
        busy: BusyPolicy::Queue,
        debounce_us: 0,
        chosen: Vec::new(),
        approvals: ApprovalMode::Manual,
        scene: Scene::Terminal,
        delivery: DeliveryPolicy::AtLeastOnce,
        reducer_version: herm_replay::reducer::decide::REDUCER_VERSION,
    }
}

/// The one provider that there is.
pub struct OneModel(pub Arc<dyn Provider>);

impl Models for OneModel {
    fn provider(&self, _: &ModelChoice, _: Option<&str>) -> Option<Arc<dyn Provider>> {
        Some(self.0.clone())
    }
}

struct ScriptedPeople(Decision);

impl People for ScriptedPeople {
    fn approve<'a>(&'a self, _: &'a ApprovalQuestion) -> BoxFuture<'a, Answer> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            match self.0 {
                Decision::Expired => Answer::silence(),
                decision => Answer::here(decision),
            }
        })
    }
}

struct FixedPrompt;

impl PromptSource for FixedPrompt {
    fn build(&self, _: &SessionState, _: &[ToolFacts]) -> String {
        "You are herm.".to_owned()
    }
}

/// Ends a life that goes in circles without time passing.
#[derive(Default)]
struct Patience(AtomicU32);

impl Watch for Patience {
    fn event(&self, _: &Recorded, _: &SessionState) {
        let events = self.0.fetch_add(1, Ordering::Relaxed);
        assert!(events < EVENTS_MAX, "more than {EVENTS_MAX} events in one life");
    }
}

struct NoServices(Arc<dyn Log>);

impl Services for NoServices {
    fn log(&self) -> &dyn Log {
        &*self.0
    }

    fn search_sessions(&self, _: SessionId, _: &serde_json::Value) -> serde_json::Value {
        serde_json::json!({"results": []})
    }

    fn ask<'a>(&'a self, _: SessionId, _: &'a str, _: &'a [String]) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}

/// A call says itself what is to become of it.
fn judge(tool: &str, arguments: &serde_json::Value, _: &Path, _: Scene) -> Verdict {
    match arguments.get("judge").and_then(|word| word.as_str()) {
        Some("ask") => {
            let reason = "It is asked.".into();
            Verdict::Ask { reason, rule: "test", pattern: format!("{tool} it"), target: None }
        }
        Some("block") => Verdict::Block { rule: "test", shown: "It is blocked.".into() },
        Some("panic") => panic!("the judge panics"),
        _ => Verdict::Allow,
    }
}
