//! Tables of programs that run the rest of their arguments.

use super::{Inner, after_options, joined, script_of};
use crate::approval::word::Field;

/// A program that runs the rest of its arguments.
struct Launcher {
    names: &'static [&'static str],
    /// Words that must come first, after the options: `docker exec`. Empty: none.
    words: &'static [&'static str],
    /// Short options that take a value.
    valued: &'static str,
    /// Long options that take their value as the next word.
    valued_long: &'static [&'static str],
    /// Operands before the program.
    operands: usize,
    /// `NAME=value` may stand before the program.
    assignments: bool,
    /// How what follows is run.
    runs: Runs,
}

#[derive(Clone, Copy, PartialEq)]
enum Runs {
    /// As a program with its arguments.
    Program,
    /// Joined with spaces, by a shell.
    Shell,
    /// Only what follows `--`, as a program.
    AfterDashes,
    /// The value of `-c` or `--command`, by a shell; without it the rest, as a program.
    DashC,
}

const PLAIN: Launcher = Launcher {
    names: &[],
    words: &[],
    valued: "",
    valued_long: &[],
    operands: 0,
    assignments: false,
    runs: Runs::Program,
};

const fn plain(names: &'static [&'static str], valued: &'static str) -> Launcher {
    Launcher { names, valued, ..PLAIN }
}

const fn after(
    names: &'static [&'static str],
    words: &'static [&'static str],
    valued: &'static str,
) -> Launcher {
    Launcher { names, words, valued, ..PLAIN }
}

/// Options of `ssh` that take a value.
pub const SSH_VALUED: &str = "BbcDEeFIiJLlmOopQRSWw";

const DOCKER: &[&str] = &["docker", "podman", "nerdctl"];
const DOCKER_LONG: &[&str] = &[
    "--user",
    "--env",
    "--workdir",
    "--env-file",
    "--name",
    "--volume",
    "--mount",
    "--network",
    "--entrypoint",
    "--publish",
    "--label",
    "--hostname",
    "--memory",
    "--cpus",
    "--platform",
    "--add-host",
    "--cap-add",
    "--cap-drop",
    "--device",
    "--dns",
    "--gpus",
    "--ipc",
    "--pid",
    "--pull",
    "--restart",
    "--runtime",
    "--security-opt",
    "--shm-size",
    "--tmpfs",
    "--ulimit",
    "--userns",
    "--volumes-from",
    "--index",
    "--file",
    "--project-name",
    "--detach-keys",
    "--log-driver",
    "--stop-signal",
    "--context",
    "--host",
    "--net",
];

