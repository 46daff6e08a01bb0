//! A session comes into being, is configured, ends.

use super::{Attachment, ChatRef, Policy};
use crate::{BlobRef, Digest};

payload! {
    /// A conversation begins; always the first event of its stream.
    pub struct SessionOpened {
        pub profile: String,
        pub chat: ChatRef,
        /// By which messages find it, unambiguous within the profile; empty where none look for it.
        pub key: String,
        /// Several people speak in it: the model is told who says what.
        pub shared: bool,
        /// Working directory of its tools, absolute.
        pub cwd: String,
        /// Where its command lines run, such as `local` or `container`; the same for all its calls.
        pub environment: String,
        /// The herm that opened it.
        pub herm_version: String,
    }
}

payload! {
    /// A conversation that was had elsewhere, and goes on here; before the first message.
    pub struct HistoryGiven {
        /// What the client adds at the end of the system prompt.
        pub system: Option<String>,
        pub messages: Vec<GivenMessage>,
    }
}

payload! {
    pub struct GivenMessage {
        pub by: GivenBy,
        pub text: String,
        pub attachments: Vec<Attachment>,
    }
}

payload! {
    #[derive(Copy)]
    pub enum GivenBy {
        Person,
        Model,
    }
}

payload! {
    /// The settings that hold from the next model call on.
    pub struct SessionConfigured {
        pub policy: Policy,
    }
}

payload! {
    /// The system prompt that holds from the next model call on.
    pub struct SystemPromptBuilt {
        pub prompt: BlobRef,
        pub reason: PromptReason,
    }
}

payload! {
    #[derive(Copy)]
    pub enum PromptReason {
        SessionStart,
        ConfigurationChanged,
        Compressed,
    }
}

payload! {
    /// The tools that the model may call from the next model call on.
    pub struct ToolsOffered {
        /// JSON array of definitions `{name, description, parameters}`, in the order that is sent.
        pub definitions: BlobRef,
        /// What the reducer must know of each, in the same order.
        pub tools: Vec<ToolFacts>,
    }
}

payload! {
    /// What the reducer must know of a tool.
    pub struct ToolFacts {
        pub name: String,
        pub effect: EffectClass,
        pub concurrency: Concurrency,
        /// An iteration that only ran such tools does not count against the budget.
        pub refunds_iteration: bool,
        /// Whether the approval policy looks at its calls before they run.
        pub judged: bool,
    }
}

payload! {
    /// What may be done about an effect that was begun and whose outcome is not known.
    #[derive(Copy, PartialOrd, Ord)]
    pub enum EffectClass {
        /// Do it again.
        Repeatable,
        /// Look at the world; do it only if it is not done.
        Checkable,
        /// Never do it again by itself.
        Once,
    }
}

payload! {
    /// With what a tool call may run at the same time.
    pub enum Concurrency {
        /// With anything that is not serial.
        Parallel,
        /// With calls whose paths do not overlap; the arguments that hold paths, by name. A call
        /// that only reads may overlap with others that only read.
        Paths { arguments: Vec<String>, writes: bool },
        /// With nothing: everything before it has ended, nothing after it has begun.
        Serial,
    }
}

payload! {
    /// The session has a title, for lists; the model never sees it.
    pub struct SessionTitled {
        pub title: String,
        pub by: TitledBy,
    }
}

payload! {
    #[derive(Copy)]
    pub enum TitledBy {
        Model,
        Person,
    }
}

payload! {
    /// No turn of this session follows.
    pub struct SessionEnded {
        pub reason: EndReason,
        /// Digest of the state at the end, if one was taken.
        pub state: Option<Digest>,
    }
}

payload! {
    #[derive(Copy)]
    pub enum EndReason {
        /// The person began another session in its place.
        Replaced,
        /// The person ended it.
        Closed,
    }
}
