//! What a person does to the gateway from the command line: who may write, what became of deliveries,
//! a word to be said somewhere. Done by the running gateway, or, where none runs, on the log itself.

use std::sync::Arc;
use std::time::Duration;

use herm_replay::gateway::{Command, stream};
use herm_replay::projections::Views;
use herm_replay::projections::outbox::{Delivery, Standing};
use herm_schema::events::{ChatRef, DeliveryKind, DeliveryPlanned, MessageMirrored, Part};
use herm_schema::{Event, SessionId, StreamPos};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::desk::{Desk, Error};
use super::hub::Hub;
use crate::delivery::{Format, Outlet, Way, plan};
use crate::inbound::pairing;
use crate::inbound::settings::GatewaySettings;

/// How long `send` waits for a delivery to arrive.
const SEND_TIME_MAX: Duration = Duration::from_secs(120);

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Errand {
    PairingList,
    PairingApprove {
        platform: String,
        code: String,
    },
    PairingRevoke {
        platform: String,
        user: String,
    },
    DeliveryList {
        all: bool,
    },
    DeliveryRetry {
        delivery: String,
    },
    DeliveryDrop {
        delivery: String,
    },
    Send {
        target: String,
        text: String,
    },
    Chats,
    /// Takes a write to a skill back; the last where none is named.
    SkillUndo {
        profile: String,
        write: String,
    },
    /// Takes back what was remembered; the last write where none is named.
    MemoryUndo {
        profile: String,
        write: String,
    },
}

/// What the gateway's own stream is enough for.
///
/// # Errors
/// Why it cannot be done, for a person; `None` inside for what needs more than the stream.
pub async fn of_desk(desk: &Desk, errand: &Errand) -> Result<Option<Value>, String> {
    Ok(Some(match errand {
        Errand::PairingList => desk.read(|state| {
            let now = crate::runtime::Clock::now(&crate::runtime::SystemClock);
            let paired = state.paired.iter().map(|((platform, id), sender)| {
                json!({ "platform": platform, "user": id, "name": sender.name })
            });
            let pending = state.pending.iter().filter(|known| known.expires_at > now).map(|known| {
                json!({ "platform": known.chat.platform, "user": known.sender.id, "name": known.sender.name,
                        "asked_seconds_ago": now.since(known.requested_at) / 1_000_000 })
            });
            json!({ "paired": paired.collect::<Vec<_>>(), "pending": pending.collect::<Vec<_>>() })
        }),
        Errand::PairingApprove { platform, code } => {
            let digest = pairing::digest_of_typed(platform, code);
            let asked_in = desk.read(|state| {
                let mut pending = state.pending.iter();
                let known = pending.find(|known| known.chat.platform == *platform && known.code == digest);
                known.map(|known| target_of(&known.chat))
            });
            let command = Command::ApprovePairing { platform: platform.clone(), code: digest };
            let events = desk.ask(command, None).await.map_err(in_words)?;
            let approved = events.iter().find_map(|recorded| match &recorded.event {
                Event::PairingApproved(approved) => Some(approved.sender.clone()),
                _ => None,
            });
            let Some(sender) = approved else {
                return Err(format!("no stranger on {platform} was given this code, or it has expired"));
            };
            json!({ "platform": platform, "user": sender.id, "name": sender.name, "target": asked_in })
        }
        Errand::PairingRevoke { platform, user } => {
            let command = Command::RevokePairing { platform: platform.clone(), sender_id: user.clone() };
            desk.ask(command, None).await.map_err(in_words)?;
            json!({ "platform": platform, "user": user })
        }
        Errand::Chats => desk.read(|state| {
            let chats = state.chats.values().map(|seen| {
                json!({ "target": target_of(&seen.chat), "title": seen.title, "kind": format!("{:?}", seen.kind),
                        "home": state.homes.values().any(|home| *home == seen.chat),
                        "dead": state.dead(&seen.chat).map(|died| &died.why) })
            });
            Value::Array(chats.collect())
        }),
        _ => return Ok(None),
    }))
}

fn in_words(error: Error) -> String {
    match error {
        Error::Log(source) => format!("the log does not take it: {source}"),
        other => other.to_string(),
    }
}

