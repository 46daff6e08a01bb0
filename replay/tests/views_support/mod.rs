//! Logs as real sessions leave them: the reducer decides, a script answers for the world.
#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

use std::sync::Arc;

use herm_replay::log::{Append, Durability, Expect, Log, MemoryLog};
use herm_replay::reducer::command::{Compression, Prepared, Question, ToolOutcome};
use herm_replay::reducer::{Command, Effect, SessionState, Stamp, decide, evolve, owed};
use herm_schema::events::*;
use herm_schema::{BlobRef, Event, JsonText, Micros, SessionId, Text};

/// Monday, 2026-11-30, 20:10:34 UTC.
pub const START: Micros = Micros(1_796_069_434_000_000);

/// A small generator of numbers; the same seed gives the same ones everywhere.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }
}

const WORDS: &[&str] = &[
    "notes",
    "build",
    "failed",
    "server",
    "snake_case",
    "v1.2.3",
    "记忆断裂",
    "café",
    "deploy",
    "C++",
    "the",
    "a",
    "🦀",
    "src/main.rs",
    "parseHttpRequest",
    "E0308",
    "release",
    "どこ",
    "log",
];
const TOOLS: &[(&str, EffectClass)] = &[
    ("read_file", EffectClass::Repeatable),
    ("write_file", EffectClass::Checkable),
    ("terminal", EffectClass::Once),
];

pub fn text(dice: &mut Dice) -> String {
    let count = 1 + dice.below(9);
    (0..count).map(|_| *dice.of(WORDS)).collect::<Vec<_>>().join(" ")
}

/// A session that is being written.
pub struct Scripted<'a> {
    pub log: &'a dyn Log,
    pub id: SessionId,
    pub state: SessionState,
    pub now: Micros,
    pub dice: Dice,
    /// Whether the world goes wrong now and then.
    pub trouble: bool,
}

impl<'a> Scripted<'a> {
    pub fn open(log: &'a dyn Log, seed: u64, now: Micros) -> Self {
        let id = SessionId::opened(now, [seed as u8 + 1; 10]);
        let mut scripted =
            Self { log, id, state: SessionState::default(), now, dice: Dice::new(seed), trouble: true };
        let chat = ChatRef {
            platform: ["cli", "telegram"][seed as usize % 2].to_owned(),
            chat: format!("chat-{}", seed % 3),
            thread: seed.is_multiple_of(2).then(|| "7".to_owned()),
        };
        scripted.ask(Command::Open(SessionOpened {
            key: String::new(),
            shared: false,
            profile: ["default", "work"][seed as usize % 2].to_owned(),
            chat,
            cwd: "/work".to_owned(),
            environment: "local".into(),
            herm_version: "0.1.0".to_owned(),
        }));
        scripted.ask(Command::Configure(policy(seed)));
        scripted
    }

    /// Asks the reducer and appends what it decides; whether it decided anything.
    pub fn ask(&mut self, command: Command) -> bool {
        self.now = self.now.plus(1_000 + self.dice.below(2_000_000));
        let stamp = Stamp { now: self.now, seed: self.dice.next(), ..Stamp::default() };
        let Ok(events) = decide(&self.state, command, stamp) else {
            return false;
        };
        let append = Append {
            stream: self.id.stream(),
            expect: Expect::At(self.state.head.stream_pos),
            key: None,
            at: self.now,
            durability: Durability::Queued,
            events,
        };
        for recorded in self.log.append(append).unwrap().events {
            evolve(&mut self.state, &recorded);
        }
        true
    }

    pub fn receive(&mut self, text: &str) -> bool {
        let chat = self.state.opened.as_ref().unwrap().chat.clone();
        let message = MessageReceived {
            message_id: format!("m{}", self.state.head.stream_pos),
            chat,
            sender: Sender { id: "u1".to_owned(), name: Some("Ada".to_owned()) },
            text: text.to_owned(),
            attachments: Vec::new(),
            context: None,
        };
        self.ask(Command::Receive { message, visible_text: "so far".to_owned() })
    }

