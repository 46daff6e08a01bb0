//! Realistic sessions: decided by the reducer itself, with a model, tools and a platform that
//! answer at once.

use herm_replay::reducer::command::{Prepared, ToolOutcome};
use herm_replay::reducer::{Command, Effect, SessionState, Stamp, decide, evolve, owed};
use herm_schema::events::*;
use herm_schema::{
    BlobRef, Digest, Envelope, JsonText, Micros, NewEvent, Position, Recorded, SessionId, StreamPos, Text,
    codec,
};

/// When the first session begins.
pub const START: Micros = Micros(1_796_000_000_000_000);

const WORDS: [&str; 12] =
    ["the", "build", "fails", "because", "a", "path", "in", "`src/main.rs`", "names", "no", "module,", "so"];

/// The events of a session of `turns` turns; each has a question, `calls` tool calls and an answer.
pub struct Script {
    pub state: SessionState,
    pub events: Vec<NewEvent>,
    seed: u64,
}

impl Script {
    pub fn of(turns: usize, calls: usize, seed: u64) -> Self {
        let mut script = Self { state: SessionState::default(), events: Vec::new(), seed };
        script.ask(Command::Open(opened("/home/me/project")));
        script.ask(Command::Configure(policy(model("scripted", ""))));
        for turn in 0..turns {
            let calls = if calls == 0 { 0 } else { (turn + seed as usize) % (2 * calls) + 1 };
            script.turn(turn, calls);
        }
        script
    }

    /// The same with an end.
    pub fn ended(mut self) -> Self {
        self.ask(Command::End(EndReason::Closed));
        self
    }

    fn turn(&mut self, turn: usize, calls: usize) {
        let message = message(format!("m{turn}"), self.text(turn, 24));
        self.ask(Command::Receive { message, visible_text: String::new() });
        let mut left = calls;
        while self.state.has_open_work() {
            for effect in owed(&self.state) {
                let command = self.outcome(turn, effect, &mut left);
                self.ask(command);
            }
        }
    }

    fn outcome(&self, turn: usize, effect: Effect, left: &mut usize) -> Command {
        match effect {
            Effect::Advance => Command::Advance,
            Effect::BuildPrompt { .. } => Command::PromptBuilt {
                prompt: BlobRef::of(b"You are herm."),
                definitions: BlobRef::of(b"[]"),
                tools: tools(),
            },
            Effect::CallModel { intent, .. } => {
                let calls = std::mem::take(left);
                Command::ModelAnswered { intent, answer: self.answer(turn, calls) }
            }
            Effect::PrepareCall { call, .. } => {
                let asked = self.state.call(call).map(|call| call.asked.arguments.clone());
                let arguments = asked.expect("the call that is owed");
                Command::CallPrepared { call, verdict: Prepared::Run { arguments } }
            }
            Effect::RunTool { intent, .. } => {
                let shown = Text::Inline(self.text(turn + intent.0 as usize, 120));
                let (status, elapsed_us) = (ToolStatus::Succeeded, 1_200);
                let outcome = ToolOutcome {
                    status,
                    shown,
                    images: Vec::new(),
                    full: None,
                    recovered: false,
                    elapsed_us,
                };
                Command::ToolFinished { intent, outcome }
            }
            Effect::PlanDelivery { text, .. } => {
                Command::DeliveryPrepared { chunks: vec![text.into()], keyed: false }
            }
            Effect::Deliver { intent, .. } => {
                Command::Delivered { intent, platform_message_id: Some("9931".into()) }
            }
            Effect::Wait { .. } | Effect::Compress { .. } | Effect::AskApproval { .. } | Effect::Title => {
                unreachable!("nothing fails, nothing is judged, and everything fits")
            }
        }
    }

