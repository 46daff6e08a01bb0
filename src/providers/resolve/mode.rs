//! PURE: which wire format is spoken, and why. In this order: what was asked for, the provider's own,
//! what the address tells, chat completions; at OpenAI itself some models need the Responses API.

use super::place::Place;
use crate::providers::catalog::Vendor;
use crate::providers::dialects::canonical;

pub(super) const CHAT: &str = "chat_completions";
pub(super) const ANTHROPIC: &str = "anthropic_messages";
pub(super) const BEDROCK: &str = "bedrock_converse";
pub(super) const RESPONSES: &str = "responses";
pub(super) const GEMINI: &str = "gemini";

/// First major version of OpenAI's models that is to be called by the Responses API.
const RESPONSES_SINCE: u32 = 5;
/// Other models of OpenAI's that are served by nothing else.
const RESPONSES_ONLY: [&str; 6] =
    ["o1-pro", "o3-pro", "codex-mini", "computer-use-preview", "o3-deep-research", "o4-mini-deep-research"];

/// A wire format and why it is spoken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mode {
    pub dialect: String,
    /// One sentence.
    pub why: String,
}

impl Mode {
    fn new(dialect: &str, why: String) -> Self {
        Self { dialect: dialect.to_owned(), why }
    }
}

/// What is known when the wire format is chosen.
pub(super) struct Asked<'a> {
    /// The setting `model.api_mode` or `--api-mode`.
    pub api_mode: Option<&'a str>,
    pub vendor: &'a Vendor,
    /// The vendor is at another address than its own, as with a proxy.
    pub moved: bool,
    pub base_url: &'a str,
    /// Empty if it is not known yet.
    pub model: &'a str,
}

/// Chooses.
pub(super) fn choose(asked: &Asked<'_>) -> Mode {
    if let Some(mode) = asked.api_mode.map(str::trim).filter(|mode| !mode.is_empty() && *mode != "auto") {
        return Mode::new(canonical(mode), format!("`api_mode` asks for `{mode}`"));
    }
    let (vendor, model) = (asked.vendor, asked.model);
    if let Some(own) = vendor.model(model).and_then(|model| model.dialect.as_deref()) {
        return Mode::new(canonical(own), format!("provider `{}` serves `{model}` in it", vendor.name));
    }
    let place = Place::of(asked.base_url);
    if let Some((dialect, what)) = place.insists() {
        return Mode::new(dialect, format!("the address says so: {what}"));
    }
    let own = canonical(&vendor.dialect);
    if own != CHAT && vendor.name != super::CUSTOM {
        return Mode::new(own, format!("provider `{}` speaks it", vendor.name));
    }
    if let Some((dialect, what)) = place.tells() {
        return Mode::new(dialect, format!("the address says so: {what}"));
    }
    if place.is_openai() && needs_responses(model) {
        return Mode::new(RESPONSES, format!("`{model}` at OpenAI itself is called by the Responses API"));
    }
    if place.is_azure() && needs_responses(model) {
        return Mode::new(CHAT, format!("Azure serves `{model}` by chat completions"));
    }
    if vendor.name != super::CUSTOM && !asked.moved {
        return Mode::new(CHAT, format!("provider `{}` speaks it", vendor.name));
    }
    Mode::new(CHAT, "nothing says otherwise, and most servers speak it".to_owned())
}

