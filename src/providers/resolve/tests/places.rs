//! Addresses that stand for a vendor, and those that a model decides on.

use herm_replay::reducer::request::RequestOptions;
use serde_json::{Value, json};

use super::*;
use crate::providers::{LoadedMessage, LoadedRequest};

/// What would be sent for a greeting.
pub(super) async fn sent(resolved: &Resolved) -> reqwest::Request {
    let request = LoadedRequest {
        choice: resolved.choice.clone(),
        system: None,
        tools: Vec::new(),
        messages: vec![LoadedMessage::user("hi")],
        output_tokens_max: 100,
        options: RequestOptions::default(),
    };
    resolved.endpoint.as_ref().unwrap().signed(&request).await
}

pub(super) fn body(request: &reqwest::Request) -> Value {
    serde_json::from_slice(request.body().unwrap().as_bytes().unwrap()).unwrap()
}

/// The headers that a key may be in.
fn key_headers(request: &reqwest::Request) -> Vec<(&str, &str)> {
    let names = ["authorization", "x-api-key", "x-goog-api-key", "api-key"];
    let value = |name: &'static str| Some((name, request.headers().get(name)?.to_str().unwrap()));
    names.into_iter().filter_map(value).collect()
}

async fn vertex(model: &str, set: &[(&str, &str)]) -> Result<Resolved, Error> {
    choose(&wanted(Some("vertex"), Some(model), None), set).await
}

#[tokio::test]
async fn vertex_has_a_host_for_each_location_and_a_path_for_each_maker() {
    let token = ("VERTEX_ACCESS_TOKEN", "token");
    let project = ("GOOGLE_CLOUD_PROJECT", "proj-1");
    let at = async |model: &str, location: &str| {
        let set = [token, project, ("GOOGLE_CLOUD_LOCATION", location)];
        let resolved = vertex(model, &set).await.unwrap();
        let request = sent(&resolved).await;
        assert_eq!(key_headers(&request), [("authorization", "Bearer token")]);
        (resolved.choice.dialect, request.url().to_string(), body(&request))
    };
    let (dialect, url, _) = at("gemini-2.5-pro", "europe-west1").await;
    assert_eq!(dialect, "gemini");
    assert_eq!(
        url,
        "https://europe-west1-aiplatform.googleapis.com/v1/projects/proj-1/locations/europe-west1\
         /publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
    );
    let (dialect, url, body) = at("claude-sonnet-4-5@20250929", "eu").await;
    assert_eq!(dialect, "anthropic_messages");
    assert_eq!(
        url,
        "https://aiplatform.eu.rep.googleapis.com/v1/projects/proj-1/locations/eu\
         /publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict"
    );
    assert_eq!((&body["anthropic_version"], body.get("model")), (&json!("vertex-2023-10-16"), None));
    let (dialect, url, _) = at("claude-of-which-nothing-is-known", "global").await;
    assert_eq!(dialect, "anthropic_messages");
    assert!(url.starts_with("https://aiplatform.googleapis.com/v1/projects/proj-1/locations/global/"));
    let set = [token, project, ("GOOGLE_CLOUD_LOCATION", "a.b")];
    let error = vertex("gemini-2.5-pro", &set).await.err().unwrap().to_string();
    assert!(error.contains("`a.b`"), "{error}");
}

#[tokio::test]
async fn the_project_comes_from_the_credentials_file_where_no_variable_names_it() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("account.json");
    let key = include_str!("../../http/auth/fixtures/test_only_key.pem");
    let file = json!({"type": "service_account", "client_email": "a@b", "private_key": key,
        "project_id": "from-file"});
    std::fs::write(&path, file.to_string()).unwrap();
    let file = ("GOOGLE_APPLICATION_CREDENTIALS", path.to_str().unwrap());
    let resolved = vertex("gemini-2.5-pro", &[file]).await.unwrap();
    assert!(resolved.choice.base_url.contains("/projects/from-file/"), "{}", resolved.choice.base_url);
    let resolved = vertex("gemini-2.5-pro", &[file, ("GOOGLE_CLOUD_PROJECT", "named")]).await.unwrap();
    assert!(resolved.choice.base_url.contains("/projects/named/"), "{}", resolved.choice.base_url);
    let missing = [("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/account.json")];
    let error = vertex("gemini-2.5-pro", &missing).await.err().unwrap().to_string();
    assert!(error.contains("/nowhere/account.json"), "{error}");
    let error = vertex("gemini-2.5-pro", &[("VERTEX_ACCESS_TOKEN", "t")]).await.err().unwrap().to_string();
    assert!(error.contains("GOOGLE_CLOUD_PROJECT"), "{error}");
    let error = vertex("gemini-2.5-pro", &[]).await.err().unwrap().to_string();
    assert!(error.contains("GOOGLE_APPLICATION_CREDENTIALS"), "{error}");
}

