//! Visiting everything in a command line that the shell would execute.
//!
//! Variables that the line sets and directories that it changes to are followed in the order of
//! the text, as if every command succeeded: enough to see through a disguise, not an interpreter.
//! Where one command may not run, what it would set is not taken for granted.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brush_parser::ast::{
    AndOr, AndOrList, Command, CompoundList, FunctionBody, Pipeline, Program, SeparatorOperator,
};

use super::parse::{self, Depth};
use super::reading::{Reading, Stdin};
use super::scripts::{NoScripts, Scripts};
use super::word::{Field, HOME_UNKNOWN, expand};

mod compound;
mod file;
mod invoke;
mod output;
mod redirect;
mod simple;

/// Characters of words that are expanded and scripts that are parsed, all together; what is nested
/// counts once for each level. Keeps the time linear.
const WORK_MAX: usize = 600_000;
/// Variables that are followed, and the longest value and directory, in bytes: they are copied for
/// every subshell, and `x=$x$x` doubles.
const VARIABLES_MAX: usize = 32;
const VALUE_BYTES_MAX: usize = 512;

/// A command line and the place where it would run.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub cwd: Option<&'a Path>,
    pub home: Option<&'a Path>,
    /// herm's own home, where it is not below the person's.
    pub agent_home: Option<&'a Path>,
    pub scripts: &'a dyn Scripts,
}

/// Reads a command line; `None` if there is no stack to read it on.
pub fn read(command: &str, place: Place<'_>) -> Option<Reading> {
    let visit = |depth: Depth| {
        let mut walk = Walk::new(place, depth);
        walk.script(command);
        walk.reading.too_deep = walk.depth.exceeded();
        walk.reading
    };
    // Nearly every line is shallow, and a thread costs more than reading it.
    let reading = visit(Depth::shallow());
    if !reading.too_deep {
        return Some(reading);
    }
    on_deep_stack(|| Some(visit(Depth::deep())))
}

/// The program whose exit status is that of the command line, where that is plain; `git` with its
/// subcommand.
pub fn last_program(command: &str) -> Option<String> {
    on_deep_stack(|| {
        let depth = Depth::deep();
        let program = parse::script(command, &depth)?;
        let list = &program.complete_commands.last()?.0.last()?.0;
        let pipeline = list.additional.is_empty().then_some(&list.first)?;
        if pipeline.bang {
            return None;
        }
        match pipeline.seq.last()? {
            Command::Simple(simple) => {
                let mut walk =
                    Walk::new(Place { cwd: None, home: None, agent_home: None, scripts: &NoScripts }, depth);
                walk.simple(simple);
                let last = walk.reading.invocations.last()?;
                let name = last.name()?;
                match last.arguments.first().and_then(Field::value) {
                    Some(subcommand) if name == "git" => Some(format!("git {subcommand}")),
                    _ => Some(name.to_owned()),
                }
            }
            Command::ExtendedTest(..) => Some("[[".into()),
            _ => None,
        }
    })
}

/// Reads on a stack that is deep enough; where there can be none, nothing is read.
fn on_deep_stack<T: Send>(read: impl FnOnce() -> Option<T> + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("reading".into())
            .stack_size(parse::STACK_BYTES)
            .spawn_scoped(scope, read);
        thread.ok()?.join().ok().flatten()
    })
}

/// What is known of a variable that the line sets.
#[derive(Clone, Debug, PartialEq)]
pub enum Held {
    Text(String),
    List(Vec<String>),
    /// Something that the line puts together when it runs.
    Computed,
}

/// A visit under way.
pub struct Walk<'a> {
    reading: Reading,
    scripts: &'a dyn Scripts,
    agent_home: Option<&'a Path>,
    depth: Depth,
    variables: HashMap<String, Held>,
    /// `$1` and what follows, where they are known.
    positional: Option<Vec<Field>>,
    functions: HashMap<String, Arc<FunctionBody>>,
    cwd: Option<PathBuf>,
    /// What the next command gets on its standard input, unless it is redirected.
    stdin: Option<Arc<Stdin>>,
    /// Functions whose bodies are being visited.
    defining: Vec<String>,
    /// The innermost of them starts itself in the background.
    starts_itself: bool,
    /// What is visited may not run: it stands behind `&&`, in an `if` and the like.
    conditional: bool,
    detached: bool,
    splits_elsewhere: bool,
    /// What the parser takes for arithmetic may be subshells.
    parted_brackets: bool,
    /// The script that is being visited, if it is not the line itself.
    script: Option<Arc<str>>,
    scripts_read: usize,
    nested: usize,
    work: usize,
}

impl<'a> Walk<'a> {
    fn new(place: Place<'a>, depth: Depth) -> Self {
        Self {
            reading: Reading { home: place.home.map(Path::to_owned), ..Reading::default() },
            scripts: place.scripts,
            agent_home: place.agent_home,
            depth,
            variables: HashMap::new(),
            positional: None,
            functions: HashMap::new(),
            cwd: place.cwd.map(Path::to_owned),
            stdin: None,
            defining: vec![],
            starts_itself: false,
            conditional: false,
            detached: false,
            splits_elsewhere: false,
            parted_brackets: false,
            script: None,
            scripts_read: 0,
            nested: 0,
            work: 0,
        }
    }

    pub fn deep(&self) -> &Depth {
        &self.depth
    }

    pub fn home(&self) -> String {
        self.reading.home.as_ref().map_or_else(|| HOME_UNKNOWN.into(), |home| home.display().to_string())
    }

