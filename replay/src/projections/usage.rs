//! Usage: tokens, model calls, tool calls and waiting, by day, model, platform and profile.

use herm_schema::events::{AuxiliaryOutcome, Prices, Timings, ToolStatus, Usage as Tokens};
use herm_schema::{Event, Micros, Recorded, SessionId, StreamId, StreamPos};
use serde::{Deserialize, Serialize};

use super::Error;
use super::keyed::{Fold, Rows};
use crate::log::Log;
use crate::reducer::cost;

const DAY_US: i64 = 86_400_000_000;
/// Origin of what belongs to the conversation itself.
pub const TURN: &str = "turn";

/// What is counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UsageKey {
    /// Days since 1970-01-01, UTC.
    pub day: i64,
    pub provider: String,
    pub model: String,
    pub platform: String,
    pub profile: String,
    /// What the calls were for: `turn`, `title` and the like.
    pub origin: String,
}

/// A key, over all time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialUsage {
    pub calls: u64,
    pub failures: u64,
    pub last_used_at: Micros,
}

/// The counts. Times are sums in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub messages: u64,
    pub turns: u64,
    pub model_calls: u64,
    pub model_failures: u64,
    pub model_aborts: u64,
    pub input_tokens: u64,
    pub cached_tokens: u64,
    pub cache_write_tokens: u64,
    pub output_tokens: u64,
    pub reasoning_tokens: u64,
    /// Model calls of which no usage was reported.
    pub unreported: u64,
    pub first_content_us: u64,
    pub model_us: u64,
    pub tool_calls: u64,
    pub tool_failures: u64,
    pub tool_us: u64,
    pub turn_us: u64,
    /// What the calls with a known price cost, in micro-dollars.
    pub cost: u64,
    /// Answered calls whose price is not known.
    pub unpriced: u64,
}

/// A tool on one day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUsage {
    pub calls: u64,
    pub failures: u64,
    pub elapsed_us: u64,
}

/// What a session's events are counted under.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Source {
    platform: String,
    profile: String,
    provider: String,
    model: String,
    /// The tool calls that run, by call.
    tools: Vec<(StreamPos, u16, String)>,
    /// The model calls that run, by intent; the zero position is the turn's own.
    calls: Vec<Call>,
    /// What each model of the policy costs.
    prices: Vec<Option<Prices>>,
}

/// A model call that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Call {
    at: StreamPos,
    origin: String,
    provider: String,
    model: String,
    credential: Option<String>,
    prices: Option<Prices>,
}

/// Folds usage. `u` + day + names holds counts, `t` + day + tool those of a tool, `k` + provider + key
/// those of a key, `c` + stream what a session's events are counted under.
pub struct Usages;

impl Fold for Usages {
    const NAME: &'static str = "usage";
    const SCHEMA: u32 = 2;

    fn apply(&self, recorded: &Recorded, rows: &mut Rows<'_>, _: &dyn Log) -> Result<(), Error> {
        let stream = recorded.envelope.stream;
        if SessionId::of_stream(stream).is_none() {
            return Ok(());
        }
        let key = source_key(stream);
        let mut source: Source = rows.get(&key)?.unwrap_or_default();
        let before = source.clone();
        let call = source.ended(&recorded.event);
        source.learn(recorded);
        let day = day_of(recorded.envelope.recorded_at);
        count_credential(recorded, call.as_ref(), rows)?;
        if let Event::ToolCallFinished(finished) = &recorded.event {
            let at = (finished.call.message, finished.call.index);
            if let Some(found) = source.tools.iter().position(|(message, index, _)| (*message, *index) == at)
            {
                let (_, _, name) = source.tools.swap_remove(found);
                rows.update(tool_key(day, &name), |tool: &mut ToolUsage| {
                    tool.calls += 1;
                    tool.failures += u64::from(finished.status == ToolStatus::Failed);
                    tool.elapsed_us = tool.elapsed_us.saturating_add(finished.elapsed_us);
                })?;
            }
        }
        if source != before {
            rows.put(key, &source)?;
        }
        let mut counted = Usage::default();
        count(&mut counted, &recorded.event, call.as_ref());
        if counted == Usage::default() {
            return Ok(());
        }
        let name = name_of(day, &source, call.as_ref());
        rows.update(usage_key(&name), |(known, usage): &mut (Option<UsageKey>, Usage)| {
            known.get_or_insert_with(|| name.clone());
            usage.add(&counted);
        })
    }
}

/// Keys are counted over all time: strategies go by it.
fn count_credential(recorded: &Recorded, call: Option<&Call>, rows: &mut Rows<'_>) -> Result<(), Error> {
    let (provider, credential, begins) = match (&recorded.event, call) {
        (Event::ModelCallStarted(e), _) => (&e.provider, &e.credential, true),
        (Event::AuxiliaryCallStarted(e), _) => (&e.provider, &e.credential, true),
        (Event::ModelCallFailed(_) | Event::AuxiliaryCallFinished(_), Some(call))
            if failed(&recorded.event) =>
        {
            (&call.provider, &call.credential, false)
        }
        _ => return Ok(()),
    };
    let Some(credential) = credential else {
        return Ok(());
    };
    rows.update(credential_key(provider, credential), |usage: &mut CredentialUsage| {
        usage.calls = usage.calls.saturating_add(u64::from(begins));
        usage.failures = usage.failures.saturating_add(u64::from(!begins));
        usage.last_used_at = recorded.envelope.recorded_at;
    })
}