/// Done by the running gateway.
///
/// # Errors
/// Why it cannot be done, for a person.
pub async fn of_hub(hub: &Arc<Hub>, errand: Errand) -> Result<Value, String> {
    if let Some(done) = of_desk(&hub.desk, &errand).await? {
        if let (Errand::PairingApprove { .. }, Some(chat)) =
            (&errand, done.get("target").and_then(Value::as_str))
        {
            welcome(hub, chat).await;
        }
        return Ok(done);
    }
    match errand {
        Errand::DeliveryList { all } => {
            let mut rows = Vec::new();
            for profile in hub.profiles.values() {
                let name = profile.name.clone();
                rows.extend(deliveries(&profile.engine.views, &name, all)?);
            }
            Ok(Value::Array(rows))
        }
        Errand::DeliveryRetry { delivery } => retry(hub, &delivery).await,
        Errand::DeliveryDrop { delivery } => drop_delivery(hub, &delivery).await,
        Errand::Send { target, text } => send(hub, &target, &text).await,
        Errand::SkillUndo { profile, write } => {
            let profile = hub.profile(&profile).ok_or("its profile is not served here")?;
            let skills = Arc::clone(&profile.engine.skills);
            let undo = move || skills.undo(&write, None).map(|undone| undone.as_json());
            tokio::task::spawn_blocking(undo).await.map_err(|error| error.to_string())?
        }
        Errand::MemoryUndo { profile, write } => memory_undo(hub, &profile, write).await,
        _ => Err("that cannot be done here".to_owned()),
    }
}

/// Whoever may ask the gateway from its own machine owns the profile, and all that it remembers.
async fn memory_undo(hub: &Hub, profile: &str, write: String) -> Result<Value, String> {
    let profile = hub.profile(profile).ok_or("its profile is not served here")?;
    let notes = profile.engine.memory.clone().ok_or("memory is switched off")?;
    let undo = move || notes.undo(&write, None, |_| true).map(|undone| undone.as_json());
    tokio::task::spawn_blocking(undo).await.map_err(|error| error.to_string())?
}

/// Where somebody asked to be let in, they are told that they were.
async fn welcome(hub: &Hub, chat: &str) {
    if let Some(Ok(chat)) = target(chat)
        && let Err(error) = hub.say(&chat, pairing::welcome()).await
    {
        tracing::warn!(%error, "a welcome was not said");
    }
}

/// The rows of `herm delivery list`: what is open, failed or unknown; with `all`, everything.
///
/// # Errors
/// The projection cannot be read.
pub fn deliveries(views: &Views, profile: &str, all: bool) -> Result<Vec<Value>, String> {
    let rows = views.outbox().map_err(|error| error.to_string())?;
    let worth = |delivery: &&Delivery| {
        all || delivery.chunks.iter().any(|chunk| !matches!(chunk.standing, Standing::Confirmed { .. }))
    };
    Ok(rows.iter().filter(worth).map(|delivery| row(delivery, profile)).collect())
}

fn row(delivery: &Delivery, profile: &str) -> Value {
    let standing = |standing: &Standing| serde_json::to_value(standing).unwrap_or_default();
    json!({
        "delivery": name_of(delivery, profile), "profile": profile, "target": target_of(&delivery.target),
        "planned_at": delivery.planned_at.0, "kind": format!("{:?}", delivery.kind), "open": delivery.is_open(),
        "chunks": delivery.chunks.iter().map(|chunk| json!({
            "attempts": chunk.attempts, "possible_repeat": chunk.possible_repeat,
            "standing": standing(&chunk.standing),
        })).collect::<Vec<_>>(),
    })
}

/// `PROFILE/SESSION/POSITION`, or `PROFILE/gateway/POSITION`.
fn name_of(delivery: &Delivery, profile: &str) -> String {
    let owner = match SessionId::of_stream(delivery.stream) {
        Some(session) if delivery.stream != stream() => session.to_string(),
        _ => "gateway".to_owned(),
    };
    format!("{profile}/{owner}/{}", delivery.delivery)
}

