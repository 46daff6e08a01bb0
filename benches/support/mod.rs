//! What the benches share: sizes from the environment, a table, medians, CPU time.

#![allow(dead_code, reason = "each bench uses its own part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a bench may panic")]

pub mod sessions;

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// A size that the environment may set, so that a bench can be tried small.
pub fn size(variable: &str, usual: usize) -> usize {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("`{variable}` is no number: `{text}`")),
        Err(_) => usual,
    }
}

/// Prints rows in columns: the first to the left, the others to the right.
pub fn table(rows: &[Vec<String>]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}

/// A row of the table.
pub fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

/// The middle one of the times.
pub fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// CPU time of this process until now, all threads, user and system.
pub fn cpu() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("the system counts CPU time");
    time(usage.user_time()) + time(usage.system_time())
}

pub fn time(value: TimeVal) -> Duration {
    let micros = value.tv_sec() * 1_000_000 + value.tv_usec();
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

pub fn micros(time: Duration, of: usize) -> f64 {
    time.as_secs_f64() * 1e6 / of.max(1) as f64
}

pub fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
