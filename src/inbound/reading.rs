//! Reads settings of the gateway out of what the file says, and remembers all that is wrong with
//! them, each with what to write instead.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::config::{Error, Problem};

/// How alike a suggestion must be, from 0 to 1; below, it confuses more than it helps.
const LIKENESS_MIN: f64 = 0.75;

/// Stands for every id.
const EVERY: &str = "*";

/// Ids of a platform. None named is none, never all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ids {
    /// `*` stood there.
    pub every: bool,
    pub ids: BTreeSet<String>,
}

impl Ids {
    pub fn contains(&self, id: &str) -> bool {
        self.every || self.ids.contains(id)
    }

    pub fn is_empty(&self) -> bool {
        !self.every && self.ids.is_empty()
    }
}

impl<'a> FromIterator<&'a str> for Ids {
    fn from_iter<I: IntoIterator<Item = &'a str>>(ids: I) -> Self {
        let mut found = Self::default();
        for id in ids.into_iter().map(str::trim).filter(|id| !id.is_empty()) {
            if id == EVERY {
                found.every = true;
            } else {
                found.ids.insert(id.to_owned());
            }
        }
        found
    }
}

/// What would have been right, in words: `expected` after "is expected".
pub type Expected = &'static str;

/// # Errors
/// What would have been right.
pub fn yes(value: &Value) -> Result<bool, Expected> {
    let word = scalar(value).map(|word| word.to_ascii_lowercase());
    match word.as_deref() {
        Some("true" | "yes" | "on" | "1") => Ok(true),
        Some("false" | "no" | "off" | "0") => Ok(false),
        _ => Err("`true` or `false`"),
    }
}

/// A text, or a number that stands for one: ids are often numbers.
///
/// # Errors
/// What would have been right.
pub fn text(value: &Value) -> Result<String, Expected> {
    scalar(value).filter(|text| !text.is_empty()).ok_or("a text or a whole number")
}

/// A list, or texts with commas between.
///
/// # Errors
/// What would have been right.
pub fn texts(value: &Value) -> Result<Vec<String>, Expected> {
    const LIST: Expected = "a list of texts, or texts with commas between";
    let all = match value {
        Value::Null => vec![],
        Value::Array(items) => items.iter().map(scalar).collect::<Option<Vec<_>>>().ok_or(LIST)?,
        Value::Object(_) => return Err(LIST),
        one => scalar(one).ok_or(LIST)?.split(',').map(|word| word.trim().to_owned()).collect(),
    };
    Ok(all.into_iter().filter(|word| !word.is_empty()).collect())
}

/// # Errors
/// What would have been right.
pub fn ids(value: &Value) -> Result<Ids, Expected> {
    let ids = texts(value).map_err(|_| "a list of the platform's ids")?;
    Ok(ids.iter().map(String::as_str).collect())
}

/// A whole number is an id that somebody did not quote; one with a point has lost digits already.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Bool(yes) => Some(yes.to_string()),
        Value::Number(number) if !number.is_f64() => Some(number.to_string()),
        _ => None,
    }
}

/// Something that works, and perhaps not as it was meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {why}")]
pub struct Warning {
    pub key: String,
    pub why: String,
}

/// What was found so far.
#[derive(Default)]
pub struct Reading {
    problems: Vec<Problem>,
    pub warnings: Vec<Warning>,
}

impl Reading {
    /// The mapping at `path`; none where nothing stands there.
    pub fn section<'a>(&mut self, path: &str, value: Option<&'a Value>) -> Vec<(&'a String, &'a Value)> {
        match value {
            None | Some(Value::Null) => vec![],
            Some(Value::Object(fields)) => fields.iter().collect(),
            Some(_) => {
                self.problem(path, "is a section and takes keys, not a value".to_owned(), None);
                vec![]
            }
        }
    }

    /// What a value comes to; a wrong one is remembered, with an example of a right one.
    pub fn value<T>(
        &mut self,
        path: &str,
        (value, example): (&Value, &str),
        read: impl FnOnce(&Value) -> Result<T, Expected>,
    ) -> Option<T> {
        match read(value) {
            Ok(read) => Some(read),
            Err(expected) => {
                let reason = format!("cannot be `{}`: {expected} is expected", shown(value));
                let fix = format!("${{EDITOR:-vi}} config.yaml   # and write `{path}: {example}`");
                self.problem(path, reason, Some(fix));
                None
            }
        }
    }

    /// A variable that does not fit.
    pub fn misfit(&mut self, variable: &str, found: &str, expected: Expected) {
        let reason = format!("cannot be `{found}`: {expected} is expected");
        self.problem(variable, reason, Some(format!("unset {variable}")));
    }

    /// A key that nobody reads.
    pub fn unknown<'a>(&mut self, path: &str, known: impl IntoIterator<Item = &'a str>) {
        let (section, name) = path.rsplit_once('.').unwrap_or(("", path));
        let reason = match nearest(name, known) {
            Some(near) if section.is_empty() => format!("is not a setting; did you mean `{near}`?"),
            Some(near) => format!("is not a setting; did you mean `{section}.{near}`?"),
            None => "is not a setting".to_owned(),
        };
        self.problem(path, reason, None);
    }

    pub fn problem(&mut self, path: &str, reason: String, fix: Option<String>) {
        self.problems.push(Problem { line: None, key: path.to_owned(), reason, fix });
    }

    pub fn warn(&mut self, path: &str, why: String) {
        self.warnings.push(Warning { key: path.to_owned(), why });
    }

    /// # Errors
    /// Everything that is wrong.
    pub fn end(self) -> Result<Vec<Warning>, Error> {
        match self.problems.is_empty() {
            true => Ok(self.warnings),
            false => Err(Error::Problems { place: "the gateway's settings".into(), problems: self.problems }),
        }
    }
}

/// The known word that `word` most looks like; `None` if none looks like it.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.into_iter().map(|known| (strsim::jaro_winkler(known, word), known));
    let (likeness, near) = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (likeness >= LIKENESS_MIN).then_some(near)
}

/// Longest value that an error repeats, in characters.
const SHOWN_MAX: usize = 60;

fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.chars().take(SHOWN_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
