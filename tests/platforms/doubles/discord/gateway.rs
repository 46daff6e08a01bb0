//! The gateway: hello, identify, resume, heartbeats, and what happened, by number.

use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

use super::state::{Session, channel_id, user};
use super::{GUILD, HERM, Order, Shared, TOKEN};
use herm::platforms::contract::Who;
use herm_schema::events::ChatKind;

/// GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES and MESSAGE_CONTENT, without which nothing is given.
const NEEDED: u64 = 1 | 1 << 9 | 1 << 12 | 1 << 15;
const MESSAGE_CONTENT: u64 = 1 << 15;
/// Channels of each kind that are told of; the others have to be asked for.
const TOLD: usize = 4;

type Socket = WebSocketStream<TcpStream>;

/// A connection, and how far it was given its session.
struct Line {
    socket: Socket,
    number: usize,
    session: Option<String>,
    given: usize,
}

#[expect(clippy::result_large_err, reason = "the crate wants the answer itself")]
pub async fn serve(shared: Arc<Shared>, stream: TcpStream) {
    let mut query = String::new();
    let look = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        query = request.uri().query().unwrap_or_default().to_owned();
        Ok(response)
    };
    let Ok(socket) = accept_hdr_async(stream, look).await else { return };
    let (number, hello) = {
        let mut state = shared.state();
        if query != "v=10&encoding=json" {
            state.problems.push(format!("the gateway was asked with `{query}`"));
        }
        state.connections += 1;
        (state.connections, state.tempers.heartbeat)
    };
    let mut orders = shared.orders.subscribe();
    let mut line = Line { socket, number, session: None, given: 0 };
    let hello = json!({"op": 10, "s": null, "t": null, "d": {
        "heartbeat_interval": u64::try_from(hello.as_millis()).unwrap(), "_trace": [],
    }});
    if line.say(&hello).await.is_none() {
        return;
    }
    loop {
        // Made before the look, so that nothing that happens between is missed.
        let mut changed = std::pin::pin!(shared.changed.notified());
        changed.as_mut().enable();
        if line.give(&shared).await.is_none() {
            return;
        }
        let done = tokio::select! {
            () = changed => Some(()),
            order = orders.recv() => match order {
                Ok(Order::Cut) | Err(_) => None,
                Ok(Order::Reconnect) => line.say(&json!({"op": 7, "d": null})).await,
                Ok(Order::Invalid(resumable)) => line.say(&json!({"op": 9, "d": resumable})).await,
                Ok(Order::Close(code)) => line.close(code).await,
            },
            frame = line.socket.next() => match frame {
                Some(Ok(Message::Text(text))) => {
                    let frame = serde_json::from_str(text.as_str()).unwrap_or_default();
                    line.obey(&shared, &frame).await
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => Some(()),
                _ => None,
            },
        };
        if done.is_none() {
            return;
        }
    }
}

impl Line {
    /// `None` if nobody is there.
    async fn say(&mut self, frame: &Value) -> Option<()> {
        self.socket.send(Message::text(frame.to_string())).await.ok()
    }

    async fn close(&mut self, code: u16) -> Option<()> {
        let frame = CloseFrame { code: code.into(), reason: "as the test wants it".into() };
        let _ = self.socket.close(Some(frame)).await;
        // The other side closes as well, and has read the code then.
        while let Some(Ok(_)) = self.socket.next().await {}
        None
    }

    /// Gives what was not given yet.
    async fn give(&mut self, shared: &Shared) -> Option<()> {
        loop {
            let next = {
                let state = shared.state();
                let session = self.session.as_ref().and_then(|id| state.sessions.get(id));
                // Another connection may have taken the session over.
                let session = session.filter(|session| session.connection == self.number);
                session.and_then(|session| session.log.get(self.given).cloned())
            };
            let Some(next) = next else { return Some(()) };
            self.given += 1;
            self.say(&next).await?;
        }
    }

    async fn obey(&mut self, shared: &Shared, frame: &Value) -> Option<()> {
        let data = &frame["d"];
        match frame["op"].as_u64() {
            Some(1) => {
                let answers = {
                    let mut state = shared.state();
                    if data.as_u64().unwrap_or(0) > u64::try_from(self.given).unwrap() {
                        state.problems.push(format!("a heartbeat tells {data}, which was never given"));
                    }
                    state.beats += 1;
                    state.tempers.answers
                };
                if answers { self.say(&json!({"op": 11})).await } else { Some(()) }
            }
            Some(2 | 6) if self.session.is_some() => self.close(4005).await,
            Some(2 | 6) if data["token"] != TOKEN || shared.state().unauthorised => self.close(4004).await,
            Some(2) => self.identify(shared, data).await,
            Some(6) => self.resume(shared, data).await,
            _ => self.close(4001).await,
        }
    }

    async fn identify(&mut self, shared: &Shared, data: &Value) -> Option<()> {
        let intents = data["intents"].as_u64().unwrap_or(0);
        let refused = {
            let mut state = shared.state();
            if intents & NEEDED != NEEDED {
                state.problems.push(format!("the intents {intents:#x} lack some"));
            }
            intents & MESSAGE_CONTENT != 0 && !state.tempers.message_content
        };
        if refused {
            return self.close(4014).await;
        }
        let mut state = shared.state();
        state.identified += 1;
        let id = format!("{:032x}", state.identified);
        let mut session = Session { connection: self.number, ..Session::default() };
        session.give(
            "READY",
            json!({
                "v": 10, "user": user(Who::Herm), "guilds": [{"id": GUILD, "unavailable": true}],
                "session_id": id, "resume_gateway_url": state.gateway_url,
                "application": {"id": HERM, "flags": 0},
            }),
        );
        let told =
            |kind| (0..TOLD).filter_map(move |number| super::state::channel(&channel_id(kind, number)));
        let all: Vec<Value> = told(ChatKind::Channel).chain(told(ChatKind::Group)).collect();
        let (threads, channels): (Vec<Value>, Vec<Value>) =
            all.into_iter().partition(|channel| channel["type"] != 0);
        session.give(
            "GUILD_CREATE",
            json!({
                "id": GUILD, "name": "Server", "channels": channels, "threads": threads, "members": [],
                "roles": [{"id": "1060000000000000001", "name": "herm", "tags": {"bot_id": HERM}}],
            }),
        );
        let early = std::mem::take(&mut state.early);
        for (name, data) in early.into_iter().filter(|_| state.tempers.gives_early) {
            session.give(&name, data);
        }
        state.sessions.insert(id.clone(), session);
        self.session = Some(id);
        Some(())
    }

    async fn resume(&mut self, shared: &Shared, data: &Value) -> Option<()> {
        let id = data["session_id"].as_str().unwrap_or_default().to_owned();
        let seq = usize::try_from(data["seq"].as_u64().unwrap_or(0)).unwrap();
        let found = {
            let mut state = shared.state();
            let known = state.sessions.get_mut(&id).map(|session| {
                let is_number = seq <= session.log.len();
                if is_number {
                    session.connection = self.number;
                    session.give("RESUMED", json!({"_trace": []}));
                }
                is_number
            });
            if known == Some(true) {
                state.resumed += 1;
            }
            known
        };
        match found {
            None => return self.say(&json!({"op": 9, "d": false})).await,
            Some(false) => return self.close(4007).await,
            Some(true) => {}
        }
        (self.session, self.given) = (Some(id), seq);
        Some(())
    }
}
