//! `herm explain command`: what would happen to a command line, and why.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::approval::{self, Asked, Files, Judgement, Mode, Outcome, Rules, Scene, Step, Verdict};
use crate::config::{Config, Loaded, RawConfig, Settings};
use crate::effects::profile_stream;
use crate::entry::{Exit, Failure, Out, Start, approvals, engine, store};
use crate::runtime::grants::{self, Fold};
use crate::runtime::{Clock, SystemClock};
use crate::tools::terminal::Terminal;

/// Say what would happen to a command line, and why: whether it runs, is asked about, or is blocked.
///
/// Without CMD it is read from stdin. Lasting yeses count, those of a running session do not. Nothing is
/// run, and nothing is written.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  herm explain command -- 'git push --force'
  herm explain command --scene cron --json -- 'rm -rf build'
  herm explain command --config other.yaml < script.sh")]
pub struct CommandLine {
    /// Where the command line comes from, which decides who would answer.
    #[arg(long, value_name = "SCENE", default_value = "cli")]
    scene: Place,

    /// Directory that it would run in, instead of the current one.
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// Settings to judge by, instead of those of the home.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// As one JSON object.
    #[arg(long)]
    json: bool,

    /// The command line, as one argument.
    #[arg(value_name = "CMD", allow_hyphen_values = true)]
    command: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Place {
    Cli,
    Gateway,
    Cron,
    SingleQuery,
}

impl Place {
    fn scene(self) -> Scene {
        match self {
            Self::Cli => Scene::Cli,
            Self::Gateway => Scene::Gateway,
            Self::Cron => Scene::Cron,
            Self::SingleQuery => Scene::SingleQuery,
        }
    }
}

impl CommandLine {
    /// Whether the command line comes on stdin.
    pub fn reads_stdin(&self) -> bool {
        self.command.is_none()
    }
}

pub fn run(arguments: &CommandLine, stdin: &[u8], start: &Start, out: &mut Out) -> Result<(), Failure> {
    let command = match &arguments.command {
        Some(command) => command.clone(),
        None => from_stdin(stdin)?,
    };
    let loaded = loaded(arguments, start)?;
    let here = std::env::current_dir()?;
    let cwd = arguments.cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
    let person = loaded.environment.get("HOME").map(PathBuf::from);
    let asked =
        Asked { command: &command, cwd: &cwd, home: person.as_deref(), agent_home: Some(loaded.home.root()) };
    let rules = engine::judging_rules(&loaded);
    let mut judgement = approval::judge(&asked, &rules, arguments.scene.scene(), &Files);
    let granted = granted(&judgement, &loaded)?;
    if granted.is_some() {
        (judgement.verdict, judgement.step, judgement.outcome) = (Verdict::Allow, Step::Grant, Outcome::Runs);
    }
    let granted = granted.as_ref();
    match arguments.json {
        true => out.json(&explained(&judgement, granted))?,
        false => out.line(told(&judgement, granted, &rules).trim_end())?,
    }
    Ok(())
}

/// A lasting yes, as `herm approvals list` shows it.
struct Granted {
    name: String,
    words: String,
}

/// The lasting yes that answers before anybody is asked. The judgement itself knows of none: they are
/// looked at after it, when a call runs as well.
fn granted(judgement: &Judgement, loaded: &Loaded) -> Result<Option<Granted>, Failure> {
    let Verdict::Ask { pattern, target, .. } = &judgement.verdict else { return Ok(None) };
    if judgement.outcome == Outcome::Runs {
        return Ok(None);
    }
    let pattern = loaded.redactor.redact(pattern);
    let target = target.as_ref().map(|target| loaded.redactor.redact(target));
    let asked = grants::Asked { tool: Terminal::NAME, pattern: &pattern, target: target.as_deref() };
    let (log, now) = (store::log(&loaded.home)?, SystemClock.now());
    let fold = Fold::of(&*log, profile_stream(loaded.home.profile_name()))?;
    Ok(fold.covering(asked, now).map(|(at, lasting)| Granted {
        name: approvals::name(at),
        words: approvals::in_words(at, lasting, now),
    }))
}

/// One newline at the end is the pipe's.
fn from_stdin(stdin: &[u8]) -> Result<String, Failure> {
    let text = std::str::from_utf8(stdin)
        .map_err(|_| Failure::message(Exit::Usage, "the command line on stdin is no UTF-8 text"))?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    if text.is_empty() {
        let failure = Failure::message(Exit::Usage, "there is no command line to explain");
        return Err(failure.hint("herm explain command -- 'CMD'"));
    }
    Ok(text.to_owned())
}

/// The configuration of the home, or that of another file in its place.
fn loaded(arguments: &CommandLine, start: &Start) -> Result<Loaded, Failure> {
    let Some(file) = &arguments.config else { return Ok(start.load(&[])?) };
    if !file.exists() {
        return Err(Failure::message(Exit::Usage, format!("there is no file `{}`", file.display())));
    }
    let environment = start.environment()?;
    let settings = Settings::decide(&start.home, &RawConfig::read(file)?, &environment, &[])?;
    let config = Config::of(&settings);
    let redactor = crate::config::Redactor::of(&config, &environment);
    Ok(Loaded { home: start.home.clone(), environment, settings, config, redactor })
}

fn explained(judgement: &Judgement, granted: Option<&Granted>) -> Value {
    let (rule, reason, pattern, target) = match &judgement.verdict {
        Verdict::Allow => (judgement.dangers.first().map(|danger| danger.rule), None, None, None),
        Verdict::Ask { reason, rule, pattern, target } => {
            (Some(*rule), Some(reason), Some(pattern), target.as_ref())
        }
        Verdict::Block { rule, shown } => (Some(*rule), Some(shown), None, None),
    };
    let dangers: Vec<Value> = judgement
        .dangers
        .iter()
        .map(|danger| json!({"rule": danger.rule, "reason": danger.reason, "pattern": danger.pattern, "target": danger.target}))
        .collect();
    json!({
        "verdict": verdict(judgement),
        "rule": rule,
        "step": judgement.step.name(),
        "outcome": judgement.outcome.name(),
        "grant": granted.map(|granted| &granted.name),
        "reason": reason.cloned().unwrap_or_else(|| why_allowed(judgement, granted)),
        "pattern": pattern,
        "target": target,
        "dangers": dangers,
        "commands": judgement.commands,
    })
}

fn verdict(judgement: &Judgement) -> &'static str {
    match judgement.verdict {
        Verdict::Allow => "allow",
        Verdict::Ask { .. } => "ask",
        Verdict::Block { .. } => "block",
    }
}