    fn answer(&self, turn: usize, calls: usize) -> ModelCallSucceeded {
        let call = |index: usize| ToolCall {
            id: format!("call_{turn}_{index}"),
            name: "read_file".into(),
            arguments: JsonText(format!(r#"{{"limit":{},"path":"src/part_{turn}_{index}.rs"}}"#, 40 + index)),
        };
        let finish = if calls == 0 { Finish::Stop } else { Finish::ToolCalls };
        ModelCallSucceeded {
            message: AssistantMessage {
                text: self.text(turn, if calls == 0 { 80 } else { 10 }),
                calls: (0..calls).map(call).collect(),
                ..AssistantMessage::default()
            },
            finish,
            usage: Some(Usage { input: 900, output: 60, ..Usage::default() }),
            timings: Timings { first_content_us: 400_000, total_us: 2_000_000 },
            response_id: Some(format!("chatcmpl-{turn:024x}")),
        }
    }

    fn text(&self, from: usize, words: usize) -> String {
        let word = |at: usize| WORDS.get((at * 7 + self.seed as usize) % WORDS.len()).copied();
        (from..from + words).filter_map(word).collect::<Vec<_>>().join(" ")
    }

    fn ask(&mut self, command: Command) {
        let pos = self.state.head.stream_pos.0;
        let now = START.plus(pos * 300_000);
        let Ok(events) = decide(&self.state, command, Stamp { now, seed: self.seed, ..Stamp::default() })
        else {
            // An effect that was owed before the one ahead of it was done.
            return;
        };
        let id = SessionId::opened(START, [0; 10]);
        for (index, new) in events.into_iter().enumerate() {
            let recorded = recorded(&new, id, pos + index as u64 + 1, now);
            evolve(&mut self.state, &recorded);
            self.events.push(new);
        }
    }
}

/// The event as a log would have it.
fn recorded(new: &NewEvent, id: SessionId, pos: u64, now: Micros) -> Recorded {
    let envelope = Envelope {
        position: Position(pos),
        stream: id.stream(),
        stream_pos: StreamPos(pos),
        recorded_at: now,
        kind: new.event.kind(),
        version: new.event.version(),
        cause: new.cause,
        turn: new.turn,
        key: None,
        batch_left: 0,
        epoch: 0,
        key_id: 0,
        codec: herm_schema::envelope::Codec::Plain,
        chain: Digest::default(),
    };
    Recorded { envelope, event: new.event.clone() }
}

/// Sessions dealt out event by event over many streams that run side by side.
pub struct Dealer<'a> {
    scripts: &'a [Script],
    live: Vec<Live>,
    opened: u64,
    dealt: u64,
}

struct Live {
    id: SessionId,
    script: usize,
    next: usize,
}

/// The next event of the log.
pub struct Dealt<'a> {
    pub place: codec::Placing,
    pub event: &'a NewEvent,
}

impl<'a> Dealer<'a> {
    pub fn new(scripts: &'a [Script], side_by_side: usize) -> Self {
        let mut dealer = Self { scripts, live: Vec::new(), opened: 0, dealt: 0 };
        dealer.live = (0..side_by_side).map(|_| dealer.open()).collect();
        dealer
    }

    fn open(&mut self) -> Live {
        self.opened += 1;
        let mut salt = [0; 10];
        salt.iter_mut().zip(self.opened.to_le_bytes()).for_each(|(to, from)| *to = from);
        let script = self.opened as usize % self.scripts.len();
        Live { id: SessionId::opened(START, salt), script, next: 0 }
    }

    pub fn sessions(&self) -> u64 {
        self.opened
    }

    pub fn deal(&mut self) -> Dealt<'a> {
        self.dealt += 1;
        let slot = (self.dealt.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % self.live.len();
        let live = &mut self.live[slot];
        let script = &self.scripts[live.script];
        let place = codec::Placing {
            position: Position(self.dealt),
            stream: live.id.stream(),
            stream_pos: StreamPos(live.next as u64 + 1),
            recorded_at: START.plus(self.dealt * 1_000),
            key: None,
            batch_left: 0,
            epoch: 1,
            chain: Digest::default(),
        };
        let event = &script.events[live.next];
        live.next += 1;
        if live.next == script.events.len() {
            let next = self.open();
            self.live[slot] = next;
        }
        Dealt { place, event }
    }
}

pub fn opened(cwd: &str) -> SessionOpened {
    SessionOpened {
        key: String::new(),
        shared: false,
        profile: "default".into(),
        chat: chat(),
        cwd: cwd.into(),
        environment: "local".into(),
        herm_version: env!("CARGO_PKG_VERSION").into(),
    }
}

pub fn message(message_id: String, text: String) -> MessageReceived {
    MessageReceived {
        message_id,
        chat: chat(),
        sender: Sender { id: "me".into(), name: None },
        text,
        attachments: Vec::new(),
        context: None,
    }
}

fn chat() -> ChatRef {
    ChatRef { platform: "cli".into(), chat: "terminal".into(), thread: None }
}

fn tools() -> Vec<ToolFacts> {
    let tool = |name: &str, effect, concurrency, judged| ToolFacts {
        name: name.into(),
        effect,
        concurrency,
        refunds_iteration: false,
        judged,
    };
    let path = |writes| Concurrency::Paths { arguments: vec!["path".into()], writes };
    vec![
        tool("read_file", EffectClass::Repeatable, path(false), false),
        tool("terminal", EffectClass::Once, Concurrency::Serial, true),
        tool("write_file", EffectClass::Checkable, path(true), false),
    ]
}

pub fn model(provider: &str, base_url: &str) -> ModelChoice {
    ModelChoice {
        base_url: base_url.into(),
        context_window_tokens: 1_000_000,
        output_tokens_max: 8_000,
        ..ModelChoice::new(provider, "scripted", "chat_completions")
    }
}

/// The usual settings, with limits that no bench reaches.
pub fn policy(model: ModelChoice) -> Policy {
    Policy {
        model,
        fallbacks: Vec::new(),
        spending: SpendingPolicy::default(),
        titles: false,
        limits: Limits {
            iterations_max: 90,
            iteration_budget: 90,
            run_budget_us: None,
            model_attempts_max: 3,
            faults_max: 3,
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
            hard_stop: false,
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
        reducer_version: 1,
    }
}
