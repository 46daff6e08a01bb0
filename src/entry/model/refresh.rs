//! `herm model refresh`: asks vendors for their own lists of models, and keeps them.

use clap::Args;

use super::{keys, named, on_the_network, vendors};
use crate::config::Loaded;
use crate::entry::{Exit, Failure, Out, engine};
use crate::providers::catalog::{Catalogue, Listed, Vendor, write_list};
use crate::providers::resolve::Wanted;

/// Fetch the lists of models of providers; their windows and names are used from then on.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  herm model refresh
  herm model refresh openrouter

Exit status: 0 all lists were fetched, 1 some were not.")]
pub struct Refresh {
    /// Only this one; else all for which there is a key.
    provider: Option<String>,
}

pub fn run(
    arguments: &Refresh,
    loaded: &Loaded,
    catalogue: &Catalogue,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let wanted: Vec<Vendor> = match &arguments.provider {
        Some(name) => vec![named(catalogue, name)?],
        None => {
            let mut wanted = Vec::new();
            for vendor in vendors(catalogue)?.into_iter().filter(|vendor| vendor.models_list) {
                if !keys(&vendor, loaded, catalogue)?.is_empty() {
                    wanted.push(vendor);
                }
            }
            wanted
        }
    };
    if wanted.is_empty() {
        let message = "there is no key for any provider that lists its models";
        return Err(Failure::message(Exit::Config, message).hint("herm model list"));
    }
    let mut all = true;
    for vendor in wanted {
        let told = match on_the_network(fetched(&vendor, loaded))? {
            Ok(count) => format!("{}: {count} models", vendor.name),
            Err(reason) => {
                all = false;
                format!("{}: not fetched: {}", vendor.name, loaded.redactor.redact(&reason))
            }
        };
        out.line(&told)?;
        out.end()?;
    }
    Ok(if all { Exit::Ok } else { Exit::Failed })
}

/// How many models the vendor lists; the list is kept.
async fn fetched(vendor: &Vendor, loaded: &Loaded) -> Result<usize, String> {
    if !vendor.models_list {
        return Err("it does not list its models".to_owned());
    }
    // Any name will do: none is called.
    let model = vendor.model.clone().unwrap_or_else(|| "model".to_owned());
    let wanted = Wanted { provider: Some(vendor.name.clone()), model: Some(model), ..Wanted::default() };
    let resolved =
        engine::resolved(loaded, &wanted, None).await.map_err(|failure| failure.error.to_string())?;
    let models = resolved.models().await.ok_or("it has no address")?.map_err(|failure| failure.message)?;
    let count = models.len();
    let listed = Listed { fetched_at: jiff::Timestamp::now().to_string(), models };
    write_list(loaded.home.root(), &vendor.name, &listed).map_err(|error| error.to_string())?;
    Ok(count)
}
