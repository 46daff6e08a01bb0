//! The toolsets that herm comes with: data alone. A name of a tool that does not exist (yet, or on this
//! machine) is no mistake here; it is simply not offered.

/// A row.
pub(super) struct Row {
    pub name: &'static str,
    pub description: &'static str,
    pub tools: &'static [&'static str],
    pub includes: &'static [&'static str],
}

/// What every platform has that its people may trust. They never fold, and no bundle takes them away.
pub const CORE: &[&str] = &[
    "web_search",
    "web_extract",
    "terminal",
    "process",
    "read_file",
    "write_file",
    "patch",
    "search_files",
    "vision_analyze",
    "image_generate",
    "skills_list",
    "skill_view",
    "skill_manage",
    "browser_navigate",
    "browser_snapshot",
    "browser_click",
    "browser_type",
    "browser_scroll",
    "browser_back",
    "browser_press",
    "browser_get_images",
    "browser_vision",
    "browser_console",
    "text_to_speech",
    "todo",
    "memory",
    "session_search",
    "clarify",
    "execute_code",
    "delegate_task",
    "cronjob",
];

/// What may be used where what comes in may be anybody's words: nothing that writes, runs or reads here.
pub const UNTRUSTED: &[&str] = &["web_search", "web_extract", "vision_analyze", "clarify"];

const fn leaf(name: &'static str, description: &'static str, tools: &'static [&'static str]) -> Row {
    Row { name, description, tools, includes: &[] }
}

/// Sets of tools that belong together, and sets of sets.
pub(super) const SETS: &[Row] = &[
    leaf("web", "Search the web and read pages", &["web_search", "web_extract"]),
    leaf("search", "Search the web, without reading pages", &["web_search"]),
    leaf("vision", "Look at images", &["vision_analyze"]),
    leaf("video", "Look at videos", &["video_analyze"]),
    leaf("image_gen", "Make images", &["image_generate"]),
    leaf("tts", "Speak", &["text_to_speech"]),
    leaf("terminal", "Run command lines and background processes", &["terminal", "process"]),
    leaf("file", "Read, search and change files", &["read_file", "write_file", "patch", "search_files"]),
    leaf("todo", "Keep a list of steps", &["todo"]),
    leaf("clarify", "Ask the user", &["clarify"]),
    leaf("code_execution", "Run Python that can call tools", &["execute_code"]),
    leaf("session_search", "Search past sessions", &["session_search"]),
    leaf("memory", "Remember across sessions", &["memory"]),
    leaf("skills", "Use and write skills", &["skills_list", "skill_view", "skill_manage"]),
    leaf("delegation", "Hand work to other agents", &["delegate_task"]),
    leaf("cronjob", "Run something at a time", &["cronjob"]),
    leaf(
        "browser",
        "Use a browser",
        &[
            "browser_navigate",
            "browser_snapshot",
            "browser_click",
            "browser_type",
            "browser_scroll",
            "browser_back",
            "browser_press",
            "browser_get_images",
            "browser_vision",
            "browser_console",
        ],
    ),
    leaf("browser-cdp", "Speak to a browser directly", &["browser_cdp", "browser_dialog"]),
    leaf("discord", "Look around on Discord", &["discord"]),
    leaf("discord_admin", "Administer a Discord server", &["discord_admin"]),
    leaf(
        "homeassistant",
        "Smart home",
        &["ha_list_entities", "ha_get_state", "ha_list_services", "ha_call_service"],
    ),
    Row {
        name: "debugging",
        description: "Find out what is wrong: commands, files and the web",
        tools: &[],
        includes: &["terminal", "file", "web"],
    },
    Row {
        name: "coding",
        description: "Work on a program",
        tools: &[],
        includes: &["terminal", "file", "search", "todo", "clarify", "code_execution"],
    },
    Row {
        name: "safe",
        description: "Nothing that touches this machine",
        tools: &[],
        includes: &["web", "vision", "image_gen"],
    },
];

/// What each platform has unless configured otherwise. A platform that is not in this list is one that
/// nobody has thought about, and gets the untrusted set.
pub(super) const PLATFORMS: &[Row] = &[
    leaf("cli", "A conversation in a terminal", CORE),
    leaf("acp", "An editor", CORE),
    leaf("api", "The API server", CORE),
    leaf("cron", "Jobs that run by themselves", CORE),
    leaf("webhook", "Events from outside, whose words may be anybody's", UNTRUSTED),
    leaf("telegram", "Telegram", CORE),
    Row { name: "discord", description: "Discord", tools: CORE, includes: &["discord", "discord_admin"] },
    leaf("whatsapp", "WhatsApp", CORE),
    leaf("slack", "Slack", CORE),
    leaf("signal", "Signal", CORE),
    leaf("bluebubbles", "iMessage by BlueBubbles", CORE),
    Row { name: "homeassistant", description: "Home Assistant", tools: CORE, includes: &["homeassistant"] },
    leaf("email", "Mail", CORE),
    leaf("mattermost", "Mattermost", CORE),
    leaf("matrix", "Matrix", CORE),
    leaf("dingtalk", "DingTalk", CORE),
    leaf("feishu", "Feishu", CORE),
    leaf("weixin", "Weixin", CORE),
    leaf("qqbot", "QQ", CORE),
    leaf("wecom", "WeCom", CORE),
    leaf("sms", "SMS", CORE),
];

/// Other names of platforms: those that sessions record, and those of the reference.
pub(super) const ALIASES: &[(&str, &str)] =
    &[("terminal", "cli"), ("api-server", "api"), ("api_server", "api"), ("imessage", "bluebubbles")];
