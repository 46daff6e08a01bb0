//! Shapes of secrets of well-known services, whoever they belong to: a table of patterns, each with
//! what must hold besides for a look-alike to stay what it is.
//!
//! Nothing here knows a configuration. A pattern begins where a word begins; that is judged in code
//! ([`begins_word`]), because texts come as JSON too, where a line end is the letter `n`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Longest look-alike that is searched for another shape, in bytes; what is longer is passed over, so that
/// a text made of look-alikes takes no longer than any other.
const LOOK_ALIKE_BYTES_MAX: usize = 1_024;

/// What must hold of a match besides its shape.
#[derive(Clone, Copy, PartialEq)]
enum Proof {
    /// The shape is proof enough.
    Shape,
    /// It holds a digit or both cases, or is long: words joined by hyphens do not.
    Random,
}

/// A shape. What is taken out is the group `s`, or all of it.
struct Shape {
    pattern: &'static str,
    proof: Proof,
}

const fn sure(pattern: &'static str) -> Shape {
    Shape { pattern, proof: Proof::Shape }
}

const fn random(pattern: &'static str) -> Shape {
    Shape { pattern, proof: Proof::Random }
}

/// Sources: the vendors' documentation of their keys, and the rules of gitleaks and of GitHub's secret
/// scanning where they name none.
const SHAPES: &[Shape] = &[
    // Keys in PEM and of age.
    sure(
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)",
    ),
    sure(r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    // OpenAI, Anthropic, OpenRouter, DeepSeek and all who took the prefix over.
    random(r"sk-[A-Za-z0-9_\-]{16,}"),
    // GitHub, GitLab.
    sure(r"gh[pousr]_[A-Za-z0-9]{20,}"),
    sure(r"github_pat_[A-Za-z0-9_]{20,}"),
    random(r"gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|oas|ffct)-[A-Za-z0-9_\-]{16,}"),
    // Slack: tokens and the addresses of incoming webhooks.
    sure(r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9\-]{10,}"),
    sure(r"xapp-[0-9]+-[A-Za-z0-9\-]{10,}"),
    sure(r"hooks\.slack\.com/(?:services|workflows)/(?P<s>[A-Za-z0-9_/\-]{20,})"),
    // Amazon, Google, Microsoft.
    sure(r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    sure(r"AIza[A-Za-z0-9_\-]{30,}"),
    sure(r"ya29\.[A-Za-z0-9_\-]{20,}"),
    sure(r"GOCSPX-[A-Za-z0-9_\-]{20,}"),
    sure(r"1//0[A-Za-z0-9_\-]{30,}"),
    sure(r"[A-Za-z0-9_\-]{3}8Q~[A-Za-z0-9_.~\-]{31,}"),
    // Payment.
    sure(r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,}"),
    random(r"whsec_[A-Za-z0-9+/=]{16,}"),
    sure(r"sq0(?:atp|csp|idp)-[A-Za-z0-9_\-]{20,}"),
    sure(r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    // Package registries.
    random(r"npm_[A-Za-z0-9]{30,}"),
    random(r"pypi-[A-Za-z0-9_\-]{16,}"),
    sure(r"rubygems_[a-f0-9]{40,}"),
    random(r"dckr_(?:pat|oat)_[A-Za-z0-9_\-]{20,}"),
    sure(r"cio[A-Za-z0-9]{32}\b"),
    // Models and search.
    sure(r"hf_[A-Za-z0-9]{20,}"),
    random(r"gsk_[A-Za-z0-9]{20,}"),
    random(r"xai-[A-Za-z0-9_\-]{20,}"),
    random(r"pplx-[A-Za-z0-9]{16,}"),
    random(r"r8_[A-Za-z0-9]{20,}"),
    random(r"tvly-[A-Za-z0-9\-]{16,}"),
    random(r"fc-[A-Za-z0-9]{20,}"),
    random(r"fal_[A-Za-z0-9_\-]{16,}"),
    random(r"sk_[A-Za-z0-9]{20,}"),
    random(r"bb_live_[A-Za-z0-9_\-]{16,}"),
    random(r"exa_[A-Za-z0-9]{16,}"),
    random(r"(?:lsv2_(?:pt|sk)|nvapi|csk|gsk|jina|voyage|pa)[_\-][A-Za-z0-9_\-]{28,}"),
    // Mail, chat, hosting, monitoring.
    sure(r"SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}"),
    random(r"key-[a-f0-9]{32}\b"),
    sure(r"(?:bot)?[0-9]{8,10}:[A-Za-z0-9_\-]{30,}"),
    sure(r"[MNO][A-Za-z0-9_\-]{23,27}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,}"),
    sure(r"discord(?:app)?\.com/api/webhooks/[0-9]+/(?P<s>[A-Za-z0-9_\-]{40,})"),
    random(r"syt_[A-Za-z0-9_]{20,}"),
    random(r"do[opr]_v1_[a-f0-9]{40,}"),
    random(r"dapi[a-f0-9]{32}"),
    random(r"(?:ntn_|secret_)[A-Za-z0-9]{40,}"),
    random(r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    sure(r"gl(?:sa|c)_[A-Za-z0-9_+/=]{30,}"),
    random(r"dp\.(?:st|pt|ct|sa|scim|audit)\.[A-Za-z0-9_.\-]{30,}"),
    random(r"hv[sbr]\.[A-Za-z0-9_\-]{20,}"),
    random(r"sb[ps]?_(?:secret_|publishable_)?[A-Za-z0-9_\-]{36,}"),
    random(r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9=._\-]{30,}"),
    sure(r"AT(?:ATT3|CTT3|BB)[A-Za-z0-9_=\-]{20,}"),
    sure(r"sntry[su]_[A-Za-z0-9_=+/]{30,}"),
    random(r"pul-[a-f0-9]{40}"),
    sure(r"PMAK-[a-f0-9\-]{40,}"),
    sure(r"NRAK-[A-Z0-9]{27}"),
    random(r"fig[dour]{1,2}_[A-Za-z0-9_\-]{30,}"),
    random(r"(?:fo1_|fm[12][ar]?_)[A-Za-z0-9_+/=\-]{30,}"),
    // Logins of .netrc and of curl.
    sure(r"login\s+\S+\s+password\s+(?P<s>\S+)"),
    random(r"curl\b[^\n]*?\s(?:-u|--user)[ =]+[^\s:]+:(?P<s>\S+)"),
    // Signed and sealed tokens: JWT (with or without its last part), JWE, Fernet.
    sure(r"eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_=\-]{4,}(?:\.[A-Za-z0-9_=\-]*){0,3}"),
    sure(r"gAAAAA[A-Za-z0-9_=\-]{40,}"),
];

/// Any of the shapes. Without groups: what an engine keeps for each thread grows with states times groups, and
/// came to 18 MiB here.
static ANY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let all: Vec<String> = SHAPES.iter().map(|shape| shape.pattern.replace("?P<s>", "?:")).collect();
    Regex::new(&all.join("|")).ok()
});

/// Each shape by itself, at the beginning of a text.
static EACH: LazyLock<Vec<Option<Regex>>> = LazyLock::new(|| {
    SHAPES.iter().map(|shape| Regex::new(&format!(r"\A(?:{})", shape.pattern)).ok()).collect()
});

/// Words that say before a token that it is one.
static BEARER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i:\b(?P<scheme>bearer)[ \t]+)(?P<s>[A-Za-z0-9._~+/\-]{12,}=*)").ok());

