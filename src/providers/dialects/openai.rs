//! PURE: what OpenAI documents of its models that both of its wire formats need.
//!
//! Source: the model pages and the guide "Reasoning models" of the OpenAI platform. Names decide,
//! since the list of models tells nothing of them; a model that is not known is taken for one that
//! reasons, as all that come out now do.

use herm_schema::events::ReasoningEffort as E;

/// Beginnings of the names of models that do not reason and refuse to be asked to.
const PLAIN: [&str; 7] =
    ["gpt-3.5", "gpt-4", "chatgpt-4o", "gpt-5-chat", "gpt-5.1-chat", "gpt-5.2-chat", "gpt-5.3-chat"];

/// The name without a gateway's prefix, such as `openai/`.
fn bare(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

/// Whether `model` reasons before it answers.
pub fn reasons(model: &str) -> bool {
    let name = bare(model);
    !PLAIN.iter().any(|plain| name.starts_with(plain))
}

/// Whether `model` is one of OpenAI's own that reason, whose system prompt has the role `developer`.
pub fn is_own_reasoning(model: &str) -> bool {
    let name = bare(model);
    let mut chars = name.chars();
    let o_series = chars.next() == Some('o') && chars.next().is_some_and(|char| char.is_ascii_digit());
    (o_series || name.starts_with("gpt-5") || name.starts_with("gpt-6") || name.starts_with("codex-"))
        && reasons(model)
}

/// The word for `effort` that `model` takes, the nearest one where it takes not all.
pub fn effort(model: &str, effort: E) -> &'static str {
    let takes = words(bare(model));
    let wanted = rank(effort);
    takes.iter().min_by_key(|(rank, _)| (rank.abs_diff(wanted), *rank)).map_or("medium", |(_, word)| *word)
}

/// Where a word stands among all.
const fn rank(effort: E) -> u8 {
    match effort {
        E::None => 0,
        E::Minimal => 1,
        E::Low => 2,
        E::Medium => 3,
        E::High => 4,
        E::XHigh => 5,
    }
}

type Words = &'static [(u8, &'static str)];
const LOW_TO_HIGH: Words = &[(2, "low"), (3, "medium"), (4, "high")];
const LOW_TO_XHIGH: Words = &[(2, "low"), (3, "medium"), (4, "high"), (5, "xhigh")];
const MINIMAL_TO_HIGH: Words = &[(1, "minimal"), (2, "low"), (3, "medium"), (4, "high")];
const NONE_TO_HIGH: Words = &[(0, "none"), (2, "low"), (3, "medium"), (4, "high")];
const NONE_TO_XHIGH: Words = &[(0, "none"), (2, "low"), (3, "medium"), (4, "high"), (5, "xhigh")];

fn words(name: &str) -> Words {
    let codex = name.contains("codex");
    if name.starts_with("gpt-5-pro") {
        return &[(4, "high")];
    }
    if name.starts_with("gpt-5.1-codex-max")
        || (codex && !name.starts_with("gpt-5.1") && name.starts_with("gpt-5."))
    {
        return LOW_TO_XHIGH;
    }
    if codex {
        return LOW_TO_HIGH;
    }
    if name.starts_with("gpt-5.1") {
        return NONE_TO_HIGH;
    }
    if name.starts_with("gpt-5.") || name.starts_with("gpt-6") {
        return NONE_TO_XHIGH;
    }
    if name.starts_with("gpt-5") {
        return MINIMAL_TO_HIGH;
    }
    // The o series, and everybody else's models under a field of the same name.
    LOW_TO_HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_given_the_nearest_word_it_takes() {
        assert_eq!(effort("gpt-5", E::None), "minimal");
        assert_eq!(effort("openai/gpt-5.1", E::None), "none");
        assert_eq!(effort("gpt-5.1", E::XHigh), "high");
        assert_eq!(effort("gpt-5.4", E::XHigh), "xhigh");
        assert_eq!(effort("o3", E::Minimal), "low");
        assert_eq!(effort("gpt-5-pro", E::Low), "high");
        assert_eq!(effort("gpt-5.2-codex", E::None), "low");
        assert_eq!(effort("grok-4", E::Medium), "medium");
    }

    #[test]
    fn models_that_do_not_reason_are_known() {
        assert!(!reasons("gpt-4.1-mini") && !reasons("openai/gpt-4o") && !reasons("gpt-5-chat-latest"));
        assert!(reasons("gpt-5") && reasons("o3") && reasons("grok-4"));
        assert!(is_own_reasoning("o4-mini") && is_own_reasoning("gpt-5.2") && !is_own_reasoning("olmo"));
    }
}
