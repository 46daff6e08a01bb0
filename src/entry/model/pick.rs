//! `herm model pick`: writes down which model is called.

use std::io::{self, BufRead, IsTerminal, Write};

use clap::Args;

use super::{keys, named, sources, vendors};
use crate::config::Loaded;
use crate::entry::{Exit, Failure, Out, Start, config, engine};
use crate::providers::catalog::Catalogue;
use crate::providers::credentials::Store;
use crate::providers::offline;
use crate::providers::resolve::{CUSTOM, Wanted, explain};

/// Choose the model that is called from now on; it is written to `config.yaml`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  herm model pick
  herm model pick gpt-5.4
  herm model pick anthropic/claude-sonnet-4-6 --provider openrouter")]
pub struct Pick {
    /// Its name; without one, it is chosen from a list on the terminal.
    name: Option<String>,

    /// Who is asked for it.
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
}

pub fn run(
    arguments: &Pick,
    loaded: &Loaded,
    catalogue: &Catalogue,
    start: &Start,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let provider = match arguments.provider.as_deref().map(str::trim) {
        Some(name) if name == CUSTOM || name == offline::PROVIDER => Some(name.to_owned()),
        Some(name) => Some(named(catalogue, name)?.name),
        None => None,
    };
    let (provider, model) = match (&arguments.name, provider) {
        (Some(name), Some(provider)) => (Some(provider), name.clone()),
        (Some(name), None) => (owner(name, loaded, catalogue), name.clone()),
        (None, provider) => chosen(provider.as_deref(), loaded, catalogue)?,
    };
    if let Some(provider) = &provider {
        // An address that belongs to the provider before would lead the new one there.
        let other = loaded.config.model.provider.as_ref() != Some(provider) && provider != CUSTOM;
        if other && loaded.config.model.base_url.is_some() {
            config::set("model.base_url", "", start, out)?;
        }
        config::set("model.provider", provider, start, out)?;
    }
    config::set("model.default", &model, start, out)?;
    Ok(Exit::Ok)
}

/// Whose model this is, as far as it can be told without asking anybody.
fn owner(model: &str, loaded: &Loaded, catalogue: &Catalogue) -> Option<String> {
    // A key for somebody else makes it nobody else's model.
    if let Some(owner) = catalogue.headings().find(|heading| heading.owns(model)) {
        return Some(owner.name);
    }
    let store = Store::of(loaded.home.root());
    let variables = |name: &str| engine::key(loaded, name);
    let wanted = Wanted { model: Some(model.to_owned()), ..Wanted::default() };
    let told = explain(&wanted, sources(&variables, catalogue, &store)).ok()?;
    let unasked = told.choice.provider == offline::PROVIDER && model != offline::MODEL;
    Some(told.choice.provider).filter(|_| !unasked)
}

/// Lets a person choose among the models for which there is a key, or of the provider that is named.
fn chosen(
    provider: Option<&str>,
    loaded: &Loaded,
    catalogue: &Catalogue,
) -> Result<(Option<String>, String), Failure> {
    let mut models: Vec<(String, String)> = Vec::new();
    for vendor in vendors(catalogue)? {
        let wanted = match provider {
            Some(provider) => vendor.name == provider,
            None => !keys(&vendor, loaded, catalogue)?.is_empty(),
        };
        if wanted {
            models.extend(vendor.models.iter().map(|model| (vendor.name.clone(), model.name.clone())));
        }
    }
    let nothing = |message: &str| Err(Failure::message(Exit::Usage, message).hint("herm model list"));
    if !io::stdin().is_terminal() {
        return nothing("name the model: there is no terminal to choose at");
    }
    if models.is_empty() {
        return nothing("there is nothing to choose from: no key is set");
    }
    let mut to = io::stderr();
    for (index, (provider, model)) in models.iter().enumerate() {
        writeln!(to, "{:>4}  {provider}  {model}", index + 1)?;
    }
    write!(to, "Number: ")?;
    to.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let index = line.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    match index.and_then(|index| models.get(index)) {
        Some((provider, model)) => Ok((Some(provider.clone()), model.clone())),
        None => nothing("that is no number of the list; nothing was changed"),
    }
}