    /// Does up to `steps` things that are owed; whether everything is done.
    pub fn run(&mut self, steps: usize) -> bool {
        for _ in 0..steps {
            let effects = owed(&self.state);
            let Some(effect) = effects.first().cloned() else {
                return true;
            };
            if self.trouble && self.dice.below(25) == 0 {
                self.disturb(&effect);
            } else {
                self.perform(effect);
            }
        }
        owed(&self.state).is_empty()
    }

    fn disturb(&mut self, effect: &Effect) {
        match self.dice.below(5) {
            0 => drop(self.ask(Command::Resume)),
            1 => drop(self.ask(Command::Interrupt {
                by: InterruptSource::Person,
                visible_text: "I was just".to_owned(),
            })),
            2 => drop(self.ask(Command::Fault { effect: effect.id(), message: "a panic".to_owned() })),
            _ => {
                let text = text(&mut self.dice);
                self.receive(&text);
            }
        }
    }

    fn perform(&mut self, effect: Effect) {
        let command = match effect {
            Effect::Advance => Command::Advance,
            Effect::Wait { until } => {
                self.now = self.now.max(until);
                Command::Advance
            }
            Effect::BuildPrompt { .. } => self.prompt(),
            Effect::CallModel { intent, .. } => match self.trouble && self.dice.below(12) == 0 {
                true => Command::ModelFailed { intent, failure: self.failure() },
                false => Command::ModelAnswered { intent, answer: self.answer() },
            },
            Effect::Compress { intent, .. } => Command::Compressed { intent, result: self.compression() },
            Effect::PrepareCall { call, approved } => {
                Command::CallPrepared { call, verdict: self.verdict(approved) }
            }
            Effect::AskApproval { request, .. } => {
                let decision = *self.dice.of(&[
                    Decision::Allowed { scope: GrantScope::Once },
                    Decision::Denied,
                    Decision::Expired,
                ]);
                Command::ApprovalAnswered { request, decision, by: DecidedBy::Person, answerer: None }
            }
            Effect::RunTool { intent, .. } => match self.trouble && self.dice.below(15) == 0 {
                true => Command::ToolInDoubt { intent },
                false => Command::ToolFinished { intent, outcome: self.outcome() },
            },
            Effect::Title => return self.title(),
            Effect::PlanDelivery { text, .. } => Command::DeliveryPrepared {
                chunks: halves(&text).into_iter().map(Into::into).collect(),
                keyed: false,
            },
            Effect::Deliver { intent, .. } => self.deliver(intent),
        };
        self.ask(command);
    }

    /// A model is asked for a title, and answers or does not.
    fn title(&mut self) {
        let call = AuxiliaryCallStarted {
            task: AuxiliaryTask::Title,
            attempt: 1,
            request_digest: herm_schema::Digest::of(b"a title"),
            estimated_tokens: 100,
            provider: "offline".to_owned(),
            model: "small".to_owned(),
            credential: None,
            prices: None,
        };
        let started = self.state.next_pos();
        if !self.ask(Command::BeginAuxiliary(call)) {
            return;
        }
        let outcome = match self.trouble && self.dice.below(3) == 0 {
            true => AuxiliaryOutcome::Failed { failure: self.failure() },
            false => {
                let usage = Some(Usage { input: 90, output: 6, ..Usage::default() });
                let (text, timings) = ("A talk".to_owned(), Timings::default());
                AuxiliaryOutcome::Answered { text, usage, timings }
            }
        };
        self.ask(Command::EndAuxiliary(AuxiliaryCallFinished { started, outcome }));
    }

    fn deliver(&mut self, intent: herm_schema::StreamPos) -> Command {
        match if self.trouble { self.dice.below(8) } else { 7 } {
            0 => Command::DeliveryFailed {
                intent,
                class: DeliveryFailure::Unreachable,
                message: "no route".to_owned(),
                retry_at: Some(self.now.plus(5_000_000)),
            },
            1 => Command::DeliveryFailed {
                intent,
                class: DeliveryFailure::Gone,
                message: "chat not found".to_owned(),
                retry_at: None,
            },
            _ => Command::Delivered { intent, platform_message_id: Some(format!("p{intent}")) },
        }
    }

