//! Reading: what comes over the gateway is taken one after the other, and only what was taken is counted.
//!
//! The queue between keeps herm's heartbeats going while something is being taken. What lies in it when a
//! connection ends is dropped, since Discord gives it again behind the last number that was taken.

use std::time::Duration;

use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::gateway::{self, Ended, Event};
use super::inbound::{self, Came};
use super::marks::{Marks, Session};
use super::wire::{Channel, Guild, GuildGone, Ready, User};
use super::{Discord, Press, commands, locked, missed, refusal};
use crate::platforms::{Author, Inbound, Inlet, Media, Stopped, What, link};

/// Events that wait to be taken.
const QUEUE_MAX: usize = 1000;
/// After so many, or so long, it is kept how far herm has come.
const KEEP_EVERY: usize = 20;
const KEEP_AFTER: Duration = Duration::from_secs(1);
/// How long that may take when herm stops.
const FAREWELL_MAX: Duration = Duration::from_secs(1);
/// A connection that Discord ends sooner is not begun anew at once.
const LIFE_MIN: Duration = Duration::from_secs(5);

/// Reads until `stop`.
pub(super) async fn run(
    discord: &Discord,
    inlet: &dyn Inlet,
    stop: &CancellationToken,
) -> Result<(), Stopped> {
    let ended = tokio::select! {
        biased;
        () = stop.cancelled() => Ok(()),
        ended = read(discord, inlet) => ended,
    };
    // If this is lost, a little more is given again, and is known.
    let _ = timeout(FAREWELL_MAX, keep(discord, inlet)).await;
    ended
}

async fn read(discord: &Discord, inlet: &dyn Inlet) -> Result<(), Stopped> {
    if let Some(cursor) = inlet.cursor() {
        let mut marks = locked(&discord.marks);
        if *marks == Marks::default() {
            *marks = Marks::parse(&cursor);
        }
    }
    let me = discord.me().await.map_err(refusal::of_account)?;
    loop {
        let begun = Instant::now();
        let gateway = gateway::open(discord).await?;
        let (queue, events) = mpsc::channel(QUEUE_MAX);
        let ended = tokio::select! {
            ended = gateway.listen(discord, queue) => ended,
            stopped = take_all(discord, inlet, me, events) => return Err(stopped),
        };
        if ended != Ended::Reconnect || begun.elapsed() < LIFE_MIN {
            return Err(gateway::after(discord, ended));
        }
    }
}

fn transient(error: impl std::fmt::Display) -> Stopped {
    Stopped::Transient { message: error.to_string(), retry_after: None }
}

/// Tells herm how far it has come.
async fn keep(discord: &Discord, inlet: &dyn Inlet) -> Result<(), Stopped> {
    let cursor = locked(&discord.marks).cursor();
    if inlet.cursor().as_ref() == Some(&cursor) {
        return Ok(());
    }
    inlet.advance(cursor).await.map_err(transient)
}

async fn take_all(
    discord: &Discord,
    inlet: &dyn Inlet,
    me: &User,
    mut events: mpsc::Receiver<Event>,
) -> Stopped {
    let mut unkept = 0;
    loop {
        let event = match timeout(KEEP_AFTER, events.recv()).await {
            Ok(Some(event)) => Some(event),
            // The connection is over, which is seen elsewhere.
            Ok(None) => std::future::pending().await,
            Err(_) => None,
        };
        let is_due = event.is_none() || unkept >= KEEP_EVERY;
        if let Some(event) = event {
            if let Err(stopped) = take(discord, inlet, me, &event).await {
                return stopped;
            }
            if let Some(session) = &mut locked(&discord.marks).session {
                session.seq = event.seq;
            }
            unkept += 1;
        }
        if is_due && unkept > 0 {
            if let Err(stopped) = keep(discord, inlet).await {
                return stopped;
            }
            unkept = 0;
        }
    }
}

async fn take(discord: &Discord, inlet: &dyn Inlet, me: &User, event: &Event) -> Result<(), Stopped> {
    match event.name.as_str() {
        "READY" => ready(discord, inlet, me, event).await,
        "GUILD_CREATE" => {
            if let Ok(guild) = Guild::deserialize(&event.data) {
                locked(&discord.places).learn_guild(&guild, &me.id);
            }
            Ok(())
        }
        "CHANNEL_CREATE" | "CHANNEL_UPDATE" | "THREAD_CREATE" | "THREAD_UPDATE" => {
            if let Ok(channel) = Channel::deserialize(&event.data) {
                locked(&discord.places).learn(&channel, None);
            }
            Ok(())
        }
        "CHANNEL_DELETE" | "THREAD_DELETE" => match Channel::deserialize(&event.data) {
            Ok(channel) => removed(discord, inlet, event, &channel, "the channel was deleted").await,
            Err(_) => Ok(()),
        },
        "GUILD_DELETE" => match GuildGone::deserialize(&event.data) {
            Ok(gone) if gone.unavailable != Some(true) => put_out(discord, inlet, event, &gone.id).await,
            _ => Ok(()),
        },
        name => {
            let read = inbound::read(name, &event.data, me, &locked(&discord.places));
            match read {
                Ok(Some(came)) => {
                    let id = if came.id.is_empty() { id_of(discord, event, "") } else { came.id.clone() };
                    take_one(discord, inlet, Came { id, ..came }).await
                }
                Ok(None) => Ok(()),
                Err(_) => {
                    // It will not be readable the next time either.
                    tracing::warn!(event = name, "an event of Discord's cannot be read and is passed over");
                    Ok(())
                }
            }
        }
    }
}

