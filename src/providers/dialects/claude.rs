//! PURE: how Claude models are told to think, which depends on the model and not on the wire.
//!
//! Source: the Claude platform's documentation, "Thinking", "Effort", "Preserved thinking" and the
//! migration guides up to Opus 5.5, Sonnet 5.5 and Haiku 5.5 (September 2026). In short: until 3.5 no
//! thinking; until 4.5 a budget of tokens; from 4.6 on `adaptive` with an effort, and from 4.7 on
//! nothing else; from 5 on by default; from 5.5 on (Opus) it cannot be turned off.

use herm_schema::events::ReasoningEffort;
use serde_json::{Value, json};

use crate::providers::LoadedRequest;

/// Least budget of thinking that the vendor takes, in tokens.
const BUDGET_TOKENS_MIN: u32 = 1_024;

/// Allows [`ThinkingForm::Adaptive`] requests to have thinking dropped that does not fit any more.
pub const BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";
/// What the names of the opt-ins to a longer context begin with.
const LONG_CONTEXT_BETA: &str = "context-1m";

/// Those of a host's opt-ins that go with `request`: what a model does not know is not asked of it.
pub(super) fn betas<'a>(betas: &'a [String], request: &LoadedRequest) -> Vec<&'a str> {
    let binds = Claude::of(&request.choice.model).unwrap_or(Claude::NEWEST).binds_thinking();
    let wanted = |beta: &&str| {
        let too_long = request.options.no_long_context && beta.starts_with(LONG_CONTEXT_BETA);
        !too_long && (binds || *beta != BINDING_BETA)
    };
    betas.iter().map(String::as_str).filter(wanted).collect()
}

/// How a model is told how much to think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingForm {
    /// As the model's name tells; a budget where it is no Claude.
    #[default]
    ByModel,
    /// A budget of tokens.
    Budget,
    /// By itself, guided by an effort.
    Adaptive,
    /// Not at all: the server does not know the field.
    Absent,
}

/// The fields of a request that are about thinking.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Thinking {
    pub thinking: Option<Value>,
    pub output_config: Option<Value>,
}

/// What thinking is asked for with.
pub(super) struct Asked<'a> {
    pub model: &'a str,
    pub form: ThinkingForm,
    pub effort: Option<ReasoningEffort>,
    pub output_tokens_max: u32,
    /// The answer goes on from tool results whose call does not begin with the model's thinking; with
    /// a budget the vendor refuses that.
    pub goes_on_without: bool,
    /// Thinking that does not fit what stands before it any more is dropped, not refused.
    pub drop_unbound: bool,
}

impl Asked<'_> {
    pub(super) fn fields(&self) -> Thinking {
        let claude = Claude::of(self.model);
        let by_model = match &claude {
            Some(claude) if claude.version() >= (4, 6) => ThinkingForm::Adaptive,
            Some(claude) if claude.version() < (3, 7) => ThinkingForm::Absent,
            _ => ThinkingForm::Budget,
        };
        match if self.form == ThinkingForm::ByModel { by_model } else { self.form } {
            ThinkingForm::Adaptive => self.adaptive(&claude.unwrap_or(Claude::NEWEST)),
            ThinkingForm::Budget => self.budget(claude.is_some()),
            ThinkingForm::ByModel | ThinkingForm::Absent => Thinking::default(),
        }
    }

    fn budget(&self, is_claude: bool) -> Thinking {
        let thinking = match self.effort {
            // Claude does not think unless told to; others of this wire format do.
            Some(ReasoningEffort::None) if !is_claude => Some(json!({"type": "disabled"})),
            None | Some(ReasoningEffort::None) => None,
            Some(_) if self.goes_on_without => None,
            Some(effort) => {
                // The answer itself needs some of the limit.
                let room = self.output_tokens_max / 4 * 3;
                let tokens = budget_tokens(effort).min(room);
                (tokens >= BUDGET_TOKENS_MIN).then(|| json!({"type": "enabled", "budget_tokens": tokens}))
            }
        };
        Thinking { thinking, output_config: None }
    }

    fn adaptive(&self, claude: &Claude) -> Thinking {
        let effort = |name: &str| Some(json!({"effort": name}));
        let asked = match self.effort {
            None if claude.thinks_by_default() => None,
            None => return Thinking::default(),
            Some(ReasoningEffort::None) => match claude.off() {
                Off::ByDefault => return Thinking::default(),
                Off::By(name) => {
                    return Thinking { thinking: Some(json!({"type": name})), output_config: None };
                }
                Off::Never => effort("low"),
            },
            Some(ReasoningEffort::Minimal | ReasoningEffort::Low) => effort("low"),
            Some(ReasoningEffort::Medium) => effort("medium"),
            Some(ReasoningEffort::High) => effort("high"),
            Some(ReasoningEffort::XHigh) if claude.version() < (4, 7) => effort("max"),
            Some(ReasoningEffort::XHigh) => effort("xhigh"),
        };
        let mut thinking = json!({"type": "adaptive"});
        if let Some(fields) = thinking.as_object_mut() {
            if claude.version() >= (4, 7) {
                // By default nothing is streamed while it thinks, which looks like a dead connection.
                fields.insert("display".to_owned(), "summarized".into());
            }
            if self.drop_unbound && claude.binds_thinking() {
                fields.insert("block_binding".to_owned(), json!({"prefix_mismatch_behavior": "drop_block"}));
            }
        }
        Thinking { thinking: Some(thinking), output_config: asked }
    }
}

