//! What will be done: every setting with its type. Built from decided [`Settings`] and nothing else.

use std::path::{Path, PathBuf};
use std::time::Duration;

use herm_replay::memory::Limits;
use herm_schema::events::{
    BusyPolicy, CacheTtl, CompressionPolicy, DeliveryPolicy, GuardrailPolicy, ReasoningEffort, SpendingPolicy,
};

use super::keys::{self, Key};
use super::{Home, Secret, Settings, Value};
use crate::approval::{Mode, Preset};
use crate::checkpoints;
use crate::environments::container::{ContainerSettings, User};
use crate::environments::files::from_home;
use crate::environments::sandbox::{SandboxMode, SandboxSettings};
use crate::environments::ssh::SshSettings;
use crate::environments::table::EnvironmentSettings;
use crate::environments::{Backend, SingularitySettings};
use crate::memory::MemoryConfig;
use crate::skills::SkillsConfig;
use crate::tools::execute_code;

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
    pub memory: MemoryConfig,
    /// Folders as they are written.
    pub skills: SkillsConfig,
    pub terminal: TerminalConfig,
    pub tools: ToolsConfig,
    pub web: WebConfig,
    pub images: MakerConfig,
    pub speech: MakerConfig,
    pub tool_output: ToolOutput,
    pub guardrails: GuardrailPolicy,
    pub compression: CompressionPolicy,
    pub busy: BusyPolicy,
    pub display: Display,
    pub approvals: ApprovalConfig,
    pub checkpoints: Option<CheckpointConfig>,
    pub code: execute_code::Limits,
    /// As they are written.
    pub hooks: serde_json::Value,
    pub security: Security,
    pub delivery: DeliveryPolicy,
    pub gateway: GatewayConfig,
    pub spending: SpendingPolicy,
    /// Whether a session gets a title from a model.
    pub titles: bool,
    /// Which of several keys is taken, as it is written.
    pub strategies: serde_json::Value,
    /// Who is asked besides the conversation, as it is written.
    pub auxiliary: serde_json::Value,
    /// Whether calls besides the conversation go on to any vendor with a key.
    pub auxiliary_any_vendor: bool,
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

#[derive(Clone, Debug, PartialEq)]
pub struct TerminalConfig {
    pub timeout: Duration,
    /// Relative to where herm is started.
    pub cwd: PathBuf,
    pub env_passthrough: Vec<String>,
    /// Where command lines run.
    pub environments: EnvironmentSettings,
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
pub struct CheckpointConfig {
    pub limits: checkpoints::Limits,
    /// How long one is kept; `None` is for ever.
    pub retention: Option<Duration>,
}

/// Which tools there are for whom, as it is written; `tools::toolsets` reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolsConfig {
    pub toolsets: serde_json::Value,
    pub platforms: serde_json::Value,
    pub disabled: Vec<String>,
    /// `auto`, `on` or `off`.
    pub search: String,
    pub search_share_percent: u8,
    /// By vendor.
    pub endpoints: serde_json::Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebConfig {
    /// `None` leaves it to the keys at hand.
    pub search: Option<String>,
    /// `None` leaves it to who searches, or to herm itself.
    pub extract: Option<String>,
    pub extract_chars_max: usize,
}

/// Who makes pictures or sounds. `None` leaves it to the keys at hand, and to the vendor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MakerConfig {
    pub provider: Option<String>,
    pub model: Option<String>,
    pub voice: Option<String>,
}

