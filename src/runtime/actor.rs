//! One session's task: the only writer of its stream.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use herm_replay::log::{Append, Committed, Expect, Log};
use herm_replay::reducer::barrier::{self, Barrier};
use herm_replay::reducer::{Command, Effect, EffectId, SessionState, decide, evolve, owed};
use herm_schema::events::MessageReceived;
use herm_schema::{Event, IdempotencyKey, Micros, NewEvent, Position, Recorded, SessionId};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::handle::{MAILBOX_MAX, Mail, Recorder};
use super::{Error, Ports};
use crate::effects::{self, Outcome, Run, Shown};
use crate::providers::BoxFuture;

/// Steps that one wake-up may take without waiting for anything; more is a defect of the reducer.
const STEPS_MAX: u32 = 10_000;

/// Panics of an actor itself, after which it stays down until the session is taken up again.
const PANICS_MAX: u32 = 16;

/// An effect under way.
struct Running {
    cancel: CancellationToken,
    shown: Shown,
    task: tokio::task::Id,
}

/// One session's task.
pub(super) struct Actor {
    id: SessionId,
    ports: Arc<Ports>,
    state: SessionState,
    /// Intents up to here were written by a process that is gone.
    inherited: Position,
    /// In the order of the names, so that the same events always cancel in the same order.
    running: BTreeMap<EffectId, Running>,
    tasks: JoinSet<(EffectId, Outcome)>,
    work: watch::Sender<bool>,
    /// What effects have recorded while they run.
    recorder: Recorder,
    steps: mpsc::Receiver<Mail>,
    /// What comes before everything that was left open.
    first: Option<Command>,
}

impl Actor {
    pub fn new(
        id: SessionId,
        ports: Arc<Ports>,
        state: SessionState,
        first: Option<Command>,
        work: watch::Sender<bool>,
    ) -> Box<Self> {
        let inherited = state.head.position;
        let (running, tasks) = (BTreeMap::new(), JoinSet::new());
        let (mailbox, steps) = mpsc::channel(MAILBOX_MAX);
        let recorder = Recorder { id, mailbox };
        Box::new(Self { id, ports, state, inherited, running, tasks, work, recorder, steps, first })
    }

    /// What a session that rests holds is its state, and little besides: the parts that work are boxed.
    ///
    /// Runs until nobody holds a handle and nothing is owed, or the log fails. A panic of its own
    /// is recorded, and it begins again from the log.
    pub async fn run(mut self: Box<Self>, mut mail: mpsc::Receiver<Mail>) {
        for _ in 0..PANICS_MAX {
            let panic = match AssertUnwindSafe(self.work(&mut mail)).catch_unwind().await {
                Ok(Ok(())) => return,
                Ok(Err(error)) => return self.ports.watch.broken(self.id, &error.to_string()),
                Err(panic) => panic_text(&*panic),
            };
            if let Err(error) = Box::pin(self.begin_again(panic)).await {
                return self.ports.watch.broken(self.id, &error.to_string());
            }
        }
        self.ports.watch.broken(self.id, "it panicked too often");
    }

    async fn begin_again(&mut self, panic: String) -> Result<(), Error> {
        self.tasks.shutdown().await;
        self.running.clear();
        self.state = (self.ports.load)(self.id)?;
        self.inherited = self.state.head.position;
        self.fault(EffectId::Advance, panic).await
    }

    async fn work(&mut self, mail: &mut mpsc::Receiver<Mail>) -> Result<(), Error> {
        if let Some(first) = self.first.take() {
            self.try_apply(first, None).await?;
        }
        if self.state.turn.is_some() || !self.state.auxiliary.is_empty() {
            self.try_apply(Command::Resume, None).await?;
        }
        let mut open = true;
        loop {
            self.settle().await?;
            if !open && self.tasks.is_empty() {
                return Ok(());
            }
            tokio::select! {
                biased;
                received = mail.recv(), if open => match received {
                    Some(received) => Box::pin(self.read(received)).await?,
                    None => open = false,
                },
                Some(step) = self.steps.recv() => Box::pin(self.read(step)).await?,
                Some(done) = self.tasks.join_next_with_id() => Box::pin(self.finish(done)).await?,
            }
        }
    }

    async fn read(&mut self, mail: Mail) -> Result<(), Error> {
        match mail {
            Mail::Command { command, key, answer } => self.take(*command, key, answer).await,
            Mail::State { answer } => {
                drop(answer.send(self.state.clone()));
                Ok(())
            }
        }
    }

    /// Goes on by itself as far as possible, and lets run exactly what is owed then.
    async fn settle(&mut self) -> Result<(), Error> {
        for _ in 0..STEPS_MAX {
            let owed = owed(&self.state);
            if !owed.contains(&Effect::Advance) || self.try_apply(Command::Advance, None).await?.is_none() {
                self.reconcile(owed);
                return Ok(());
            }
        }
        Err(Error::Gone { session: self.id, reason: format!("no rest after {STEPS_MAX} steps") })
    }

