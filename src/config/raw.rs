//! What `config.yaml` says: every setting optional, no default applied, nothing unknown let through.

use std::collections::BTreeMap;
use std::path::Path;

use serde_yaml_ng::Value as Yaml;

use super::outline::{self, Entry};
use super::{Error, Key, Problem, Value, keys};

/// The settings that a file gives. Its `Debug` shows names only: a value may be a secret.
#[derive(Clone, Default, PartialEq)]
pub struct RawConfig {
    /// By path.
    values: BTreeMap<&'static str, Given>,
}

/// A value and the line it stands on, from 1.
#[derive(Clone, PartialEq)]
pub struct Given {
    pub value: Value,
    pub line: Option<usize>,
}

impl RawConfig {
    /// Reads the file; one that is not there gives nothing.
    ///
    /// # Errors
    /// [`Error::Io`], or those of [`RawConfig::parse`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(Error::Io { operation: "read", path: path.to_owned(), source }),
        }
    }

    /// Reads the text of a file; `path` is for the errors only.
    ///
    /// # Errors
    /// [`Error::Yaml`] for what is no YAML, [`Error::Problems`] with every key that is unknown and
    /// every value that does not fit.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Error> {
        let yaml: Yaml = serde_yaml_ng::from_str(text)
            .map_err(|error| Error::Yaml { path: path.to_owned(), reason: error.to_string() })?;
        let mut reading =
            Reading { entries: outline::read(text), raw: Self::default(), problems: Vec::new() };
        match &yaml {
            Yaml::Null => {}
            Yaml::Mapping(_) => reading.section("", &yaml),
            _ => reading.problem("", "the file must be a mapping of sections and keys".into(), None),
        }
        if reading.problems.is_empty() {
            return Ok(reading.raw);
        }
        Err(Error::Problems { place: format!("`{}`", path.display()), problems: reading.problems })
    }

    pub fn get(&self, key: &Key) -> Option<&Given> {
        self.values.get(key.path)
    }
}

impl std::fmt::Debug for RawConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

struct Reading {
    entries: Vec<Entry>,
    raw: RawConfig,
    problems: Vec<Problem>,
}

impl Reading {
    fn section(&mut self, prefix: &str, yaml: &Yaml) {
        let Yaml::Mapping(mapping) = yaml else { return };
        for (name, value) in mapping {
            let Some(name) = name.as_str() else {
                self.problem(prefix, "holds a key that is not a text".into(), None);
                continue;
            };
            let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
            match keys::find(&path) {
                Some(key) => self.value(key, value),
                None if keys::is_section(&path) => self.subsection(&path, value),
                None => self.unknown(&path, value.is_mapping()),
            }
        }
    }

    fn subsection(&mut self, path: &str, value: &Yaml) {
        match value {
            Yaml::Mapping(_) => self.section(path, value),
            // A section whose keys are all commented out.
            Yaml::Null => {}
            _ => {
                let first = keys::KEYS.iter().find(|key| key.path.starts_with(path)).map(|key| key.path);
                let example = first.map(|key| format!(", such as `{key}`")).unwrap_or_default();
                self.problem(path, format!("is a section and takes keys{example}, not a value"), None);
            }
        }
    }

    fn value(&mut self, key: &'static Key, yaml: &Yaml) {
        let line = self.line(key.path);
        match key.kind.of_yaml(yaml) {
            Some(value) => {
                self.raw.values.insert(key.path, Given { value, line });
            }
            None => {
                let reason = format!("cannot be {}: {} is expected", shown(key, yaml), key.kind.expected());
                self.problem(key.path, reason, Some(format!("herm config explain {}", key.path)));
            }
        }
    }

    fn unknown(&mut self, path: &str, is_mapping: bool) {
        let near = if is_mapping { keys::nearest_section(path) } else { None };
        match near.or_else(|| keys::nearest(path)) {
            Some(near) => {
                let reason = format!("is not a setting; did you mean `{near}`?");
                self.problem(path, reason, Some(format!("herm config explain {near}")));
            }
            None => self.problem(path, "is not a setting".into(), Some("herm config show".into())),
        }
    }

    fn problem(&mut self, path: &str, reason: String, fix: Option<String>) {
        self.problems.push(Problem { line: self.line(path), key: path.to_owned(), reason, fix });
    }

    fn line(&self, path: &str) -> Option<usize> {
        outline::deepest(&self.entries, path).map(|entry| entry.line + 1)
    }
}

/// What stands there, unless it is a secret.
fn shown(key: &Key, yaml: &Yaml) -> String {
    if key.is_secret() {
        return "that".into();
    }
    let text = serde_yaml_ng::to_string(yaml).unwrap_or_default();
    format!("`{}`", text.trim_end().replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<RawConfig, Error> {
        RawConfig::parse(text, Path::new("config.yaml"))
    }

    fn problems(text: &str) -> Vec<Problem> {
        match parse(text).unwrap_err() {
            Error::Problems { problems, .. } => problems,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn nothing_is_fine() {
        for text in ["", "# only a comment\n", "model:\n  # default: x\n"] {
            assert_eq!(parse(text).unwrap(), RawConfig::default());
        }
    }

    #[test]
    fn values_know_their_line() {
        let raw = parse("# head\nagent:\n  max_turns: 12\n").unwrap();
        let given = raw.get(&keys::MAX_TURNS).unwrap();
        assert_eq!((&given.value, given.line), (&Value::Integer(12), Some(3)));
        assert_eq!(format!("{raw:?}"), r#"{"agent.max_turns"}"#);
    }

    #[test]
    fn every_problem_is_told_with_line_path_and_fix() {
        let found = problems("model:\n  defualt: x\nagent:\n  max_turns: many\nzzz: 1\nterminal: 3\n");
        let told: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "line 2: `model.defualt`: is not a setting; did you mean `model.default`?",
                "line 4: `agent.max_turns`: cannot be `many`: a whole number from 1 to 4294967295 is expected",
                "line 5: `zzz`: is not a setting",
                "line 6: `terminal`: is a section and takes keys, such as `terminal.timeout`, not a value",
            ]
        );
        assert_eq!(found[0].fix.as_deref(), Some("herm config explain model.default"));
    }

    #[test]
    fn nested_paths_and_flow_mappings_are_named_too() {
        let found = problems("tool_loop_guardrails: {warn_after: {exact_failures: 3}}\n");
        assert_eq!(found[0].key, "tool_loop_guardrails.warn_after.exact_failures");
        assert_eq!(found[0].line, Some(1));
        assert!(found[0].reason.contains("did you mean `tool_loop_guardrails.warn_after.exact_failure`"));
    }

    #[test]
    fn a_misspelt_section_is_answered_with_a_section() {
        let found = problems("agnet:\n  max_turns: 3\n");
        assert_eq!(found[0].to_string(), "line 1: `agnet`: is not a setting; did you mean `agent`?");
    }

    #[test]
    fn a_secret_is_not_repeated_in_the_error() {
        let found = problems("model:\n  api_key: [sk-verysecret]\n");
        assert!(!found[0].reason.contains("verysecret"));
    }

    #[test]
    fn what_is_no_yaml_names_the_place() {
        let error = parse("model: [\n").unwrap_err();
        assert!(matches!(&error, Error::Yaml { reason, .. } if reason.contains("line")), "{error}");
        assert!(parse("a: 1\na: 2\n").is_err(), "a key that stands twice is an error");
    }
}
