//! A session on a log in memory, asked command by command; and what every test needs to say.
#![allow(dead_code, reason = "each test binary uses its own part of it")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

use herm_replay::log::memory::MemoryLog;
use herm_replay::log::{Append, Durability, Expect, Log};
use herm_replay::reducer::command::{Prepared, ToolOutcome};
use herm_replay::reducer::{Command, Effect, Outlook, Rejection, SessionState, Stamp, decide, evolve, owed};
use herm_schema::events::*;
use herm_schema::{BlobRef, Event, JsonText, Micros, Recorded, SessionId, StreamPos, Text};

pub struct Session {
    pub id: SessionId,
    pub log: MemoryLog,
    pub state: SessionState,
    pub events: Vec<Recorded>,
    pub now: Micros,
    pub outlook: Outlook,
    messages: u64,
}

pub fn policy() -> Policy {
    Policy {
        model: ModelChoice {
            context_window_tokens: 128_000,
            output_tokens_max: 8_000,
            ..ModelChoice::new("scripted", "m", "chat_completions")
        },
        fallbacks: Vec::new(),
        spending: SpendingPolicy::default(),
        titles: false,
        limits: Limits {
            iterations_max: 90,
            iteration_budget: 90,
            run_budget_us: None,
            model_attempts_max: 3,
            faults_max: 8,
            resumes_max: 3,
            retry_base_us: 1_000_000,
            retry_max_us: 60_000_000,
        },
        compression: CompressionPolicy {
            enabled: true,
            threshold_percent: 50,
            protect_first: 3,
            protect_last: 6,
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
        busy: BusyPolicy::Interrupt,
        debounce_us: 0,
        chosen: Vec::new(),
        approvals: ApprovalMode::Manual,
        scene: Scene::Terminal,
        delivery: DeliveryPolicy::AtLeastOnce,
        reducer_version: 1,
    }
}

pub fn chat() -> ChatRef {
    ChatRef { platform: "cli".into(), chat: "here".into(), thread: None }
}

pub fn sender() -> Sender {
    Sender { id: "me".into(), name: None }
}

pub fn tools() -> Vec<ToolFacts> {
    let tool = |name: &str, effect, concurrency, judged| ToolFacts {
        name: name.into(),
        effect,
        concurrency,
        refunds_iteration: name == "execute_code",
        judged,
    };
    let path = |writes| Concurrency::Paths { arguments: vec!["path".into()], writes };
    vec![
        tool("execute_code", EffectClass::Once, Concurrency::Serial, false),
        tool("read_file", EffectClass::Repeatable, path(false), false),
        tool("terminal", EffectClass::Once, Concurrency::Serial, true),
        tool("write_file", EffectClass::Checkable, path(true), false),
    ]
}

impl Session {
    /// A session that is open and configured.
    pub fn open(policy: Policy) -> Self {
        let start = Micros(1_796_000_000_000_000);
        let id = SessionId::opened(start, [1; 10]);
        let mut session = Self {
            id,
            log: MemoryLog::new(),
            state: SessionState::default(),
            events: Vec::new(),
            now: start,
            outlook: Outlook::default(),
            messages: 0,
        };
        let opened = SessionOpened {
            key: String::new(),
            shared: false,
            profile: "default".into(),
            chat: chat(),
            cwd: "/work".into(),
            environment: "local".into(),
            herm_version: "test".into(),
        };
        session.ask(Command::Open(opened)).unwrap();
        session.ask(Command::Configure(policy)).unwrap();
        session
    }

    /// Decides, appends, folds; what was recorded.
    pub fn ask(&mut self, command: Command) -> Result<Vec<Event>, Rejection> {
        self.ask_with(command, 0)
    }

    pub fn ask_with(&mut self, command: Command, seed: u64) -> Result<Vec<Event>, Rejection> {
        let events =
            decide(&self.state, command, Stamp { now: self.now, seed, outlook: self.outlook.clone() })?;
        let committed = self
            .log
            .append(Append {
                stream: self.id.stream(),
                expect: Expect::At(self.state.head.stream_pos),
                key: None,
                at: self.now,
                durability: Durability::Queued,
                events,
            })
            .unwrap();
        for recorded in &committed.events {
            evolve(&mut self.state, recorded);
        }
        self.events.extend(committed.events.iter().cloned());
        Ok(committed.events.into_iter().map(|recorded| recorded.event).collect())
    }

    pub fn message(&mut self, text: &str) -> MessageReceived {
        self.messages += 1;
        MessageReceived {
            message_id: format!("m{}", self.messages),
            chat: chat(),
            sender: sender(),
            text: text.into(),
            attachments: Vec::new(),
            context: None,
        }
    }

    pub fn receive(&mut self, text: &str) -> Vec<Event> {
        let message = self.message(text);
        self.ask(Command::Receive { message, visible_text: "half an".into() }).unwrap()
    }

    /// Advances and builds prompts until something of the world is owed.
    pub fn settle(&mut self) -> Vec<Effect> {
        for _ in 0..1_000 {
            let owed = owed(&self.state);
            let due = owed.iter().any(|effect| match effect {
                Effect::Advance => true,
                Effect::Wait { until } => *until <= self.now,
                _ => false,
            });
            if due && self.ask(Command::Advance).is_ok() {
                continue;
            }
            if owed.iter().any(|effect| matches!(effect, Effect::BuildPrompt { .. })) {
                self.build_prompt();
                continue;
            }
            return owed;
        }
        panic!("no rest: {:?}", self.state.turn);
    }

    pub fn build_prompt(&mut self) {
        let command = Command::PromptBuilt {
            prompt: BlobRef::of(b"You are herm."),
            definitions: BlobRef::of(b"[tools]"),
            tools: tools(),
        };
        self.ask(command).unwrap();
    }

    /// The intent of the model call that is owed.
    pub fn model_intent(&mut self) -> StreamPos {
        let owed = self.settle();
        owed.iter()
            .find_map(|effect| match effect {
                Effect::CallModel { intent, .. } => Some(*intent),
                _ => None,
            })
            .unwrap_or_else(|| panic!("no model call is owed but {owed:?}"))
    }

    pub fn answer(&mut self, text: &str, calls: &[(&str, &str, &str)]) -> Vec<Event> {
        let intent = self.model_intent();
        self.ask(Command::ModelAnswered { intent, answer: answer(text, calls) }).unwrap()
    }

    pub fn fail(&mut self, class: FailureClass) -> Vec<Event> {
        let intent = self.model_intent();
        let failure = ModelFailure { class, status: None, message: "no".into(), retry_after_us: None };
        self.ask(Command::ModelFailed { intent, failure }).unwrap()
    }

    /// Lets every call that may begin begin.
    pub fn start_calls(&mut self) -> Vec<StreamPos> {
        let owed = self.settle();
        for effect in owed {
            if let Effect::PrepareCall { call, .. } = effect {
                let arguments = self.state.call(call).unwrap().asked.arguments.clone();
                self.ask(Command::CallPrepared { call, verdict: Prepared::Run { arguments } }).unwrap();
            }
        }
        self.running()
    }

    pub fn running(&mut self) -> Vec<StreamPos> {
        let intent = |effect: Effect| match effect {
            Effect::RunTool { intent, .. } => Some(intent),
            _ => None,
        };
        self.settle().into_iter().filter_map(intent).collect()
    }

    pub fn finish(&mut self, intent: StreamPos, shown: &str) -> Vec<Event> {
        self.ask(Command::ToolFinished { intent, outcome: outcome(ToolStatus::Succeeded, shown) }).unwrap()
    }

    /// Runs every call of the batch with this result.
    pub fn run_batch(&mut self, shown: &str) {
        loop {
            let running = self.start_calls();
            if running.is_empty() {
                return;
            }
            for intent in running {
                self.finish(intent, shown);
            }
        }
    }

    /// Sends the last word and lets the turn end.
    pub fn deliver(&mut self) {
        for effect in self.settle() {
            if let Effect::PlanDelivery { text, .. } = effect {
                self.ask(Command::DeliveryPrepared { chunks: vec![text.into()], keyed: false }).unwrap();
            }
        }
        for effect in self.settle() {
            if let Effect::Deliver { intent, .. } = effect {
                self.ask(Command::Delivered { intent, platform_message_id: None }).unwrap();
            }
        }
        self.settle();
    }

    pub fn exit(&self) -> Option<ExitReason> {
        self.state.turn.is_none().then_some(self.state.last_exit).flatten()
    }

    /// The state folded anew.
    pub fn refolded(&self) -> SessionState {
        let mut state = SessionState::default();
        for recorded in self.log.read_stream(self.id.stream(), StreamPos(0)) {
            evolve(&mut state, &recorded.unwrap());
        }
        state
    }
}

pub fn answer(text: &str, calls: &[(&str, &str, &str)]) -> ModelCallSucceeded {
    let call = |(id, name, arguments): &(&str, &str, &str)| ToolCall {
        id: (*id).into(),
        name: (*name).into(),
        arguments: JsonText((*arguments).into()),
    };
    ModelCallSucceeded {
        message: AssistantMessage {
            text: text.into(),
            reasoning: None,
            calls: calls.iter().map(call).collect(),
            extras: None,
        },
        finish: if calls.is_empty() { Finish::Stop } else { Finish::ToolCalls },
        usage: None,
        timings: Timings::default(),
        response_id: None,
    }
}

pub fn outcome(status: ToolStatus, shown: &str) -> ToolOutcome {
    ToolOutcome {
        status,
        shown: Text::Inline(shown.into()),
        images: Vec::new(),
        full: None,
        recovered: false,
        elapsed_us: 1,
    }
}

pub fn names(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(Event::name).collect()
}