fn budget_tokens(effort: ReasoningEffort) -> u32 {
    match effort {
        ReasoningEffort::None | ReasoningEffort::Minimal => BUDGET_TOKENS_MIN,
        ReasoningEffort::Low => 4_000,
        ReasoningEffort::Medium => 8_000,
        ReasoningEffort::High => 16_000,
        ReasoningEffort::XHigh => 32_000,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Opus,
    Sonnet,
    Haiku,
    /// Fable and Mythos.
    Larger,
}

/// How thinking is turned off.
enum Off {
    ByDefault,
    By(&'static str),
    Never,
}

/// A Claude model, read from its name in any of the forms in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claude {
    family: Family,
    major: u32,
    minor: u32,
}

impl Claude {
    /// What a name without a version is taken for.
    const NEWEST: Self = Self { family: Family::Larger, major: u32::MAX, minor: 0 };

    /// Of `claude-3-7-sonnet-20250219`, `claude-opus-4-6`, `us.anthropic.claude-opus-4-5-20251101-v1:0`,
    /// `claude-opus-4-5@20251101`, `anthropic/claude-opus-4.6`; `None` if it is no Claude.
    pub(super) fn of(model: &str) -> Option<Self> {
        let lower = model.to_ascii_lowercase();
        let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        if !words.contains(&"claude") {
            return None;
        }
        let family_of = |word: &str| match word {
            "opus" => Some(Family::Opus),
            "sonnet" => Some(Family::Sonnet),
            "haiku" => Some(Family::Haiku),
            "fable" | "mythos" => Some(Family::Larger),
            _ => None,
        };
        let Some((at, family)) = words.iter().enumerate().find_map(|(at, word)| Some((at, family_of(word)?)))
        else {
            // `claude-2.1`, `claude-instant`: from before there were families.
            return Some(Self { family: Family::Sonnet, major: 2, minor: 0 });
        };
        let numbers = |words: &mut dyn Iterator<Item = &&str>| -> Vec<u32> {
            words.map_while(|word| word.parse().ok().filter(|_| word.len() <= 2)).take(2).collect()
        };
        let mut version = numbers(&mut words.iter().skip(at + 1));
        if version.is_empty() {
            version = numbers(&mut words.iter().take(at).rev());
            version.reverse();
        }
        let Some(major) = version.first() else { return Some(Self { family, ..Self::NEWEST }) };
        Some(Self { family, major: *major, minor: version.get(1).copied().unwrap_or_default() })
    }

    pub(super) fn version(&self) -> (u32, u32) {
        (self.major, self.minor)
    }

    fn thinks_by_default(&self) -> bool {
        self.major >= 5 || self.family == Family::Larger
    }

    fn off(&self) -> Off {
        match self.family {
            _ if !self.thinks_by_default() => Off::ByDefault,
            Family::Larger => Off::Never,
            Family::Haiku if self.major == 5 => Off::By("disabled"),
            _ if self.version() < (5, 5) => Off::By("disabled"),
            Family::Sonnet if self.major == 5 => Off::By("between_tools"),
            _ => Off::Never,
        }
    }

    /// It checks that nothing before its thinking was changed.
    fn binds_thinking(&self) -> bool {
        let since = if self.family == Family::Larger { (5, 1) } else { (5, 5) };
        self.version() >= since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(model: &str, effort: Option<ReasoningEffort>) -> (Option<Value>, Option<Value>) {
        let asked = Asked {
            model,
            form: ThinkingForm::ByModel,
            effort,
            output_tokens_max: 8_192,
            goes_on_without: false,
            drop_unbound: false,
        };
        let fields = asked.fields();
        (fields.thinking, fields.output_config)
    }

    #[test]
    fn versions_are_read_from_every_form_of_a_name() {
        for (model, version) in [
            ("claude-3-7-sonnet-20250219", (3, 7)),
            ("claude-3-opus-latest", (3, 0)),
            ("claude-sonnet-4-20250514", (4, 0)),
            ("us.anthropic.claude-opus-4-5-20251101-v1:0", (4, 5)),
            ("claude-opus-4-5@20251101", (4, 5)),
            ("anthropic/claude-opus-4.6", (4, 6)),
            ("arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-6", (4, 6)),
            ("claude-opus-5-5", (5, 5)),
            ("claude-2.1", (2, 0)),
        ] {
            assert_eq!(Claude::of(model).unwrap().version(), version, "{model}");
        }
        assert_eq!(Claude::of("MiniMax-M2"), None);
        assert!(Claude::of("claude-mythos-preview").unwrap().thinks_by_default());
    }

    #[test]
    fn each_generation_is_told_in_its_own_way() {
        use ReasoningEffort as E;
        let adaptive = json!({"type": "adaptive", "display": "summarized"});
        assert_eq!(asked("claude-3-5-sonnet-20241022", Some(E::High)), (None, None));
        let budget = json!({"type": "enabled", "budget_tokens": 6_144});
        assert_eq!(asked("claude-sonnet-4-5", Some(E::High)), (Some(budget), None));
        assert_eq!(asked("claude-sonnet-4-5", None), (None, None));
        let (thinking, effort) = asked("claude-opus-4-6", Some(E::XHigh));
        assert_eq!((thinking, effort), (Some(json!({"type": "adaptive"})), Some(json!({"effort": "max"}))));
        let (thinking, effort) = asked("claude-opus-4-7", Some(E::XHigh));
        assert_eq!((thinking, effort), (Some(adaptive.clone()), Some(json!({"effort": "xhigh"}))));
        assert_eq!(asked("claude-opus-4-8", None), (None, None));
        assert_eq!(asked("claude-opus-5", None), (Some(adaptive.clone()), None));
        assert_eq!(asked("claude-opus-5", Some(E::None)), (Some(json!({"type": "disabled"})), None));
        assert_eq!(asked("claude-haiku-5-5", Some(E::None)), (Some(json!({"type": "disabled"})), None));
        assert_eq!(asked("claude-sonnet-5-5", Some(E::None)), (Some(json!({"type": "between_tools"})), None));
        let low = Some(json!({"effort": "low"}));
        assert_eq!(asked("claude-opus-5-5", Some(E::None)), (Some(adaptive.clone()), low.clone()));
        assert_eq!(asked("claude-fable-5-1", Some(E::Minimal)), (Some(adaptive), low));
        assert_eq!(asked("MiniMax-M2", Some(E::None)), (Some(json!({"type": "disabled"})), None));
    }

    #[test]
    fn a_budget_is_below_the_limit_or_absent() {
        for limit in [1, 1_000, 1_365, 1_366, 4_096, 64_000] {
            let asked = Asked {
                model: "claude-haiku-4-5",
                form: ThinkingForm::ByModel,
                effort: Some(ReasoningEffort::XHigh),
                output_tokens_max: limit,
                goes_on_without: false,
                drop_unbound: false,
            };
            if let Some(thinking) = asked.fields().thinking {
                let tokens = thinking["budget_tokens"].as_u64().unwrap();
                assert!((1_024..u64::from(limit)).contains(&tokens), "{tokens} of {limit}");
            }
            assert_eq!(Asked { goes_on_without: true, ..asked }.fields(), Thinking::default());
        }
    }

    #[test]
    fn only_models_that_bind_thinking_are_told_to_drop_it() {
        let told = |model| {
            let asked = Asked {
                model,
                form: ThinkingForm::ByModel,
                effort: Some(ReasoningEffort::High),
                output_tokens_max: 8_192,
                goes_on_without: false,
                drop_unbound: true,
            };
            asked.fields().thinking.is_some_and(|thinking| thinking.get("block_binding").is_some())
        };
        assert!(told("claude-opus-5-5") && told("claude-fable-5-1"));
        assert!(!told("claude-opus-5") && !told("claude-fable-5") && !told("claude-opus-4-5"));
    }
}
