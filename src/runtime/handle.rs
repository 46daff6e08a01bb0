//! How the rest of herm talks to a session.

use herm_replay::reducer::{Command, SessionState};
use herm_schema::events::{InterruptSource, MessageReceived, Policy};
use herm_schema::{IdempotencyKey, Recorded, SessionId};
use tokio::sync::{mpsc, oneshot, watch};

use super::Error;

/// What reaches an actor from outside.
pub(super) enum Mail {
    Command {
        command: Box<Command>,
        key: Option<IdempotencyKey>,
        answer: oneshot::Sender<Result<Vec<Recorded>, Error>>,
    },
    /// The state after the newest event.
    State { answer: oneshot::Sender<SessionState> },
}

/// Commands that wait for an actor, at most; more make the sender wait.
pub(super) const MAILBOX_MAX: usize = 64;

/// How an effect that takes several steps has them recorded while it runs.
#[derive(Clone)]
pub struct Recorder {
    pub(super) id: SessionId,
    pub(super) mailbox: mpsc::Sender<Mail>,
}

impl Recorder {
    /// What was recorded for `command`, once it is in the log.
    ///
    /// # Errors
    /// The rejection, or that of the log.
    pub async fn record(&self, command: Command) -> Result<Vec<Recorded>, Error> {
        ask(&self.mailbox, self.id, command, None).await
    }
}

async fn ask(
    mailbox: &mpsc::Sender<Mail>,
    id: SessionId,
    command: Command,
    key: Option<IdempotencyKey>,
) -> Result<Vec<Recorded>, Error> {
    let gone = || Error::Gone { session: id, reason: "its actor has ended".to_owned() };
    let (answer, wait) = oneshot::channel();
    let command = Box::new(command);
    mailbox.send(Mail::Command { command, key, answer }).await.map_err(|_| gone())?;
    wait.await.map_err(|_| gone())?
}

/// A running session. The actor ends when the last handle is gone and nothing is owed.
#[derive(Clone)]
pub struct SessionHandle {
    pub(super) id: SessionId,
    pub(super) mailbox: mpsc::Sender<Mail>,
    pub(super) open_work: watch::Receiver<bool>,
}

impl SessionHandle {
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Someone said something; recorded and on the disk when this returns.
    ///
    /// # Errors
    /// `Duplicate` for a message that was received before.
    pub async fn receive(&self, message: MessageReceived) -> Result<Vec<Recorded>, Error> {
        // Not the session: a message that comes again may find another one in its place.
        let chat = &message.chat;
        let key = IdempotencyKey::of(&["message", &chat.platform, &chat.chat, &message.message_id]);
        let command = Command::Receive { message, visible_text: String::new() };
        self.send(command, Some(key)).await
    }

    /// Ends the running turn.
    ///
    /// # Errors
    /// `Rejected` if none is running or it is ending already.
    pub async fn interrupt(&self, by: InterruptSource) -> Result<Vec<Recorded>, Error> {
        self.send(Command::Interrupt { by, visible_text: String::new() }, None).await
    }

    /// New settings from the next model call on.
    ///
    /// # Errors
    /// Those of the log.
    pub async fn configure(&self, policy: Policy) -> Result<Vec<Recorded>, Error> {
        self.send(Command::Configure(policy), None).await
    }

    /// Any other command.
    ///
    /// # Errors
    /// The rejection, or that of the log.
    pub async fn send(&self, command: Command, key: Option<IdempotencyKey>) -> Result<Vec<Recorded>, Error> {
        ask(&self.mailbox, self.id, command, key).await
    }

    fn gone(&self) -> Error {
        Error::Gone { session: self.id, reason: "its actor has ended".to_owned() }
    }

    /// Whether something is owed: a turn, a message that waits, a delivery.
    pub fn is_busy(&self) -> bool {
        *self.open_work.borrow()
    }

    /// Waits until nothing is owed: no turn, no message that waits, no delivery.
    ///
    /// # Errors
    /// `Gone` if the actor ends with work open.
    pub async fn idle(&self) -> Result<(), Error> {
        let mut open_work = self.open_work.clone();
        open_work.wait_for(|open| !*open).await.map(drop).map_err(|_| self.gone())
    }

    /// The state after the newest event.
    ///
    /// # Errors
    /// `Gone` if the actor has ended.
    pub async fn state(&self) -> Result<SessionState, Error> {
        let (answer, wait) = oneshot::channel();
        self.mailbox.send(Mail::State { answer }).await.map_err(|_| self.gone())?;
        wait.await.map_err(|_| self.gone())
    }
}