/// Whether OpenAI wants this model to be called by the Responses API.
fn needs_responses(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
    if RESPONSES_ONLY.iter().any(|known| name.starts_with(known)) {
        return true;
    }
    let Some(version) = name.strip_prefix("gpt-") else { return false };
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<u32>().is_ok_and(|major| major >= RESPONSES_SINCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::catalog::Catalogue;

    fn mode(api_mode: Option<&str>, provider: &str, base_url: &str, model: &str) -> (String, String) {
        let vendor = match provider {
            "custom" => super::super::target::custom("custom"),
            name => Catalogue::built_in().vendor(name).unwrap().unwrap(),
        };
        let moved = !base_url.is_empty();
        let base_url = if moved { base_url } else { &vendor.base_url };
        let mode = choose(&Asked { api_mode, vendor: &vendor, moved, base_url, model });
        (mode.dialect, mode.why)
    }

    fn by_address(base_url: &str, model: &str) -> String {
        mode(None, "custom", base_url, model).0
    }

    #[test]
    fn what_is_asked_for_comes_first() {
        assert_eq!(mode(Some("chat_completions"), "anthropic", "", "claude-x").0, CHAT);
        assert_eq!(mode(Some("codex_responses"), "custom", "http://h/v1", "m").0, RESPONSES);
        assert_eq!(mode(Some("auto"), "anthropic", "", "claude-x").0, ANTHROPIC);
    }

    #[test]
    fn the_provider_comes_before_the_address() {
        assert_eq!(mode(None, "anthropic", "http://127.0.0.1:4000", "x").0, ANTHROPIC);
        assert_eq!(mode(None, "openai-codex", "", "gpt-5.1-codex").0, RESPONSES);
        assert_eq!(mode(None, "bedrock", "", "m").0, BEDROCK);
        assert_eq!(mode(None, "gemini", "", "m").0, GEMINI);
        let compatible = "https://generativelanguage.googleapis.com/v1beta/openai/";
        assert_eq!(mode(None, "gemini", compatible, "m").0, CHAT);
        assert_eq!(mode(None, "xai", "", "grok-4").0, RESPONSES);
        assert_eq!(mode(None, "opencode-zen", "", "claude-sonnet-4-6").0, ANTHROPIC);
        assert_eq!(mode(None, "openrouter", "", "openai/gpt-5.4").0, CHAT);
    }

    #[test]
    fn the_address_tells() {
        for (base_url, dialect) in [
            ("https://api.anthropic.com", ANTHROPIC),
            ("https://api.anthropic.com/v1", ANTHROPIC),
            ("https://API.Anthropic.com/v1", ANTHROPIC),
            ("https://proxy.example/anthropic/", ANTHROPIC),
            ("https://api.minimax.io/anthropic", ANTHROPIC),
            ("https://bedrock-runtime.eu-west-1.amazonaws.com", BEDROCK),
            ("https://api.x.ai/v1", RESPONSES),
            ("https://chatgpt.com/backend-api/codex", RESPONSES),
            ("https://generativelanguage.googleapis.com/v1beta", GEMINI),
            (
                "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google",
                GEMINI,
            ),
            (
                "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu/publishers/anthropic",
                ANTHROPIC,
            ),
            ("https://generativelanguage.googleapis.com/v1beta/openai", CHAT),
            ("https://eu-aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/openapi", CHAT),
            ("https://api.anthropic.com.evil.example/v1", CHAT),
            ("https://notbedrock-runtime.eu.amazonaws.com", CHAT),
            ("https://chatgpt.com/", CHAT),
            ("http://127.0.0.1:8080/v1", CHAT),
            ("nonsense", CHAT),
        ] {
            assert_eq!(by_address(base_url, "m"), dialect, "{base_url}");
        }
    }

    #[test]
    fn the_newer_models_of_openai_are_upgraded_there_and_nowhere_else() {
        let (dialect, why) = mode(None, "openai", "", "gpt-5.4");
        assert_eq!(dialect, RESPONSES);
        assert!(why.contains("`gpt-5.4`"), "{why}");
        for model in ["gpt-5", "gpt-5-mini-2025-08-07", "GPT-5.1", "gpt-6-astra", "openai/gpt-5", "o3-pro"] {
            assert_eq!(by_address("https://api.openai.com/v1", model), RESPONSES, "{model}");
        }
        for model in ["gpt-4.1", "gpt-4o", "gpt-oss-120b", "o3", "gpt-", ""] {
            assert_eq!(by_address("https://api.openai.com/v1", model), CHAT, "{model}");
        }
        let (dialect, why) = mode(None, "custom", "https://x.openai.azure.com/openai/v1", "gpt-5.4");
        assert_eq!(dialect, CHAT);
        assert!(why.contains("Azure"), "{why}");
        assert_eq!(mode(None, "openai", "http://127.0.0.1:4000/v1", "gpt-5.4").0, CHAT);
    }
}
