//! Takes secrets out of a text that is shown while it still comes in.
//!
//! A secret may come in pieces, so nothing is shown of a word before it has ended, of what follows
//! `Bearer`, or of a private key. A secret of several words is only found where its words come
//! together; what is recorded is looked through whole.

use crate::providers::Delta;
use crate::runtime::Redact;

/// Bytes of a word without an end that are held back at most; after that it is shown in parts.
const HELD_BYTES_MAX: usize = 8 << 10;

/// What is being held back of one answer.
pub struct Veil {
    redact: Redact,
    held: String,
    reasoning: bool,
}

impl Veil {
    pub fn new(redact: Redact) -> Self {
        Self { redact, held: String::new(), reasoning: false }
    }

    /// Takes a piece; gives out what can be shown by now.
    pub fn push(&mut self, delta: Delta) -> Vec<Delta> {
        let (text, reasoning) = match delta {
            Delta::Text(text) => (text, false),
            Delta::Reasoning(text) => (text, true),
            other => {
                let mut out: Vec<Delta> = self.end().into_iter().collect();
                out.push(other);
                return out;
            }
        };
        let mut out = Vec::new();
        if reasoning != self.reasoning {
            out.extend(self.end());
            self.reasoning = reasoning;
        }
        self.held.push_str(&text);
        let ripe = ripe(&self.held);
        let rest = self.held.split_off(ripe);
        let ripe = std::mem::replace(&mut self.held, rest);
        out.extend(self.shown(&ripe));
        out
    }

    /// What is left when nothing more comes.
    pub fn end(&mut self) -> Option<Delta> {
        let held = std::mem::take(&mut self.held);
        self.shown(&held)
    }

    fn shown(&self, text: &str) -> Option<Delta> {
        let text = (self.redact)(text);
        let delta = if self.reasoning { Delta::Reasoning } else { Delta::Text };
        (!text.is_empty()).then(|| delta(text))
    }
}

/// How many bytes of `held` hold no beginning of a secret.
fn ripe(held: &str) -> usize {
    if held.len() > HELD_BYTES_MAX {
        return held.len();
    }
    if let Some(at) = held.find("-----BEGIN") {
        return at;
    }
    let after = |(at, c): (usize, char)| at + c.len_utf8();
    let end = held.char_indices().rfind(|(_, c)| c.is_whitespace()).map_or(0, after);
    let words = held.get(..end).unwrap_or_default().trim_end();
    let last = words.char_indices().rfind(|(_, c)| c.is_whitespace()).map_or(0, after);
    let raw = words.get(last..).unwrap_or_default();
    let word = raw.trim_start_matches(|c: char| !c.is_alphanumeric());
    if word.eq_ignore_ascii_case("bearer") || word.starts_with("-----") {
        return last;
    }
    // `NAME = value`: the name says what the value is.
    match raw.ends_with(['=', ':', '>']) || raw.starts_with("--") {
        true if raw.chars().all(|c| "=:>".contains(c)) => {
            let before = words.get(..last).unwrap_or_default().trim_end();
            before.char_indices().rfind(|(_, c)| c.is_whitespace()).map_or(0, after)
        }
        true => last,
        false => end,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn shown(pieces: &[&str]) -> Vec<String> {
        let redactor = crate::config::Redactor::new(["wonderland-0451"]);
        let mut veil = Veil::new(Arc::new(move |text: &str| redactor.redact(text).into_owned()));
        let mut out: Vec<Delta> =
            pieces.iter().flat_map(|piece| veil.push(Delta::Text((*piece).to_owned()))).collect();
        out.extend(veil.end());
        let text = |delta| match delta {
            Delta::Text(text) => text,
            other => panic!("{other:?}"),
        };
        out.into_iter().map(text).collect()
    }

    #[test]
    fn words_are_shown_as_they_end() {
        assert_eq!(shown(&["Let ", "me se", "e what", " it is"]), ["Let ", "me ", "see ", "what it ", "is"]);
    }

    #[test]
    fn a_secret_in_pieces_is_not_shown() {
        for cut in 1..14 {
            let (a, b) = "wonderland-0451".split_at(cut);
            let told = shown(&["the key ", a, b, ", really"]).concat();
            assert_eq!(told, "the key «redacted», really");
        }
        let told = shown(&["Authorization: Bearer ", "abcdefgh", "ijklmnopq", " and on"]).concat();
        assert!(!told.contains("abcdefgh") && told.ends_with(" and on"), "{told}");
        let told = shown(&["api_key", " = ", "abcdef", "123456", " and on"]).concat();
        assert_eq!(told, "api_key = «redacted» and on");
        let told = shown(&["run it with --password ", "hunter", "2222", " now"]).concat();
        assert_eq!(told, "run it with --password «redacted» now");
        let told = shown(&["-----BEGIN RSA PRIVATE", " KEY-----\nab", "cd\n-----END RSA PRIVATE KEY-----\n"]);
        assert_eq!(told.concat().trim(), "«redacted»");
    }
}
