//! Slash commands and pressed buttons: telling Discord which commands there are, and answering within the
//! three seconds that it waits.
//!
//! Source: API v10, "Application Commands" and "Receiving and Responding to Interactions".

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Deserialize;
use serde_json::{Value, json};

use super::wire::{COMPONENT, Interaction, SLASH_COMMAND};
use super::{Discord, inbound, refusal};
use crate::inbound::slash_table::{COMMANDS, Where};

/// Commands that an application may have.
const COMMANDS_MAX: usize = 100;
/// Longest description, in characters.
const DESCRIPTION_MAX: usize = 100;
/// Longest text that is answered to a command, in characters.
const ECHO_MAX: usize = 200;
/// A text option.
const STRING: u8 = 3;
/// The pressing was heard, and the message stays as it is for now.
const DEFERRED_UPDATE: u8 = 6;
const MESSAGE: u8 = 4;
/// Only who asked sees it.
pub(super) const EPHEMERAL: u64 = 1 << 6;

/// Tells Discord the commands, once in a life; what there was before is replaced.
pub(super) fn register(discord: &Discord, application: &str) {
    if discord.registered.swap(true, Ordering::AcqRel) {
        return;
    }
    let (api, application) = (Arc::clone(&discord.api), application.to_owned());
    tokio::spawn(async move {
        let told: Result<Value, _> = api.put(&["applications", &application, "commands"], &all()).await;
        if let Err(failed) = told {
            let failure = refusal::of_message(failed).message;
            tracing::warn!(failure, "Discord does not take the slash commands; they can be typed as text");
        }
    });
}

fn short(text: &str, chars_max: usize) -> String {
    text.chars().take(chars_max).collect()
}

fn all() -> Vec<Value> {
    let here = COMMANDS.iter().filter(|row| row.place.includes(Where::Chat)).take(COMMANDS_MAX);
    here.map(|row| {
        let description = short(row.arguments, DESCRIPTION_MAX);
        let option = json!({"type": STRING, "name": "args", "description": description, "required": false});
        let options: Vec<Value> = Some(option).filter(|_| !row.arguments.is_empty()).into_iter().collect();
        let description = short(row.about, DESCRIPTION_MAX);
        json!({"name": row.name, "type": 1, "description": description, "options": options})
    })
    .collect()
}

/// Answers an interaction for the time being, beside the reading: what is being taken may take longer
/// than Discord waits.
pub(super) fn defer(discord: &Discord, data: &Value) {
    let Ok(interaction) = Interaction::deserialize(data) else { return };
    let body = match interaction.kind {
        COMPONENT => json!({"type": DEFERRED_UPDATE}),
        SLASH_COMMAND => {
            let typed = inbound::typed(&interaction.data.name, &interaction.data.options);
            let echo = format!("`{}`", short(&typed.replace('`', "'"), ECHO_MAX));
            let data = json!({"content": echo, "flags": EPHEMERAL, "allowed_mentions": {"parse": []}});
            json!({"type": MESSAGE, "data": data})
        }
        _ => return,
    };
    let api = Arc::clone(&discord.api);
    tokio::spawn(async move {
        let segments = ["interactions", &interaction.id, &interaction.token, "callback"];
        match api.post_quietly(&segments, &body).await {
            // It came again, after the connection broke.
            Err(failed) if !refusal::is_answered_already(&failed) => {
                tracing::warn!(failure = refusal::of_message(failed).message, "a pressing was not answered");
            }
            _ => {}
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_ones_that_discord_takes() {
        let all = all();
        assert!(all.len() > 10 && all.len() <= COMMANDS_MAX);
        for command in &all {
            let name = command["name"].as_str().unwrap();
            assert!((1..=32).contains(&name.len()) && name.to_lowercase() == name);
            for described in command["options"].as_array().into_iter().flatten().chain([command]) {
                let chars = described["description"].as_str().unwrap().chars().count();
                assert!((1..=100).contains(&chars), "{described}");
            }
        }
        let steer = all.iter().find(|command| command["name"] == "steer").unwrap();
        assert_eq!(steer["options"][0]["name"], "args");
        assert!(all.iter().all(|command| command["name"] != "exit"), "which is for a terminal");
    }
}
