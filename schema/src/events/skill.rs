//! Skills: texts that teach the model to do something. All of it stands in the stream of the profile;
//! the files are what holds, and what each write found and left is kept, so that it can be taken back.

use super::Author;
use crate::{BlobRef, CallRef, SessionId, StreamPos};

payload! {
    /// A skill was written by way of herm.
    pub struct SkillWritten {
        pub name: String,
        /// The folder that it lies in; `None` at the top.
        pub category: Option<String>,
        pub action: SkillAction,
        /// In the order in which they were written.
        pub files: Vec<SkillFile>,
        pub author: Author,
        /// The `SkillWritten` that this takes back.
        pub undoes: Option<StreamPos>,
    }
}

payload! {
    #[derive(Copy)]
    pub enum SkillAction {
        Create,
        /// A part of a file was replaced.
        Patch,
        /// All of `SKILL.md` was replaced.
        Edit,
        Delete,
        /// A file beside `SKILL.md` was written.
        WriteFile,
        RemoveFile,
        /// An earlier write was taken back.
        Undo,
    }
}

payload! {
    /// What a file of a skill was and became.
    pub struct SkillFile {
        /// Relative to the skill's folder, with `/` between parts.
        pub path: String,
        /// `None` if there was none.
        pub before: Option<BlobRef>,
        /// `None` if it is gone.
        pub after: Option<BlobRef>,
    }
}

payload! {
    /// The model read a skill, or a person put it before the model.
    pub struct SkillLoaded {
        pub name: String,
        /// `None` for `SKILL.md` itself.
        pub file: Option<String>,
        pub session: SessionId,
        /// `None` if a person did.
        pub call: Option<CallRef>,
    }
}
