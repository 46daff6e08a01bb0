//! Tools through the real binary: what is corrected, what is masked, what is offered to whom, what it
//! costs on the wire, and what the web tools may reach.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail by panicking")]

#[path = "../binary/stage.rs"]
#[allow(dead_code, reason = "the other tests of the binary use the rest")]
mod stage;
#[path = "../support/mod.rs"]
mod support;

mod command;
mod correction;
mod masking;
mod seeing;
mod web;
mod wire;

use std::io::Write;
use std::process::Stdio;

use stage::{Run, Stage};

/// Runs the binary with something on its standard input.
fn fed(stage: &Stage, arguments: &[&str], input: &str) -> Run {
    let mut command = stage.command(arguments);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { exit: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}
