//! Whether the value beside a name is a secret: what the name says, and what the value looks like.
//! Tables of words, and how they are weighed. Pure.

use super::shapes::looks_random;

/// How much a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    /// `key`, `auth`: often something else.
    Perhaps,
    /// `token`, `api_key`, `secret`.
    Surely,
    /// `password`: any text may be one.
    Password,
}

/// How a value stands there.
pub(super) struct Place<'t> {
    pub name: &'t str,
    /// In capitals, as variables of the environment are.
    pub capitals: bool,
    pub quoted: bool,
    pub colon: bool,
    pub flag: bool,
    pub query: bool,
}

impl Place<'_> {
    pub fn is_header(&self) -> bool {
        self.colon
            && matches!(self.name.to_ascii_lowercase().as_str(), "authorization" | "proxy-authorization")
    }

    /// What the name says of its value; `None` if nothing.
    pub fn says(&self) -> Option<Name> {
        let words = words(self.name);
        let last = words.last()?.as_str();
        let has = |one: &str| words.iter().any(|word| word == one);
        let pair = |a: &str, b: &str| words.windows(2).any(|pair| matches!(pair, [x, y] if x == a && y == b));
        if words.iter().any(|word| PLAIN_BEFORE.contains(&word.as_str())) {
            return None;
        }
        if PLAIN_LAST.contains(&last) || has("public") || has("max") || has("min") {
            return None;
        }
        if ["password", "passwd", "passphrase", "pwd", "passwort"]
            .iter()
            .any(|word| last.ends_with(word) || has(word))
        {
            return Some(Name::Password);
        }
        let strong = ["token", "secret", "apikey", "authorization", "secretkey", "accesstoken", "authtoken"];
        let key = [("api", "key"), ("access", "key"), ("private", "key"), ("secret", "key"), ("auth", "key")];
        let plural = ["credential", "credentials", "secrets"];
        if strong.iter().any(|word| has(word) || last.ends_with(word))
            || key.iter().any(|(a, b)| pair(a, b))
            || plural.iter().any(|word| has(word))
            || matches!(
                self.name.to_ascii_lowercase().as_str(),
                "x-amz-signature" | "x-goog-signature" | "set-cookie"
            )
        {
            return Some(Name::Surely);
        }
        if pair("db", "pass") || last == "pass" && self.capitals {
            return Some(Name::Password);
        }
        let weak = ["key", "keys", "auth", "pat", "pass", "tokens", "pin"];
        let in_query = ["sig", "signature", "code"];
        let known = weak.contains(&last) || (self.query && in_query.contains(&last)) || last == "cookie";
        // `key` alone is anything's.
        let alone = words.len() == 1 && !self.capitals && !self.query && last != "cookie";
        (known && !alone).then_some(Name::Perhaps)
    }
}

/// Words of a name that say that its key opens nothing.
const PLAIN_BEFORE: &[&str] = &[
    "primary",
    "foreign",
    "sort",
    "cache",
    "idempotency",
    "partition",
    "object",
    "dict",
    "hot",
    "shortcut",
    "composite",
    "routing",
    "translation",
    "i18n",
    "lookup",
    "group",
    "hash",
    "row",
    "shard",
    "dedupe",
    "dedup",
    "registry",
    "storage",
];

/// Last words of a name that say that the value is a place, a number, a kind.
const PLAIN_LAST: &[&str] = &[
    "file",
    "path",
    "dir",
    "url",
    "uri",
    "host",
    "port",
    "sock",
    "id",
    "ids",
    "name",
    "names",
    "region",
    "type",
    "count",
    "limit",
    "endpoint",
    "length",
    "size",
    "expires",
    "expiry",
    "expiration",
    "ttl",
    "label",
    "hint",
    "field",
    "env",
    "var",
    "variable",
    "prefix",
    "alias",
    "issuer",
    "version",
    "mode",
    "policy",
    "required",
    "enabled",
    "scheme",
    "method",
    "provider",
    "usage",
    "budget",
    "index",
    "used",
    "left",
    "in",
    "class",
    "manager",
    "store",
    "helper",
    "error",
    "format",
    "rotation",
    "timeout",
    "seconds",
    "ms",
    "header",
    "algorithm",
];

/// `accessToken`, `ACCESS_TOKEN` and `access-token` are the same two words.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let next = !c.is_ascii_alphanumeric() || (c.is_ascii_uppercase() && before.is_ascii_lowercase());
        if next && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            word.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether the value at this place is a secret.
