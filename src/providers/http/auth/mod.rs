//! How a request is made acceptable to an endpoint: a header, a signature, a token fetched before.
//!
//! An [`Authorize`] is given the request as it would be sent, whole, and puts on it what is
//! missing. It is the only place where a key is revealed; what it puts there cannot be printed.

pub mod anthropic;
mod assertion;
mod extra;
pub mod google;
mod header;
mod scheme;
mod sigv4;
pub mod vertex;

use herm_schema::events::ModelFailure;

use crate::config::Secret;
use crate::providers::BoxFuture;

pub use extra::WithHeaders;
pub use header::{Header, Nothing};
pub use scheme::{Given, build, google_project};
pub use sigv4::{AwsKeys, SigV4};

/// Makes requests acceptable to an endpoint.
pub trait Authorize: Send + Sync {
    /// Puts on `request`, whose body is complete, what the endpoint asks for.
    ///
    /// # Errors
    /// A classified failure: a key that no header takes, a token that cannot be fetched.
    fn authorize<'a>(&'a self, request: &'a mut reqwest::Request) -> BoxFuture<'a, Result<(), ModelFailure>>;

    /// The endpoint does not know what was put on: whether there is something else to put on now.
    fn renew(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { false })
    }

    /// The texts that must not appear in any message.
    fn secrets(&self) -> Vec<Secret>;

    /// Names the credential in events; `None` where there is none.
    fn fingerprint(&self) -> Option<String>;
}
