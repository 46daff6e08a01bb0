//! `herm explain model`: who would be called for a model name, in which wire format, and why.

use clap::Args;
use serde_json::json;

use crate::config::Secret;
use crate::entry::{Exit, Failure, Out, Start, engine};
use crate::providers::credentials::Store;
use crate::providers::resolve::{Sources, Wanted, explain};

/// Say who would be called for a model name, in which wire format, and why.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  herm explain model gpt-5.4
  herm explain model claude-sonnet-4-6 --provider anthropic
  herm explain model m --base-url http://127.0.0.1:8080/v1 --api-mode responses")]
pub struct Model {
    /// As its provider names it.
    name: String,

    /// As if this provider were asked for.
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,

    /// As if this address were asked for.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,

    /// As if this wire format were asked for.
    #[arg(long, value_name = "FORMAT")]
    api_mode: Option<String>,
}

pub fn run(arguments: &Model, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let loaded = start.load(&[])?;
    let catalogue = engine::catalogue(&loaded)?;
    let store = Store::of(loaded.home.root());
    let keys = |name: &str| -> Option<Secret> { engine::key(&loaded, name) };
    let at = Sources {
        keys: &keys,
        catalogue: &catalogue,
        store: Some(&store),
        witness: None,
        local_servers: false,
        keys_needed: false,
    };
    let configured = engine::wanted(&loaded);
    let asked = arguments.provider.is_some() || arguments.base_url.is_some();
    let wanted = Wanted {
        model: Some(arguments.name.clone()),
        // What was asked for here stands alone; the configuration speaks only where nothing was.
        provider: arguments.provider.clone().or_else(|| configured.provider.clone().filter(|_| !asked)),
        base_url: arguments.base_url.clone().or_else(|| configured.base_url.clone().filter(|_| !asked)),
        api_mode: arguments.api_mode.clone().or_else(|| configured.api_mode.clone()),
        ..configured
    };
    let told =
        explain(&wanted, at).map_err(|error| Failure::new(Exit::Config, error).hint("herm model list"))?;
    let choice = &told.choice;
    let dollars = |micros: u64| micros as f64 / 1_000_000.0;
    let prices = choice.prices.as_ref().map(|prices| {
        json!({
            "input": dollars(prices.input), "cached_read": dollars(prices.cached_read),
            "cached_write": dollars(prices.cached_write), "output": dollars(prices.output),
            "unit": "US dollars per million tokens", "source": prices.source, "as_of": prices.as_of,
        })
    });
    out.json(&json!({
        "model": choice.model,
        "provider": choice.provider,
        "why": told.why,
        "dialect": choice.dialect,
        "api_mode": choice.dialect,
        "why_dialect": told.why_dialect,
        "base_url": choice.base_url,
        "credentials": choice.credentials,
        "context_window": choice.context_window_tokens,
        "output_max": choice.output_tokens_max,
        "images": choice.images,
        "reasoning": told.known.as_ref().and_then(|known| known.reasoning),
        "tools": told.known.as_ref().and_then(|known| known.tools),
        "in_catalogue": told.known.is_some(),
        "prices": prices,
        "source": told.source,
    }))?;
    Ok(())
}
