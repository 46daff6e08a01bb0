//! Takes secrets out of texts: those that are known, and those that look like one.
//!
//! What is taken out is found in the text as it was, all of it, and then replaced; what is left
//! holds no known secret and nothing of the known shapes, also across a replacement. Redacting
//! twice is redacting once. [`shapes`] knows what keys of well-known services look like, [`assigned`]
//! what the name beside a value says of it.

mod assigned;
mod judged;
mod shapes;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::AhoCorasick;

use super::learnt::Learnt;
use super::{Config, Environment, KEYS, Secret};

/// What stands in the place of a secret.
pub const REDACTED: &str = "«redacted»";
/// Characters of a known secret at least; shorter ones are words that occur by chance.
const SECRET_CHARS_MIN: usize = 8;

/// Words in the name of a variable that make its value a secret.
const SECRET_WORDS: &[&str] = &[
    "KEY",
    "KEYS",
    "APIKEY",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASS",
    "PAT",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "AUTH",
];
/// Last words that say that the value is a place or a number, and no secret.
const PLACE_WORDS: &[&str] = &["FILE", "PATH", "DIR", "URL", "HOST", "PORT", "SOCK", "ID", "NAME", "REGION"];

/// Knows every secret that the configuration knows, and those that it is taught. Clones learn together.
#[derive(Clone)]
pub struct Redactor {
    known: Option<AhoCorasick>,
    secrets: usize,
    /// `None` where nothing is taken out.
    learnt: Option<Arc<Learnt>>,
}

impl Redactor {
    /// Takes out nothing.
    pub fn off() -> Self {
        Self { known: None, secrets: 0, learnt: None }
    }

    /// Takes out the secrets of the configuration and of the environment, unless the configuration
    /// says that nothing is taken out.
    pub fn of(config: &Config, environment: &Environment) -> Self {
        Self::knowing(config, environment, &[])
    }

    /// As [`Redactor::of`], with secrets that are kept elsewhere.
    pub fn knowing(config: &Config, environment: &Environment, more: &[Secret]) -> Self {
        if !config.security.redact_secrets {
            return Self::off();
        }
        let process = environment.process().filter(|(name, _)| names_a_secret(name));
        let dotenv = environment.dotenv().filter(|(name, _)| names_a_secret(name) || !names_a_setting(name));
        let variables = process.chain(dotenv).map(|(_, value)| value);
        let kept = config.model.api_key.iter().chain(more).map(Secret::reveal);
        Self::new(variables.chain(kept))
    }

    /// Takes out these secrets, those of them that are long enough, and the well-known shapes.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut needles: Vec<String> =
            secrets.into_iter().filter_map(long_enough).flat_map(spellings).collect();
        needles.sort();
        needles.dedup();
        let secrets = needles.len();
        // Does not fail: needles have no syntax. Only a size beyond all memory could, and then there
        // is nothing better than the shapes.
        let known = AhoCorasick::new(needles).ok();
        Self { known, secrets, learnt: Some(Arc::default()) }
    }

    /// Takes out these secrets as well from now on: keys that were fetched, tokens that were renewed.
    pub fn learn<'a>(&self, secrets: impl IntoIterator<Item = &'a Secret>) {
        let Some(learnt) = &self.learnt else { return };
        let is_known = |secret: &str| {
            let found = self.known.iter().flat_map(|known| known.find_overlapping_iter(secret));
            found.into_iter().any(|found| found.range() == (0..secret.len()))
        };
        let new = secrets.into_iter().filter_map(|secret| long_enough(secret.reveal()));
        learnt.add(new.filter(|secret| !is_known(secret)));
    }

    /// The text without its secrets. The text itself where it has none.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut redacted = Cow::Borrowed(text);
        // Each round leaves less to look at, because what was put in is not looked at again.
        while let Some(next) = self.round(&redacted) {
            redacted = Cow::Owned(next);
        }
        redacted
    }

    /// Replaces everything that is found between earlier replacements; `None` if nothing is.
    fn round(&self, text: &str) -> Option<String> {
        let mut changed = false;
        let pieces: Vec<Cow<'_, str>> = text
            .split(REDACTED)
            .map(|piece| {
                let spans = self.spans(piece);
                changed |= !spans.is_empty();
                replaced(piece, &spans)
            })
            .collect();
        changed.then(|| pieces.join(REDACTED))
    }

    /// Where secrets stand, in order, without overlap.
    fn spans(&self, text: &str) -> Vec<Range<usize>> {
        let mut spans: Vec<Range<usize>> = Vec::new();
        if let Some(known) = &self.known {
            spans.extend(known.find_overlapping_iter(text).map(|found| found.range()));
        }
        if let Some(learnt) = &self.learnt {
            learnt.spans(text, &mut spans);
            shapes::spans(text, &mut spans);
            assigned::spans(text, &mut spans);
        }
        spans.sort_by_key(|span| span.start);
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(spans.len());
        for span in spans {
            match merged.last_mut() {
                Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
                _ => merged.push(span),
            }
        }
        merged
    }
}

