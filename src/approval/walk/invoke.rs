//! Invocations: listed, looked through, and what they change for the words that follow.

use std::path::PathBuf;

use super::{VALUE_BYTES_MAX, Walk};
use crate::approval::launcher::{self, Inner};
use crate::approval::reading::Invocation;
use crate::approval::word::Field;

impl Walk {
    /// Lists an invocation and what it starts in turn.
    pub(super) fn invoke(&mut self, fields: Vec<Field>, stdin: Option<Field>, open_ended: bool) {
        let mut fields = fields.into_iter();
        let Some(program) = fields.next() else { return };
        let mut invocation = Invocation {
            program,
            arguments: fields.collect(),
            cwd: self.cwd.clone(),
            open_ended,
            launches: false,
        };
        let mut started = launcher::look_through(&invocation, stdin.as_ref());
        started.inner.extend(without_unknown(&invocation));
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

/// What an invocation is if the unknown part of its program turns out to be nothing, as `$x` is
/// where it is not set.
fn without_unknown(invocation: &Invocation) -> Option<Inner> {
    let program = &invocation.program;
    if !program.unknown || (program.quoted && program.text().is_empty()) {
        return None;
    }
    let rest = invocation.arguments.iter().cloned();
    let fields = match program.text() {
        "" => rest.collect(),
        text => std::iter::once(Field::literal(text)).chain(rest).collect(),
    };
    Some(Inner::Command { fields, open_ended: invocation.open_ended })
}
