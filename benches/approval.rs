//! Claim: judging an ordinary command line takes less than 100 µs, and the time grows with the length
//! of the line and no faster.
//!
//! Unit: microseconds of wall-clock time a line, the median of the rounds; for the long ones also
//! microseconds a kilobyte. Compared in the same run with the parser alone on the same line, with one
//! pass of a set of regular expressions (what a matcher of texts would do), and with starting one
//! thread, which a reading on a stack of its own would cost.
//!
//! `APPROVAL_ROUNDS` tries it small.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench may panic")]

mod support;

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use brush_parser::{ParserOptions, parse_tokens, uncached_tokenize_str};
use herm::approval::{Asked, NoScripts, Rules, Scene, judge};
use regex::RegexSet;
use support::{median, micros, row, size, table};

/// Longest time for an ordinary command line.
const ORDINARY_MAX: Duration = Duration::from_micros(100);
/// How much more a kilobyte may cost in the longest line than in the shortest.
const GROWTH_MAX: f64 = 3.0;

const ORDINARY: &[&str] = &[
    "ls -la src",
    "git commit -m \"fix: something\" && git push origin main",
    "find . -name '*.rs' -print0 | xargs -0 grep -n \"$PATTERN\" | head -20",
    "cd \"$dir\" && make -j4 2>&1 | tee build.log",
    "rm -rf build && cmake -S . -B build -DCMAKE_BUILD_TYPE=Release",
    "for f in *.txt; do mv \"$f\" \"${f%.txt}.md\"; done",
    "docker run --rm -v \"$PWD\":/app -w /app node:20 sh -c 'npm ci && npm test'",
    "echo \"$(date) $(git rev-parse --short HEAD)\" >> build.txt",
    "cat > notes.md <<'EOF'\n# Notes\nrm -rf / is only spoken of.\nEOF",
];

/// What a matcher of texts would look for.
const PATTERNS: &[&str] = &[
    r"rm\s+(-[^\s]*\s+)*/(\s|$)",
    r"mkfs(\.[a-z0-9]+)?\b",
    r"dd\b[^\n]*\bof=/dev/(sd|nvme|hd|mmcblk|vd|xvd)[a-z0-9]*",
    r">\s*/dev/(sd|nvme|hd|mmcblk|vd|xvd)[a-z0-9]*\b",
    r":\(\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;\s*:",
    r"kill\s+(-[^\s]+\s+)*-1\b",
    r"(shutdown|reboot|halt|poweroff)\b",
    r"systemctl\s+(poweroff|reboot|halt|kexec)\b",
    r"git\s+push\s+.*(--force|-f\b)",
    r"git\s+reset\s+--hard",
    r"(curl|wget)\b.*\|\s*(ba)?sh\b",
    r"DROP\s+(TABLE|DATABASE)",
];

fn main() {
    let rounds = size("APPROVAL_ROUNDS", 2_000);
    ordinary(rounds);
    long(rounds);
}

fn judged(command: &str) {
    let asked = Asked {
        command,
        cwd: Path::new("/home/alice/project"),
        home: Some(Path::new("/home/alice")),
        agent_home: Some(Path::new("/home/alice/.herm")),
    };
    black_box(judge(&asked, &Rules::default(), Scene::Cli, &NoScripts));
}

fn parsed(command: &str) {
    let options = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
    let tokens = uncached_tokenize_str(command, &options.tokenizer_options()).unwrap();
    black_box(parse_tokens(&tokens, &options).ok());
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

fn ordinary(rounds: usize) {
    let set = RegexSet::new(PATTERNS).unwrap();
    let thread = timed(rounds.min(500), || {
        std::thread::Builder::new().stack_size(128 << 20).spawn(|| ()).unwrap().join().unwrap();
    });
    let mut rows =
        vec![row(["command line", "judged µs", "parsed µs", "ratio", "regex set µs", "thread µs"])];
    let mut slowest = Duration::ZERO;
    for command in ORDINARY {
        let judging = timed(rounds, || judged(command));
        let parsing = timed(rounds, || parsed(command));
        let matching = timed(rounds, || drop(black_box(set.matches(command))));
        slowest = slowest.max(judging);
        rows.push(row([
            &command.chars().take(50).collect::<String>().replace('\n', "⏎"),
            &format!("{:.1}", micros(judging, 1)),
            &format!("{:.1}", micros(parsing, 1)),
            &format!("{:.1}", judging.as_secs_f64() / parsing.as_secs_f64()),
            &format!("{:.2}", micros(matching, 1)),
            &format!("{:.1}", micros(thread, 1)),
        ]));
    }
    table(&rows);
    println!("slowest {:.1} µs, claimed less than {} µs\n", micros(slowest, 1), ORDINARY_MAX.as_micros());
    assert!(slowest < ORDINARY_MAX, "an ordinary command line takes {slowest:?}");
}

/// Lines of growing length, of different kinds.
fn long(rounds: usize) {
    let kinds: [(&str, &str); 6] = [
        ("commands", "git status --short src; "),
        ("pipeline", "grep -v x | "),
        ("arguments", "file.txt "),
        ("variables", "x=$y ls \"$x\" ${z:-a}\n"),
        ("substitutions", "echo \"$(date)\"; "),
        ("quotes", "echo 'a b' \"c d\"\n"),
    ];
    let mut rows =
        vec![row(["kind", "1 KB µs", "10 KB µs/KB", "100 KB µs/KB", "growth", "parsed 100 KB µs/KB"])];
    for (name, part) in kinds {
        let text = |kilobytes: usize| {
            let body = part.repeat((kilobytes << 10) / part.len());
            if name == "arguments" { format!("cat {body}; ls") } else { format!("{body} cat") }
        };
        let per_kilobyte = |kilobytes: usize| {
            let text = text(kilobytes);
            micros(timed((rounds / 20 / kilobytes).max(3), || judged(&text)), 1) / kilobytes as f64
        };
        let (one, ten, hundred) = (per_kilobyte(1), per_kilobyte(10), per_kilobyte(100));
        let whole = text(100);
        let parsing = micros(timed(3, || parsed(&whole)), 1) / 100.0;
        let growth = hundred / one;
        rows.push(row([
            name,
            &format!("{one:.0}"),
            &format!("{ten:.0}"),
            &format!("{hundred:.0}"),
            &format!("{growth:.2}"),
            &format!("{parsing:.0}"),
        ]));
        assert!(growth < GROWTH_MAX, "{name}: a kilobyte costs {growth:.1} times as much in a long line");
    }
    table(&rows);
}
