//! The pipeline: the eight steps of the judgement, of which the last two are the caller's.
//!
//! The first three cannot be passed by anything. The scene decides who answers, and never what is
//! caught.

use super::judgement::{Asked, Danger, Grant, Judgement, Mode, Outcome, Preset, Rules, Scene, Step, Verdict};
use super::reading::{Invocation, Reading};
use super::scripts::Scripts;
use super::walk::{self, Place};
use super::{deny, floor, limits, rules, sudo};

/// Judges a command line. Pure but for what `scripts` reads.
pub fn judge(asked: &Asked<'_>, by: &Rules, scene: Scene, scripts: &dyn Scripts) -> Judgement {
    if let Some(why) = limits::exceeded(asked.command) {
        let shown = format!("The command line is too large to be checked: {why}.");
        return blocked(Step::Limits, limits::TOO_LARGE, shown, vec![]);
    }
    let place = Place { cwd: Some(asked.cwd), home: asked.home, agent_home: asked.agent_home, scripts };
    // Lines may end as they do on Windows; that hides nothing.
    let command = asked.command.replace("\r\n", "\n");
    let Some(reading) = walk::read(&command, place) else {
        let danger = rules::unread(asked.command, "there is no memory to read it in");
        return decided(by, scene, vec![], vec![danger]);
    };
    let commands: Vec<String> = reading.invocations.iter().map(Invocation::line).collect();
    if let Some(judgement) = refused(asked, by, &reading, &commands) {
        return judgement;
    }
    let dangers = rules::dangers(&reading, asked);
    decided(by, scene, commands, dangers)
}

/// Steps 1 to 3.
fn refused(asked: &Asked<'_>, by: &Rules, reading: &Reading, commands: &[String]) -> Option<Judgement> {
    if let Some((rule, command)) = floor::broken_rule(reading) {
        let shown = format!(
            "Refused for good by the hard line `{rule}`: {}. No setting and no person can allow it; do not try it in another wording.",
            rules::quoted(&command)
        );
        return Some(blocked(Step::HardLine, rule, shown, commands.to_vec()));
    }
    if !by.sudo_password
        && let Some(command) = sudo::feeds_password(reading)
    {
        let shown = format!(
            "Refused: {} would give `sudo` a password where no person types it. Run it without `-S` and `-A`, \
             or ask the person to run it.",
            rules::quoted(&command)
        );
        return Some(blocked(Step::SudoStdin, "sudo-stdin", shown, commands.to_vec()));
    }
    let (rule, command) = deny::broken_rule(&by.deny, reading, asked.command)?;
    let shown = format!(
        "Refused by the person's own rule {} in `approvals.deny`: {}. Do not try it in another wording.",
        rules::quoted(rule),
        rules::quoted(&command)
    );
    Some(blocked(Step::DenyRule, "user-deny", shown, commands.to_vec()))
}

fn blocked(step: Step, rule: &'static str, shown: String, commands: Vec<String>) -> Judgement {
    let verdict = Verdict::Block { rule, shown };
    Judgement { verdict, step, outcome: Outcome::Blocked, commands, dangers: vec![] }
}

/// Steps 4 to 6.
fn decided(by: &Rules, scene: Scene, commands: Vec<String>, dangers: Vec<Danger>) -> Judgement {
    let allowed = |step, commands, dangers| Judgement {
        verdict: Verdict::Allow,
        step,
        outcome: Outcome::Runs,
        commands,
        dangers,
    };
    if dangers.is_empty() {
        return allowed(Step::Passed, commands, dangers);
    }
    if by.mode == Mode::Off {
        return allowed(Step::Off, commands, dangers);
    }
    let listed = |danger: &&Danger| by.allowlist.contains(&danger.pattern);
    let granted = |danger: &&Danger| by.grants.iter().any(|grant| covers(grant, danger));
    let whole = pattern(&dangers);
    let open: Vec<&Danger> = dangers.iter().filter(|danger| !listed(danger) && !granted(danger)).collect();
    let Some(first) = open.first() else {
        let step = if dangers.iter().any(|danger| listed(&danger)) { Step::AllowList } else { Step::Grant };
        return allowed(step, commands, dangers);
    };
    // A yes to several dangers at once was a yes to exactly these.
    if by.allowlist.contains(&whole) {
        return allowed(Step::AllowList, commands, dangers);
    }
    if by.grants.iter().any(|grant| grant.pattern == whole && grant.target.is_none()) {
        return allowed(Step::Grant, commands, dangers);
    }
    let reasons: Vec<&str> = open.iter().map(|danger| danger.reason.as_str()).collect();
    let verdict = Verdict::Ask {
        reason: reasons.join(" "),
        rule: first.rule,
        pattern: whole,
        target: first.target.clone().filter(|_| dangers.len() == 1),
    };
    let (step, outcome) = answerer(by, scene);
    Judgement { verdict, step, outcome, commands, dangers }
}

/// Who answers: the preset where nobody is there.
fn answerer(by: &Rules, scene: Scene) -> (Step, Outcome) {
    let preset = match scene {
        Scene::Cli | Scene::Gateway => return (Step::Dangerous, Outcome::Asks),
        Scene::Cron => by.cron,
        Scene::SingleQuery => by.single_query,
    };
    match preset {
        Preset::Deny => (Step::Scene, Outcome::Denied),
        Preset::Approve => (Step::Scene, Outcome::Runs),
    }
}

fn covers(grant: &Grant, danger: &Danger) -> bool {
    grant.pattern == danger.pattern && (grant.target.is_none() || grant.target == danger.target)
}

/// What a lasting yes to all of it covers: the one danger, or exactly these together.
fn pattern(dangers: &[Danger]) -> String {
    let mut patterns: Vec<&str> = dangers.iter().map(|danger| danger.pattern.as_str()).collect();
    let mut known = std::collections::HashSet::new();
    patterns.retain(|pattern| known.insert(*pattern));
    patterns.join(" + ")
}
