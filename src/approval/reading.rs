//! What a command line was found to do: the list of everything that it would execute.

use std::path::PathBuf;

use super::word::Field;

/// Everything that a command line executes, as far as it can be told.
#[derive(Debug, Default)]
pub struct Reading {
    /// In the order of the text; what a launcher starts comes after the launcher.
    pub invocations: Vec<Invocation>,
    /// Files that redirections write.
    pub writes: Vec<Field>,
    /// Files that redirections read.
    pub reads: Vec<Field>,
    /// Something that executes could not be read; why, for the person.
    pub unread: Option<&'static str>,
    /// A function that multiplies itself.
    pub bomb: bool,
    /// Shell constructs besides plain commands: only in a line of one simple command is it false.
    pub compound: bool,
    /// Variables that change how programs are found or behave are set.
    pub sets_variables: bool,
    /// Home directory of the person.
    pub home: Option<PathBuf>,
}

/// One program and its arguments, as the shell would start it.
#[derive(Clone, Debug)]
pub struct Invocation {
    pub program: Field,
    pub arguments: Vec<Field>,
    /// Where it runs, if that is known.
    pub cwd: Option<PathBuf>,
    /// More arguments follow that are only known when it runs.
    pub open_ended: bool,
    /// It does nothing but start what comes after it.
    pub launches: bool,
}

impl Invocation {
    /// Last component of the program's path, if the program is known.
    pub fn name(&self) -> Option<&str> {
        self.program.value().map(|path| path.rsplit('/').next().unwrap_or(path))
    }

    /// The arguments that are known.
    pub fn known_arguments(&self) -> impl Iterator<Item = &str> {
        self.arguments.iter().filter_map(Field::value)
    }
}
