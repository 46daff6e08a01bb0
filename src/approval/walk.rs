//! Visiting everything in a command line that the shell would execute.
//!
//! Variables that the line sets and directories that it changes to are followed in the order of
//! the text, as if every command succeeded: enough to see through a disguise, not an interpreter.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use brush_parser::ast::{
    AndOr, AndOrList, Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem,
    CompoundCommand, CompoundList, ExtendedTestExpr, FunctionDefinition, IoFileRedirectKind,
    IoFileRedirectTarget, IoRedirect, Pipeline, Program, RedirectList, SeparatorOperator, SimpleCommand,
};

use super::launcher::{self, Inner};
use super::parse;
use super::reading::{Invocation, Reading};
use super::word::{Field, HOME_UNKNOWN, expand, expand_unsplit};

/// Commands inside commands inside commands, at most.
const DEPTH_MAX: usize = 48;
/// Characters of words that are expanded and scripts that are parsed, all together; what is nested
/// counts once for each level. Keeps the time linear.
const WORK_MAX: usize = 400_000;
/// Variables that are followed, and the longest value and directory, in bytes: they are copied for
/// every subshell, and `x=$x$x` doubles.
const VARIABLES_MAX: usize = 32;
const VALUE_BYTES_MAX: usize = 512;
/// Values of a `for` loop that are followed one by one.
const LOOP_VALUES_MAX: usize = 16;

/// Reads a command line; `None` if it cannot be read at all.
pub fn read(command: &str, cwd: &Path, home: Option<&Path>) -> Option<Reading> {
    on_deep_stack(|| {
        let mut walk = Walk::new(Some(cwd), home);
        match parse::script(command) {
            Some(program) => walk.program(&program),
            None => walk.runs(command),
        }
        Some(walk.reading)
    })
}

