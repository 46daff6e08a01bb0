//! `herm config`: what the settings are, where they come from, and changing one.

use clap::{Args, Subcommand};
use serde_json::json;

use super::{Exit, Failure, Out, Start};
use crate::config::{self, Environment, Key, Origin, RawConfig, Setting, Settings, keys};

/// Show, explain and change settings.
#[derive(Args, Debug)]
pub struct ConfigCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Say where the configuration is kept.
    #[command(after_help = "\
Examples:
  herm config path
  herm config path --json")]
    Path {
        /// One JSON object instead of the path of `config.yaml`.
        #[arg(long)]
        json: bool,
    },
    /// Show settings with their values and where they come from.
    #[command(after_help = "\
Examples:
  herm config show
  herm config show compression
  herm config show --changed --json")]
    Show {
        /// Only this setting or section.
        section: Option<String>,
        /// Only what is not the default.
        #[arg(long)]
        changed: bool,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Change a setting in `config.yaml`; every other line stays as it is.
    #[command(after_help = "\
Examples:
  herm config set model.default qwen3-coder
  herm config set agent.max_turns 40
  herm config set command_allowlist '[cargo test, cargo check]'")]
    Set {
        /// Such as `model.default`.
        key: String,
        /// Its new value.
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Say what a setting means, what it is, where that comes from, and what it overrides.
    #[command(after_help = "\
Examples:
  herm config explain compression.threshold
  herm config explain model.provider --json")]
    Explain {
        /// Such as `model.default`, or a section.
        key: String,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Print an example `config.yaml` with every setting and its default.
    #[command(after_help = "\
Examples:
  herm config example > config.example.yaml
  herm config example --schema")]
    Example {
        /// The JSON schema of the file instead, for an editor.
        #[arg(long)]
        schema: bool,
    },
}

pub fn run(arguments: &ConfigCommand, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::Path { json } => path(*json, start, out)?,
        Action::Show { section, changed, json } => show(section.as_deref(), *changed, *json, start, out)?,
        Action::Set { key, value } => set(key, value, start, out)?,
        Action::Explain { key, json } => return explain(key, *json, start, out),
        Action::Example { schema: true } => out.raw(&format!("{:#}\n", config::json_schema()))?,
        Action::Example { schema: false } => out.raw(&config::example())?,
    }
    out.end()?;
    Ok(Exit::Ok)
}

fn path(json: bool, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let home = &start.home;
    if json {
        out.json(&json!({
            "home": home.root(), "config": home.config_file(), "env": home.env_file(), "soul": home.soul_file(),
        }))?;
    } else {
        out.line(&home.config_file().display().to_string())?;
    }
    Ok(())
}

fn show(
    section: Option<&str>,
    changed: bool,
    json: bool,
    start: &Start,
    out: &mut Out,
) -> Result<(), Failure> {
    let loaded = start.load(&[])?;
    if let Some(section) = section
        && !keys::is_section(section)
    {
        loaded.settings.find(section)?;
    }
    let wanted = |setting: &&Setting| {
        let within = section.is_none_or(|section| lies_in(setting.key, section));
        within && !(changed && setting.is_default())
    };
    for setting in loaded.settings.iter().filter(wanted) {
        let value = setting.value();
        if json {
            out.json(&as_json(setting))?;
        } else {
            let origin = setting.origin();
            let aside = if origin == Origin::Default { String::new() } else { format!("   # {origin}") };
            out.line(&format!("{}: {}{aside}", setting.key.path, setting.shown(&value)))?;
        }
    }
    Ok(())
}

fn lies_in(key: &Key, section: &str) -> bool {
    key.path.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn as_json(setting: &Setting) -> serde_json::Value {
    let value = |value: &config::Value| {
        if setting.key.is_secret() { setting.shown(value).into() } else { value.json() }
    };
    let overrides: Vec<_> = setting
        .layers()
        .iter()
        .skip(1)
        .map(|(origin, layer)| json!({"value": value(layer), "from": origin.to_string()}))
        .collect();
    json!({
        "key": setting.key.path,
        "value": value(&setting.value()),
        "from": setting.origin().to_string(),
        "overrides": overrides,
        "expected": setting.key.kind.expected(),
        "variable": setting.key.env,
        "doc": setting.key.doc,
    })
}

/// Changes one setting in the file, and says what it is then.
///
/// # Errors
/// The setting or the value is not known, or the file cannot be edited.
pub fn set(path: &str, value: &str, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let file = start.home.config_file();
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(source) => return Err(config::Error::Io { operation: "read", path: file, source }.into()),
    };
    let changed = config::set(&text, path, value, &file)?;
    start.home.create()?;
    config::write_atomically(&file, &changed)?;
    let loaded = start.load(&[])?;
    let setting = loaded.settings.find(path)?;
    let in_file = setting.layers().iter().find(|(origin, _)| matches!(origin, Origin::File { .. }));
    if let Some((_, value)) = in_file {
        out.line(&format!("{path}: {}   # {}", setting.shown(value), file.display()))?;
    }
    if !matches!(setting.origin(), Origin::File { .. }) {
        eprintln!("warning: `{path}` stays as it is: the {} overrides the file", setting.origin());
    }
    Ok(())
}

fn explain(path: &str, json: bool, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    // Whoever has a broken file must still learn what the setting takes.
    let (settings, broken) = match start.load(&[]) {
        Ok(loaded) => (loaded.settings, None),
        Err(error) => (defaults(start)?, Some(error)),
    };
    let wanted: Vec<&Setting> = if keys::is_section(path) {
        settings.iter().filter(|setting| lies_in(setting.key, path)).collect()
    } else {
        vec![settings.find(path)?]
    };
    for (index, setting) in wanted.into_iter().enumerate() {
        if json {
            out.json(&as_json(setting))?;
            continue;
        }
        if index > 0 {
            out.line("")?;
        }
        out.line(&explanation(setting, broken.is_some()))?;
    }
    out.end()?;
    match broken {
        None => Ok(Exit::Ok),
        // Without the hint, which would lead back here.
        Some(error) => Err(Failure { hint: None, ..error.into() }),
    }
}

/// The settings of somebody who has set nothing.
fn defaults(start: &Start) -> Result<Settings, config::Error> {
    Settings::decide(&start.home, &RawConfig::default(), &Environment::default(), &[])
}

fn explanation(setting: &Setting, broken: bool) -> String {
    let key = setting.key;
    let mut lines = vec![key.path.to_owned(), format!("  {}", key.doc)];
    if !broken {
        lines.push(format!("  value:     {}", setting.shown(&setting.value())));
        lines.push(format!("  from:      {}", setting.origin()));
        for (origin, value) in setting.layers().iter().skip(1) {
            lines.push(format!("  overrides: {} ({origin})", setting.shown(value)));
        }
    }
    lines.push(format!("  takes:     {}", key.kind.expected()));
    lines.push(format!("  default:   {}", key.default_value().yaml()));
    lines.push(format!("  variable:  {}", key.env));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn setting(text: &str, path: &str) -> Setting {
        let home = config::Home::at("/h");
        let raw = RawConfig::parse(text, Path::new("/h/config.yaml")).unwrap();
        let settings = Settings::decide(&home, &raw, &Environment::default(), &[]).unwrap();
        settings.find(path).unwrap().clone()
    }

    #[test]
    fn an_explanation_says_value_origin_what_it_overrides_and_the_doc() {
        let text = explanation(&setting("compression:\n  threshold: 0.7\n", "compression.threshold"), false);
        assert_eq!(
            text,
            "\
compression.threshold
  Share of the context window, less `model.max_tokens`, at which compression starts.
  value:     0.7
  from:      `/h/config.yaml` line 2
  overrides: 0.5 (default)
  takes:     a number from 0.1 to 0.95
  default:   0.5
  variable:  HERM_COMPRESSION_THRESHOLD"
        );
    }

    #[test]
    fn json_never_holds_a_secret() {
        let object = as_json(&setting("model: {api_key: sk-0123456789abcdef}\n", "model.api_key"));
        assert!(object["value"].as_str().unwrap().starts_with("key-"));
        assert!(!object.to_string().contains("0123456789abcdef"));
    }
}
