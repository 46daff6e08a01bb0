//! A command line made fit for the background: its standard input is a pipe with a name, that later
//! calls can write to, in the file system of its environment; with a terminal, if one is asked for.

use crate::environments::quoted;

/// Longest life of a background process, in seconds: a week.
pub const LIFETIME_S: u64 = 7 * 86_400;

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
        "umask 077; d={folder}; mkdir -p \"$d\" && rm -f \"$d/in\" && mkfifo \"$d/in\" || exit 97\n\
         sleep {LIFETIME_S} > \"$d/in\" 2>/dev/null </dev/null & echo $! > \"$d/keeper\"\n\
         trap 'kill \"$(cat \"$d/keeper\" 2>/dev/null)\" 2>/dev/null; rm -rf \"$d\"' EXIT\n\
         ( {run} ) < \"$d/in\"\n\
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
