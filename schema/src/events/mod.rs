//! Payloads, by family. Each struct is the current version of its type; older ones live in
//! [`crate::upcast`].

/// The derives that every payload and every part of one needs.
macro_rules! payload {
    ($(#[$meta:meta])* $vis:vis enum $($rest:tt)*) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        $vis enum $($rest)*
    };
    ($(#[$meta:meta])* $vis:vis struct $($rest:tt)*) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        $vis struct $($rest)*
    };
}

mod approval;
mod context;
mod delivery;
mod gateway;
mod inbound;
mod memory;
mod model;
mod policy;
mod session;
mod skill;
mod tool;
mod turn;

pub use approval::*;
pub use context::*;
pub use delivery::*;
pub use gateway::*;
pub use inbound::*;
pub use memory::*;
pub use model::*;
pub use policy::*;
pub use session::*;
pub use skill::*;
pub use tool::*;
pub use turn::*;
