//! Invocations: listed, looked through, and what they change for the words that follow.

use std::path::PathBuf;

use super::simple::held_by;
use super::{Held, VALUE_BYTES_MAX, Walk};
use crate::approval::launcher::{self, Inner};
use crate::approval::reading::{Invocation, Stdin};
use crate::approval::scripts::may_be_script;
use crate::approval::width;
use crate::approval::word::{Field, escapes};

impl Walk<'_> {
    /// Lists an invocation and what it starts in turn.
    pub(super) fn invoke(&mut self, fields: Vec<Field>, open_ended: bool) {
        if fields.is_empty() || !self.spend(fields.len()) {
            return;
        }
        let mut fields = width::normal(fields).into_iter();
        let Some(program) = fields.next() else { return };
        let invocation = Invocation {
            program,
            arguments: fields.collect(),
            cwd: self.cwd.clone(),
            open_ended,
            launches: false,
            stdin: self.stdin.clone(),
            detached: self.detached,
            script: self.script.clone(),
        };
        if let Some(name) = invocation.program.value()
            && self.functions.contains_key(name)
        {
            let (name, arguments) = (name.to_owned(), invocation.arguments.clone());
            self.reading.invocations.push(invocation);
            return self.call(&name, &arguments);
        }
        self.start(invocation);
    }

    fn start(&mut self, mut invocation: Invocation) {
        let mut started = launcher::look_through(&invocation);
        started.extend(without_unknown(&invocation));
        if let Some(path) = invocation.program.value().filter(|path| may_be_script(path)) {
            let path = invocation.program.with_text(path.to_owned());
            started.push(Inner::File {
                path,
                arguments: invocation.arguments.clone(),
                same_shell: false,
                by_shell: false,
            });
        }
        self.note_state(&invocation);
        let detaches = matches!(invocation.name(), Some("nohup" | "setsid" | "daemonize" | "disown"));
        invocation.launches = started.iter().any(|inner| !matches!(inner, Inner::File { .. }));
        self.reading.invocations.push(invocation);
        let outer = self.detached;
        self.detached |= detaches;
        for inner in started {
            self.inner(inner);
        }
        self.detached = outer;
    }

    fn inner(&mut self, inner: Inner) {
        self.nested(|walk| match inner {
            Inner::Command { fields, open_ended } => walk.invoke(fields, open_ended),
            Inner::Script { text, same_shell: true, .. } => walk.script(&text),
            Inner::Script { text, same_shell: false, positional } => {
                let stdin = walk.stdin.clone();
                // What a shell is fed as its program is not left for what it starts.
                if stdin.as_deref().and_then(Stdin::text) == Some(text.as_str()) {
                    walk.stdin = None;
                }
                walk.scoped(|walk| {
                    walk.positional = positional;
                    walk.script(&text);
                });
                walk.stdin = stdin;
            }
            Inner::File { path, arguments, same_shell, by_shell } => {
                walk.file(&path, &arguments, same_shell, by_shell);
            }
            Inner::Unknown => walk.unread("it runs a text that is only known when it runs"),
        });
    }

    /// What later words depend on: the directory, and variables.
    fn note_state(&mut self, invocation: &Invocation) {
        match invocation.name() {
            Some("cd" | "pushd") => self.change_directory(invocation),
            Some("popd") => self.cwd = None,
            Some("export" | "declare" | "typeset" | "local" | "readonly") => {
                for argument in &invocation.arguments {
                    self.declare(argument);
                }
            }
            Some("set") => self.set_positional(&invocation.arguments),
            Some("shift") => {
                let by = invocation.known_arguments().next().and_then(|n| n.parse().ok()).unwrap_or(1);
                self.positional = self.positional.take().and_then(|words| words.get(by..).map(<[_]>::to_vec));
            }
            Some("unset") => {
                for name in invocation.known_arguments() {
                    self.forget(name);
                }
            }
            Some("read") => self.read_variables(invocation),
            Some("mapfile" | "readarray" | "getopts") => {
                for name in invocation.known_arguments().filter(|text| !text.starts_with('-')) {
                    self.computed(name);
                }
            }
            Some("printf") => self.printf_variable(invocation),
            // They set variables for what they start.
            Some("env" | "sudo" | "doas" | "systemd-run") => {
                for argument in &invocation.arguments {
                    if let Some((name, value)) = argument.text().split_once('=') {
                        self.note_variable(name, &argument.with_text(value.to_owned()));
                    }
                }
            }
            _ => {}
        }
    }

    pub(super) fn declare(&mut self, argument: &Field) {
        let Some((name, value)) = argument.text().split_once('=') else { return };
        if value.starts_with('(') {
            // A list, which was put down where its words were read.
            return;
        }
        let value = argument.with_text(value.to_owned());
        self.note_variable(name, &value);
        match held_by(&value) {
            Some(held) => self.hold(name, held),
            None => self.forget(name),
        }
    }

    fn set_positional(&mut self, arguments: &[Field]) {
        let begin = match arguments.first().and_then(Field::value) {
            Some("--") => Some(1),
            Some(text) if !text.starts_with(['-', '+']) => Some(0),
            _ => arguments.iter().position(|field| field.value() == Some("--")).map(|at| at + 1),
        };
        if let Some(words) = begin.and_then(|begin| arguments.get(begin..)) {
            self.positional = (!self.conditional).then(|| words.to_vec());
        }
    }

    fn read_variables(&mut self, invocation: &Invocation) {
        let names: Vec<&str> = invocation.known_arguments().filter(|text| !text.starts_with('-')).collect();
        let text = invocation.stdin.as_deref().and_then(|stdin| stdin.text().map(str::to_owned));
        match (names.as_slice(), text) {
            ([name], Some(text)) => {
                let line = text.lines().next().unwrap_or_default().trim().to_owned();
                self.hold(name, Held::Text(line));
            }
            (names, _) => names.iter().for_each(|name| self.computed(name)),
        }
    }

    fn printf_variable(&mut self, invocation: &Invocation) {
        let words: Vec<Option<&str>> = invocation.arguments.iter().map(Field::value).collect();
        if let [Some("-v"), Some(name), rest @ ..] = words.as_slice() {
            let values: Option<Vec<&str>> = rest.iter().copied().collect();
            match values.and_then(|values| escapes::printf(&values)) {
                Some(text) => self.hold(name, Held::Text(text)),
                None => self.computed(name),
            }
            self.refuse_subscript(name);
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

/// What an invocation is if the unknown part of its program turns out to be nothing, as `$x` is
/// where it is not set.
fn without_unknown(invocation: &Invocation) -> Option<Inner> {
    let program = &invocation.program;
    // What the line itself prints there is something, or it would not be there.
    if !program.unknown || program.computed || (program.quoted && program.text().is_empty()) {
        return None;
    }
    let rest = invocation.arguments.iter().cloned();
    let fields = match program.text() {
        "" => rest.collect(),
        text => std::iter::once(Field::literal(text)).chain(rest).collect(),
    };
    Some(Inner::Command { fields, open_ended: invocation.open_ended })
}
