//! PURE: a message as steps, one a line.

use herm_schema::JsonText;
use serde_json::{Value, json};

use super::words;

/// What one line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Run {
        command: String,
    },
    Read {
        path: String,
    },
    /// `files`: by name, not by content.
    Find {
        pattern: String,
        path: Option<String>,
        files: bool,
    },
    Write {
        path: String,
        text: String,
    },
    Search {
        query: String,
    },
}

/// One line of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Step(Step),
    /// What was said, in full.
    NotUnderstood(String),
}

impl Step {
    /// The tool that does it.
    pub(super) fn tool(&self) -> &'static str {
        match self {
            Self::Run { .. } => "terminal",
            Self::Read { .. } => "read_file",
            Self::Find { .. } => "search_files",
            Self::Write { .. } => "write_file",
            Self::Search { .. } => "session_search",
        }
    }

    /// The arguments of that tool, keys sorted.
    pub(super) fn arguments(&self) -> JsonText {
        let value = match self {
            Self::Run { command } => json!({ "command": command }),
            Self::Read { path } => json!({ "path": path }),
            Self::Find { pattern, path, files } => {
                let path = path.as_deref().unwrap_or(".");
                json!({ "path": path, "pattern": pattern, "target": if *files { "files" } else { "content" } })
            }
            Self::Write { path, text } => json!({ "content": text, "path": path }),
            Self::Search { query } => json!({ "query": query }),
        };
        JsonText(Value::to_string(&value))
    }

    /// What it does, for a person.
    pub(super) fn title(&self) -> String {
        match self {
            Self::Run { command } => format!("run `{command}`"),
            Self::Read { path } => format!("read `{path}`"),
            Self::Find { pattern, path, files } => {
                let what = if *files { "find files" } else { "find" };
                let place = path.as_deref().map(|path| format!(" in `{path}`")).unwrap_or_default();
                format!("{what} `{pattern}`{place}")
            }
            Self::Write { path, .. } => format!("write `{path}`"),
            Self::Search { query } => format!("search past sessions for `{query}`"),
        }
    }
}

/// The steps of `message` and what was not understood of it, in order.
pub(super) fn read(message: &str) -> Vec<Line> {
    let mut lines = message.lines().peekable();
    let mut out = Vec::new();
    while let Some(line) = lines.next() {
        let bare = without_bullet(line.trim());
        if bare.is_empty() {
            continue;
        }
        if let Some(path) = opens_block(bare)
            && lines.peek().is_some_and(|next| next.trim_start().starts_with("```"))
        {
            lines.next();
            let body: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != "```").collect();
            let text = body.iter().map(|line| format!("{line}\n")).collect();
            out.push(Line::Step(Step::Write { path, text }));
            continue;
        }
        out.extend(one_line(bare));
    }
    out
}

fn one_line(line: &str) -> Vec<Line> {
    if let Some(step) = labelled(line).or_else(|| words::read(line)) {
        return vec![Line::Step(step)];
    }
    // Several steps in one sentence, if each of them is one.
    for joint in [", then ", "; then ", " and then ", "; ", "，然后", "然后", "；"] {
        let parts: Vec<&str> = line.split(joint).collect();
        let steps: Option<Vec<Step>> =
            parts.iter().map(|part| labelled(part.trim()).or_else(|| words::read(part.trim()))).collect();
        if let Some(steps) = steps.filter(|steps| steps.len() > 1) {
            return steps.into_iter().map(Line::Step).collect();
        }
    }
    vec![Line::NotUnderstood(line.to_owned())]
}

/// `- `, `* `, `1. `, `2) ` at the beginning of a list's line.
fn without_bullet(line: &str) -> &str {
    if let Some(rest) = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
        return rest.trim_start();
    }
    let rest = line.trim_start_matches(|char: char| char.is_ascii_digit());
    let numbered = rest.len() < line.len();
    match rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")).or_else(|| rest.strip_prefix('、')) {
        Some(rest) if numbered => rest.trim_start(),
        _ => line,
    }
}

const LABELS: &[(&str, &str)] = &[
    ("run", "run"),
    ("read", "read"),
    ("find", "find"),
    ("write", "write"),
    ("search", "search"),
    ("运行", "run"),
    ("执行", "run"),
    ("读取", "read"),
    ("查找", "find"),
    ("写入", "write"),
    ("搜索", "search"),
];

/// The label of `label: rest`, with a full-width colon too, and what follows it.
fn label(line: &str) -> Option<(&'static str, &str)> {
    let (word, rest) = line.split_once([':', '：'])?;
    let word = word.trim().to_lowercase();
    let (_, label) = LABELS.iter().find(|(known, _)| *known == word)?;
    Some((label, rest.trim()))
}

/// The documented forms.
fn labelled(line: &str) -> Option<Step> {
    let (label, rest) = label(line)?;
    if rest.is_empty() {
        return None;
    }
    Some(match label {
        "run" => Step::Run { command: words::unquoted(rest).to_owned() },
        "read" => Step::Read { path: words::unquoted(rest).to_owned() },
        "find" => find(rest),
        "write" => {
            let (path, text) = rest.split_once(": ").or_else(|| rest.split_once('：'))?;
            Step::Write { path: words::unquoted(path.trim()).to_owned(), text: text.to_owned() }
        }
        _ => Step::Search { query: words::unquoted(rest).to_owned() },
    })
}

/// `PATTERN [in PATH]`; the last ` in ` counts, and a quoted pattern may hold one.
pub(super) fn find(rest: &str) -> Step {
    let (pattern, path) = match rest.rsplit_once(" in ") {
        Some((pattern, path)) if words::is_one_word(path) => {
            (pattern, Some(words::unquoted(path).to_owned()))
        }
        _ => (rest, None),
    };
    let pattern = words::unquoted(pattern).to_owned();
    let files = is_glob(&pattern);
    Step::Find { pattern, path, files }
}

/// Names are meant rather than contents: `*.rs`, `src/**`, `test_?.py`.
fn is_glob(pattern: &str) -> bool {
    let starred = pattern.starts_with('*') || pattern.contains("/*") || pattern.contains("*.");
    starred && !pattern.contains(".*") && !pattern.contains(char::is_whitespace)
}

/// `write: PATH:` whose text follows in a fenced block.
fn opens_block(line: &str) -> Option<String> {
    let (label, rest) = label(line)?;
    let path = rest.strip_suffix([':', '：'])?.trim();
    (label == "write" && !path.is_empty()).then(|| words::unquoted(path).to_owned())
}
