//! The binary is killed again and again, at moments that only a seed knows.

use std::collections::BTreeSet;
use std::time::Duration;

use herm_schema::events::ToolStatus;
use herm_schema::{CallRef, Event};
use serde_json::json;

use super::stage::{Stage, chat};
use crate::support::{ModelServer, Recorded, Reply};

const KILLS: u32 = 20;
const STEPS: usize = 5;
/// Longest life of a herm that is going to be killed, in milliseconds.
const LIFE_MS_MAX: u64 = 180;
/// A turn that was taken up so often is left alone once: the limit on restarts would close it.
const RESUMES_MAX: usize = 2;
/// Which moments; another number is another test.
const SEED: u64 = 0x5eed_0002;

/// Splitmix64.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Goes by the results since the last message: so many steps, then the answer.
fn model(request: &Recorded) -> Reply {
    let messages = request.json["messages"].as_array().unwrap();
    let asked = messages.iter().filter(|message| message["role"] == "user").count();
    let since = messages.iter().rev().take_while(|message| message["role"] != "user");
    let step = since.filter(|message| message["role"] == "tool").count();
    if step == STEPS {
        return Reply::text(&format!("Round {asked} is done."));
    }
    let mark = format!("{asked}-{step}");
    let arguments = json!({"command": format!("echo {mark} >> marks; sleep 0.02")}).to_string();
    Reply::calls(&[(&format!("call-{mark}"), "terminal", &arguments)]).saying("Next.")
}

fn turns_ended(stage: &Stage) -> usize {
    stage.events().iter().filter(|r| matches!(r.event, Event::TurnEnded(_))).count()
}

/// How often the newest turn has been taken up again.
fn resumes(stage: &Stage) -> usize {
    let events = stage.events();
    let newest = events.iter().rev().take_while(|r| !matches!(r.event, Event::TurnStarted(_)));
    newest.filter(|r| matches!(r.event, Event::TurnResumed(_))).count()
}

fn messages(stage: &Stage) -> usize {
    stage.events().iter().filter(|r| matches!(r.event, Event::MessageReceived(_))).count()
}

#[test]
fn every_command_takes_effect_at_most_once_and_the_answer_is_the_same() {
    println!("seed {SEED:#x}");
    let (stage, server, mut chance) = (Stage::new(), ModelServer::computed(model), Chance(SEED));
    let url = server.base_url();
    for kill in 0..KILLS {
        let id = stage.session().map(|id| id.to_string());
        if id.is_some() && resumes(&stage) >= RESUMES_MAX {
            assert_eq!(stage.resume(&url).exit, 0);
        }
        let at_rest = id.is_none() || messages(&stage) == turns_ended(&stage);
        let mut more = vec!["--yolo"];
        more.extend(id.as_deref().into_iter().flat_map(|id| ["--resume", id]));
        more.extend(if at_rest { &["-q", "go on"][..] } else { &[] });
        let herm = stage.start(&chat(&url, &more));
        let life = chance.next() % LIFE_MS_MAX;
        println!("kill {kill} after {life} ms");
        // A random moment is the point here; there is nothing to wait for.
        std::thread::sleep(Duration::from_millis(life));
        herm.kill();
    }
    if stage.session().is_none() || messages(&stage) == 0 {
        assert_eq!(stage.ask(&url, &["--yolo", "-q", "go on"]).exit, 0);
    } else {
        let run = stage.resume(&url);
        assert_eq!(run.exit, 0, "{run:?}");
    }
    server.verify();
    check(&stage);
}

fn check(stage: &Stage) {
    let marks: Vec<String> = stage.file("marks").lines().map(str::to_owned).collect();
    let unique: BTreeSet<&String> = marks.iter().collect();
    assert_eq!(unique.len(), marks.len(), "a command ran twice: {marks:?}");
    let events = stage.events();
    let mut started: Vec<(CallRef, String)> = Vec::new();
    let (mut finished, mut recovered, mut in_doubt) = (0, 0, 0);
    for recorded in &events {
        match &recorded.event {
            Event::ToolCallStarted(event) => {
                assert!(started.iter().all(|(call, _)| *call != event.call), "begun twice: {event:?}");
                started.push((event.call, event.arguments.0.clone()));
            }
            Event::ToolCallFinished(event) => {
                assert_eq!(event.status, ToolStatus::Succeeded);
                finished += 1;
                recovered += usize::from(event.recovered);
                let (_, arguments) = started.iter().find(|(call, _)| *call == event.call).unwrap();
                let done = |mark: &&String| arguments.contains(&format!("echo {mark} "));
                assert_eq!(marks.iter().filter(done).count(), 1, "no effect of {arguments}");
            }
            Event::ToolCallInDoubt(_) => in_doubt += 1,
            _ => {}
        }
    }
    let turns = turns_ended(stage);
    println!("{turns} turns, {finished} commands, {recovered} recovered, {in_doubt} in doubt");
    assert_eq!(messages(stage), turns, "a turn did not end");
    assert_eq!(finished + in_doubt, turns * STEPS);
    assert_eq!(started.len(), turns * STEPS);
    let answers = events.iter().filter_map(|recorded| match &recorded.event {
        Event::DeliveryPlanned(event) => {
            Some(event.chunks.iter().map(herm_schema::events::Part::text).collect::<String>())
        }
        _ => None,
    });
    let expected: Vec<String> = (1..=turns).map(|turn| format!("Round {turn} is done.")).collect();
    assert_eq!(answers.collect::<Vec<_>>(), expected);
}
