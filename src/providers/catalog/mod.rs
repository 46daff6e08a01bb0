//! DATA: vendors and their models. A vendor is a TOML file in `vendors/` and a line in [`built_in`].
//!
//! What a person adds or changes comes from `providers.NAME` in `config.yaml` and from
//! `providers/NAME.toml` in the home, in the same fields ([`Vendor`]), laid over the built-in file.
//! Nothing is parsed before it is needed: [`Heading`]s are read line by line, and a whole file only
//! when its vendor is chosen. What is not known (a price, a limit) is left out and stays unknown.

mod built_in;
mod cache;
mod heading;
mod merge;
mod vendor;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Error;
use super::dialects::ListedModel;

pub use cache::{Listed, write as write_list};
pub use heading::Heading;
pub use vendor::{Model, Placeholder, PricesPerMillion, Vendor};

/// Folder of the home with a TOML file for each vendor that a person adds or changes.
const FOLDER: &str = "providers";

/// Every vendor that is known here.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// What a person says, by name; `place` is for errors.
    own: BTreeMap<String, Own>,
    home: Option<PathBuf>,
}

#[derive(Clone, Debug)]
struct Own {
    place: String,
    fields: Value,
}

impl Catalogue {
    /// The built-in vendors and nothing else.
    pub fn built_in() -> Self {
        Self::default()
    }

    /// The built-in vendors under what the home and the setting `providers` say; the setting wins.
    ///
    /// # Errors
    /// [`Error::BadVendor`] for a file that is no TOML, or a vendor whose fields do not fit.
    pub fn of(home: &Path, setting: &Value) -> Result<Self, Error> {
        let mut own: BTreeMap<String, Own> = BTreeMap::new();
        for (name, path) in merge::files(&home.join(FOLDER)) {
            let place = path.display().to_string();
            own.insert(name.clone(), Own { fields: merge::read(&name, &path)?, place });
        }
        for (name, fields) in setting.as_object().into_iter().flatten() {
            let name = name.trim().to_lowercase();
            let place = format!("providers.{name}");
            let fields = match own.remove(&name) {
                Some(below) => merge::over(below.fields, fields.clone()),
                None => fields.clone(),
            };
            own.insert(name, Own { place, fields });
        }
        let catalogue = Self { own, home: Some(home.to_owned()) };
        catalogue.own.keys().try_for_each(|name| catalogue.read(name).map(drop))?;
        Ok(catalogue)
    }

    /// Names in the order of preference: the built-in ones, then a person's own.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let built_in = built_in::FILES.iter().map(|(name, _)| *name);
        let added = self.own.keys().map(String::as_str).filter(|name| built_in::text(name).is_none());
        built_in.chain(added)
    }

    /// What is needed to choose a vendor, in the order of [`Catalogue::names`].
    pub fn headings(&self) -> impl Iterator<Item = Heading> {
        self.names().filter_map(|name| self.heading(name))
    }

    fn heading(&self, name: &str) -> Option<Heading> {
        match (self.own.contains_key(name), built_in::text(name)) {
            (false, Some(text)) => Some(Heading::of_text(name, text)),
            _ => self.read(name).ok().flatten().map(|vendor| Heading::of(&vendor)),
        }
    }

    /// The name that `wanted` stands for: itself, or that of which it is an alias.
    pub fn name_of(&self, wanted: &str) -> Option<String> {
        if self.names().any(|name| name == wanted) {
            return Some(wanted.to_owned());
        }
        self.headings().find(|heading| heading.aliases.iter().any(|alias| alias == wanted)).map(|it| it.name)
    }

    /// The vendor of this name or alias, with its models.
    ///
    /// # Errors
    /// [`Error::BadVendor`].
    pub fn vendor(&self, wanted: &str) -> Result<Option<Vendor>, Error> {
        let Some(name) = self.name_of(wanted) else { return Ok(None) };
        self.read(&name)
    }

    /// Servers on this machine.
    pub fn local(&self) -> impl Iterator<Item = Heading> {
        self.headings().filter(|heading| heading.local)
    }

    /// What the vendor's own list said when it was last asked for.
    pub fn listed(&self, name: &str) -> Option<Listed> {
        cache::read(self.home.as_deref()?, name)
    }

    /// What the vendor's own list said of one model.
    pub fn listed_model(&self, name: &str, model: &str) -> Option<ListedModel> {
        self.listed(name)?.models.into_iter().find(|listed| listed.name == model)
    }

    fn read(&self, name: &str) -> Result<Option<Vendor>, Error> {
        let own = self.own.get(name);
        let built_in = built_in::text(name);
        if own.is_none() && built_in.is_none() {
            return Ok(None);
        }
        let place = own.map_or_else(|| format!("the catalogue's `{name}`"), |own| own.place.clone());
        let bad = |reason: String| Error::BadVendor { place: place.clone(), reason };
        let below = match built_in {
            Some(text) => merge::parse(text).map_err(bad)?,
            None => merge::empty(name),
        };
        let fields = match own {
            Some(own) => merge::over(below, merge::marked(own.fields.clone())),
            None => below,
        };
        Vendor::of(fields).map(Some).map_err(bad)
    }
}

#[cfg(test)]
mod tests;
