//! Programs that start others: what they start is what counts.

use super::reading::Invocation;
use super::word::Field;

/// What an invocation starts.
pub enum Inner {
    /// A program with its arguments; open-ended where more arguments come when it runs.
    Command { fields: Vec<Field>, open_ended: bool },
    /// A text that a shell reads; the same shell, or one of its own.
    Script { text: String, same_shell: bool },
    /// A shell reads something that is not known.
    Unknown,
}

/// What was found behind an invocation.
#[derive(Default)]
pub struct Started {
    pub inner: Vec<Inner>,
    /// The launcher itself changes nothing.
    pub harmless: bool,
}

/// A program that runs the rest of its arguments.
struct Launcher {
    name: &'static str,
    /// Short options that take a value.
    valued: &'static str,
    /// Long options that take their value as the next word.
    valued_long: &'static [&'static str],
    /// Operands before the program.
    operands: usize,
    /// `NAME=value` may stand before the program.
    assignments: bool,
    harmless: bool,
}

const fn plain(name: &'static str, valued: &'static str, harmless: bool) -> Launcher {
    Launcher { name, valued, valued_long: &[], operands: 0, assignments: false, harmless }
}

const LAUNCHERS: &[Launcher] = &[
    Launcher {
        name: "sudo",
        valued: "ugphCrtTUDRa",
        valued_long: &[
            "--user",
            "--group",
            "--prompt",
            "--host",
            "--close-from",
            "--role",
            "--type",
            "--chdir",
            "--chroot",
            "--other-user",
            "--command-timeout",
        ],
        operands: 0,
        assignments: true,
        harmless: false,
    },
    Launcher { assignments: true, ..plain("doas", "uC", false) },
    Launcher { valued_long: &["--unset", "--chdir"], assignments: true, ..plain("env", "uC", false) },
    Launcher { valued_long: &["--adjustment"], ..plain("nice", "n", true) },
    plain("nohup", "", true),
    plain("exec", "a", false),
    plain("command", "", true),
    plain("builtin", "", true),
    plain("time", "fo", false),
    Launcher { operands: 1, valued_long: &["--signal", "--kill-after"], ..plain("timeout", "sk", true) },
    Launcher { operands: 1, valued_long: &["--signal", "--kill-after"], ..plain("gtimeout", "sk", true) },
    plain("setsid", "", false),
    Launcher { valued_long: &["--input", "--output", "--error"], ..plain("stdbuf", "ioe", true) },
    Launcher { valued_long: &["--class", "--classdata"], ..plain("ionice", "cn", true) },
    Launcher { operands: 1, ..plain("chroot", "", false) },
    Launcher { operands: 1, ..plain("taskset", "", false) },
    Launcher { operands: 1, ..plain("chrt", "TPD", false) },
    plain("unshare", "RwSG", false),
    plain("nsenter", "tSG", false),
    plain("strace", "eopsuaSXEPOI", false),
    plain("ltrace", "eopsuanlxSF", false),
    plain("busybox", "", false),
    plain("toybox", "", false),
    plain("caffeinate", "tw", false),
    plain("unbuffer", "", false),
    plain("systemd-run", "pEut", false),
    plain("pkexec", "", false),
    plain("proot", "rbwq", false),
    plain("fakeroot", "ls", false),
];

const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash"];

/// What an invocation starts; nothing for most.
pub fn look_through(invocation: &Invocation, stdin: Option<&Field>) -> Started {
    let Some(name) = invocation.name() else { return Started::default() };
    let arguments = invocation.arguments.as_slice();
    if SHELLS.contains(&name) {
        return shell(arguments, stdin);
    }
    match name {
        "eval" => script_of(joined(arguments), true),
        "trap" => script_of(arguments.first().cloned(), true),
        "xargs" | "parallel" => xargs(arguments),
        "find" | "fd" | "fdfind" => Started { inner: find(arguments), harmless: false },
        "watch" => {
            script_of(joined(after_options(arguments, "nd", &["--interval"]).unwrap_or_default()), false)
        }
        "su" | "runuser" | "script" | "flock" | "ssh-agent" => {
            Started { inner: dash_c(arguments), harmless: false }
        }
        "env" if let Some(text) = split_string(arguments) => script_of(Some(text), false),
        _ => LAUNCHERS
            .iter()
            .find(|launcher| launcher.name == name)
            .map_or_else(Started::default, |launcher| launched(launcher, arguments, invocation.open_ended)),
    }
}

fn launched(launcher: &Launcher, arguments: &[Field], open_ended: bool) -> Started {
    if launcher.name == "command"
        && arguments.first().and_then(Field::value).is_some_and(|a| matches!(a, "-v" | "-V"))
    {
        return Started { inner: vec![], harmless: true };
    }
    let Some(mut rest) = after_options(arguments, launcher.valued, launcher.valued_long) else {
        return Started::default();
    };
    rest = rest.get(launcher.operands..).unwrap_or_default();
    if launcher.assignments {
        let assigned = rest.iter().take_while(|field| field.text().contains('=')).count();
        rest = rest.get(assigned..).unwrap_or_default();
    }
    if rest.is_empty() {
        return Started::default();
    }
    Started { inner: vec![Inner::Command { fields: rest.to_vec(), open_ended }], harmless: launcher.harmless }
}

