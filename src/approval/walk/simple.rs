//! Simple commands: their words, and the variables that they set.

use brush_parser::ast::{
    Assignment, AssignmentName, AssignmentValue, CommandPrefixOrSuffixItem, SimpleCommand,
};

use super::{Held, VALUE_BYTES_MAX, VARIABLES_MAX, Walk};
use crate::approval::parse;
use crate::approval::word::{Field, expand, expand_unsplit};

/// Variables whose value some program runs as a command.
const RUN_VARIABLES: &[&str] = &[
    "PROMPT_COMMAND",
    "PAGER",
    "GIT_PAGER",
    "MANPAGER",
    "SYSTEMD_PAGER",
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SUDO_EDITOR",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "RUSTC_WRAPPER",
    "PS0",
    "PS1",
    "PS4",
];

/// Variables that make every program, or every shell, run code from a file.
const LOADING_VARIABLES: &[&str] =
    &["LD_PRELOAD", "LD_AUDIT", "BASH_ENV", "ENV", "DYLD_INSERT_LIBRARIES", "GCONV_PATH", "BASH_FUNC"];

impl Walk<'_> {
    pub(super) fn simple(&mut self, command: &SimpleCommand) {
        if !self.spend(1) {
            return;
        }
        let outer = self.stdin.clone();
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
        self.invoke(fields, false);
        self.stdin = outer;
    }

    fn item(&mut self, item: &CommandPrefixOrSuffixItem, fields: &mut Vec<Field>) {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect),
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                // `declare a=(rm -rf /)`: an argument that is an assignment all the same.
                if matches!(assignment.value, AssignmentValue::Array(_)) {
                    self.assign(assignment, false);
                }
                fields.extend(expand(&word.value, self));
            }
            CommandPrefixOrSuffixItem::Word(word) => fields.extend(expand(&word.value, self)),
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => {
                let stdin = self.stdin.take();
                self.scoped(|walk| walk.list(&subshell.list));
                self.stdin = stdin;
                fields.push(Field::process());
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
        let held = match &assignment.value {
            AssignmentValue::Scalar(word) => match self.scalar(&word.value) {
                Some(field) => {
                    self.note_variable(name, &field);
                    held_by(&field)
                }
                None => return self.unread("a value in it cannot be read"),
            },
            AssignmentValue::Array(elements) => {
                self.list_of(elements.iter().map(|(_, word)| word.value.as_str()))
            }
        };
        // For one command only, it does not change how its own words are expanded.
        if for_a_command {
            return;
        }
        let is_element = matches!(assignment.name, AssignmentName::ArrayElementName(..));
        match held {
            _ if is_element => self.computed(name),
            held if assignment.append => self.append(name, held),
            Some(held) => self.hold(name, held),
            None => self.forget(name),
        }
    }

    fn scalar(&mut self, word: &str) -> Option<Field> {
        let pieces = parse::pieces(word, &self.depth)?;
        self.spend(word.len());
        Some(expand_unsplit(&pieces, self))
    }

    fn list_of<'w>(&mut self, words: impl Iterator<Item = &'w str>) -> Option<Held> {
        let fields: Vec<Field> = words.flat_map(|word| expand(word, self)).collect();
        let values: Option<Vec<String>> =
            fields.iter().map(|field| field.value().map(str::to_owned)).collect();
        Some(values.map_or(Held::Computed, Held::List))
    }

    /// What variables mean to programs and to the shell itself.
    pub(super) fn note_variable(&mut self, name: &str, value: &Field) {
        if name == "IFS" && !value.unknown {
            self.splits_elsewhere = true;
        }
        if RUN_VARIABLES.contains(&name) {
            match value.value() {
                Some(text) => {
                    let text = text.to_owned();
                    self.scoped(|walk| walk.script(&text));
                }
                None if value.computed => self.unread("it sets a variable that is run as a command"),
                None => {}
            }
        }
        if LOADING_VARIABLES.contains(&name) && value.value() != Some("") {
            self.unread("it sets a variable that makes programs load code");
        }
    }

    pub(super) fn computed(&mut self, name: &str) {
        self.hold(name, Held::Computed);
    }

    /// Takes a value for granted, whatever the variable held.
    pub(super) fn put(&mut self, name: &str, value: Option<&str>) {
        self.variables.remove(name);
        match value {
            Some(value) => self.hold(name, Held::Text(value.to_owned())),
            None => self.computed(name),
        }
    }

    fn append(&mut self, name: &str, more: Option<Held>) {
        let held = match (self.variables.get(name), more) {
            (Some(Held::Text(text)), Some(Held::Text(more))) => Held::Text(format!("{text}{more}")),
            (Some(Held::List(words)), Some(Held::List(more))) => {
                Held::List(words.iter().cloned().chain(more).collect())
            }
            (None, Some(Held::List(more))) => Held::List(more),
            // What the surroundings give comes first.
            _ => Held::Computed,
        };
        self.variables.remove(name);
        self.hold(name, held);
    }

    /// Keeps what a variable holds; where that may be one thing or another, neither is taken for
    /// granted.
    pub(super) fn hold(&mut self, name: &str, held: Held) {
        let sizes = match &held {
            Held::Text(text) => text.len(),
            Held::List(words) => words.iter().map(|word| word.len() + 1).sum(),
            Held::Computed => 0,
        };
        if let Held::Text(text) = &held {
            let text = text.clone();
            self.refuse_subscript(&text);
        }
        let before = self.variables.get(name);
        let differs = before.is_some_and(|before| *before != held);
        let is_new = before.is_none();
        if is_new && self.variables.len() >= VARIABLES_MAX {
            return self.unread("it sets more variables than are followed");
        }
        let held =
            if sizes > VALUE_BYTES_MAX || (self.conditional && differs) { Held::Computed } else { held };
        self.variables.insert(name.into(), held);
    }

    /// It is what the surroundings make it.
    pub(super) fn forget(&mut self, name: &str) {
        match self.conditional && self.variables.contains_key(name) {
            true => self.computed(name),
            false => drop(self.variables.remove(name)),
        }
    }
}

/// What a variable holds that is given this value; nothing where the surroundings say.
pub(super) fn held_by(field: &Field) -> Option<Held> {
    match field.value() {
        Some(text) => Some(Held::Text(text.to_owned())),
        None if field.computed => Some(Held::Computed),
        None => None,
    }
}
