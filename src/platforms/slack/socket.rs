//! Socket Mode: Slack delivers over a web socket that herm opens, and each envelope is acknowledged by its id
//! when what it holds was taken.
//!
//! Source: docs.slack.dev, "Using Socket Mode". What is not acknowledged is delivered again. Slack asks for a
//! new connection every few hours (`disconnect`): what came over the old one is then taken and
//! acknowledged there first.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::sync::CancellationToken;

use super::refusal::{self, Whose};
use super::take::{Delivery, take_patiently};
use super::wire::{Frame, Me, Opened};
use super::{Slack, missed};
use crate::config::Secret;
use crate::platforms::link::{self, Socket};
use crate::platforms::{Inlet, Stopped};

/// Envelopes that wait to be taken.
const QUEUE_MAX: usize = 1000;
/// How often herm asks whether Slack is still there, and how long it may be silent.
const PING_EVERY: Duration = Duration::from_secs(20);
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// How long a frame may take to be written.
const WRITE_MAX: Duration = Duration::from_secs(10);
/// How long the last acknowledgements may take.
const FAREWELL_MAX: Duration = Duration::from_secs(1);
/// A connection that Slack ends sooner is not begun anew at once.
const LIFE_MIN: Duration = Duration::from_secs(5);

/// What came, and the id that acknowledges it.
struct Envelope {
    id: String,
    delivery: Option<Delivery>,
}

/// Why a connection is over.
enum Ended {
    /// Slack wants another one, and everything of this one is acknowledged.
    Refreshed,
    Broken(String),
    Disabled,
}

fn transient(message: String) -> Stopped {
    Stopped::Transient { message, retry_after: None }
}

/// Reads until `stop`.
pub(super) async fn run(
    slack: &Slack,
    app_token: &Secret,
    inlet: &dyn Inlet,
    stop: &CancellationToken,
) -> Result<(), Stopped> {
    loop {
        let begun = Instant::now();
        let (socket, me) = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            opened = open(slack, app_token) => opened?,
        };
        match connection(slack, inlet, me, socket, stop).await? {
            None => return Ok(()),
            Some(Ended::Refreshed) if begun.elapsed() >= LIFE_MIN => {}
            Some(Ended::Refreshed) => return Err(transient("Slack asks to connect anew".to_owned())),
            Some(Ended::Broken(why)) => {
                slack.gap.store(true, Relaxed);
                return Err(transient(format!("the connection to Slack broke: {why}")));
            }
            Some(Ended::Disabled) => {
                return Err(Stopped::Terminal {
                    message: "Socket Mode was switched off for the app".to_owned(),
                    fix: "at https://api.slack.com/apps, `Socket Mode`, switch it on".to_owned(),
                });
            }
        }
    }
}

async fn open<'a>(slack: &'a Slack, app_token: &Secret) -> Result<(Socket, &'a Me), Stopped> {
    let me = slack.me().await.map_err(|failed| refusal::of_account(failed, Whose::Bot))?;
    let opened: Opened = slack
        .api
        .post_as(app_token, "apps.connections.open", &json!({}))
        .await
        .map_err(|failed| refusal::of_account(failed, Whose::App))?;
    let socket = link::socket(&opened.url).await;
    let socket = socket.map_err(|why| transient(format!("Slack's socket cannot be reached: {why}")))?;
    Ok((socket, me))
}

/// One connection, until it is over; `None` if `stop` ended it.
async fn connection(
    slack: &Slack,
    inlet: &dyn Inlet,
    me: &Me,
    socket: Socket,
    stop: &CancellationToken,
) -> Result<Option<Ended>, Stopped> {
    let (queue, envelopes) = mpsc::channel(QUEUE_MAX);
    let (acks, acknowledged) = mpsc::channel(QUEUE_MAX);
    let mut listening = std::pin::pin!(listen(socket, queue, acknowledged));
    let mut taking = Box::pin(async {
        // What comes meanwhile waits, so that it is taken after what was said before it.
        missed::fetch(slack, inlet, me).await?;
        take_all(slack, inlet, me, envelopes, acks).await
    });
    let taken = tokio::select! {
        biased;
        () = stop.cancelled() => None,
        ended = &mut listening => return Ok(Some(ended)),
        taken = &mut taking => Some(taken),
    };
    // Nothing more is acknowledged, which ends the listening when all is written.
    drop(taking);
    let ended = timeout(FAREWELL_MAX, listening).await;
    match taken {
        None => Ok(None),
        Some(Err(stopped)) => Err(stopped),
        Some(Ok(())) => Ok(Some(ended.unwrap_or(Ended::Refreshed))),
    }
}

