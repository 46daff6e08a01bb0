//! What counts as a word: the same for what is indexed, what is asked and what is highlighted.
//!
//! * Letters and digits in a row are a *part*, lower-cased, without accents. `camelCase` is two.
//! * Parts that marks join (`snake_case`, `v1.2.3`, `src/main.rs`, `C++`) are also kept *whole*.
//! * Han, kana, hangul and other scripts without spaces are taken as single characters and as
//!   overlapping pairs, so that any run of them is found, whatever its words are.
//!
//! Parts and characters have positions, one apart; a whole stands where its first part does, a pair
//! where its first character does. Every mark is data: none has a meaning of its own.

use tantivy::tokenizer::{AsciiFoldingFilter, RawTokenizer, TextAnalyzer, Token, TokenStream, Tokenizer};

/// Longest word that is looked at, in bytes; what is longer (base64, say) is not for searching.
const WORD_BYTES_MAX: usize = 120;

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Part,
    Whole,
    Single,
    Pair,
}

/// A searchable piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub kind: Kind,
    pub term: String,
    /// In words.
    pub position: usize,
    /// Where it begins in the text, in bytes.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
}

/// Takes texts apart.
#[derive(Clone)]
pub struct Words {
    folding: TextAnalyzer,
}

impl Default for Words {
    fn default() -> Self {
        Self { folding: TextAnalyzer::builder(RawTokenizer::default()).filter(AsciiFoldingFilter).build() }
    }
}

impl Words {
    /// The pieces of `text`, by position.
    pub fn pieces(&mut self, text: &str) -> Vec<Piece> {
        let mut cutter = Cutter { words: self, text, pieces: Vec::new(), position: 0 };
        let mut word_from = None;
        for (at, char) in text.char_indices() {
            match (char.is_whitespace(), word_from) {
                (true, Some(from)) => {
                    cutter.word(from, at);
                    word_from = None;
                }
                (false, None) => word_from = Some(at),
                _ => {}
            }
        }
        if let Some(from) = word_from {
            cutter.word(from, text.len());
        }
        cutter.pieces
    }

    /// Lower case, full-width forms as plain ones, no accents.
    fn folded(&mut self, part: &str) -> String {
        let plain = |char: char| match char {
            '\u{ff01}'..='\u{ff5e}' => char::from_u32(char as u32 - 0xfee0).unwrap_or(char),
            other => other,
        };
        let kept = part.chars().filter(|char| !is_joining(*char)).map(plain);
        let lower: String = kept.flat_map(char::to_lowercase).filter(|char| !is_joining(*char)).collect();
        if lower.is_ascii() {
            return lower;
        }
        let mut stream = self.folding.token_stream(&lower);
        if stream.advance() { stream.token().text.clone() } else { lower.clone() }
    }
}

/// Accents that follow their letter.
fn is_joining(char: char) -> bool {
    matches!(char, '\u{300}'..='\u{36f}' | '\u{200c}' | '\u{200d}')
}

/// Characters of scripts that put no space between words.
fn is_dense(char: char) -> bool {
    matches!(char as u32,
        0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff // Thai, Lao, Burmese, Khmer
        | 0x1100..=0x11ff | 0x3130..=0x318f | 0xac00..=0xd7af // hangul
        | 0x3041..=0x30ff | 0x31f0..=0x31ff | 0xff66..=0xff9f // kana
        | 0x3005..=0x3007 | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Dense,
    Mark,
}

fn class(char: char) -> Class {
    match char {
        '・' => Class::Mark,
        _ if is_dense(char) => Class::Dense,
        _ if char.is_alphanumeric() || is_joining(char) => Class::Letter,
        _ => Class::Mark,
    }
}

struct Cutter<'a> {
    words: &'a mut Words,
    text: &'a str,
    pieces: Vec<Piece>,
    position: usize,
}

