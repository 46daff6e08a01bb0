//! Options by which a program that does something else runs a command: `tar --to-command`,
//! `ssh -o ProxyCommand=`, `git -c core.pager=`, `sed 'e …'`, `vim -c '!…'`.

use super::{Inner, script_of};
use crate::approval::word::Field;

/// How an option names its command.
enum Value {
    /// In the next word, or after `=`.
    Whole,
    /// In the next word, or attached, after this.
    Behind(&'static str),
}

use Value::{Behind, Whole};

const OPTIONS: &[(&[&str], &[&str], Value)] = &[
    (
        &["tar", "gtar", "bsdtar"],
        &[
            "--to-command",
            "--use-compress-program",
            "-I",
            "--rsh-command",
            "-F",
            "--info-script",
            "--new-volume-script",
        ],
        Whole,
    ),
    (&["tar", "gtar", "bsdtar"], &["--checkpoint-action"], Behind("exec=")),
    (&["rsync", "rclone"], &["-e", "--rsh", "--rsync-path"], Whole),
    (&["ssh", "scp", "sftp", "autossh", "sshfs", "mosh"], &["-o"], Behind("ProxyCommand=")),
    (&["ssh", "scp", "sftp", "autossh", "sshfs", "mosh"], &["-o"], Behind("LocalCommand=")),
    (
        &["git"],
        &[
            "--upload-pack",
            "--receive-pack",
            "--exec",
            "-x",
            "--tree-filter",
            "--index-filter",
            "--msg-filter",
            "--env-filter",
        ],
        Whole,
    ),
    (&["sort", "gsort"], &["--compress-program"], Whole),
    (&["rg"], &["--pre", "--hostname-bin"], Whole),
    (&["man"], &["-P", "--pager", "-H", "--html"], Whole),
    (&["zip"], &["-TT", "--unzip-command"], Whole),
    (&["nc", "ncat", "netcat"], &["-e", "-c", "--exec", "--sh-exec"], Whole),
    (&["socat"], &[], Behind("EXEC:")),
    (&["socat"], &[], Behind("SYSTEM:")),
    (&["gdb", "lldb"], &["-ex", "-iex", "--eval-command"], Behind("shell ")),
    (&["gdb", "lldb"], &["-ex", "-iex", "--eval-command"], Behind("!")),
    (&["vim", "vi", "nvim", "view", "ex", "vimdiff"], &["-c", "--cmd"], Behind("!")),
    (&["vim", "vi", "nvim", "view", "ex", "vimdiff"], &[], Behind("+!")),
    (&["less", "more"], &[], Behind("+!")),
    (&["split"], &["--filter"], Whole),
    (&["mapfile", "readarray"], &["-C"], Whole),
    (&["complete"], &["-C"], Whole),
    (&["kubectl", "helm"], &["--post-renderer"], Whole),
    (&["logrotate", "certbot"], &["--pre-hook", "--post-hook", "--deploy-hook"], Whole),
    (&["inotifywait", "watchexec", "nodemon", "chokidar"], &["--exec", "-x", "-c", "--command"], Whole),
    (&["start-stop-daemon"], &["--exec", "--startas", "-x", "-a"], Whole),
    (&["docker", "podman"], &["--entrypoint"], Whole),
    (&["sqlite3"], &["-cmd"], Behind(".shell ")),
    (&["sqlite3"], &["-cmd"], Behind(".system ")),
    (&["sqlite3"], &[], Behind(".shell ")),
    (&["sqlite3"], &[], Behind(".system ")),
    (&["psql"], &["-c", "--command"], Behind("\\!")),
];

/// Settings of `git` whose values are commands.
const GIT_COMMANDS: &[&str] = &[
    "core.pager",
    "core.editor",
    "core.sshcommand",
    "core.fsmonitor",
    "core.hookspath",
    "sequence.editor",
    "diff.external",
    "credential.helper",
    "gpg.program",
    "core.askpass",
    "core.gitproxy",
];

/// The commands that a program is told to run besides.
pub fn texts(name: &str, arguments: &[Field]) -> Vec<Inner> {
    let mut inner = vec![];
    for (_, options, value) in OPTIONS.iter().filter(|(names, ..)| names.contains(&name)) {
        inner.extend(
            named_by(options, value, arguments).into_iter().flat_map(|text| script_of(Some(text), false)),
        );
    }
    match name {
        "git" => inner.extend(git(arguments)),
        "sed" | "gsed" => inner.extend(sed(arguments)),
        _ => {}
    }
    inner
}

fn named_by(options: &[&str], value: &Value, arguments: &[Field]) -> Vec<Field> {
    let mut found = vec![];
    for (nth, field) in arguments.iter().enumerate() {
        let text = field.text();
        let given = match options.iter().find(|option| text.starts_with(**option)) {
            Some(option) if text == *option => arguments.get(nth + 1).cloned(),
            Some(option) => {
                let rest = text.strip_prefix(option).unwrap_or_default();
                let attached = if option.starts_with("--") { rest.strip_prefix('=') } else { Some(rest) };
                attached.map(|attached| field.with_text(attached.to_owned()))
            }
            None if options.is_empty() => Some(field.clone()),
            None => None,
        };
        let Some(given) = given else { continue };
        match value {
            Whole => found.push(given),
            Behind(mark) => {
                if let Some((_, command)) = given.text().split_once(mark) {
                    found.push(given.with_text(command.to_owned()));
                }
            }
        }
    }
    found
}

/// `git -c KEY=COMMAND`, and aliases that begin with `!`.
fn git(arguments: &[Field]) -> Vec<Inner> {
    let mut inner = vec![];
    let keeps = arguments.iter().any(|field| field.value() == Some("config"));
    let pairs = arguments.iter().zip(arguments.iter().skip(1));
    for (option, setting) in pairs {
        let given = match option.value() {
            Some("-c" | "--config-env") => setting.text().split_once('='),
            // `git config alias.x '!…'` is run by the next `git x`.
            Some(key) if keeps => Some((key, setting.text())),
            _ => None,
        };
        let Some((key, command)) = given else { continue };
        let key = key.to_lowercase();
        let runs = GIT_COMMANDS.contains(&key.as_str())
            || key.starts_with("pager.")
            || key.ends_with(".textconv")
            || key.ends_with(".cmd")
            || key.ends_with(".clean")
            || key.ends_with(".smudge");
        let command = match (command.strip_prefix('!'), runs) {
            (Some(command), _) => command,
            (None, true) => command,
            (None, false) => continue,
        };
        inner.extend(script_of(Some(setting.with_text(command.to_owned())), false));
    }
    inner
}

/// Commands that `sed` itself runs: `e COMMAND`, and the flag `e`, which runs what it has made.
fn sed(arguments: &[Field]) -> Vec<Inner> {
    let script = arguments.iter().filter_map(Field::value).filter(|text| !text.starts_with('-'));
    let mut inner = vec![];
    for text in script.take(1) {
        for command in text.split(['\n', ';', '{', '}']) {
            let bare = command.trim_start_matches(|c: char| c.is_ascii_digit() || "$,+~! \t".contains(c));
            if let Some(line) = bare.strip_prefix("e ").or_else(|| (bare == "e").then_some("")) {
                inner.extend(script_of(Some(Field::literal(line)), false));
                if line.is_empty() {
                    inner.push(Inner::Unknown);
                }
            }
            if substitutes_and_runs(bare) {
                inner.push(Inner::Unknown);
            }
        }
    }
    inner
}

/// `s/…/…/e`: what comes of the replacement is run.
fn substitutes_and_runs(command: &str) -> bool {
    let Some(rest) = command.strip_prefix('s') else { return false };
    let Some(delimiter) = rest.chars().next().filter(|c| !c.is_alphanumeric()) else { return false };
    let flags = rest.rsplit(delimiter).next().unwrap_or_default();
    let parts = rest.matches(delimiter).count();
    parts >= 3 && flags.contains('e') && flags.chars().all(|c| "gpeiImM0123456789".contains(c))
}
