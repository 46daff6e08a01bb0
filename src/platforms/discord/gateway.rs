//! The web socket of the gateway: greeting, heartbeats, and what comes over it, into a bounded queue.
//!
//! Source: API v10, "Gateway" and "Opcodes and Status Codes". The number that is told back, in heartbeats and
//! when a session is resumed, is the last that was taken: Discord gives everything behind it again.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::wire::{Frame, GatewayBot, Hello, INTENTS, VERSION, op};
use super::{Discord, commands, locked, refusal};
use crate::platforms::Stopped;
use crate::platforms::link::{self, Socket};

/// How long the gateway may take to say hello.
const HELLO_MAX: Duration = Duration::from_secs(10);
/// How long a frame may take to be written.
const WRITE_MAX: Duration = Duration::from_secs(10);
/// The pause before another session is tried when one was invalid: 1 to 5 seconds, at random.
const INVALID_PAUSE: Duration = Duration::from_secs(1);
const INVALID_PAUSE_SPREAD: Duration = Duration::from_secs(4);
/// The shortest time between heartbeats that is believed.
const HEARTBEAT_MIN: Duration = Duration::from_millis(50);

/// Something that happened, by its number in the session.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    pub seq: u64,
    pub name: String,
    pub data: Value,
}

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Discord asks for another one.
    Reconnect,
    Invalid {
        resumable: bool,
    },
    /// With a code of Discord's own.
    Closed(u16),
    Broken(String),
}

/// What a frame asks for.
enum Heard {
    Event(Event),
    Acknowledged,
    Beat,
    Nothing,
}

pub(super) struct Gateway {
    socket: Socket,
    every: Duration,
}

fn transient(message: String) -> Stopped {
    Stopped::Transient { message, retry_after: None }
}

/// Connects, and goes on with the session that there is, or begins another.
pub(super) async fn open(discord: &Discord) -> Result<Gateway, Stopped> {
    let session = locked(&discord.marks).session.clone();
    let url = match (&discord.gateway_url, &session) {
        (Some(url), _) => url.clone(),
        (None, Some(session)) => session.resume_url.clone(),
        (None, None) => asked(discord).await?,
    };
    let address = format!("{}/?v={VERSION}&encoding=json", url.trim_end_matches('/'));
    let opened = link::socket(&address).await;
    let socket = opened.map_err(|why| {
        // The gateway of a session may be gone for good, and the one of all never is.
        transient(format!("Discord's gateway cannot be reached: {why}"))
    })?;
    let mut gateway = Gateway { socket, every: HEARTBEAT_MIN };
    let hello = timeout(HELLO_MAX, gateway.hello()).await;
    let hello = hello.unwrap_or_else(|_| Err(Ended::Broken("it does not say hello".to_owned())));
    gateway.every = hello.map_err(|ended| after(discord, ended))?.max(HEARTBEAT_MIN);
    let token = discord.api.token().reveal();
    let greeting = match session {
        Some(session) => json!({"op": op::RESUME, "d": {
            "token": token, "session_id": session.id, "seq": session.seq,
        }}),
        None => json!({"op": op::IDENTIFY, "d": {
            "token": token, "intents": INTENTS, "large_threshold": 50,
            "properties": {"os": std::env::consts::OS, "browser": "herm", "device": "herm"},
        }}),
    };
    gateway.write(&greeting).await.map_err(|ended| after(discord, ended))?;
    Ok(gateway)
}

async fn asked(discord: &Discord) -> Result<String, Stopped> {
    let told: GatewayBot = discord.api.get(&["gateway", "bot"], &[]).await.map_err(refusal::of_account)?;
    match told.session_start_limit {
        Some(limit) if limit.remaining == 0 => Err(Stopped::Transient {
            message: "Discord lets no more sessions begin for now".to_owned(),
            retry_after: Some(Duration::from_millis(limit.reset_after)),
        }),
        _ => Ok(told.url),
    }
}

impl Gateway {
    async fn hello(&mut self) -> Result<Duration, Ended> {
        loop {
            let Some(frame) = read(self.socket.next().await)? else { continue };
            if frame.op == op::HELLO {
                let hello = serde_json::from_value::<Hello>(frame.d);
                let hello = hello.map_err(|_| Ended::Broken("its hello cannot be read".to_owned()))?;
                return Ok(Duration::from_millis(hello.heartbeat_interval));
            }
        }
    }