impl Cutter<'_> {
    /// A stretch without white space.
    fn word(&mut self, from: usize, to: usize) {
        let Some(word) = self.text.get(from..to) else {
            return;
        };
        let (first, first_piece) = (self.position, self.pieces.len());
        let mut run: Option<(Class, usize)> = None;
        let mut before = ' ';
        let mut letters = false;
        for (at, char) in word.char_indices() {
            let now = class(char);
            let hump = now == Class::Letter && char.is_uppercase() && before.is_lowercase();
            if let Some((is, began)) = run.filter(|(is, _)| *is != now || hump) {
                self.run(is, from + began, from + at);
                run = None;
            }
            if run.is_none() {
                run = Some((now, at));
            }
            letters |= now == Class::Letter;
            before = char;
        }
        if let Some((is, began)) = run {
            self.run(is, from + began, to);
        }
        if letters {
            self.whole(word, from, first, first_piece);
        }
    }

    fn run(&mut self, class: Class, from: usize, to: usize) {
        match class {
            Class::Mark => {}
            Class::Letter => self.part(from, to),
            Class::Dense => self.dense(from, to),
        }
    }

    fn part(&mut self, from: usize, to: usize) {
        let Some(text) = self.text.get(from..to).filter(|text| text.len() <= WORD_BYTES_MAX) else {
            return;
        };
        let term = self.words.folded(text);
        if !term.is_empty() {
            self.pieces.push(Piece { kind: Kind::Part, term, position: self.position, from, to });
            self.position += 1;
        }
    }

    fn dense(&mut self, from: usize, to: usize) {
        let chars: Vec<(usize, char)> = self.text.get(from..to).unwrap_or_default().char_indices().collect();
        let mut next = chars.iter().skip(1);
        for (at, char) in &chars {
            let (from, end) = (from + at, from + at + char.len_utf8());
            let position = self.position;
            self.pieces.push(Piece { kind: Kind::Single, term: char.to_string(), position, from, to: end });
            if let Some((_, second)) = next.next() {
                let to = end + second.len_utf8();
                self.pieces.push(Piece {
                    kind: Kind::Pair,
                    term: [*char, *second].iter().collect(),
                    position,
                    from,
                    to,
                });
            }
            self.position += 1;
        }
    }

    /// The word as one piece, if it is more than its only part: without the marks around it, but
    /// with the ones that make `C++` and `C#` what they are.
    fn whole(&mut self, word: &str, from: usize, first: usize, first_piece: usize) {
        let inner = word.trim_start_matches(|char| class(char) == Class::Mark);
        let begins = from + word.len() - inner.len();
        let inner = inner.trim_end_matches(|char| class(char) == Class::Mark && !matches!(char, '+' | '#'));
        if inner.len() > WORD_BYTES_MAX {
            return;
        }
        let term = self.words.folded(inner);
        let first_term = self.pieces.get(first_piece).map(|piece| piece.term.as_str());
        if term.is_empty() || first_term == Some(&term) {
            return;
        }
        let piece =
            Piece { kind: Kind::Whole, term, position: first, from: begins, to: begins + inner.len() };
        self.pieces.insert(first_piece, piece);
    }
}

/// The same for tantivy.
#[derive(Clone, Default)]
pub struct HermTokenizer(Words);

impl Tokenizer for HermTokenizer {
    type TokenStream<'a> = PieceStream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> PieceStream {
        PieceStream { pieces: self.0.pieces(text).into_iter(), token: Token::default() }
    }
}

/// Pieces as tokens.
pub struct PieceStream {
    pieces: std::vec::IntoIter<Piece>,
    token: Token,
}

impl TokenStream for PieceStream {
    fn advance(&mut self) -> bool {
        let Some(piece) = self.pieces.next() else {
            return false;
        };
        self.token = Token {
            offset_from: piece.from,
            offset_to: piece.to,
            position: piece.position,
            text: piece.term,
            position_length: 1,
        };
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<(String, usize)> {
        Words::default().pieces(text).into_iter().map(|piece| (piece.term, piece.position)).collect()
    }

    fn just(text: &str) -> Vec<String> {
        terms(text).into_iter().map(|(term, _)| term).collect()
    }

    #[test]
    fn words_are_lower_case_without_accents() {
        assert_eq!(just("Café NAÏVE Ünïcode"), ["cafe", "naive", "unicode"]);
        assert_eq!(just("e\u{301}te\u{301}"), ["ete"]);
        assert_eq!(just("ＡＢＣ１"), ["abc1"]);
    }

    #[test]
    fn identifiers_are_kept_whole_and_split() {
        let found = terms("use snake_case here");
        let expected = [("use", 0), ("snake_case", 1), ("snake", 1), ("case", 2), ("here", 3)];
        assert_eq!(found, expected.map(|(term, at)| (term.to_owned(), at)));
        assert_eq!(just("parseHttpRequest"), ["parsehttprequest", "parse", "http", "request"]);
        assert_eq!(just("(src/main.rs)."), ["src/main.rs", "src", "main", "rs"]);
        assert_eq!(just("E0308"), ["e0308"]);
        assert_eq!(just("C++ c#,"), ["c++", "c", "c#", "c"]);
    }

    #[test]
    fn scripts_without_spaces_become_characters_and_pairs() {
        let found = terms("记忆断");
        let expected = [("记", 0), ("记忆", 0), ("忆", 1), ("忆断", 1), ("断", 2)];
        assert_eq!(found, expected.map(|(term, at)| (term.to_owned(), at)));
        assert_eq!(just("，。"), Vec::<String>::new());
    }

    proptest::proptest! {
        #[test]
        fn pieces_lie_on_characters_of_the_text(text in "\\PC{0,40}|[a-zA-Z_./+#é记忆ก\u{301} ]{0,60}") {
            let mut last = 0;
            for piece in Words::default().pieces(&text) {
                proptest::prop_assert!(text.get(piece.from..piece.to).is_some_and(|part| !part.is_empty()));
                proptest::prop_assert!(piece.position >= last, "positions go back");
                last = piece.position;
            }
        }
    }
}
