//! Questions to people in chats: whether a tool call may run, and what the model wants to know.
//!
//! A question is a message with buttons where the platform has them. The answer is a button, `/approve`
//! or `/deny`, or, for what the model wants to know, the next message. Nothing here is kept: a restart
//! asks again, since the effect that asks is owed again, and an answer that comes after the turn has
//! gone on goes to the session as a late one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use herm_schema::events::{Answerer, ChatRef, DecidedBy, Decision, GrantScope, Sender};
use herm_schema::{SessionId, StreamPos};
use tokio::sync::oneshot;

use super::feed::Feed;
use super::switchboard::Switchboard;
use crate::delivery::{plan, prompt, render};
use crate::effects::Answer;
use crate::entry::engine::Clarify;
use crate::platforms::{Act, Button, Outgoing, Platform, Say};
use crate::providers::BoxFuture;
use crate::runtime::{ApprovalQuestion, People};

/// Attempts at bringing a question to a person.
const ATTEMPTS_MAX: u32 = 4;
/// Longest wait between two of them.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(15);

/// What a button or a command decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Once,
    Session,
    Always,
    Deny,
}

impl Word {
    /// As a command has it; nothing is once.
    pub fn named(text: &str) -> Option<Self> {
        match text.trim().to_lowercase().as_str() {
            "" | "once" | "yes" => Some(Self::Once),
            "session" => Some(Self::Session),
            "always" => Some(Self::Always),
            "deny" | "no" => Some(Self::Deny),
            _ => None,
        }
    }

    fn letter(self) -> &'static str {
        match self {
            Self::Once => "o",
            Self::Session => "s",
            Self::Always => "a",
            Self::Deny => "d",
        }
    }

    pub fn decision(self) -> Decision {
        match self {
            Self::Once => Decision::Allowed { scope: GrantScope::Once },
            Self::Session => Decision::Allowed { scope: GrantScope::Session },
            Self::Always => Decision::Allowed { scope: GrantScope::Always },
            Self::Deny => Decision::Denied,
        }
    }

    /// As the person is told.
    pub fn said(self) -> &'static str {
        match self {
            Self::Once => "allowed once",
            Self::Session => "allowed for this session",
            Self::Always => "allowed always",
            Self::Deny => "denied",
        }
    }
}

/// What the data of a button means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pressed {
    Approval {
        session: SessionId,
        request: StreamPos,
        word: Word,
    },
    /// A choice of a question, from 0.
    Choice {
        session: SessionId,
        index: usize,
    },
}

impl Pressed {
    pub fn read(data: &str) -> Option<Self> {
        let mut parts = data.split(':');
        let (kind, session) = (parts.next()?, parts.next()?.parse().ok()?);
        match kind {
            "a" => {
                let request = StreamPos(parts.next()?.parse().ok()?);
                let word = match parts.next()? {
                    "o" => Word::Once,
                    "s" => Word::Session,
                    "a" => Word::Always,
                    "d" => Word::Deny,
                    _ => return None,
                };
                Some(Self::Approval { session, request, word })
            }
            "c" => Some(Self::Choice { session, index: parts.next()?.parse().ok()? }),
            _ => None,
        }
    }
}

/// The questions of a profile that are open.
pub struct Questions {
    approval_timeout: Duration,
    clarify_timeout: Duration,
    approvals: Mutex<HashMap<(SessionId, StreamPos), oneshot::Sender<Answer>>>,
    clarifications: Mutex<HashMap<SessionId, Asked>>,
    switchboard: OnceLock<Weak<Switchboard>>,
    feed: OnceLock<Weak<Feed>>,
}

struct Asked {
    choices: Vec<String>,
    answer: oneshot::Sender<String>,
}

