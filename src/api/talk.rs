//! From a request to a turn: which session, what was said before, what is said now.

use std::sync::Arc;

use herm_replay::reducer::Command;
use herm_schema::events::*;
use herm_schema::{Recorded, SessionId, StreamPos};

use super::input::Said;
use super::server::{Api, Refusal, platform};
use super::turn::Following;
use crate::gateway::rooms::Door;
use crate::runtime::{Clock, Error, SessionHandle, SystemClock};

/// Prefix of the keys of sessions that the API opens; no session key of a chat begins so.
const KEY: &str = "api/";
/// Longest name that a client may give to a session or a request, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// What is asked.
#[derive(Default)]
pub struct Asked {
    /// For whom a program speaks that speaks for several: they have each their own memory.
    pub person: Option<String>,
    /// Goes on with this session, by its id or a client's own name for it.
    pub session: Option<String>,
    /// What was said before, where a new session begins.
    pub history: Vec<GivenMessage>,
    /// Added at the end of the system prompt of a new session.
    pub system: Option<String>,
    pub said: Said,
    /// The same request comes again under the same key, and is answered as before.
    pub idempotency: Option<String>,
}

impl Api {
    /// Begins the turn that answers.
    ///
    /// # Errors
    /// What does not fit, or herm takes nothing now.
    pub async fn ask(&self, asked: Asked) -> Result<Following, Refusal> {
        self.hub.open().map_err(|error| {
            Refusal::new(axum::http::StatusCode::SERVICE_UNAVAILABLE, "draining", error.to_string())
        })?;
        if asked.said.text.trim().is_empty() && asked.said.attachments.is_empty() {
            return Err(Refusal::bad("there is no message of the user to answer"));
        }
        for name in asked.session.iter().chain(&asked.idempotency).chain(&asked.person) {
            if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
                return Err(Refusal::bad(format!(
                    "a name has 1 to {NAME_BYTES_MAX} bytes and no control characters"
                )));
            }
        }
        let Asked { person, session, history, system, said, idempotency } = asked;
        let person = person.as_deref();
        let one_shot = session.is_none() && idempotency.is_none();
        let handle = match (&session, &idempotency) {
            (Some(name), _) => self.named(name, person).await?,
            (None, Some(key)) => self.enter(&format!("request/{key}"), person).await?,
            (None, None) => self.open_for("", person).await?,
        };
        let given = HistoryGiven { system, messages: history };
        if !given.messages.is_empty() || given.system.is_some() {
            match handle.send(Command::GiveHistory(given), None).await {
                // It has begun already, by the same request or an earlier one.
                Ok(_) | Err(Error::Rejected(_)) => {}
                Err(error) => return Err(Refusal::failed(error)),
            }
        }
        let message_id = match idempotency {
            Some(key) => format!("request/{key}"),
            None => format!("{}-{:016x}", SystemClock.now().0, SystemClock.seed()),
        };
        let following = self.say(&handle, said, message_id).await?;
        Ok(if one_shot { following.one_shot() } else { following })
    }

    /// Says something in a session, and follows the turn that answers.
    ///
    /// # Errors
    /// The session does not take it.
    pub async fn say(
        &self,
        handle: &SessionHandle,
        said: Said,
        message_id: String,
    ) -> Result<Following, Refusal> {
        let session = handle.id();
        let happenings = self.profile.feed.follow(session);
        let message = MessageReceived {
            message_id,
            chat: chat(),
            sender: Sender { id: "api".to_owned(), name: None },
            text: said.text,
            attachments: said.attachments,
            context: None,
        };
        match handle.receive(message).await {
            Ok(recorded) => Ok(Following::new(&self.profile, session, received(&recorded)?, happenings)),
            Err(Error::Duplicate { position }) => {
                let first = self.profile.engine.log.read_all(position).next();
                let recorded =
                    first.and_then(Result::ok).ok_or_else(|| Refusal::failed("the log cannot be read"))?;
                let message = recorded.envelope.stream_pos;
                let mut following = Following::new(&self.profile, session, message, happenings);
                following.read().map_err(Refusal::failed)?;
                Ok(following)
            }
            Err(Error::Rejected(why)) => Err(Refusal::bad(why.to_string())),
            Err(error) => Err(Refusal::failed(error)),
        }
    }

    /// A session by its id, or by the name that a client gave it.
    async fn named(&self, name: &str, person: Option<&str>) -> Result<SessionHandle, Refusal> {
        match name.parse::<SessionId>() {
            Ok(id) => self.session(id).await,
            Err(_) => self.enter(&format!("session/{name}"), person).await,
        }
    }

    /// A session of this profile.
    ///
    /// # Errors
    /// There is none.
    pub async fn session(&self, id: SessionId) -> Result<SessionHandle, Refusal> {
        self.profile.rooms.take_up(id).await.map_err(|error| match error {
            Error::NoSession { .. } => Refusal::not_found("such session"),
            error => Refusal::failed(error),
        })
    }

    async fn enter(&self, name: &str, person: Option<&str>) -> Result<SessionHandle, Refusal> {
        let whose =
            person.map(|person| format!("person/{}/", person.replace('%', "%25").replace('/', "%2F")));
        let key = format!("{KEY}{}{name}", whose.unwrap_or_default());
        let door = Door { key, chat: chat_of(person), shared: false };
        self.profile.rooms.enter(&door).await.map_err(Refusal::failed)
    }

    /// A new session.
    ///
    /// # Errors
    /// Those of the log.
    pub async fn open(&self, key: &str) -> Result<SessionHandle, Refusal> {
        self.open_for(key, None).await
    }

    async fn open_for(&self, key: &str, person: Option<&str>) -> Result<SessionHandle, Refusal> {
        let door = Door { key: key.to_owned(), chat: chat_of(person), shared: false };
        self.profile.rooms.open(&door).await.map_err(Refusal::failed)
    }

    /// Follows a turn from the message that began it, as the log has it so far.
    ///
    /// # Errors
    /// There is no such message.
    pub fn follow(&self, session: SessionId, message: StreamPos) -> Result<Following, Refusal> {
        let happenings = self.profile.feed.follow(session);
        let log = Arc::clone(&self.profile.engine.log);
        let first = log.read_stream(session.stream(), message).next().and_then(Result::ok);
        let is_message = first.is_some_and(|recorded| {
            recorded.envelope.stream_pos == message
                && matches!(recorded.event, herm_schema::Event::MessageReceived(_))
        });
        if !is_message {
            return Err(Refusal::not_found("such run"));
        }
        let mut following = Following::new(&self.profile, session, message, happenings);
        following.read().map_err(Refusal::failed)?;
        Ok(following)
    }
}