    fn reconcile(&mut self, owed: Vec<Effect>) {
        let wanted: Vec<EffectId> = owed.iter().map(Effect::id).collect();
        self.running.retain(|id, running| {
            let keep = wanted.contains(id);
            if !keep {
                running.cancel.cancel();
            }
            keep
        });
        for effect in owed {
            let id = effect.id();
            if let Effect::RunTool { stop: true, .. } = effect
                && let Some(running) = self.running.get(&id)
            {
                running.cancel.cancel();
            }
            if effect != Effect::Advance && !self.running.contains_key(&id) {
                let inherited = effect.intent().is_some_and(|intent| intent <= self.inherited);
                self.begin(id, effect, inherited);
            }
        }
    }

    fn begin(&mut self, id: EffectId, effect: Effect, inherited: bool) {
        let cancel = CancellationToken::new();
        if let Effect::RunTool { stop: true, .. } = effect {
            cancel.cancel();
        }
        let shown = Shown::default();
        let run = Run {
            session: self.id,
            ports: Arc::clone(&self.ports),
            cancel: cancel.clone(),
            shown: shown.clone(),
            recorder: self.recorder.clone(),
            inherited,
        };
        let future = effects::run(effect, &self.state, run);
        let handle = self.tasks.spawn(async move { (id, future.await) });
        self.running.insert(id, Running { cancel, shown, task: handle.id() });
    }

    /// An effect has ended: its outcome becomes events, or nobody waits for it any more.
    async fn finish(
        &mut self,
        done: Result<(tokio::task::Id, (EffectId, Outcome)), tokio::task::JoinError>,
    ) -> Result<(), Error> {
        let (id, outcome) = match done {
            Ok((task, (id, outcome))) => {
                let current = self.running.get(&id).is_some_and(|running| running.task == task);
                if current {
                    self.running.remove(&id);
                } else if matches!(outcome, Outcome::Fault(_)) {
                    return Ok(());
                }
                (id, outcome)
            }
            Err(error) => {
                let failed = self.running.iter().find(|(_, running)| running.task == error.id());
                let Some(id) = failed.map(|(id, _)| *id) else {
                    return Ok(());
                };
                self.running.remove(&id);
                let message = error.try_into_panic().map_or_else(|e| e.to_string(), |p| panic_text(&*p));
                (id, Outcome::Fault(message))
            }
        };
        match outcome {
            Outcome::Command(command) => self.apply_outcome(id, command).await,
            Outcome::Due => self.try_apply(Command::Advance, None).await.map(drop),
            Outcome::Uncertain(command, effect) => {
                if self.try_apply(command, None).await?.is_none() {
                    // With a key the same attempt is simply made again.
                    self.begin(id, effect, false);
                }
                Ok(())
            }
            Outcome::Fault(message) => self.fault(id, message).await,
            Outcome::Cancelled => Ok(()),
        }
    }

    async fn apply_outcome(&mut self, id: EffectId, command: Command) -> Result<(), Error> {
        match self.try_apply(command, None).await {
            Ok(_) => Ok(()),
            Err(Error::Log(herm_replay::log::Error::TooLarge { what, found, limit })) => {
                self.fault(id, format!("{what} of {found} exceeds the limit of {limit}")).await
            }
            Err(error) => Err(error),
        }
    }

    async fn fault(&mut self, effect: EffectId, message: String) -> Result<(), Error> {
        let message = (self.ports.redact)(&message).chars().take(2_000).collect();
        self.try_apply(Command::Fault { effect, message }, None).await.map(drop)
    }

    async fn take(
        &mut self,
        command: Command,
        key: Option<IdempotencyKey>,
        answer: oneshot::Sender<Result<Vec<Recorded>, Error>>,
    ) -> Result<(), Error> {
        let command = self.enrich(command);
        let result = self.apply(command, key).await;
        let fatal = match &result {
            Err(Error::Log(error)) if is_fatal(error) => Some(error.clone()),
            _ => None,
        };
        // Who said it is told when it is on the disk; the turn need not wait for that.
        let awaited = match &result {
            Ok(recorded) => acknowledged(recorded),
            Err(Error::Duplicate { position }) => Some(*position),
            Err(_) => None,
        };
        let done = move |durable: Result<(), herm_replay::log::Error>| {
            drop(answer.send(durable.map_err(Error::from).and(result)));
        };
        match awaited {
            Some(position) => self.ports.log.when_durable(position, Box::new(done)),
            None => done(Ok(())),
        }
        fatal.map_or(Ok(()), |error| Err(Error::Log(error)))
    }

