//! Server-sent events from a turn.

use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use tokio::sync::mpsc;

use super::turn::{Following, Step};

/// Silence after which a comment keeps the connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Events that wait for a slow client, at most; then the turn waits to be told, not to run.
const WAITING_MAX: usize = 256;

/// What a step looks like to the client.
pub trait Shape: Send + 'static {
    fn begin(&mut self) -> Vec<Event>;
    fn step(&mut self, step: Step) -> Vec<Event>;
    fn failed(&mut self, why: &str) -> Vec<Event>;
}

/// Answers with the turn as it goes on. The client's going away ends the telling, not the turn.
pub fn stream(
    mut following: Following,
    mut shape: impl Shape,
    place: Option<tokio::sync::OwnedSemaphorePermit>,
) -> Response {
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    tokio::spawn(async move {
        let _place = place;
        let mut told = shape.begin();
        loop {
            for event in told {
                if sender.send(event).await.is_err() {
                    return;
                }
            }
            told = match following.next().await {
                Ok(Some(step)) => shape.step(step),
                Ok(None) => return,
                Err(why) => {
                    for event in shape.failed(&why) {
                        if sender.send(event).await.is_err() {
                            return;
                        }
                    }
                    return;
                }
            };
        }
    });
    Sse::new(Receiving(receiver)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

struct Receiving(mpsc::Receiver<Event>);

impl Stream for Receiving {
    type Item = Result<Event, Infallible>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}
