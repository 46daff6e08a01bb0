//! Every vendor of the catalogue, with every key and every model that it names.

use std::collections::BTreeSet;

use serde_json::json;

use super::places::{body, sent};
use super::*;
use crate::providers::catalog::Vendor;
use crate::providers::dialects::canonical;

/// Stand for whatever variable is asked for.
const KEY: &str = "a-key-of-16-char";
const PLACE: &str = "place-1";

/// Everything that a vendor with one of its keys needs besides.
struct Stage {
    home: tempfile::TempDir,
    store: Store,
}

impl Stage {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let key = include_str!("../../http/auth/fixtures/test_only_key.pem");
        let account = json!({"type": "service_account", "client_email": "a@b", "private_key": key});
        std::fs::write(home.path().join("account.json"), account.to_string()).unwrap();
        let store = Store::of(home.path());
        Self { home, store }
    }

    /// The variables with one key, and what fills the address.
    fn variables(&self, vendor: &Vendor, key: Option<&str>) -> Vec<(String, String)> {
        let account = self.home.path().join("account.json").display().to_string();
        let value =
            |name: &str| if name.ends_with("_CREDENTIALS") { account.clone() } else { KEY.to_owned() };
        let mut set: Vec<(String, String)> =
            key.map(|name| (name.to_owned(), value(name))).into_iter().collect();
        set.push(("AWS_SECRET_ACCESS_KEY".to_owned(), KEY.to_owned()));
        for placeholder in vendor.placeholders.values() {
            set.push((placeholder.variables[0].clone(), PLACE.to_owned()));
        }
        set
    }

    async fn resolved(&self, vendor: &Vendor, key: Option<&str>, model: &str) -> Resolved {
        let set = self.variables(vendor, key);
        let set: Vec<(&str, &str)> =
            set.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let wanted = wanted(Some(&vendor.name), Some(model), None);
        let found = choose_at(&wanted, &set, &Catalogue::built_in(), Some(&self.store)).await;
        found.unwrap_or_else(|error| panic!("{} {key:?} {model}: {error}", vendor.name))
    }

    /// Without a variable it has a token of `auth.json`.
    fn keep_token(&self, vendor: &Vendor) {
        let held = Held::Key { secret: Secret::new(KEY) };
        let provider = vendor.name.clone();
        let entry = Entry { id: provider.clone(), provider, label: None, added_at: String::new(), held };
        self.store.change(|all| all.push(entry)).unwrap();
    }
}

fn callable() -> impl Iterator<Item = Vendor> {
    let catalogue = Catalogue::built_in();
    let names: Vec<String> = catalogue.names().map(str::to_owned).collect();
    let vendors = names.into_iter().map(move |name| catalogue.vendor(&name).unwrap().unwrap());
    vendors.filter(|vendor| vendor.unavailable.is_none())
}

#[tokio::test]
async fn every_vendor_can_be_called_with_each_of_its_keys_and_each_of_its_models() {
    let stage = Stage::new();
    for vendor in callable() {
        if vendor.key_variables.is_empty() {
            stage.keep_token(&vendor);
        }
        let mut keys: Vec<Option<&str>> =
            vendor.key_variables.iter().map(|name| Some(name.as_str())).collect();
        if keys.is_empty() {
            keys.push(None);
        }
        let models = vendor.models.iter().map(|model| model.name.as_str()).chain(vendor.model.as_deref());
        let models: BTreeSet<&str> = models.chain(["unheard-of"]).collect();
        for key in keys {
            for model in &models {
                let resolved = stage.resolved(&vendor, key, model).await;
                let choice = &resolved.choice;
                assert_eq!((choice.provider.as_str(), choice.model.as_str()), (vendor.name.as_str(), *model));
                assert!(!choice.base_url.contains(['{', '}']), "{}", choice.base_url);
                assert!(reqwest::Url::parse(&choice.base_url).is_ok(), "{}", choice.base_url);
                assert_eq!(resolved.credentials.len(), 1, "{}", vendor.name);
                assert_eq!(choice.credentials.len(), usize::from(vendor.auth != "none"), "{}", vendor.name);
                let own = vendor.model(model).and_then(|model| model.dialect.as_deref());
                assert!(own.is_none_or(|own| canonical(own) == choice.dialect), "{} {model}", vendor.name);
                assert!(
                    choice.output_tokens_max > 0 && choice.output_tokens_max < choice.context_window_tokens
                );
            }
        }
    }
}