fn failed(event: &Event) -> bool {
    match event {
        Event::ModelCallFailed(_) => true,
        Event::AuxiliaryCallFinished(e) => matches!(e.outcome, AuxiliaryOutcome::Failed { .. }),
        _ => false,
    }
}

impl Source {
    /// The call that `event` is the outcome of.
    fn ended(&mut self, event: &Event) -> Option<Call> {
        let at = match event {
            Event::ModelCallSucceeded(_) | Event::ModelCallFailed(_) | Event::ModelCallAborted(_) => {
                StreamPos(0)
            }
            Event::AuxiliaryCallFinished(e) => e.started,
            _ => return None,
        };
        let found = self.calls.iter().position(|call| call.at == at)?;
        Some(self.calls.swap_remove(found))
    }

    fn began(&mut self, call: Call) {
        self.calls.retain(|known| known.at != call.at);
        self.calls.push(call);
    }

    fn learn(&mut self, recorded: &Recorded) {
        match &recorded.event {
            Event::SessionOpened(opened) => {
                self.platform.clone_from(&opened.chat.platform);
                self.profile.clone_from(&opened.profile);
            }
            Event::SessionConfigured(configured) => {
                let policy = &configured.policy;
                self.provider.clone_from(&policy.model.provider);
                self.model.clone_from(&policy.model.model);
                let models = std::iter::once(&policy.model).chain(&policy.fallbacks);
                self.prices = models.map(|model| model.prices.clone()).collect();
            }
            Event::ModelCallStarted(e) => {
                let prices = usize::try_from(e.route).ok().and_then(|route| self.prices.get(route).cloned());
                self.began(Call {
                    at: StreamPos(0),
                    origin: TURN.to_owned(),
                    provider: e.provider.clone(),
                    model: e.model.clone(),
                    credential: e.credential.clone(),
                    prices: prices.flatten(),
                });
            }
            Event::AuxiliaryCallStarted(e) => self.began(Call {
                at: recorded.envelope.stream_pos,
                origin: e.task.word().to_owned(),
                provider: e.provider.clone(),
                model: e.model.clone(),
                credential: e.credential.clone(),
                prices: e.prices.clone(),
            }),
            Event::ToolCallStarted(started) => {
                let call = started.call;
                self.tools.retain(|(message, index, _)| (*message, *index) != (call.message, call.index));
                self.tools.push((call.message, call.index, started.name.clone()));
            }
            Event::TurnEnded(_) => self.tools.clear(),
            _ => {}
        }
    }
}

fn count(usage: &mut Usage, event: &Event, call: Option<&Call>) {
    match event {
        Event::MessageReceived(_) | Event::SteerReceived(_) | Event::RedirectReceived(_) => {
            usage.messages = 1
        }
        Event::ModelCallSucceeded(answer) => count_answer(usage, answer.usage, answer.timings, call),
        Event::ModelCallFailed(_) => (usage.model_calls, usage.model_failures) = (1, 1),
        Event::ModelCallAborted(_) => (usage.model_calls, usage.model_aborts) = (1, 1),
        Event::AuxiliaryCallFinished(finished) => match &finished.outcome {
            AuxiliaryOutcome::Answered { usage: tokens, timings, .. } => {
                count_answer(usage, *tokens, *timings, call);
            }
            AuxiliaryOutcome::Failed { .. } => (usage.model_calls, usage.model_failures) = (1, 1),
            AuxiliaryOutcome::Cancelled => (usage.model_calls, usage.model_aborts) = (1, 1),
        },
        Event::ToolCallStarted(_) => usage.tool_calls = 1,
        Event::ToolCallFinished(finished) => {
            usage.tool_failures = u64::from(finished.status == ToolStatus::Failed);
            usage.tool_us = finished.elapsed_us;
        }
        Event::TurnEnded(ended) => {
            usage.turns = 1;
            usage.turn_us = ended.totals.elapsed_us;
        }
        _ => {}
    }
}

fn count_answer(usage: &mut Usage, tokens: Option<Tokens>, timings: Timings, call: Option<&Call>) {
    usage.model_calls = 1;
    usage.first_content_us = timings.first_content_us;
    usage.model_us = timings.total_us;
    let prices = call.and_then(|call| call.prices.as_ref());
    match tokens.zip(prices) {
        Some((tokens, prices)) => usage.cost = cost::of(&tokens, prices),
        None => usage.unpriced = 1,
    }
    let Some(tokens) = tokens else {
        usage.unreported = 1;
        return;
    };
    usage.input_tokens = tokens.input;
    usage.cached_tokens = tokens.cached_read;
    usage.cache_write_tokens = tokens.cached_write;
    usage.output_tokens = tokens.output;
    usage.reasoning_tokens = tokens.reasoning;
}

