//! A command line made fit for the background: its standard input is a pipe with a name, that later
//! calls can write to, in the file system of its environment; with a terminal, if one is asked for.
//!
//! What surrounds the command uses the system's programs, whatever `PATH` the session has exported, and
//! no names that the session may have exported.

use crate::environments::quoted;

/// Longest life of a background process, in seconds: a week.
pub const LIFETIME_S: u64 = 7 * 86_400;

/// Where what surrounds a command looks for programs.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Folder of a process in its environment.
fn folder(name: &str) -> String {
    format!("/tmp/herm-{name}")
}

/// What is run instead of `command`. The one who keeps the pipe open is ended by [`close`]; then the
/// process reads an end.
pub fn command(name: &str, command: &str, pty: bool) -> String {
    let (folder, line) = (folder(name), quoted(command));
    let run = match pty {
        true => format!(
            "command -v script >/dev/null || {{ echo 'a terminal needs script(1), of util-linux' >&2; exit 127; }}; \
             script -qefc {line} /dev/null"
        ),
        false => format!("\"${{BASH:-sh}}\" -c {line}"),
    };
    format!(
        "herm_d={folder} herm_path=$PATH herm_mask=$(umask); PATH={PATH}; umask 077\n\
         mkdir -p \"$herm_d\" && rm -f \"$herm_d/in\" && mkfifo \"$herm_d/in\" || exit 97\n\
         sleep {LIFETIME_S} > \"$herm_d/in\" 2>/dev/null </dev/null & echo $! > \"$herm_d/keeper\"\n\
         trap 'kill \"$(cat \"$herm_d/keeper\" 2>/dev/null)\" 2>/dev/null; rm -rf \"$herm_d\"' EXIT\n\
         umask \"$herm_mask\"\n\
         ( PATH=$herm_path; {run} ) < \"$herm_d/in\"\n\
         exit $?"
    )
}

/// Writes to the standard input of a process, which may just be beginning.
pub fn write(name: &str, data: &str) -> String {
    let folder = folder(name);
    let data = quoted(data);
    format!(
        "n=0; while [ ! -p {folder}/in ] && [ ! -e {folder}/closed ] && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done\n\
         [ -p {folder}/in ] || {{ echo 'its standard input is closed'; exit 3; }}\n\
         printf '%s' {data} > {folder}/in"
    )
}

/// Lets a process read the end of its standard input.
pub fn close(name: &str) -> String {
    let folder = folder(name);
    format!(
        "[ -p {folder}/in ] || {{ echo 'its standard input is closed'; exit 3; }}\n\
         touch {folder}/closed; rm -f {folder}/in; kill \"$(cat {folder}/keeper)\""
    )
}
