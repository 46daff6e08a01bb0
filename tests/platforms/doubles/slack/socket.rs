//! Socket Mode: hello, envelopes until they are acknowledged, disconnects.

use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

use super::{Order, Shared};

/// What lets a connection in; part of the address that `apps.connections.open` tells.
pub const TICKET: &str = "b7b6bd7f-ticket";

#[expect(clippy::result_large_err, reason = "the crate wants the answer itself")]
pub async fn serve(shared: Arc<Shared>, stream: TcpStream) {
    let mut query = String::new();
    let look = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        query = request.uri().query().unwrap_or_default().to_owned();
        Ok(response)
    };
    let Ok(mut socket) = accept_hdr_async(stream, look).await else { return };
    let number = {
        let mut state = shared.state();
        if !query.contains(TICKET) {
            state.problems.push("a connection without a ticket".to_owned());
        }
        state.connections += 1;
        state.newest = state.connections;
        state.connections
    };
    let mut orders = shared.orders.subscribe();
    let hello = json!({
        "type": "hello", "connection_info": {"app_id": "A0123"}, "num_connections": 1,
        "debug_info": {"host": "applink-1", "approximate_connection_time": 18_060},
    });
    if say(&mut socket, &hello).await.is_none() {
        return;
    }
    let mut asked_to_go = false;
    loop {
        // Made before the look, so that nothing that happens between is missed.
        let mut changed = std::pin::pin!(shared.changed.notified());
        changed.as_mut().enable();
        if !asked_to_go && give(&shared, &mut socket, number).await.is_none() {
            return;
        }
        let done = tokio::select! {
            () = changed => Some(()),
            order = orders.recv() => match order {
                Ok(Order::Cut) | Err(_) => None,
                Ok(Order::Disconnect(reason)) => {
                    asked_to_go = true;
                    let debug = json!({"host": "applink-1"});
                    say(&mut socket, &json!({"type": "disconnect", "reason": reason, "debug_info": debug})).await
                }
            },
            frame = socket.next() => match frame {
                Some(Ok(Message::Text(text))) => {
                    acknowledged(&shared, &serde_json::from_str(text.as_str()).unwrap_or_default());
                    Some(())
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

/// `None` if nobody is there.
async fn say(socket: &mut WebSocketStream<TcpStream>, frame: &Value) -> Option<()> {
    socket.send(Message::text(frame.to_string())).await.ok()
}

/// Gives every open envelope that this connection was not given, if it is the newest.
async fn give(shared: &Shared, socket: &mut WebSocketStream<TcpStream>, number: usize) -> Option<()> {
    loop {
        let next = {
            let mut state = shared.state();
            if state.newest != number {
                return Some(());
            }
            state.open.iter_mut().find(|envelope| envelope.given < number).map(|envelope| {
                envelope.given = number;
                envelope.frame.clone()
            })
        };
        match next {
            Some(frame) => say(socket, &frame).await?,
            None => return Some(()),
        }
    }
}

fn acknowledged(shared: &Shared, frame: &Value) {
    let mut state = shared.state();
    let Some(id) = frame["envelope_id"].as_str() else {
        state.problems.push(format!("no acknowledgement: {frame}"));
        return;
    };
    state.open.retain(|envelope| envelope.id != id);
}
