//! What a conversation is printed on: terminal or not, how wide, in colour or not.

use std::io::{self, IsTerminal};

use super::Prepared;
use super::view::{Audience, Shown};

/// Cells of a line where nobody says how many there are.
const COLUMNS: usize = 80;
/// Cells below which nothing could be read.
const COLUMNS_MIN: usize = 20;

/// What is known about the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surroundings {
    pub stdout_is_terminal: bool,
    pub stderr_is_terminal: bool,
    /// `NO_COLOR` is unset and the terminal is not dumb.
    pub colour: bool,
    pub columns: usize,
}

impl Surroundings {
    /// Those of this process.
    pub fn here() -> Self {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let dumb = set("TERM").is_none_or(|term| term == "dumb");
        let size = rustix::termios::tcgetwinsize(io::stdout())
            .or_else(|_| rustix::termios::tcgetwinsize(io::stderr()));
        let columns = size.map_or(0, |size| usize::from(size.ws_col));
        Self {
            stdout_is_terminal: io::stdout().is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
            colour: set("NO_COLOR").is_none() && !dumb,
            columns: if columns == 0 { COLUMNS } else { columns.max(COLUMNS_MIN) },
        }
    }

    /// For whom a conversation is printed.
    pub fn audience(&self, prepared: &Prepared) -> Audience {
        let columns = self.columns;
        if prepared.json {
            Audience::Program
        } else if prepared.question.is_some() {
            Audience::Script { colour: self.colour && self.stderr_is_terminal, columns }
        } else {
            Audience::Person { colour: self.colour && self.stdout_is_terminal, columns }
        }
    }
}

/// Whether there is somebody to talk to: a terminal on both ends.
pub fn is_conversation() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

impl Prepared {
    /// What of the conversation is printed.
    pub fn shown(&self) -> Shown {
        let display = self.loaded.config.display;
        Shown { streaming: display.streaming, reasoning: display.show_reasoning }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Home;
    use crate::entry::Start;
    use crate::entry::chat::Chat;

    #[test]
    fn the_audience_follows_from_the_options_and_the_terminal() {
        let scratch = tempfile::tempdir().unwrap();
        let start = Start { home: Home::at(scratch.path()) };
        let cwd = Some(scratch.path().to_owned());
        let prepare = |question: Option<&str>, json| {
            let chat = Chat { question: question.map(Into::into), json, cwd: cwd.clone(), ..Chat::default() };
            chat.prepare(&start).unwrap()
        };
        let here =
            Surroundings { stdout_is_terminal: false, stderr_is_terminal: true, colour: true, columns: 50 };
        assert_eq!(here.audience(&prepare(None, false)), Audience::Person { colour: false, columns: 50 });
        assert_eq!(here.audience(&prepare(Some("x"), false)), Audience::Script { colour: true, columns: 50 });
        assert_eq!(here.audience(&prepare(Some("x"), true)), Audience::Program);
        assert_eq!(prepare(None, false).shown(), Shown { streaming: true, reasoning: true });
    }
}