#[tokio::test]
async fn an_address_of_vertex_that_was_given_stays_as_it_is() {
    let base_url =
        "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic";
    for (provider, key) in [
        (None, "VERTEX_ACCESS_TOKEN"),
        (Some("vertex"), "VERTEX_ACCESS_TOKEN"),
        (Some("custom"), "HERM_API_KEY"),
    ] {
        let asked = wanted(provider, Some("claude-opus-4-5"), Some(base_url));
        let resolved = choose(&asked, &[(key, "token")]).await.unwrap();
        assert_eq!(
            (resolved.choice.base_url.as_str(), resolved.choice.dialect.as_str()),
            (base_url, "anthropic_messages")
        );
        let request = sent(&resolved).await;
        assert_eq!(key_headers(&request), [("authorization", "Bearer token")], "{provider:?}");
        assert_eq!(body(&request)["anthropic_version"], "vertex-2023-10-16", "{provider:?}");
    }
}

#[tokio::test]
async fn a_key_given_with_a_vendors_address_is_sent_as_that_vendor_wants_it() {
    let azure = "https://r.openai.azure.com";
    for (base_url, model, dialect, url, header) in [
        (
            azure,
            "gpt-5.4",
            "chat_completions",
            "https://r.openai.azure.com/openai/v1/chat/completions",
            "api-key",
        ),
        (
            "https://r.services.ai.azure.com/openai/v1/",
            "m",
            "chat_completions",
            "https://r.services.ai.azure.com/openai/v1/chat/completions",
            "api-key",
        ),
        (
            "https://api.anthropic.com",
            "claude-x",
            "anthropic_messages",
            "https://api.anthropic.com/v1/messages",
            "x-api-key",
        ),
        (
            "https://api.minimax.io/anthropic",
            "MiniMax-M2.5",
            "anthropic_messages",
            "https://api.minimax.io/anthropic/v1/messages",
            "x-api-key",
        ),
        (
            "https://generativelanguage.googleapis.com",
            "gemini-x",
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
            "x-goog-api-key",
        ),
        (
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "gemini-x",
            "chat_completions",
            "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
            "authorization",
        ),
        (
            "https://bedrock-runtime.eu-west-1.amazonaws.com",
            "amazon.nova-pro-v1:0",
            "bedrock_converse",
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/amazon.nova-pro-v1%3A0/converse-stream",
            "authorization",
        ),
        (
            "https://proxy.example/anthropic",
            "m",
            "anthropic_messages",
            "https://proxy.example/anthropic/v1/messages",
            "x-api-key",
        ),
        (
            "https://10.0.0.1:9",
            "m",
            "chat_completions",
            "https://10.0.0.1:9/v1/chat/completions",
            "authorization",
        ),
    ] {
        for provider in [None, Some("custom")] {
            let asked = wanted(provider, Some(model), Some(base_url));
            let resolved = choose(&asked, &[("HERM_API_KEY", "mine")]).await.unwrap();
            assert_eq!(resolved.choice.dialect, dialect, "{base_url}");
            let request = sent(&resolved).await;
            assert_eq!(request.url().as_str(), url, "{provider:?}");
            let value = if header == "authorization" { "Bearer mine" } else { "mine" };
            assert_eq!(key_headers(&request), [(header, value)], "{base_url} as {provider:?}");
        }
    }
    let resolved = choose(&wanted(Some("custom"), Some("gpt-5.4"), Some(azure)), &[]).await.unwrap();
    let body = body(&sent(&resolved).await);
    assert_eq!((&body["max_completion_tokens"], body.get("max_tokens")), (&json!(100), None));
    assert!(resolved.why_dialect.contains("Azure"), "{}", resolved.why_dialect);
}

#[tokio::test]
async fn a_vendor_that_was_moved_to_azure_is_known_there_by_azures_header() {
    let keys = [("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "https://r.openai.azure.com/openai/v1")];
    let resolved = choose(&wanted(Some("openai"), Some("gpt-5.4"), None), &keys).await.unwrap();
    assert_eq!(resolved.choice.dialect, "chat_completions");
    assert_eq!(key_headers(&sent(&resolved).await), [("api-key", "k")]);
    let keys = [("AZURE_OPENAI_API_KEY", "k"), ("AZURE_OPENAI_RESOURCE", "r")];
    let resolved = choose(&wanted(Some("azure"), Some("my-deployment"), None), &keys).await.unwrap();
    let request = sent(&resolved).await;
    assert_eq!(request.url().as_str(), "https://r.openai.azure.com/openai/v1/chat/completions");
    assert_eq!(key_headers(&request), [("api-key", "k")]);
}
