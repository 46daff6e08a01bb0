//! `herm doctor`: each line OK, a problem, or something worth knowing, with the fix.
//!
//! A check is a row in [`checks`]: a name and a closure that finds out. It changes nothing.

use std::path::Path;

use clap::Args;
use serde::Serialize;

use super::{Exit, Failure, Out, Start, engine};
use crate::config::{Home, Loaded};
use crate::providers::resolve;

mod environment;
mod machine;
mod records;

/// Look at everything that herm needs, and say what to do where something is missing.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  herm doctor
  herm doctor --json")]
pub struct Doctor {
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
}

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Ok,
    /// It works, and there is something worth knowing.
    Note,
    Problem,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub level: Level,
    pub what: String,
    /// A command to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Finding {
    pub fn ok(what: impl Into<String>) -> Self {
        Self { level: Level::Ok, what: what.into(), fix: None }
    }

    pub fn note(what: impl Into<String>, fix: Option<String>) -> Self {
        Self { level: Level::Note, what: what.into(), fix }
    }

    pub fn problem(what: impl Into<String>, fix: Option<String>) -> Self {
        Self { level: Level::Problem, what: what.into(), fix }
    }

    /// A failure as a problem with its hint as the fix.
    pub fn of(failure: &Failure) -> Self {
        let causes: Vec<String> = failure.error.chain().map(ToString::to_string).collect();
        Self::problem(causes.join(": "), failure.hint.clone())
    }
}

/// One row: what is looked at, and how.
pub struct Check<'a> {
    pub name: &'static str,
    pub find: Box<dyn FnOnce() -> Finding + 'a>,
}

impl<'a> Check<'a> {
    pub fn new(name: &'static str, find: impl FnOnce() -> Finding + 'a) -> Self {
        Self { name, find: Box::new(find) }
    }
}

pub fn run(arguments: &Doctor, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    let loaded = start.load(&[]).map_err(Failure::from);
    report(checks(&start.home, &loaded), arguments.json, out)
}

/// Every check, in the order in which a person would mend things.
fn checks<'a>(home: &'a Home, loaded: &'a Result<Loaded, Failure>) -> Vec<Check<'a>> {
    let unsafe_allowed = loaded.as_ref().is_ok_and(|l| l.config.security.allow_unsafe_file_system);
    vec![
        Check::new("home", || machine::home(home)),
        Check::new("configuration", || configuration(loaded)),
        Check::new("secrets", || machine::private(&home.env_file())),
        Check::new("file system", move || machine::file_system(home, unsafe_allowed)),
        Check::new("disk", || machine::disk(home)),
        Check::new("lock", || records::lock(home)),
        Check::new("log", || records::log(home)),
        Check::new("model", || model(loaded)),
        Check::new("commands", || environment::commands(home, loaded)),
        Check::new("terminal", machine::terminal),
        Check::new("editor", machine::editor),
    ]
}

fn configuration(loaded: &Result<Loaded, Failure>) -> Finding {
    match loaded {
        Ok(loaded) => {
            let changed = loaded.settings.iter().filter(|setting| !setting.is_default()).count();
            Finding::ok(format!("valid, {changed} settings are not the default"))
        }
        Err(failure) => Finding::of(failure),
    }
}

/// What to run when the model cannot be had.
const MODEL_FIX: &str = "herm config explain model   # or: herm chat --provider offline";

/// Which model would be called, why, and whether it answers.
fn model(loaded: &Result<Loaded, Failure>) -> Finding {
    let Ok(loaded) = loaded else {
        return Finding::problem("cannot be found out before the configuration is valid", None);
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Finding::problem(format!("no thread for the network: {error}"), None),
    };
    runtime.block_on(async {
        let resolved = match engine::model(loaded).await {
            Ok(resolved) => resolved,
            Err(failure) => return Finding::of(&failure.hint(MODEL_FIX)),
        };
        let chosen =
            format!("`{}` of {} ({})", resolved.choice.model, resolved.choice.provider, resolved.why);
        match resolve::reachable(&resolved).await {
            Ok(how) => Finding::ok(format!("{chosen}\n{how}")),
            Err(why) => Finding::problem(
                format!("{chosen}\nno answer: {}", loaded.redactor.redact(&why)),
                Some(MODEL_FIX.into()),
            ),
        }
    })
}

/// Runs the checks and prints each as soon as it is known. Any problem makes the exit status 1.
fn report(checks: Vec<Check<'_>>, json: bool, out: &mut Out) -> Result<Exit, Failure> {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let mut problems = 0_usize;
    for check in checks {
        let finding = (check.find)();
        problems += usize::from(finding.level == Level::Problem);
        if json {
            out.json(&Row { check: check.name, finding: &finding })?;
        } else {
            print(check.name, width, &finding, out)?;
        }
        out.end()?;
    }
    Ok(if problems == 0 { Exit::Ok } else { Exit::Failed })
}

#[derive(Serialize)]
struct Row<'a> {
    check: &'static str,
    #[serde(flatten)]
    finding: &'a Finding,
}

fn print(name: &str, width: usize, finding: &Finding, out: &mut Out) -> Result<(), Failure> {
    let level = match finding.level {
        Level::Ok => "OK     ",
        Level::Note => "note   ",
        Level::Problem => "PROBLEM",
    };
    let indent = format!("\n{}", " ".repeat(10 + width));
    out.line(&format!("{level}  {name:width$} {}", finding.what.replace('\n', &indent)))?;
    if let Some(fix) = &finding.fix {
        out.line(&format!("{}fix: {fix}", indent.trim_start_matches('\n')))?;
    }
    Ok(())
}

/// The folder that is there: the path itself, or the nearest one above it.
fn existing(path: &Path) -> &Path {
    path.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A place to write that can be read afterwards.
    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn reported(json: bool) -> (Exit, String) {
        let paper = Paper::default();
        let mut out = Out::to(paper.clone());
        let checks = vec![
            Check::new("home", || Finding::ok("`/h` is there")),
            Check::new("provider", || {
                Finding::problem("no answer\nfrom anybody", Some("herm config set …".into()))
            }),
        ];
        let exit = report(checks, json, &mut out).unwrap();
        let text = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        (exit, text)
    }

    #[test]
    fn each_line_has_its_level_and_its_fix() {
        let (exit, text) = reported(false);
        assert_eq!(exit, Exit::Failed);
        assert_eq!(
            text,
            "\
OK       home     `/h` is there
PROBLEM  provider no answer
                  from anybody
                  fix: herm config set …
"
        );
    }

    #[test]
    fn json_is_one_object_a_line() {
        let (_, text) = reported(true);
        let rows: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows[0], serde_json::json!({"check": "home", "level": "ok", "what": "`/h` is there"}));
        assert_eq!(rows[1]["level"], "problem");
    }

    #[test]
    fn a_broken_configuration_is_a_problem_and_the_rest_is_still_looked_at() {
        let scratch = tempfile::tempdir().unwrap();
        let start = Start { home: Home::at(scratch.path()) };
        std::fs::write(start.home.config_file(), "modle: 1\n").unwrap();
        let loaded = start.load(&[]).map_err(Failure::from);
        let mut findings = checks(&start.home, &loaded).into_iter().map(|check| (check.name, (check.find)()));
        assert_eq!(findings.next().map(|(name, _)| name), Some("home"));
        let (_, configuration) = findings.next().unwrap();
        assert_eq!(configuration.level, Level::Problem);
        assert!(configuration.what.contains("modle"), "{configuration:?}");
        let (_, model) = findings.find(|(name, _)| *name == "model").unwrap();
        assert_eq!(model.level, Level::Problem);
    }
}