#[tokio::test]
async fn every_vendors_request_goes_to_the_path_of_its_wire_format_with_its_key() {
    let stage = Stage::new();
    for vendor in callable() {
        if vendor.key_variables.is_empty() {
            stage.keep_token(&vendor);
        }
        // A credentials file would have to be exchanged for a token first.
        let key = vendor.key_variables.iter().find(|name| !name.ends_with("_CREDENTIALS"));
        let model = vendor.model.clone().unwrap_or_else(|| "unheard-of".to_owned());
        let resolved = stage.resolved(&vendor, key.map(String::as_str), &model).await;
        let request = sent(&resolved).await;
        let (name, path) = (&vendor.name, request.url().path());
        let end = match resolved.choice.dialect.as_str() {
            "chat_completions" => "/chat/completions",
            "anthropic_messages" => "/v1/messages",
            "responses" => "/responses",
            "gemini" => ":streamGenerateContent",
            "bedrock_converse" => "/converse-stream",
            other => panic!("{name} speaks `{other}`"),
        };
        assert!(path.ends_with(end), "{name}: {path}");
        assert!(!path.contains("//") && path.matches("/v1").count() <= 1, "{name}: {path}");
        assert!(body(&request).is_object(), "{name}");
        let in_header = request.headers().values().any(|it| it.to_str().is_ok_and(|text| text.contains(KEY)));
        assert_eq!(in_header, vendor.auth != "none", "{name}");
    }
}

#[test]
fn models_are_named_once_and_their_prices_make_sense() {
    for vendor in callable() {
        let names: BTreeSet<&str> = vendor.models.iter().map(|model| model.name.as_str()).collect();
        assert_eq!(names.len(), vendor.models.len(), "{} names a model twice", vendor.name);
        let usual = vendor.model.as_deref();
        assert!(
            usual.is_none_or(|usual| names.is_empty() || vendor.model(usual).is_some()),
            "{}",
            vendor.name
        );
        for model in &vendor.models {
            let place = format!("{} {}", vendor.name, model.name);
            assert!(model.context_window.is_none_or(|tokens| tokens >= 1_000), "{place}");
            let Some(prices) = vendor.prices(model) else { continue };
            assert!(prices.cached_read <= prices.input && prices.input <= prices.output, "{place}");
            assert!(prices.cached_write <= prices.input.saturating_mul(2), "{place}");
            assert!(prices.output < 1_000_000_000, "{place} costs more than $1000 for a million tokens");
        }
    }
}

#[tokio::test]
async fn claude_is_asked_to_drop_thinking_that_does_not_fit_where_it_is_documented() {
    let stage = Stage::new();
    for (name, key, model, asked) in [
        ("anthropic", "ANTHROPIC_API_KEY", "claude-opus-5-5", true),
        ("anthropic", "ANTHROPIC_API_KEY", "claude-opus-4-5", false),
        // An opt-in that a host does not know is refused there.
        ("vertex", "VERTEX_ACCESS_TOKEN", "claude-opus-5-5", false),
        ("bedrock", "AWS_BEARER_TOKEN_BEDROCK", "us.anthropic.claude-opus-5-5", false),
    ] {
        let vendor = Catalogue::built_in().vendor(name).unwrap().unwrap();
        let request = sent(&stage.resolved(&vendor, Some(key), model).await).await;
        let beta = crate::providers::dialects::anthropic_messages::BINDING_BETA;
        let header =
            request.headers().get("anthropic-beta").is_some_and(|it| it.to_str().unwrap().contains(beta));
        let body = body(&request).to_string();
        let told = (header || body.contains(beta), body.contains("drop_block"));
        assert_eq!(told, (asked, asked), "{name} {model}");
    }
}
