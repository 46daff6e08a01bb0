//! What went wrong, as a person is told: `error:`, `caused by:`, `hint:`.

use std::io::{self, Write};

use herm_replay::{log, projections};

use super::Exit;
use super::chat::escape::escaped;
use crate::config;

/// An error on its way to the person, with the exit status and a command that helps.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub error: anyhow::Error,
    /// A command to run.
    pub hint: Option<String>,
}

impl Failure {
    pub fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, error: error.into(), hint: None }
    }

    /// A failure that is nothing but its message.
    pub fn message(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, error: anyhow::Error::msg(message.into()), hint: None }
    }

    #[must_use]
    pub fn hint(mut self, command: impl Into<String>) -> Self {
        self.hint = Some(command.into());
        self
    }

    /// Whether all that went wrong is that nobody reads our output any more.
    pub fn is_closed_pipe(&self) -> bool {
        let closed = |kind| kind == Some(io::ErrorKind::BrokenPipe);
        self.error.chain().any(|cause| {
            closed(cause.downcast_ref::<io::Error>().map(io::Error::kind))
                || closed(
                    cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind),
                )
        })
    }

    /// Prints it. There is nobody to tell if that fails.
    pub fn print(&self, out: &mut dyn Write) {
        let mut text = format!("error: {}\n", escaped(&self.error.to_string()));
        for cause in self.error.chain().skip(1) {
            text.push_str(&format!("caused by: {}\n", escaped(&cause.to_string())));
        }
        if let Some(hint) = &self.hint {
            text.push_str(&format!("hint: {}\n", escaped(hint)));
        }
        drop(out.write_all(text.as_bytes()));
    }
}

impl From<config::Error> for Failure {
    fn from(error: config::Error) -> Self {
        let exit = match error {
            config::Error::UnknownKey { .. } | config::Error::BadValue { .. } => Exit::Usage,
            config::Error::Io { .. } => Exit::Failed,
            _ => Exit::Config,
        };
        let hint = error.hint();
        Self { exit, hint, error: error.into() }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(Exit::Failed, error)
    }
}

impl From<log::Error> for Failure {
    fn from(error: log::Error) -> Self {
        Self { exit: log_exit(&error), hint: log_hint(&error), error: error.into() }
    }
}

impl From<projections::Error> for Failure {
    fn from(error: projections::Error) -> Self {
        use projections::Error as E;
        let (exit, hint) = match &error {
            E::Log { source } => (log_exit(source), log_hint(source)),
            E::Busy { .. } => (Exit::HomeLocked, Some("herm doctor".into())),
            E::Parked { name, .. } => (Exit::Failed, Some(format!("herm projections rebuild {name}"))),
            E::Unknown { .. } => (Exit::Usage, Some("herm projections status".into())),
            E::NoSession { .. } => (Exit::Failed, Some("herm sessions list".into())),
            E::Store { projection, .. } => {
                (Exit::Failed, Some(format!("herm projections rebuild {projection}")))
            }
            E::Io { .. } => (Exit::Failed, Some("herm doctor".into())),
        };
        Self { exit, hint, error: error.into() }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        let log = error.chain().find_map(|cause| cause.downcast_ref::<log::Error>());
        let (exit, hint) = log.map_or((Exit::Failed, None), |log| (log_exit(log), log_hint(log)));
        Self { exit, hint, error }
    }
}

fn log_exit(error: &log::Error) -> Exit {
    use log::Error as E;
    match error {
        E::Locked { .. } => Exit::HomeLocked,
        E::Damaged { .. } | E::Undecodable { .. } | E::BlobDamaged { .. } | E::BlobMissing { .. } => {
            Exit::LogDamaged
        }
        _ => Exit::Failed,
    }
}

fn log_hint(error: &log::Error) -> Option<String> {
    use log::Error as E;
    match error {
        E::Locked { pid, .. } => {
            Some(format!("ps -fp {pid}   # end it there; herm gateway stop, if it is the gateway"))
        }
        E::Damaged { .. } | E::Undecodable { .. } | E::BlobDamaged { .. } | E::BlobMissing { .. } => {
            Some("herm log verify".into())
        }
        E::Full { path, .. } => Some(format!("df -h '{}'", path.display())),
        E::UnsafeFileSystem { .. } => {
            Some("herm config set security.allow_unsafe_file_system true   # at your own risk".into())
        }
        E::Newer { .. } => Some("herm --version   # and install a newer one".into()),
        E::Poisoned { .. } | E::Io { .. } => Some("herm doctor".into()),
        _ => None,
    }
}

impl From<crate::runtime::Error> for Failure {
    fn from(error: crate::runtime::Error) -> Self {
        match error {
            crate::runtime::Error::Log(error) => error.into(),
            error @ crate::runtime::Error::NoSession { .. } => {
                Self::new(Exit::Usage, error).hint("herm sessions list")
            }
            error => Self::new(Exit::Failed, error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(failure: &Failure) -> String {
        let mut out = Vec::new();
        failure.print(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn causes_and_hint_each_have_their_line() {
        let cause = io::Error::new(io::ErrorKind::PermissionDenied, "permission denied");
        let error = config::Error::Io { operation: "read", path: "/h/config.yaml".into(), source: cause };
        assert_eq!(
            printed(&error.into()),
            "error: cannot read `/h/config.yaml`\ncaused by: permission denied\nhint: ls -ld /h/config.yaml\n"
        );
    }

    #[test]
    fn a_locked_home_and_a_damaged_log_have_their_own_numbers() {
        let locked = log::Error::Locked { path: "/h".into(), pid: 7, started: "now".into() };
        assert_eq!(Failure::from(locked).exit, Exit::HomeLocked);
        let damaged = log::Error::Damaged {
            position: herm_schema::Position(3),
            path: "/h/log/1".into(),
            offset: 9,
            reason: "checksum".into(),
        };
        let failure = Failure::from(damaged);
        assert_eq!((failure.exit, failure.hint.as_deref()), (Exit::LogDamaged, Some("herm log verify")));
    }

    #[test]
    fn what_is_told_cannot_steer_the_terminal() {
        let failure = Failure::message(Exit::Failed, "bad name `\u{1b}]0;x\u{7}`");
        assert_eq!(printed(&failure), "error: bad name `^[]0;x^G`\n");
    }
}
