//! The table of contents of the command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use super::{
    Exit, Failure, Out, Start, approvals, auth, chat, checkpoints, completions, config, delivery, doctor,
    explain, export, gateway, log, memory, model, pairing, platforms, projections, replay, search, send,
    sessions, skills, tools, usage,
};

/// An always-on AI agent that sets everything it does in stone.
#[derive(Parser, Debug)]
#[command(
    name = "herm",
    version,
    max_term_width = 100,
    after_help = "\
Without a command, `herm` is `herm chat`.

Examples:
  herm
  herm chat -q \"what is in this folder?\"
  herm doctor

Variables: HERM_HOME (where everything is kept), HERM_LOG (diagnostics, such as `herm=debug`),
NO_COLOR, and those of the settings (`herm config show`)."
)]
pub struct Cli {
    /// Where everything is kept, instead of `$HERM_HOME` or `~/.herm`.
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,

    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    Chat(chat::Chat),
    Gateway(gateway::Gateway),
    Platforms(platforms::Platforms),
    Pairing(pairing::Pairing),
    Delivery(delivery::Delivery),
    Send(send::Send),
    Sessions(sessions::Sessions),
    Search(search::Search),
    Config(config::ConfigCommand),
    Tools(tools::ToolsCommand),
    Model(model::Model),
    Auth(auth::Auth),
    Memory(memory::MemoryCommand),
    Skills(skills::SkillsCommand),
    Approvals(approvals::Approvals),
    Checkpoints(checkpoints::CheckpointsCommand),
    Doctor(doctor::Doctor),
    Explain(explain::Explain),
    Log(log::LogCommand),
    Projections(projections::Projections),
    Replay(replay::Replay),
    Export(export::Export),
    Usage(usage::UsageCommand),
    Completions(completions::Completions),
}

/// Does what the command line says.
///
/// # Errors
/// With what went wrong, ready to be printed.
pub fn run(cli: Cli) -> Result<Exit, Failure> {
    let start = Start::at(cli.home)?;
    let mut out = Out::stdout();
    match cli.command.unwrap_or_else(|| Command::Chat(chat::Chat::default())) {
        Command::Chat(arguments) => chat::run(&arguments, &start),
        Command::Gateway(arguments) => gateway::run(&arguments, &start, &mut out),
        Command::Platforms(arguments) => platforms::run(&arguments, &start, &mut out),
        Command::Pairing(arguments) => pairing::run(&arguments, &start, &mut out),
        Command::Delivery(arguments) => delivery::run(&arguments, &start, &mut out),
        Command::Send(arguments) => send::run(&arguments, &start, &mut out),
        Command::Sessions(arguments) => sessions::run(&arguments, &start, &mut out),
        Command::Search(arguments) => search::run(&arguments, &start, &mut out),
        Command::Model(arguments) => model::run(&arguments, &start, &mut out),
        Command::Auth(arguments) => auth::run(&arguments, &start, &mut out),
        Command::Checkpoints(arguments) => checkpoints::run(&arguments, &start, &mut out),
        Command::Approvals(arguments) => approvals::run(&arguments, &start, &mut out),
        Command::Memory(arguments) => memory::run(&arguments, &start, &mut out),
        Command::Skills(arguments) => skills::run(&arguments, &start, &mut out),
        Command::Config(arguments) => config::run(&arguments, &start, &mut out),
        Command::Tools(arguments) => tools::run(&arguments, &start, &mut out),
        Command::Doctor(arguments) => doctor::run(&arguments, &start, &mut out),
        Command::Explain(arguments) => explain::run(&arguments, &start, &mut out),
        Command::Log(arguments) => log::run(&arguments, &start, &mut out),
        Command::Projections(arguments) => projections::run(&arguments, &start, &mut out),
        Command::Replay(arguments) => replay::run(arguments, &start, &mut out),
        Command::Export(arguments) => export::run(arguments, &start, &mut out),
        Command::Usage(arguments) => usage::run(&arguments, &start, &mut out),
        Command::Completions(arguments) => completions::run(&arguments, &mut out),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Every command below `command`, with the words that lead to it.
    fn all(command: &clap::Command, words: &str, found: &mut Vec<(String, clap::Command)>) {
        found.push((words.to_owned(), command.clone()));
        for inner in command.get_subcommands() {
            all(inner, &format!("{words} {}", inner.get_name()), found);
        }
    }

    fn commands() -> Vec<(String, clap::Command)> {
        let mut found = Vec::new();
        all(&Cli::command(), "herm", &mut found);
        found
    }

    /// The lines of `Examples:`, up to an empty line.
    fn examples(command: &clap::Command) -> Vec<String> {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines = help.lines().skip_while(|line| !line.starts_with("Example"));
        lines.skip(1).take_while(|line| line.starts_with("  ")).map(|line| line.trim().to_owned()).collect()
    }

    /// The words of a command line as a shell has them, up to a pipe or a redirection.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quote = None;
        for c in line.chars() {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None, '"' | '\'') => quote = Some(c),
                (None, ' ') => words.push(String::new()),
                (_, c) => words.last_mut().unwrap().push(c),
            }
        }
        let shell = ["|", ">", "<", "#", "2>", "&&"];
        words.into_iter().filter(|w| !w.is_empty()).take_while(|w| !shell.contains(&w.as_str())).collect()
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_says_what_it_does_and_has_an_example_that_parses() {
        for (name, command) in commands() {
            assert!(command.get_about().is_some(), "`{name}` has no help");
            if command.has_subcommands() && name != "herm" {
                continue;
            }
            let examples = examples(&command);
            assert!(!examples.is_empty(), "`{name}` has no example");
            for example in examples {
                // The debugger's help names the offline binary, which takes the same words.
                let example = example.replacen("herm-replay", "herm replay", 1);
                let ours = example.split(" | ").find(|part| part.starts_with("herm"));
                let words = words(ours.unwrap_or_else(|| panic!("`{example}` is not about herm")));
                if let Err(error) = Cli::try_parse_from(&words) {
                    panic!("`{example}`: {error}");
                }
            }
        }
    }

    #[test]
    fn every_argument_has_a_help_text() {
        // The debugger's and the exports' are herm-replay's own.
        let ours = |name: &str| !name.starts_with("herm replay ") && !name.starts_with("herm export ");
        for (name, command) in commands().into_iter().filter(|(name, _)| ours(name)) {
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "`{}` of `{name}` has no help", argument.get_id());
            }
        }
    }
}
