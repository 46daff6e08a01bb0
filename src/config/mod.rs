//! Configuration: what the file says, then what will be done; where things are; secrets.
//!
//! Every setting is one row of the table in [`keys`]. [`raw`] reads `config.yaml` against that
//! table, [`Environment`] adds the variables and `.env`, [`Settings`] decides which of the layers
//! wins and remembers which lost, and [`Config`] is what the rest of herm is given: typed, and
//! without an option that means "default". Nothing here talks to the network or to the log.
//!
//! Precedence: command line, then environment (the process before `.env`), then `config.yaml`,
//! then the default.

mod edit;
mod environment;
mod error;
mod generated;
pub mod keys;
mod learnt;
mod outline;
mod paths;
mod policy;
mod raw;
mod redact;
mod secret;
mod settings;
mod typed;
mod value;

pub use edit::{set, write_atomically};
pub use environment::Environment;
pub use error::{Error, Problem};
pub use generated::{example, json_schema};
pub use keys::{KEYS, Key};
pub use paths::{FIRST_PROFILE, Home};
pub use raw::RawConfig;
pub use redact::{REDACTED, Redactor};
pub use secret::Secret;
pub use settings::{Loaded, Origin, Override, Setting, Settings, load};
pub use typed::{
    ApprovalConfig, Config, Display, GatewayConfig, MakerConfig, ModelConfig, Security, TerminalConfig,
    ToolOutput, ToolsConfig, WebConfig,
};
pub use value::{Kind, Value};
