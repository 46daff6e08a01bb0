//! Compound commands: groups, loops, conditions, functions, tests.

use std::sync::Arc;

use brush_parser::ast::{CompoundCommand, CompoundList, ExtendedTestExpr, FunctionDefinition};

use super::Walk;
use crate::approval::reading::Invocation;
use crate::approval::word::{Field, expand};

/// Values of a `for` loop that are followed one by one.
const LOOP_VALUES_MAX: usize = 16;
/// Functions of a line that are followed where they are called.
const FUNCTIONS_MAX: usize = 32;

impl Walk<'_> {
    pub(super) fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.scoped(|walk| walk.list(&subshell.list)),
            CompoundCommand::ForClause(clause) => {
                let values: Option<Vec<Field>> = clause
                    .values
                    .as_ref()
                    .map(|words| words.iter().flat_map(|word| expand(&word.value, self)).collect());
                // Without values it goes over the arguments.
                let values =
                    values.or_else(|| self.positional.clone()).unwrap_or_else(|| vec![Field::unknown()]);
                self.for_each(&clause.variable_name, &values, &clause.body.list);
            }
            CompoundCommand::CaseClause(case) => {
                expand(&case.value.value, self);
                for item in &case.cases {
                    if let Some(list) = &item.cmd {
                        self.perhaps(|walk| walk.list(list));
                    }
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.perhaps(|walk| {
                    walk.list(&clause.then);
                    for branch in clause.elses.iter().flatten() {
                        if let Some(condition) = &branch.condition {
                            walk.list(condition);
                        }
                        walk.list(&branch.body);
                    }
                });
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.perhaps(|walk| walk.list(&clause.1.list));
            }
            CompoundCommand::Arithmetic(arithmetic) => self.brackets(&arithmetic.expr.value),
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
            self.put(variable, Some(value));
            self.list(body);
        }
        if known.is_empty() || known.len() > LOOP_VALUES_MAX || known.len() < values.len() {
            match values.iter().any(|value| value.computed) || known.len() > LOOP_VALUES_MAX {
                true => self.computed(variable),
                false => drop(self.variables.remove(variable)),
            }
            self.list(body);
        }
    }

    pub(super) fn function(&mut self, function: &FunctionDefinition) {
        let name = &function.fname.value;
        self.defining.push(name.clone());
        let before = self.reading.invocations.len();
        let outer = std::mem::replace(&mut self.starts_itself, false);
        // With any arguments, as it may be called from elsewhere.
        self.scoped(|walk| {
            walk.positional = None;
            walk.redirects(function.body.1.as_ref());
            walk.compound(&function.body.0);
        });
        // In the background and alone it is a chain; with another call of itself it multiplies.
        self.reading.bomb |= self.starts_itself && self.calls_itself(before) > 1;
        self.starts_itself = outer;
        self.defining.pop();
        if self.functions.len() < FUNCTIONS_MAX {
            self.functions.insert(name.clone(), Arc::new(function.body.clone()));
        }
    }

    /// Visits a function of the line with the arguments that it is called with.
    pub(super) fn call(&mut self, name: &str, arguments: &[Field]) {
        let Some(body) = self.functions.get(name).cloned() else { return };
        if self.defining.iter().any(|open| open == name) || !self.spend(arguments.len()) {
            return;
        }
        self.defining.push(name.to_owned());
        let outer = self.positional.replace(arguments.to_vec());
        let began = std::mem::replace(&mut self.starts_itself, false);
        self.nested(|walk| {
            let stdin = walk.stdin.clone();
            walk.redirects(body.1.as_ref());
            walk.compound(&body.0);
            walk.stdin = stdin;
        });
        self.starts_itself = began;
        self.positional = outer;
        self.defining.pop();
    }

    pub(super) fn test(&mut self, expression: &ExtendedTestExpr) {
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

    /// `(( … ))`: arithmetic here, and two subshells to a plain `sh`. What it would run there counts,
    /// and that it is no good script does not.
    fn brackets(&mut self, expression: &str) {
        self.operand(expression);
        let (before, writes) = (self.reading.invocations.len(), self.reading.writes.len());
        let unread = self.reading.unread.clone();
        self.scoped(|walk| walk.script(expression));
        self.reading.unread = unread;
        self.reading.writes.truncate(writes);
        let found = self.reading.invocations.split_off(before);
        let is_known = |call: &Invocation| call.program.fixed().is_some();
        self.reading.invocations.extend(found.into_iter().filter(is_known));
    }

    /// `$(( … ))`; with a space between two brackets the shell takes it for subshells, and the parser
    /// does not.
    pub fn arithmetic(&mut self, expression: &str) {
        self.operand(expression);
        if self.parted_brackets {
            self.scoped(|walk| walk.script(expression));
        }
    }

    /// Expands what is evaluated as arithmetic.
    pub fn operand(&mut self, word: &str) {
        for field in expand(word, self) {
            self.refuse_subscript(field.text());
        }
    }

    /// Arithmetic evaluates subscripts, and commands in them: `x='a[$(reboot)]'; echo $((x))`.
    pub(super) fn refuse_subscript(&mut self, text: &str) {
        if text.contains('[') && (text.contains("$(") || text.contains('`')) {
            self.unread("a text in it could be run as arithmetic");
        }
    }
}