fn why_allowed(judgement: &Judgement, granted: Option<&Granted>) -> String {
    let dangers: Vec<&str> = judgement.dangers.iter().map(|danger| danger.reason.as_str()).collect();
    let dangers = dangers.join(" ");
    match judgement.step {
        Step::Off => format!("Approvals are off. {dangers}"),
        Step::AllowList => format!("It is on the list `command_allowlist`. {dangers}"),
        Step::Grant => {
            let words = granted.map(|granted| format!(" by {}", granted.words)).unwrap_or_default();
            format!("A lasting yes allows it{words}. {dangers}")
        }
        _ => "No rule finds it dangerous.".to_owned(),
    }
}

fn told(judgement: &Judgement, granted: Option<&Granted>, rules: &Rules) -> String {
    let mut text = match &judgement.verdict {
        Verdict::Allow => format!("It runs. {}\n", why_allowed(judgement, granted)),
        Verdict::Ask { reason, rule, pattern, .. } => {
            format!(
                "{}: {reason}\n  rule: {rule}\n  a lasting yes would cover: {pattern}\n",
                answerer(judgement, rules)
            )
        }
        Verdict::Block { rule, shown } => format!("It is blocked. {shown}\n  rule: {rule}\n"),
    };
    text.push_str(&format!("  step: {}\n", judgement.step.name()));
    if !judgement.commands.is_empty() {
        text.push_str("What would run:\n");
        judgement.commands.iter().for_each(|command| text.push_str(&format!("  {}\n", escaped(command))));
    }
    text
}

/// A terminal obeys control characters.
fn escaped(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn answerer(judgement: &Judgement, rules: &Rules) -> &'static str {
    match (judgement.outcome, rules.mode) {
        (Outcome::Denied, _) => "It is denied, as nobody can be asked here",
        (Outcome::Runs, _) => "It runs, as the scene's setting approves what nobody can be asked about",
        (_, Mode::Smart) => "A model is asked, and then a person",
        _ => "A person is asked",
    }
}
