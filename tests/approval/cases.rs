//! Public cases: expected verdicts of command lines, under the settings that the case names.

use std::path::Path;

use herm::approval::{Asked, Mode, NoScripts, Outcome, Preset, Rules, Scene, judge};
use serde_json::Value;

use super::{HOME, judged, word};

fn cases() -> Vec<Value> {
    include_str!("cases.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_command_of_every_case_gets_the_verdict_that_is_expected() {
    let mut checked = 0;
    let mut wrong = vec![];
    for case in cases() {
        let config = &case["input"]["config"];
        let rules = Rules { deny: strings(&config["deny"]), ..Rules::default() };
        let agent_home = config["agent_home"].as_str().map(|home| home.replace('~', HOME));
        let mut commands = strings(&case["input"]["commands"]);
        for (expected, listed) in case["expect"]["verdicts"].as_object().into_iter().flatten() {
            for command in strings(listed) {
                commands.retain(|other| *other != command);
                let asked = Asked {
                    command: &command,
                    cwd: Path::new("/home/alice/project"),
                    home: Some(Path::new(HOME)),
                    agent_home: agent_home.as_deref().map(Path::new),
                };
                let judgement = judge(&asked, &rules, Scene::Cli, &NoScripts);
                let found = word(&judgement);
                let fits = match expected.as_str() {
                    "not_allow" => found != "allow",
                    "not_block" => found != "block",
                    exactly => found == exactly,
                };
                checked += 1;
                if !fits {
                    wrong.push(format!(
                        "{}: {command:?} is {found}, not {expected}: {judgement:?}",
                        case["id"]
                    ));
                }
            }
        }
        assert!(commands.is_empty(), "{}: nothing is expected of {commands:?}", case["id"]);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 100, "{checked} command lines");
}

#[test]
fn the_floor_holds_in_every_mode_and_nobody_is_not_a_yes() {
    let case = cases().into_iter().find(|case| case["id"] == "cmd-policy-o").unwrap();
    let commands: Vec<String> = case["input"]["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["cmd"].as_str().unwrap().to_owned())
        .collect();
    let [root, shutdown, reset, clean] = commands.as_slice() else { panic!("{commands:?}") };
    let off = Rules { mode: Mode::Off, ..Rules::default() };
    assert_eq!(judged(root, &off, Scene::Cli).outcome, Outcome::Blocked);
    let approve = Rules { cron: Preset::Approve, ..Rules::default() };
    assert_eq!(judged(shutdown, &approve, Scene::Cron).outcome, Outcome::Blocked);
    assert_eq!(judged(reset, &Rules::default(), Scene::Cron).outcome, Outcome::Denied);
    assert_eq!(judged(reset, &Rules::default(), Scene::SingleQuery).outcome, Outcome::Denied);
    // It waits for an answer; that silence is not one is the reducer's.
    assert_eq!(judged(clean, &Rules::default(), Scene::Gateway).outcome, Outcome::Asks);
}
