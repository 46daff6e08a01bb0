//! The variables: those of the process, and those of `.env` behind them.
//!
//! `.env` is never printed and never put into this process's own environment, so that nothing it
//! starts inherits a secret by accident.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use super::Error;

/// Variables by name. Its `Debug` shows names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    process: BTreeMap<String, String>,
    dotenv: BTreeMap<String, String>,
}

impl Environment {
    /// The variables of this process, those that are UTF-8, and those of the file if it is there.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, [`Error::EnvLine`] if a line of it cannot.
    pub fn of_process(env_file: &Path) -> Result<Self, Error> {
        let utf8 = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Ok(Self { process: std::env::vars_os().filter_map(utf8).collect(), dotenv: read_file(env_file)? })
    }

    pub fn new(process: BTreeMap<String, String>, dotenv: BTreeMap<String, String>) -> Self {
        Self { process, dotenv }
    }

    /// The variable; the process wins over the file. Empty counts as unset.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.process_value(name).or_else(|| self.dotenv_value(name))
    }

    pub fn process_value(&self, name: &str) -> Option<&str> {
        self.process.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    pub fn dotenv_value(&self, name: &str) -> Option<&str> {
        self.dotenv.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Every variable of the process.
    pub fn process(&self) -> impl Iterator<Item = (&str, &str)> {
        self.process.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Every variable of the file.
    pub fn dotenv(&self) -> impl Iterator<Item = (&str, &str)> {
        self.dotenv.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("process", &self.process.keys().collect::<Vec<_>>())
            .field("dotenv", &self.dotenv.keys().collect::<Vec<_>>())
            .finish()
    }
}

fn read_file(path: &Path) -> Result<BTreeMap<String, String>, Error> {
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text, path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(source) => Err(Error::Io { operation: "read", path: path.to_owned(), source }),
    }
}

/// Reads `NAME=VALUE` lines: an `export` before them, quotes around the value, comments.
///
/// Single quotes keep everything as it is; double quotes know `\n`, `\t`, `\r`, `\"`, `\\` and `\$`.
/// Nothing is expanded. A value in quotes may go over several lines. The last of a name wins.
pub fn parse(text: &str, path: &Path) -> Result<BTreeMap<String, String>, Error> {
    let mut found = BTreeMap::new();
    let mut lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |reason| Error::EnvLine { path: path.to_owned(), line: number + 1, reason };
        let line = line.strip_prefix("export ").map_or(line, str::trim_start);
        let (name, written) = line.split_once('=').ok_or_else(|| wrong("`NAME=VALUE` is expected"))?;
        let name = name.trim_end();
        if !is_name(name) {
            return Err(wrong("the name before `=` may hold letters, digits and `_` only"));
        }
        let mut written = written.trim_start().to_owned();
        let value = loop {
            match value(&written) {
                Read::Value(value) => break value,
                Read::Trailing => return Err(wrong("something follows the closing quote")),
                Read::Open => {
                    let (_, next) = lines.next().ok_or_else(|| wrong("the quote is never closed"))?;
                    written.push('\n');
                    written.push_str(next);
                }
            }
        };
        found.insert(name.to_owned(), value);
    }
    Ok(found)
}

fn is_name(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.chars().next().is_some_and(|c| !c.is_ascii_digit())
}

enum Read {
    Value(String),
    /// The quote is not closed yet.
    Open,
    Trailing,
}

fn value(written: &str) -> Read {
    let mut chars = written.chars();
    let quote = match chars.next() {
        Some(quote @ ('"' | '\'')) => quote,
        _ => return Read::Value(bare(written)),
    };
    let mut value = String::new();
    while let Some(c) = chars.next() {
        match c {
            '\\' if quote == '"' => match chars.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some('r') => value.push('\r'),
                Some(c @ ('"' | '\\' | '$')) => value.push(c),
                Some(c) => value.extend(['\\', c]),
                None => return Read::Open,
            },
            c if c == quote => return closed(value, chars.as_str()),
            c => value.push(c),
        }
    }
    Read::Open
}

fn closed(value: String, rest: &str) -> Read {
    let rest = rest.trim_start();
    if rest.is_empty() || rest.starts_with('#') { Read::Value(value) } else { Read::Trailing }
}

/// Without quotes: up to a `#` that follows a space.
fn bare(written: &str) -> String {
    if written.starts_with('#') {
        return String::new();
    }
    written.split(" #").next().unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> BTreeMap<String, String> {
        parse(text, Path::new(".env")).unwrap()
    }

    fn refusal(text: &str) -> String {
        parse(text, Path::new(".env")).unwrap_err().to_string()
    }

    #[test]
    fn the_usual_shapes_are_read() {
        let found = read(
            "# keys\nA=1\nexport B = two words # why\nC='a # b'\nD=\"x\\n\\\"y\\\"\"\nE=a#b\nF=\nG=\"one\ntwo\"\nA=2\n",
        );
        let expected = [
            ("A", "2"),
            ("B", "two words"),
            ("C", "a # b"),
            ("D", "x\n\"y\""),
            ("E", "a#b"),
            ("F", ""),
            ("G", "one\ntwo"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found, BTreeMap::from(expected));
    }

    #[test]
    fn a_bad_line_is_named_by_number_and_its_text_is_not_repeated() {
        let told = refusal("A=1\nsk-secret-without-name\n");
        assert_eq!(told, "`.env` line 2: `NAME=VALUE` is expected");
        assert!(refusal("A='open\n").contains("never closed"));
        assert!(refusal("A='x' y\n").contains("closing quote"));
        assert!(refusal("A B=1\n").contains("letters, digits"));
    }

    #[test]
    fn the_process_wins_and_debug_shows_names_only() {
        let pair = |value: &str| BTreeMap::from([("K".to_owned(), value.to_owned())]);
        let both = Environment::new(pair("process"), pair("file"));
        assert_eq!(both.get("K"), Some("process"));
        assert_eq!(Environment::new(pair(""), pair("file")).get("K"), Some("file"));
        assert_eq!(format!("{both:?}"), r#"Environment { process: ["K"], dotenv: ["K"] }"#);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = parse(&text, Path::new(".env"));
        }
    }
}
