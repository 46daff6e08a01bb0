//! Words as the shell would see them: quotes removed, home directories put in, split where it
//! splits, and what is only known when it runs marked as such.
//!
//! Start at [`expand`]. Parameters are in `parameter`, escapes in `escapes`.

use brush_parser::word::{
    BraceExpressionMember, BraceExpressionOrText, TildeExpr, WordPiece, WordPieceWithSource,
};

use super::glob;
use super::parse;
use super::walk::Walk;

pub mod escapes;
mod parameter;

/// Words that brace expansion may make of one word.
const BRACE_WORDS_MAX: usize = 64;
/// Stands for the home directory where none is known; no real path has this name.
pub const HOME_UNKNOWN: &str = "/\u{1}home";

/// One word after expansion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    text: String,
    /// Part of it is only known when it runs.
    pub unknown: bool,
    /// What is unknown of it is put together by the line itself, such as `$(cat f)`, and not given
    /// by the surroundings, such as `$FILE`.
    pub computed: bool,
    /// Part of it comes from a variable of the line, whose value may be another one by then.
    pub variable: bool,
    /// Part of it is quoted, so it is a word even where it is empty.
    pub quoted: bool,
    /// It has wildcards that the shell replaces by names of files.
    pub glob: bool,
    /// It is the name of a pipe from a process substitution.
    pub process: bool,
}

impl Field {
    pub fn literal(text: &str) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub fn unknown() -> Self {
        Self { unknown: true, ..Self::default() }
    }

    pub fn computed() -> Self {
        Self { unknown: true, computed: true, ..Self::default() }
    }

    pub fn process() -> Self {
        Self { unknown: true, process: true, quoted: true, ..Self::default() }
    }

    /// The same with another text.
    pub fn with_text(&self, text: String) -> Self {
        Self { text, ..self.clone() }
    }

    /// The same with a mark in it, such as `{}`, taken for something unknown.
    pub fn with_unknown(&self, mark: &str) -> Self {
        let found = self.text.contains(mark);
        let text = self.text.replace(mark, "");
        Self { text, unknown: self.unknown || found, computed: self.computed || found, ..self.clone() }
    }

    /// The word, if all of it is known. Wildcards stay as they are written.
    pub fn value(&self) -> Option<&str> {
        (!self.unknown).then_some(self.text.as_str())
    }

    /// What is known of the word.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The word, if it is the same whenever the line runs.
    pub fn fixed(&self) -> Option<&str> {
        // A lone bracket is the program `[`: there is no wildcard without the closing one.
        let glob = self.glob && self.text != "[" && self.text != "[[";
        (!self.unknown && !self.variable && !glob).then_some(self.text.as_str())
    }

    /// Nothing of the word is known, and it may be several words.
    pub fn may_be_anything(&self) -> bool {
        self.unknown && self.text.is_empty() && !self.quoted
    }
}

/// What a command substitution is replaced by.
pub enum Printed {
    Text(String),
    /// Something that says what is the case, such as the date.
    Fact,
    /// Something else.
    Unknown,
}

/// The fields that a word becomes.
pub fn expand(word: &str, walk: &mut Walk<'_>) -> Vec<Field> {
    if !walk.spend(word.len()) {
        return vec![Field::unknown()];
    }
    if is_plain(word) {
        return vec![Field::literal(word)];
    }
    if word.contains('{')
        && let Some(parts) = parse::braces(word)
    {
        let Some(words) = brace_words(&parts) else { return vec![Field::computed()] };
        return words.iter().flat_map(|word| expand_plain(word, walk)).collect();
    }
    expand_plain(word, walk)
}

/// Nothing in it means anything to the shell: most words are like this, and cost nothing.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_=+./:,@%^".contains(&b))
}

/// The text of a word in which nothing is split, such as a here-document or an assignment.
pub fn expand_unsplit(pieces: &[WordPieceWithSource], walk: &mut Walk<'_>) -> Field {
    let mut line = Fields::default();
    line.current.get_or_insert_default();
    for piece in pieces {
        line.piece(&piece.piece, true, walk);
    }
    line.current.unwrap_or_default()
}

fn expand_plain(word: &str, walk: &mut Walk<'_>) -> Vec<Field> {
    let Some(pieces) = parse::pieces(word, walk.deep()) else {
        walk.unread("part of it cannot be read");
        return vec![Field::unknown()];
    };
    let mut line = Fields::default();
    for piece in &pieces {
        line.piece(&piece.piece, false, walk);
    }
    line.finish()
}

fn brace_words(parts: &[BraceExpressionOrText]) -> Option<Vec<String>> {
    let mut words = vec![String::new()];
    for part in parts {
        let choices = match part {
            BraceExpressionOrText::Text(text) => vec![text.clone()],
            BraceExpressionOrText::Expr(members) => brace_choices(members)?,
        };
        if words.len() * choices.len() > BRACE_WORDS_MAX {
            return None;
        }
        words = words
            .iter()
            .flat_map(|word| choices.iter().map(move |choice| format!("{word}{choice}")))
            .collect();
    }
    Some(words)
}

