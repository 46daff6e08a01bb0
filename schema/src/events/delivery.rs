//! Deliveries: planned, attempted, confirmed, failed. What is planned and neither confirmed nor
//! failed for good is owed.

use super::{Attachment, ChatRef};
use crate::{Micros, StreamPos};

payload! {
    /// An answer is owed to a chat. Its stream position names the delivery.
    pub struct DeliveryPlanned {
        pub target: ChatRef,
        pub kind: DeliveryKind,
        /// Cut to the platform's limit, in order.
        pub chunks: Vec<Part>,
        /// Whether the platform recognises a repeat by a key.
        pub keyed: bool,
        /// The platform's id of the message that it answers, where that has to be said.
        pub reply_to: Option<String>,
        /// Part of it may have reached the person already.
        pub possible_repeat: bool,
    }
}

payload! {
    /// What one message of the platform holds.
    pub enum Part {
        /// Markdown.
        Text(String),
        File(Attachment),
    }
}

impl Part {
    /// What it says; a file says its name.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::File(file) => &file.name,
        }
    }
}

impl<T: Into<String>> From<T> for Part {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

payload! {
    #[derive(Copy)]
    pub enum DeliveryKind {
        /// What the model answered.
        Answer,
        /// What herm itself has to say, such as why there is no answer.
        Notice,
    }
}

payload! {
    /// Intent: a chunk is about to be sent.
    pub struct DeliveryAttempted {
        pub delivery: StreamPos,
        /// From 0.
        pub chunk: u16,
        /// From 1.
        pub attempt: u32,
        /// An earlier attempt may have reached the person.
        pub possible_repeat: bool,
    }
}

payload! {
    /// Outcome: the platform has it.
    pub struct DeliveryConfirmed {
        pub delivery: StreamPos,
        pub chunk: u16,
        pub platform_message_id: Option<String>,
    }
}

payload! {
    /// Outcome: it was not sent.
    pub struct DeliveryFailed {
        pub delivery: StreamPos,
        pub chunk: u16,
        pub class: DeliveryFailure,
        pub message: String,
        /// Earliest next attempt; `None` if there is none.
        pub retry_at: Option<Micros>,
    }
}

payload! {
    #[derive(Copy)]
    pub enum DeliveryFailure {
        RateLimited,
        Unreachable,
        /// The target does not exist any more, or does not want us.
        Gone,
        Refused,
        /// An attempt before a restart has no known outcome, and the policy is not to repeat.
        Unknown,
    }
}

payload! {
    /// A message that shows how an answer comes to be: what answers the turn takes its place.
    pub struct PreviewPosted {
        pub platform_message_id: String,
    }
}

payload! {
    /// A person gave up what is left of a delivery.
    pub struct DeliveryDropped {
        pub delivery: StreamPos,
    }
}
