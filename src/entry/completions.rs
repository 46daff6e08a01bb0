//! `herm completions`: what a shell needs to complete herm's command line.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Exit, Failure, Out, cli::Cli};

/// Print the completions of a shell.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  herm completions bash > ~/.local/share/bash-completion/completions/herm
  herm completions zsh > ~/.zfunc/_herm
  herm completions fish > ~/.config/fish/completions/herm.fish")]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

pub fn run(arguments: &Completions, out: &mut Out) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "herm", &mut script);
    out.raw(&String::from_utf8_lossy(&script))?;
    out.end()?;
    Ok(Exit::Ok)
}
