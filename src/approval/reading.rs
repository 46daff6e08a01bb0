//! What a command line was found to do: the list of everything that it would execute.

use std::path::PathBuf;
use std::sync::Arc;

use super::word::Field;

/// Everything that a command line executes, as far as it can be told.
#[derive(Debug, Default)]
pub struct Reading {
    /// In the order of the text; what a launcher starts comes after the launcher.
    pub invocations: Vec<Invocation>,
    /// Files that redirections write.
    pub writes: Vec<Write>,
    /// Something that executes could not be read; why, for the person.
    pub unread: Option<String>,
    /// Digest of the scripts that were read: a yes to a line is a yes to what they say now.
    pub scripts: Option<String>,
    /// A function that multiplies itself.
    pub bomb: bool,
    /// Home directory of the person.
    pub home: Option<PathBuf>,
    /// It was deeper than the stack at hand allows: nothing above is to be trusted.
    pub too_deep: bool,
}

/// A file that a redirection writes.
#[derive(Debug)]
pub struct Write {
    pub target: Field,
    /// Where the line stands then, if that is known.
    pub cwd: Option<PathBuf>,
}

/// What a program finds on its standard input.
#[derive(Clone, Debug, PartialEq)]
pub enum Stdin {
    /// A here-document or a here-string, as far as it is known.
    Document(Field),
    /// What the programs before it in a pipeline print.
    Pipe { text: Option<Field>, from: Vec<String> },
    /// A file.
    File(Field),
    /// What a process substitution prints.
    Process,
}

impl Stdin {
    /// The text, if it is known.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Document(field) => field.value(),
            Self::Pipe { text, .. } => text.as_ref().and_then(Field::value),
            Self::File(_) | Self::Process => None,
        }
    }
}

/// One program and its arguments, as the shell would start it.
#[derive(Clone, Debug)]
pub struct Invocation {
    pub program: Field,
    pub arguments: Vec<Field>,
    /// Where it runs, if that is known.
    pub cwd: Option<PathBuf>,
    /// More arguments follow that are only known when it runs.
    pub open_ended: bool,
    /// It starts what comes after it, as `sudo` and `xargs` do.
    pub launches: bool,
    pub stdin: Option<Arc<Stdin>>,
    /// It outlives the line: `&`, `nohup`, `setsid`, `disown`.
    pub detached: bool,
    /// The script that it stands in, if it is not the line itself.
    pub script: Option<Arc<str>>,
}

impl Invocation {
    /// Last component of the program's path, if the program is known.
    pub fn name(&self) -> Option<&str> {
        self.program.value().map(base_name)
    }

    /// The arguments that are known.
    pub fn known_arguments(&self) -> impl Iterator<Item = &str> {
        self.arguments.iter().filter_map(Field::value)
    }

    /// Program and arguments as one would type them; what is not known is `…`.
    pub fn line(&self) -> String {
        let mut line = shown(&self.program);
        for argument in &self.arguments {
            line.push(' ');
            line.push_str(&shown(argument));
        }
        if self.open_ended {
            line.push_str(" …");
        }
        line
    }
}

/// Last component of a path.
pub fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn shown(field: &Field) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+./:,@%~*?[]{}!^…".contains(c);
    let mut text = field.text().to_owned();
    if field.unknown {
        text.push('…');
    }
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
