//! Reads what is typed: a line editor with history and completion on a thread of its own, or plain
//! lines where there is no terminal.
//!
//! The thread reads a line only when one is wanted ([`Inputs::recv`] asks for it), so that the
//! terminal is in its ordinary mode whenever nobody waits for input, also when the program ends.
//! Everything that is printed while a line is being typed goes through [`Printer`].

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::mpsc as std_mpsc;
use std::time::Duration;

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, ExternalPrinter, Helper};
use tokio::sync::mpsc;

use crate::inbound::slash_table::SlashCommand;

/// Lines of history that are kept.
const HISTORY_LINES_MAX: usize = 10_000;
/// Inputs that wait for whoever asked; more than one only where lines come without being asked for.
const INPUTS_QUEUED: usize = 16;
/// How long the end of the program waits for the last lines to be printed.
const LAST_LINES_PATIENCE: Duration = Duration::from_millis(500);

/// What came from the keyboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A line, or several joined by a backslash at the end of each but the last.
    Line(String),
    CtrlC,
    /// Ctrl-D, or the end of the file. Nothing comes after it.
    Eof,
}

/// What the editor works with.
#[derive(Clone, Debug)]
pub struct EditorOptions {
    pub prompt: String,
    pub history_file: PathBuf,
    pub commands: Vec<&'static SlashCommand>,
}

/// What was typed, one input at a time.
pub struct Inputs {
    inputs: mpsc::Receiver<Input>,
    /// Asks the thread for one more line; `None` where lines come unasked.
    wanted: Option<std_mpsc::Sender<()>>,
    /// A line has been asked for and has not come yet.
    outstanding: bool,
    terminal: Option<Terminal>,
}

impl Inputs {
    /// Inputs that somebody else sends.
    pub fn from_channel(inputs: mpsc::Receiver<Input>) -> Self {
        Self { inputs, wanted: None, outstanding: false, terminal: None }
    }

    /// The next input; `None` after the end. May be cancelled: nothing is lost, and the prompt stays.
    pub async fn recv(&mut self) -> Option<Input> {
        if let Some(wanted) = &self.wanted
            && !self.outstanding
        {
            // An error means that the thread has ended; what it sent before is still there.
            self.outstanding = wanted.send(()).is_ok();
        }
        let input = self.inputs.recv().await;
        self.outstanding = false;
        input
    }
}

impl Drop for Inputs {
    fn drop(&mut self) {
        // Only a prompt that still waits has the terminal in raw mode.
        if self.outstanding
            && let Some(terminal) = &self.terminal
        {
            terminal.restore();
        }
    }
}

/// Prints whole lines above the line that is being typed. Cheap to clone.
#[derive(Clone)]
pub struct Printer {
    jobs: std_mpsc::Sender<Job>,
    pending: Vec<u8>,
}

enum Job {
    Print(String),
    Done(std_mpsc::Sender<()>),
}

impl Printer {
    /// Prints on a thread of its own: the editor takes a text only while it reads, and nobody
    /// shall wait for it.
    fn start(mut print: impl FnMut(String) + Send + 'static) -> io::Result<Self> {
        let (jobs, taken) = std_mpsc::channel();
        std::thread::Builder::new().name("printer".into()).spawn(move || {
            for job in taken {
                match job {
                    Job::Print(text) => print(text),
                    Job::Done(done) => drop(done.send(())),
                }
            }
        })?;
        Ok(Self { jobs, pending: Vec::new() })
    }

    /// Waits, a short while at most, until everything is printed.
    pub fn finish(&self) {
        let (done, wait) = std_mpsc::channel();
        if self.jobs.send(Job::Done(done)).is_ok() {
            // Late lines are lost when the terminal does not take them; the log has them.
            let _ = wait.recv_timeout(LAST_LINES_PATIENCE);
        }
    }
}

