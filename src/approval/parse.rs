//! From text to a syntax tree, within bounds.
//!
//! The parser descends once for each level of nesting, and it backtracks. Both are bounded before
//! it is called, and it runs on a stack that is deep enough for what is let through.

use std::borrow::Cow;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::ast::Program;
use brush_parser::word::{self, BraceExpressionOrText, WordPieceWithSource};
use brush_parser::{ParserOptions, Token, parse_tokens, uncached_tokenize_str};

mod depth;

/// Deepest nesting of parentheses, braces, quotes and keywords that is read.
const NESTING_MAX: usize = 24;
/// Deepest nesting of `{a,{b,c}}` that is expanded.
const BRACES_MAX: usize = 6;
/// The same for a text that is read where it stands, without a stack of its own.
const SHALLOW_NESTING_MAX: usize = 2;
/// Commands inside commands inside commands, at most.
const WALK_MAX: usize = 48;
const SHALLOW_WALK_MAX: usize = 8;
/// Stack of the thread that reads; only what is used of it takes memory.
pub const STACK_BYTES: usize = 128 << 20;

/// How deep a reading may go, which the stack that it runs on decides.
pub struct Depth {
    nesting_max: usize,
    walk_max: usize,
    /// A shallow reading met something deeper: it has to be read again, on a deep stack.
    exceeded: Cell<bool>,
    shallow: bool,
}

impl Depth {
    /// On any stack.
    pub fn shallow() -> Self {
        Self {
            nesting_max: SHALLOW_NESTING_MAX,
            walk_max: SHALLOW_WALK_MAX,
            exceeded: Cell::new(false),
            shallow: true,
        }
    }

    /// On a stack of [`STACK_BYTES`].
    pub fn deep() -> Self {
        Self { nesting_max: NESTING_MAX, walk_max: WALK_MAX, exceeded: Cell::new(false), shallow: false }
    }

    /// Whether one may go a level further down.
    pub fn allows(&self, level: usize) -> bool {
        let allowed = level < self.walk_max;
        self.exceeded.set(self.exceeded.get() || (self.shallow && !allowed));
        allowed && !self.exceeded.get()
    }

    pub fn exceeded(&self) -> bool {
        self.exceeded.get()
    }

    /// Whether something is within the limits; where it is not, a shallow reading is over.
    fn fits(&self, depth: usize) -> bool {
        let fits = depth <= self.nesting_max;
        self.exceeded.set(self.exceeded.get() || (self.shallow && !fits));
        fits
    }
}

/// The tree of a script; `None` if it is not one, or too deep.
pub fn script(text: &str, depth: &Depth) -> Option<Program> {
    if depth::has_too_many(text) || !depth.fits(depth::of_expansions(text)) {
        return None;
    }
    guarded(|| {
        let options = options();
        let text = with_parted_processes(text);
        let tokens = uncached_tokenize_str(&text, &options.tokenizer_options()).ok()?;
        if !depth.fits(depth::of_tokens(&tokens)) {
            return None;
        }
        parse_tokens(&with_parted_brackets(with_ended_cases(tokens)), &options).ok()
    })
}

/// `<((` is a process substitution with a subshell in it; the parser takes the brackets for
/// arithmetic, and `<<` in them for a shift.
fn with_parted_processes(text: &str) -> Cow<'_, str> {
    match text.contains("<((") || text.contains(">((") {
        true => Cow::Owned(text.replace("<((", "<( (").replace(">((", ">( (")),
        false => Cow::Borrowed(text),
    }
}

/// Whether a here-document may be taken for a shift to the left, as it is in brackets that look like
/// arithmetic and are none.
pub fn may_hide_document(text: &str) -> bool {
    depth::double_parentheses(text) > 0 && text.contains("<<")
}

/// The parser takes `esac )` for one more pattern of the `case`; with a `;` between them it does not,
/// and to the shell it is the same.
fn with_ended_cases(tokens: Vec<Token>) -> Vec<Token> {
    let is_end = |token: &Token| matches!(token, Token::Word(word, _) if word == "esac");
    if !tokens.iter().any(is_end) {
        return tokens;
    }
    let mut ended = Vec::with_capacity(tokens.len() + 1);
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let span = token.location().clone();
        let ends =
            is_end(&token) && matches!(tokens.peek(), Some(Token::Operator(operator, _)) if operator == ")");
        ended.push(token);
        if ends {
            ended.push(Token::Operator(";".to_owned(), span));
        }
    }
    ended
}

