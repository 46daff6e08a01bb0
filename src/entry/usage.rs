//! `herm usage`: what was asked of models, what it cost, and what for.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use herm_replay::projections::usage::{ToolUsage, Usage, UsageKey};
use herm_replay::reducer::notices::dollars;
use herm_schema::Micros;
use serde::Serialize;

use super::{Exit, Failure, Out, Start, store};
use crate::runtime::{Clock, SystemClock};

const DAY_US: i64 = 86_400_000_000;
/// Cells of the widest bar.
const BAR_COLUMNS: u64 = 24;

/// What was asked of models, what it cost, and what for.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  herm usage
  herm usage --days 7 --by model
  herm usage --by origin --json

Costs are reckoned from the prices that were recorded with each call; calls without one are counted as
`unpriced`, never as free.")]
pub struct UsageCommand {
    /// So many days back, today (UTC) included.
    #[arg(long, default_value_t = 30, value_name = "COUNT")]
    days: u32,

    /// What is counted together.
    #[arg(long, value_enum, default_value = "day")]
    by: By,

    /// One JSON object a line: every count, not summed up.
    #[arg(long)]
    json: bool,
}

/// What is counted together.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    Day,
    Model,
    Provider,
    Platform,
    /// What the calls were for: the conversation, titles, and so on.
    Origin,
    Tool,
}

pub fn run(arguments: &UsageCommand, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    let views = store::views(store::log(&start.home)?, &start.home);
    let back = i64::from(arguments.days.saturating_sub(1)).saturating_mul(DAY_US);
    let since = Micros(SystemClock.now().0.saturating_sub(back));
    match arguments.by {
        By::Tool => tools(&views.tools_since(since)?, arguments.json, out)?,
        _ if arguments.json => {
            for (key, usage) in views.usage_since(since)? {
                out.json(&Counted { day: day(key.day), key: &key, usage: &usage })?;
            }
        }
        by => table(&views.usage_since(since)?, by, out)?,
    }
    out.end()?;
    Ok(Exit::Ok)
}

#[derive(Serialize)]
struct Counted<'a> {
    /// `YYYY-MM-DD`, UTC.
    day: String,
    #[serde(flatten)]
    key: &'a UsageKey,
    #[serde(flatten)]
    usage: &'a Usage,
}

fn name(key: &UsageKey, by: By) -> String {
    match by {
        By::Day | By::Tool => day(key.day),
        By::Model => format!("{} {}", key.provider, key.model),
        By::Provider => key.provider.clone(),
        By::Platform => key.platform.clone(),
        By::Origin => key.origin.clone(),
    }
}

fn day(days: i64) -> String {
    let at = jiff::Timestamp::from_microsecond(days.saturating_mul(DAY_US));
    at.map_or_else(|_| format!("day {days}"), |at| at.strftime("%Y-%m-%d").to_string())
}

fn table(rows: &[(UsageKey, Usage)], by: By, out: &mut Out) -> Result<(), Failure> {
    let mut sums: BTreeMap<String, Usage> = BTreeMap::new();
    for (key, usage) in rows {
        sums.entry(name(key, by)).or_default().add(usage);
    }
    let mut total = Usage::default();
    sums.values().for_each(|usage| total.add(usage));
    if total.model_calls == 0 {
        out.line("no model was called in this time")?;
        return Ok(());
    }
    let width = sums.keys().map(|name| name.chars().count()).max().unwrap_or(0).max(5);
    let most = sums.values().map(weight).max().unwrap_or(0);
    out.line(&format!(
        "{:width$}  {:>6}  {:>5}  {:>10}  {:>6}  {:>10}  {:>12}",
        "", "calls", "fail", "input", "cached", "output", "cost"
    ))?;
    for (name, usage) in &sums {
        out.line(&format!("{}  {}", line(name, usage, width), bar(weight(usage), most)))?;
    }
    out.line(&line("total", &total, width))?;
    Ok(())
}

/// What a bar shows: money where it is known, else tokens.
fn weight(usage: &Usage) -> u64 {
    match usage.cost {
        0 => usage.input_tokens.saturating_add(usage.output_tokens),
        cost => cost,
    }
}

fn bar(of: u64, most: u64) -> String {
    let cells = of.saturating_mul(BAR_COLUMNS).div_ceil(most.max(1)).min(BAR_COLUMNS);
    "▇".repeat(usize::try_from(cells).unwrap_or_default())
}

