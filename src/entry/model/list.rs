//! `herm model list`: vendors, their models, and for which of them there is a key.

use clap::Args;
use serde_json::{Value, json};

use super::{keys, named, vendors};
use crate::config::Loaded;
use crate::entry::{Exit, Failure, Out};
use crate::providers::catalog::{Catalogue, Model, Vendor};

/// List providers and their models, and for which there is a key.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  herm model list
  herm model list --provider openai
  herm model list --json")]
pub struct List {
    /// Only this provider, with all of its models.
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,

    /// One JSON object a model a line.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &List, loaded: &Loaded, catalogue: &Catalogue, out: &mut Out) -> Result<Exit, Failure> {
    let only = arguments.provider.as_deref().map(|name| named(catalogue, name)).transpose()?;
    let shown_whole = only.is_some();
    let all = only.map_or_else(|| vendors(catalogue), |vendor| Ok(vec![vendor]))?;
    for vendor in all {
        let keys = keys(&vendor, loaded, catalogue)?.len();
        let models = models(&vendor, catalogue);
        if arguments.json {
            for model in &models {
                out.json(&as_json(&vendor, model, keys))?;
            }
            if models.is_empty() {
                out.json(&json!({"provider": vendor.name, "model": null, "keys": keys}))?;
            }
            continue;
        }
        out.line(&heading(&vendor, keys))?;
        if shown_whole || keys > 0 {
            for model in &models {
                out.line(&format!("  {}", described(&vendor, model)))?;
            }
        }
    }
    Ok(Exit::Ok)
}

/// Those of the catalogue, then those that only the vendor's own list has.
fn models(vendor: &Vendor, catalogue: &Catalogue) -> Vec<Model> {
    let mut models = vendor.models.clone();
    for listed in catalogue.listed(&vendor.name).map(|list| list.models).unwrap_or_default() {
        match models.iter_mut().find(|known| known.name == listed.name) {
            Some(known) => {
                known.context_window = listed.context_window_tokens.or(known.context_window);
                known.images = known.images.or(listed.images);
            }
            None => models.push(Model::listed(listed)),
        }
    }
    models
}

fn heading(vendor: &Vendor, keys: usize) -> String {
    let key = match (&vendor.unavailable, keys) {
        (Some(_), _) => "cannot be called".to_owned(),
        (None, 0) if vendor.local => "on this machine".to_owned(),
        (None, 0) if vendor.oauth => format!("no token (herm auth add {})", vendor.name),
        (None, 0) => format!("no key ({})", vendor.key_variables.join(" or ")),
        (None, 1) => "1 key".to_owned(),
        (None, keys) => format!("{keys} keys"),
    };
    let title = if vendor.title.is_empty() { String::new() } else { format!(" ({})", vendor.title) };
    format!("{}{title}, {}: {key}", vendor.name, vendor.dialect)
}

fn described(vendor: &Vendor, model: &Model) -> String {
    let mut parts = Vec::new();
    parts.extend(model.context_window.map(|tokens| format!("{} k tokens", tokens / 1_000)));
    let can = [(model.images, "images"), (model.tools, "tools"), (model.reasoning, "reasoning")];
    parts.extend(can.iter().filter(|(yes, _)| *yes == Some(true)).map(|(_, what)| (*what).to_owned()));
    parts.extend(model.prices.map(|prices| format!("${} in, ${} out", prices.input, prices.output)));
    let usual = if vendor.model.as_ref() == Some(&model.name) { " (usual)" } else { "" };
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    format!("{}{usual}{parts}", model.name)
}

fn as_json(vendor: &Vendor, model: &Model, keys: usize) -> Value {
    let prices = model.prices.map(|prices| {
        json!({
            "input": prices.input, "cached_read": prices.cached_read,
            "cached_write": prices.cached_write, "output": prices.output,
        })
    });
    json!({
        "provider": vendor.name,
        "model": model.name,
        "usual": vendor.model.as_ref() == Some(&model.name),
        "dialect": model.dialect.as_ref().unwrap_or(&vendor.dialect),
        "context_window": model.context_window,
        "output_max": model.output_max,
        "images": model.images,
        "tools": model.tools,
        "reasoning": model.reasoning,
        "prices": prices,
        "as_of": model.as_of.as_ref().unwrap_or(&vendor.as_of),
        "source": vendor.source,
        "keys": keys,
    })
}
