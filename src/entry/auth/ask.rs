//! Reads a secret from stdin: unseen where a person types it, a line where a program gives it.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::config::Secret;

/// Largest input, in bytes.
const BYTES_MAX: u64 = 64 << 10;

/// Switches the echo on again, whatever happens.
struct Unseen(Termios);

impl Unseen {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Self(before))
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        // There is nobody to tell if the terminal is gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}

/// One line.
///
/// # Errors
/// Stdin cannot be read.
pub fn secret(prompt: &str) -> io::Result<Secret> {
    let stdin = io::stdin();
    let unseen = stdin.is_terminal().then(Unseen::begin).transpose()?;
    if unseen.is_some() {
        write!(io::stderr(), "{prompt}")?;
        io::stderr().flush()?;
    }
    let mut line = String::new();
    stdin.lock().take(BYTES_MAX).read_line(&mut line)?;
    if unseen.is_some() {
        writeln!(io::stderr())?;
    }
    Ok(Secret::new(line.trim()))
}

/// All of it.
///
/// # Errors
/// Stdin cannot be read.
pub fn all() -> io::Result<String> {
    let mut text = String::new();
    io::stdin().lock().take(BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}