fn line(name: &str, usage: &Usage, width: usize) -> String {
    let cached = usage.cached_tokens.saturating_mul(100).checked_div(usage.input_tokens).unwrap_or(0);
    let answered = usage.model_calls.saturating_sub(usage.model_failures).saturating_sub(usage.model_aborts);
    let cost = match usage.unpriced {
        0 => dollars(usage.cost),
        unpriced if unpriced == answered => "unknown".to_owned(),
        _ => format!("{} + ?", dollars(usage.cost)),
    };
    format!(
        "{name:width$}  {:>6}  {:>5}  {:>10}  {:>4} %  {:>10}  {cost:>12}",
        usage.model_calls, usage.model_failures, usage.input_tokens, cached, usage.output_tokens
    )
}

#[derive(Serialize)]
struct CountedTool<'a> {
    day: String,
    tool: &'a str,
    #[serde(flatten)]
    usage: &'a ToolUsage,
}

fn tools(rows: &[(i64, String, ToolUsage)], json: bool, out: &mut Out) -> Result<(), Failure> {
    if json {
        for (at, tool, usage) in rows {
            out.json(&CountedTool { day: day(*at), tool, usage })?;
        }
        return Ok(());
    }
    let mut sums: BTreeMap<&str, ToolUsage> = BTreeMap::new();
    for (_, tool, usage) in rows {
        let sum = sums.entry(tool).or_default();
        sum.calls = sum.calls.saturating_add(usage.calls);
        sum.failures = sum.failures.saturating_add(usage.failures);
        sum.elapsed_us = sum.elapsed_us.saturating_add(usage.elapsed_us);
    }
    if sums.is_empty() {
        out.line("no tool was called in this time")?;
        return Ok(());
    }
    let most = sums.values().map(|usage| usage.calls).max().unwrap_or(0);
    out.line(&format!("{:20}  {:>6}  {:>5}  {:>9}", "", "calls", "fail", "time"))?;
    for (tool, usage) in &sums {
        let seconds = usage.elapsed_us as f64 / 1e6;
        let (calls, failures) = (usage.calls, usage.failures);
        out.line(&format!("{tool:20}  {calls:>6}  {failures:>5}  {seconds:>7.1} s  {}", bar(calls, most)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(model: &str, origin: &str, usage: Usage) -> (UsageKey, Usage) {
        let key = UsageKey {
            day: 20_787,
            provider: "p".into(),
            model: model.into(),
            platform: "cli".into(),
            profile: "default".into(),
            origin: origin.into(),
        };
        (key, usage)
    }

    #[test]
    fn a_row_tells_calls_tokens_cache_share_and_cost() {
        let usage = Usage {
            model_calls: 4,
            model_failures: 1,
            input_tokens: 2_000,
            cached_tokens: 1_500,
            output_tokens: 80,
            cost: 1_234_567,
            ..Usage::default()
        };
        let words: Vec<_> = line("p m", &usage, 5).split_whitespace().map(str::to_owned).collect();
        assert_eq!(words, ["p", "m", "4", "1", "2000", "75", "%", "80", "$1.23"]);
    }

    #[test]
    fn an_unknown_price_is_said_and_never_shown_as_nothing() {
        let some = Usage { model_calls: 2, unpriced: 1, cost: 20, ..Usage::default() };
        assert!(line("x", &some, 5).ends_with("$0.000020 + ?"), "{}", line("x", &some, 5));
        let none = Usage { model_calls: 2, unpriced: 2, ..Usage::default() };
        assert!(line("x", &none, 5).ends_with("unknown"));
    }

    #[test]
    fn days_and_origins_are_counted_together() {
        let one = Usage { model_calls: 1, ..Usage::default() };
        let rows = [row("a", "turn", one.clone()), row("b", "title", one.clone()), row("b", "turn", one)];
        for (by, expected) in [(By::Day, 1), (By::Model, 2), (By::Origin, 2), (By::Platform, 1)] {
            let names: std::collections::BTreeSet<_> = rows.iter().map(|(key, _)| name(key, by)).collect();
            assert_eq!(names.len(), expected, "{by:?}");
        }
        assert_eq!(day(20_787), "2026-11-30");
        assert_eq!((bar(5, 10).chars().count(), bar(0, 0).chars().count()), (12, 0));
    }
}