fn brace_choices(members: &[BraceExpressionMember]) -> Option<Vec<String>> {
    let mut choices = vec![];
    for member in members {
        match member {
            BraceExpressionMember::Child(parts) => choices.extend(brace_words(parts)?),
            // Numbers in a row: which is no matter, none is a path.
            BraceExpressionMember::NumberSequence { start, .. } => choices.push(start.to_string()),
            BraceExpressionMember::CharSequence { start, end, .. } => {
                let (low, high) = (*start.min(end), *start.max(end));
                choices.extend((low..=high).take(BRACE_WORDS_MAX).map(String::from));
            }
        }
    }
    Some(choices)
}

/// Fields in the making.
#[derive(Default)]
struct Fields {
    done: Vec<Field>,
    current: Option<Field>,
}

impl Fields {
    fn finish(mut self) -> Vec<Field> {
        self.done.extend(self.current.take());
        self.done
    }

    fn current(&mut self) -> &mut Field {
        self.current.get_or_insert_default()
    }

    fn push(&mut self, text: &str) {
        self.current().text.push_str(text);
    }

    fn push_unquoted(&mut self, text: &str) {
        self.push(text);
        self.current().glob |= glob::is_pattern(text);
    }

    fn push_unknown(&mut self) {
        self.current().unknown = true;
    }

    fn push_computed(&mut self) {
        let current = self.current();
        (current.unknown, current.computed) = (true, true);
    }

    fn split(&mut self) {
        self.done.extend(self.current.take());
    }

    fn piece(&mut self, piece: &WordPiece, quoted: bool, walk: &mut Walk<'_>) {
        match piece {
            WordPiece::Text(text) if quoted => self.push(text),
            WordPiece::Text(text) => self.push_unquoted(text),
            WordPiece::SingleQuotedText(text) => {
                self.push(text);
                self.current().quoted = true;
            }
            WordPiece::AnsiCQuotedText(text) => {
                self.current().quoted = true;
                match escapes::ansi_c(text) {
                    Some(text) => self.push(&text),
                    None => self.push_computed(),
                }
            }
            WordPiece::DoubleQuotedSequence(pieces) | WordPiece::GettextDoubleQuotedSequence(pieces) => {
                self.current().quoted = true;
                for piece in pieces {
                    self.piece(&piece.piece, true, walk);
                }
            }
            WordPiece::EscapeSequence(text) => self.escape(text),
            WordPiece::TildeExpansion(tilde) => self.tilde(tilde, walk),
            WordPiece::ParameterExpansion(expression) => self.parameter(expression, quoted, walk),
            WordPiece::CommandSubstitution(script) | WordPiece::BackquotedCommandSubstitution(script) => {
                self.printed(walk.substitution(script), quoted);
            }
            WordPiece::ArithmeticExpression(expression) => {
                walk.arithmetic(&expression.value);
                self.push_unknown();
            }
        }
    }

    /// `\x` is `x`, whatever `x` is; a backslash before a newline is nothing.
    fn escape(&mut self, text: &str) {
        match text.strip_prefix('\\') {
            Some("\n") => {}
            Some(rest) => {
                self.push(rest);
                self.current().quoted = true;
            }
            None => self.push(text),
        }
    }

    fn printed(&mut self, printed: Printed, quoted: bool) {
        match printed {
            Printed::Text(text) if quoted => {
                self.push(text.trim_end_matches('\n'));
                self.current().variable = true;
            }
            Printed::Text(text) => self.push_split(text.trim_end_matches('\n')),
            Printed::Fact => self.push_unknown(),
            Printed::Unknown => self.push_computed(),
        }
    }

    fn tilde(&mut self, tilde: &TildeExpr, walk: &Walk<'_>) {
        match tilde {
            TildeExpr::Home => self.push(&walk.home()),
            TildeExpr::UserHome(user) if user == "root" => self.push("/root"),
            TildeExpr::UserHome(user) => self.push(&format!("/home/{user}")),
            TildeExpr::WorkingDir => match walk.cwd() {
                Some(cwd) => self.push(&cwd),
                None => self.push_unknown(),
            },
            _ => self.push_unknown(),
        }
    }

    fn push_split(&mut self, text: &str) {
        if text.starts_with(char::is_whitespace) {
            self.split();
        }
        for (nth, word) in text.split_whitespace().enumerate() {
            if nth > 0 {
                self.split();
            }
            self.push_unquoted(word);
            self.current().variable = true;
        }
        if text.ends_with(char::is_whitespace) {
            self.split();
        }
    }

    /// Each in a word of its own, the first and the last joined to what stands beside them.
    fn push_words(&mut self, words: Vec<Field>) {
        for (nth, word) in words.into_iter().enumerate() {
            if nth > 0 {
                self.split();
            }
            let current = self.current();
            current.text.push_str(&word.text);
            current.unknown |= word.unknown;
            current.computed |= word.computed;
            current.glob |= word.glob;
            current.process |= word.process;
            (current.variable, current.quoted) = (true, true);
        }
    }
}