/// A target as a person writes it: `PLATFORM:CHAT` or `PLATFORM:CHAT:THREAD`, `%3A` for a colon within.
pub fn target_of(chat: &ChatRef) -> String {
    let escaped = |text: &str| text.replace('%', "%25").replace(':', "%3A");
    let thread = chat.thread.as_deref().map(|thread| format!(":{}", escaped(thread))).unwrap_or_default();
    format!("{}:{}{thread}", escaped(&chat.platform), escaped(&chat.chat))
}

/// The other way round; a platform alone is its home channel.
pub fn target(text: &str) -> Option<Result<ChatRef, String>> {
    let plain = |text: &str| text.replace("%3A", ":").replace("%3a", ":").replace("%25", "%");
    let mut parts = text.splitn(3, ':').map(plain);
    let platform = parts.next().filter(|name| !name.is_empty())?;
    let Some(chat) = parts.next() else {
        return Some(Err(platform));
    };
    Some(Ok(ChatRef { platform, chat, thread: parts.next().filter(|thread| !thread.is_empty()) }))
}

struct Found {
    profile: String,
    delivery: Delivery,
}

fn find(hub: &Hub, name: &str) -> Result<Found, String> {
    for profile in hub.profiles.values() {
        let rows = profile.engine.views.outbox().map_err(|error| error.to_string())?;
        if let Some(delivery) = rows.into_iter().find(|row| name_of(row, &profile.name) == name) {
            return Ok(Found { profile: profile.name.clone(), delivery });
        }
    }
    Err(format!("there is no delivery `{name}`; `herm delivery list --all` shows all"))
}

/// What did not arrive, or may not have, goes out once more, marked as a possible repeat where it may be one.
async fn retry(hub: &Arc<Hub>, name: &str) -> Result<Value, String> {
    let Found { profile, delivery } = find(hub, name)?;
    if delivery.is_open() {
        return Err("it is still being tried; `herm delivery drop` gives it up".to_owned());
    }
    let left: Vec<usize> = delivery
        .chunks
        .iter()
        .enumerate()
        .filter(|(_, chunk)| !matches!(chunk.standing, Standing::Confirmed { .. }))
        .map(|(index, _)| index)
        .collect();
    if left.is_empty() {
        return Err("all of it has arrived".to_owned());
    }
    let profile = hub.profile(&profile).ok_or("its profile is not served here")?;
    let log = &profile.engine.log;
    let planned = log.read_stream(delivery.stream, delivery.delivery).next();
    let Some(Ok(recorded)) = planned else {
        return Err("its plan cannot be read".to_owned());
    };
    let Event::DeliveryPlanned(planned) = recorded.event else {
        return Err("its plan cannot be read".to_owned());
    };
    let unsure = delivery.chunks.iter().any(|chunk| chunk.standing == Standing::Unknown);
    let chunks = left.iter().filter_map(|index| planned.chunks.get(*index).cloned()).collect();
    let again = DeliveryPlanned { chunks, possible_repeat: unsure, reply_to: None, ..planned };
    match SessionId::of_stream(delivery.stream).filter(|_| delivery.stream != stream()) {
        Some(session) => {
            let handle = profile.rooms.take_up(session).await.map_err(|error| error.to_string())?;
            let command = herm_replay::reducer::Command::Say(again);
            handle.send(command, None).await.map_err(|error| error.to_string())?;
        }
        None => drop(hub.desk.ask(Command::Say(again), None).await.map_err(in_words)?),
    }
    Ok(json!({ "delivery": name, "chunks": left.len(), "possible_repeat": unsure }))
}

async fn drop_delivery(hub: &Arc<Hub>, name: &str) -> Result<Value, String> {
    let Found { profile, delivery } = find(hub, name)?;
    let at = delivery.delivery;
    let profile = hub.profile(&profile).ok_or("its profile is not served here")?;
    match SessionId::of_stream(delivery.stream).filter(|_| delivery.stream != stream()) {
        Some(session) => {
            let handle = profile.rooms.take_up(session).await.map_err(|error| error.to_string())?;
            let command = herm_replay::reducer::Command::DropDelivery { delivery: at };
            handle.send(command, None).await.map_err(|error| error.to_string())?;
        }
        None => drop(hub.desk.ask(Command::DropDelivery { delivery: at }, None).await.map_err(in_words)?),
    }
    Ok(json!({ "delivery": name }))
}

