use herm_schema::events::{CacheTtl, ReasoningEffort};
use serde_json::json;

use super::*;
use crate::providers::credentials::{Entry, Held};

mod built;
mod places;

fn wanted(provider: Option<&str>, model: Option<&str>, base_url: Option<&str>) -> Wanted {
    let own = |text: Option<&str>| text.map(str::to_owned);
    Wanted { provider: own(provider), model: own(model), base_url: own(base_url), ..Wanted::default() }
}

async fn choose(wanted: &Wanted, set: &[(&str, &str)]) -> Result<Resolved, Error> {
    choose_at(wanted, set, &Catalogue::built_in(), None).await
}

async fn choose_at(
    wanted: &Wanted,
    set: &[(&str, &str)],
    catalogue: &Catalogue,
    store: Option<&Store>,
) -> Result<Resolved, Error> {
    let keys =
        |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| Secret::new(*value));
    resolve_at(
        wanted,
        Sources { keys: &keys, catalogue, store, witness: None, local_servers: false, keys_needed: true },
    )
    .await
}

#[tokio::test]
async fn with_nothing_set_it_is_the_built_in_model() {
    let resolved = choose(&Wanted::default(), &[("OPENAI_API_KEY", " ")]).await.unwrap();
    assert_eq!(
        (resolved.choice.provider.as_str(), resolved.choice.model.as_str()),
        ("offline", "herm-offline")
    );
    assert!(reachable(&resolved).await.is_ok());
}

#[tokio::test]
async fn a_key_chooses_its_vendor_and_is_named_by_its_fingerprint() {
    let resolved = choose(&Wanted::default(), &[("GROQ_API_KEY", "k-123")]).await.unwrap();
    assert_eq!(resolved.choice.provider, "groq");
    assert_eq!(resolved.choice.base_url, "https://api.groq.com/openai/v1");
    assert_eq!(resolved.choice.credentials, [Secret::new("k-123").fingerprint()]);
    assert_eq!(resolved.why, "GROQ_API_KEY is set");
    assert!(!format!("{:?}{}", resolved.choice, resolved.why).contains("k-123"));
}

