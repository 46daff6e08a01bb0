//! What reaches a session from outside.

use crate::BlobRef;

payload! {
    /// A place on a platform.
    pub struct ChatRef {
        /// Such as `cli`, `telegram`.
        pub platform: String,
        /// The platform's own id of the place.
        pub chat: String,
        pub thread: Option<String>,
    }
}

payload! {
    /// Who said something, as the platform vouches for it; never taken from text.
    pub struct Sender {
        pub id: String,
        pub name: Option<String>,
    }
}

payload! {
    /// Someone said something; it waits for a turn.
    pub struct MessageReceived {
        /// The platform's id, by which a redelivery is recognised.
        pub message_id: String,
        pub chat: ChatRef,
        pub sender: Sender,
        pub text: String,
        /// In the order in which they were sent.
        pub attachments: Vec<Attachment>,
        /// What the platform says about it, for the model: what it replies to, which file was left out.
        pub context: Option<String>,
    }
}

payload! {
    /// A file that came with a message; its bytes are kept as a blob.
    pub struct Attachment {
        pub content: BlobRef,
        /// Such as `image/png`, by what the bytes are.
        pub media_type: String,
        /// As the sender named it.
        pub name: String,
    }
}

payload! {
    /// Someone said something that is to be seen in the running turn, beside the newest tool result.
    pub struct SteerReceived {
        pub message_id: String,
        pub sender: Sender,
        pub text: String,
    }
}

payload! {
    /// Someone corrected the answer that was being written; the model call is aborted and the
    /// correction is the next thing the model sees.
    pub struct RedirectReceived {
        pub message_id: String,
        pub sender: Sender,
        pub text: String,
    }
}

payload! {
    /// Someone wants the running turn to end now.
    pub struct InterruptRequested {
        pub by: InterruptSource,
    }
}

payload! {
    #[derive(Copy)]
    pub enum InterruptSource {
        /// A key or a stop command.
        Person,
        /// A new message under the interrupt policy.
        NewMessage,
        /// herm itself is going down.
        Shutdown,
    }
}

payload! {
    /// herm has something to say to the session that nobody asked for; it waits for a turn.
    pub struct NoticeReceived {
        pub source: NoticeSource,
        /// What it is about, such as the name of a background process.
        pub about: String,
        pub text: String,
    }
}

payload! {
    #[derive(Copy)]
    pub enum NoticeSource {
        /// A background process ended.
        ProcessEnded,
        /// A background process printed what was waited for.
        ProcessPrinted,
    }
}

payload! {
    /// herm said something in the chat of this session from elsewhere.
    pub struct MessageMirrored {
        /// Where it was said from, in words.
        pub from: String,
        pub text: String,
    }
}
