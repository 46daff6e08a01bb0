//! The fields of a vendor, the same in the built-in files and in a person's own.

use std::collections::BTreeMap;

use herm_schema::events::Prices;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::providers::dialects::ListedModel;

/// One vendor: an endpoint, what it speaks, how it knows us, and what it has.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vendor {
    pub name: String,
    /// For people.
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub aliases: Vec<String>,
    /// May hold placeholders such as `{region}`.
    pub base_url: String,
    /// Variables that move it elsewhere, first come first.
    #[serde(default)]
    pub base_url_variables: Vec<String>,
    /// Wire format.
    #[serde(default = "chat_completions")]
    pub dialect: String,
    /// `bearer`, `header:NAME`, `sigv4`, `google`, `azure` or `none`.
    #[serde(default = "bearer")]
    pub auth: String,
    /// Another scheme for the key of one variable.
    #[serde(default)]
    pub auth_of: BTreeMap<String, String>,
    /// Variables that may hold a key. Each may be followed by `_2` to `_9` for further keys.
    #[serde(default)]
    pub key_variables: Vec<String>,
    /// What is taken where no model is named.
    #[serde(default)]
    pub model: Option<String>,
    /// Beginnings of the names of models that are its own.
    #[serde(default)]
    pub model_prefixes: Vec<String>,
    /// Tokens, for a model of which nothing else is known: that of its smallest current one.
    #[serde(default)]
    pub context_window: Option<u32>,
    #[serde(default)]
    pub output_max: Option<u32>,
    /// Whether it can be asked for its models.
    #[serde(default = "yes")]
    pub models_list: bool,
    /// A server on this machine, which needs no key.
    #[serde(default)]
    pub local: bool,
    /// Reached with a token of `herm auth add`, not with a key.
    #[serde(default)]
    pub oauth: bool,
    #[serde(default)]
    pub oauth_client_id: Option<String>,
    #[serde(default)]
    pub oauth_token_url: Option<String>,
    /// Never chosen because a key is there: its variables are set for other purposes too.
    #[serde(default)]
    pub by_name_only: bool,
    /// Why it cannot be called at all.
    #[serde(default)]
    pub unavailable: Option<String>,
    /// The day on which the figures were right, `YYYY-MM-DD`.
    #[serde(default)]
    pub as_of: String,
    /// The vendor's page that they are from.
    #[serde(default)]
    pub source: String,
    /// Given to the dialect as it is.
    #[serde(default)]
    pub quirks: Map<String, Value>,
    /// The same for the other wire formats that it speaks for some of its models, by their names.
    #[serde(default)]
    pub quirks_of: BTreeMap<String, Map<String, Value>>,
    /// Sent with every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub placeholders: BTreeMap<String, Placeholder>,
    #[serde(default)]
    pub models: Vec<Model>,
}

/// What fills a placeholder of a base URL.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placeholder {
    /// First come first.
    pub variables: Vec<String>,
    #[serde(default)]
    pub default: Option<String>,
}

/// One model. What is not said is not known.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    pub name: String,
    /// Tokens, request and answer together.
    #[serde(default)]
    pub context_window: Option<u32>,
    /// Tokens of one answer.
    #[serde(default)]
    pub output_max: Option<u32>,
    #[serde(default)]
    pub prices: Option<PricesPerMillion>,
    #[serde(default)]
    pub images: Option<bool>,
    #[serde(default)]
    pub tools: Option<bool>,
    #[serde(default)]
    pub reasoning: Option<bool>,
    /// Wire format, where it is not the vendor's.
    #[serde(default)]
    pub dialect: Option<String>,
    /// As the vendor's, for this model alone.
    #[serde(default)]
    pub as_of: Option<String>,
    /// Filled in: a person gave the window, which no list of the vendor's overrides.
    #[serde(default)]
    pub(in crate::providers) own_window: bool,
    /// Filled in: a person gave the prices.
    #[serde(default)]
    own_prices: bool,
}

/// In US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PricesPerMillion {
    pub input: f64,
    /// That of `input`, where it is not said.
    #[serde(default)]
    pub cached_read: Option<f64>,
    /// That of `input`, where it is not said: most vendors store a prefix for nothing.
    #[serde(default)]
    pub cached_write: Option<f64>,
    pub output: f64,
}

/// Micro-dollars in a dollar.
const MICROS: f64 = 1_000_000.0;

fn chat_completions() -> String {
    "chat_completions".to_owned()
}

fn bearer() -> String {
    "bearer".to_owned()
}

const fn yes() -> bool {
    true
}

impl Model {
    /// One that only the vendor's own list knows.
    pub fn listed(listed: ListedModel) -> Self {
        Self {
            name: listed.name,
            context_window: listed.context_window_tokens,
            output_max: listed.output_tokens_max,
            prices: None,
            images: listed.images,
            tools: None,
            reasoning: None,
            dialect: None,
            as_of: None,
            own_window: false,
            own_prices: false,
        }
    }
}

impl Vendor {
    /// Reads the fields, and refuses what cannot be meant.
    pub(super) fn of(fields: Value) -> Result<Self, String> {
        let vendor: Self = serde_json::from_value(fields).map_err(|error| error.to_string())?;
        for model in &vendor.models {
            let prices = model.prices.iter();
            let mut all = prices.flat_map(|it| {
                [Some(it.input), it.cached_read, it.cached_write, Some(it.output)].into_iter().flatten()
            });
            if all.any(|price| !price.is_finite() || price < 0.0) {
                return Err(format!("model `{}` has a price below zero", model.name));
            }
        }
        Ok(vendor)
    }

    /// The model of this name, or that of which it is a dated version (`NAME-2026-03-05`).
    pub fn model(&self, name: &str) -> Option<&Model> {
        if let Some(model) = self.models.iter().find(|model| model.name == name) {
            return Some(model);
        }
        let dated = |model: &&Model| {
            name.strip_prefix(model.name.as_str())
                .is_some_and(|rest| rest.starts_with("-20") || rest.starts_with("@20"))
        };
        self.models.iter().filter(dated).max_by_key(|model| model.name.len())
    }

    /// What `model` costs, as events hold it.
    pub fn prices(&self, model: &Model) -> Option<Prices> {
        let prices = model.prices?;
        let micros = |dollars: f64| (dollars * MICROS).round() as u64;
        let from_config = model.own_prices;
        Some(Prices {
            input: micros(prices.input),
            cached_read: micros(prices.cached_read.unwrap_or(prices.input)),
            cached_write: micros(prices.cached_write.unwrap_or(prices.input)),
            output: micros(prices.output),
            source: if from_config { "config" } else { "catalogue" }.to_owned(),
            as_of: model
                .as_of
                .clone()
                .or_else(|| (!from_config).then(|| self.as_of.clone()))
                .unwrap_or_default(),
        })
    }
}