const LAUNCHERS: &[Launcher] = &[
    Launcher {
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
        assignments: true,
        ..plain(&["sudo"], "ugphCrtTUDRa")
    },
    Launcher { assignments: true, ..plain(&["doas"], "uC") },
    Launcher { valued_long: &["--adjustment"], ..plain(&["nice", "gnice"], "n") },
    plain(
        &[
            "nohup",
            "chronic",
            "nocache",
            "ts",
            "retry",
            "softlimit",
            "daemon",
            "command",
            "builtin",
            "setsid",
            "busybox",
            "toybox",
            "unbuffer",
            "pkexec",
            "eatmydata",
            "torsocks",
            "proxychains",
            "proxychains4",
            "dbus-run-session",
            "dbus-launch",
            "linux32",
            "linux64",
            "setarch",
            "catchsegv",
            "winpty",
            "tsocks",
            "noglob",
            "nocorrect",
            "daemonize",
        ],
        "",
    ),
    Launcher { operands: 1, ..plain(&["gosu", "su-exec", "setuidgid", "chpst", "faketime"], "") },
    plain(&["exec"], "a"),
    plain(&["time", "gtime"], "fo"),
    Launcher {
        operands: 1,
        valued_long: &["--signal", "--kill-after"],
        ..plain(&["timeout", "gtimeout"], "sk")
    },
    Launcher { valued_long: &["--input", "--output", "--error"], ..plain(&["stdbuf", "gstdbuf"], "ioe") },
    Launcher { valued_long: &["--class", "--classdata"], ..plain(&["ionice"], "cn") },
    Launcher { operands: 1, ..plain(&["chroot", "schroot", "arch-chroot"], "cu") },
    Launcher { operands: 1, ..plain(&["taskset"], "") },
    Launcher { operands: 1, ..plain(&["chrt"], "TPD") },
    plain(&["unshare"], "RwSG"),
    plain(&["nsenter"], "tSG"),
    plain(&["strace"], "eopsuaSXEPOI"),
    plain(&["ltrace"], "eopsuanlxSF"),
    plain(&["caffeinate"], "tw"),
    Launcher {
        valued_long: &[
            "--unit",
            "--property",
            "--uid",
            "--gid",
            "--setenv",
            "--slice",
            "--on-calendar",
            "--on-active",
            "--description",
            "--working-directory",
            "--machine",
            "--host",
        ],
        ..plain(&["systemd-run", "systemd-inhibit", "systemd-cat"], "pEutHM")
    },
    plain(&["proot"], "rbwq"),
    plain(&["fakeroot", "fakechroot"], "lsb"),
    plain(
        &[
            "valgrind", "rr", "firejail", "xvfb-run", "numactl", "cpulimit", "setpriv", "capsh", "prlimit",
            "choom",
        ],
        "nsepaFif",
    ),
    Launcher { operands: 1, ..plain(&["cgexec"], "g") },
    after(&["perf"], &["stat"], "eo"),
    after(&["perf"], &["record"], "eo"),
    after(&["uv", "poetry", "pipenv", "pdm", "rye", "hatch", "asdf", "mise"], &["run"], "p"),
    after(&["asdf", "mise", "bundle", "nvm", "pyenv", "rbenv", "fnm"], &["exec"], ""),
    Launcher { operands: 1, ..after(&["direnv"], &["exec"], "") },
    after(&["conda", "mamba", "micromamba"], &["run"], "np"),
    after(&["rustup"], &["run"], ""),
    Launcher { valued_long: DOCKER_LONG, operands: 1, ..after(DOCKER, &["exec"], "euwl") },
    Launcher { valued_long: DOCKER_LONG, operands: 1, ..after(DOCKER, &["run"], "euwvpmhlc") },
    Launcher { valued_long: DOCKER_LONG, operands: 1, ..after(DOCKER, &["container", "exec"], "euwl") },
    Launcher { valued_long: DOCKER_LONG, operands: 1, ..after(DOCKER, &["container", "run"], "euwvpmhlc") },
    Launcher { valued_long: DOCKER_LONG, operands: 1, ..after(DOCKER, &["compose", "exec"], "euwfp") },
    Launcher { valued_long: DOCKER_LONG, operands: 1, ..after(DOCKER, &["compose", "run"], "euwfpv") },
    Launcher {
        valued_long: DOCKER_LONG,
        operands: 1,
        ..after(&["docker-compose", "podman-compose"], &["exec"], "euwfp")
    },
    Launcher {
        valued_long: DOCKER_LONG,
        operands: 1,
        ..after(&["docker-compose", "podman-compose"], &["run"], "euwfpv")
    },
    Launcher {
        runs: Runs::AfterDashes,
        ..after(
            &["kubectl", "oc", "k3s", "lxc", "incus", "distrobox", "toolbox", "nix", "npx", "heroku", "fly"],
            &[],
            "",
        )
    },
    Launcher {
        operands: 1,
        runs: Runs::Shell,
        valued_long: &["--project", "--zone"],
        ..plain(&["ssh", "autossh", "mosh"], SSH_VALUED)
    },
    plain(&["sshpass"], "fdpP"),
    Launcher { runs: Runs::DashC, operands: 1, ..plain(&["flock"], "wE") },
    Launcher {
        runs: Runs::DashC,
        operands: usize::MAX,
        ..plain(&["script", "vagrant", "nix-shell", "newgrp", "sg"], "sgwTtoBIO")
    },
    Launcher { runs: Runs::Shell, valued_long: &[], ..after(&["tmux"], &["new-session"], "sncteFxy") },
    Launcher { runs: Runs::Shell, ..after(&["tmux"], &["new"], "sncteFxy") },
    Launcher { runs: Runs::Shell, ..after(&["tmux"], &["new-window"], "nctFe") },
    Launcher { runs: Runs::Shell, ..after(&["tmux"], &["split-window"], "lctFpe") },
    Launcher { runs: Runs::Shell, ..after(&["tmux"], &["run-shell"], "bt") },
    plain(&["screen"], "SchTtp"),
    Launcher { runs: Runs::Shell, ..after(&["adb"], &["shell"], "") },
    Launcher { runs: Runs::AfterDashes, ..plain(&["wsl", "wsl.exe", "start-stop-daemon"], "") },
];

