//! What outlives the sessions of a home: its memory and its skills, as the configuration has them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use herm_replay::log::Log;

use crate::config::Loaded;
use crate::effects::profile_stream;
use crate::memory::{Notes, Setting};
use crate::runtime::{Redact, SystemClock};
use crate::skills::{Library, SkillsConfig, Surroundings, Workshop};

/// What outlives sessions.
pub struct Kept {
    /// `None` where nothing is remembered.
    pub memory: Option<Arc<Notes>>,
    pub skills: Arc<Workshop>,
}

impl Kept {
    pub fn of(loaded: &Loaded, log: &Arc<dyn Log>) -> Self {
        Self { memory: memory(loaded, log), skills: Arc::new(workshop(loaded, log)) }
    }
}

fn redact(loaded: &Loaded) -> Redact {
    let redactor = loaded.redactor.clone();
    Arc::new(move |text| redactor.redact(text).into_owned())
}

/// What this home remembers; `None` where nothing is.
pub fn memory(loaded: &Loaded, log: &Arc<dyn Log>) -> Option<Arc<Notes>> {
    let config = loaded.config.memory;
    let setting = Setting {
        log: Arc::clone(log),
        profile: profile_stream(loaded.home.profile_name()),
        home: loaded.home.root(),
        config,
        redact: redact(loaded),
        clock: Arc::new(SystemClock),
    };
    (config.notes || config.users).then(|| Arc::new(Notes::new(setting)))
}

/// The skills of this home, to be read.
pub fn library(loaded: &Loaded) -> Library {
    let (home, person) = (loaded.home.root(), loaded.environment.get("HOME"));
    let place = |path: &PathBuf| match (path.strip_prefix("~"), person) {
        (Ok(rest), Some(person)) => Path::new(person).join(rest),
        _ => home.join(path),
    };
    let external = loaded.config.skills.external.iter().map(place).collect();
    let environment = loaded.environment.clone();
    Library {
        own: home.join("skills"),
        config: SkillsConfig { external, ..loaded.config.skills.clone() },
        surroundings: Surroundings {
            path: loaded.environment.get("PATH").unwrap_or_default().to_owned(),
            variable: Arc::new(move |name| environment.get(name).is_some_and(|value| !value.is_empty())),
        },
    }
}

/// The skills of this home, to be written as well.
pub fn workshop(loaded: &Loaded, log: &Arc<dyn Log>) -> Workshop {
    Workshop {
        library: library(loaded),
        log: Arc::clone(log),
        profile: profile_stream(loaded.home.profile_name()),
        clock: Arc::new(SystemClock),
        redact: redact(loaded),
        busy: Mutex::default(),
    }
}