/// The id of what has none: its number in its session, which stays when it is given again.
fn id_of(discord: &Discord, event: &Event, part: &str) -> String {
    let marks = locked(&discord.marks);
    let session = marks.session.as_ref().map_or("", |session| session.id.as_str());
    let session: String = blake3::hash(session.as_bytes()).to_hex().chars().take(16).collect();
    format!("{session}.{}{part}", event.seq)
}

/// A session has begun: what was said before it is asked for, and then it counts.
async fn ready(discord: &Discord, inlet: &dyn Inlet, me: &User, event: &Event) -> Result<(), Stopped> {
    let ready = Ready::deserialize(&event.data);
    let ready = ready.map_err(|_| transient("Discord's gateway greets in a way that cannot be read"))?;
    commands::register(discord, &ready.application.id);
    missed::fetch(discord, inlet, me).await?;
    let (id, resume_url) = (ready.session_id, ready.resume_gateway_url);
    locked(&discord.marks).session = Some(Session { id, resume_url, seq: event.seq });
    Ok(())
}

async fn removed(
    discord: &Discord,
    inlet: &dyn Inlet,
    event: &Event,
    channel: &Channel,
    why: &str,
) -> Result<(), Stopped> {
    locked(&discord.places).learn(channel, None);
    let id = id_of(discord, event, &format!(".{}", channel.id));
    let came = Came {
        id,
        channel: channel.id.clone(),
        guild: channel.guild_id.clone(),
        author: Author::default(),
        what: What::Removed { why: why.to_owned() },
        at: None,
        files: Vec::new(),
        press: None,
    };
    take_one(discord, inlet, came).await?;
    locked(&discord.places).forget(&channel.id);
    locked(&discord.marks).forget(&channel.id);
    Ok(())
}

/// herm was put out of a server: it is told for each of its channels in which somebody spoke.
async fn put_out(discord: &Discord, inlet: &dyn Inlet, event: &Event, guild: &str) -> Result<(), Stopped> {
    let spoken = locked(&discord.marks).channels();
    for (id, _) in spoken {
        let place = {
            let places = locked(&discord.places);
            places.is_in_guild(&id, guild).then(|| places.as_channel(&id)).flatten()
        };
        if let Some(channel) = place {
            removed(discord, inlet, event, &channel, "the bot was put out of the server").await?;
        }
    }
    Ok(())
}

/// Gives to herm what came, with its place and its files.
pub(super) async fn take_one(discord: &Discord, inlet: &dyn Inlet, came: Came) -> Result<(), Stopped> {
    let said = match &came.what {
        What::Message(message) => Some(message.message_id.clone()),
        _ => None,
    };
    if let Some(message_id) = &said {
        let is_new = {
            let mut marks = locked(&discord.marks);
            let is_new = !marks.knows(&came.channel);
            if is_new {
                marks.before(&came.channel, message_id);
            }
            is_new
        };
        if is_new {
            // Kept before the message is, so that the channel is asked for what follows in any case.
            keep(discord, inlet).await?;
        }
    }
    look_up(discord, &came).await?;
    let chat = {
        let places = locked(&discord.places);
        places.chat(&came.channel, came.guild.as_deref(), came.author.name.as_deref())
    };
    if let Some(press) = came.press {
        discord.remember(Press { id: came.id.clone(), application: press.application, token: press.token });
    }
    let mut inbound = Inbound { id: came.id, chat, author: came.author, what: came.what, at: came.at };
    if let What::Message(message) = &mut inbound.what {
        let wanted = came.files.into_iter().filter(|_| !inbound.author.ours);
        for file in wanted {
            let content =
                link::content(|| discord.api.file(&file.url), file.size, inlet.media_bytes_max()).await;
            let media_type = file.content_type.unwrap_or_else(|| "application/octet-stream".to_owned());
            message.media.push(Media { name: file.filename, media_type, content });
        }
    }
    inlet.take(inbound).await.map_err(transient)?;
    if let Some(message_id) = said {
        locked(&discord.marks).taken(&came.channel, &message_id);
    }
    Ok(())
}

/// Asks for a channel of a server that nothing is known of yet.
async fn look_up(discord: &Discord, came: &Came) -> Result<(), Stopped> {
    if came.guild.as_deref() == Some("") || locked(&discord.places).knows(&came.channel) {
        return Ok(());
    }
    match discord.api.get_patiently::<Channel>(&["channels", &came.channel], &[]).await {
        Ok(channel) => locked(&discord.places).learn(&channel, came.guild.as_deref()),
        Err(failed) if refusal::is_for_good(&failed) => {}
        Err(failed) => return Err(refusal::of_account(failed)),
    }
    Ok(())
}