/// The login before the host of an address. The `@` within a password is part of it.
static LOGIN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?i-u:[a-z][a-z0-9+.\-]{1,20})://[^\s/:@"'`<>\\]*:(?P<s>[^\s/"'`<>\\]+)@"#).ok()
});

/// Adds where shapes of secrets stand.
pub(super) fn spans(text: &str, found: &mut Vec<Range<usize>>) {
    shapes(text, found);
    if let Some(bearer) = &*BEARER {
        let tokens = bearer.captures_iter(text).filter_map(|captures| captures.name("s"));
        found.extend(
            tokens
                .filter(|token| !is_prose(token.as_str()) && !super::judged::is_placeholder(token.as_str()))
                .map(|token| token.range()),
        );
    }
    if let Some(login) = &*LOGIN {
        let passwords = login.captures_iter(text).filter_map(|captures| captures.name("s"));
        let real = passwords.filter(|password| !super::judged::is_placeholder(password.as_str()));
        found.extend(real.map(|password| password.range()));
    }
}

fn shapes(text: &str, found: &mut Vec<Range<usize>>) {
    let Some(any) = &*ANY else { return };
    let mut from = 0;
    while let Some(whole) = any.find_at(text, from) {
        let Some((proof, taken)) = kind(text, whole.start()) else { return };
        let secret = text.get(taken.clone()).unwrap_or_default();
        let proven = proof == Proof::Shape || looks_random(secret);
        if begins_word(text, whole.start()) && proven && !is_dummy(secret) {
            found.push(taken);
            from = whole.end();
        } else if whole.len() > LOOK_ALIKE_BYTES_MAX {
            from = whole.end();
        } else {
            // Another shape may begin inside of what only looked like one.
            let next = text.get(whole.start()..).and_then(|rest| rest.chars().next());
            from = whole.start() + next.map_or(1, char::len_utf8);
        }
    }
}