/// How the gateway works; what a platform's section says, its adapter and `inbound` read.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewayConfig {
    /// By platform, as it is written.
    pub platforms: serde_json::Value,
    /// Besides the first.
    pub profiles: Vec<String>,
    pub default_profile: String,
    /// As they are written.
    pub routes: Vec<serde_json::Value>,
    pub group_sessions_per_user: bool,
    pub thread_sessions_per_user: bool,
    pub allowed_users: Vec<String>,
    pub allow_all_users: bool,
    pub debounce: Duration,
    pub streaming: bool,
    pub drain_timeout: Duration,
    /// Age up to which an interrupted turn is gone on with.
    pub resume_within: Duration,
    pub idle: Duration,
    /// `None` is without limit.
    pub memory_bytes_max: Option<u64>,
    pub disk_bytes_min: Option<u64>,
    pub media_bytes_max: u64,
    pub clarify_timeout: Duration,
    /// After which answers to commands are taken back; `None` if they stay.
    pub ephemeral: Option<Duration>,
    /// Address of an OpenTelemetry collector.
    pub otlp: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Security {
    pub allow_private_urls: bool,
    /// Empty where there is no blocklist.
    pub blocked_domains: Vec<String>,
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
            auxiliary_any_vendor: read.yes(&keys::AUXILIARY_ANY_VENDOR),
            soul: read.text(&keys::SOUL).into(),
            memory: MemoryConfig {
                notes: read.yes(&keys::MEMORY_NOTES),
                users: read.yes(&keys::MEMORY_USERS),
                approval: read.yes(&keys::MEMORY_APPROVAL),
                limits: Limits {
                    memory_chars: read.size(&keys::MEMORY_CHARS),
                    user_chars: read.size(&keys::USER_CHARS),
                },
                apart: read.text(&keys::MEMORY_PEOPLE) != "together",
            },
            skills: SkillsConfig {
                external: read.list(&keys::SKILLS_DIRS).into_iter().map(PathBuf::from).collect(),
                template_vars: read.yes(&keys::SKILLS_VARS),
                guard: read.yes(&keys::SKILLS_GUARD),
            },
            terminal: TerminalConfig {
                timeout: read.seconds(&keys::TERMINAL_TIMEOUT),
                cwd: read.text(&keys::TERMINAL_CWD).into(),
                env_passthrough: read.list(&keys::ENV_PASSTHROUGH),
                environments: environments(&read),
            },
            tools: ToolsConfig {
                toolsets: read.tree(&keys::TOOLSETS),
                platforms: read.tree(&keys::PLATFORM_TOOLSETS),
                disabled: read.list(&keys::DISABLED_TOOLSETS),
                search: read.text(&keys::TOOL_SEARCH),
                search_share_percent: u8::try_from(read.count(&keys::TOOL_SEARCH_SHARE)).unwrap_or(100),
                endpoints: read.tree(&keys::TOOL_ENDPOINTS),
            },
            web: WebConfig {
                search: read
                    .some_text(&keys::WEB_SEARCH_BACKEND)
                    .or_else(|| read.some_text(&keys::WEB_BACKEND)),
                extract: read.some_text(&keys::WEB_EXTRACT_BACKEND),
                extract_chars_max: read.size(&keys::WEB_CHARS),
            },
            images: MakerConfig {
                provider: read.some_text(&keys::IMAGE_PROVIDER).filter(|name| name != "auto"),
                model: read.some_text(&keys::IMAGE_MODEL),
                voice: None,
            },
            speech: MakerConfig {
                provider: read.some_text(&keys::SPEECH_PROVIDER).filter(|name| name != "auto"),
                model: read.some_text(&keys::SPEECH_MODEL),
                voice: read.some_text(&keys::SPEECH_VOICE),
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
            checkpoints: read.yes(&keys::CHECKPOINTS).then(|| CheckpointConfig {
                limits: checkpoints::Limits {
                    snapshots_max: read.size(&keys::SNAPSHOTS_MAX),
                    total_bytes_max: read.integer(&keys::CHECKPOINT_TOTAL_MB) << 20,
                    file_bytes_max: read.integer(&keys::CHECKPOINT_FILE_MB) << 20,
                    ..checkpoints::Limits::default()
                },
                retention: Some(read.integer(&keys::CHECKPOINT_DAYS))
                    .filter(|days| *days > 0)
                    .map(|days| Duration::from_secs(days * 86_400)),
            }),
            code: execute_code::Limits {
                time_max: read.seconds(&keys::CODE_TIMEOUT),
                calls_max: read.count(&keys::CODE_CALLS),
            },
            hooks: read.tree(&keys::HOOKS),
            security: Security {
                redact_secrets: read.yes(&keys::REDACT),
                allow_private_urls: read.yes(&keys::PRIVATE_URLS),
                blocked_domains: Some(read.list(&keys::BLOCKLIST))
                    .filter(|_| read.yes(&keys::BLOCKLIST_ON))
                    .unwrap_or_default(),
                allow_unsafe_file_system: read.yes(&keys::UNSAFE_FILE_SYSTEM),
            },
            delivery: match read.text(&keys::DELIVERY).as_str() {
                "at_most_once" => DeliveryPolicy::AtMostOnce,
                _ => DeliveryPolicy::AtLeastOnce,
            },
            gateway: gateway(&read),
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

fn gateway(read: &Reader<'_>) -> GatewayConfig {
    let mebibytes = |key| Some(read.integer(key)).filter(|mib| *mib > 0).map(|mib| mib << 20);
    GatewayConfig {
        platforms: read.tree(&keys::PLATFORMS),
        profiles: read.list(&keys::GATEWAY_PROFILES),
        default_profile: read.text(&keys::GATEWAY_DEFAULT_PROFILE),
        routes: read.tree(&keys::GATEWAY_ROUTES).as_array().cloned().unwrap_or_default(),
        group_sessions_per_user: read.yes(&keys::GROUP_PER_USER),
        thread_sessions_per_user: read.yes(&keys::THREAD_PER_USER),
        allowed_users: read.list(&keys::ALLOWED_USERS),
        allow_all_users: read.yes(&keys::ALLOW_ALL),
        debounce: Duration::from_millis(read.integer(&keys::DEBOUNCE)),
        streaming: read.yes(&keys::GATEWAY_STREAMING),
        drain_timeout: read.seconds(&keys::DRAIN),
        resume_within: read.seconds(&keys::RESUME_FRESH),
        idle: read.seconds(&keys::IDLE_EVICT),
        memory_bytes_max: mebibytes(&keys::MEMORY_MAX),
        disk_bytes_min: mebibytes(&keys::DISK_MIN),
        media_bytes_max: read.integer(&keys::MEDIA_MAX),
        ephemeral: Some(read.seconds(&keys::EPHEMERAL)).filter(|time| !time.is_zero()),
        clarify_timeout: read.seconds(&keys::CLARIFY_TIMEOUT),
        otlp: read.some_text(&keys::OTLP),
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

fn environments(read: &Reader<'_>) -> EnvironmentSettings {
    let paths = |key| read.list(key).iter().map(|path| from_home(path)).collect();
    let allows = |key| read.text(key) == "allow";
    EnvironmentSettings {
        backend: Backend::of(&read.text(&keys::TERMINAL_BACKEND)).unwrap_or(Backend::Local),
        sandbox: SandboxSettings {
            mode: match read.text(&keys::SANDBOX_MODE).as_str() {
                "off" => SandboxMode::Off,
                "require" => SandboxMode::Require,
                _ => SandboxMode::Auto,
            },
            network: allows(&keys::SANDBOX_NETWORK),
            writable: paths(&keys::SANDBOX_WRITABLE),
        },
        container: ContainerSettings {
            engine: read.text(&keys::CONTAINER_ENGINE),
            image: read.text(&keys::CONTAINER_IMAGE),
            network: read.text(&keys::CONTAINER_NETWORK) == "bridge",
            memory_mib: read.integer(&keys::CONTAINER_MEMORY),
            cpus: read.number(&keys::CONTAINER_CPUS),
            processes_max: read.integer(&keys::CONTAINER_PROCESSES),
            tmp_mib: read.integer(&keys::CONTAINER_TMP),
            user: match read.text(&keys::CONTAINER_USER).as_str() {
                "image" => User::Image,
                "root" => User::Numbers { uid: 0, gid: 0 },
                "nobody" => User::Numbers { uid: 65_534, gid: 65_534 },
                _ => User::Host,
            },
            volumes: read.list(&keys::CONTAINER_VOLUMES),
            mount_cwd: read.yes(&keys::CONTAINER_MOUNT_CWD),
            forward_env: read.list(&keys::CONTAINER_FORWARD_ENV),
            ulimits: read.list(&keys::CONTAINER_ULIMITS),
        },
        ssh: SshSettings {
            host: read.text(&keys::SSH_HOST),
            user: read.some_text(&keys::SSH_USER),
            port: u16::try_from(read.integer(&keys::SSH_PORT)).ok().filter(|port| *port > 0),
            key: read.some_text(&keys::SSH_KEY).map(|path| from_home(&path)),
            cwd: read.text(&keys::SSH_CWD),
            options: read.list(&keys::SSH_OPTIONS),
            sync: read.yes(&keys::SSH_SYNC),
            credentials: read.list(&keys::SSH_CREDENTIALS),
        },
        singularity: SingularitySettings {
            program: read
                .some_text(&keys::SINGULARITY_PROGRAM)
                .filter(|name| name != "auto")
                .map(PathBuf::from),
            image: read.text(&keys::SINGULARITY_IMAGE),
            network: allows(&keys::SINGULARITY_NETWORK),
            volumes: read.list(&keys::SINGULARITY_VOLUMES),
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

    fn number(&self, key: &Key) -> f64 {
        match self.0.value(key) {
            Value::Number(number) => number,
            Value::Integer(number) => number as f64,
            _ => 0.0,
        }
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