/// What a program of the table starts.
pub fn launched(name: &str, arguments: &[Field], open_ended: bool) -> Vec<Inner> {
    LAUNCHERS
        .iter()
        .filter(|launcher| launcher.names.contains(&name))
        .find_map(|launcher| launcher.started(name, arguments, open_ended))
        .unwrap_or_default()
}

impl Launcher {
    fn started(&self, name: &str, arguments: &[Field], open_ended: bool) -> Option<Vec<Inner>> {
        if name == "command"
            && arguments.first().and_then(Field::value).is_some_and(|a| matches!(a, "-v" | "-V"))
        {
            return None;
        }
        let rest = self.after_words(arguments)?;
        match self.runs {
            Runs::AfterDashes => {
                let at = rest.iter().position(|field| field.value() == Some("--"))?;
                Some(self.command(rest.get(at + 1..)?, open_ended))
            }
            Runs::DashC => {
                let left = self.operands_left(rest)?;
                // Behind what it starts, `-c` is an option of that.
                let place = if self.operands == 1 { left.get(..2).unwrap_or_default() } else { rest };
                Some(match dash_c(place) {
                    Some(text) => script_of(Some(text), false),
                    None => self.command(left, open_ended),
                })
            }
            Runs::Shell => {
                let text = joined(self.operands_left(rest)?);
                Some(script_of(text, false))
            }
            Runs::Program => Some(self.command(self.operands_left(rest)?, open_ended)),
        }
    }

    /// What follows the words that must come first.
    fn after_words<'a>(&self, arguments: &'a [Field]) -> Option<&'a [Field]> {
        let mut rest = arguments;
        for word in self.words {
            rest = after_options(rest, self.valued, self.valued_long)?;
            let (first, after) = rest.split_first()?;
            rest = after;
            if first.value() != Some(word) {
                return None;
            }
        }
        Some(rest)
    }

    fn operands_left<'a>(&self, arguments: &'a [Field]) -> Option<&'a [Field]> {
        let mut rest = after_options(arguments, self.valued, self.valued_long)?;
        if self.assignments {
            let assigned = rest.iter().take_while(|field| field.text().contains('=')).count();
            rest = rest.get(assigned..).unwrap_or_default();
        }
        // A duration is a number; anything else is the program, or a mistake.
        let is_duration = |field: &Field| {
            field.unknown || field.text().starts_with(|c: char| c.is_ascii_digit() || c == '.')
        };
        if self.names.contains(&"timeout") && !rest.first().is_some_and(is_duration) {
            return Some(rest);
        }
        Some(rest.get(self.operands..).unwrap_or_default())
    }

    fn command(&self, rest: &[Field], open_ended: bool) -> Vec<Inner> {
        match (rest, open_ended) {
            // `xargs env`: the program comes when it runs.
            ([], true) => vec![Inner::Unknown],
            ([], false) => vec![],
            (rest, open_ended) => vec![Inner::Command { fields: rest.to_vec(), open_ended }],
        }
    }
}

/// The text of `-c TEXT` and its spellings.
fn dash_c(arguments: &[Field]) -> Option<Field> {
    let before_dashes = arguments.iter().take_while(|field| field.value() != Some("--"));
    for (nth, field) in before_dashes.enumerate() {
        let Some(text) = field.value() else { continue };
        let is_cluster = text.starts_with('-') && !text.starts_with("--") && text.ends_with('c');
        if is_cluster || matches!(text, "--command" | "--run" | "--session-command") {
            return arguments.get(nth + 1).cloned();
        }
        let attached = text.strip_prefix("--command=").or_else(|| text.strip_prefix("--session-command="));
        let attached = attached.or_else(|| text.strip_prefix("-c").filter(|text| text.contains(' ')));
        if let Some(attached) = attached {
            return Some(Field::literal(attached));
        }
    }
    None
}
