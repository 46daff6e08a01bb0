//! The desk: the one writer of the gateway's stream, and the courier of what it owes.
//!
//! What a session is to its actor, the gateway's stream is to the desk: it decides, appends, folds, and
//! sends the deliveries that are planned there. A process that only wants to say one thing (`herm send`
//! with no gateway running) uses it as well as the daemon.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use herm_replay::deliveries::{ChunkStatus, Owed};
use herm_replay::gateway::{self, Command, GatewayState, Rejection};
use herm_replay::log::{self, Append, Durability, Expect, Log};
use herm_replay::reducer::barrier::{self, Barrier};
use herm_schema::events::{DeliveryPlanned, Part};
use herm_schema::{Event, IdempotencyKey, Micros, Position, Recorded, StreamPos};
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use crate::delivery::{Content, Outlet, Parcel};
use crate::effects::content;
use crate::runtime::{Clock, Redact};

/// Why a command of the gateway led to nothing.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Rejected(#[from] Rejection),
    #[error("the log does not take it")]
    Log(#[from] log::Error),
    #[error("it was received before, as event {position}")]
    Duplicate { position: Position },
}

/// The gateway's stream.
pub struct Desk {
    log: Arc<dyn Log>,
    clock: Arc<dyn Clock>,
    redact: Redact,
    /// Held from the decision to the fold.
    writer: tokio::sync::Mutex<()>,
    state: RwLock<GatewayState>,
    /// Intents up to here were written by a process that is gone.
    inherited: Position,
    /// Intents that are being sent.
    sending: Mutex<BTreeSet<StreamPos>>,
    changed: Notify,
}

impl Desk {
    /// Folds the stream.
    ///
    /// # Errors
    /// Those of the log.
    pub fn open(log: Arc<dyn Log>, clock: Arc<dyn Clock>, redact: Redact) -> Result<Arc<Self>, log::Error> {
        let mut state = GatewayState::default();
        for recorded in log.read_stream(gateway::stream(), StreamPos(0)) {
            gateway::evolve(&mut state, &recorded?);
        }
        let inherited = state.head.position;
        Ok(Arc::new(Self {
            log,
            clock,
            redact,
            writer: tokio::sync::Mutex::default(),
            state: RwLock::new(state),
            inherited,
            sending: Mutex::default(),
            changed: Notify::new(),
        }))
    }

