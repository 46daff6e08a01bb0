//! Which keys rest, as the stream of the profile says, and a person's word that they are good again.

use herm_replay::log::segments::Options;
use herm_replay::log::{Append, Durability, Expect, Log, SegmentLog};
use herm_schema::Event;
use herm_schema::events::CredentialReset;

use crate::config::Home;
use crate::effects::profile_stream;
use crate::entry::{Failure, store};
use crate::runtime::models::credentials::Credentials;
use crate::runtime::{Clock, SystemClock};

/// How every key of this home fares.
///
/// # Errors
/// The log cannot be read.
pub fn of(home: &Home) -> Result<Credentials, Failure> {
    Ok(Credentials::of(&*store::log(home)?, profile_stream(home.profile_name()), Vec::new())?)
}

/// Records that a person says that keys are good again.
///
/// # Errors
/// Another herm owns the home, or the log cannot be written.
pub fn reset(home: &Home, provider: &str, credential: Option<&str>) -> Result<(), Failure> {
    home.create()?;
    let log = SegmentLog::open(Options::new(home.log_dir()))?;
    let reset = CredentialReset { provider: provider.to_owned(), credential: credential.map(str::to_owned) };
    log.append(Append {
        stream: profile_stream(home.profile_name()),
        expect: Expect::Any,
        key: None,
        at: SystemClock.now(),
        durability: Durability::Disk,
        events: vec![Event::from(reset).into()],
    })?;
    Ok(())
}