pub(super) fn is_secret(place: &Place<'_>, value: &str) -> bool {
    let Some(name) = place.says() else { return false };
    if is_placeholder(value) || is_code(value, place) {
        return false;
    }
    let length = value.chars().count();
    let plain_number = value.chars().all(|c| c.is_ascii_digit() || ".,_-".contains(c));
    let digit = value.chars().any(|c| c.is_ascii_digit());
    let letter = value.chars().any(char::is_alphabetic);
    match name {
        _ if place.is_header() => length >= 8 && !value.contains(' '),
        Name::Password => {
            let said = place.capitals || place.quoted || place.flag || place.query;
            let spoken = value.contains(' ') || is_capitalised_word(value);
            (place.capitals || !spoken) && length >= 4 && (said || (digit && letter) || looks_random(value))
        }
        Name::Surely if plain_number => place.capitals && length >= 16,
        Name::Surely => {
            let said = place.capitals || place.flag;
            let odd = (digit && letter && length >= 8) || looks_random(value);
            let spelled = place.quoted && length >= 16 && !value.contains([' ', '_', '-', '.', '/']);
            !value.contains(' ') && ((said && length >= 6) || odd || spelled)
        }
        Name::Perhaps => {
            length >= 16 && !value.contains(' ') && digit && letter && looks_random(value) && !is_path(value)
        }
    }
}

fn is_capitalised_word(value: &str) -> bool {
    let mut chars = value.chars();
    chars.next().is_some_and(char::is_uppercase) && chars.all(|c| c.is_lowercase())
}

fn is_path(value: &str) -> bool {
    value.starts_with(['/', '.', '~']) || value.contains("://")
}

/// What stands for a value: a reference, a hole to be filled, a mask.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = value.trim();
    let lower = value.to_ascii_lowercase();
    let same = |c: char| value.chars().all(|other| other == c);
    value.is_empty()
        || value.starts_with(['$', '<', '{', '%', '@', '[', '('])
        || value.ends_with("...")
        || value.contains('…')
        || value.contains("${")
        || value.contains("{{")
        || value.contains("***")
        || ['x', 'X', '*', '.', '-', '#', '•', '?', '0'].into_iter().any(same)
        || [
            "your",
            "my-",
            "my_",
            "example",
            "changeme",
            "change-me",
            "change_me",
            "placeholder",
            "redacted",
            "insert",
            "replace",
            "dummy",
        ]
        .iter()
        .any(|start| lower.starts_with(start))
        || STAND_INS.contains(&lower.as_str())
}

/// Words that are no secret wherever they stand.
const STAND_INS: &[&str] = &[
    "string",
    "str",
    "text",
    "none",
    "null",
    "nil",
    "true",
    "false",
    "undefined",
    "password",
    "passwd",
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "apikey",
    "api_key",
    "api-key",
    "bearer",
    "basic",
    "required",
    "optional",
    "hidden",
    "number",
    "bool",
    "boolean",
    "object",
    "any",
    "auto",
    "default",
    "empty",
    "yes",
    "no",
    "on",
    "off",
    "unknown",
    "todo",
    "tbd",
    "n/a",
    "xxx",
    "foo",
    "bar",
    "notsecret",
    "value",
    "private",
    "public",
    "username",
    "user",
    "self",
    "bytes",
    "option",
    "int",
    "env",
    "file",
    "vault",
    "keyring",
    "session",
    "cookie",
    "oauth",
    "oauth2",
    "jwt",
    "ssh",
    "prompt",
    "enter",
    "hunter",
    "stdin",
];

/// What is computed or named, not spelled out: `os.environ["X"]`, `get_token()`, `self.token`, `Option<String>`.
fn is_code(value: &str, place: &Place<'_>) -> bool {
    if place.quoted {
        return false;
    }
    let word = |part: &str| {
        part.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let has_call = value.contains('(') || value.contains('[') || value.contains("::") || value.contains("->");
    let is_member =
        value.contains('.') && value.split('.').all(word) && !value.contains(|c: char| c.is_ascii_digit());
    let is_name = word(value)
        && value.contains('_')
        && !value.contains(|c: char| c.is_ascii_digit())
        && !place.capitals;
    let is_constant = word(value) && value.contains('_') && !value.contains(|c: char| c.is_ascii_lowercase());
    let env = [
        "process.env",
        "os.environ",
        "import.meta",
        "env.",
        "config.",
        "settings.",
        "self.",
        "this.",
        "secrets.",
    ];
    has_call || is_member || is_name || is_constant || env.iter().any(|start| value.starts_with(start))
}
