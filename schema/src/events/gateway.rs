//! The gateway: starts and ends of the process, who may write, what was asked of herm itself, where
//! herm may not write any more. All of it stands in the one stream of the gateway.

use super::{ChatRef, Sender};
use crate::{Micros, StreamPos};

payload! {
    /// The process begins to take messages.
    pub struct GatewayStarted {
        pub herm_version: String,
        /// Sessions that the process before left with work open.
        pub open_work: u32,
        /// Whether that work is gone on with; not after several starts with open work in a row.
        pub resumes: bool,
    }
}

payload! {
    /// The process takes no more messages, and has finished what it could.
    pub struct GatewayDrained {
        pub reason: DrainReason,
        /// Sessions that still had work open.
        pub unfinished: u32,
    }
}

payload! {
    #[derive(Copy)]
    pub enum DrainReason {
        /// Somebody asked for it.
        Asked,
        /// It is to start again.
        Restart,
        /// Too much memory was in use.
        Memory,
        /// Too little space was left on the disk.
        Disk,
    }
}

payload! {
    /// The configuration was read again.
    pub struct ConfigurationReloaded {
        /// Settings that changed and hold from now on.
        pub changed: Vec<String>,
        /// Settings that changed and hold after a restart.
        pub after_restart: Vec<String>,
    }
}

payload! {
    /// A stranger wrote, and was given a code that an owner can approve.
    pub struct PairingRequested {
        pub chat: ChatRef,
        pub sender: Sender,
        /// Hash of the code.
        pub code: crate::Digest,
        pub expires_at: Micros,
    }
}

payload! {
    /// An account of a platform may speak to herm from now on.
    pub struct PairingApproved {
        pub platform: String,
        pub sender: Sender,
    }
}

payload! {
    /// It may not any more.
    pub struct PairingRevoked {
        pub platform: String,
        pub sender_id: String,
    }
}

payload! {
    /// Somebody tried a code that nobody was given.
    pub struct PairingMissed {
        pub platform: String,
    }
}

payload! {
    /// Something was asked of herm itself rather than of the model; it waits for its answer.
    pub struct CommandReceived {
        pub message_id: String,
        pub profile: String,
        pub chat: ChatRef,
        /// The session key of the place and the person.
        pub session_key: String,
        pub sender: Sender,
        /// Without the slash.
        pub name: String,
        pub arguments: String,
        /// The sender may ask what only owners may.
        pub owner: bool,
    }
}

payload! {
    /// It has been done; what there is to say about it is a delivery of the same append.
    pub struct CommandAnswered {
        pub command: StreamPos,
    }
}

payload! {
    /// A message has no way into a session.
    pub struct MessageRefused {
        pub message_id: String,
        pub chat: ChatRef,
        pub sender: Sender,
        pub why: String,
    }
}

payload! {
    /// A chat was seen for the first time, or is called otherwise now.
    pub struct ChatSeen {
        pub chat: ChatRef,
        pub kind: ChatKind,
        pub title: Option<String>,
        pub guild: Option<String>,
        pub parent: Option<String>,
    }
}

payload! {
    #[derive(Copy, PartialOrd, Ord)]
    pub enum ChatKind {
        /// Two people; one of them is herm.
        Direct,
        Group,
        /// Open to everybody of its guild.
        Channel,
    }
}

payload! {
    /// What has no other place to go on this platform goes here.
    pub struct HomeChosen {
        pub chat: ChatRef,
    }
}

payload! {
    /// Nothing can be brought to this place any more; nothing is tried until it speaks again.
    pub struct TargetDied {
        pub target: ChatRef,
        pub why: String,
    }
}

payload! {
    /// It spoke again.
    pub struct TargetRevived {
        pub target: ChatRef,
    }
}

payload! {
    /// Everything that a platform said up to here has been taken.
    pub struct CursorMoved {
        pub platform: String,
        /// In the adapter's own words.
        pub cursor: String,
    }
}
