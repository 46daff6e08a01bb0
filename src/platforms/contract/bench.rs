//! What a double is asked for: [`Bench`], and the words that it is asked in.

use std::sync::Arc;
use std::time::Duration;

use herm_schema::events::{ChatKind, ChatRef};

use crate::platforms::{Button, Platform};

/// A double of a platform, as the kit uses it. It may be asked from several tasks, and never blocks.
pub trait Bench: Send + Sync {
    /// The platform under test, made anew as after a restart, with an account that works, pointed at
    /// the double.
    fn platform(&self) -> Arc<dyn Platform>;

    /// Texts that nobody may see: tokens, keys.
    fn secrets(&self) -> Vec<String>;

    /// The platform's own id of somebody.
    fn id_of(&self, who: Who) -> String;

    /// The chat of this number, in which herm is and people are; made when it is first asked for. `None`
    /// if the platform has no chats of this kind.
    fn chat(&self, kind: ChatKind, number: usize) -> Option<ChatRef>;

    /// Lets something happen; the id of the message that was said or changed. `None` if there is no such
    /// thing on the platform.
    fn happen(&self, happening: &Happening) -> Option<String>;

    /// Whether the platform counts what was said with this message as read by herm; `None` if it does
    /// not count.
    fn is_acknowledged(&self, message_id: &str) -> Option<bool>;

    /// What arrived at the platform.
    fn record(&self) -> Record;

    /// Lets something go wrong; `false` if it cannot there.
    fn fail(&self, fault: Fault) -> bool;

    /// Everything goes well again.
    fn heal(&self);

    /// Whether the platform keeps what is said while herm is away.
    fn keeps_what_is_missed(&self) -> bool {
        true
    }
}

/// Somebody on the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// A person, of this number.
    Person(usize),
    /// Another program.
    Bot,
    /// herm's own account.
    Herm,
}

/// Something that happens on the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    Said(Said),
    /// The author gives a message of a person another text.
    Edited {
        chat: ChatRef,
        message_id: String,
        text: String,
    },
    /// A person adds a reaction.
    Reacted {
        chat: ChatRef,
        message_id: String,
        who: Who,
        emoji: &'static str,
    },
    /// A person presses a button of a message of herm's.
    Pressed {
        chat: ChatRef,
        message_id: String,
        who: Who,
        data: String,
    },
    /// A message of herm's is deleted by somebody else.
    Deleted {
        chat: ChatRef,
        message_id: String,
    },
    /// herm is put out of the chat.
    Removed {
        chat: ChatRef,
    },
    /// The platform gives something again that it gave before, as it was.
    Redelivered {
        message_id: String,
    },
}

/// A message of somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub chat: ChatRef,
    pub who: Who,
    pub text: String,
    /// herm is spoken to by its name, before the text.
    pub mention: bool,
    pub reply_to: Option<String>,
    /// A file's name, media type and bytes.
    pub file: Option<(String, String, Vec<u8>)>,
}

impl Said {
    /// Said by the first person.
    pub fn new(chat: &ChatRef, text: impl Into<String>) -> Self {
        let (chat, text) = (chat.clone(), text.into());
        Self { chat, who: Who::Person(0), text, mention: false, reply_to: None, file: None }
    }
}

/// What arrived at the platform, since it was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Messages of herm's, in the order in which they came, as they stand.
    pub sent: Vec<Seen>,
    /// Requests to send or change a message, refused and cut ones as well.
    pub requests: usize,
    /// Where herm was seen typing, once for each time.
    pub typing: Vec<ChatRef>,
    /// Message ids and the reactions that herm gave to them.
    pub reactions: Vec<(String, String)>,
    /// What was answered to pressings of buttons.
    pub answers: Vec<String>,
}

/// A message of herm's, as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub chat: ChatRef,
    pub message_id: String,
    /// Without markup.
    pub text: String,
    pub reply_to: Option<String>,
    /// A file's name and bytes.
    pub file: Option<(String, Vec<u8>)>,
    pub buttons: Vec<Button>,
    /// How often it was given another text.
    pub edits: usize,
    pub deleted: bool,
}

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The next sending is refused: there were too many, and the next may come after so long.
    RateLimited { after: Duration },
    /// The next sending is answered by a failure of the platform itself, and not done.
    ServerError,
    /// The next sending is refused: herm is blocked there.
    Blocked,
    /// The next sending is refused: there is no such chat.
    ChatGone,
    /// The next text with markup is refused, as one whose markup cannot be read.
    MarkupRefused,
    /// The next sending is done, and then the connection breaks before it is answered.
    CutBeforeAnswer,
    /// The next sending is done, and answered after so long.
    Delayed(Duration),
    /// Every connection that stands breaks, once.
    Cut,
    /// Nobody can connect, until [`Bench::heal`].
    Unreachable,
    /// herm's account is refused, until [`Bench::heal`].
    Unauthorised,
}