/// Says something somewhere, waits until it has arrived, and lets the conversation there know of it.
async fn send(hub: &Arc<Hub>, target: &str, text: &str) -> Result<Value, String> {
    let chat = resolve(&hub.desk, &hub.settings(), target)?;
    if hub.switchboard.platform(&chat.platform).is_none() {
        return Err(format!(
            "the platform `{}` is not connected; `herm platforms` shows which are",
            chat.platform
        ));
    }
    let said = say(&hub.desk, &*hub.switchboard, &chat, text).await?;
    mirror(hub, &chat, text).await;
    Ok(said)
}

/// The chat that a target names.
///
/// # Errors
/// Why it names none.
pub fn resolve(desk: &Desk, settings: &GatewaySettings, text: &str) -> Result<ChatRef, String> {
    match target(text) {
        Some(Ok(chat)) => Ok(chat),
        Some(Err(platform)) => {
            // What was said in a chat is newer than what stands in the file.
            let home = desk.read(|state| state.homes.get(&platform).cloned()).or_else(|| {
                let home = settings.platform(&platform).home.clone()?;
                Some(ChatRef { platform: platform.clone(), chat: home.chat, thread: home.thread })
            });
            home.ok_or_else(|| {
                format!("{platform} has no home channel; say /sethome in a chat, or `{platform}:CHAT`")
            })
        }
        None => {
            Err("a target is `PLATFORM:CHAT`, `PLATFORM:CHAT:THREAD`, or a platform for its home channel"
                .to_owned())
        }
    }
}

/// Plans a delivery and waits for what becomes of it.
///
/// # Errors
/// What became of it, for a person.
pub async fn say(desk: &Desk, outlet: &dyn Outlet, chat: &ChatRef, text: &str) -> Result<Value, String> {
    let Way { format, keyed } = outlet.way(chat);
    let planned = planned(chat, &desk.redacted(text), &format, keyed);
    let events = desk.ask(Command::Say(planned), None).await.map_err(in_words)?;
    let at = events.first().map(|recorded| recorded.envelope.stream_pos).unwrap_or_default();
    if tokio::time::timeout(SEND_TIME_MAX, desk.gone(at)).await.is_err() {
        return Err("it is still being tried; `herm delivery list` shows what becomes of it".to_owned());
    }
    outcome(desk, at).map(|()| json!({ "target": target_of(chat), "delivery": at.0 }))
}

fn planned(chat: &ChatRef, text: &str, format: &Format, keyed: bool) -> DeliveryPlanned {
    DeliveryPlanned {
        target: chat.clone(),
        kind: DeliveryKind::Notice,
        chunks: plan::parts(text, format).into_iter().map(Part::Text).collect(),
        keyed,
        reply_to: None,
        possible_repeat: false,
    }
}

/// Whether a delivery of the gateway's own that is not open any more has arrived.
fn outcome(desk: &Desk, at: StreamPos) -> Result<(), String> {
    let failed = desk.stream_from(at).into_iter().find_map(|event| match event {
        Event::DeliveryFailed(failed) if failed.delivery == at && failed.retry_at.is_none() => {
            Some(failed.message)
        }
        _ => None,
    });
    failed.map_or(Ok(()), Err)
}

/// The conversation of a chat knows what was said there from elsewhere.
async fn mirror(hub: &Hub, chat: &ChatRef, text: &str) {
    for profile in hub.profiles.values() {
        let rows = profile.engine.views.sessions().unwrap_or_default();
        let here = rows.into_iter().find(|row| {
            !row.key.is_empty()
                && row.activity != herm_replay::projections::sessions::Activity::Ended
                && row.platform == chat.platform
                && row.chat == chat.chat
                && row.thread == chat.thread
        });
        let Some(row) = here else { continue };
        let mirrored = MessageMirrored { from: "`herm send`".to_owned(), text: text.to_owned() };
        if let Ok(handle) = profile.rooms.take_up(row.id).await {
            // Refused during a turn: it would come between a call and its result.
            drop(handle.send(herm_replay::reducer::Command::Mirror(mirrored), None).await);
        }
        return;
    }
}
