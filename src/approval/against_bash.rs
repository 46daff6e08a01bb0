//! The reading against bash itself: random lines are run in a place where the only program is a
//! harmless `reboot`. Where bash runs it, the line must not have been allowed; and unless part of
//! it was honestly not understood, it must have been blocked.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::*;

/// Lines of one run; `HERM_TEST_LINES` sets another number, and with it other lines.
const LINES: usize = 800;
const TOKENS_MAX: u64 = 9;

const TOKENS: &[&str] = &[
    "reboot",
    "reboot",
    "reboot",
    "echo ",
    "echo ",
    "$(",
    ")",
    "`",
    "\"",
    "'",
    "{ ",
    "; }",
    ";",
    "&",
    "|",
    "||",
    "&&",
    "\n",
    "\\",
    "#",
    " # ",
    "(",
    "((",
    "))",
    "$((",
    "<<E\n",
    "\nE\n",
    "<<'E'\n",
    "<<<",
    "${x:-",
    "}",
    "[[ -n ",
    " ]]",
    "if ",
    "; then ",
    "; fi",
    "! ",
    "> f",
    "< f",
    ">&2 ",
    "x=",
    "$x",
    "${x}",
    "a",
    " ",
    " ",
    "case a in a) ",
    ";; esac",
    "for i in a; do ",
    "; done",
    "<(",
    "$'",
    "[",
    "]",
    "eval ",
    "exec ",
    "command ",
    ":",
    "*",
    "~",
    "=",
    "{a,",
    ",b}",
    "\\\n",
    "re",
    "boot",
    "\t",
    "\u{a0}",
    "é",
    "until ",
    "; do ",
    "time ",
    "coproc ",
    "f() ",
    "f",
    "function g ",
    "g",
    "test ",
    "[ ",
    "printf ",
    "trap ",
    " EXIT",
    "1",
    "-",
    "--",
    "$",
    "$IFS",
    "${IFS}",
    "x=(",
    "x+=",
    "x[",
    "declare ",
    "[[ a -eq ",
    "let ",
    "((x=",
    "@(",
    "?(",
    "!(",
    "+(a|",
    "\r",
    "\u{3000}",
    "builtin ",
    "$\"",
    ";;",
    ";&",
    "|&",
    "&>",
];

/// Numbers that look random and are the same every time (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn line(&mut self) -> String {
        let tokens = 1 + self.below(TOKENS_MAX);
        let choices = u64::try_from(TOKENS.len()).unwrap();
        let line: String =
            (0..tokens).map(|_| TOKENS[usize::try_from(self.below(choices)).unwrap()]).collect();
        line
    }
}

/// Whether bash runs the program when it is given the line.
fn bash_runs_it(line: &str, folder: &Path) -> bool {
    let mark = folder.join("mark");
    // How the line as a whole ends does not matter.
    let _ = Command::new("/usr/bin/timeout")
        .args(["--signal=KILL", "1", "/bin/bash", "-c", line])
        .current_dir(folder.join("cwd"))
        .env_clear()
        .env("PATH", folder.join("bin"))
        .env("MARK", &mark)
        .env("HOME", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    fs::remove_file(mark).is_ok()
}

#[test]
fn what_bash_would_run_is_never_allowed_and_blocked_where_it_was_understood() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("bin")).unwrap();
    fs::create_dir(folder.path().join("cwd")).unwrap();
    let program = folder.path().join("bin/reboot");
    fs::write(&program, "#!/bin/sh\n: > \"$MARK\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let lines = std::env::var("HERM_TEST_LINES").map_or(LINES, |lines| lines.parse().unwrap());
    let mut numbers = Numbers(lines as u64);
    assert!(bash_runs_it("reboot", folder.path()) && !bash_runs_it("echo reboot", folder.path()));
    let mut tried = 0;
    while tried < lines {
        let line = numbers.line();
        if !line.contains("reboot") && !line.contains("re") {
            continue;
        }
        tried += 1;
        let home = Some(Path::new("/home/alice"));
        let asked = Asked { command: &line, cwd: Path::new("/srv"), home, agent_home: None };
        let verdict = judge(&asked, &Rules::default(), Scene::Cli, &NoScripts).verdict;
        if matches!(verdict, Verdict::Block { .. }) || !bash_runs_it(&line, folder.path()) {
            continue;
        }
        let understood = !matches!(
            verdict,
            Verdict::Ask { rule: "unreadable" | "unknown-program" | "control-characters", .. }
        );
        assert!(!understood, "bash runs {line:?}, and it is {verdict:?}");
    }
}
