//! What will be done: every setting with its type. Built from decided [`Settings`] and nothing else.

use std::path::{Path, PathBuf};
use std::time::Duration;

use herm_schema::events::{
    BusyPolicy, CacheTtl, CompressionPolicy, DeliveryPolicy, GuardrailPolicy, ReasoningEffort, SpendingPolicy,
};

use super::keys::{self, Key};
use super::{Home, Secret, Settings, Value};
use crate::approval::{Mode, Preset};

/// The configuration of one start of herm.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub model: ModelConfig,
    /// What a person adds to the catalogue of vendors, by name.
    pub providers: serde_json::Value,
    /// Models that are called instead, as they are written.
    pub fallbacks: Vec<serde_json::Value>,
    /// Model calls of one turn.
    pub iterations_max: u32,
    /// Wall-clock time of one turn; `None` is without limit.
    pub run_budget: Option<Duration>,
    /// Attempts at one model call, the first included.
    pub model_attempts_max: u32,
    /// Relative to the home, see [`Config::soul_file`].
    pub soul: PathBuf,
    pub terminal: TerminalConfig,
    pub tool_output: ToolOutput,
    pub guardrails: GuardrailPolicy,
    pub compression: CompressionPolicy,
    pub busy: BusyPolicy,
    pub display: Display,
    pub approvals: ApprovalConfig,
    pub security: Security,
    pub delivery: DeliveryPolicy,
    pub spending: SpendingPolicy,
    /// Whether a session gets a title from a model.
    pub titles: bool,
    /// Which of several keys is taken, as it is written.
    pub strategies: serde_json::Value,
    /// Who is asked besides the conversation, as it is written.
    pub auxiliary: serde_json::Value,
    /// IANA name; `None` is the system's.
    pub timezone: Option<String>,
}