fn replaced<'a>(text: &'a str, spans: &[Range<usize>]) -> Cow<'a, str> {
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for span in spans {
        // Both ends are ends of matches of whole texts, so they are boundaries of characters.
        out.push_str(text.get(from..span.start).unwrap_or_default());
        out.push_str(REDACTED);
        from = span.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(out)
}

/// The text of a secret, unless it is so short that it occurs by chance.
fn long_enough(secret: &str) -> Option<&str> {
    let secret = secret.trim();
    (secret.chars().count() >= SECRET_CHARS_MIN).then_some(secret)
}

/// A secret as it is, as it stands in a JSON text, and as it stands in a URL.
pub(super) fn spellings(secret: &str) -> Vec<String> {
    let json = serde_json::Value::from(secret).to_string();
    let json = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(secret).to_owned();
    vec![secret.to_owned(), json, percent_encoded(secret)]
}

fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
        out
    })
}

/// Whether the value of the variable is a secret, by its name.
pub fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words: Vec<&str> = name.split('_').collect();
    let last = words.last().copied().unwrap_or_default();
    if PLACE_WORDS.contains(&last) {
        return false;
    }
    words.iter().any(|word| SECRET_WORDS.contains(word))
        || ["PASSWORD", "APIKEY", "SECRET", "TOKEN"].iter().any(|ending| last.ends_with(ending))
}

