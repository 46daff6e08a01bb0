//! How deep a text is nested, before anything descends into it.
//!
//! What opens counts until it is surely closed: where a bracket or a word may be either, it does not
//! close. That errs on the side of too deep, which is asked about, and never on the other, which
//! would run out of stack.

use brush_parser::Token;

/// Brackets of any kind in one text.
const BRACKETS_MAX: usize = 4_000;
/// Places where `((` begins, which may be arithmetic or two subshells: the parser tries both, so
/// each one inside another multiplies the work.
const DOUBLE_PARENTHESES_MAX: usize = 6;

/// Whether a text has more brackets than can be tried in time.
pub fn has_too_many(text: &str) -> bool {
    text.matches(['(', '{', '`']).count() > BRACKETS_MAX || double_parentheses(text) > DOUBLE_PARENTHESES_MAX
}

/// Without those of `$((`, `<((` and `>((`, which are read another way.
pub fn double_parentheses(text: &str) -> usize {
    let (mut before, mut last) = (' ', ' ');
    let mut count = 0;
    for c in text.chars() {
        count += usize::from(c == '(' && last == '(' && !matches!(before, '$' | '<' | '>'));
        (before, last) = (last, c);
    }
    count
}

/// Depth of `$(…)`, `${…}`, `` `…` `` and of brackets inside these. Brackets elsewhere are those of a
/// text in quotes, or of the shell's grammar, which [`of_tokens`] counts.
pub fn of_expansions(text: &str) -> usize {
    let (mut open, mut deepest) = (Vec::new(), 0);
    let mut last = ' ';
    for c in text.chars() {
        let inside = !open.is_empty();
        match c {
            '(' if inside || matches!(last, '$' | '<' | '>') => open.push(c),
            '{' | '[' if last == '$' || (inside && c == '{') => open.push(c),
            ')' if open.last() == Some(&'(') => drop(open.pop()),
            '}' if open.last() == Some(&'{') => drop(open.pop()),
            ']' if open.last() == Some(&'[') => drop(open.pop()),
            '`' if open.last() == Some(&'`') => drop(open.pop()),
            '`' => open.push(c),
            _ => {}
        }
        deepest = deepest.max(open.len());
        last = c;
    }
    deepest
}

/// Depth of `{a,{b,c}}`.
pub fn of_braces(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Depth of compound commands.
pub fn of_tokens(tokens: &[Token]) -> usize {
    let (mut parentheses, mut words, mut negations) = (0_usize, 0_usize, 0_usize);
    let mut deepest = 0;
    // Whether a command may begin here, so that a closing word is one.
    let mut begins = true;
    for token in tokens {
        match token {
            Token::Operator(operator, _) => {
                match operator.as_str() {
                    "(" => parentheses += 1,
                    ")" => parentheses = parentheses.saturating_sub(1),
                    _ => {}
                }
                // What follows a redirection is a file.
                (begins, negations) = (!operator.contains(['<', '>']), 0);
            }
            Token::Word(word, _) => {
                match word.as_str() {
                    "if" | "case" | "do" | "while" | "until" | "for" | "select" | "coproc" | "{" => {
                        words += 1
                    }
                    "!" => negations += 1,
                    "fi" | "esac" | "}" if begins => words = words.saturating_sub(1),
                    "done" if begins => words = words.saturating_sub(2),
                    _ => {}
                }
                let closes = begins && matches!(word.as_str(), "fi" | "esac" | "}" | "done");
                begins = closes || matches!(word.as_str(), "then" | "else" | "do" | "{" | "!");
            }
        }
        deepest = deepest.max(parentheses + words + negations);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use brush_parser::{ParserOptions, uncached_tokenize_str};

    use super::*;

    fn tokens(text: &str) -> usize {
        let options = ParserOptions::default();
        of_tokens(&uncached_tokenize_str(text, &options.tokenizer_options()).unwrap())
    }

    #[test]
    fn what_only_looks_closed_is_open() {
        assert_eq!(of_expansions("$(a ${b:-$(c)})"), 3);
        assert_eq!(of_expansions("$(a) $(b) ${c}"), 1);
        assert_eq!(of_expansions("(a) {b} '{'"), 0);
        assert!(of_expansions(&"))${x:-".repeat(30)) >= 30);
        assert!(of_expansions(&"}$(".repeat(30)) >= 30);
        assert_eq!(tokens("{ { ls; }; }"), 2);
        assert_eq!(tokens("if a; then for x in y; do ls; done; fi"), 3);
        assert_eq!(tokens("echo '((((' <<E\n((((\nE\n"), 0);
        assert!(tokens(&"{ }done }E\n".repeat(30)) >= 30);
        assert!(tokens(&"{ echo }; ".repeat(30)) >= 30);
        assert!(tokens(&"{ < esac \n".repeat(30)) >= 30);
        assert!(tokens(&"if rm ]] & ".repeat(30)) >= 30);
        assert!(tokens(&"if echo fi; then ".repeat(30)) >= 30);
        assert_eq!(tokens(&"if a; then b; fi; ".repeat(30)), 1);
        assert_eq!(tokens(&"! a; ".repeat(30)), 1);
    }
}
