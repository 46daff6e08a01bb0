//! A command line made fit for the background: its standard input is a pipe with a name, that later
//! calls can write to, in a folder of its environment that they share with it; with a terminal, if one is
//! asked for. Only files are used between them: they may see nothing of each other's processes.
//!
//! What surrounds the command uses the system's programs, whatever `PATH` the session has exported, and
//! no names that the session may have exported.

use crate::environments::quoted;

/// Longest life of a background process, in seconds: a week.
pub const LIFETIME_S: u64 = 7 * 86_400;

/// A process, and the folder of its environment that later calls see as well.
#[derive(Clone, Copy)]
pub struct Named<'a> {
    pub name: &'a str,
    pub shared: &'a str,
}

/// Where what surrounds a command looks for programs.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Folder of a process in its environment.
fn folder(of: Named<'_>) -> String {
    format!("{}/herm-{}", of.shared, of.name)
}

/// What is run instead of `command`. The one who keeps the pipe open waits for a writer of another one,
/// who is [`close`]; then the process reads an end.
pub fn command(of: Named<'_>, command: &str, pty: bool) -> String {
    let (folder, line) = (folder(of), quoted(command));
    let run = match pty {
        true => format!(
            "command -v script >/dev/null || {{ echo 'a terminal needs script(1), of util-linux' >&2; exit 127; }}; \
             script -qefc {line} /dev/null"
        ),
        false => format!("\"${{BASH:-sh}}\" -c {line}"),
    };
    format!(
        "herm_d={folder} herm_path=$PATH herm_mask=$(umask); PATH={PATH}; umask 077\n\
         rm -rf \"$herm_d\"; mkdir -p \"$herm_d\" && mkfifo \"$herm_d/in\" \"$herm_d/hold\" || exit 97\n\
         ( read -r herm_x < \"$herm_d/hold\" ) > \"$herm_d/in\" 2>/dev/null </dev/null & herm_keeper=$!\n\
         trap 'kill $herm_keeper 2>/dev/null; rm -rf \"$herm_d\"' EXIT\n\
         umask \"$herm_mask\"\n\
         ( PATH=$herm_path; {run} ) < \"$herm_d/in\"\n\
         exit $?"
    )
}

/// Writes to the standard input of a process, which may just be beginning.
pub fn write(of: Named<'_>, data: &str) -> String {
    let folder = folder(of);
    let data = quoted(data);
    format!(
        "n=0; while [ ! -p {folder}/in ] && [ ! -e {folder}/closed ] && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done\n\
         [ -p {folder}/in ] || {{ echo 'its standard input is closed'; exit 3; }}\n\
         printf '%s' {data} > {folder}/in"
    )
}

/// Lets a process read the end of its standard input.
pub fn close(of: Named<'_>) -> String {
    let folder = folder(of);
    format!(
        "[ -p {folder}/in ] || {{ echo 'its standard input is closed'; exit 3; }}\n\
         touch {folder}/closed; rm -f {folder}/in; : > {folder}/hold"
    )
}
