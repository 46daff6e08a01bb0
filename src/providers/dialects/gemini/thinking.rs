//! PURE: how each generation of models is told to think.
//!
//! Source: the guide "Thinking" of the Gemini API. Gemini 3 and later take a level, 2.5 a budget in
//! tokens; those before take neither, nor do the models that draw or speak.

use herm_schema::events::ReasoningEffort as E;
use serde_json::{Value, json};

/// Budgets of Gemini 2.5, in tokens.
const MINIMAL_TOKENS: u32 = 512;
const LOW_TOKENS: u32 = 2_048;
const MEDIUM_TOKENS: u32 = 8_192;
const HIGH_TOKENS: u32 = 16_384;
const FLASH_TOKENS_MAX: u32 = 24_576;
const PRO_TOKENS_MAX: u32 = 32_768;
/// Pro cannot be kept from thinking.
const PRO_TOKENS_MIN: u32 = 128;

/// Major and minor version of a Gemini model.
pub(super) fn generation(model: &str) -> Option<(u32, u32)> {
    let (_, rest) = model.rsplit_once("gemini-")?;
    let version: String = rest.chars().take_while(|char| char.is_ascii_digit() || *char == '.').collect();
    let (major, minor) = version.split_once('.').unwrap_or((&version, "0"));
    Some((major.parse().ok()?, minor.parse().unwrap_or(0)))
}

/// Whether calls without a signature are refused.
pub(super) fn demands_signatures(model: &str) -> bool {
    generation(model).is_some_and(|(major, _)| major >= 3)
}

/// The `thinkingConfig` of a request.
pub(super) fn config(model: &str, effort: Option<E>) -> Option<Value> {
    if ["image", "tts", "embedding", "audio", "live"].iter().any(|kind| model.contains(kind)) {
        return None;
    }
    let generation = generation(model)?;
    if generation < (2, 5) {
        return None;
    }
    let shown = effort != Some(E::None);
    let mut config = json!({ "includeThoughts": shown });
    if let (Some(effort), Some(config)) = (effort, config.as_object_mut()) {
        if generation.0 >= 3 {
            config.insert("thinkingLevel".into(), level(model, generation, effort).into());
        } else {
            config.insert("thinkingBudget".into(), budget(model, effort).into());
        }
    }
    Some(config)
}

fn level(model: &str, generation: (u32, u32), effort: E) -> &'static str {
    let pro = model.contains("pro");
    match effort {
        E::None | E::Minimal if pro => "low",
        E::None | E::Minimal => "minimal",
        E::Low => "low",
        // 3.0 Pro knows two levels only; the higher one is what it does by itself.
        E::Medium if pro && generation == (3, 0) => "high",
        E::Medium => "medium",
        E::High | E::XHigh => "high",
    }
}

fn budget(model: &str, effort: E) -> u32 {
    let pro = model.contains("pro");
    match effort {
        E::None if pro => PRO_TOKENS_MIN,
        E::None => 0,
        E::Minimal => MINIMAL_TOKENS,
        E::Low => LOW_TOKENS,
        E::Medium => MEDIUM_TOKENS,
        E::High => HIGH_TOKENS,
        E::XHigh if pro => PRO_TOKENS_MAX,
        E::XHigh => FLASH_TOKENS_MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_generation_is_told_in_its_own_words() {
        assert_eq!(generation("models/gemini-3.1-pro-preview"), Some((3, 1)));
        assert_eq!(generation("gemini-3-flash"), Some((3, 0)));
        assert_eq!(config("gemini-2.0-flash", Some(E::High)), None);
        assert_eq!(config("gemini-2.5-flash-image", Some(E::High)), None);
        assert_eq!(config("gemini-2.5-flash", None), Some(json!({"includeThoughts":true})));
        let off = json!({"includeThoughts":false,"thinkingBudget":0});
        assert_eq!(config("gemini-2.5-flash", Some(E::None)), Some(off));
        let least = json!({"includeThoughts":false,"thinkingBudget":128});
        assert_eq!(config("gemini-2.5-pro", Some(E::None)), Some(least));
        let high = json!({"includeThoughts":true,"thinkingLevel":"high"});
        assert_eq!(config("gemini-3-pro-preview", Some(E::Medium)), Some(high));
        let medium = json!({"includeThoughts":true,"thinkingLevel":"medium"});
        assert_eq!(config("gemini-4-argon", Some(E::Medium)), Some(medium));
        assert_eq!(config("gemma-3-27b-it", Some(E::High)), None);
    }
}