#[tokio::test]
async fn whoever_has_a_key_is_found_in_the_order_in_which_they_are_asked() {
    let set =
        ["GROQ_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "AWS_ACCESS_KEY_ID", "DEEPSEEK_API_KEY"];
    let keys = |name: &str| set.contains(&name).then(|| Secret::new(format!("key-{name}")));
    let catalogue = Catalogue::built_in();
    let at = Sources {
        keys: &keys,
        catalogue: &catalogue,
        store: None,
        witness: None,
        local_servers: true,
        keys_needed: true,
    };
    let found = any_vendor(&["deepseek"], at).await.unwrap();
    let names: Vec<&str> = found.iter().map(|found| found.choice.provider.as_str()).collect();
    assert_eq!(
        names,
        ["openrouter", "anthropic", "groq"],
        "neither who is asked anyway nor who is only asked by name"
    );
    assert!(found.iter().all(|found| !found.choice.model.is_empty() && found.choice.credentials.len() == 1));
    let without = Sources { keys: &|_| None, ..at };
    assert!(any_vendor(&[], without).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_vendors_own_model_goes_to_that_vendor() {
    let keys = [("OPENROUTER_API_KEY", "a"), ("DEEPSEEK_API_KEY", "b")];
    let resolved = choose(&wanted(None, Some("deepseek-reasoner"), None), &keys).await.unwrap();
    assert_eq!(resolved.choice.provider, "deepseek");
    let resolved = choose(&wanted(None, Some("google/gemini-x"), None), &keys).await.unwrap();
    assert_eq!(
        (resolved.choice.provider.as_str(), resolved.choice.model.as_str()),
        ("openrouter", "google/gemini-x")
    );
}

#[tokio::test]
async fn an_address_gets_no_key_that_is_not_its_own() {
    let keys = [("OPENAI_API_KEY", "secret"), ("HERM_API_KEY", "mine")];
    let custom = wanted(None, Some("m"), Some("http://10.0.0.1:9/"));
    let resolved = choose(&custom, &keys[..1]).await.unwrap();
    assert_eq!((resolved.choice.provider.as_str(), resolved.choice.credentials), (CUSTOM, vec![]));
    assert_eq!(resolved.choice.base_url, "http://10.0.0.1:9/v1");
    let resolved = choose(&custom, &keys).await.unwrap();
    assert_eq!(resolved.choice.credentials, [Secret::new("mine").fingerprint()]);
    let named = wanted(Some("openai"), Some("m"), Some("http://10.0.0.1:9/"));
    let resolved = choose(&named, &keys).await.unwrap();
    assert_eq!(resolved.choice.credentials, [Secret::new("secret").fingerprint()]);
}

#[tokio::test]
async fn openais_own_variable_moves_it() {
    let keys = [("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "http://10.0.0.1:9/v1/")];
    let resolved = choose(&wanted(None, Some("m"), None), &keys).await.unwrap();
    assert_eq!(resolved.choice.base_url, "http://10.0.0.1:9/v1");
}

#[tokio::test]
async fn what_cannot_be_had_is_said_with_a_way_out() {
    let error = |wanted: Wanted| async move { choose(&wanted, &[]).await.err().unwrap().to_string() };
    assert!(error(wanted(Some("opnai"), None, None)).await.contains("did you mean `openai`?"));
    assert!(error(wanted(Some("groq"), None, None)).await.contains("set GROQ_API_KEY"));
    assert!(error(wanted(Some("custom"), None, None)).await.contains("base URL"));
    assert!(error(wanted(None, Some("m"), Some("nonsense"))).await.contains("`nonsense`"));
    let closed = error(wanted(None, None, Some("http://127.0.0.1:1"))).await;
    assert!(closed.contains("connection refused"), "{closed}");
}

#[tokio::test]
async fn limits_may_be_configured_and_fit_the_window() {
    let mut asked = wanted(Some("custom"), Some("m"), Some("http://10.0.0.1:9"));
    asked.context_window = Some(4_096);
    assert_eq!(choose(&asked, &[]).await.unwrap().choice.output_tokens_max, 1_024);
    asked.output_max = Some(99);
    assert_eq!(choose(&asked, &[]).await.unwrap().choice.output_tokens_max, 99);
}

#[tokio::test]
async fn every_key_of_a_vendor_makes_a_provider_and_no_key_makes_two() {
    let home = tempfile::tempdir().unwrap();
    let store = Store::of(home.path());
    let held =
        |held| Entry { provider: "groq".into(), id: "1".into(), label: None, added_at: String::new(), held };
    store
        .change(|all| {
            all.push(held(Held::Key { secret: Secret::new("stored") }));
            all.push(held(Held::Key { secret: Secret::new("two") }));
            all.push(held(Held::Command { command: "echo fetched".into() }));
            all.push(Entry {
                provider: "mistral".into(),
                ..held(Held::Key { secret: Secret::new("other") })
            });
        })
        .unwrap();
    let keys = [
        ("GROQ_API_KEY", "one"),
        ("GROQ_API_KEY_2", "two"),
        ("GROQ_API_KEY_9", "nine"),
        ("GROQ_API_KEY_10", "x"),
    ];
    let wanted = wanted(Some("groq"), None, None);
    let resolved = choose_at(&wanted, &keys, &Catalogue::built_in(), Some(&store)).await.unwrap();
    let names: Vec<String> = resolved.credentials.iter().map(|(name, _)| name.clone()).collect();
    let expected =
        ["one", "two", "nine", "stored", "command:echo fetched"].map(|key| Secret::new(key).fingerprint());
    assert_eq!(names, expected);
    assert_eq!(resolved.choice.credentials, expected);
    assert!(resolved.provider(Some(&expected[3])).is_some() && resolved.provider(Some("key-0")).is_none());
    // The credential alone is reason enough to choose its vendor.
    let resolved = choose_at(&Wanted::default(), &[], &Catalogue::built_in(), Some(&store)).await.unwrap();
    assert_eq!((resolved.choice.provider.as_str(), resolved.credentials.len()), ("mistral", 1));
    assert!(resolved.why.contains("auth.json"), "{}", resolved.why);
}

#[tokio::test]
async fn the_catalogue_tells_what_a_model_can_do_and_costs() {
    let keys = [("OPENAI_API_KEY", "k")];
    let mut asked = wanted(Some("openai-api"), Some("gpt-4.1"), None);
    asked.effort = Some(ReasoningEffort::High);
    asked.cache_ttl = Some(CacheTtl::OneHour);
    let choice = choose(&asked, &keys).await.unwrap().choice;
    assert_eq!(
        (choice.provider.as_str(), choice.context_window_tokens, choice.images),
        ("openai", 1_047_576, true)
    );
    assert_eq!(choice.output_tokens_max, 32_000, "what is reserved for an answer is bounded");
    assert_eq!((choice.effort, choice.cache_ttl), (None, CacheTtl::OneHour), "it does not reason");
    let prices = choice.prices.unwrap();
    assert_eq!((prices.input, prices.cached_read, prices.output), (2_000_000, 500_000, 8_000_000));
    asked.base_url = Some("http://10.0.0.1:9/v1".into());
    let choice = choose(&asked, &keys).await.unwrap().choice;
    assert_eq!(choice.prices, None, "another server has other prices");
    let unheard_of = wanted(Some("openai"), Some("gpt-4.9"), None);
    let choice = choose(&unheard_of, &keys).await.unwrap().choice;
    assert_eq!((choice.prices, choice.context_window_tokens), (None, 128_000));
}

#[tokio::test]
async fn a_vendors_own_list_and_a_persons_word_come_before_the_catalogue() {
    let home = tempfile::tempdir().unwrap();
    let listed = ListedModel {
        name: "llama-3.1-8b-instant".into(),
        context_window_tokens: Some(9_000),
        images: Some(true),
        ..ListedModel::default()
    };
    let list = crate::providers::catalog::Listed { fetched_at: String::new(), models: vec![listed] };
    crate::providers::catalog::write_list(home.path(), "groq", &list).unwrap();
    let window = async |setting: serde_json::Value| {
        let catalogue = Catalogue::of(home.path(), &setting).unwrap();
        let asked = wanted(Some("groq"), Some("llama-3.1-8b-instant"), None);
        choose_at(&asked, &[("GROQ_API_KEY", "k")], &catalogue, None)
            .await
            .unwrap()
            .choice
            .context_window_tokens
    };
    assert_eq!(window(json!({})).await, 9_000);
    let own = json!({"groq": {"models": [{"name": "llama-3.1-8b-instant", "context_window": 5_000}]}});
    assert_eq!(window(own).await, 5_000);
}

#[tokio::test]
async fn a_vendor_of_ones_own_is_called_as_it_says() {
    let home = tempfile::tempdir().unwrap();
    let house = json!({"house": {
        "base_url": "https://{region}.house.example/v1", "key_variables": ["HOUSE_KEY"], "model": "m",
        "aliases": ["home"], "auth": "header:x-api-key", "headers": {"x-team": "a"},
        "placeholders": {"region": {"variables": ["HOUSE_REGION"]}},
        "models": [{"name": "m", "context_window": 1000, "prices": {"input": 1.5, "output": 2}}]}});
    let catalogue = Catalogue::of(home.path(), &house).unwrap();
    let asked = wanted(Some("Home "), None, None);
    let keys = [("HOUSE_KEY", "k"), ("HOUSE_REGION", "north")];
    let choice = choose_at(&asked, &keys, &catalogue, None).await.unwrap().choice;
    assert_eq!(
        (choice.provider.as_str(), choice.base_url.as_str()),
        ("house", "https://north.house.example/v1")
    );
    assert_eq!(choice.prices.unwrap().source, "config");
    let error = choose_at(&asked, &keys[..1], &catalogue, None).await.err().unwrap().to_string();
    assert!(error.contains("HOUSE_REGION"), "{error}");
    let evil = [("HOUSE_KEY", "k"), ("HOUSE_REGION", "evil.example/x#")];
    assert!(choose_at(&asked, &evil, &catalogue, None).await.is_err(), "a region cannot become another host");
}

#[tokio::test]
async fn keys_that_are_set_for_other_purposes_choose_nothing() {
    let set = [("GITHUB_TOKEN", "a"), ("AWS_ACCESS_KEY_ID", "b"), ("HF_TOKEN", "c"), ("GH_TOKEN", "d")];
    assert_eq!(choose(&Wanted::default(), &set).await.unwrap().choice.provider, "offline");
    let named = choose(&wanted(Some("hf"), Some("m"), None), &set).await.unwrap();
    assert_eq!(named.choice.provider, "huggingface");
    assert!(
        choose(&wanted(Some("moa"), None, None), &set)
            .await
            .err()
            .unwrap()
            .to_string()
            .contains("no endpoint")
    );
    let error = choose(&wanted(Some("xai-oauth"), None, None), &set).await.err().unwrap().to_string();
    assert!(error.contains("herm auth add xai-oauth"), "{error}");
}

#[tokio::test]
async fn a_chain_takes_what_can_be_had_and_says_what_cannot() {
    let catalogue = Catalogue::built_in();
    let set = [("GROQ_API_KEY", "k"), ("OPENROUTER_API_KEY", "o")];
    let keys =
        |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| Secret::new(*value));
    let at = Sources {
        keys: &keys,
        catalogue: &catalogue,
        store: None,
        witness: None,
        local_servers: true,
        keys_needed: true,
    };
    let entries = [
        json!("groq"),
        json!("openrouter/anthropic/claude-x"),
        json!("meta-llama/llama"),
        json!({"provider": "custom", "model": "m", "base_url": "http://10.0.0.1:1/v1"}),
        json!("mistral/mistral-large-latest"),
        json!({"modle": "m"}),
        json!(7),
        json!("offline"),
    ];
    let chain = chain(&entries, &Wanted::default(), at).await;
    let models: Vec<String> =
        chain.models.iter().map(|it| format!("{} {}", it.choice.provider, it.choice.model)).collect();
    assert_eq!(
        models,
        [
            "groq openai/gpt-oss-120b",
            "openrouter anthropic/claude-x",
            "openrouter meta-llama/llama",
            "custom m",
            "offline herm-offline",
        ]
    );
    assert_eq!(chain.problems.len(), 3, "{:?}", chain.problems);
    assert!(chain.problems[0].contains("MISTRAL_API_KEY") && chain.problems[1].contains("modle"));
}

#[tokio::test]
async fn why_a_wire_format_is_spoken_is_said() {
    let mut asked = wanted(Some("groq"), None, None);
    let resolved = choose(&asked, &[("GROQ_API_KEY", "k")]).await.unwrap();
    assert_eq!(resolved.why_dialect, "provider `groq` speaks it");
    asked.api_mode = Some("telepathy".into());
    let error = choose(&asked, &[("GROQ_API_KEY", "k")]).await.err().unwrap().to_string();
    assert!(error.contains("telepathy"), "{error}");
}