    fn prompt(&mut self) -> Command {
        let prompt = self.log.put_blob("You are herm.".as_bytes()).unwrap();
        let names = TOOLS.iter().map(|(name, _)| {
            serde_json::json!({ "name": name, "description": name, "parameters": { "type": "object" } })
        });
        let definitions = serde_json::Value::Array(names.collect()).to_string();
        let definitions = self.log.put_blob(definitions.as_bytes()).unwrap();
        let tools = TOOLS
            .iter()
            .map(|(name, effect)| ToolFacts {
                name: (*name).to_owned(),
                effect: *effect,
                concurrency: match effect {
                    EffectClass::Repeatable => Concurrency::Parallel,
                    EffectClass::Checkable | EffectClass::Once => Concurrency::Serial,
                },
                refunds_iteration: false,
                judged: true,
            })
            .collect();
        Command::PromptBuilt { prompt, definitions, tools }
    }

    fn answer(&mut self) -> ModelCallSucceeded {
        let calls = match self.dice.below(3) {
            0 => 1 + self.dice.below(2),
            _ => 0,
        };
        let calls: Vec<ToolCall> = (0..calls)
            .map(|index| ToolCall {
                id: format!("call_{index}"),
                name: self.dice.of(TOOLS).0.to_owned(),
                arguments: JsonText(format!("{{\"path\":\"{}\"}}", self.dice.below(100))),
            })
            .collect();
        let tokens = self.dice.below(1_000);
        ModelCallSucceeded {
            finish: if calls.is_empty() { Finish::Stop } else { Finish::ToolCalls },
            message: AssistantMessage {
                text: text(&mut self.dice),
                reasoning: tokens.is_multiple_of(3).then(|| "let me think".to_owned()),
                calls,
                extras: None,
            },
            usage: (!tokens.is_multiple_of(5)).then_some(Usage {
                input: tokens,
                cached_read: tokens / 2,
                cached_write: 1,
                output: tokens / 3,
                reasoning: tokens / 9,
            }),
            timings: Timings { first_content_us: tokens, total_us: tokens * 3 },
            response_id: None,
        }
    }

    fn failure(&mut self) -> ModelFailure {
        let class = *self.dice.of(&[FailureClass::RateLimit, FailureClass::ServerError, FailureClass::Auth]);
        ModelFailure { class, status: Some(500), message: "try later".to_owned(), retry_after_us: None }
    }

    fn compression(&mut self) -> Result<Compression, String> {
        let view = &self.state.view;
        let (Some(first), Some(last)) = (view.first(), view.get(view.len().saturating_sub(3))) else {
            return Err(String::new());
        };
        if view.len() < 5 {
            return Err(String::new());
        }
        Ok(Compression {
            first: first.at,
            last: last.at,
            summary: "they talked".to_owned(),
            pruned: Vec::new(),
            engine: "plain".to_owned(),
        })
    }

    fn verdict(&mut self, approved: bool) -> Prepared {
        match self.dice.below(6) {
            0 if !approved => Prepared::Ask(Question {
                subject: "rm -r x".to_owned(),
                reason: "it deletes".to_owned(),
                rule: "deletes".to_owned(),
                pattern: "rm".to_owned(),
                target: None,
            }),
            1 if !approved => {
                Prepared::Block { rule: "no".to_owned(), subject: "mkfs".to_owned(), shown: "no".into() }
            }
            _ => Prepared::Run { arguments: JsonText("{}".to_owned()) },
        }
    }

    fn outcome(&mut self) -> ToolOutcome {
        let printed = text(&mut self.dice);
        let stored: Option<BlobRef> =
            (self.dice.below(3) == 0).then(|| self.log.put_blob(printed.as_bytes()).unwrap());
        ToolOutcome {
            status: *self.dice.of(&[ToolStatus::Succeeded, ToolStatus::Failed]),
            shown: stored.map_or_else(|| Text::Inline(printed.clone()), Text::Stored),
            images: Vec::new(),
            full: stored,
            recovered: false,
            elapsed_us: self.dice.below(10_000),
        }
    }
}

fn halves(text: &str) -> Vec<String> {
    let middle = text.chars().count() / 2;
    let (first, second): (String, String) =
        (text.chars().take(middle).collect(), text.chars().skip(middle).collect());
    [first, second].into_iter().filter(|half| !half.is_empty()).collect()
}