impl Write for Printer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Hands on the whole lines; the rest waits for its end.
    fn flush(&mut self) -> io::Result<()> {
        let Some(last) = self.pending.iter().rposition(|&byte| byte == b'\n') else { return Ok(()) };
        let rest = self.pending.split_off(last + 1);
        let lines = std::mem::replace(&mut self.pending, rest);
        let text = String::from_utf8_lossy(&lines).into_owned();
        self.jobs.send(Job::Print(text)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// Begins to read from the terminal.
///
/// # Errors
/// When there is no terminal on both ends, or no thread can be started.
pub fn terminal(options: EditorOptions) -> io::Result<(Inputs, Printer)> {
    let config = Config::builder()
        .max_history_size(HISTORY_LINES_MAX)
        .and_then(|builder| builder.history_ignore_dups(true))
        .map_err(io::Error::other)?
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .build();
    let mut editor =
        rustyline::Editor::<Assistant, FileHistory>::with_config(config).map_err(io::Error::other)?;
    editor
        .set_helper(Some(Assistant { commands: options.commands.clone(), files: FilenameCompleter::new() }));
    // The first time there is no file; a file that cannot be read is not worth refusing to talk.
    if let Err(error) = editor.load_history(&options.history_file) {
        tracing::debug!(%error, "no history");
    }
    let mut external = editor.create_external_printer().map_err(io::Error::other)?;
    let printer = Printer::start(move |text| {
        if let Err(error) = external.print(text) {
            tracing::debug!(%error, "cannot print");
        }
    })?;
    let terminal = Terminal::remember();
    let (sender, inputs) = mpsc::channel(INPUTS_QUEUED);
    let (wanted, asked) = std_mpsc::channel();
    std::thread::Builder::new()
        .name("line editor".into())
        .spawn(move || edit(&mut editor, &options, &asked, &sender))?;
    Ok((Inputs { inputs, wanted: Some(wanted), outstanding: false, terminal }, printer))
}

/// Reads a line whenever one is asked for, until the end.
fn edit(
    editor: &mut rustyline::Editor<Assistant, FileHistory>,
    options: &EditorOptions,
    asked: &std_mpsc::Receiver<()>,
    sender: &mpsc::Sender<Input>,
) {
    while asked.recv().is_ok() {
        let input = match editor.readline(&options.prompt) {
            Ok(line) => {
                remember(editor, options, &line);
                Input::Line(joined(&line))
            }
            Err(ReadlineError::Interrupted) => Input::CtrlC,
            Err(ReadlineError::Eof) => Input::Eof,
            Err(error) => {
                tracing::warn!(%error, "cannot read from the terminal");
                Input::Eof
            }
        };
        let last = input == Input::Eof;
        if sender.blocking_send(input).is_err() || last {
            return;
        }
    }
}

fn remember(editor: &mut rustyline::Editor<Assistant, FileHistory>, options: &EditorOptions, line: &str) {
    let added = editor
        .add_history_entry(line)
        .and_then(|new| if new { editor.append_history(&options.history_file) } else { Ok(()) });
    if let Err(error) = added {
        tracing::warn!(%error, path = %options.history_file.display(), "cannot keep the history");
    }
}

/// Begins to read lines from somewhere that is no terminal, such as a pipe.
///
/// # Errors
/// When no thread can be started.
pub fn plain(mut from: impl BufRead + Send + 'static) -> io::Result<Inputs> {
    let (sender, inputs) = mpsc::channel(INPUTS_QUEUED);
    std::thread::Builder::new().name("line reader".into()).spawn(move || {
        while let Some(line) = plain_line(&mut from) {
            if sender.blocking_send(Input::Line(line)).is_err() {
                return;
            }
        }
        drop(sender.blocking_send(Input::Eof));
    })?;
    Ok(Inputs::from_channel(inputs))
}

/// One line with those that its backslashes join to it; `None` at the end.
fn plain_line(from: &mut impl BufRead) -> Option<String> {
    let mut text = String::new();
    loop {
        let mut bytes = Vec::new();
        // A pipe that breaks is a pipe that ends.
        if from.read_until(b'\n', &mut bytes).unwrap_or(0) == 0 {
            let text = text.strip_suffix('\n').unwrap_or(&text);
            return (!text.is_empty()).then(|| joined(text));
        }
        let line = String::from_utf8_lossy(&bytes);
        text.push_str(line.trim_end_matches(['\n', '\r']));
        if !goes_on(&text) {
            return Some(joined(&text));
        }
        text.push('\n');
    }
}

/// A backslash at the end joins the next line; two of them are a backslash.
fn goes_on(text: &str) -> bool {
    text.chars().rev().take_while(|&c| c == '\\').count() % 2 == 1
}

/// The lines without the backslashes that joined them.
fn joined(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        let joins = lines.peek().is_some() && goes_on(line);
        out.push_str(if joins { line.strip_suffix('\\').unwrap_or(line) } else { line });
        if lines.peek().is_some() {
            out.push('\n');
        }
    }
    out
}

/// Completes, and says whether a line goes on.
struct Assistant {
    commands: Vec<&'static SlashCommand>,
    files: FilenameCompleter,
}

impl Assistant {
    /// The commands that begin like the line up to the cursor; `None` if that is not a command.
    fn commands(&self, line: &str, cursor: usize) -> Option<Vec<Pair>> {
        let typed = line.get(..cursor)?;
        let word = typed.strip_prefix('/').filter(|word| !word.contains(char::is_whitespace))?;
        let fitting = self.commands.iter().filter(|command| command.name.starts_with(word));
        let pairs: Vec<Pair> = fitting
            .map(|command| Pair {
                display: format!("/{}  {}", command.name, command.about),
                replacement: format!("/{} ", command.name),
            })
            .collect();
        // `/etc/passwd` is a file and no command.
        (!pairs.is_empty()).then_some(pairs)
    }
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        cursor: usize,
        context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        match self.commands(line, cursor) {
            Some(commands) => Ok((0, commands)),
            None => self.files.complete(line, cursor, context),
        }
    }
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        if goes_on(context.input()) {
            Ok(ValidationResult::Incomplete)
        } else {
            Ok(ValidationResult::Valid(None))
        }
    }
}

