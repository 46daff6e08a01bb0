//! What is remembered across sessions. All of it stands in the stream of the profile, and what a space
//! holds is the fold of it.

use super::Answerer;
use crate::{CallRef, SessionId, StreamPos};

payload! {
    /// Whose memory it is. What stands in one space is never shown to the people of another.
    #[derive(PartialOrd, Ord)]
    pub enum MemorySpace {
        /// The profile's own: its owners'.
        Profile,
        /// Of one account of a platform.
        Person { platform: String, id: String },
        /// Of those who talk together in a chat.
        Chat { platform: String, chat: String },
    }
}

payload! {
    /// Which list of a space.
    #[derive(Copy, PartialOrd, Ord)]
    pub enum MemoryTarget {
        /// What the model notes: facts of the surroundings, conventions, lessons.
        Memory,
        /// Who the user is.
        User,
    }
}

payload! {
    /// One entry became another; of several, each applies to what the one before it left.
    pub struct MemoryChange {
        /// Place in the list, from 0; beyond its end is the end.
        pub at: u32,
        /// `None` for an entry that is new.
        pub before: Option<String>,
        /// `None` for an entry that is gone.
        pub after: Option<String>,
    }
}

payload! {
    /// Who changed something that outlives sessions.
    pub enum Author {
        /// The model, in this tool call.
        Model { session: SessionId, call: CallRef },
        /// Somebody, in the files themselves.
        Files,
        /// A person who asked herm; `None` at herm's own terminal.
        Person { by: Option<Answerer> },
    }
}

payload! {
    /// Entries of a list changed.
    pub struct MemoryWritten {
        pub space: MemorySpace,
        pub target: MemoryTarget,
        pub changes: Vec<MemoryChange>,
        pub author: Author,
        /// The `MemoryWritten` that this takes back.
        pub undoes: Option<StreamPos>,
        /// The `MemoryProposed` that was approved.
        pub proposal: Option<StreamPos>,
    }
}

payload! {
    /// The model would have changed entries, and was not let.
    pub struct MemoryRefused {
        pub space: MemorySpace,
        pub target: MemoryTarget,
        pub author: Author,
        pub why: MemoryRefusal,
        /// What the model was told, redacted.
        pub message: String,
    }
}

payload! {
    /// Why entries were not changed.
    #[derive(Copy)]
    pub enum MemoryRefusal {
        /// There would be more characters than fit.
        Full,
        /// It is there already, word for word.
        Duplicate,
        /// Several entries hold the text that was to name one.
        Ambiguous,
        /// No entry holds it.
        NotFound,
        /// It reads like an instruction to a model, or hides characters.
        Threat,
        /// It holds a secret.
        Secret,
        /// It makes no sense as it was asked.
        Malformed,
        /// What is to be taken back has been changed since.
        Superseded,
    }
}

payload! {
    /// The model would change entries, and a person is to say whether it may.
    pub struct MemoryProposed {
        pub space: MemorySpace,
        pub target: MemoryTarget,
        pub changes: Vec<MemoryChange>,
        pub author: Author,
    }
}

payload! {
    /// A person said no.
    pub struct MemoryDeclined {
        /// The `MemoryProposed`.
        pub proposal: StreamPos,
        /// `None` at herm's own terminal.
        pub by: Option<Answerer>,
    }
}
