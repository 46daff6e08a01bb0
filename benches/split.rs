//! Claim: an answer is cut for a platform in less than two microseconds a byte, and the time grows with
//! its length and no faster.
//!
//! Unit: milliseconds of wall-clock time a megabyte, the median of the rounds. Compared in the same run
//! with pulldown-cmark alone reading the same text, and with rendering it once without a cut; cutting
//! measures every word in two markups, and renders and reads again every part before it is believed.
//!
//! `SPLIT_ROUNDS` and `SPLIT_KILOBYTES` try it small.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench may panic")]

mod support;

use std::hint::black_box;
use std::time::{Duration, Instant};

use herm::delivery::{formats, plan, render};
use pulldown_cmark::{Options, Parser};
use support::{median, row, size, table};

/// Longest time for a megabyte, in milliseconds.
const MEGABYTE_MS_MAX: f64 = 2_000.0;
/// How much more a megabyte may cost in the long text than in one of a tenth.
const GROWTH_MAX: f64 = 3.0;

const LINE: &str = "Some *text* with [a link](https://example.org), `code` and more words. ";

fn main() {
    let rounds = size("SPLIT_ROUNDS", 5);
    let kilobytes = size("SPLIT_KILOBYTES", 1 << 10);
    let kinds: [(&str, &str, String); 7] = [
        ("one paragraph", "", LINE.to_owned()),
        ("paragraphs", "", format!("{LINE}\n\n")),
        ("one word", "", "word".to_owned()),
        ("items", "", format!("- {LINE}\n")),
        ("quotes in items", "", format!("- > {LINE}\n")),
        ("code", "```python\n", "x = 1\n".to_owned()),
        ("table", "| x | y | z |\n|---|---|---|\n", "| a cell | **b** | c and more |\n".to_owned()),
    ];
    let mut rows =
        vec![row(["kind", "format", "parts", "parsed ms/MB", "rendered", "cut", "x parsed", "growth"])];
    for (name, head, body) in &kinds {
        for platform in ["telegram", "matrix"] {
            let format = formats::of(platform).unwrap();
            let text = |kilobytes: usize| format!("{head}{}", body.repeat((kilobytes << 10) / body.len()));
            let (short, long) = (text(kilobytes / 10), text(kilobytes));
            let per_megabyte =
                |time: Duration, text: &str| time.as_secs_f64() * 1e3 / text.len() as f64 * 1e6;
            let parsing = per_megabyte(timed(rounds, || read(&long)), &long);
            let rendering = per_megabyte(timed(rounds, || drop(black_box(render(&long, &format)))), &long);
            let cut = |text: &str| timed(rounds, || drop(black_box(plan::parts(text, &format))));
            let (small, cutting) = (per_megabyte(cut(&short), &short), per_megabyte(cut(&long), &long));
            let growth = cutting / small;
            rows.push(row([
                name,
                platform,
                &plan::parts(&long, &format).len().to_string(),
                &format!("{parsing:.1}"),
                &format!("{rendering:.1}"),
                &format!("{cutting:.1}"),
                &format!("{:.1}", cutting / parsing),
                &format!("{growth:.2}"),
            ]));
            assert!(cutting < MEGABYTE_MS_MAX, "{name}: a megabyte takes {cutting:.0} ms");
            assert!(growth < GROWTH_MAX, "{name}: a megabyte costs {growth:.1} times as much in a long text");
        }
    }
    table(&rows);
}

/// Every event of the parser, with its offsets.
fn read(text: &str) {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    black_box(Parser::new_ext(text, options).into_offset_iter().count());
}

fn timed(rounds: usize, mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let begin = Instant::now();
            run();
            begin.elapsed()
        })
        .collect();
    median(&mut times)
}
