//! What is asked: words, all of which are wanted, and phrases in double quotes.
//!
//! There is one form and no syntax to get wrong: every mark is data, an unpaired quote is a mark.
//! When no message has all the words, messages with some of them answer.

use std::collections::{BTreeMap, BTreeSet};

use super::tokenizer::{Kind, Piece, Words};

/// Words that are looked at, at most; a pasted page is still an answerable question.
const ATOMS_MAX: usize = 128;
/// Pieces of one word or phrase that are looked at, at most.
const STEPS_MAX: usize = 32;

/// A question, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    pub atoms: Vec<Atom>,
}

/// One word, or one phrase: found where `whole` stands, or where all of `steps` stand at their distances.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Atom {
    pub whole: Option<String>,
    /// Distance from the first, and the term.
    pub steps: Vec<(usize, String)>,
}

/// Whether all words are wanted or any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    All,
    Any,
}

impl Query {
    /// Reads what a person or a model typed.
    pub fn parse(words: &mut Words, text: &str) -> Self {
        let mut atoms = Vec::new();
        let mut rest = text;
        while let Some((before, quoted)) = rest.split_once('"') {
            let Some((phrase, after)) = quoted.split_once('"') else {
                break;
            };
            single_words(words, before, &mut atoms);
            atoms.extend(atom(words.pieces(phrase), true));
            rest = after;
        }
        single_words(words, rest, &mut atoms);
        let mut seen = BTreeSet::new();
        atoms.retain(|atom| seen.insert(atom.clone()));
        atoms.truncate(ATOMS_MAX);
        Self { atoms }
    }

    pub fn is_empty(&self) -> bool {
        self.atoms.is_empty()
    }

    /// How many of the words are in a text of these pieces.
    pub fn found_in(&self, pieces: &[Piece]) -> usize {
        let mut places: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for piece in pieces {
            places.entry(&piece.term).or_default().insert(piece.position);
        }
        self.atoms.iter().filter(|atom| atom.is_in(&places)).count()
    }

    /// Every term that is worth highlighting.
    pub fn terms(&self) -> BTreeSet<&str> {
        let of = |atom: &'_ Atom| atom.whole.is_some();
        let wholes = self.atoms.iter().filter(|atom| of(atom)).filter_map(|atom| atom.whole.as_deref());
        let steps = self.atoms.iter().flat_map(|atom| atom.steps.iter().map(|(_, term)| term.as_str()));
        wholes.chain(steps).collect()
    }
}

impl Atom {
    fn is_in(&self, places: &BTreeMap<&str, BTreeSet<usize>>) -> bool {
        if self.whole.as_deref().is_some_and(|whole| places.contains_key(whole)) {
            return true;
        }
        let Some(first) = self.steps.first().and_then(|(_, term)| places.get(term.as_str())) else {
            return false;
        };
        let stands = |start: usize| {
            let mut steps = self.steps.iter();
            steps.all(|(step, term)| places.get(term.as_str()).is_some_and(|at| at.contains(&(start + step))))
        };
        first.iter().any(|start| stands(*start))
    }
}

fn single_words(words: &mut Words, text: &str, atoms: &mut Vec<Atom>) {
    for word in text.split_whitespace() {
        if atoms.len() >= ATOMS_MAX {
            return;
        }
        atoms.extend(atom(words.pieces(word), false));
    }
}

/// What is looked for instead of `pieces`: pairs instead of the characters they cover.
fn atom(pieces: Vec<Piece>, phrase: bool) -> Option<Atom> {
    let paired: BTreeSet<usize> = pieces
        .iter()
        .filter(|piece| piece.kind == Kind::Pair)
        .flat_map(|piece| [piece.position, piece.position + 1])
        .collect();
    let whole =
        pieces.iter().find(|piece| piece.kind == Kind::Whole && !phrase).map(|piece| piece.term.clone());
    let steps = pieces.into_iter().filter(|piece| match piece.kind {
        Kind::Part | Kind::Pair => true,
        Kind::Single => !paired.contains(&piece.position),
        Kind::Whole => false,
    });
    let mut steps: Vec<(usize, String)> = steps.map(|piece| (piece.position, piece.term)).collect();
    steps.truncate(STEPS_MAX);
    let first = steps.first().map(|(position, _)| *position)?;
    steps.iter_mut().for_each(|(position, _)| *position -= first);
    Some(Atom { whole, steps })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, query: &str) -> (usize, usize) {
        let mut words = Words::default();
        let query = Query::parse(&mut words, query);
        (query.found_in(&words.pieces(text)), query.atoms.len())
    }

    #[test]
    fn every_mark_is_data() {
        assert_eq!(found("the chat-send endpoint", "chat-send"), (1, 1));
        assert_eq!(found("what's up", "what's up"), (2, 2));
        assert_eq!(found("C++ build failed", "C++"), (1, 1));
        assert_eq!(found("release v1.2.3 done", "v1.2.3"), (1, 1));
        assert_eq!(found("hello there", "hello AND"), (1, 2));
        assert_eq!(found("hello there", "\"unterminated"), (0, 1));
        assert_eq!(found("anything", "*:() ^~ \"\" - +"), (0, 0));
    }

    #[test]
    fn a_phrase_wants_its_words_beside_each_other() {
        assert_eq!(found("one two three", "\"two three\""), (1, 1));
        assert_eq!(found("two of three", "\"two three\""), (0, 1));
        assert_eq!(found("see src/main.rs there", "\"src main\""), (1, 1));
    }

    #[test]
    fn parts_of_an_identifier_are_found_beside_each_other_only() {
        assert_eq!(found("call foo_bar()", "foo_bar"), (1, 1));
        assert_eq!(found("bar foo", "foo_bar"), (0, 1));
        assert_eq!(found("parseHttpRequest", "http"), (1, 1));
        assert_eq!(found("parseHttpRequest", "parsehttprequest"), (1, 1));
    }

    #[test]
    fn runs_without_spaces_are_found_inside_longer_ones() {
        let text = "聊天记录记忆断裂问题";
        assert_eq!(found(text, "记忆断裂"), (1, 1));
        assert_eq!(found(text, "记忆"), (1, 1));
        assert_eq!(found(text, "断裂 问题"), (2, 2));
        assert_eq!(found(text, "记断"), (0, 1));
        assert_eq!(found(text, "忆"), (1, 1));
    }

    #[test]
    fn a_pasted_page_is_a_question_too() {
        let page: Vec<String> = (0..3_000).map(|n| format!("w{n}")).collect();
        assert_eq!(found("w17 only", &page.join(" ")), (1, ATOMS_MAX));
    }
}
