//! From text to a syntax tree, within bounds.
//!
//! The parser descends once for each level of nesting, and it backtracks. Both are bounded before
//! it is called, and it runs on a stack that is deep enough for what is let through.

use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::ast::Program;
use brush_parser::word::{self, BraceExpressionOrText, WordPieceWithSource};
use brush_parser::{ParserOptions, parse_tokens, uncached_tokenize_str};

/// Deepest nesting of parentheses, braces, quotes and keywords that is read.
const NESTING_MAX: usize = 24;
/// Brackets of any kind in one text.
const BRACKETS_MAX: usize = 4_000;
/// Stack of the thread that reads; only what is used of it takes memory.
pub const STACK_BYTES: usize = 128 << 20;

/// The tree of a script; `None` if it is not one, or too deep.
pub fn script(text: &str) -> Option<Program> {
    if is_too_deep(text) {
        return None;
    }
    guarded(|| {
        let options = ParserOptions::default();
        let tokens = uncached_tokenize_str(text, &options.tokenizer_options()).ok()?;
        parse_tokens(&tokens, &options).ok()
    })
}

/// The pieces of a word.
pub fn pieces(text: &str) -> Option<Vec<WordPieceWithSource>> {
    if is_too_deep(text) {
        return None;
    }
    guarded(|| word::parse(text, &ParserOptions::default()).ok())
}

/// The pieces of a here-document.
pub fn document_pieces(text: &str) -> Option<Vec<WordPieceWithSource>> {
    if is_too_deep(text) {
        return None;
    }
    guarded(|| word::parse_heredoc(text, &ParserOptions::default()).ok())
}

/// The brace expressions of a word; `None` if it has none.
pub fn braces(text: &str) -> Option<Vec<BraceExpressionOrText>> {
    if is_too_deep(text) {
        return None;
    }
    guarded(|| word::parse_brace_expansions(text, &ParserOptions::default()).ok().flatten())
}

/// The parser is not ours: a panic in it is a text that was not read.
fn guarded<T>(parse: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(parse)).ok().flatten()
}

/// Errs on the side of too deep: quotes are not understood here.
fn is_too_deep(text: &str) -> bool {
    let (mut depth, mut deepest, mut brackets) = (0_usize, 0_usize, 0_usize);
    for c in text.chars() {
        match c {
            '(' | '{' => {
                depth += 1;
                brackets += 1;
                deepest = deepest.max(depth);
            }
            ')' | '}' => depth = depth.saturating_sub(1),
            '`' => brackets += 1,
            _ => {}
        }
    }
    deepest > NESTING_MAX || brackets > BRACKETS_MAX || keyword_depth(text) > NESTING_MAX
}

/// Compound commands that are open at once, at most.
fn keyword_depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    for word in text.split(|c: char| c.is_whitespace() || matches!(c, ';' | '(' | ')' | '&' | '|')) {
        match word {
            "if" | "case" | "do" | "while" | "until" | "for" | "select" | "coproc" => depth += 1,
            "fi" | "esac" | "done" => depth = depth.saturating_sub(if word == "done" { 2 } else { 1 }),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}
