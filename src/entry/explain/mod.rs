//! `herm explain`: what herm would send, how it would read what comes back, and what it would do
//! about it. Runs the production code on what is given, and nothing else: no network, no log.

mod args;
mod command;
mod error;
mod model;
mod neutral;
mod redact;
mod rehearsal;
mod request;
mod route;
mod split;
mod stream;

use std::io::Read;

use clap::{Args, Subcommand};

use super::{Exit, Failure, Out, Start};

/// Most that is read from stdin, in bytes.
const INPUT_BYTES_MAX: u64 = 256 << 20;

/// Say what herm would do with something, by the code that does it: requests, answers, failures,
/// arguments of tools, secrets, messages from chats.
/// arguments of tools, secrets, messages.
#[derive(Args, Debug)]
pub struct Explain {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Model(model::Model),
    Command(command::CommandLine),
    Error(error::ErrorCommand),
    Request(request::Request),
    Stream(stream::Stream),
    Args(args::Arguments),
    Redact(redact::Redact),
    Route(route::RouteQuery),
    Split(split::Split),
}

pub fn run(arguments: &Explain, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    match &arguments.what {
        What::Model(arguments) => model::run(arguments, start, out)?,
        What::Command(arguments) => {
            let stdin = if arguments.reads_stdin() { input()? } else { vec![] };
            command::run(arguments, &stdin, start, out)?;
        }
        What::Error(arguments) => error::run(arguments, &input()?, start, out)?,
        What::Request(arguments) => request::run(arguments, &input()?, start, out)?,
        What::Stream(arguments) => stream::run(arguments, &input()?, start, out)?,
        What::Args(arguments) => args::run(arguments, &input()?, start, out)?,
        What::Redact(arguments) => redact::run(arguments, &input()?, start, out)?,
        What::Route(arguments) => route::run(arguments, start, out)?,
        What::Split(arguments) => split::run(arguments, &input()?, out)?,
    }
    out.end()?;
    Ok(Exit::Ok)
}

/// All of stdin; none where it is a terminal and nobody pipes anything.
fn input() -> Result<Vec<u8>, Failure> {
    use std::io::IsTerminal;
    let stdin = std::io::stdin();
    let mut bytes = Vec::new();
    if !stdin.is_terminal() {
        stdin.lock().take(INPUT_BYTES_MAX).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