impl Usage {
    /// Adds what `more` counts.
    pub fn add(&mut self, more: &Self) {
        let sums = [
            (&mut self.messages, more.messages),
            (&mut self.turns, more.turns),
            (&mut self.model_calls, more.model_calls),
            (&mut self.model_failures, more.model_failures),
            (&mut self.model_aborts, more.model_aborts),
            (&mut self.input_tokens, more.input_tokens),
            (&mut self.cached_tokens, more.cached_tokens),
            (&mut self.cache_write_tokens, more.cache_write_tokens),
            (&mut self.output_tokens, more.output_tokens),
            (&mut self.reasoning_tokens, more.reasoning_tokens),
            (&mut self.unreported, more.unreported),
            (&mut self.first_content_us, more.first_content_us),
            (&mut self.model_us, more.model_us),
            (&mut self.tool_calls, more.tool_calls),
            (&mut self.tool_failures, more.tool_failures),
            (&mut self.tool_us, more.tool_us),
            (&mut self.turn_us, more.turn_us),
            (&mut self.cost, more.cost),
            (&mut self.unpriced, more.unpriced),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
    }
}

fn day_of(at: Micros) -> i64 {
    at.0.div_euclid(DAY_US)
}

/// Days sort by their bytes, also those before 1970.
fn day_bytes(day: i64) -> [u8; 8] {
    ((day as u64) ^ (1 << 63)).to_be_bytes()
}

/// What is no model call is counted under the session's own model.
fn name_of(day: i64, source: &Source, call: Option<&Call>) -> UsageKey {
    let (provider, model) =
        call.map_or((&source.provider, &source.model), |call| (&call.provider, &call.model));
    UsageKey {
        day,
        provider: provider.clone(),
        model: model.clone(),
        platform: source.platform.clone(),
        profile: source.profile.clone(),
        origin: call.map_or_else(|| TURN.to_owned(), |call| call.origin.clone()),
    }
}

fn usage_key(name: &UsageKey) -> Vec<u8> {
    let mut key = [b"u".as_slice(), &day_bytes(name.day)].concat();
    for part in [&name.provider, &name.model, &name.platform, &name.profile, &name.origin] {
        key.extend_from_slice(&(part.len() as u32).to_be_bytes());
        key.extend_from_slice(part.as_bytes());
    }
    key
}

fn credential_key(provider: &str, credential: &str) -> Vec<u8> {
    [b"k".as_slice(), provider.as_bytes(), b"\0", credential.as_bytes()].concat()
}

fn tool_key(day: i64, name: &str) -> Vec<u8> {
    [b"t".as_slice(), &day_bytes(day), name.as_bytes()].concat()
}

fn source_key(stream: StreamId) -> Vec<u8> {
    [b"c".as_slice(), stream.bytes()].concat()
}

/// Counts from `since` on (the whole day it is in), by what they are counted under.
///
/// # Errors
/// Those of the store.
pub fn since(rows: &Rows<'_>, since: Micros) -> Result<Vec<(UsageKey, Usage)>, Error> {
    let found: Vec<(_, (Option<UsageKey>, Usage))> = rows.rows(b"u")?;
    let named = found.into_iter().filter_map(|(_, (key, usage))| Some((key?, usage)));
    Ok(named.filter(|(key, _)| key.day >= day_of(since)).collect())
}

/// Every key that was ever used: provider, fingerprint, counts.
///
/// # Errors
/// Those of the store.
pub fn credentials(rows: &Rows<'_>) -> Result<Vec<(String, String, CredentialUsage)>, Error> {
    let found: Vec<(_, CredentialUsage)> = rows.rows(b"k")?;
    let named = found.into_iter().filter_map(|(key, usage)| {
        let mut parts = key.get(1..)?.splitn(2, |byte| *byte == 0);
        let mut part = || parts.next().map(|part| String::from_utf8_lossy(part).into_owned());
        Some((part()?, part()?, usage))
    });
    Ok(named.collect())
}

/// Tools from `since` on (the whole day it is in), by day and name.
///
/// # Errors
/// Those of the store.
pub fn tools_since(rows: &Rows<'_>, since: Micros) -> Result<Vec<(i64, String, ToolUsage)>, Error> {
    let found: Vec<(_, ToolUsage)> = rows.rows(b"t")?;
    let named = found.into_iter().filter_map(|(key, usage)| {
        let (day, name) = key.get(1..)?.split_first_chunk::<8>()?;
        let day = (u64::from_be_bytes(*day) ^ (1 << 63)) as i64;
        Some((day, String::from_utf8_lossy(name).into_owned(), usage))
    });
    Ok(named.filter(|(day, ..)| *day >= day_of(since)).collect())
}
