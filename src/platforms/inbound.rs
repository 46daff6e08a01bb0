//! What comes in from a platform, in one shape for all of them.

use herm_schema::Micros;
pub use herm_schema::events::ChatKind;

use herm_schema::events::ChatRef;

/// Something that happened on a platform. Identity comes from the platform, never from the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inbound {
    /// The platform's own id of it, by which a redelivery is recognised; unique on the platform.
    pub id: String,
    pub chat: Chat,
    pub author: Author,
    pub what: What,
    /// When the platform says that it happened.
    pub at: Option<Micros>,
}

/// Where it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chat {
    pub place: ChatRef,
    pub kind: ChatKind,
    /// As people know it.
    pub title: Option<String>,
    /// The server, workspace or team that the chat belongs to.
    pub guild: Option<String>,
    /// The channel or forum that a thread hangs on, where the thread is a chat of its own.
    pub parent: Option<String>,
}

/// Who did it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Author {
    pub id: String,
    pub name: Option<String>,
    /// Other ids of the same account; an allow-list may name any of them.
    pub aliases: Vec<String>,
    /// Another program.
    pub bot: bool,
    /// It is herm's own account.
    pub ours: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Message(Message),
    /// A message has another text now.
    Edited {
        message_id: String,
        text: String,
    },
    Reaction {
        message_id: String,
        emoji: String,
        added: bool,
    },
    /// A button that herm offered was pressed; `data` is what the button carried.
    Button {
        message_id: String,
        data: String,
    },
    /// herm cannot write here any more: it was removed or blocked, or the chat is gone.
    Removed {
        why: String,
    },
}

/// A message. Slash commands are texts as well; the pipeline reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    pub message_id: String,
    /// Without the mention of herm's own name, where one was there.
    pub text: String,
    /// herm was spoken to by name.
    pub mentioned: bool,
    pub reply: Option<Reply>,
    pub media: Vec<Media>,
}

/// The message that was answered to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub message_id: String,
    pub text: Option<String>,
    /// It was one of herm's.
    pub ours: bool,
}

/// A file that came with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// As the sender named it, or a name made from its kind.
    pub name: String,
    /// Such as `image/png`, as the platform says.
    pub media_type: String,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Bytes(Vec<u8>),
    /// It was not fetched: why, in words for the model, such as `24 MB, over the limit of 20 MB`.
    Left(String),
}