    async fn write(&mut self, frame: &Value) -> Result<(), Ended> {
        match timeout(WRITE_MAX, self.socket.send(Message::text(frame.to_string()))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Ended::Broken(link::unsocketed(&error))),
            Err(_) => Err(Ended::Broken("nothing can be written".to_owned())),
        }
    }

    /// Reads until the connection is over. What happens is put into `queue`; while that is full, nothing
    /// more is read, and herm stays alive for Discord all the same.
    pub async fn listen(mut self, discord: &Discord, queue: mpsc::Sender<Event>) -> Ended {
        let mut beat = Instant::now() + self.every.mul_f64(link::jitter());
        let (mut waiting, mut unanswered) = (None, false);
        loop {
            let heard = tokio::select! {
                () = sleep_until(beat) => {
                    beat = Instant::now() + self.every;
                    if unanswered && waiting.is_none() {
                        return Ended::Broken("it does not answer heartbeats".to_owned());
                    }
                    unanswered = true;
                    Ok(Heard::Beat)
                }
                room = queue.reserve(), if waiting.is_some() => {
                    if let (Ok(room), Some(event)) = (room, waiting.take()) {
                        room.send(event);
                    }
                    // Answers may lie unread among what was not read.
                    unanswered = false;
                    Ok(Heard::Nothing)
                }
                frame = self.socket.next(), if waiting.is_none() => heard(frame),
            };
            match heard {
                Ok(Heard::Event(event)) => {
                    if event.name == "INTERACTION_CREATE" {
                        commands::defer(discord, &event.data);
                    }
                    waiting = Some(event);
                }
                Ok(Heard::Acknowledged) => unanswered = false,
                Ok(Heard::Beat) => {
                    let seq = locked(&discord.marks).session.as_ref().map(|session| session.seq);
                    if let Err(ended) = self.write(&json!({"op": op::HEARTBEAT, "d": seq})).await {
                        return ended;
                    }
                }
                Ok(Heard::Nothing) => {}
                Err(ended) => return ended,
            }
        }
    }
}

type Came = Option<Result<Message, Error>>;

fn read(came: Came) -> Result<Option<Frame>, Ended> {
    match came {
        None => Err(Ended::Broken("the connection is closed".to_owned())),
        Some(Err(error)) => Err(Ended::Broken(link::unsocketed(&error))),
        Some(Ok(Message::Close(Some(frame)))) => Err(Ended::Closed(u16::from(frame.code))),
        Some(Ok(Message::Close(None))) => Err(Ended::Broken("the gateway closed the connection".to_owned())),
        Some(Ok(Message::Text(text))) => {
            let frame = serde_json::from_str::<Frame>(text.as_str());
            if frame.is_err() {
                tracing::warn!("a frame of Discord's cannot be read and is passed over");
            }
            Ok(frame.ok())
        }
        Some(Ok(_)) => Ok(None),
    }
}

fn heard(came: Came) -> Result<Heard, Ended> {
    let Some(frame) = read(came)? else { return Ok(Heard::Nothing) };
    Ok(match (frame.op, frame.s, frame.t) {
        (op::DISPATCH, Some(seq), Some(name)) => Heard::Event(Event { seq, name, data: frame.d }),
        (op::HEARTBEAT, ..) => Heard::Beat,
        (op::HEARTBEAT_ACK, ..) => Heard::Acknowledged,
        (op::RECONNECT, ..) => return Err(Ended::Reconnect),
        (op::INVALID_SESSION, ..) => return Err(Ended::Invalid { resumable: frame.d == true }),
        _ => Heard::Nothing,
    })
}

/// What it means that a connection is over; forgets the session if it cannot be resumed.
pub(super) fn after(discord: &Discord, ended: Ended) -> Stopped {
    let forget = || locked(&discord.marks).session = None;
    match ended {
        Ended::Reconnect => transient("Discord asks to connect anew".to_owned()),
        Ended::Broken(why) => transient(format!("the connection to Discord's gateway broke: {why}")),
        Ended::Invalid { resumable } => {
            if !resumable {
                forget();
            }
            Stopped::Transient {
                message: "the session with Discord's gateway is not valid any more".to_owned(),
                retry_after: Some(INVALID_PAUSE + INVALID_PAUSE_SPREAD.mul_f64(link::jitter())),
            }
        }
        Ended::Closed(code) => {
            if refusal::ends_session(code) {
                forget();
            }
            refusal::of_close(code)
        }
    }
}