impl Questions {
    pub fn new(approval_timeout: Duration, clarify_timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            approval_timeout,
            clarify_timeout,
            approvals: Mutex::default(),
            clarifications: Mutex::default(),
            switchboard: OnceLock::new(),
            feed: OnceLock::new(),
        })
    }

    /// The other parts are there now.
    pub fn connect(&self, switchboard: &Arc<Switchboard>, feed: &Arc<Feed>) {
        drop(self.switchboard.set(Arc::downgrade(switchboard)));
        drop(self.feed.set(Arc::downgrade(feed)));
    }

    /// Gives an answer to a question that waits for it; whether one did.
    pub fn approve(&self, session: SessionId, request: StreamPos, answer: Answer) -> bool {
        let mut open = self.approvals.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&(session, request)).is_some_and(|wait| wait.send(answer).is_ok())
    }

    /// The questions of a session whether a call may run that wait, the oldest first.
    pub fn waiting(&self, session: SessionId) -> Vec<StreamPos> {
        let open = self.approvals.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open: Vec<_> =
            open.keys().filter(|(of, _)| *of == session).map(|(_, request)| *request).collect();
        open.sort_unstable();
        open
    }

    /// Whether the model waits for what the people of a session say.
    pub fn asks(&self, session: SessionId) -> bool {
        self.clarifications.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&session)
    }

    /// A text answers what the model asked; `false` if it asked nothing. A number or the text of a choice
    /// is that choice.
    pub fn clarify(&self, session: SessionId, text: &str) -> bool {
        let mut open = self.clarifications.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(asked) = open.remove(&session) else {
            return false;
        };
        let number = text.trim().trim_end_matches(['.', ')']).parse::<usize>().ok();
        let chosen = number.and_then(|number| asked.choices.get(number.checked_sub(1)?)).cloned();
        asked.answer.send(chosen.unwrap_or_else(|| text.to_owned())).is_ok()
    }

    /// A button with a choice was pressed.
    pub fn choose(&self, session: SessionId, index: usize) -> bool {
        self.clarify(session, &(index.saturating_add(1)).to_string())
    }

    fn place(&self, session: SessionId) -> Option<(Arc<Switchboard>, Arc<dyn Platform>, ChatRef)> {
        let switchboard = self.switchboard.get()?.upgrade()?;
        let chat = self.feed.get()?.upgrade()?.chat(session)?;
        let platform = switchboard.platform(&chat.platform)?;
        Some((switchboard, platform, chat))
    }

    fn has_buttons(&self, session: SessionId) -> bool {
        self.place(session).is_some_and(|(_, platform, _)| platform.capabilities().buttons)
    }

    /// Brings a question to its chat; the platform's id of it.
    async fn bring(&self, session: SessionId, markdown: &str, buttons: Vec<Button>) -> Result<Sent, String> {
        let (switchboard, platform, chat) = self.place(session).ok_or("the chat is not connected")?;
        let capabilities = platform.capabilities();
        let mut parts = plan::parts(markdown, &capabilities.format);
        let last = parts.pop().unwrap_or_default();
        let key = |index: usize| format!("question-{session}-{index}");
        let mut pieces: Vec<(String, Vec<Button>)> = parts.into_iter().map(|part| (part, vec![])).collect();
        pieces.push((last, if capabilities.buttons { buttons } else { vec![] }));
        let mut id = None;
        for (index, (part, buttons)) in pieces.into_iter().enumerate() {
            let outgoing = Outgoing {
                target: chat.clone(),
                content: Say::Text(render(&part, &capabilities.format)),
                key: key(index),
                possible_repeat: false,
                reply_to: None,
                replaces: None,
                buttons,
            };
            id = deliver(&*platform, &outgoing).await?;
        }
        Ok(Sent { switchboard, chat, id })
    }
}

/// A question that was brought.
struct Sent {
    switchboard: Arc<Switchboard>,
    chat: ChatRef,
    id: Option<String>,
}

impl Sent {
    /// Its buttons go; what became of it is said.
    async fn close(&self, said: &str) {
        if let Some(message_id) = self.id.clone() {
            let (chat, press, text) = (self.chat.clone(), String::new(), said.to_owned());
            self.switchboard.act(&Act::Answered { chat, message_id, press, text }).await;
        }
    }
}

