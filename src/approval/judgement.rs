//! What is asked, by which rules, and what comes of it: the words of the pipeline.

use std::path::Path;

/// A command line and the place where it would run.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub command: &'a str,
    pub cwd: &'a Path,
    /// Home directory of the person.
    pub home: Option<&'a Path>,
    /// herm's own home, where it is not `~/.herm`.
    pub agent_home: Option<&'a Path>,
}

/// Who decides about what is dangerous.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// A person.
    #[default]
    Manual,
    /// Another model first, then a person.
    Smart,
    /// Nobody is asked.
    Off,
}

/// What happens to a dangerous command line where nobody can be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    #[default]
    Deny,
    Approve,
}

/// Where the command line comes from, which decides who answers, and never what is caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scene {
    /// A conversation in a terminal.
    Cli,
    /// A conversation on a platform.
    Gateway,
    /// A job at its time: nobody is there.
    Cron,
    /// One question and one answer: nobody is there.
    SingleQuery,
}

impl From<herm_schema::events::Scene> for Scene {
    fn from(scene: herm_schema::events::Scene) -> Self {
        use herm_schema::events::Scene as Recorded;
        match scene {
            Recorded::Terminal => Self::Cli,
            Recorded::Chat => Self::Gateway,
            Recorded::SingleQuery => Self::SingleQuery,
            Recorded::Cron => Self::Cron,
        }
    }
}

/// A lasting yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// What it covers, as the question named it.
    pub pattern: String,
    /// Only for this path, host or remote; `None` is for any.
    pub target: Option<String>,
}

/// The person's settings, as far as they bear on a judgement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    pub mode: Mode,
    /// Wildcards for what never runs.
    pub deny: Vec<String>,
    /// Patterns that are never asked about.
    pub allowlist: Vec<String>,
    pub grants: Vec<Grant>,
    /// herm itself can give `sudo` its password, so a command line that does is nothing hidden.
    pub sudo_password: bool,
    pub cron: Preset,
    pub single_query: Preset,
}

/// What the rules say of a command line, whoever answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Allow,
    /// Somebody decides.
    Ask {
        /// For the person: one sentence.
        reason: String,
        /// Short name of the rule that asks.
        rule: &'static str,
        /// What a lasting yes would cover: program, subcommand and what is dangerous about it.
        pattern: String,
        /// The path, host or remote that it is about, where there is one.
        target: Option<String>,
    },
    /// It never runs.
    Block {
        rule: &'static str,
        /// For the model: what was refused, and what can be done instead.
        shown: String,
    },
}

/// The step of the pipeline that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// 0: too large to be read.
    Limits,
    /// 1: the twelve hard lines.
    HardLine,
    /// 2: a password for `sudo` on standard input.
    SudoStdin,
    /// 3: what the person never wants to run.
    DenyRule,
    /// 4: approvals are off.
    Off,
    /// 4: the permanent list.
    AllowList,
    /// 4: an earlier yes.
    Grant,
    /// 5: a dangerous pattern, or something that cannot be read.
    Dangerous,
    /// 6: the scene's preset.
    Scene,
    /// Nothing was found.
    Passed,
}

impl Step {
    pub fn name(self) -> &'static str {
        match self {
            Self::Limits => "limits",
            Self::HardLine => "hard-line",
            Self::SudoStdin => "sudo-stdin",
            Self::DenyRule => "deny-rule",
            Self::Off => "off",
            Self::AllowList => "allow-list",
            Self::Grant => "grant",
            Self::Dangerous => "dangerous",
            Self::Scene => "scene",
            Self::Passed => "passed",
        }
    }
}

/// What happens then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Runs,
    /// The other model is asked (in the mode `smart`), then a person.
    Asks,
    /// Nobody can be asked, and the preset says no.
    Denied,
    Blocked,
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Asks => "asks",
            Self::Denied => "denied",
            Self::Blocked => "blocked",
        }
    }
}

/// What comes of a command line, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: Verdict,
    pub step: Step,
    pub outcome: Outcome,
    /// Everything that would run, as the shell would see the words; what is not known is `…`.
    pub commands: Vec<String>,
    /// What was found dangerous, also where it runs all the same.
    pub dangers: Vec<Danger>,
}

/// Something about a command line that somebody has to decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Danger {
    pub rule: &'static str,
    /// One sentence.
    pub reason: String,
    pub pattern: String,
    pub target: Option<String>,
}