/// What is asked for; what it comes to is found out by `providers::resolve`. `None` leaves the
/// choice to the catalogue, the keys at hand, and the servers that answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    pub model: Option<String>,
    pub provider: Option<String>,
    pub base_url: Option<String>,
    pub api_key: Option<Secret>,
    pub context_window_tokens: Option<u32>,
    pub output_tokens_max: Option<u32>,
    pub stream: bool,
    /// Wire format, whatever provider and address say.
    pub api_mode: Option<String>,
    pub effort: Option<ReasoningEffort>,
    pub cache_ttl: CacheTtl,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalConfig {
    pub timeout: Duration,
    /// Relative to where herm is started.
    pub cwd: PathBuf,
    pub env_passthrough: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    pub bytes_max: usize,
    pub lines_max: usize,
    pub line_bytes_max: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Display {
    pub streaming: bool,
    pub show_reasoning: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalConfig {
    pub mode: Mode,
    pub timeout: Duration,
    /// Without anybody to ask: in a scheduled job.
    pub cron: Preset,
    /// The same in a single query.
    pub single_query: Preset,
    /// Wildcards for what never runs.
    pub deny: Vec<String>,
    /// Patterns that are always approved.
    pub allowlist: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Security {
    pub redact_secrets: bool,
    pub allow_unsafe_file_system: bool,
}

impl Config {
    pub fn of(settings: &Settings) -> Self {
        let read = Reader(settings);
        Self {
            model: model(&read),
            providers: read.tree(&keys::PROVIDERS),
            fallbacks: read.tree(&keys::FALLBACKS).as_array().cloned().unwrap_or_default(),
            iterations_max: read.count(&keys::MAX_TURNS),
            run_budget: Some(read.seconds(&keys::RUN_BUDGET)).filter(|budget| !budget.is_zero()),
            model_attempts_max: read.count(&keys::API_MAX_RETRIES),
            spending: SpendingPolicy {
                session_max: read.micro_dollars(&keys::SESSION_MAX),
                day_max: read.micro_dollars(&keys::DAY_MAX),
            },
            titles: read.yes(&keys::TITLES),
            strategies: read.tree(&keys::STRATEGIES),
            auxiliary: read.tree(&keys::AUXILIARY),
            soul: read.text(&keys::SOUL).into(),
            terminal: TerminalConfig {
                timeout: read.seconds(&keys::TERMINAL_TIMEOUT),
                cwd: read.text(&keys::TERMINAL_CWD).into(),
                env_passthrough: read.list(&keys::ENV_PASSTHROUGH),
            },
            tool_output: ToolOutput {
                bytes_max: read.size(&keys::OUTPUT_BYTES),
                lines_max: read.size(&keys::OUTPUT_LINES),
                line_bytes_max: read.size(&keys::OUTPUT_LINE_LENGTH),
            },
            guardrails: guardrails(&read),
            compression: compression(&read),
            busy: match read.text(&keys::BUSY).as_str() {
                "queue" => BusyPolicy::Queue,
                "steer" => BusyPolicy::Steer,
                _ => BusyPolicy::Interrupt,
            },
            display: Display {
                streaming: read.yes(&keys::STREAMING),
                show_reasoning: read.yes(&keys::SHOW_REASONING),
            },
            approvals: ApprovalConfig {
                mode: match read.text(&keys::APPROVALS).as_str() {
                    "off" => Mode::Off,
                    "smart" => Mode::Smart,
                    _ => Mode::Manual,
                },
                timeout: read.seconds(&keys::APPROVALS_TIMEOUT),
                cron: preset(&read, &keys::APPROVALS_CRON),
                single_query: preset(&read, &keys::APPROVALS_SINGLE_QUERY),
                deny: read.list(&keys::APPROVALS_DENY),
                allowlist: read.list(&keys::ALLOWLIST),
            },
            security: Security {
                redact_secrets: read.yes(&keys::REDACT),
                allow_unsafe_file_system: read.yes(&keys::UNSAFE_FILE_SYSTEM),
            },
            delivery: match read.text(&keys::DELIVERY).as_str() {
                "at_most_once" => DeliveryPolicy::AtMostOnce,
                _ => DeliveryPolicy::AtLeastOnce,
            },
            timezone: read.some_text(&keys::TIMEZONE),
        }
    }

    /// The file with the agent's identity.
    pub fn soul_file(&self, home: &Home) -> PathBuf {
        home.root().join(&self.soul)
    }

    /// The directory that sessions begin in, absolute if `started_in` is.
    pub fn working_directory(&self, started_in: &Path) -> PathBuf {
        if self.terminal.cwd == Path::new(".") {
            return started_in.to_owned();
        }
        started_in.join(&self.terminal.cwd)
    }
}

fn preset(read: &Reader<'_>, key: &Key) -> Preset {
    if read.text(key) == "approve" { Preset::Approve } else { Preset::Deny }
}

fn model(read: &Reader<'_>) -> ModelConfig {
    ModelConfig {
        model: read.some_text(&keys::MODEL),
        provider: read.some_text(&keys::PROVIDER).filter(|name| name != "auto"),
        base_url: read.some_text(&keys::BASE_URL),
        api_key: read.some_text(&keys::API_KEY).map(Secret::new),
        context_window_tokens: Some(read.count(&keys::CONTEXT_WINDOW)).filter(|&tokens| tokens > 0),
        output_tokens_max: Some(read.count(&keys::MAX_TOKENS)).filter(|&tokens| tokens > 0),
        stream: read.yes(&keys::STREAM),
        api_mode: read.some_text(&keys::API_MODE).filter(|mode| mode != "auto"),
        effort: match read.text(&keys::EFFORT).as_str() {
            "none" => Some(ReasoningEffort::None),
            "minimal" => Some(ReasoningEffort::Minimal),
            "low" => Some(ReasoningEffort::Low),
            "medium" => Some(ReasoningEffort::Medium),
            "high" => Some(ReasoningEffort::High),
            "xhigh" => Some(ReasoningEffort::XHigh),
            _ => None,
        },
        cache_ttl: match read.text(&keys::CACHE_TTL).as_str() {
            "off" => CacheTtl::Off,
            "1h" => CacheTtl::OneHour,
            _ => CacheTtl::FiveMinutes,
        },
    }
}

fn guardrails(read: &Reader<'_>) -> GuardrailPolicy {
    GuardrailPolicy {
        warnings: read.yes(&keys::GUARD_WARN),
        hard_stop: read.yes(&keys::GUARD_STOP),
        exact_failure_warn: read.count(&keys::WARN_EXACT),
        exact_failure_stop: read.count(&keys::STOP_EXACT),
        same_tool_failure_warn: read.count(&keys::WARN_SAME_TOOL),
        same_tool_failure_stop: read.count(&keys::STOP_SAME_TOOL),
        no_progress_warn: read.count(&keys::WARN_NO_PROGRESS),
        no_progress_stop: read.count(&keys::STOP_NO_PROGRESS),
    }
}

fn compression(read: &Reader<'_>) -> CompressionPolicy {
    CompressionPolicy {
        enabled: read.yes(&keys::COMPRESSION),
        threshold_percent: read.percent(&keys::THRESHOLD),
        protect_first: read.count(&keys::PROTECT_FIRST),
        protect_last: read.count(&keys::PROTECT_LAST),
        attempts_max: read.count(&keys::COMPRESSION_ATTEMPTS),
        prune_above_tokens: read.count(&keys::PRUNE_ABOVE),
        prune_reclaim_min_tokens: read.count(&keys::PRUNE_MIN),
        shrink_min_percent: u8::try_from(read.count(&keys::SHRINK_MIN)).unwrap_or(u8::MAX),
        messages_max: read.count(&keys::MESSAGES_MAX),
    }
}

/// Reads rows by type. The kinds were checked when the layers were read; a row asked for with the
/// wrong type would answer with zero or nothing, which the test of the defaults would see.
struct Reader<'a>(&'a Settings);

impl Reader<'_> {
    fn text(&self, key: &Key) -> String {
        if let Value::Text(text) = self.0.value(key) { text } else { String::new() }
    }

    fn some_text(&self, key: &Key) -> Option<String> {
        Some(self.text(key)).filter(|text| !text.is_empty())
    }

    fn yes(&self, key: &Key) -> bool {
        self.0.value(key) == Value::Bool(true)
    }

    fn integer(&self, key: &Key) -> u64 {
        if let Value::Integer(number) = self.0.value(key) { number } else { 0 }
    }

    fn count(&self, key: &Key) -> u32 {
        u32::try_from(self.integer(key)).unwrap_or(u32::MAX)
    }

    fn size(&self, key: &Key) -> usize {
        usize::try_from(self.integer(key)).unwrap_or(usize::MAX)
    }

    fn seconds(&self, key: &Key) -> Duration {
        Duration::from_secs(self.integer(key))
    }

    /// A share as whole percent; the bounds of the row keep it below 100.
    fn percent(&self, key: &Key) -> u8 {
        let share = if let Value::Number(share) = self.0.value(key) { share } else { 0.0 };
        (share * 100.0).round().clamp(0.0, 100.0) as u8
    }

    /// `None` for zero, which is no limit.
    fn micro_dollars(&self, key: &Key) -> Option<u64> {
        let dollars = if let Value::Number(number) = self.0.value(key) { number } else { 0.0 };
        Some((dollars * 1e6).round() as u64).filter(|micro| *micro > 0)
    }

    fn tree(&self, key: &Key) -> serde_json::Value {
        if let Value::Tree(tree) = self.0.value(key) { tree } else { serde_json::Value::Null }
    }

    fn list(&self, key: &Key) -> Vec<String> {
        if let Value::List(items) = self.0.value(key) { items } else { Vec::new() }
    }
}
