//! `herm model`: which models there are, which one is called, and whether it answers.

mod list;
mod pick;
mod refresh;
mod test;

use clap::{Args, Subcommand};

use super::{Exit, Failure, Out, Start, engine};
use crate::config::Loaded;
use crate::providers::catalog::{Catalogue, Vendor};
use crate::providers::credentials::Store;
use crate::providers::resolve::{HeldKey, Sources, Wanted, held};

/// List, choose and test models.
#[derive(Args, Debug)]
pub struct Model {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    List(list::List),
    Pick(pick::Pick),
    Test(test::Test),
    Refresh(refresh::Refresh),
}

pub fn run(arguments: &Model, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    let loaded = start.load(&[])?;
    let catalogue = engine::catalogue(&loaded)?;
    let exit = match &arguments.action {
        Action::List(arguments) => list::run(arguments, &loaded, &catalogue, out)?,
        Action::Pick(arguments) => pick::run(arguments, &loaded, &catalogue, start, out)?,
        Action::Test(arguments) => test::run(arguments, &loaded, out)?,
        Action::Refresh(arguments) => refresh::run(arguments, &loaded, &catalogue, out)?,
    };
    out.end()?;
    Ok(exit)
}

/// The vendor of this name or alias.
fn named(catalogue: &Catalogue, name: &str) -> Result<Vendor, Failure> {
    let found = catalogue.vendor(&name.trim().to_lowercase());
    let found = found.map_err(|error| Failure::new(Exit::Config, error))?;
    found.ok_or_else(|| {
        let message = format!("there is no provider `{name}` in the catalogue");
        Failure::message(Exit::Usage, message).hint("herm model list")
    })
}

/// Every vendor, whole.
fn vendors(catalogue: &Catalogue) -> Result<Vec<Vendor>, Failure> {
    let read = |name: &str| catalogue.vendor(name).map_err(|error| Failure::new(Exit::Config, error));
    let all: Result<Vec<Option<Vendor>>, Failure> = catalogue.names().map(read).collect();
    Ok(all?.into_iter().flatten().collect())
}

/// The keys that there are for a vendor.
fn keys(vendor: &Vendor, loaded: &Loaded, catalogue: &Catalogue) -> Result<Vec<HeldKey>, Failure> {
    let store = Store::of(loaded.home.root());
    let variables = |name: &str| engine::key(loaded, name);
    let at = sources(&variables, catalogue, &store);
    held(vendor, at).map_err(|error| Failure::new(Exit::Config, error))
}

/// What a choice is explained from: without keys that are missing, and without the network.
fn sources<'a>(
    variables: crate::providers::resolve::Keys<'a>,
    catalogue: &'a Catalogue,
    store: &'a Store,
) -> Sources<'a> {
    Sources {
        keys: variables,
        catalogue,
        store: Some(store),
        witness: None,
        local_servers: false,
        keys_needed: false,
    }
}

/// What the configuration asks for, with this model or provider instead.
fn wanted(loaded: &Loaded, model: Option<&str>, provider: Option<&str>) -> Wanted {
    let configured = engine::wanted(loaded);
    let own = |text: &str| Some(text.to_owned());
    match (model, provider) {
        (None, None) => configured,
        (model, Some(provider)) => Wanted {
            provider: own(provider),
            model: model.map(str::to_owned),
            base_url: None,
            context_window: None,
            output_max: None,
            ..configured
        },
        (Some(model), None) => Wanted { model: own(model), ..configured },
    }
}

/// Runs what needs the network.
fn on_the_network<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(work))
}

#[cfg(test)]
mod tests;