    pub fn agent_home(&self) -> String {
        self.agent_home.map_or_else(|| format!("{}/.herm", self.home()), |home| home.display().to_string())
    }

    pub fn cwd(&self) -> Option<String> {
        self.cwd.as_ref().map(|cwd| cwd.display().to_string())
    }

    pub fn variable(&self, name: &str) -> Option<&Held> {
        self.variables.get(name)
    }

    pub fn positional(&self) -> Option<&[Field]> {
        self.positional.as_deref()
    }

    /// The line has set `IFS`, so where words are split is not known.
    pub fn splits_elsewhere(&self) -> bool {
        self.splits_elsewhere
    }

    pub fn unread(&mut self, why: &str) {
        let script = self.script.as_deref();
        self.reading.unread.get_or_insert_with(|| match script {
            Some(script) => format!("{why} (in `{script}`)"),
            None => why.to_owned(),
        });
    }

    /// Counts work; false when there has been too much.
    pub fn spend(&mut self, chars: usize) -> bool {
        self.work = self.work.saturating_add(chars).saturating_add(1);
        let within = self.work <= WORK_MAX;
        if !within {
            self.unread("it is too large to be read");
        }
        within
    }

    fn script(&mut self, script: &str) {
        if !self.spend(script.len()) {
            return;
        }
        let outer = std::mem::replace(&mut self.parted_brackets, parse::has_parted_brackets(script));
        if parse::may_hide_document(script) {
            self.unread("a here-document in it may be arithmetic");
        }
        match parse::script(script, &self.depth) {
            Some(program) => self.program(&program),
            None => self.runs(script),
        }
        self.parted_brackets = outer;
    }

    /// What is no script is at least searched for catastrophes.
    fn runs(&mut self, text: &str) {
        if self.depth.exceeded() {
            return;
        }
        self.unread("it cannot be read as a shell command");
        for run in parse::runs(text) {
            for word in &run.written {
                let fields = expand(word, self);
                self.writes(fields);
            }
            let sets = |word: &&String| assigned_name(word).is_some();
            let assignments: Vec<&String> = run.words.iter().take_while(sets).collect();
            for word in &assignments {
                for field in expand(word, self) {
                    self.declare(&field);
                }
            }
            let rest = run.words.iter().skip(assignments.len());
            let fields = rest.flat_map(|word| expand(word, self)).collect();
            self.invoke(fields, false);
        }
    }

    /// Visits what cannot change this shell.
    fn scoped(&mut self, visit: impl FnOnce(&mut Self)) {
        let (cwd, variables, functions) = (self.cwd.clone(), self.variables.clone(), self.functions.clone());
        let (positional, splits) = (self.positional.clone(), self.splits_elsewhere);
        self.nested(visit);
        (self.cwd, self.variables, self.functions) = (cwd, variables, functions);
        (self.positional, self.splits_elsewhere) = (positional, splits);
    }

    fn nested(&mut self, visit: impl FnOnce(&mut Self)) {
        if !self.depth.allows(self.nested) {
            return self.unread("it is nested too deeply to be read");
        }
        self.nested += 1;
        visit(self);
        self.nested -= 1;
    }

    /// Visits what may not run.
    fn perhaps(&mut self, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.conditional, true);
        visit(self);
        self.conditional = outer;
    }

    fn program(&mut self, program: &Program) {
        for list in &program.complete_commands {
            self.list(list);
        }
    }

    fn list(&mut self, list: &CompoundList) {
        self.nested(|walk| {
            for item in &list.0 {
                if !walk.spend(0) {
                    return;
                }
                let before = walk.reading.invocations.len();
                let in_background = matches!(item.1, SeparatorOperator::Async);
                let outer = walk.detached;
                walk.detached |= in_background;
                walk.and_or(&item.0);
                walk.detached = outer;
                walk.starts_itself |= in_background && walk.calls_itself(before) > 0;
            }
        });
    }

    fn and_or(&mut self, list: &AndOrList) {
        self.pipeline(&list.first);
        for next in &list.additional {
            match next {
                AndOr::And(pipeline) | AndOr::Or(pipeline) => self.perhaps(|walk| walk.pipeline(pipeline)),
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        if let [only] = pipeline.seq.as_slice() {
            return self.command(only);
        }
        let begin = self.reading.invocations.len();
        let outer = self.stdin.clone();
        let mut from = vec![];
        for command in &pipeline.seq {
            let before = self.reading.invocations.len();
            self.scoped(|walk| walk.command(command));
            self.lines_since(before, &mut from);
            let text = self.printed_since(before);
            self.stdin = Some(Arc::new(Stdin::Pipe { text, from: from.clone() }));
        }
        self.stdin = outer;
        self.reading.bomb |= self.calls_itself(begin) > 1;
    }

    /// Calls since `before` of functions that are being defined.
    fn calls_itself(&self, before: usize) -> usize {
        let calls = self.reading.invocations.get(before..).unwrap_or_default();
        calls
            .iter()
            .filter(|call| call.name().is_some_and(|name| self.defining.iter().any(|f| f == name)))
            .count()
    }

    fn command(&mut self, command: &Command) {
        let outer = self.stdin.clone();
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                self.redirects(redirects.as_ref());
                self.compound(compound);
            }
            Command::Function(function) => self.function(function),
            Command::ExtendedTest(test, redirects) => {
                self.redirects(redirects.as_ref());
                self.test(&test.expr);
            }
        }
        self.stdin = outer;
    }
}

/// The variable that a word sets, if it stands where words set variables.
fn assigned_name(word: &str) -> Option<&str> {
    let (name, _) = word.split_once('=')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_name))
        .then_some(name)
}
