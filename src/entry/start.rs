//! Where a subcommand starts from: the home, and the configuration if it wants it.

use std::path::PathBuf;

use super::Failure;
use crate::config::{self, Environment, Home, Loaded, Override, Redactor, Secret};
use crate::providers::credentials::{Entry, Store};

/// The home that this process works on.
#[derive(Clone, Debug)]
pub struct Start {
    pub home: Home,
}

impl Start {
    /// `--home`, else `$HERM_HOME`, else `~/.herm`. Touches nothing.
    ///
    /// # Errors
    /// When there is none.
    pub fn at(given: Option<PathBuf>) -> Result<Self, Failure> {
        let variable = |name| std::env::var_os(name);
        let home = match given {
            Some(path) => Home::at(std::path::absolute(path)?),
            None => Home::locate(variable("HERM_HOME").as_deref(), variable("HOME").as_deref())?,
        };
        Ok(Self { home })
    }

    /// The variables of this process and of `.env`.
    ///
    /// # Errors
    /// When `.env` cannot be read.
    pub fn environment(&self) -> Result<Environment, config::Error> {
        Environment::of_process(&self.home.env_file())
    }

    /// The whole configuration.
    ///
    /// # Errors
    /// When something in it is wrong.
    pub fn load(&self, overrides: &[Override]) -> Result<Loaded, config::Error> {
        let mut loaded = config::load(self.home.clone(), self.environment()?, overrides)?;
        // Who needs the credentials says what is wrong with them; here they are only not to be seen.
        let entries = Store::of(self.home.root()).read().unwrap_or_default();
        let secrets: Vec<Secret> = entries.iter().flat_map(Entry::secrets).collect();
        if !secrets.is_empty() {
            loaded.redactor = Redactor::knowing(&loaded.config, &loaded.environment, &secrets);
        }
        Ok(loaded)
    }
}