    /// Adds what only the actor knows: what the person has seen of the answer being written.
    fn enrich(&self, command: Command) -> Command {
        let visible = || {
            let mut calls = self.running.iter().filter(|(id, _)| matches!(id, EffectId::CallModel(_)));
            calls.next().map(|(_, running)| (self.ports.redact)(&running.shown.text())).unwrap_or_default()
        };
        match command {
            Command::Receive { message, .. } => {
                let text = (self.ports.redact)(&message.text);
                let context = message.context.as_deref().map(|context| (self.ports.redact)(context));
                let message = MessageReceived { text, context, ..message };
                Command::Receive { message, visible_text: visible() }
            }
            Command::Steer(mut steer) => {
                steer.text = (self.ports.redact)(&steer.text);
                Command::Steer(steer)
            }
            Command::GiveHistory(mut history) => {
                history.system = history.system.map(|system| (self.ports.redact)(&system));
                history.messages.iter_mut().for_each(|said| said.text = (self.ports.redact)(&said.text));
                Command::GiveHistory(history)
            }
            Command::Mirror(mut mirrored) => {
                mirrored.text = (self.ports.redact)(&mirrored.text);
                Command::Mirror(mirrored)
            }
            Command::Title(title) => Command::Title((self.ports.redact)(&title)),
            Command::Interrupt { by, .. } => Command::Interrupt { by, visible_text: visible() },
            other => other,
        }
    }

    /// Applies a command that may have become pointless; `None` if it has.
    async fn try_apply(
        &mut self,
        command: Command,
        key: Option<IdempotencyKey>,
    ) -> Result<Option<Vec<Recorded>>, Error> {
        match self.apply(command, key).await {
            Ok(recorded) => Ok(Some(recorded)),
            Err(Error::Rejected(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Decides, appends, folds. In a box of its own: what it takes is held only while it runs, not by every
    /// session that rests.
    fn apply(
        &mut self,
        command: Command,
        key: Option<IdempotencyKey>,
    ) -> BoxFuture<'_, Result<Vec<Recorded>, Error>> {
        Box::pin(self.applied(command, key))
    }

    async fn applied(
        &mut self,
        command: Command,
        key: Option<IdempotencyKey>,
    ) -> Result<Vec<Recorded>, Error> {
        let mut stamp = self.ports.clock.stamp();
        if let Some(policy) = self.state.policy.as_ref().filter(|_| asks_about_models(&command)) {
            stamp.outlook = self.ports.models.outlook(policy);
        }
        let now = stamp.now;
        let events = decide(&self.state, command, stamp)?;
        let committed = self.append(events, key, now).await?;
        if committed.duplicate {
            let position = committed.events.first().map_or(Position(0), |first| first.envelope.position);
            return Err(Error::Duplicate { position });
        }
        for recorded in &committed.events {
            self.ports.models.note(recorded, &self.state);
            evolve(&mut self.state, recorded);
            self.ports.watch.event(recorded, &self.state);
            if let Event::TurnEnded(_) = recorded.event {
                effects::spool::tidy(&self.ports.home, self.id, self.ports.limits.bytes_max);
            }
        }
        let open = self.state.has_open_work();
        self.work.send_if_modified(|work| std::mem::replace(work, open) != open);
        Ok(committed.events)
    }

    async fn append(
        &self,
        events: Vec<NewEvent>,
        key: Option<IdempotencyKey>,
        at: Micros,
    ) -> Result<Committed, Error> {
        let append = Append {
            stream: self.id.stream(),
            expect: Expect::At(self.state.head.stream_pos),
            key,
            at,
            durability: barrier::of_all(events.iter().map(|new| &new.event)).durability(),
            events,
        };
        let (done, wait) = oneshot::channel();
        let acknowledge = move |result| drop(done.send(result));
        Log::submit(&*self.ports.log, append, Box::new(acknowledge));
        Ok(wait.await.map_err(|_| herm_replay::log::Error::Closed)??)
    }
}

/// The last of these events, where whoever caused them is told only when they are on the disk.
fn acknowledged(recorded: &[Recorded]) -> Option<Position> {
    let barrier = barrier::of_all(recorded.iter().map(|recorded| &recorded.event));
    let last = recorded.last().map(|last| last.envelope.position);
    last.filter(|_| barrier == Barrier::Acknowledgement)
}

/// Whether what is decided may depend on keys and spending.
fn asks_about_models(command: &Command) -> bool {
    matches!(command, Command::Advance | Command::ModelFailed { .. } | Command::BeginAuxiliary(_))
}

/// Whether the log will take nothing more from this process.
fn is_fatal(error: &herm_replay::log::Error) -> bool {
    use herm_replay::log::Error as E;
    matches!(error, E::Poisoned { .. } | E::Closed | E::Conflict { .. } | E::Damaged { .. } | E::ReadOnly)
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panicked".to_owned())
}