fn received(recorded: &[Recorded]) -> Result<StreamPos, Refusal> {
    let message =
        recorded.iter().find(|recorded| matches!(recorded.event, herm_schema::Event::MessageReceived(_)));
    let message = message.map(|recorded| recorded.envelope.stream_pos);
    message.ok_or_else(|| Refusal::bad("a turn of this session is running; it took the message as a steer"))
}

/// The one place that the API is: what is answered is found by its ids.
pub fn chat() -> ChatRef {
    ChatRef { platform: platform().to_owned(), chat: "api".to_owned(), thread: None }
}

/// The same place, to one of those for whom a program speaks.
fn chat_of(person: Option<&str>) -> ChatRef {
    ChatRef { thread: person.map(str::to_owned), ..chat() }
}

/// The id of what a message began, in a shape of the API.
pub fn id_of(prefix: &str, session: SessionId, message: StreamPos) -> String {
    format!("{prefix}_{session}_{message}")
}

/// The other way round.
///
/// # Errors
/// It is no such id.
pub fn read_id(prefix: &str, id: &str) -> Result<(SessionId, StreamPos), Refusal> {
    let parts = id
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix('_'))
        .and_then(|rest| rest.rsplit_once('_'));
    let read =
        parts.and_then(|(session, message)| Some((session.parse().ok()?, StreamPos(message.parse().ok()?))));
    read.ok_or_else(|| Refusal::not_found(&format!("`{id}`")))
}
