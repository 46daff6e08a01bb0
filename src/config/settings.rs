//! Which layer wins: command line, environment, file, default. Remembers the ones that lost.

use std::fmt;
use std::path::PathBuf;

use super::{Config, Environment, Error, Home, KEYS, Key, Problem, RawConfig, Redactor, Secret, Value, keys};

/// A setting given on the command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    pub key: &'static Key,
    /// The option, for the explanation, such as `--model`.
    pub option: &'static str,
    pub value: Value,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    CommandLine { option: &'static str },
    Variable { name: &'static str },
    DotEnv { name: &'static str, path: PathBuf },
    File { path: PathBuf, line: Option<usize> },
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine { option } => write!(f, "command line `{option}`"),
            Self::Variable { name } => write!(f, "environment variable `{name}`"),
            Self::DotEnv { name, path } => write!(f, "`{name}` in `{}`", path.display()),
            Self::File { path, line: Some(line) } => write!(f, "`{}` line {line}", path.display()),
            Self::File { path, line: None } => write!(f, "`{}`", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// What a setting is, where that comes from, and what it overrides.
#[derive(Clone, PartialEq)]
pub struct Setting {
    pub key: &'static Key,
    /// Winner first; the last one is the default.
    layers: Vec<(Origin, Value)>,
}

impl Setting {
    pub fn value(&self) -> Value {
        self.layers.first().map_or_else(|| self.key.default_value(), |(_, value)| value.clone())
    }

    pub fn origin(&self) -> Origin {
        self.layers.first().map_or(Origin::Default, |(origin, _)| origin.clone())
    }

    pub fn is_default(&self) -> bool {
        self.layers.len() <= 1
    }

    /// Origin and value of every layer, winner first.
    pub fn layers(&self) -> &[(Origin, Value)] {
        &self.layers
    }

    /// The value as a person may see it.
    pub fn shown(&self, value: &Value) -> String {
        match value {
            Value::Text(text) if self.key.is_secret() && !text.is_empty() => Secret::new(text).fingerprint(),
            other => other.yaml(),
        }
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} from {}", self.key.path, self.shown(&self.value()), self.origin())
    }
}

/// Every setting, decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    settings: Vec<Setting>,
}

impl Settings {
    /// Lays the layers over one another.
    ///
    /// # Errors
    /// [`Error::Problems`] with every variable whose value does not fit its setting.
    pub fn decide(
        home: &Home,
        raw: &RawConfig,
        environment: &Environment,
        overrides: &[Override],
    ) -> Result<Self, Error> {
        let mut problems = Vec::new();
        let settings = KEYS
            .iter()
            .map(|key| {
                let mut layers = Vec::new();
                let given = overrides.iter().filter(|given| given.key.path == key.path);
                layers.extend(given.map(|g| (Origin::CommandLine { option: g.option }, g.value.clone())));
                for (origin, text) in variables(home, environment, key) {
                    match key.kind.of_text(text) {
                        Some(value) => layers.push((origin, value)),
                        None => problems.push(misfit(key, &origin, text)),
                    }
                }
                if let Some(given) = raw.get(key) {
                    let origin = Origin::File { path: home.config_file(), line: given.line };
                    layers.push((origin, given.value.clone()));
                }
                layers.push((Origin::Default, key.default_value()));
                Setting { key, layers }
            })
            .collect();
        if problems.is_empty() {
            return Ok(Self { settings });
        }
        Err(Error::Problems { place: "the environment".into(), problems })
    }

    /// Those of somebody who has set nothing.
    pub fn defaults() -> Self {
        let setting =
            |key: &'static Key| Setting { key, layers: vec![(Origin::Default, key.default_value())] };
        Self { settings: KEYS.iter().map(setting).collect() }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter()
    }

    /// Paths of the settings that have another value in `other`.
    pub fn differing(&self, other: &Self) -> Vec<String> {
        let differs = |setting: &&Setting| other.value(setting.key) != setting.value();
        self.settings.iter().filter(differs).map(|setting| setting.key.path.to_owned()).collect()
    }

    /// # Errors
    /// [`Error::UnknownKey`] with the nearest one there is.
    pub fn find(&self, path: &str) -> Result<&Setting, Error> {
        let unknown =
            || Error::UnknownKey { key: path.to_owned(), suggestion: keys::nearest(path).map(Into::into) };
        self.settings.iter().find(|setting| setting.key.path == path).ok_or_else(unknown)
    }

    /// The winning value of a row of the table.
    pub(super) fn value(&self, key: &Key) -> Value {
        let setting = self.settings.iter().find(|setting| setting.key.path == key.path);
        setting.map_or_else(|| key.default_value(), Setting::value)
    }
}

fn variables<'a>(
    home: &'a Home,
    environment: &'a Environment,
    key: &'static Key,
) -> impl Iterator<Item = (Origin, &'a str)> {
    let process = environment.process_value(key.env).map(|text| (Origin::Variable { name: key.env }, text));
    let dotenv = environment
        .dotenv_value(key.env)
        .map(|text| (Origin::DotEnv { name: key.env, path: home.env_file() }, text));
    process.into_iter().chain(dotenv)
}

fn misfit(key: &Key, origin: &Origin, text: &str) -> Problem {
    let found = if key.is_secret() { "that".to_owned() } else { format!("`{text}`") };
    let fix = match origin {
        Origin::Variable { name } => format!("unset {name}"),
        _ => format!("herm config explain {}", key.path),
    };
    Problem {
        line: None,
        key: key.env.to_owned(),
        reason: format!("cannot be {found} ({origin}): {} is expected", key.kind.expected()),
        fix: Some(fix),
    }
}

/// Everything that is known once the configuration is read.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub home: Home,
    pub environment: Environment,
    pub settings: Settings,
    pub config: Config,
    /// Knows every secret that the configuration knows.
    pub redactor: Redactor,
}

