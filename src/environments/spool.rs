//! The files of a spool, and who writes them.
//!
//! | file | written by | when | says |
//! |---|---|---|---|
//! | `intent` | herm | before the supervisor is started | boot id, deadline |
//! | `input` | herm | before the supervisor is started | what the program of the supervisor reads |
//! | `process` | supervisor | before the command begins, created exclusively | pid, start time, boot id |
//! | `output` | supervisor | while the command runs | what it printed |
//! | `report` | supervisor | while the command runs | see [`super::report`] |
//! | `status` | supervisor | when the command has ended | exit status |
//! | `stop` | herm | before the first signal | why it stops the command |
//!
//! `process` is a claim: the supervisor begins the command only if it was the one who created the
//! file. Whoever recovers tries to create it too, marked as abandoned; who succeeds has proven
//! that the command did not begin and never will. The folder appears whole, with `intent` in it,
//! and is on disk before the supervisor starts, so that a missing folder proves the same.
//!
//! Every file is one line that ends in ` .`, so a line that was cut is seen to be cut. Nothing but
//! the folder itself is synced: after the machine went down, a spool of an earlier boot without a
//! status is never taken for a proof of anything.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::identity::{self, ProcessIdentity};
use super::report::{Report, Sandboxed};
use super::{Ending, Outcome};

const ABANDONED: &str = "abandoned";

/// One spool folder.
#[derive(Clone, Debug)]
pub struct Spool {
    folder: PathBuf,
}

/// What herm meant to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    pub boot: Option<String>,
    pub deadline: SystemTime,
}

/// What the claim on the beginning says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Nobody made it.
    None,
    /// Someone recovered this spool and gave it up.
    Abandoned,
    /// The command was about to begin, or began, under this supervisor.
    Began { supervisor: ProcessIdentity, boot: Option<String> },
    /// The line is not whole.
    Unreadable,
}

/// Why herm stops a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCause {
    Timeout,
    Interrupt,
}

impl StopCause {
    pub fn ending(self) -> Ending {
        match self {
            Self::Timeout => Ending::TimedOut,
            Self::Interrupt => Ending::Interrupted,
        }
    }
}

impl Spool {
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Makes the folder, with its intent, durable. One that was abandoned is replaced.
    pub fn create(folder: &Path, timeout: Duration, input: Option<&[u8]>) -> io::Result<Self> {
        let spool = Self::at(folder);
        if folder.exists() {
            if spool.claim() != Claim::Abandoned {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            // A supervisor that is still on its way works in the folder that is removed here, and
            // can create nothing in it any more.
            fs::remove_dir_all(folder)?;
        }
        let parent = folder.parent().ok_or(io::ErrorKind::InvalidInput)?;
        create_durably(parent)?;
        let mut name = folder.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        name.push(".new");
        let nascent = parent.join(name);
        match fs::remove_dir_all(&nascent) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::create_dir(&nascent)?;
        fs::write(nascent.join("intent"), intent_line(timeout))?;
        fs::write(nascent.join("output"), "")?;
        if let Some(input) = input {
            fs::write(nascent.join("input"), input)?;
        }
        fs::rename(&nascent, folder)?;
        sync_folder(parent)?;
        Ok(spool)
    }

    pub fn exists(&self) -> bool {
        self.folder.exists()
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn output(&self) -> PathBuf {
        self.folder.join("output")
    }

    pub fn output_bytes(&self) -> u64 {
        fs::metadata(self.output()).map_or(0, |output| output.len())
    }

    /// Removes what was handed over for the command, which may name secrets; it has been read.
    pub fn forget_input(&self) {
        // There is none for most.
        let _ = fs::remove_file(self.folder.join("input"));
    }

    /// What is said beside the output.
    pub fn report(&self) -> Report {
        Report::of(&self.folder.join("report"))
    }

    /// An ending with everything that is known besides.
    pub fn outcome(&self, ending: Ending, elsewhere: bool) -> Outcome {
        let report = self.report();
        let mut notices = report.notices();
        if let (Ending::Lost, true) = (ending, elsewhere) {
            let reason = report.reason().unwrap_or_else(|| "no reason was given".into());
            notices.push(format!("the connection to the environment was lost: {reason}"));
        }
        Outcome {
            ending,
            output: self.output(),
            output_bytes: self.output_bytes(),
            cwd: report.cwd,
            notices,
            sandboxed: if elsewhere { Sandboxed::Elsewhere } else { report.sandboxed },
        }
    }

    pub fn intent(&self) -> Option<Intent> {
        let line = self.line("intent")?;
        let (boot, deadline_ms) = line.split_once(' ')?;
        let deadline = UNIX_EPOCH.checked_add(Duration::from_millis(deadline_ms.parse().ok()?))?;
        Some(Intent { boot: known(boot), deadline })
    }

    /// Exit status of the command, if it has ended.
    pub fn status(&self) -> Option<i32> {
        self.line("status")?.parse().ok()
    }

    pub fn stop_cause(&self) -> Option<StopCause> {
        match self.line("stop")?.as_str() {
            "timeout" => Some(StopCause::Timeout),
            "interrupt" => Some(StopCause::Interrupt),
            _ => None,
        }
    }

    pub fn write_stop(&self, cause: StopCause) -> io::Result<()> {
        let line = match cause {
            StopCause::Timeout => "timeout .\n",
            StopCause::Interrupt => "interrupt .\n",
        };
        fs::write(self.folder.join("stop"), line)
    }

    pub fn claim(&self) -> Claim {
        if !self.folder.join("process").exists() {
            return Claim::None;
        }
        let Some(line) = self.line("process") else { return Claim::Unreadable };
        if line == ABANDONED {
            return Claim::Abandoned;
        }
        parse_process(&line).unwrap_or(Claim::Unreadable)
    }

    /// Claims the beginning for nobody. True if the command has not begun and never will.
    pub fn abandon(&self) -> bool {
        let path = self.folder.join("process");
        match OpenOptions::new().write(true).create_new(true).open(path) {
            // Where the line cannot be written the claim still stands, but a later recovery
            // could not read it; it then says that nobody can tell, which loses nothing.
            Ok(mut file) => writeln!(file, "{ABANDONED} .").is_ok(),
            Err(_) => self.claim() == Claim::Abandoned,
        }
    }

    /// The one line of a file, without its end mark.
    fn line(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.folder.join(name)).ok()?;
        text.strip_suffix(" .\n").map(str::to_owned)
    }
}

fn intent_line(timeout: Duration) -> String {
    let boot = identity::boot_id().unwrap_or_else(|| "-".into());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{boot} {} .\n", now.saturating_add(timeout).as_millis())
}

fn parse_process(line: &str) -> Option<Claim> {
    let mut fields = line.split(' ');
    let pid = fields.next()?.parse().ok()?;
    let start_ticks = fields.next()?.parse().ok()?;
    let boot = known(fields.next()?);
    Some(Claim::Began { supervisor: ProcessIdentity { pid, start_ticks }, boot })
}

fn known(field: &str) -> Option<String> {
    (field != "-").then(|| field.to_owned())
}

/// Makes a folder and those above it, and waits until their names are on disk.
fn create_durably(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = folder.parent().ok_or(io::ErrorKind::InvalidInput)?;
    create_durably(parent)?;
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    sync_folder(parent)
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
