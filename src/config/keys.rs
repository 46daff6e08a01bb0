//! The table of settings: one row each, and everything else about settings is derived from it: the
//! example file, the JSON schema, the variables, `herm config show`, `set` and `explain`.
//!
//! Names and defaults are the reference's where it has the setting.

use super::value::{Kind, Value};

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// Sections and name, joined by dots.
    pub path: &'static str,
    pub kind: Kind,
    /// As it would stand in the file.
    pub default: &'static str,
    /// The variable that overrides the file.
    pub env: &'static str,
    /// For a person: one or two sentences.
    pub doc: &'static str,
}

impl Key {
    /// The default as a value. A test reads every row, so that the fallback is never seen.
    pub fn default_value(&self) -> Value {
        let yaml = serde_yaml_ng::from_str(self.default).unwrap_or(serde_yaml_ng::Value::Null);
        self.kind.of_yaml(&yaml).unwrap_or(Value::Text(String::new()))
    }

    pub fn is_secret(&self) -> bool {
        self.kind == Kind::Secret
    }
}

/// How alike a suggestion must be, from 0 to 1; below, it confuses more than it helps.
const LIKENESS_MIN: f64 = 0.75;

/// The row of `path`.
pub fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// Whether `path` is a section: some key lies below it.
pub fn is_section(path: &str) -> bool {
    KEYS.iter().any(|key| key.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}

/// Every section, from the outside in.
pub fn sections() -> Vec<&'static str> {
    let mut found: Vec<&'static str> = Vec::new();
    for key in KEYS {
        let dots = key.path.char_indices().filter(|(_, c)| *c == '.');
        found.extend(dots.filter_map(|(at, _)| key.path.get(..at)));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The section that `path` most looks like; `None` if none looks like it.
pub fn nearest_section(path: &str) -> Option<&'static str> {
    let score = |section: &str| strsim::jaro_winkler(section, path);
    let best = sections().into_iter().max_by(|a, b| score(a).total_cmp(&score(b)))?;
    (score(best) >= LIKENESS_MIN).then_some(best)
}

/// The known key that `path` most looks like; `None` if none looks like it.
///
/// A name that is right but in the wrong section is found before one that is merely spelt alike.
pub fn nearest(path: &str) -> Option<&'static str> {
    let name = |path: &'static str| path.rsplit('.').next().unwrap_or(path);
    let wanted = path.rsplit('.').next().unwrap_or(path);
    if let Some(key) = KEYS.iter().find(|key| name(key.path) == wanted) {
        return Some(key.path);
    }
    let score = |key: &Key| {
        strsim::jaro_winkler(key.path, path).max(0.98 * strsim::jaro_winkler(name(key.path), wanted))
    };
    let best = KEYS.iter().max_by(|a, b| score(a).total_cmp(&score(b)))?;
    (score(best) >= LIKENESS_MIN).then_some(best.path)
}

const COUNT: Kind = Kind::Integer { min: 0, max: u32::MAX as u64 };
const POSITIVE: Kind = Kind::Integer { min: 1, max: u32::MAX as u64 };
/// A day: longer than any wait that is meant.
const SECONDS: Kind = Kind::Integer { min: 0, max: 86_400 };
const SECONDS_POSITIVE: Kind = Kind::Integer { min: 1, max: 86_400 };

/// A thousand dollars is a slip of the pen, but not for everybody.
const DOLLARS: Kind = Kind::Number { min: 0.0, max: 1_000_000.0 };

/// Declares a constant for each row, so that a misspelt key does not compile, and the table.
macro_rules! keys {
    ($($name:ident $path:literal $kind:expr, $default:literal, $env:literal, $doc:literal;)*) => {
        $(
            #[doc = $doc]
            pub const $name: Key =
                Key { path: $path, kind: $kind, default: $default, env: $env, doc: $doc };
        )*

        /// Every setting, in the order of the example file.
        pub const KEYS: &[Key] = &[$($name,)*];
    };
}