/// Reads file and environment, and decides.
///
/// # Errors
/// Whatever is wrong with the file, `.env`, or a variable.
pub fn load(home: Home, environment: Environment, overrides: &[Override]) -> Result<Loaded, Error> {
    let raw = RawConfig::read(&home.config_file())?;
    let settings = Settings::decide(&home, &raw, &environment, overrides)?;
    let config = Config::of(&settings);
    let redactor = Redactor::of(&config, &environment);
    Ok(Loaded { home, environment, settings, config, redactor })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;

    fn home() -> Home {
        Home::at("/h")
    }

    fn raw(text: &str) -> RawConfig {
        RawConfig::parse(text, Path::new("/h/config.yaml")).unwrap()
    }

    fn variable(value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("HERM_MAX_TURNS".to_owned(), value.to_owned())])
    }

    fn told(settings: &Settings) -> Vec<String> {
        let setting = settings.find("agent.max_turns").unwrap();
        setting.layers().iter().map(|(origin, value)| format!("{} from {origin}", value.yaml())).collect()
    }

    #[test]
    fn each_layer_wins_over_the_ones_behind_it_and_all_are_remembered() {
        let file = raw("agent:\n  max_turns: 4\n");
        let environment = Environment::new(variable("2"), variable("3"));
        let option = Override { key: &keys::MAX_TURNS, option: "--max-turns", value: Value::Integer(1) };
        let all = Settings::decide(&home(), &file, &environment, &[option]).unwrap();
        assert_eq!(
            told(&all),
            [
                "1 from command line `--max-turns`",
                "2 from environment variable `HERM_MAX_TURNS`",
                "3 from `HERM_MAX_TURNS` in `/h/.env`",
                "4 from `/h/config.yaml` line 2",
                "90 from default",
            ]
        );
        assert_eq!(Config::of(&all).iterations_max, 1);
        let file_only = Settings::decide(&home(), &file, &Environment::default(), &[]).unwrap();
        assert_eq!(told(&file_only).len(), 2);
        assert_eq!(Config::of(&file_only).iterations_max, 4);
    }

    #[test]
    fn a_variable_that_does_not_fit_is_refused_with_the_fix() {
        let environment = Environment::new(variable("lots"), BTreeMap::new());
        let error = Settings::decide(&home(), &RawConfig::default(), &environment, &[]).unwrap_err();
        assert!(error.to_string().contains("`HERM_MAX_TURNS`: cannot be `lots`"), "{error}");
        assert_eq!(error.hint().as_deref(), Some("unset HERM_MAX_TURNS"));
    }

    #[test]
    fn an_unknown_key_is_answered_with_the_nearest() {
        let settings =
            Settings::decide(&home(), &RawConfig::default(), &Environment::default(), &[]).unwrap();
        let error = settings.find("agent.maxturns").unwrap_err();
        assert_eq!(error.hint().as_deref(), Some("herm config explain agent.max_turns"));
    }

    #[test]
    fn a_secret_is_shown_as_its_fingerprint() {
        let file = raw("model:\n  api_key: sk-abcdefgh12345678\n");
        let settings = Settings::decide(&home(), &file, &Environment::default(), &[]).unwrap();
        let setting = settings.find("model.api_key").unwrap();
        assert!(setting.shown(&setting.value()).starts_with("key-"));
    }
}