pub fn policy(seed: u64) -> Policy {
    Policy {
        model: ModelChoice {
            context_window_tokens: 4_000,
            output_tokens_max: 500,
            ..ModelChoice::new("offline", &format!("model-{}", seed % 2), "chat_completions")
        },
        fallbacks: Vec::new(),
        spending: SpendingPolicy::default(),
        debounce_us: 0,
        chosen: Vec::new(),
        titles: seed > 0 && seed.is_multiple_of(3),
        limits: Limits {
            iterations_max: 8,
            iteration_budget: 8,
            run_budget_us: None,
            model_attempts_max: 3,
            faults_max: 3,
            resumes_max: 3,
            retry_base_us: 1_000,
            retry_max_us: 10_000,
        },
        compression: CompressionPolicy {
            enabled: true,
            threshold_percent: 50,
            protect_first: 0,
            protect_last: 2,
            attempts_max: 3,
            prune_above_tokens: 0,
            prune_reclaim_min_tokens: 0,
            shrink_min_percent: 5,
            messages_max: 24,
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
        busy: *[BusyPolicy::Queue, BusyPolicy::Steer, BusyPolicy::Interrupt]
            .iter()
            .cycle()
            .nth(seed as usize % 3)
            .unwrap(),
        approvals: ApprovalMode::Manual,
        scene: Scene::Terminal,
        delivery: DeliveryPolicy::AtLeastOnce,
        reducer_version: 1,
    }
}

/// Sessions, interleaved; some are left in the middle of a turn.
pub fn generate(log: &dyn Log, seed: u64, sessions: u64, rounds: u64) {
    let mut dice = Dice::new(seed);
    let mut all: Vec<Scripted<'_>> =
        (0..sessions).map(|n| Scripted::open(log, n, START.plus(n * 86_400_000_000 / 2))).collect();
    for _ in 0..rounds {
        for scripted in &mut all {
            let said = text(&mut dice);
            if dice.below(3) == 0 {
                scripted.receive(&said);
            }
            scripted.run(dice.below(9) as usize);
        }
    }
    for (at, scripted) in all.iter_mut().enumerate() {
        if at % 3 != 0 && scripted.run(500) {
            scripted.ask(Command::End(EndReason::Closed));
        }
    }
}

pub fn generated(seed: u64, sessions: u64, rounds: u64) -> Arc<MemoryLog> {
    let log = Arc::new(MemoryLog::new());
    generate(&*log, seed, sessions, rounds);
    log
}

/// A log with one session of one plain turn: `question`, `answer`.
pub fn plain(log: &dyn Log, seed: u64, question: &str, answer: &str) -> SessionId {
    let mut scripted = Scripted::open(log, seed, START.plus(seed * 1_000_000));
    scripted.trouble = false;
    scripted.receive(question);
    for _ in 0..40 {
        let effects = owed(&scripted.state);
        match effects.first().cloned() {
            None | Some(Effect::Title) => break,
            Some(Effect::CallModel { intent, .. }) => {
                let message = AssistantMessage { text: answer.to_owned(), ..AssistantMessage::default() };
                let timings = Timings::default();
                scripted.ask(Command::ModelAnswered {
                    intent,
                    answer: ModelCallSucceeded {
                        message,
                        finish: Finish::Stop,
                        usage: None,
                        timings,
                        response_id: None,
                    },
                });
            }
            Some(effect) => scripted.perform(effect),
        }
    }
    assert!(scripted.state.turn.is_none(), "{:?}", scripted.state.turn);
    scripted.id
}

/// Gives `to` the blobs that the events of `from` name.
pub fn copy_blobs(from: &MemoryLog, to: &MemoryLog) {
    for recorded in from.events() {
        let named = match recorded.event {
            Event::SystemPromptBuilt(built) => vec![built.prompt],
            Event::ToolsOffered(offered) => vec![offered.definitions],
            Event::ToolCallFinished(finished) => finished.full.into_iter().collect(),
            _ => Vec::new(),
        };
        for blob in named {
            to.put_blob(&from.blob(blob).unwrap()).unwrap();
        }
    }
}
