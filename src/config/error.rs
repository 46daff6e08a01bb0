//! What can be wrong with the configuration, and what to run about it.

use std::fmt;
use std::path::PathBuf;

/// The operation that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no home directory: neither `HERM_HOME` nor `HOME` is set")]
    NoHome,
    #[error("`HERM_HOME` is `{path}`, which is not an absolute path")]
    RelativeHome { path: PathBuf },
    #[error("cannot {operation} `{path}`")]
    Io { operation: &'static str, path: PathBuf, source: std::io::Error },
    #[error("`{path}` is not valid YAML: {reason}")]
    Yaml { path: PathBuf, reason: String },
    #[error("{} in {place}{}", count(problems.len()), listed(problems))]
    Problems { place: String, problems: Vec<Problem> },
    #[error("`{path}` line {line}: {reason}")]
    EnvLine { path: PathBuf, line: usize, reason: &'static str },
    #[error("there is no setting `{key}`")]
    UnknownKey { key: String, suggestion: Option<String> },
    #[error("`{key}` cannot be `{value}`: {expected} is expected")]
    BadValue { key: String, value: String, expected: String },
    #[error("`{path}` is laid out in a way that cannot be edited line by line: {reason}")]
    NotEditable { path: PathBuf, reason: String, line: String },
}

impl Error {
    /// A command to run, or the one thing to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoHome | Self::RelativeHome { .. } => Some("export HERM_HOME=\"$HOME/.herm\"".into()),
            Self::Io { path, .. } => Some(format!("ls -ld {}", quoted(path))),
            Self::Yaml { path, .. } => Some(format!("${{EDITOR:-vi}} {}", quoted(path))),
            Self::Problems { problems, .. } => problems.iter().find_map(|problem| problem.fix.clone()),
            Self::EnvLine { path, line, .. } => Some(format!("${{EDITOR:-vi}} +{line} {}", quoted(path))),
            Self::UnknownKey { suggestion: Some(key), .. } => Some(format!("herm config explain {key}")),
            Self::UnknownKey { suggestion: None, .. } => Some("herm config show".into()),
            Self::BadValue { key, .. } => Some(format!("herm config explain {key}")),
            Self::NotEditable { path, line, .. } => {
                Some(format!("${{EDITOR:-vi}} {}   # and write `{line}`", quoted(path)))
            }
        }
    }
}

/// A path as a shell would take it.
fn quoted(path: &std::path::Path) -> String {
    let text = path.display().to_string();
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+@".contains(c));
    if plain { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn count(problems: usize) -> String {
    if problems == 1 { "1 problem".into() } else { format!("{problems} problems") }
}

fn listed(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("\n  {problem}")).collect()
}

/// One thing wrong with one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// From 1, where it is in a file.
    pub line: Option<usize>,
    pub key: String,
    pub reason: String,
    /// A command to run about it.
    pub fix: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "`{}`: {}", self.key, self.reason)
    }
}