/// Whether a variable of `.env` is a setting or a place rather than a secret: redacting the name of
/// the model wherever it occurs would help nobody.
fn names_a_setting(name: &str) -> bool {
    let last = name.rsplit('_').next().unwrap_or(name);
    KEYS.iter().any(|key| key.env == name && !key.is_secret()) || PLACE_WORDS.contains(&last)
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} spellings)", self.secrets)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_secrets_go_in_every_spelling() {
        let redactor = Redactor::new(["pa\"ss/word", "short"]);
        let text = r#"a pa"ss/word b pa\"ss/word c pa%22ss%2Fword short"#;
        assert_eq!(redactor.redact(text), format!("a {REDACTED} b {REDACTED} c {REDACTED} short"));
        assert!(matches!(redactor.redact("nothing here"), Cow::Borrowed(_)));
    }

    #[test]
    fn well_known_shapes_go_whoever_they_belong_to() {
        let redactor = Redactor::new([]);
        let secrets = [
            "sk-proj-abcdefghijklmnop1234",
            "ghp_abcdefghijklmnopqrst1234",
            "github_pat_11AAAAAAA0abcdefghijk_x",
            "xoxb-1234567890-abcdef",
            "AKIAIOSFODNN7EXAMPLE",
            "hf_abcdefghijklmnopqrstuv",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\\nMIIE and no end",
        ];
        for secret in secrets {
            assert_eq!(redactor.redact(&format!("x {secret}")), format!("x {REDACTED}"), "{secret}");
        }
        let header = redactor.redact("Authorization: Bearer abc.def-ghi_jkl=\r\n").into_owned();
        assert_eq!(header, format!("Authorization: Bearer {REDACTED}\r\n"));
        for innocent in
            ["task-list", "the bearer of bad news", "risk-averse-behaviour-everywhere", "sk-short"]
        {
            assert_eq!(redactor.redact(innocent), innocent);
        }
    }

    #[test]
    fn overlapping_secrets_leave_nothing_between_them() {
        let redactor = Redactor::new(["abcdefgh", "efghijkl", "redacted"]);
        assert_eq!(redactor.redact("<abcdefghijkl>"), format!("<{REDACTED}>"));
        assert_eq!(redactor.redact("redacted"), REDACTED);
        assert_eq!(redactor.redact(REDACTED), REDACTED);
    }

    #[test]
    fn what_is_learnt_is_taken_out_from_then_on_by_every_clone() {
        let redactor = Redactor::new(["known-secret"]);
        let clone = redactor.clone();
        let text = "known-secret fetched/key-1 fetched%2Fkey-1 short";
        assert_eq!(clone.redact(text), format!("{REDACTED} fetched/key-1 fetched%2Fkey-1 short"));
        let secrets = ["fetched/key-1", "short", "known-secret"].map(Secret::new);
        redactor.learn(&secrets);
        redactor.learn(&secrets);
        assert_eq!(clone.redact(text), format!("{REDACTED} {REDACTED} {REDACTED} short"));
        assert_eq!(clone.learnt.as_ref().unwrap().count(), 1, "once, and only what is new and long enough");
        let off = Redactor::off();
        off.learn(&secrets);
        assert_eq!(off.redact(text), text);
    }

    #[test]
    fn variables_are_judged_by_their_names() {
        for name in ["OPENAI_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY"] {
            assert!(names_a_secret(name), "{name}");
        }
        for name in ["HOME", "KEYBOARD", "TOKENIZERS_PARALLELISM", "SSH_AUTH_SOCK", "SSL_KEY_FILE", "MONKEY"]
        {
            assert!(!names_a_secret(name), "{name}");
        }
    }

    #[test]
    fn everything_in_the_env_file_is_a_secret_but_settings_and_places() {
        let map = |pairs: &[(&str, &str)]| pairs.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect();
        let environment = Environment::new(
            map(&[("MY_TOKEN", "tok-12345678"), ("EDITOR", "vim-editor")]),
            map(&[("WEBHOOK", "hook-12345678"), ("HERM_MODEL", "model-large"), ("X_URL", "http://long")]),
        );
        let raw = super::super::RawConfig::default();
        let home = super::super::Home::at("/h");
        let settings = super::super::Settings::decide(&home, &raw, &environment, &[]).unwrap();
        let redactor = Redactor::of(&Config::of(&settings), &environment);
        let text = "tok-12345678 vim-editor hook-12345678 model-large http://long";
        assert_eq!(
            redactor.redact(text),
            format!("{REDACTED} vim-editor {REDACTED} model-large http://long")
        );
    }

    proptest! {
        #[test]
        fn no_known_secret_is_left_and_twice_is_once(
            secrets in prop::collection::vec("[a-d«»é\"/]{8,12}", 1..4),
            pieces in prop::collection::vec("[a-d«»é\"/ ]{0,6}", 0..8),
            order in prop::collection::vec(0_usize..4, 0..8),
        ) {
            let redactor = Redactor::new(secrets.iter().map(String::as_str));
            let mut text = String::new();
            for (index, piece) in pieces.iter().enumerate() {
                text.push_str(piece);
                if let Some(secret) = order.get(index).and_then(|&which| secrets.get(which)) {
                    text.push_str(secret);
                }
            }
            let once = redactor.redact(&text).into_owned();
            for piece in once.split(REDACTED) {
                for secret in &secrets {
                    prop_assert!(!piece.contains(secret.as_str()), "{once}");
                }
            }
            prop_assert_eq!(redactor.redact(&once), once.as_str());
        }

        #[test]
        fn any_text_is_survived(text in "(\\PC|sk-|ghp_|Bearer |-----BEGIN PRIVATE KEY-----|[a-z0-9]){0,60}") {
            let redactor = Redactor::new(["ähnlich-geheim"]);
            let once = redactor.redact(&text).into_owned();
            prop_assert_eq!(redactor.redact(&once), once.as_str());
        }
    }
}