/// Two subshells are told from arithmetic by what stands between their brackets, which the parser
/// does not look at: `( ( a ) )` and `((a) )` are subshells. An empty command between the first two
/// brackets makes it see.
fn with_parted_brackets(tokens: Vec<Token>) -> Vec<Token> {
    let is =
        |token: &Token, bracket: &str| matches!(token, Token::Operator(operator, _) if operator == bracket);
    let doubled = tokens.windows(2).any(|pair| pair.iter().all(|token| is(token, "(")));
    if !doubled {
        return tokens;
    }
    let mut closed_by = vec![None; tokens.len()];
    let mut open = vec![];
    for (nth, token) in tokens.iter().enumerate() {
        if is(token, "(") {
            open.push(nth);
        } else if is(token, ")")
            && let Some(slot) = open.pop().and_then(|at| closed_by.get_mut(at))
        {
            *slot = Some(nth);
        }
    }
    let glued = |first: usize, second: usize| match (tokens.get(first), tokens.get(second)) {
        (Some(a), Some(b)) => first + 1 == second && a.location().end.index == b.location().start.index,
        _ => false,
    };
    let closing = |at: usize| closed_by.get(at).copied().flatten();
    let mut parted = Vec::with_capacity(tokens.len() + 2);
    for (nth, token) in tokens.iter().enumerate() {
        parted.push(token.clone());
        if !is(token, "(") || !tokens.get(nth + 1).is_some_and(|next| is(next, "(")) {
            continue;
        }
        let ends_glued =
            matches!((closing(nth + 1), closing(nth)), (Some(inner), Some(outer)) if glued(inner, outer));
        if !(glued(nth, nth + 1) && ends_glued) {
            parted.push(Token::Word(":".to_owned(), token.location().clone()));
            parted.push(Token::Operator(";".to_owned(), token.location().clone()));
        }
    }
    parted
}

/// Whether two brackets of the same kind stand with nothing but space between them.
pub fn has_parted_brackets(text: &str) -> bool {
    let mut last = ' ';
    let mut parted = false;
    for c in text.chars() {
        match c {
            '(' | ')' if c == last && parted => return true,
            c if c.is_whitespace() || c == '\\' => parted = true,
            c => (last, parted) = (c, false),
        }
    }
    false
}

/// Something between two operators.
#[derive(Debug, Default)]
pub struct Run {
    pub words: Vec<String>,
    /// Words behind an operator that writes.
    pub written: Vec<String>,
}

/// The words of a text that is no script, in runs between its operators. A shell executes what
/// stands before the place that it cannot read, so this is not nothing. Where quotes do not close,
/// the lines are taken one by one.
pub fn runs(text: &str) -> Vec<Run> {
    // A backslash at the very end stands before nothing; bash takes it as it is.
    let text = text.trim_end_matches('\\');
    if let Some(runs) = runs_of(text) {
        return runs;
    }
    let line_runs = |line: &str| {
        // A here-document that never ends is still given to its command.
        let (command, _) = line.split_once("<<").unwrap_or((line, ""));
        runs_of(line).or_else(|| runs_of(command))
    };
    text.lines().filter_map(line_runs).flatten().collect()
}

fn runs_of(text: &str) -> Option<Vec<Run>> {
    if depth::of_expansions(text) > NESTING_MAX {
        return None;
    }
    let options = options();
    let tokens = guarded(|| uncached_tokenize_str(text, &options.tokenizer_options()).ok())?;
    let (mut runs, mut run) = (vec![], Run::default());
    let mut redirected = None;
    for token in &tokens {
        match (token, redirected.take()) {
            (Token::Operator(operator, _), _) if operator.contains(['<', '>']) => {
                redirected = Some(operator.contains('>'));
            }
            (Token::Operator(..), _) => runs.push(std::mem::take(&mut run)),
            (Token::Word(word, _), Some(true)) => run.written.push(word.clone()),
            (Token::Word(_, _), Some(false)) => {}
            (Token::Word(word, _), None) if run.words.is_empty() && is_keyword(word) => {}
            (Token::Word(word, _), None) => run.words.push(word.clone()),
        }
    }
    runs.push(run);
    Some(runs)
}

fn is_keyword(word: &str) -> bool {
    const KEYWORDS: &[&str] = &[
        "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "{", "}", "!", "time", "esac",
        "coproc",
    ];
    KEYWORDS.contains(&word)
}

/// The pieces of a word.
pub fn pieces(text: &str, depth: &Depth) -> Option<Vec<WordPieceWithSource>> {
    if depth::has_too_many(text) || !depth.fits(depth::of_expansions(text)) {
        return None;
    }
    guarded(|| word::parse(text, &options()).ok())
}

/// The pieces of a here-document.
pub fn document_pieces(text: &str, depth: &Depth) -> Option<Vec<WordPieceWithSource>> {
    if depth::has_too_many(text) || !depth.fits(depth::of_expansions(text)) {
        return None;
    }
    guarded(|| word::parse_heredoc(text, &options()).ok())
}

/// The brace expressions of a word; `None` if it has none.
pub fn braces(text: &str) -> Option<Vec<BraceExpressionOrText>> {
    if depth::of_braces(text) > BRACES_MAX {
        return None;
    }
    guarded(|| word::parse_brace_expansions(text, &options()).ok().flatten())
}

/// As `bash -c` reads: extended patterns are off, so `!(x)` negates a subshell.
fn options() -> ParserOptions {
    ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() }
}

/// The parser is not ours: a panic in it is a text that was not read.
fn guarded<T>(parse: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(parse)).ok().flatten()
}