    /// Looks at the state.
    pub fn read<T>(&self, look: impl FnOnce(&GatewayState) -> T) -> T {
        look(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks for something; recorded and, where it must be, on the disk when this returns.
    ///
    /// # Errors
    /// Why nothing follows, `Duplicate` for a key that was used before, or those of the log.
    pub async fn ask(&self, command: Command, key: Option<IdempotencyKey>) -> Result<Vec<Recorded>, Error> {
        let command = self.without_secrets(command);
        let _one = self.writer.lock().await;
        let at = self.clock.now();
        let (events, head) = self.read(|state| {
            gateway::decide(state, command, at).map(|events| (events, state.head.stream_pos))
        })?;
        let append = Append {
            stream: gateway::stream(),
            expect: Expect::At(head),
            key,
            at,
            durability: of_all(events.iter().map(|new| &new.event)),
            events,
        };
        let (done, wait) = oneshot::channel();
        let acknowledge = move |result| drop(done.send(result));
        Log::submit(&*self.log, append, Box::new(acknowledge));
        let committed = wait.await.map_err(|_| log::Error::Closed)??;
        if committed.duplicate {
            let position = committed.events.first().map_or(Position(0), |first| first.envelope.position);
            return Err(Error::Duplicate { position });
        }
        {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            committed.events.iter().for_each(|recorded| gateway::evolve(&mut state, recorded));
        }
        self.changed.notify_waiters();
        self.changed.notify_one();
        Ok(committed.events)
    }

    /// A text without secrets; what is to be cut into parts is cut after this.
    pub fn redacted(&self, text: &str) -> String {
        (self.redact)(text)
    }

    /// Secrets are taken out before there is an event.
    fn without_secrets(&self, command: Command) -> Command {
        match command {
            Command::Receive(mut received) => {
                received.arguments = (self.redact)(&received.arguments);
                Command::Receive(received)
            }
            Command::Say(planned) => Command::Say(self.clean(planned)),
            Command::Answer { command, answer } => {
                Command::Answer { command, answer: answer.map(|planned| self.clean(planned)) }
            }
            other => other,
        }
    }

    fn clean(&self, mut planned: DeliveryPlanned) -> DeliveryPlanned {
        for part in &mut planned.chunks {
            if let Part::Text(text) = part {
                *text = (self.redact)(text);
            }
        }
        planned
    }

    /// As [`Desk::ask`], where it may have become pointless.
    ///
    /// # Errors
    /// Those of the log.
    pub async fn try_ask(&self, command: Command) -> Result<Option<Vec<Recorded>>, log::Error> {
        match self.ask(command, None).await {
            Ok(recorded) => Ok(Some(recorded)),
            Err(Error::Rejected(_) | Error::Duplicate { .. }) => Ok(None),
            Err(Error::Log(error)) => Err(error),
        }
    }

    /// What was recorded in the stream from `at` on.
    pub fn stream_from(&self, at: StreamPos) -> Vec<herm_schema::Event> {
        let records = self.log.read_stream(gateway::stream(), at);
        records.filter_map(|recorded| Some(recorded.ok()?.event)).collect()
    }

    /// Whether a delivery of the gateway's own is owed.
    pub fn owes(&self) -> bool {
        self.read(|state| !state.deliveries.is_empty())
    }

    /// Waits until a delivery is not owed any more.
    pub async fn gone(&self, delivery: StreamPos) {
        loop {
            let changed = self.changed.notified();
            if !self.read(|state| state.deliveries.contains_key(&delivery)) {
                return;
            }
            changed.await;
        }
    }

    /// Waits until nothing is owed, or until `deadline`; whether nothing is.
    pub async fn settled(&self, deadline: Duration) -> bool {
        let wait = async {
            loop {
                let changed = self.changed.notified();
                if !self.owes() {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(deadline, wait).await.is_ok()
    }

    /// Sends what is owed until `stop`.
    ///
    /// # Errors
    /// Those of the log; nothing more is sent then.
    pub async fn deliver(
        self: &Arc<Self>,
        outlet: Arc<dyn Outlet>,
        stop: CancellationToken,
    ) -> Result<(), log::Error> {
        loop {
            let changed = self.changed.notified();
            let next = self.begin(&outlet).await?;
            let wait = next.map(|until| self.clock.left(until));
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = changed => {}
                () = async { tokio::time::sleep(wait.unwrap_or_default()).await }, if wait.is_some() => {}
            }
        }
    }

    /// Begins what can be begun; when more can.
    async fn begin(self: &Arc<Self>, outlet: &Arc<dyn Outlet>) -> Result<Option<Micros>, log::Error> {
        let now = self.clock.now();
        let mut next = None;
        for owed in self.read(gateway::owed) {
            match owed {
                Owed::Wait { until } if until > now => {
                    next = Some(next.map_or(until, |next: Micros| next.min(until)));
                }
                Owed::Wait { .. } | Owed::Attempt => {
                    self.try_ask(Command::Advance).await?;
                }
                Owed::Send { intent, position, .. } if position <= self.inherited && self.first(intent) => {
                    if self.try_ask(Command::Uncertain { intent }).await?.is_none() {
                        self.send(intent, outlet);
                    }
                }
                Owed::Send { intent, .. } => {
                    if self.first(intent) {
                        self.send(intent, outlet);
                    }
                }
            }
        }
        Ok(next)
    }

    /// Whether nobody sends it yet; from now on somebody does.
    fn first(&self, intent: StreamPos) -> bool {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner).insert(intent)
    }

    fn send(self: &Arc<Self>, intent: StreamPos, outlet: &Arc<dyn Outlet>) {
        let (desk, outlet) = (Arc::clone(self), Arc::clone(outlet));
        tokio::spawn(async move {
            // A panic of an adapter leaves the attempt without an outcome; herm's own fault is recorded.
            let sent = tokio::spawn({
                let desk = Arc::clone(&desk);
                async move { desk.outcome(intent, &*outlet).await }
            });
            let command = sent.await.unwrap_or(Some(Command::Faulted { intent }));
            if let Some(command) = command
                && let Err(error) = desk.try_ask(command).await
            {
                tracing::error!(%error, "what became of a delivery cannot be recorded");
            }
            desk.sending.lock().unwrap_or_else(PoisonError::into_inner).remove(&intent);
        });
    }

    async fn outcome(&self, intent: StreamPos, outlet: &dyn Outlet) -> Option<Command> {
        let parcel = match self.parcel(intent)? {
            Ok(parcel) => parcel,
            Err(_) => return Some(Command::Faulted { intent }),
        };
        Some(match outlet.send(&parcel).await {
            Ok(platform_message_id) => Command::Delivered { intent, platform_message_id },
            Err(failure) => Command::NotDelivered {
                intent,
                class: failure.class,
                message: (self.redact)(&failure.message),
                retry_at: failure.retry_after.map(|wait| after(self.clock.now(), wait)),
            },
        })
    }

    fn parcel(&self, intent: StreamPos) -> Option<Result<Parcel, log::Error>> {
        let (parcel, part) = self.read(|state| {
            state.deliveries.iter().find_map(|(id, delivery)| {
                let mut chunks = delivery.chunks.iter().enumerate();
                let (index, repeat, part) = chunks.find_map(|(index, chunk)| match chunk.status {
                    ChunkStatus::Attempted { intent: at, possible_repeat, .. } if at == intent => {
                        Some((index, possible_repeat, chunk.part.clone()))
                    }
                    _ => None,
                })?;
                let parcel = Parcel {
                    target: delivery.target.clone(),
                    session: None,
                    content: Content::Text(String::new()),
                    key: format!("gateway-{id}-{index}"),
                    possible_repeat: repeat,
                    first: index == 0,
                    reply_to: delivery.reply_to.clone(),
                    replaces: None,
                };
                Some((parcel, part))
            })
        })?;
        let content = content(&*self.log, &part, &self.redact);
        Some(content.map(|content| Parcel { content, ..parcel }))
    }
}

/// What its caller has to be told only when it is on the disk is waited for here.
fn of_all<'a>(events: impl IntoIterator<Item = &'a Event>) -> Durability {
    if barrier::of_all(events) == Barrier::Nothing { Durability::Queued } else { Durability::Disk }
}

/// A time `wait` after `now`.
pub fn after(now: Micros, wait: Duration) -> Micros {
    now.plus(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX))
}