keys! {
    MODEL "model.default" Kind::Text, "''", "HERM_MODEL",
        "Model to call, as its provider names it. Empty: the provider's usual one.";
    PROVIDER "model.provider" Kind::Text, "auto", "HERM_PROVIDER",
        "Who is asked: a vendor's name, `custom` for `model.base_url`, `offline` for the built-in model, or `auto` for the first that a key or a local server is found for.";
    BASE_URL "model.base_url" Kind::Text, "''", "HERM_BASE_URL",
        "Address of an OpenAI-compatible endpoint, such as `http://127.0.0.1:8080/v1`. Empty: the provider's own.";
    API_KEY "model.api_key" Kind::Secret, "''", "HERM_API_KEY",
        "Key for `model.base_url`. Better kept in `.env`; empty: the provider's usual variable.";
    API_MODE "model.api_mode" Kind::Choice(&["auto", "chat_completions", "anthropic_messages", "responses", "codex_responses", "bedrock_converse", "gemini"]), "auto", "HERM_API_MODE",
        "Wire format to speak. `auto`: the provider's own, else what the address tells; `herm explain model` says which and why.";
    CONTEXT_WINDOW "model.context_window" COUNT, "0", "HERM_CONTEXT_WINDOW",
        "Tokens that the model can see, request and answer together. Zero: as the catalogue or the server says.";
    MAX_TOKENS "model.max_tokens" COUNT, "0", "HERM_MAX_TOKENS",
        "Tokens of one answer at most. Zero: as the catalogue says.";
    STREAM "model.stream" Kind::Bool, "true", "HERM_STREAM",
        "Whether answers are asked for piece by piece.";
    PROVIDERS "providers" Kind::Mapping, "{}", "HERM_PROVIDERS",
        "Vendors to add to the catalogue or to change in it, by name, in the fields of its files (`base_url`, `dialect`, `key_variables`, `models` …). Keys belong into `.env` or `herm auth add`.";
    FALLBACKS "fallback_providers" Kind::Entries, "[]", "HERM_FALLBACK_PROVIDERS",
        "Models to call instead, in this order, while the one before cannot be had: `provider`, `provider/model`, or a mapping with `provider`, `model`, `base_url`.";
    CACHE_TTL "prompt_caching.cache_ttl" Kind::Choice(&["5m", "1h", "off"]), "5m", "HERM_CACHE_TTL",
        "How long a vendor with explicit prompt caching is asked to keep what it has read.";

    MAX_TURNS "agent.max_turns" POSITIVE, "90", "HERM_MAX_TURNS",
        "Model calls in one turn at most; then a summary without tools is asked for.";
    RUN_BUDGET "agent.run_budget_seconds" SECONDS, "0", "HERM_RUN_BUDGET_SECONDS",
        "Seconds that one turn may take; at 80 % the model is reminded. Zero: no limit.";
    API_MAX_RETRIES "agent.api_max_retries" Kind::Integer { min: 1, max: 100 }, "3", "HERM_API_MAX_RETRIES",
        "Attempts at one model call, the first included, while it fails in ways that may pass.";
    EFFORT "agent.reasoning_effort" Kind::Choice(&["auto", "none", "minimal", "low", "medium", "high", "xhigh"]), "auto", "HERM_REASONING_EFFORT",
        "How much a model that can reason is to reason. `auto`: as its vendor does unasked.";
    SOUL "agent.soul" Kind::Text, "SOUL.md", "HERM_SOUL",
        "File with the agent's identity, put at the start of the system prompt; relative to the home.";
    DISABLED_TOOLSETS "agent.disabled_toolsets" Kind::List, "[]", "HERM_DISABLED_TOOLSETS",
        "Toolsets and tools that no platform has. A platform's bundle (`hermes-discord`) takes away only what that platform alone has.";

    MEMORY_NOTES "memory.memory_enabled" Kind::Bool, "true", "HERM_MEMORY_ENABLED",
        "Whether the model keeps notes for later sessions, in `memories/MEMORY.md`.";
    MEMORY_USERS "memory.user_profile_enabled" Kind::Bool, "true", "HERM_USER_PROFILE_ENABLED",
        "Whether it keeps what it learns of the user, in `memories/USER.md`.";
    MEMORY_APPROVAL "memory.write_approval" Kind::Bool, "false", "HERM_MEMORY_WRITE_APPROVAL",
        "Whether what it would keep waits for your yes: `/memory pending`.";
    MEMORY_CHARS "memory.memory_char_limit" POSITIVE, "2200", "HERM_MEMORY_CHAR_LIMIT",
        "Characters of the notes at most; what is above may only shrink. All of it stands in every system prompt.";
    USER_CHARS "memory.user_char_limit" POSITIVE, "1375", "HERM_USER_CHAR_LIMIT",
        "The same of what is known of the user.";
    MEMORY_PEOPLE "memory.people" Kind::Choice(&["apart", "together"]), "apart", "HERM_MEMORY_PEOPLE",
        "Whose memory it is. `apart`: the profile's is its owners' (`admins` of the platform, else the one account in `allowed_users`); other people, and chats that several share, have each their own. `together`: all have the profile's.";

    SKILLS_DIRS "skills.external_dirs" Kind::List, "[]", "HERM_SKILLS_DIRS",
        "More folders with skills, besides `skills/` in the home; relative to it, or `~/…`. Nothing is written there.";
    SKILLS_VARS "skills.template_vars" Kind::Bool, "true", "HERM_SKILLS_TEMPLATE_VARS",
        "Whether `${HERM_SKILL_DIR}` and `${HERM_SESSION_ID}` in a skill are replaced.";
    SKILLS_GUARD "skills.guard_agent_created" Kind::Bool, "false", "HERM_SKILLS_GUARD",
        "Whether skills that the model writes are refused where they would read secrets or send them away, besides what would steer a model.";

    TERMINAL_TIMEOUT "terminal.timeout" SECONDS_POSITIVE, "180", "HERM_TERMINAL_TIMEOUT",
        "Seconds after which a command line is ended, unless the model asks for another time.";
    TERMINAL_CWD "terminal.cwd" Kind::Text, "'.'", "HERM_CWD",
        "Directory that sessions begin in; relative to where herm is started.";
    ENV_PASSTHROUGH "terminal.env_passthrough" Kind::List, "[]", "HERM_ENV_PASSTHROUGH",
        "Variables that look like secrets and are given to command lines all the same.";
    TERMINAL_BACKEND "terminal.backend" Kind::Choice(&["local", "container", "ssh", "singularity", "modal", "daytona", "vercel"]), "local", "HERM_TERMINAL_BACKEND",
        "Where command lines run: on this machine, in a container of Docker or Podman, on another machine, or in a container of Apptainer. The last three are not built yet.";
    SANDBOX_MODE "terminal.sandbox.mode" Kind::Choice(&["auto", "off", "require"]), "auto", "HERM_TERMINAL_SANDBOX",
        "Whether command lines on this machine are held in by the kernel (Landlock, seccomp): where it can (`auto`), never, or always, so that nothing runs where it cannot. Held in, they write only to the workspace, temporary folders and `terminal.sandbox.writable`; `sudo` does not work.";
    SANDBOX_NETWORK "terminal.sandbox.network" Kind::Choice(&["allow", "deny"]), "allow", "HERM_TERMINAL_SANDBOX_NETWORK",
        "Whether command lines that are held in may use the network.";
    SANDBOX_WRITABLE "terminal.sandbox.writable" Kind::List, "['~/.cache', '~/.cargo', '~/.rustup', '~/.npm', '~/.local/share', '~/go', '~/.gradle', '~/.m2']", "HERM_TERMINAL_SANDBOX_WRITABLE",
        "Folders and files that command lines that are held in may write besides; the caches of build tools. One that does not exist is passed over.";
    CONTAINER_ENGINE "terminal.container.engine" Kind::Text, "auto", "HERM_CONTAINER_ENGINE",
        "Socket of the container engine. `auto`: that of `DOCKER_HOST` or `CONTAINER_HOST`, else the usual ones of Docker and Podman.";
    CONTAINER_IMAGE "terminal.container.image" Kind::Text, "'docker.io/library/debian:stable-slim'", "HERM_CONTAINER_IMAGE",
        "Image of the containers; fetched if it is not there. It needs `/bin/sh`.";
    CONTAINER_NETWORK "terminal.container.network" Kind::Choice(&["none", "bridge"]), "bridge", "HERM_CONTAINER_NETWORK",
        "Whether a container reaches the network.";
    CONTAINER_MEMORY "terminal.container.memory_mib" Kind::Integer { min: 16, max: 16_777_216 }, "5120", "HERM_CONTAINER_MEMORY_MIB",
        "MiB of memory of one container.";
    CONTAINER_CPUS "terminal.container.cpus" Kind::Number { min: 0.05, max: 4_096.0 }, "1.0", "HERM_CONTAINER_CPUS",
        "Processors of one container; parts of one count.";
    CONTAINER_PROCESSES "terminal.container.processes_max" Kind::Integer { min: 8, max: 4_194_304 }, "512", "HERM_CONTAINER_PROCESSES_MAX",
        "Processes of one container.";
    CONTAINER_TMP "terminal.container.tmp_mib" Kind::Integer { min: 1, max: 16_777_216 }, "512", "HERM_CONTAINER_TMP_MIB",
        "MiB of `/tmp` in a container, which lie in memory.";
    CONTAINER_USER "terminal.container.user" Kind::Choice(&["host", "image", "root", "nobody"]), "host", "HERM_CONTAINER_USER",
        "Who command lines run as in a container: with the numbers of herm's own user, as the image says, or as one of these.";
    CONTAINER_VOLUMES "terminal.container.volumes" Kind::List, "[]", "HERM_CONTAINER_VOLUMES",
        "What of this machine a container sees besides its workspace, as `HOST:CONTAINER` or `HOST:CONTAINER:ro`.";
    CONTAINER_MOUNT_CWD "terminal.container.mount_cwd" Kind::Bool, "false", "HERM_CONTAINER_MOUNT_CWD",
        "Whether the directory that a session begins in is its workspace in the container, instead of a folder below `sandboxes` in herm's home.";
    CONTAINER_FORWARD_ENV "terminal.container.forward_env" Kind::List, "[]", "HERM_CONTAINER_FORWARD_ENV",
        "Variables of herm's that command lines in a container see.";
    CONTAINER_ULIMITS "terminal.container.ulimits" Kind::List, "[]", "HERM_CONTAINER_ULIMITS",
        "Limits of a container, as `nofile=1024:4096`. Empty: herm's own limits of files and processes.";
    SSH_HOST "terminal.ssh.host" Kind::Text, "''", "HERM_SSH_HOST",
        "Machine that command lines run on with `terminal.backend: ssh`: a name, an address, or a `Host` of `~/.ssh/config`. It must be known already; nothing is asked.";
    SSH_USER "terminal.ssh.user" Kind::Text, "''", "HERM_SSH_USER",
        "User there. Empty: as ssh is configured.";
    SSH_PORT "terminal.ssh.port" Kind::Integer { min: 0, max: 65_535 }, "0", "HERM_SSH_PORT",
        "Port there. Zero: as ssh is configured.";
    SSH_KEY "terminal.ssh.key" Kind::Text, "''", "HERM_SSH_KEY",
        "File with the private key. Empty: as ssh is configured, or the agent's.";
    SSH_CWD "terminal.ssh.cwd" Kind::Text, "'~'", "HERM_SSH_CWD",
        "Directory there that sessions begin in; below the home there unless it is absolute.";
    SSH_OPTIONS "terminal.ssh.options" Kind::List, "[]", "HERM_SSH_OPTIONS",
        "More options of ssh, such as `ProxyJump=gate`.";
    SSH_SYNC "terminal.ssh.sync" Kind::Bool, "true", "HERM_SSH_SYNC",
        "Whether herm's skills and caches are brought over before command lines, and what changed there is brought back at the end.";
    SSH_CREDENTIALS "terminal.ssh.credentials" Kind::List, "[]", "HERM_SSH_CREDENTIALS",
        "Files below herm's home that are brought over too, and never back.";
    SINGULARITY_PROGRAM "terminal.singularity.program" Kind::Text, "auto", "HERM_SINGULARITY_PROGRAM",
        "Command of Apptainer or Singularity. `auto`: the first that is installed.";
    SINGULARITY_IMAGE "terminal.singularity.image" Kind::Text, "'docker://debian:stable-slim'", "HERM_SINGULARITY_IMAGE",
        "Image for `terminal.backend: singularity`: a file, a folder, or an address.";
    SINGULARITY_NETWORK "terminal.singularity.network" Kind::Choice(&["allow", "deny"]), "allow", "HERM_SINGULARITY_NETWORK",
        "Whether command lines there may use the network; to deny it needs privileges on most machines.";
    SINGULARITY_VOLUMES "terminal.singularity.volumes" Kind::List, "[]", "HERM_SINGULARITY_VOLUMES",
        "What of this machine is seen there besides the workspace, as `HOST:CONTAINER` or `HOST:CONTAINER:ro`.";

    OUTPUT_BYTES "tool_output.max_bytes" Kind::Integer { min: 1_000, max: 10_000_000 }, "50000", "HERM_TOOL_OUTPUT_MAX_BYTES",
        "Bytes of one tool result that the model is shown at most.";
    OUTPUT_LINES "tool_output.max_lines" Kind::Integer { min: 10, max: 1_000_000 }, "2000", "HERM_TOOL_OUTPUT_MAX_LINES",
        "Lines of one tool result that the model is shown at most.";
    OUTPUT_LINE_LENGTH "tool_output.max_line_length" Kind::Integer { min: 80, max: 1_000_000 }, "2000", "HERM_TOOL_OUTPUT_MAX_LINE_LENGTH",
        "Bytes of one line that the model is shown at most.";

    TOOLSETS "toolsets" Kind::Mapping, "{}", "HERM_TOOLSETS",
        "Toolsets of your own, by name: a list of tools, or a mapping with `description`, `tools`, `includes`. `herm tools list` shows all there are.";
    PLATFORM_TOOLSETS "platform_toolsets" Kind::Mapping, "{}", "HERM_PLATFORM_TOOLSETS",
        "Toolsets and tools that a platform has, by platform: `{telegram: [web, file]}` has these alone, `{telegram: [-terminal]}` the usual ones without the terminal.";
    TOOL_SEARCH "tools.tool_search.enabled" Kind::Choice(&["auto", "on", "off"]), "auto", "HERM_TOOL_SEARCH",
        "Whether tools that are not core are folded behind `tool_search`: when they take more than their share of the model's window (`auto`), always, or never.";
    TOOL_SEARCH_SHARE "tools.tool_search.threshold_pct" Kind::Integer { min: 1, max: 100 }, "5", "HERM_TOOL_SEARCH_THRESHOLD_PCT",
        "That share, in percent.";
    TOOL_ENDPOINTS "tool_endpoints" Kind::Mapping, "{}", "HERM_TOOL_ENDPOINTS",
        "Addresses to use instead of a tool vendor's own, by vendor (`brave`, `firecrawl`, `searxng`, `fal` …), such as a server of your own.";
    WEB_BACKEND "web.backend" Kind::Text, "''", "HERM_WEB_BACKEND",
        "Who searches the web: `brave`, `tavily`, `exa`, `firecrawl`, `parallel`, `searxng` or `ddgs`. Empty: the first that a key or an address is found for.";
    WEB_SEARCH_BACKEND "web.search_backend" Kind::Text, "''", "HERM_WEB_SEARCH_BACKEND",
        "As `web.backend`, for `web_search` alone.";
    WEB_EXTRACT_BACKEND "web.extract_backend" Kind::Text, "''", "HERM_WEB_EXTRACT_BACKEND",
        "Who reads pages for `web_extract`: `fetch` for herm itself, or `tavily`, `exa`, `firecrawl`, `parallel`. Empty: `web.backend` if it can, else `fetch`.";
    WEB_CHARS "web.extract_char_limit" Kind::Integer { min: 500, max: 1_000_000 }, "15000", "HERM_WEB_EXTRACT_CHAR_LIMIT",
        "Characters of one page that the model is shown at most, unless it asks for another number.";
    IMAGE_PROVIDER "image_gen.provider" Kind::Choice(&["auto", "openai", "fal"]), "auto", "HERM_IMAGE_GEN_PROVIDER",
        "Who makes images. `auto`: the first that a key is found for.";
    IMAGE_MODEL "image_gen.model" Kind::Text, "''", "HERM_IMAGE_GEN_MODEL",
        "The model that makes images, as its vendor names it. Empty: the vendor's usual one.";
    SPEECH_PROVIDER "tts.provider" Kind::Choice(&["auto", "openai", "elevenlabs"]), "auto", "HERM_TTS_PROVIDER",
        "Who speaks. `auto`: the first that a key is found for.";
    SPEECH_MODEL "tts.model" Kind::Text, "''", "HERM_TTS_MODEL",
        "The model that speaks, as its vendor names it. Empty: the vendor's usual one.";
    SPEECH_VOICE "tts.voice" Kind::Text, "''", "HERM_TTS_VOICE",
        "The voice, as its vendor names it. Empty: the vendor's usual one.";

    GUARD_WARN "tool_loop_guardrails.warnings_enabled" Kind::Bool, "true", "HERM_GUARDRAIL_WARNINGS",
        "Whether a model that goes in circles is told so.";
    GUARD_STOP "tool_loop_guardrails.hard_stop_enabled" Kind::Bool, "false", "HERM_GUARDRAIL_HARD_STOP",
        "Whether the turn of a model that goes in circles is ended.";
    WARN_EXACT "tool_loop_guardrails.warn_after.exact_failure" POSITIVE, "2", "HERM_GUARDRAIL_WARN_EXACT_FAILURE",
        "The same tool call failing this often is a circle.";
    WARN_SAME_TOOL "tool_loop_guardrails.warn_after.same_tool_failure" POSITIVE, "3", "HERM_GUARDRAIL_WARN_SAME_TOOL_FAILURE",
        "The same tool failing this often, whatever its arguments, is a circle.";
    WARN_NO_PROGRESS "tool_loop_guardrails.warn_after.idempotent_no_progress" POSITIVE, "2", "HERM_GUARDRAIL_WARN_NO_PROGRESS",
        "The same reading tool call giving the same result this often is a circle.";
    STOP_EXACT "tool_loop_guardrails.hard_stop_after.exact_failure" POSITIVE, "5", "HERM_GUARDRAIL_STOP_EXACT_FAILURE",
        "The same tool call failing this often ends the turn.";
    STOP_SAME_TOOL "tool_loop_guardrails.hard_stop_after.same_tool_failure" POSITIVE, "8", "HERM_GUARDRAIL_STOP_SAME_TOOL_FAILURE",
        "The same tool failing this often, whatever its arguments, ends the turn.";
    STOP_NO_PROGRESS "tool_loop_guardrails.hard_stop_after.idempotent_no_progress" POSITIVE, "5", "HERM_GUARDRAIL_STOP_NO_PROGRESS",
        "The same reading tool call giving the same result this often ends the turn.";

    COMPRESSION "compression.enabled" Kind::Bool, "true", "HERM_COMPRESSION",
        "Whether a context that grows too large is compressed.";
    THRESHOLD "compression.threshold" Kind::Number { min: 0.1, max: 0.95 }, "0.5", "HERM_COMPRESSION_THRESHOLD",
        "Share of the context window, less `model.max_tokens`, at which compression starts.";
    PROTECT_FIRST "compression.protect_first_n" COUNT, "3", "HERM_COMPRESSION_PROTECT_FIRST_N",
        "Messages at the start that stay as they are, until the first compression.";
    PROTECT_LAST "compression.protect_last_n" POSITIVE, "20", "HERM_COMPRESSION_PROTECT_LAST_N",
        "Messages at the end that stay as they are.";
    MESSAGES_MAX "compression.hygiene_hard_message_limit" POSITIVE, "5000", "HERM_COMPRESSION_MESSAGE_LIMIT",
        "Messages in the context above which it is compressed whatever their size.";
    COMPRESSION_ATTEMPTS "compression.max_attempts" Kind::Integer { min: 1, max: 20 }, "3", "HERM_COMPRESSION_MAX_ATTEMPTS",
        "Compressions in a row without a sign from the provider that they helped.";
    SHRINK_MIN "compression.min_shrink_percent" Kind::Integer { min: 0, max: 90 }, "10", "HERM_COMPRESSION_MIN_SHRINK_PERCENT",
        "Percent by which the context must shrink for a compression to count as one.";
    PRUNE_ABOVE "context.proactive_prune_tokens" COUNT, "0", "HERM_PROACTIVE_PRUNE_TOKENS",
        "Tokens in the context above which old tool results are shortened without a summary. Zero: never.";
    PRUNE_MIN "context.proactive_prune_min_reclaim_tokens" COUNT, "4096", "HERM_PROACTIVE_PRUNE_MIN_RECLAIM_TOKENS",
        "Tokens that such a shortening must save to be worth breaking the provider's cache.";

    STRATEGIES "credential_pool_strategies" Kind::Mapping, "{}", "HERM_CREDENTIAL_POOL_STRATEGIES",
        "Which of several keys of a provider is taken, by provider: `fill_first` (the usual), `round_robin`, `random` or `least_used`.";
    AUXILIARY "auxiliary" Kind::Mapping, "{}", "HERM_AUXILIARY",
        "Who is asked besides the conversation, by task (`title`, `compression`, `approval`, `vision`, `web_extract`, `memory`, `review`): a mapping with `provider`, `model`, `base_url`, `timeout` in seconds, `reasoning_effort`. What is not said is the session's own.";
    AUXILIARY_ANY_VENDOR "auxiliary_any_vendor" Kind::Bool, "false", "HERM_AUXILIARY_ANY_VENDOR",
        "Whether such a question goes on to any vendor whose key is set, where neither its own model nor the session's nor a fallback answers. Off, since a key that is set for something else is no consent to send a conversation there.";
    TITLES "sessions.titles" Kind::Bool, "true", "HERM_SESSION_TITLES",
        "Whether a conversation gets a title from a model after its first turn.";
    SESSION_MAX "spending.session_max_usd" DOLLARS, "0", "HERM_SPENDING_SESSION_MAX_USD",
        "US dollars that one session may spend; looked at before each model call, warned of at 50 and 80 %. Zero: no limit.";
    DAY_MAX "spending.day_max_usd" DOLLARS, "0", "HERM_SPENDING_DAY_MAX_USD",
        "US dollars that may be spent on one day (UTC) by all sessions together. Zero: no limit.";

    BUSY "display.busy_input_mode" Kind::Choice(&["queue", "steer", "interrupt"]), "interrupt", "HERM_BUSY_INPUT_MODE",
        "What a message does that arrives during a turn: wait for its own turn, join the newest tool result, or correct the answer being written.";
    STREAMING "display.streaming" Kind::Bool, "true", "HERM_DISPLAY_STREAMING",
        "Whether an answer is printed while it comes in.";
    SHOW_REASONING "display.show_reasoning" Kind::Bool, "true", "HERM_SHOW_REASONING",
        "Whether the model's reasoning is printed, where it gives any.";
    EPHEMERAL "display.ephemeral_system_ttl" SECONDS, "0", "HERM_EPHEMERAL_SYSTEM_TTL",
        "Seconds after which a chat's answers to commands such as `/status` are taken back, where the platform can. Zero: never.";

    APPROVALS "approvals.mode" Kind::Choice(&["manual", "smart", "off"]), "manual", "HERM_APPROVALS_MODE",
        "Who decides about command lines that are dangerous, or that cannot be read: a person (`manual`), a model first and then a person (`smart`), or nobody (`off`). What is forbidden stays forbidden.";
    APPROVALS_TIMEOUT "approvals.timeout" SECONDS_POSITIVE, "60", "HERM_APPROVALS_TIMEOUT",
        "Seconds to answer such a question. After that the turn goes on without the call, which waits: a later yes runs it.";
    APPROVALS_CRON "approvals.cron_mode" Kind::Choice(&["deny", "approve"]), "deny", "HERM_APPROVALS_CRON_MODE",
        "What happens to such command lines in a scheduled job, where nobody can be asked.";
    APPROVALS_SINGLE_QUERY "approvals.single_query_mode" Kind::Choice(&["deny", "approve"]), "deny", "HERM_APPROVALS_SINGLE_QUERY_MODE",
        "What happens to such command lines in a single query (`-q`), where nobody can be asked.";
    APPROVALS_DENY "approvals.deny" Kind::List, "[]", "HERM_APPROVALS_DENY",
        "Wildcards for what never runs, in any mode: `git push --force*`, `*docker *`. They are matched against what would run, not against the text.";
    ALLOWLIST "command_allowlist" Kind::List, "[]", "HERM_COMMAND_ALLOWLIST",
        "What is always approved, as the approval question names it.";

    CODE_TIMEOUT "code_execution.timeout" SECONDS_POSITIVE, "300", "HERM_CODE_EXECUTION_TIMEOUT",
        "Seconds that a program of `execute_code` may take.";
    CODE_CALLS "code_execution.max_tool_calls" POSITIVE, "50", "HERM_CODE_EXECUTION_MAX_TOOL_CALLS",
        "Tool calls that such a program may make.";

    HOOKS "hooks" Kind::Mapping, "{}", "HERM_HOOKS",
        "Programs of your own that hear of tool calls: `pre_tool_call` and `post_tool_call`, each a list of command lines or of mappings with `command`, `tools` (names, `*` for anything), `timeout` in seconds. They read one JSON object; one before a call forbids it by exit status 2 or by printing `{\"decision\": \"block\", \"reason\": …}`, and changes its arguments by printing `{\"arguments\": {…}}`.";

    CHECKPOINTS "checkpoints.enabled" Kind::Bool, "true", "HERM_CHECKPOINTS",
        "Whether a directory is kept before a turn first changes it, so that `/rollback` can put it back. Needs git.";
    SNAPSHOTS_MAX "checkpoints.max_snapshots" Kind::Integer { min: 1, max: 1_000 }, "20", "HERM_CHECKPOINTS_MAX_SNAPSHOTS",
        "Checkpoints of one directory that are kept.";
    CHECKPOINT_TOTAL_MB "checkpoints.max_total_size_mb" POSITIVE, "500", "HERM_CHECKPOINTS_MAX_TOTAL_SIZE_MB",
        "Megabytes of a directory above which no checkpoint of it is taken.";
    CHECKPOINT_FILE_MB "checkpoints.max_file_size_mb" POSITIVE, "10", "HERM_CHECKPOINTS_MAX_FILE_SIZE_MB",
        "Megabytes of a file above which it is left out.";
    CHECKPOINT_DAYS "checkpoints.retention_days" Kind::Integer { min: 0, max: 36_500 }, "7", "HERM_CHECKPOINTS_RETENTION_DAYS",
        "Days after which a checkpoint goes, once a day. Zero: never.";

    REDACT "security.redact_secrets" Kind::Bool, "true", "HERM_REDACT_SECRETS",
        "Whether known secrets are taken out of what is recorded, sent and shown.";
    PRIVATE_URLS "security.allow_private_urls" Kind::Bool, "false", "HERM_ALLOW_PRIVATE_URLS",
        "Whether the web tools may fetch from this machine and its own networks. The addresses where clouds keep credentials stay refused.";
    BLOCKLIST_ON "security.website_blocklist.enabled" Kind::Bool, "false", "HERM_WEBSITE_BLOCKLIST",
        "Whether the web tools keep away from `security.website_blocklist.domains`.";
    BLOCKLIST "security.website_blocklist.domains" Kind::List, "[]", "HERM_WEBSITE_BLOCKLIST_DOMAINS",
        "Domains that the web tools keep away from, with everything below them.";
    UNSAFE_FILE_SYSTEM "security.allow_unsafe_file_system" Kind::Bool, "false", "HERM_ALLOW_UNSAFE_FILE_SYSTEM",
        "Whether the log may lie on a network file system, which does not keep what it promises.";

    PLATFORMS "platforms" Kind::Mapping, "{}", "HERM_PLATFORMS",
        "Chat platforms that the gateway serves, by name, each with its settings; `herm platforms` lists them, `herm gateway setup` asks for them. Tokens belong into `.env`.";
    GATEWAY_PROFILES "gateway.profiles" Kind::List, "[]", "HERM_GATEWAY_PROFILES",
        "Profiles that the gateway serves besides the first, each with a home of its own below `profiles`.";
    GATEWAY_DEFAULT_PROFILE "gateway.default_profile" Kind::Text, "default", "HERM_GATEWAY_DEFAULT_PROFILE",
        "Profile that answers where no route says otherwise.";
    GATEWAY_ROUTES "gateway.profile_routes" Kind::Entries, "[]", "HERM_GATEWAY_PROFILE_ROUTES",
        "Which profile answers where: mappings with `profile` and any of `platform`, `guild_id`, `chat_id`, `thread_id`, `user_id`; the most specific that matches wins.";
    GROUP_PER_USER "gateway.group_sessions_per_user" Kind::Bool, "true", "HERM_GROUP_SESSIONS_PER_USER",
        "Whether everybody in a group has a conversation of their own.";
    THREAD_PER_USER "gateway.thread_sessions_per_user" Kind::Bool, "false", "HERM_THREAD_SESSIONS_PER_USER",
        "Whether everybody in a thread has a conversation of their own.";
    ALLOWED_USERS "gateway.allowed_users" Kind::List, "[]", "HERM_GATEWAY_ALLOWED_USERS",
        "Ids of people who may speak to herm on every platform. Empty: only those of a platform's own list, and who was paired.";
    ALLOW_ALL "gateway.allow_all_users" Kind::Bool, "false", "HERM_GATEWAY_ALLOW_ALL_USERS",
        "Whether everybody on every platform may speak to herm, and so have it run tools.";
    DEBOUNCE "gateway.debounce_ms" Kind::Integer { min: 0, max: 60_000 }, "300", "HERM_GATEWAY_DEBOUNCE_MS",
        "Milliseconds that a message waits for more from the same person, which then share a turn.";
    GATEWAY_STREAMING "gateway.streaming" Kind::Bool, "true", "HERM_GATEWAY_STREAMING",
        "Whether a chat shows how an answer comes to be, in one message that is edited in place; where a platform cannot edit, the answer comes at once.";
    DRAIN "gateway.drain_timeout" Kind::Integer { min: 1, max: 3_600 }, "60", "HERM_GATEWAY_DRAIN_TIMEOUT",
        "Seconds that a gateway that stops waits for turns to finish; the rest is gone on with after the next start.";
    RESUME_FRESH "gateway.resume_within" SECONDS, "3600", "HERM_GATEWAY_RESUME_WITHIN",
        "Seconds after which a turn that a stop interrupted is not gone on with by itself; the person is told.";
    IDLE_EVICT "gateway.idle_seconds" SECONDS_POSITIVE, "300", "HERM_GATEWAY_IDLE_SECONDS",
        "Seconds after which a session without work leaves memory; it comes back from the log.";
    MEMORY_MAX "gateway.memory_max_mib" COUNT, "2048", "HERM_GATEWAY_MEMORY_MAX_MIB",
        "MiB of memory in use at which the gateway takes no more messages, finishes, and starts itself anew. Zero: never.";
    DISK_MIN "gateway.disk_min_mib" COUNT, "128", "HERM_GATEWAY_DISK_MIN_MIB",
        "MiB left on the disk of the log below which the gateway takes no more messages until there is room again. Zero: never.";
    MEDIA_MAX "gateway.max_inbound_media_bytes" Kind::Integer { min: 0, max: 1_073_741_824 }, "20971520", "HERM_GATEWAY_MAX_INBOUND_MEDIA_BYTES",
        "Bytes of one file that comes with a message; a larger one is left out, and the model is told.";
    CLARIFY_TIMEOUT "gateway.clarify_timeout" SECONDS_POSITIVE, "3600", "HERM_GATEWAY_CLARIFY_TIMEOUT",
        "Seconds that a question of the model to a person in a chat stays open.";
    OTLP "telemetry.otlp_endpoint" Kind::Text, "''", "HERM_OTLP_ENDPOINT",
        "Address of an OpenTelemetry collector (OTLP over HTTP, such as `http://127.0.0.1:4318`) that traces of turns, model calls and tool calls are sent to. Empty: none.";

    DELIVERY "delivery.policy" Kind::Choice(&["at_least_once", "at_most_once"]), "at_least_once", "HERM_DELIVERY_POLICY",
        "What happens to an answer whose sending has no known outcome, where a platform cannot tell a repeat: sent again and marked, or not sent again.";
    TIMEZONE "timezone" Kind::Zone, "''", "HERM_TIMEZONE",
        "Time zone that dates are shown in. Empty: the system's.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_default_is_of_its_kind() {
        for key in KEYS {
            let yaml = serde_yaml_ng::from_str(key.default).unwrap();
            assert!(key.kind.of_yaml(&yaml).is_some(), "{}", key.path);
            assert!(key.doc.ends_with('.'), "{}", key.path);
        }
    }

    #[test]
    fn no_name_is_used_twice() {
        let paths: BTreeSet<_> = KEYS.iter().map(|key| key.path).collect();
        let variables: BTreeSet<_> = KEYS.iter().map(|key| key.env).collect();
        assert_eq!(paths.len(), KEYS.len());
        assert_eq!(variables.len(), KEYS.len());
        assert!(variables.iter().all(|name| name.starts_with("HERM_")));
        assert!(KEYS.iter().all(|key| !is_section(key.path)), "a key is a section too");
    }

    #[test]
    fn a_slip_of_the_pen_is_understood() {
        assert_eq!(nearest("model.defualt"), Some("model.default"));
        assert_eq!(nearest("agent.timeout"), Some("terminal.timeout"));
        assert_eq!(nearest("max_turns"), Some("agent.max_turns"));
        assert_eq!(nearest("agent.max_turn"), Some("agent.max_turns"));
        assert_eq!(nearest("zzz"), None);
        assert_eq!(nearest_section("agnet"), Some("agent"));
        assert_eq!(nearest_section("zzz"), None);
    }
}
