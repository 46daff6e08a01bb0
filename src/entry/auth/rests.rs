//! Which keys rest, as the stream of the profile says.

use std::collections::BTreeMap;

use herm_replay::log::segments::Options;
use herm_replay::log::{Append, Durability, Expect, Log, SegmentLog};
use herm_schema::events::{CredentialReset, FailureClass};
use herm_schema::{Event, Micros, StreamPos};

use crate::config::Home;
use crate::effects::profile_stream;
use crate::entry::engine::PROFILE;
use crate::entry::{Failure, store};

/// Why a key is left alone, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    pub class: FailureClass,
    pub until: Micros,
}

/// By the fingerprint of the key; those that were reset are not there.
///
/// # Errors
/// The log cannot be read.
pub fn of(home: &Home) -> Result<BTreeMap<String, Rest>, Failure> {
    let log = store::log(home)?;
    let mut rests: BTreeMap<String, (String, Rest)> = BTreeMap::new();
    for recorded in log.read_stream(profile_stream(PROFILE), StreamPos(0)) {
        fold(&mut rests, &recorded?.event);
    }
    Ok(rests.into_iter().map(|(key, (_, rest))| (key, rest)).collect())
}

fn fold(rests: &mut BTreeMap<String, (String, Rest)>, event: &Event) {
    match event {
        Event::CredentialRested(rested) => {
            let rest = Rest { class: rested.class, until: rested.until };
            rests.insert(rested.credential.clone(), (rested.provider.clone(), rest));
        }
        Event::CredentialReset(reset) => rests.retain(|key, (provider, _)| {
            *provider != reset.provider || reset.credential.as_ref().is_some_and(|only| only != key)
        }),
        _ => {}
    }
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
        stream: profile_stream(PROFILE),
        expect: Expect::Any,
        key: None,
        at: Micros(jiff::Timestamp::now().as_microsecond()),
        durability: Durability::Disk,
        events: vec![Event::from(reset).into()],
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use herm_schema::events::CredentialRested;

    use super::*;

    #[test]
    fn a_reset_ends_the_rest_of_its_keys_only() {
        let mut rests = BTreeMap::new();
        for (provider, credential) in [("a", "key-1"), ("a", "key-2"), ("b", "key-3")] {
            let rested = CredentialRested {
                provider: provider.into(),
                credential: credential.into(),
                class: FailureClass::RateLimit,
                until: Micros(9),
            };
            fold(&mut rests, &rested.into());
        }
        let reset = |credential: Option<&str>| {
            Event::from(CredentialReset { provider: "a".into(), credential: credential.map(Into::into) })
        };
        fold(&mut rests, &reset(Some("key-1")));
        assert_eq!(rests.keys().collect::<Vec<_>>(), ["key-2", "key-3"]);
        fold(&mut rests, &reset(None));
        assert_eq!(rests.keys().collect::<Vec<_>>(), ["key-3"]);
    }

    #[test]
    fn a_reset_is_recorded_and_read_back() {
        let home = tempfile::tempdir().unwrap();
        let home = Home::at(home.path());
        reset(&home, "openai", None).unwrap();
        assert!(of(&home).unwrap().is_empty());
        let log = store::log(&home).unwrap();
        let events: Vec<_> = log.read_stream(profile_stream(PROFILE), StreamPos(0)).collect();
        assert_eq!(events.len(), 1);
    }
}
