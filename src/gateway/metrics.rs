//! Counters for `/metrics`, in the text format of Prometheus: of this process, from its start.

use herm_replay::reducer::SessionState;
use herm_schema::{Event, Recorded};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

type Labels = Vec<(&'static str, String)>;

/// What is counted.
pub struct Metrics {
    registry: Registry,
    messages: Family<Labels, Counter>,
    turns: Family<Labels, Counter>,
    turn_seconds: Histogram,
    model_calls: Family<Labels, Counter>,
    model_seconds: Histogram,
    tokens: Family<Labels, Counter>,
    tool_calls: Family<Labels, Counter>,
    deliveries: Family<Labels, Counter>,
    refused: Family<Labels, Counter>,
    platforms: Family<Labels, Gauge>,
    sessions: Gauge,
    memory: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("herm");
        let seconds = || Histogram::new(exponential_buckets(0.01, 2.5, 12));
        let metrics = Self {
            registry: Registry::default(),
            messages: Family::default(),
            turns: Family::default(),
            turn_seconds: seconds(),
            model_calls: Family::default(),
            model_seconds: seconds(),
            tokens: Family::default(),
            tool_calls: Family::default(),
            deliveries: Family::default(),
            refused: Family::default(),
            platforms: Family::default(),
            sessions: Gauge::default(),
            memory: Gauge::default(),
        };
        registry.register("messages", "Messages recorded", metrics.messages.clone());
        registry.register("turns", "Turns that ended, by how", metrics.turns.clone());
        registry.register("turn_seconds", "Duration of turns", metrics.turn_seconds.clone());
        registry.register("model_calls", "Model calls, by outcome", metrics.model_calls.clone());
        registry.register("model_call_seconds", "Duration of model calls", metrics.model_seconds.clone());
        registry.register("tokens", "Tokens, by direction", metrics.tokens.clone());
        registry.register("tool_calls", "Tool calls, by outcome", metrics.tool_calls.clone());
        registry.register(
            "deliveries",
            "Chunks of deliveries, by what became of them",
            metrics.deliveries.clone(),
        );
        registry.register("refused", "What came in and was not let through", metrics.refused.clone());
        registry.register("platform_up", "Whether a platform is connected", metrics.platforms.clone());
        registry.register(
            "sessions_in_memory",
            "Sessions whose actor is in memory",
            metrics.sessions.clone(),
        );
        registry.register("memory_bytes", "Resident memory of the process", metrics.memory.clone());
        Self { registry, ..metrics }
    }
}

impl Metrics {
    /// An event was recorded.
    pub fn event(&self, profile: &str, recorded: &Recorded, state: &SessionState) {
        let platform =
            || state.opened.as_ref().map_or_else(String::new, |opened| opened.chat.platform.clone());
        let of = |name, value: String| vec![("profile", profile.to_owned()), (name, value)];
        match &recorded.event {
            Event::MessageReceived(_) | Event::SteerReceived(_) | Event::RedirectReceived(_) => {
                self.messages.get_or_create(&of("platform", platform())).inc();
            }
            Event::TurnEnded(ended) => {
                self.turns.get_or_create(&of("exit", format!("{:?}", ended.reason))).inc();
                self.turn_seconds.observe(seconds(ended.totals.elapsed_us));
            }
            Event::ModelCallSucceeded(answer) => {
                self.model_calls.get_or_create(&of("outcome", "succeeded".to_owned())).inc();
                self.model_seconds.observe(seconds(answer.timings.total_us));
                let usage = answer.usage.unwrap_or_default();
                self.tokens.get_or_create(&of("direction", "input".to_owned())).inc_by(usage.input);
                self.tokens.get_or_create(&of("direction", "output".to_owned())).inc_by(usage.output);
            }
            Event::ModelCallFailed(failed) => {
                let class = format!("{:?}", failed.failure.class);
                self.model_calls.get_or_create(&of("outcome", class)).inc();
            }
            Event::ToolCallFinished(done) => {
                self.tool_calls.get_or_create(&of("outcome", format!("{:?}", done.status))).inc();
            }
            Event::DeliveryConfirmed(_) => self.delivery(&platform(), "confirmed"),
            Event::DeliveryFailed(failed) if failed.retry_at.is_some() => {
                self.delivery(&platform(), "retrying")
            }
            Event::DeliveryFailed(_) => self.delivery(&platform(), "failed"),
            _ => {}
        }
    }

    fn delivery(&self, platform: &str, outcome: &str) {
        let labels = vec![("platform", platform.to_owned()), ("outcome", outcome.to_owned())];
        self.deliveries.get_or_create(&labels).inc();
    }

    /// Something that came in was not let through.
    pub fn refused(&self, platform: &str, why: &str) {
        let labels = vec![("platform", platform.to_owned()), ("why", why.to_owned())];
        self.refused.get_or_create(&labels).inc();
    }

    pub fn platform(&self, name: &str, up: bool) {
        self.platforms.get_or_create(&vec![("platform", name.to_owned())]).set(i64::from(up));
    }

    pub fn sizes(&self, sessions: usize, memory_bytes: u64) {
        self.sessions.set(i64::try_from(sessions).unwrap_or(i64::MAX));
        self.memory.set(i64::try_from(memory_bytes).unwrap_or(i64::MAX));
    }

    /// As `GET /metrics` answers.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}
