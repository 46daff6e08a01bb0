//! Keys and tokens: where they are kept, and how one is had when it is needed.
//!
//! `auth.json` in the home holds what `herm auth add` was given ([`Store`], [`Entry`]): a key, the
//! command or the keyring entry that tells it, or the tokens of an account. Nothing is fetched
//! before a request needs it ([`Lazy`]), and then within a time limit; tokens are renewed by one
//! caller while the others wait ([`Oauth`]). What becomes known that way is told to a [`Witness`]. Everywhere else a credential is its fingerprint.
//! Which of several is taken, and when one is rested, is not decided here.

mod entry;
mod fetch;
mod lazy;
mod oauth;
mod refresh;
mod store;
mod witness;

pub use entry::{Entry, Held, Tokens};
pub use fetch::{Fetch, FetchFailure};
pub use lazy::{Lazy, Source};
pub use oauth::{Oauth, Refreshed};
pub use store::{Error, Store};
pub use witness::{Witness, Witnessed};

#[cfg(test)]
mod tests;