impl Hinter for Assistant {
    type Hint = String;
}

impl Highlighter for Assistant {}

impl Helper for Assistant {}

/// The mode that the terminal was in before anybody changed it.
struct Terminal {
    mode: rustix::termios::Termios,
}

/// Ends the mode in which a terminal marks what is pasted (xterm, "bracketed paste").
const PASTE_MARKS_OFF: &str = "\u{1b}[?2004l\r\n";

impl Terminal {
    fn remember() -> Option<Self> {
        rustix::termios::tcgetattr(io::stdin()).ok().map(|mode| Self { mode })
    }

    /// Puts it back; nothing can be done if that fails.
    fn restore(&self) {
        let when = rustix::termios::OptionalActions::Now;
        let _ = rustix::termios::tcsetattr(io::stdin(), when, &self.mode);
        let mut out = io::stdout();
        drop(out.write_all(PASTE_MARKS_OFF.as_bytes()).and_then(|()| out.flush()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::inbound::slash_table::Where;

    async fn read(text: &'static str) -> Vec<Input> {
        let mut inputs = plain(text.as_bytes()).unwrap();
        let mut found = Vec::new();
        while let Some(input) = inputs.recv().await {
            found.push(input);
        }
        found
    }

    #[tokio::test]
    async fn a_pipe_gives_its_lines_and_its_end() {
        let line = |text: &str| Input::Line(text.into());
        assert_eq!(read("one\r\ntwo").await, [line("one"), line("two"), Input::Eof]);
        assert_eq!(read("").await, [Input::Eof]);
        assert_eq!(read("a\\\nb\\\\\nc\\").await, [line("a\nb\\\\"), line("c\\"), Input::Eof]);
    }

    #[test]
    fn only_an_odd_number_of_backslashes_joins() {
        assert!(goes_on("a\\") && goes_on("a\\\\\\"));
        assert!(!goes_on("a\\\\") && !goes_on("a"));
        assert_eq!(joined("a\\\nb\nc\\\\"), "a\nb\nc\\\\");
    }

    #[test]
    fn commands_and_files_are_completed() {
        let row = |name| crate::inbound::slash::find(name, Where::Terminal).unwrap();
        let commands = vec![row("model"), row("new")];
        let assistant = Assistant { commands, files: FilenameCompleter::new() };
        let history = FileHistory::new();
        let context = Context::new(&history);
        let complete = |line: &str| {
            let (from, found) = assistant.complete(line, line.len(), &context).unwrap();
            (from, found.into_iter().map(|pair| pair.replacement).collect::<Vec<_>>())
        };
        assert_eq!(complete("/mo"), (0, vec!["/model ".to_owned()]));
        assert_eq!(complete("/").1.len(), 2);
        let scratch = tempfile::tempdir().unwrap();
        std::fs::write(scratch.path().join("notes.md"), "").unwrap();
        let typed = format!("read {}/no", scratch.path().display());
        let (from, found) = complete(&typed);
        assert_eq!(found, [format!("{}/notes.md", scratch.path().display())]);
        assert_eq!(from, 5);
    }

    #[test]
    fn the_printer_hands_on_whole_lines_and_finishes() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let page = seen.clone();
        let mut printer = Printer::start(move |text| page.lock().unwrap().push(text)).unwrap();
        write!(printer, "one\ntwo").unwrap();
        printer.flush().unwrap();
        printer.finish();
        assert_eq!(*seen.lock().unwrap(), ["one\n"]);
        writeln!(printer, " more").unwrap();
        printer.flush().unwrap();
        printer.finish();
        assert_eq!(*seen.lock().unwrap(), ["one\n", "two more\n"]);
    }
}
