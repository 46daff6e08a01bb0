//! Claim: herm starts at once and small: `--version` in under 5 ms, and a question on a new home
//! is answered in under 40 ms and 22 MiB.
//!
//! Unit: milliseconds of wall time from spawn to exit, the median of the runs; CPU time of the
//! median run; and the largest peak memory of any run (`ru_maxrss`). Compared in the same run with
//! `/bin/true`, whose row is what spawning and waiting cost here. Each run is spawned by a small
//! process of its own, because the kernel counts the peak of whoever spawned as the child's.
//!
//! `COLD_RUNS` tries it small; `COLD_HERM` names another binary than the one just built.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a bench may panic")]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use support::{millis, row, size, table, time};

/// Turns this bench's own binary into the process that spawns and measures one run.
const MEASURE: &str = "COLD_MEASURE";

fn main() {
    let mut arguments = std::env::args().skip(1);
    if std::env::var_os(MEASURE).is_some() {
        return measure(&mut arguments);
    }
    let runs = size("COLD_RUNS", 20).max(1);
    let herm = std::env::var("COLD_HERM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_herm").to_owned());
    let address = serve();
    let offline = ["chat", "--provider", "offline", "-q", "hello"];
    let over_http = ["chat", "--base-url", &address, "--model", "scripted", "-q", "hello"];
    let cases: [(&str, &str, &[&str], bool); 6] = [
        ("/bin/true", "/bin/true", &[], true),
        ("herm --version", &herm, &["--version"], true),
        ("herm chat -q, offline, new home", &herm, &offline, true),
        ("herm chat -q, offline, home in use", &herm, &offline, false),
        ("herm chat -q, HTTP, new home", &herm, &over_http, true),
        ("herm chat -q, HTTP, home in use", &herm, &over_http, false),
    ];
    let mut rows = vec![row(["", "wall p50", "wall max", "CPU", "peak memory", "/bin/true"])];
    let mut floor = None;
    for (name, program, arguments, fresh) in cases {
        let all = case(program, arguments, fresh, runs);
        let middle = all.get(all.len() / 2).expect("at least one run");
        let longest = all.last().expect("at least one run");
        let peak = all.iter().map(|run| run.peak_kib).max().unwrap_or(0);
        let floor = *floor.get_or_insert(middle.wall);
        rows.push(row([
            name,
            &format!("{:.1} ms", millis(middle.wall)),
            &format!("{:.1} ms", millis(longest.wall)),
            &format!("{:.1} ms", millis(middle.cpu)),
            &format!("{:.1} MiB", peak as f64 / 1024.0),
            &format!("{:.1}x", middle.wall.as_secs_f64() / floor.as_secs_f64()),
        ]));
    }
    println!("\n{runs} runs each");
    table(&rows);
    println!("goals: --version under 5 ms; chat -q under 40 ms and 22 MiB");
}

struct Run {
    wall: Duration,
    cpu: Duration,
    peak_kib: u64,
}

/// The runs of one command line, fastest first.
fn case(program: &str, arguments: &[&str], fresh: bool, runs: usize) -> Vec<Run> {
    let kept = tempfile::tempdir().unwrap();
    let mut all: Vec<Run> = (0..=runs)
        .map(|_| {
            let scratch = tempfile::tempdir().unwrap();
            let home = if fresh { scratch.path() } else { kept.path() };
            run(program, arguments, home)
        })
        .collect();
    // The first one brings the binary into memory and makes the home that is kept.
    all.remove(0);
    all.sort_by_key(|run| run.wall);
    all
}

fn run(program: &str, arguments: &[&str], home: &Path) -> Run {
    let output = Command::new(std::env::current_exe().unwrap())
        .arg(program)
        .args(arguments)
        .env_clear()
        .env(MEASURE, "1")
        .env("HERM_HOME", home.join("home"))
        .env("HOME", home)
        .env("PATH", "/usr/bin:/bin")
        .current_dir(home)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<u64> = text.split_whitespace().map(|word| word.parse().expect(&text)).collect();
    let [wall, cpu, peak_kib] = numbers[..] else { panic!("the measurement failed: {text}") };
    Run { wall: Duration::from_micros(wall), cpu: Duration::from_micros(cpu), peak_kib }
}

/// Runs what the arguments say, and prints what it took: wall and CPU microseconds, KiB.
fn measure(arguments: &mut dyn Iterator<Item = String>) {
    let program = arguments.next().expect("a program");
    let mut command = Command::new(program);
    command.args(arguments).env_remove(MEASURE).stdin(Stdio::null()).stdout(Stdio::null());
    let begun = Instant::now();
    let output = command.output().expect("it starts");
    let wall = begun.elapsed();
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let cpu = time(usage.user_time()) + time(usage.system_time());
    println!("{} {} {}", wall.as_micros(), cpu.as_micros(), usage.max_rss());
}

/// A model server that says a word at once; its base URL.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            // A client may go away at any time.
            std::thread::spawn(|| drop(answer(socket.unwrap())));
        }
    });
    address
}

fn answer(mut socket: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(socket.try_clone()?);
    let (mut length, mut line) = (0, String::new());
    while reader.read_line(&mut line)? > 0 && line != "\r\n" {
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    reader.read_exact(&mut vec![0; length])?;
    let body = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\n\
        data: [DONE]\n\n";
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ncontent-length: ";
    socket.write_all(format!("{head}{}\r\n\r\n{body}", body.len()).as_bytes())
}
