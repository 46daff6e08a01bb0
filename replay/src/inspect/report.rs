//! Lines for people or objects for programs, on one writer.

use std::io::{self, Write};

use serde::Serialize;

/// Where an inspection writes what it finds.
pub struct Report<'a> {
    out: &'a mut dyn Write,
    pub json: bool,
}

impl<'a> Report<'a> {
    pub fn new(out: &'a mut dyn Write, json: bool) -> Self {
        Self { out, json }
    }

    /// One finding: `text` for people, `object` as a line of JSON.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn line(&mut self, text: impl FnOnce() -> String, object: &impl Serialize) -> io::Result<()> {
        match self.json {
            true => self.object(object),
            false => writeln!(self.out, "{}", text()),
        }
    }

    /// A line of JSON, whoever reads.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn object(&mut self, object: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut *self.out, object)?;
        self.out.write_all(b"\n")
    }

    /// A line for people; left out of JSON.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        match self.json {
            true => Ok(()),
            false => writeln!(self.out, "{text}"),
        }
    }
}