/// What follows the options.
fn after_options<'a>(arguments: &'a [Field], valued: &str, valued_long: &[&str]) -> Option<&'a [Field]> {
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        let Some(text) = first.value() else { return Some(rest) };
        rest = match text {
            "--" => return Some(after),
            "-" => after,
            _ if text.starts_with("--") && valued_long.contains(&text) => after.get(1..).unwrap_or_default(),
            _ if text.starts_with("--") => after,
            _ => match text.strip_prefix('-') {
                None => return Some(rest),
                Some(cluster) if takes_next(cluster, valued) => after.get(1..).unwrap_or_default(),
                Some(_) => after,
            },
        };
    }
    Some(&[])
}

/// Whether the last letter of a cluster takes the next word as its value.
fn takes_next(cluster: &str, valued: &str) -> bool {
    let first_valued = cluster.find(|c| valued.contains(c));
    first_valued.is_some_and(|at| cluster.len() == at + 1)
}

fn joined(arguments: &[Field]) -> Option<Field> {
    if arguments.iter().any(|field| field.value().is_none()) {
        return Some(Field::unknown());
    }
    let words: Vec<&str> = arguments.iter().map(Field::text).collect();
    (!words.is_empty()).then(|| Field::literal(&words.join(" ")))
}

fn script_of(text: Option<Field>, same_shell: bool) -> Started {
    let inner = match text {
        None => vec![],
        Some(field) => match field.value() {
            Some(text) => vec![Inner::Script { text: text.into(), same_shell }],
            None => vec![Inner::Unknown],
        },
    };
    Started { inner, harmless: false }
}

/// `bash -c TEXT`, or a text on standard input; a script file is not read.
fn shell(arguments: &[Field], stdin: Option<&Field>) -> Started {
    let mut rest = arguments;
    let mut has_c = false;
    while let Some((first, after)) = rest.split_first() {
        let Some(text) = first.value().filter(|text| text.starts_with(['-', '+']) && text.len() > 1) else {
            break;
        };
        rest = after;
        if text.starts_with("--") {
            if matches!(text, "--rcfile" | "--init-file") {
                rest = rest.get(1..).unwrap_or_default();
            }
            continue;
        }
        has_c |= text.contains('c');
        if text.ends_with(['o', 'O']) {
            rest = rest.get(1..).unwrap_or_default();
        }
        if text.contains('s') && !has_c {
            return Started { harmless: false, ..script_of(stdin.cloned(), false) };
        }
    }
    if has_c {
        // Other options may read start-up files.
        let harmless = arguments.first().and_then(Field::value) == Some("-c");
        return Started { harmless, ..script_of(rest.first().cloned(), false) };
    }
    if rest.is_empty() {
        return script_of(stdin.cloned(), false);
    }
    Started::default()
}

/// `su -c TEXT`.
fn dash_c(arguments: &[Field]) -> Vec<Inner> {
    let at = arguments.iter().position(|field| {
        field.value().is_some_and(|text| {
            text == "--command" || (text.starts_with('-') && !text.starts_with("--") && text.ends_with('c'))
        })
    });
    let text = at.and_then(|at| arguments.get(at + 1)).cloned();
    let attached =
        arguments.iter().find_map(|field| field.value()?.strip_prefix("--command=")).map(Field::literal);
    script_of(text.or(attached), false).inner
}

/// `env -S TEXT`.
fn split_string(arguments: &[Field]) -> Option<Field> {
    for (nth, field) in arguments.iter().enumerate() {
        let text = field.value()?;
        if text == "-S" || text == "--split-string" {
            return joined(arguments.get(nth + 1..)?);
        }
        if let Some(attached) = text.strip_prefix("-S").or_else(|| text.strip_prefix("--split-string=")) {
            return Some(Field::literal(attached));
        }
        if !text.starts_with('-') {
            return None;
        }
    }
    None
}

fn xargs(arguments: &[Field]) -> Started {
    let valued_long =
        ["--arg-file", "--delimiter", "--max-lines", "--max-args", "--max-procs", "--max-chars", "--replace"];
    let rest = after_options(arguments, "adEILnPsJRS", &valued_long).unwrap_or_default();
    let inner = if rest.is_empty() {
        vec![]
    } else {
        vec![Inner::Command { fields: rest.to_vec(), open_ended: true }]
    };
    let harmless = !inner.is_empty();
    Started { inner, harmless }
}

/// The commands of `-exec` and its relatives, up to `;` or `+`.
fn find(arguments: &[Field]) -> Vec<Inner> {
    let mut inner = vec![];
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let runs = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
        if first.value().is_some_and(|text| runs.contains(&text)) {
            let end = after.iter().position(|field| matches!(field.text(), ";" | "+")).unwrap_or(after.len());
            let (command, left) = after.split_at_checked(end).unwrap_or((after, &[]));
            let fields = command
                .iter()
                .map(|field| if field.text() == "{}" { Field::unknown() } else { field.clone() });
            inner.push(Inner::Command { fields: fields.collect(), open_ended: true });
            rest = left;
        }
    }
    inner
}