/// Takes one envelope after the other, until none comes any more.
async fn take_all(
    slack: &Slack,
    inlet: &dyn Inlet,
    me: &Me,
    mut envelopes: mpsc::Receiver<Envelope>,
    acks: mpsc::Sender<String>,
) -> Result<(), Stopped> {
    while let Some(envelope) = envelopes.recv().await {
        if let Some(delivery) = &envelope.delivery {
            take_patiently(slack, inlet, me, delivery).await?;
        }
        // At once, so that a stop finds it there.
        if let Err(mpsc::error::TrySendError::Full(id)) = acks.try_send(envelope.id) {
            let _ = acks.send(id).await;
        }
    }
    Ok(())
}

/// Reads into `queue` and writes what was acknowledged, until the connection is over or nothing is
/// acknowledged any more. While the queue is full nothing is read.
async fn listen(
    mut socket: Socket,
    queue: mpsc::Sender<Envelope>,
    mut acknowledged: mpsc::Receiver<String>,
) -> Ended {
    let (mut queue, mut waiting) = (Some(queue), None);
    let mut ping = interval(PING_EVERY);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut heard_at = Instant::now();
    loop {
        let is_last = tokio::select! {
            ack = acknowledged.recv() => match ack {
                Some(id) => {
                    let frame = Message::text(json!({"envelope_id": id}).to_string());
                    if let Err(why) = write(&mut socket, frame).await {
                        return Ended::Broken(why);
                    }
                    false
                }
                None => {
                    // A word of goodbye; whether it is heard does not matter.
                    let _ = timeout(FAREWELL_MAX, socket.close(None)).await;
                    return Ended::Refreshed;
                }
            },
            room = room(queue.as_ref()), if waiting.is_some() => {
                if let (Some(room), Some(envelope)) = (room, waiting.take()) {
                    room.send(envelope);
                }
                heard_at = Instant::now();
                false
            }
            _ = ping.tick() => {
                if waiting.is_none() && queue.is_some() && heard_at.elapsed() > SILENCE_MAX {
                    return Ended::Broken("Slack is silent".to_owned());
                }
                if let Err(why) = write(&mut socket, Message::Ping(Vec::new().into())).await {
                    return Ended::Broken(why);
                }
                false
            }
            came = socket.next(), if waiting.is_none() && queue.is_some() => {
                heard_at = Instant::now();
                match heard(came) {
                    Ok(Some(Heard::Envelope(envelope))) => {
                        waiting = Some(envelope);
                        false
                    }
                    Ok(Some(Heard::Refresh)) => true,
                    Ok(None) => false,
                    Err(ended) => return ended,
                }
            }
        };
        if is_last {
            queue = None;
        }
    }
}

/// Room for one more in the queue; never, if there is none.
async fn room(queue: Option<&mpsc::Sender<Envelope>>) -> Option<mpsc::Permit<'_, Envelope>> {
    match queue {
        Some(queue) => queue.reserve().await.ok(),
        None => None,
    }
}

async fn write(socket: &mut Socket, frame: Message) -> Result<(), String> {
    match timeout(WRITE_MAX, socket.send(frame)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(link::unsocketed(&error)),
        Err(_) => Err("nothing can be written".to_owned()),
    }
}

enum Heard {
    Envelope(Envelope),
    Refresh,
}

fn heard(came: Option<Result<Message, Error>>) -> Result<Option<Heard>, Ended> {
    let text = match came {
        None => return Err(Ended::Broken("the connection is closed".to_owned())),
        Some(Err(error)) => return Err(Ended::Broken(link::unsocketed(&error))),
        Some(Ok(Message::Close(_))) => return Err(Ended::Broken("Slack closed the connection".to_owned())),
        Some(Ok(Message::Text(text))) => text,
        Some(Ok(_)) => return Ok(None),
    };
    let Ok(frame) = serde_json::from_str::<Frame>(text.as_str()) else {
        tracing::warn!("a frame of Slack's cannot be read and is passed over");
        return Ok(None);
    };
    if frame.kind == "disconnect" {
        return match frame.reason.as_deref() {
            Some("link_disabled") => Err(Ended::Disabled),
            _ => Ok(Some(Heard::Refresh)),
        };
    }
    let delivery = match frame.kind.as_str() {
        "events_api" => Some(Delivery::Event(frame.payload)),
        "interactive" => Some(Delivery::Interaction(frame.payload)),
        "slash_commands" => Some(Delivery::Command(frame.payload)),
        // Such as `hello`; what is not known and has an id is acknowledged, or it would come for ever.
        _ => None,
    };
    Ok(frame.envelope_id.map(|id| Heard::Envelope(Envelope { id, delivery })))
}
