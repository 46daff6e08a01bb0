use super::*;

fn wanted(provider: Option<&str>, model: Option<&str>, base_url: Option<&str>) -> Wanted {
    let own = |text: Option<&str>| text.map(str::to_owned);
    Wanted { provider: own(provider), model: own(model), base_url: own(base_url), ..Wanted::default() }
}

async fn choose(wanted: &Wanted, set: &[(&str, &str)]) -> Result<Resolved, Error> {
    let keys =
        |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| Secret::new(*value));
    resolve_among(wanted, &keys, &[]).await
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