/// Of the shape that begins here, the first that does: what proves it, and what is taken out.
fn kind(text: &str, at: usize) -> Option<(Proof, Range<usize>)> {
    let rest = text.get(at..)?;
    SHAPES.iter().zip(EACH.iter()).find_map(|(shape, pattern)| {
        let captures = pattern.as_ref()?.captures(rest)?;
        let taken = captures.name("s").or(captures.get(0))?.range();
        Some((shape.proof, at + taken.start..at + taken.end))
    })
}

/// Whether it ends as the keys in instructions do: `ghp_xxxxxxxx`.
fn is_dummy(text: &str) -> bool {
    let end: Vec<char> = text.chars().rev().take(8).collect();
    ['x', 'X', '*'].into_iter().any(|c| end.iter().all(|other| *other == c))
}

/// Whether no word is in the middle at this place. In JSON, `\n` before it is the end of a line.
pub(super) fn begins_word(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let mut back = before.chars().rev();
    match back.next() {
        None => true,
        Some('n' | 'r' | 't') => back.take_while(|c| *c == '\\').count() % 2 == 1,
        Some(c) => !(c.is_alphanumeric() || c == '_'),
    }
}

/// A digit, or both cases within, or so long that no word is it.
pub(super) fn looks_random(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let upper = text.chars().skip(1).any(|c| c.is_ascii_uppercase());
    let lower = text.chars().any(|c| c.is_ascii_lowercase());
    let longest = text.split(|c: char| !c.is_ascii_alphanumeric()).map(str::len).max().unwrap_or(0);
    let mixed = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| word.len() >= 6 && word.chars().any(|c| c.is_ascii_digit()));
    mixed || digits >= 6 || (upper && lower && longest >= 10) || longest >= 28
}

/// What may stand after "bearer" in a sentence.
fn is_prose(word: &str) -> bool {
    word.len() < 16 && word.trim_end_matches('.').chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> bool {
        let mut found = Vec::new();
        spans(text, &mut found);
        !found.is_empty()
    }

    #[test]
    fn every_pattern_is_one() {
        assert!(ANY.is_some() && BEARER.is_some() && LOGIN.is_some());
        for (shape, pattern) in SHAPES.iter().zip(EACH.iter()) {
            assert!(pattern.is_some(), "{}", shape.pattern);
        }
    }

    #[test]
    fn a_line_end_in_json_begins_a_word() {
        let token = format!("ghp{}", "_abcdefghijklmnopqrst1234");
        assert!(masked(&format!(r#"{{"output":"first\n{token}\nlast"}}"#)));
        assert!(masked(&format!(r"a\\\n{token}")));
        assert!(!masked(&format!(r"a\\n{token}")), "a backslash and the letter n");
        assert!(!masked(&format!("an{token}")));
    }

    #[test]
    fn what_only_looks_like_one_stays() {
        for text in [
            "schema.am_example_identifier_123",
            "sk-learn-compatible-estimators",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "Bearer YOUR_API_KEY_GOES_HERE",
            "docker run -u 1000:1000 image",
            "sk-estimator-with-many-words-in-it",
            "risk-averse-behaviour-everywhere",
            "npm_config_registry",
            "pypi-publish-action-workflow",
            "data:application/json;base64,eyJ2ZXJzaW9uIjozLCJmaWxlIjoiYS5qcyJ9",
            "postgres://user:password@localhost/db",
            "postgres://user:${DB_PASS}@localhost/db",
            "https://host:8080/path@v2",
            "bearer authentication is used",
            "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
            "550e8400-e29b-41d4-a716-446655440000",
        ] {
            assert!(!masked(text), "{text}");
        }
    }
}