async fn deliver(platform: &dyn Platform, outgoing: &Outgoing) -> Result<Option<String>, String> {
    let mut attempt = 1;
    loop {
        match platform.send(outgoing).await {
            Ok(id) => return Ok(id),
            Err(failure) => match failure.retry_after {
                Some(wait) if attempt < ATTEMPTS_MAX => {
                    attempt += 1;
                    tokio::time::sleep(wait.min(RETRY_WAIT_MAX)).await;
                }
                _ => return Err(failure.message),
            },
        }
    }
}

/// Takes a question off the list however its future ends.
struct Open<'a>(&'a Questions, SessionId, Option<StreamPos>);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        match self.2 {
            Some(request) => {
                let mut open = self.0.approvals.lock().unwrap_or_else(PoisonError::into_inner);
                open.remove(&(self.1, request));
            }
            None => {
                let mut open = self.0.clarifications.lock().unwrap_or_else(PoisonError::into_inner);
                open.remove(&self.1);
            }
        }
    }
}

impl People for Questions {
    fn approve<'a>(&'a self, question: &'a ApprovalQuestion) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let (session, request) = (question.session, question.request);
            let (answer, wait) = oneshot::channel();
            self.approvals.lock().unwrap_or_else(PoisonError::into_inner).insert((session, request), answer);
            let _open = Open(self, session, Some(request));
            let button = |label: &str, word: Word| Button {
                label: label.to_owned(),
                data: format!("a:{session}:{request}:{}", word.letter()),
            };
            let buttons = vec![
                button("Allow once", Word::Once),
                button("This session", Word::Session),
                button("Always", Word::Always),
                button("Deny", Word::Deny),
            ];
            let markdown = prompt::approval(&prompt::Approval {
                tool: &question.tool,
                command: &question.subject,
                reasons: std::slice::from_ref(&question.reason),
                buttons: self.has_buttons(session),
                lasting: true,
            });
            let brought = self.bring(session, &markdown, buttons).await;
            if let Err(why) = &brought {
                // Those who follow through the API may still answer.
                tracing::warn!(%session, why, "an approval question did not reach its chat");
            }
            let answer = tokio::time::timeout(self.approval_timeout, wait).await;
            let answer = answer.ok().and_then(Result::ok).unwrap_or_else(Answer::silence);
            if let Ok(sent) = &brought {
                sent.close(closing(&answer.decision)).await;
            }
            answer
        })
    }
}

fn closing(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allowed { .. } => "allowed",
        Decision::Denied => "denied",
        Decision::Expired => "nobody answered; `/approve` still runs it",
    }
}

impl Clarify for Questions {
    fn ask<'a>(
        &'a self,
        session: SessionId,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let (answer, wait) = oneshot::channel();
            let asked = Asked { choices: choices.to_vec(), answer };
            self.clarifications.lock().unwrap_or_else(PoisonError::into_inner).insert(session, asked);
            let _open = Open(self, session, None);
            let buttons = choices
                .iter()
                .enumerate()
                .map(|(index, label)| Button { label: label.clone(), data: format!("c:{session}:{index}") });
            let markdown = prompt::clarify(question, choices);
            let sent = self.bring(session, &markdown, buttons.collect()).await.ok()?;
            let answer = tokio::time::timeout(self.clarify_timeout, wait).await.ok().and_then(Result::ok);
            sent.close(answer.as_deref().unwrap_or("nobody answered")).await;
            answer
        })
    }
}

/// An answer by somebody in a chat.
pub fn answered(word: Word, chat: &ChatRef, sender: &Sender) -> Answer {
    let answerer = Answerer { chat: chat.clone(), sender: sender.clone() };
    Answer { decision: word.decision(), by: DecidedBy::Person, answerer: Some(answerer) }
}