/// The program whose exit status is that of the command line, where that is plain; `git` with its
/// subcommand.
pub fn last_program(command: &str) -> Option<String> {
    on_deep_stack(|| {
        let program = parse::script(command)?;
        let list = &program.complete_commands.last()?.0.last()?.0;
        let pipeline = list.additional.is_empty().then_some(&list.first)?;
        if pipeline.bang {
            return None;
        }
        match pipeline.seq.last()? {
            Command::Simple(simple) => {
                let mut walk = Walk::new(None, None);
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

/// A visit under way.
pub struct Walk {
    reading: Reading,
    variables: HashMap<String, String>,
    cwd: Option<PathBuf>,
    /// Text that the next command gets on its standard input, if known.
    stdin: Option<Field>,
    /// Functions whose bodies are being visited.
    defining: Vec<String>,
    /// The innermost of them starts itself in the background.
    starts_itself: bool,
    depth: usize,
    work: usize,
}

impl Walk {
    fn new(cwd: Option<&Path>, home: Option<&Path>) -> Self {
        Self {
            reading: Reading { home: home.map(Path::to_owned), ..Reading::default() },
            variables: HashMap::new(),
            cwd: cwd.map(Path::to_owned),
            stdin: None,
            defining: vec![],
            starts_itself: false,
            depth: 0,
            work: 0,
        }
    }

    pub fn home(&self) -> String {
        self.reading.home.as_ref().map_or_else(|| HOME_UNKNOWN.into(), |home| home.display().to_string())
    }

    pub fn cwd(&self) -> Option<String> {
        self.cwd.as_ref().map(|cwd| cwd.display().to_string())
    }

    pub fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    pub fn unread(&mut self, why: &'static str) {
        self.reading.unread.get_or_insert(why);
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

    /// A command substitution: visited with what is set so far, and nothing it sets stays.
    pub fn substitution(&mut self, script: &str) {
        self.reading.compound = true;
        self.scoped(|walk| walk.script(script));
    }

    fn script(&mut self, script: &str) {
        if !self.spend(script.len()) {
            return;
        }
        match parse::script(script) {
            Some(program) => self.program(&program),
            None => self.runs(script),
        }
    }

    /// What is no script is at least searched for catastrophes.
    fn runs(&mut self, text: &str) {
        self.unread("it cannot be read as a shell command");
        for run in parse::runs(text) {
            for word in &run.written {
                let fields = expand(word, self);
                self.reading.writes.extend(fields);
            }
            let fields = run.words.iter().flat_map(|word| expand(word, self)).collect();
            self.invoke(fields, None, false);
        }
    }

    fn scoped(&mut self, visit: impl FnOnce(&mut Self)) {
        let (cwd, variables) = (self.cwd.clone(), self.variables.clone());
        self.nested(visit);
        (self.cwd, self.variables) = (cwd, variables);
    }

    fn nested(&mut self, visit: impl FnOnce(&mut Self)) {
        if self.depth >= DEPTH_MAX {
            return self.unread("it is nested too deeply to be read");
        }
        self.depth += 1;
        visit(self);
        self.depth -= 1;
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
                walk.and_or(&item.0);
                walk.starts_itself |=
                    matches!(item.1, SeparatorOperator::Async) && walk.calls_itself(before) > 0;
            }
        });
    }

    fn and_or(&mut self, list: &AndOrList) {
        self.pipeline(&list.first);
        for next in &list.additional {
            match next {
                AndOr::And(pipeline) | AndOr::Or(pipeline) => self.pipeline(pipeline),
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        let before = self.reading.invocations.len();
        self.stdin = None;
        let [only] = pipeline.seq.as_slice() else {
            self.reading.compound = true;
            for command in &pipeline.seq {
                let before = self.reading.invocations.len();
                self.scoped(|walk| walk.command(command));
                self.stdin = self.printed_since(before);
            }
            self.stdin = None;
            self.reading.bomb |= self.calls_itself(before) > 1;
            return;
        };
        self.command(only);
    }

    /// What the one command since `before` prints, if it plainly prints a text.
    fn printed_since(&self, before: usize) -> Option<Field> {
        match self.reading.invocations.get(before..)? {
            [echo] if matches!(echo.name(), Some("echo" | "printf")) => {
                let words: Option<Vec<&str>> = echo.arguments.iter().map(Field::value).collect();
                let words = words?;
                let text = words.iter().skip_while(|word| word.starts_with('-')).copied().collect::<Vec<_>>();
                Some(Field::literal(&text.join(" ").replace("\\n", "\n")))
            }
            _ => None,
        }
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
        match command {
            Command::Simple(simple) => return self.simple(simple),
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
        self.reading.compound = true;
    }

    fn function(&mut self, function: &FunctionDefinition) {
        self.defining.push(function.fname.value.clone());
        let before = self.reading.invocations.len();
        let outer = std::mem::replace(&mut self.starts_itself, false);
        self.redirects(function.body.1.as_ref());
        self.scoped(|walk| walk.compound(&function.body.0));
        // In the background and alone it is a chain; with another call of itself it multiplies.
        self.reading.bomb |= self.starts_itself && self.calls_itself(before) > 1;
        self.starts_itself = outer;
        self.defining.pop();
    }

    fn test(&mut self, expression: &ExtendedTestExpr) {
        self.nested(|walk| match expression {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                walk.test(left);
                walk.test(right);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => walk.test(inner),
            ExtendedTestExpr::UnaryTest(_, word) => walk.operand(&word.value),
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                walk.operand(&left.value);
                walk.operand(&right.value);
            }
        });
    }

    /// Expands what is evaluated as arithmetic.
    pub fn operand(&mut self, word: &str) {
        for field in expand(word, self) {
            self.refuse_subscript(field.text());
        }
    }

    /// Arithmetic evaluates subscripts, and commands in them: `x='a[$(reboot)]'; echo $((x))`.
    fn refuse_subscript(&mut self, text: &str) {
        if text.contains('[') && (text.contains("$(") || text.contains('`')) {
            self.unread("a text in it could be run as arithmetic");
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.scoped(|walk| walk.list(&subshell.list)),
            CompoundCommand::ForClause(clause) => {
                let words = clause.values.iter().flatten();
                let values: Vec<Field> = words.flat_map(|word| expand(&word.value, self)).collect();
                self.for_each(&clause.variable_name, &values, &clause.body.list);
            }
            CompoundCommand::CaseClause(case) => {
                expand(&case.value.value, self);
                for item in &case.cases {
                    if let Some(list) = &item.cmd {
                        self.list(list);
                    }
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for branch in clause.elses.iter().flatten() {
                    if let Some(condition) = &branch.condition {
                        self.list(condition);
                    }
                    self.list(&branch.body);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
            CompoundCommand::Arithmetic(arithmetic) => self.operand(&arithmetic.expr.value),
            CompoundCommand::ArithmeticForClause(clause) => {
                for part in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.operand(&part.value);
                }
                self.list(&clause.body.list);
            }
            CompoundCommand::Coprocess(coprocess) => self.nested(|walk| walk.command(&coprocess.body)),
        }
    }

    fn for_each(&mut self, variable: &str, values: &[Field], body: &CompoundList) {
        let known: Vec<&str> = values.iter().filter_map(Field::value).collect();
        for value in known.iter().take(LOOP_VALUES_MAX) {
            self.set(variable, Some(value));
            self.list(body);
        }
        if known.is_empty() || known.len() > LOOP_VALUES_MAX || known.len() < values.len() {
            self.variables.remove(variable);
            self.list(body);
        }
    }

    fn simple(&mut self, command: &SimpleCommand) {
        if !self.spend(1) {
            return;
        }
        let (mut fields, mut assignments) = (vec![], vec![]);
        for item in command.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => assignments.push(assignment),
                item => self.item(item, &mut fields),
            }
        }
        if let Some(word) = &command.word_or_name {
            fields.extend(expand(&word.value, self));
        }
        for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut fields);
        }
        for assignment in assignments {
            self.assign(assignment, !fields.is_empty());
        }
        let stdin = self.stdin.take();
        self.invoke(fields, stdin, false);
    }

    fn item(&mut self, item: &CommandPrefixOrSuffixItem, fields: &mut Vec<Field>) {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect),
            CommandPrefixOrSuffixItem::Word(word) | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                fields.extend(expand(&word.value, self));
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => {
                self.reading.compound = true;
                self.scoped(|walk| walk.list(&subshell.list));
                fields.push(Field::unknown());
            }
        }
    }

    fn assign(&mut self, assignment: &Assignment, for_a_command: bool) {
        let name = match &assignment.name {
            AssignmentName::VariableName(name) | AssignmentName::ArrayElementName(name, _) => name,
        };
        if let AssignmentName::ArrayElementName(_, index) = &assignment.name {
            expand(index, self);
        }
        self.reading.compound = true;
        self.reading.sets_variables |= !is_harmless_name(name, for_a_command);
        let value = match &assignment.value {
            AssignmentValue::Scalar(word) => match parse::pieces(&word.value) {
                Some(pieces) => expand_unsplit(&pieces, self),
                None => return self.unread("a value in it cannot be read"),
            },
            AssignmentValue::Array(elements) => {
                for (_, element) in elements {
                    expand(&element.value, self);
                }
                Field::unknown()
            }
        };
        // For one command only, it does not change how its own words are expanded.
        if !for_a_command {
            let value = if assignment.append { None } else { value.value() };
            self.set(name, value);
        }
    }

    fn set(&mut self, name: &str, value: Option<&str>) {
        match value {
            Some(value) => {
                self.refuse_subscript(value);
                let known = self.variables.contains_key(name) || self.variables.len() < VARIABLES_MAX;
                if known && value.len() <= VALUE_BYTES_MAX {
                    self.variables.insert(name.into(), value.into());
                } else {
                    self.variables.remove(name);
                }
            }
            None => drop(self.variables.remove(name)),
        }
    }

    fn redirects(&mut self, redirects: Option<&RedirectList>) {
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            self.redirect(redirect);
        }
    }

    fn redirect(&mut self, redirect: &IoRedirect) {
        match redirect {
            IoRedirect::File(_, kind, target) => self.file_redirect(kind, target),
            IoRedirect::OutputAndError(word, _) => {
                let fields = expand(&word.value, self);
                self.reading.writes.extend(fields);
            }
            IoRedirect::HereString(_, word) => self.stdin = expand(&word.value, self).into_iter().next(),
            IoRedirect::HereDocument(_, document) => {
                let text = &document.doc.value;
                self.reading.compound = true;
                self.stdin = Some(match (document.requires_expansion, self.spend(text.len())) {
                    (false, _) => Field::literal(text),
                    (true, false) => Field::unknown(),
                    (true, true) => match parse::document_pieces(text) {
                        Some(pieces) => expand_unsplit(&pieces, self),
                        None => return self.unread("a here-document in it cannot be read"),
                    },
                });
            }
        }
    }

    fn file_redirect(&mut self, kind: &IoFileRedirectKind, target: &IoFileRedirectTarget) {
        let fields = match target {
            IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => {
                expand(&word.value, self)
            }
            IoFileRedirectTarget::Fd(_) => return,
            IoFileRedirectTarget::ProcessSubstitution(_, subshell) => {
                self.reading.compound = true;
                return self.scoped(|walk| walk.list(&subshell.list));
            }
        };
        match kind {
            IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput => {
                self.reading.reads.extend(fields)
            }
            IoFileRedirectKind::Write
            | IoFileRedirectKind::Append
            | IoFileRedirectKind::ReadAndWrite
            | IoFileRedirectKind::Clobber
            | IoFileRedirectKind::DuplicateOutput => {
                // `2>&1` and `>&-` name no file.
                let names_file = |field: &Field| {
                    !field.value().is_some_and(|text| text == "-" || text.parse::<u32>().is_ok())
                };
                let duplicates = matches!(kind, IoFileRedirectKind::DuplicateOutput);
                self.reading
                    .writes
                    .extend(fields.into_iter().filter(|field| !duplicates || names_file(field)));
            }
        }
    }

    /// Lists an invocation and what it starts in turn.
    fn invoke(&mut self, fields: Vec<Field>, stdin: Option<Field>, open_ended: bool) {
        let mut fields = fields.into_iter();
        let Some(program) = fields.next() else { return };
        let mut invocation = Invocation {
            program,
            arguments: fields.collect(),
            cwd: self.cwd.clone(),
            open_ended,
            launches: false,
        };
        let started = launcher::look_through(&invocation, stdin.as_ref());
        invocation.launches = started.harmless;
        self.note_state(&invocation);
        self.reading.invocations.push(invocation);
        for inner in started.inner {
            self.reading.compound = true;
            self.nested(|walk| match inner {
                Inner::Command { fields, open_ended } => walk.invoke(fields, stdin.clone(), open_ended),
                Inner::Script { text, same_shell: true } => walk.script(&text),
                Inner::Script { text, same_shell: false } => walk.scoped(|walk| walk.script(&text)),
                Inner::Unknown => walk.unread("it runs a text that is only known when it runs"),
            });
        }
    }

    /// What later words depend on: the directory, and variables.
    fn note_state(&mut self, invocation: &Invocation) {
        match invocation.name() {
            Some("cd" | "pushd") => self.change_directory(invocation),
            Some("popd") => self.cwd = None,
            Some("export" | "declare" | "typeset" | "local" | "readonly") => {
                for argument in invocation.known_arguments() {
                    if let Some((name, value)) = argument.split_once('=') {
                        self.set(name, Some(value));
                    }
                }
            }
            Some("read" | "unset" | "mapfile" | "readarray" | "getopts") => {
                for name in invocation.known_arguments() {
                    self.variables.remove(name);
                }
            }
            _ => {}
        }
    }

    fn change_directory(&mut self, invocation: &Invocation) {
        let target = invocation
            .arguments
            .iter()
            .find(|field| !field.value().is_some_and(|text| text.starts_with('-') && text != "-"));
        self.cwd = match target.map(Field::value) {
            None => self.reading.home.clone(),
            Some(None | Some("-")) => None,
            Some(Some(path)) if path.starts_with('/') => Some(path.into()),
            Some(Some(path)) => self.cwd.as_ref().map(|cwd| cwd.join(path)),
        };
        let within = |cwd: &PathBuf| cwd.as_os_str().len() <= VALUE_BYTES_MAX;
        self.cwd = self.cwd.take().filter(within);
    }
}

/// Variables that cannot change what programs do beyond how they print. In lower case, and for the
/// shell alone, are those of scripts.
fn is_harmless_name(name: &str, for_a_command: bool) -> bool {
    const HARMLESS: &[&str] = &["LANG", "LANGUAGE", "TZ", "NO_COLOR", "COLUMNS", "LINES", "TERM"];
    let script_variable = !for_a_command && !name.chars().any(|c| c.is_ascii_uppercase());
    script_variable || name.starts_with("LC_") || HARMLESS.contains(&name)
}
