//! What a conversation was, without what only its accidents account for.

use herm_schema::events::ToolStatus;
use herm_schema::{Event, Recorded, Text};
use serde_json::Value;

use super::stage::Stage;
use crate::support::ModelServer;

/// A line for each event that a person would tell about. A run that was killed and resumed has the
/// same story as one that was not.
pub fn story(stage: &Stage) -> Vec<String> {
    stage.events().iter().filter_map(line).map(|line| without_place(&line, stage)).collect()
}

fn line(recorded: &Recorded) -> Option<String> {
    Some(match &recorded.event {
        Event::MessageReceived(event) => format!("said: {}", event.text),
        Event::ModelCallSucceeded(event) => {
            let calls: Vec<_> = event.message.calls.iter().map(|call| call.id.clone()).collect();
            format!("model: {} {calls:?} {:?}", event.message.text, event.finish)
        }
        Event::ToolCallStarted(event) => format!("tool: {} {}", event.name, event.arguments.0),
        Event::ToolCallFinished(event) => {
            let Text::Inline(shown) = &event.shown else { panic!("a large result") };
            format!("result: {:?} {shown}", event.status)
        }
        Event::ToolCallInDoubt(_) => "in doubt".to_owned(),
        Event::ToolCallSkipped(event) => format!("skipped: {:?}", event.reason),
        Event::DeliveryPlanned(event) => format!("to be delivered: {:?}", event.chunks),
        Event::DeliveryConfirmed(_) => "delivered".to_owned(),
        Event::TurnEnded(event) => format!("ended: {:?} {} calls", event.reason, event.totals.tool_calls),
        _ => return None,
    })
}

fn without_place(text: &str, stage: &Stage) -> String {
    text.replace(&stage.work().display().to_string(), "WORK")
}

/// How often events of a kind happened.
pub fn count(stage: &Stage, what: impl Fn(&Event) -> bool) -> usize {
    stage.events().iter().filter(|recorded| what(&recorded.event)).count()
}

/// Outcomes of tool calls: how each ended, and whether that was found out after a restart.
pub fn outcomes(stage: &Stage) -> Vec<(ToolStatus, bool)> {
    let outcome = |recorded: &Recorded| match &recorded.event {
        Event::ToolCallFinished(event) => Some((event.status, event.recovered)),
        _ => None,
    };
    stage.events().iter().filter_map(outcome).collect()
}

/// The conversations that the server was sent, without the system prompt, which names the place.
pub fn conversations(server: &ModelServer, stage: &Stage) -> Vec<Vec<Value>> {
    let one = |request: crate::support::Recorded| {
        let messages = request.json["messages"].as_array().unwrap().clone();
        messages
            .into_iter()
            .skip(1)
            .map(|message| serde_json::from_str(&without_place(&message.to_string(), stage)).unwrap())
            .collect()
    };
    server.requests().into_iter().map(one).collect()
}
