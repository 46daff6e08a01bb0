//! Codes by which a stranger comes to be known: how they look, how they are compared, what the
//! stranger is told. Who was given which, and how often one may be tried, is the gateway's state
//! (`herm_replay::gateway`), which knows only their digests.

use std::fmt;
use std::time::Duration;

use herm_schema::Digest;

/// How long a code can be approved.
pub const EXPIRES_AFTER: Duration = Duration::from_secs(3_600);
/// Characters of a code: 40 bits, which are not found within the tries of an hour.
pub const LENGTH: usize = 8;

/// Without the four that are taken for one another: `0` and `O`, `1` and `I`.
const ALPHABET: [char; 32] = [
    '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'J', 'K', 'L', 'M', 'N',
    'P', 'Q', 'R', 'S', 'T', 'U', 'V', 'W', 'X', 'Y', 'Z',
];
/// Between the two halves, as a person is shown them.
const HALF: usize = LENGTH / 2;

/// A one-time code; upper case, without dashes. It is shown to the stranger alone: its `Debug` says
/// nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Code(String);

impl Code {
    /// The code of random bytes; each gives one character, and all characters are equally likely.
    pub fn of(bytes: [u8; LENGTH]) -> Self {
        let character = |byte: u8| ALPHABET.get(usize::from(byte) % ALPHABET.len());
        Self(bytes.into_iter().filter_map(character).collect())
    }

    /// As a person types it: in either case, with or without dashes and spaces. `None` for what no
    /// code is.
    pub fn read(text: &str) -> Option<Self> {
        let aside = |c: char| c.is_whitespace() || is_dash(c);
        let code: String = text.chars().filter(|c| !aside(*c)).map(|c| c.to_ascii_uppercase()).collect();
        let whole = code.chars().count() == LENGTH && code.chars().all(|c| ALPHABET.contains(&c));
        whole.then_some(Self(code))
    }

    /// What is recorded instead of the code. The platform salts it: the same code on another is
    /// another.
    pub fn digest(&self, platform: &str) -> Digest {
        digest(platform, &self.0)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = self.0.split_at_checked(HALF).unwrap_or((&self.0, ""));
        write!(f, "{first}-{second}")
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(…)")
    }
}

/// The salted hash of what was typed as a code, whether or not it can be one: a wrong one must be
/// counted as such.
pub fn digest_of_typed(platform: &str, typed: &str) -> Digest {
    match Code::read(typed) {
        Some(code) => code.digest(platform),
        None => digest(platform, typed),
    }
}

fn digest(platform: &str, code: &str) -> Digest {
    let mut bytes = b"herm pairing code\0".to_vec();
    bytes.extend_from_slice(&(platform.len() as u64).to_le_bytes());
    bytes.extend_from_slice(platform.as_bytes());
    bytes.extend_from_slice(code.as_bytes());
    Digest::of(&bytes)
}

/// Dashes that keyboards make of `-`.
pub(super) fn is_dash(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}')
}

/// What the stranger is told. Markdown.
pub fn invitation(platform: &str, code: &Code) -> String {
    let minutes = EXPIRES_AFTER.as_secs() / 60;
    format!(
        "I do not know you yet. If my owner wants you to speak with me, let them run:\n\n\
         ```\nherm pairing approve {platform} {code}\n```\n\nThe code holds for {minutes} minutes."
    )
}

/// What the person is told once an owner has approved the code.
pub fn welcome() -> &'static str {
    "My owner has let you in: you can speak with me now. /help says what I can do."
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: [u8; LENGTH] = [0, 1, 31, 32, 255, 100, 8, 9];

    #[test]
    fn a_code_has_eight_characters_that_nobody_mixes_up() {
        for seed in 0..=u8::MAX {
            let code = Code::of([seed; LENGTH]);
            assert_eq!(code.0.len(), LENGTH);
            assert!(!code.0.contains(['0', 'O', '1', 'I']), "{}", code.0);
        }
        assert_eq!(Code::of(CODE).to_string(), "23Z2-Z6AB");
    }

    #[test]
    fn every_character_is_equally_likely() {
        let mut seen = std::collections::BTreeMap::<char, usize>::new();
        for byte in 0..=u8::MAX {
            *seen.entry(Code::of([byte; LENGTH]).0.chars().next().unwrap()).or_default() += 1;
        }
        assert_eq!(seen.len(), 32);
        assert!(seen.values().all(|count| *count == 8));
    }

    #[test]
    fn case_dashes_and_spaces_make_no_difference() {
        let code = Code::of(CODE);
        for typed in ["23Z2-Z6AB", "23z2z6ab", " 23z2 – z6AB\n", "2 3 Z 2 Z 6 A B"] {
            assert_eq!(Code::read(typed).as_ref(), Some(&code), "{typed}");
            assert_eq!(digest_of_typed("telegram", typed), code.digest("telegram"));
        }
    }

    #[test]
    fn what_can_be_no_code_is_none_and_still_counts_as_a_try() {
        for typed in ["", "23Z2-Z6A", "23Z2-Z6ABC", "23Z2-Z6A0", "23Z2-Z6Aß"] {
            assert_eq!(Code::read(typed), None, "{typed}");
            assert_ne!(digest_of_typed("telegram", typed), Code::of(CODE).digest("telegram"));
        }
    }

    #[test]
    fn the_same_code_on_another_platform_is_another() {
        let code = Code::of(CODE);
        assert_ne!(code.digest("telegram"), code.digest("discord"));
        assert_eq!(code.digest("telegram"), Code::of(CODE).digest("telegram"));
    }

    #[test]
    fn the_stranger_reads_the_command_and_logs_do_not() {
        let code = Code::of(CODE);
        let told = invitation("telegram", &code);
        assert!(told.contains("herm pairing approve telegram 23Z2-Z6AB"), "{told}");
        assert!(told.contains("60 minutes"), "{told}");
        assert_eq!(format!("{code:?}"), "Code(…)");
    }
}
