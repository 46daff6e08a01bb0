//! Configuration: what the file says, then what will be done; where things are; secrets.

mod secret;

pub use secret::Secret;
