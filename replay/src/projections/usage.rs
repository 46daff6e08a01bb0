//! Usage: tokens, model calls, tool calls and waiting, by day, model, platform and profile.

use herm_schema::events::ToolStatus;
use herm_schema::{Event, Micros, Recorded, SessionId, StreamId, StreamPos};
use serde::{Deserialize, Serialize};

use super::Error;
use super::keyed::{Fold, Rows};
use crate::log::Log;

const DAY_US: i64 = 86_400_000_000;

/// What is counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UsageKey {
    /// Days since 1970-01-01, UTC.
    pub day: i64,
    pub provider: String,
    pub model: String,
    pub platform: String,
    pub profile: String,
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
}

/// Folds usage. `u` + day + names holds counts, `t` + day + tool those of a tool, `c` + stream what
/// a session's events are counted under.
pub struct Usages;

impl Fold for Usages {
    const NAME: &'static str = "usage";
    const SCHEMA: u32 = 1;

    fn apply(&self, recorded: &Recorded, rows: &mut Rows<'_>, _: &dyn Log) -> Result<(), Error> {
        let stream = recorded.envelope.stream;
        if SessionId::of_stream(stream).is_none() {
            return Ok(());
        }
        let key = source_key(stream);
        let mut source: Source = rows.get(&key)?.unwrap_or_default();
        let before = source.clone();
        learn(&mut source, &recorded.event);
        let day = day_of(recorded.envelope.recorded_at);
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
        count(&mut counted, &recorded.event);
        if counted == Usage::default() {
            return Ok(());
        }
        let usage_key = usage_key(day, &source);
        rows.update(usage_key, |(name, usage): &mut (Option<UsageKey>, Usage)| {
            name.get_or_insert_with(|| name_of(day, &source));
            usage.add(&counted);
        })
    }
}

fn learn(source: &mut Source, event: &Event) {
    match event {
        Event::SessionOpened(opened) => {
            source.platform.clone_from(&opened.chat.platform);
            source.profile.clone_from(&opened.profile);
        }
        Event::SessionConfigured(configured) => {
            source.provider.clone_from(&configured.policy.model.provider);
            source.model.clone_from(&configured.policy.model.model);
        }
        Event::ModelCallStarted(started) => {
            source.provider.clone_from(&started.provider);
            source.model.clone_from(&started.model);
        }
        Event::ToolCallStarted(started) => {
            let call = started.call;
            source.tools.retain(|(message, index, _)| (*message, *index) != (call.message, call.index));
            source.tools.push((call.message, call.index, started.name.clone()));
        }
        Event::TurnEnded(_) => source.tools.clear(),
        _ => {}
    }
}

fn count(usage: &mut Usage, event: &Event) {
    match event {
        Event::MessageReceived(_) | Event::SteerReceived(_) | Event::RedirectReceived(_) => {
            usage.messages = 1
        }
        Event::ModelCallStarted(_) => usage.model_calls = 1,
        Event::ModelCallFailed(_) => usage.model_failures = 1,
        Event::ModelCallAborted(_) => usage.model_aborts = 1,
        Event::ModelCallSucceeded(answer) => {
            usage.first_content_us = answer.timings.first_content_us;
            usage.model_us = answer.timings.total_us;
            let Some(tokens) = answer.usage else {
                usage.unreported = 1;
                return;
            };
            usage.input_tokens = tokens.input;
            usage.cached_tokens = tokens.cached_read;
            usage.cache_write_tokens = tokens.cached_write;
            usage.output_tokens = tokens.output;
            usage.reasoning_tokens = tokens.reasoning;
        }
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

fn name_of(day: i64, source: &Source) -> UsageKey {
    UsageKey {
        day,
        provider: source.provider.clone(),
        model: source.model.clone(),
        platform: source.platform.clone(),
        profile: source.profile.clone(),
    }
}

fn usage_key(day: i64, source: &Source) -> Vec<u8> {
    let mut key = [b"u".as_slice(), &day_bytes(day)].concat();
    for part in [&source.provider, &source.model, &source.platform, &source.profile] {
        key.extend_from_slice(&(part.len() as u32).to_be_bytes());
        key.extend_from_slice(part.as_bytes());
    }
    key
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
