//! The policy snapshot that a session records: the configuration as far as the reducer needs it.

use herm_replay::reducer::decide::REDUCER_VERSION;
use herm_schema::events::{ApprovalMode, Limits, ModelChoice, Policy, Scene};

use super::Config;
use crate::approval::Mode;

/// Faults of herm's own in one turn: one may be chance, three are not.
const FAULTS_MAX: u32 = 3;
/// Restarts in a row that may resume one turn; more would be a loop that kills herm each time.
const RESUMES_MAX: u32 = 3;
/// First wait before another attempt at a model call, in microseconds.
const RETRY_BASE_US: u64 = 2_000_000;
/// Longest such wait, in microseconds.
const RETRY_MAX_US: u64 = 60_000_000;

impl Config {
    /// What the turns that follow run under.
    pub fn policy(&self, model: ModelChoice) -> Policy {
        Policy {
            model,
            fallbacks: Vec::new(),
            spending: self.spending,
            titles: self.titles,
            limits: self.limits(),
            compression: self.compression.clone(),
            guardrails: self.guardrails.clone(),
            debounce_us: 0,
            chosen: Vec::new(),
            busy: self.busy,
            approvals: match self.approvals.mode {
                Mode::Off => ApprovalMode::Off,
                Mode::Smart => ApprovalMode::Smart,
                Mode::Manual => ApprovalMode::Manual,
            },
            scene: Scene::Terminal,
            delivery: self.delivery,
            reducer_version: REDUCER_VERSION,
        }
    }

    fn limits(&self) -> Limits {
        Limits {
            iterations_max: self.iterations_max,
            iteration_budget: self.iterations_max,
            run_budget_us: self
                .run_budget
                .map(|budget| u64::try_from(budget.as_micros()).unwrap_or(u64::MAX)),
            model_attempts_max: self.model_attempts_max,
            faults_max: FAULTS_MAX,
            resumes_max: RESUMES_MAX,
            retry_base_us: RETRY_BASE_US,
            retry_max_us: RETRY_MAX_US,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use herm_schema::events::{ApprovalMode, BusyPolicy, DeliveryPolicy};

    use super::super::{Environment, Home, RawConfig, Settings};
    use super::*;

    fn config(text: &str) -> Config {
        let raw = RawConfig::parse(text, Path::new("config.yaml")).unwrap();
        Config::of(&Settings::decide(&Home::at("/h"), &raw, &Environment::default(), &[]).unwrap())
    }

    fn model() -> ModelChoice {
        ModelChoice {
            context_window_tokens: 128_000,
            output_tokens_max: 4_096,
            ..ModelChoice::new("offline", "offline", "offline")
        }
    }

    #[test]
    fn defaults_are_the_references() {
        let policy = config("").policy(model());
        let limits = &policy.limits;
        assert_eq!((limits.iterations_max, limits.iteration_budget), (90, 90));
        assert_eq!((limits.model_attempts_max, limits.run_budget_us), (3, None));
        let compression = &policy.compression;
        assert!(compression.enabled);
        assert_eq!((compression.threshold_percent, compression.messages_max), (50, 5_000));
        assert_eq!((compression.protect_first, compression.protect_last), (3, 20));
        assert_eq!((compression.prune_above_tokens, compression.prune_reclaim_min_tokens), (0, 4_096));
        let guard = &policy.guardrails;
        assert_eq!((guard.warnings, guard.hard_stop), (true, false));
        assert_eq!((guard.exact_failure_warn, guard.exact_failure_stop), (2, 5));
        assert_eq!((guard.same_tool_failure_warn, guard.same_tool_failure_stop), (3, 8));
        assert_eq!((guard.no_progress_warn, guard.no_progress_stop), (2, 5));
        assert_eq!(policy.busy, BusyPolicy::Interrupt);
        assert_eq!(policy.approvals, ApprovalMode::Manual);
        assert_eq!(policy.delivery, DeliveryPolicy::AtLeastOnce);
    }

    #[test]
    fn what_the_file_says_reaches_the_policy() {
        let text = "\
agent: {max_turns: 7, run_budget_seconds: 90, api_max_retries: 1}
compression: {enabled: false, threshold: 0.85}
display: {busy_input_mode: queue}
approvals: {mode: off}
delivery: {policy: at_most_once}
";
        let policy = config(text).policy(model());
        assert_eq!((policy.limits.iterations_max, policy.limits.model_attempts_max), (7, 1));
        assert_eq!(policy.limits.run_budget_us, Some(90_000_000));
        assert_eq!((policy.compression.enabled, policy.compression.threshold_percent), (false, 85));
        assert_eq!(policy.busy, BusyPolicy::Queue);
        assert_eq!(policy.approvals, ApprovalMode::Off);
        assert_eq!(policy.delivery, DeliveryPolicy::AtMostOnce);
    }

    #[test]
    fn the_other_defaults_have_their_types() {
        let config = config("");
        assert_eq!(config.terminal.timeout.as_secs(), 180);
        assert_eq!(config.approvals.timeout.as_secs(), 60);
        assert_eq!(config.tool_output.bytes_max, 50_000);
        assert_eq!((config.tool_output.lines_max, config.tool_output.line_bytes_max), (2_000, 2_000));
        assert!(config.security.redact_secrets && !config.security.allow_unsafe_file_system);
        assert!(config.display.streaming && config.display.show_reasoning && config.model.stream);
        assert_eq!(config.soul_file(&Home::at("/h")), Path::new("/h/SOUL.md"));
        assert_eq!(config.working_directory(Path::new("/work")), Path::new("/work"));
        let model = &config.model;
        assert_eq!((&model.model, &model.provider, &model.base_url), (&None, &None, &None));
    }
}
