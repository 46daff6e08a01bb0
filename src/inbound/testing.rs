//! Things that come in, for the tests here.

use herm_schema::events::{ChatKind, ChatRef};

use crate::platforms::{Author, Chat, Inbound, Message, What};

pub fn place(platform: &str, chat: &str, thread: Option<&str>) -> ChatRef {
    ChatRef { platform: platform.into(), chat: chat.into(), thread: thread.map(Into::into) }
}

/// A message of `user` in a chat of `telegram`.
pub fn said(kind: ChatKind, chat: &str, user: &str) -> Inbound {
    Inbound {
        id: "1".into(),
        chat: Chat { place: place("telegram", chat, None), kind, title: None, guild: None, parent: None },
        author: Author { id: user.into(), ..Author::default() },
        what: What::Message(Message { message_id: "1".into(), text: "hello".into(), ..Message::default() }),
        at: None,
    }
}

/// The message in it.
pub fn message(inbound: &mut Inbound) -> &mut Message {
    match &mut inbound.what {
        What::Message(message) => message,
        other => panic!("{other:?} is no message"),
    }
}
