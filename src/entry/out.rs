//! Where results go: stdout, whole lines, for people or as one JSON object a line.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use super::chat::escape;

/// Standard output, buffered; [`Out::end`] says whether all of it got out.
pub struct Out {
    to: Box<dyn Write>,
}

impl Out {
    pub fn stdout() -> Self {
        Self::to(io::stdout().lock())
    }

    pub fn to(to: impl Write + 'static) -> Self {
        Self { to: Box::new(BufWriter::new(to)) }
    }

    /// A line for a person. Control characters in it are shown, not obeyed.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.to, "{}", escape::escaped(text))
    }

    /// A text as it is, for output that is a file of its own.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn raw(&mut self, text: &str) -> io::Result<()> {
        self.to.write_all(text.as_bytes())
    }

    /// For those who write by themselves.
    pub fn writer(&mut self) -> &mut dyn Write {
        &mut *self.to
    }

    /// One JSON object on one line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let line = serde_json::to_string(value)?;
        writeln!(self.to, "{}", escape::json_line(&line))
    }

    /// Lets a follower see what there is.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn end(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
