//! The process between herm and a command: a few lines of `sh` that outlive herm.
//!
//! It leads a session of its own, so that no terminal reaches the command and one signal reaches
//! everything that the command starts. The command writes into a pipe that `cat` empties into the
//! spool: a command whose output *is* a file would empty that file by writing to `/dev/stderr`.
//! `cat` outlives everything but SIGKILL; a command is never ended by a reader that went away.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;

use tokio::process::{Child, Command};

use super::{Error, VariablePolicy, identity, spool::Spool};

/// Largest output that is kept, in blocks of 512 bytes: 256 MiB, what one blob of the log can hold.
/// A command that prints more is ended by the broken pipe, also while herm is not there.
const OUTPUT_BLOCKS_MAX: u64 = 512 * 1024;

/// Arguments: boot id, output limit in blocks, program with its arguments. Runs in the spool. `$$` is
/// the pid that herm knows. Traps, unlike ignored signals, are not inherited.
const SCRIPT: &str = r#"
trap : HUP INT TERM
boot=$1 blocks=$2
shift 2
read -r line < "/proc/$$/stat"
born() { set -f; set -- ${line##*) }; set +f; ticks=${20:-0}; }
born
set -C
printf '%s %s %s .\n' "$$" "$ticks" "$boot" > process || exit 97
set +C
from=/dev/null
[ ! -e input ] || from=input
{
  trap : HUP INT TERM
  ( exec "$@" ) < "$from" 2> report
  printf '%s .\n' "$?" > status
} | (
  trap '' HUP INT TERM
  ulimit -f "$blocks"
  exec cat >> output
)
"#;

/// What a supervisor runs. It reads the spool's `input`, if there is one; its standard error is the
/// spool's `report`.
#[derive(Clone, Debug)]
pub struct Launch {
    pub program: Vec<OsString>,
    pub variables: Vec<(String, String)>,
}

/// Starts the supervisor. The command has not begun yet when this returns; the spool tells.
pub fn start(launch: &Launch, policy: &VariablePolicy, spool: &Spool) -> Result<Child, Error> {
    let boot = identity::boot_id().unwrap_or_else(|| "-".into());
    let mut command = in_own_session();
    command
        .args(["-c", SCRIPT, "herm-supervisor", &boot, &OUTPUT_BLOCKS_MAX.to_string()])
        .args(&launch.program)
        .current_dir(spool.folder())
        .env_clear()
        .envs(policy.filter(std::env::vars_os()))
        .envs(launch.variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(false);
    command.spawn().map_err(|source| Error::StartShell { program: "/bin/sh".into(), source })
}

/// `sh` as leader of a new session, or at least of a new process group where `setsid` is missing.
fn in_own_session() -> Command {
    for setsid in ["/usr/bin/setsid", "/bin/setsid"] {
        if Path::new(setsid).exists() {
            let mut command = Command::new(setsid);
            command.arg("/bin/sh");
            return command;
        }
    }
    let mut command = Command::new("/bin/sh");
    command.process_group(0);
    command
}

/// The shell of command lines on this machine.
pub fn shell() -> &'static str {
    ["/bin/bash", "/usr/bin/bash"].into_iter().find(|shell| Path::new(shell).exists()).unwrap_or("/bin/sh")
}
