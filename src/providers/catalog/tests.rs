use serde_json::json;

use super::*;

#[test]
fn every_built_in_vendor_is_sound_and_its_heading_says_the_same() {
    let catalogue = Catalogue::built_in();
    let mut aliases: Vec<String> = Vec::new();
    for name in catalogue.names() {
        let vendor = catalogue.vendor(name).unwrap().unwrap();
        assert_eq!(vendor.name, name);
        assert_eq!(catalogue.heading(name), Some(Heading::of(&vendor)), "{name}");
        assert!(vendor.source.starts_with("https://"), "{name}");
        assert_eq!(vendor.as_of.len(), "2026-11-30".len(), "{name}");
        assert!(!vendor.title.is_empty(), "{name}");
        let needs_nothing = vendor.local || vendor.oauth || vendor.unavailable.is_some();
        assert!(needs_nothing || !vendor.key_variables.is_empty(), "{name} has no key");
        assert!(vendor.local || vendor.unavailable.is_some() || vendor.context_window.is_some(), "{name}");
        for model in &vendor.models {
            assert!(model.context_window.zip(model.output_max).is_none_or(|(window, out)| out <= window));
        }
        aliases.push(name.to_owned());
        aliases.extend(vendor.aliases);
    }
    let all = aliases.len();
    aliases.sort();
    aliases.dedup();
    assert_eq!(aliases.len(), all, "a name is used twice");
}

#[test]
fn the_vendors_of_the_reference_are_there() {
    let catalogue = Catalogue::built_in();
    let names = "alibaba alibaba-coding-plan anthropic arcee azure-foundry bedrock copilot github-copilot \
        copilot-acp deepinfra deepseek fireworks gemini gmi huggingface kilocode kimi-coding kimi-coding-cn \
        lmstudio minimax minimax-cn minimax-oauth moa nous novita nvidia ollama-cloud openai-api openai-codex \
        opencode-zen opencode-go openrouter qwen-oauth stepfun tencent-tokenhub upstage vertex xai xai-oauth \
        xiaomi zai mistral groq together cohere cerebras perplexity ollama llama.cpp vllm sglang";
    for name in names.split_whitespace() {
        assert!(catalogue.vendor(name).unwrap().is_some(), "{name}");
    }
    assert!(catalogue.vendor("nobody").unwrap().is_none());
}

#[test]
fn prices_are_in_micro_dollars_with_their_date() {
    let vendor = Catalogue::built_in().vendor("anthropic").unwrap().unwrap();
    let model = vendor.model("claude-sonnet-4-5-20250929").unwrap();
    let prices = vendor.prices(model).unwrap();
    assert_eq!(
        (prices.input, prices.cached_read, prices.cached_write, prices.output),
        (3_000_000, 300_000, 3_750_000, 15_000_000)
    );
    assert_eq!((prices.source.as_str(), prices.as_of.as_str()), ("catalogue", "2026-11-30"));
    assert!(vendor.model("claude-sonnet-4").is_none());
}

#[test]
fn what_a_person_says_lies_over_the_built_in_vendor_and_adds_new_ones() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("providers")).unwrap();
    let file = home.path().join("providers/groq.toml");
    std::fs::write(&file, "base_url = \"http://127.0.0.1:9/v1\"\n[[models]]\nname = \"mine\"\n").unwrap();
    let setting = json!({
        "groq": {"models": [
            {"name": "llama-3.1-8b-instant", "prices": {"input": 1, "output": 2}, "images": true}]},
        "house": {"base_url": "http://10.0.0.1/v1", "key_variables": ["HOUSE_KEY"], "models": [{"name": "m"}]},
    });
    let catalogue = Catalogue::of(home.path(), &setting).unwrap();
    let groq = catalogue.vendor("groq").unwrap().unwrap();
    assert_eq!(groq.base_url, "http://127.0.0.1:9/v1");
    assert!(groq.model("mine").is_some());
    let changed = groq.model("llama-3.1-8b-instant").unwrap();
    assert_eq!((changed.context_window, changed.images), (Some(131_072), Some(true)));
    let prices = groq.prices(changed).unwrap();
    assert_eq!((prices.input, prices.source.as_str(), prices.as_of.as_str()), (1_000_000, "config", ""));
    assert_eq!(catalogue.headings().last().unwrap().key_variables, ["HOUSE_KEY"]);
    assert_eq!(catalogue.vendor("house").unwrap().unwrap().dialect, "chat_completions");
}

#[test]
fn what_does_not_fit_is_refused_with_its_place() {
    let home = tempfile::tempdir().unwrap();
    let refusal = |setting| Catalogue::of(home.path(), &setting).unwrap_err().to_string();
    let told = refusal(json!({"groq": {"base_ulr": "x"}}));
    assert!(told.contains("providers.groq") && told.contains("base_ulr"), "{told}");
    assert!(refusal(json!({"new": {}})).contains("base_url"));
    let negative = json!({"groq": {"models": [{"name": "m", "prices": {"input": -1, "output": 1}}]}});
    assert!(refusal(negative).contains("below zero"));
    std::fs::create_dir(home.path().join("providers")).unwrap();
    std::fs::write(home.path().join("providers/x.toml"), "= nonsense").unwrap();
    assert!(refusal(json!({})).contains("x.toml"));
}

#[test]
fn a_list_that_was_fetched_is_read_back_and_no_name_leads_out_of_the_folder() {
    let home = tempfile::tempdir().unwrap();
    let listed = Listed {
        fetched_at: "2026-11-30T00:00:00Z".into(),
        models: vec![ListedModel {
            name: "m".into(),
            context_window_tokens: Some(9),
            ..ListedModel::default()
        }],
    };
    write_list(home.path(), "groq", &listed).unwrap();
    let catalogue = Catalogue::of(home.path(), &json!({})).unwrap();
    assert_eq!(catalogue.listed("groq"), Some(listed));
    assert_eq!(catalogue.listed_model("groq", "m").unwrap().context_window_tokens, Some(9));
    assert!(write_list(home.path(), "../groq", &Listed::default()).is_err());
    assert_eq!(catalogue.listed("../groq"), None);
}
