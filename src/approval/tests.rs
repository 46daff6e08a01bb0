//! Tables of command lines and what is to be said of them.

use std::path::Path;

use super::*;

const HOME: &str = "/home/alice";

fn judged(command: &str, rules: &Rules, scripts: &dyn Scripts) -> Judgement {
    let cwd = Path::new("/home/alice/project");
    let asked = Asked { command, cwd, home: Some(Path::new(HOME)), agent_home: None };
    judge(&asked, rules, Scene::Cli, scripts)
}

fn verdict(command: &str) -> Verdict {
    judged(command, &Rules::default(), &NoScripts).verdict
}

fn rule(command: &str) -> &'static str {
    match verdict(command) {
        Verdict::Allow => "allow",
        Verdict::Ask { rule, .. } | Verdict::Block { rule, .. } => rule,
    }
}

fn anywhere(command: &str) -> Verdict {
    let asked = Asked { command, cwd: Path::new("/"), home: None, agent_home: None };
    judge(&asked, &Rules::default(), Scene::Cli, &NoScripts).verdict
}

fn is_blocked(command: &str) -> bool {
    matches!(verdict(command), Verdict::Block { .. })
}

#[test]
fn each_catastrophe_is_blocked_by_its_rule() {
    for (command, rule) in [
        ("rm -rf /", "delete-root"),
        ("rm -rf /usr", "delete-system-folder"),
        ("rm -rf ~", "delete-home"),
        ("mkfs.ext4 /dev/sdb1", "format-filesystem"),
        ("dd if=img of=/dev/nvme0n1", "dd-to-disk"),
        ("cat img > /dev/sda", "redirect-to-disk"),
        (":(){ :|:& };:", "fork-bomb"),
        ("kill -9 -1", "kill-everything"),
        ("sudo reboot", "power-off"),
        ("init 0", "init-power-off"),
        ("systemctl poweroff", "systemctl-power-off"),
        ("telinit 6", "telinit-power-off"),
    ] {
        assert!(is_blocked(command), "{command}");
        assert_eq!(super::tests::rule(command), rule, "{command}");
    }
}

#[test]
fn a_disguise_changes_nothing() {
    for command in [
        // Quotes, escapes, other spellings of the same words.
        "\\rm -rf /",
        "\"rm\" -rf /",
        "r''m -rf /",
        "r\\m -rf /",
        "rm -r -f /",
        "rm -fr -- /",
        "rm -rf -v /",
        "rm / -rf",
        "rm --recursive --force /",
        "rm --rec /",
        "/bin/rm -rf /",
        "RM=rm; $RM -rf /",
        "rm -rf \\\n/",
        "$'rm' -rf /",
        "$'\\x72m' -rf /",
        "rm${IFS}-rf${IFS}/",
        "rm$IFS-rf$IFS/",
        "{rm,-rf,/}",
        "rm -rf /{etc,usr}",
        // Other spellings of the same place.
        "rm -rf //",
        "rm -rf /./",
        "rm -rf /..",
        "rm -rf /usr/..",
        "rm -rf /*",
        "rm -rf / *",
        "rm -rf \"/\"",
        "rm -rf /etc/",
        "rm -rf /etc/*",
        "rm -f /etc/*",
        "rm -rf \"$HOME\"",
        "rm -rf ${HOME}/",
        "rm -rf $HOME/*",
        "rm -rf ~/",
        "rm -rf ~/*",
        "rm -rf ~/.",
        "rm -rf /home/alice",
        "rm -rf ..",
        "rm -rf ../../..",
        "rm -rf ~root",
        "rm -rf /home",
        "cd / && rm -rf *",
        "cd; rm -rf *",
        "rm -rf ${UNSET:-/}",
        "D=/; rm -rf $D",
        "rm -rf ${HOME:?}",
        "for d in /etc /usr; do rm -rf $d; done",
        "rm -rf / --no-preserve-root",
        "rm -rf ./build /",
        // Launchers.
        "sudo rm -rf /etc",
        "sudo -u root -E rm -rf /",
        "env FOO=1 rm -rf /",
        "env -i rm -rf /",
        "nice -n 10 rm -rf ~",
        "nohup rm -rf / &",
        "timeout 5 rm -rf /etc",
        "timeout -k 1 5 rm -rf /",
        "command rm -rf /",
        "exec shutdown",
        "time rm -rf /",
        "xargs rm -rf /",
        "find . -exec rm -rf / \\;",
        "busybox rm -rf /",
        "stdbuf -o0 rm -rf /",
        "setsid rm -rf /",
        "doas rm -rf /",
        "env -S 'rm -rf /'",
        "sudo -- rm -rf /",
        "sudo A=b reboot",
        // Positions.
        "$(rm -rf /)",
        "echo \"$(rm -rf ~)\"",
        "echo `rm -rf /`",
        "echo \"`rm -rf /`\"",
        "(reboot)",
        "{ shutdown -h now; }",
        "ls; reboot",
        "ls\nreboot",
        "ls && reboot",
        "ls || reboot",
        "ls | reboot",
        "ls & reboot",
        "if true; then reboot; fi",
        "while true; do reboot; done",
        "case x in x) reboot;; esac",
        "f() { reboot; }; f",
        "echo ${x:-$(reboot)}",
        "x=$(reboot)",
        "cat <(reboot)",
        "echo $(( $(reboot) ))",
        "[[ -n $(reboot) ]]",
        "! reboot",
        "reboot > /dev/null",
        "echo x > $(reboot)",
        "cat <<EOF\n$(reboot)\nEOF",
        "a[$(reboot)]=1",
        "for x in $(reboot); do :; done",
        "until reboot; do :; done",
        "coproc reboot",
        "echo \"a $(grep x f; reboot) b\"",
        // Texts that a shell is given.
        "bash -c 'rm -rf /'",
        "sh -c \"rm -rf /\"",
        "bash -lc 'rm -rf /'",
        "bash -o pipefail -c 'rm -rf /'",
        "eval 'rm -rf /'",
        "eval rm -rf /",
        "bash <<'EOF'\nrm -rf /\nEOF",
        "bash <<< 'rm -rf /'",
        "echo 'rm -rf /' | sh",
        "trap 'rm -rf /' EXIT",
        "su -c 'rm -rf /'",
        "sudo bash -c 'rm -rf /'",
        "bash -c \"bash -c 'rm -rf /'\"",
        "echo reboot | sudo bash -s",
        // The others.
        "dd of=/dev/sda",
        "dd if=/dev/zero of='/dev/sd'a",
        "echo x >> /dev/sda",
        "> /dev/sda",
        "cat x >| /dev/nvme0n1",
        "echo x &> /dev/sda1",
        "exec > /dev/sda",
        "{ echo; } > /dev/sda",
        "mkfs -t ext4 /dev/sda",
        "kill -KILL -1",
        "kill -s KILL -1",
        "kill -9 -- -1",
        "sudo shutdown -h now",
        "/sbin/halt",
        "poweroff",
        "telinit 0",
        "systemctl --no-wall reboot",
        "systemctl start poweroff.target",
        "sudo systemctl -H host kexec",
        "b() { b | b & }; b",
        "f() { f & f; }; f",
        // A shell runs what stands before the place that it cannot read.
        "reboot\n)",
        "rm -rf /\necho 'unclosed",
        "ls; rm -rf / (",
        "fi; reboot",
        "((((((((((((reboot))))))))))))",
        "cat x > /dev/sda )",
        "((1)); ((1)); ((1)); ((1)); ((1)); ((1)); ((1)); reboot",
        "bash -c 'reboot\n)'",
        "!(reboot)",
        "r\\\nm -rf /",
        "echo $[ $(reboot) ]",
        "ls |& reboot",
        "ls;\n\n  reboot",
        "echo ${a[$(reboot)]:-x}",
        "echo ${x/a/$(reboot)}",
        "echo ${x:$(reboot)}",
        "echo ${x:?$(reboot)}",
        "echo \"${x:+\"$(reboot)\"}\"",
        // What is not set is nothing, and a here-document need not end.
        "$UNSET reboot",
        "reboot$UNSET",
        "$(true) rm -rf /",
        "reboot <<E\nx",
        ". /dev/stdin <<< reboot",
        "git config alias.x '!reboot'; git x",
        "sudo PAGER=reboot man ls",
        "set -- rm -rf /; \"$@\"",
        "vim -c ':!reboot' f",
        "psql -c '\\! reboot'",
        "chronic reboot",
        "declare -a a=(rm -rf /); \"${a[@]}\"",
        "ls; reboot <<'E'\n(",
        "printf SAFE#x; reboot",
        "(printf ok)# note\nreboot",
        "cat <<'A'\nok\nA\nreboot",
    ] {
        assert!(is_blocked(command), "{command:?}: {:?}", verdict(command));
    }
}

#[test]
fn what_only_looks_like_a_catastrophe_is_not_blocked() {
    for command in [
        "echo \"rm -rf /\"",
        "grep 'rm -rf /' notes",
        "git commit -m \"block rm -rf / spellings\"",
        "rm -rf ./build",
        "rm -rf /...",
        "rm -rf /.scratch/x",
        "rm -rf /tmp/x",
        "rm -rf /usr/local/foo",
        "rm -rf /home/alice/project",
        "rm -rf ~/project/target",
        "rm -rf *",
        "rm -rf .cache/*",
        "rm -r $DIR",
        "rm -rf \"$DIR/build\"",
        "rm /etc",
        "printf ok # note; reboot",
        "printf ok;# note; reboot",
        "printf ok \\\n# note; reboot",
        "echo halt",
        "cat <<'EOF'\nreboot\nEOF",
        "cat <<EOF\nrm -rf /\nEOF",
        "find . -name '*reboot*'",
        "man shutdown",
        "which reboot",
        "kill -1 123",
        "kill -9 1234",
        "kill -- -123",
        "dd if=./data of=./backup.bin",
        "dd if=/dev/sda of=disk.img",
        "cat /dev/sda > img",
        "echo t > /dev/null",
        "ls /dev/sda",
        "systemctl status reboot.target",
        "systemctl list-units",
        "git init",
        "init 3",
        "./init 5",
        "echo x > ./dev/sda",
        "echo '$(reboot)'",
        "echo \\$\\(reboot\\)",
        "git commit -F - <<'EOF'\nfix: document bash -c \"rm -rf ~/x\"\nEOF",
        "\"$ADB\" reboot",
        "fib() { echo $(fib 1) $(fib 2); }",
        "cd / && cd tmp && rm -rf *",
        "(cd /); rm -rf *",
        "command -v reboot",
        "python3 -c 'print(\"rm -rf /\")'",
        "echo ':(){ :|:& };:'",
        "ssh host uptime",
        "make -j4 reboot",
        "npm run shutdown",
    ] {
        assert!(!is_blocked(command), "{command:?}: {:?}", verdict(command));
    }
}

#[test]
fn what_plainly_only_reads_is_allowed() {
    for command in [
        "ls",
        "ls -la src",
        "cat README.md",
        "head -n 20 a.txt",
        "wc -l *.rs",
        "grep -rn 'fn main' src | head -5",
        "rg -n foo src",
        "find . -name '*.rs' -type f",
        "pwd",
        "echo hello",
        "date",
        "date +%s",
        "date -u -d yesterday",
        "git status",
        "git log --oneline -5",
        "git --no-pager diff HEAD~1",
        "git branch",
        "git branch -a",
        "git -C sub show",
        "uname -a",
        "sort -u a | uniq -c | sort -rn",
        "cut -d: -f1 /etc/passwd",
        "diff a b",
        "[ -f x ] && echo yes",
        "test -d src || echo no",
        "ls 2>/dev/null",
        "ls > /dev/null 2>&1",
        "cat < a.txt",
        "echo $((1 + 2))",
        "echo $?",
        "for f in a b; do echo $f; done",
        "if [ -e x ]; then cat x; fi",
        "cargo --version",
        "python3 --version",
        "sed -n '10,20p' src/lib.rs",
        "timeout 5 ls",
        "command -v cargo",
        "echo \"$(grep -c x f)\"",
        "cd src && ls",
        "cat <<'EOF'\nrm -rf /\nEOF",
        "ls # comment",
        "(ls; pwd)",
        "time ls",
        "bash -c 'ls -l'",
        "jq .a x.json",
        "sha256sum Cargo.lock",
        "tree -L 2",
        "sleep 1",
        "LC_ALL=C sort a",
        "stat .env",
        "ls -la ~/.ssh",
        "man sudo",
        "x=1; echo $x",
        "echo ZWNobyBoaQo= | base64 -d",
        "cat .env.example",
        "grep -n '.env' src/main.rs",
        "git stash list",
        "true",
        "ps aux | grep herm",
        "cat ~/.herm/config.yaml",
        "nl -ba f | sed -n '1,5p'",
        "[[ -f a ]] && cat a",
    ] {
        assert_eq!(verdict(command), Verdict::Allow, "{command:?}");
    }
}

#[test]
fn nothing_is_known_of_a_home_that_is_not_told_but_its_spellings() {
    for command in ["rm -rf ~", "rm -rf \"$HOME\"/*"] {
        assert!(matches!(anywhere(command), Verdict::Block { rule: "delete-home", .. }), "{command}");
    }
    assert!(matches!(anywhere("rm -rf ./x"), Verdict::Ask { .. }));
}

#[test]
fn nasty_texts_are_asked_about_quickly() {
    let nested = |open: &str, inner: &str, close: &str, times: usize| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    let mut texts = vec![];
    for times in [5, 12, 20, 24, 25, 100, 2_000, 30_000] {
        texts.push(nested("(", "ls", ")", times));
        texts.push(nested("( ", "ls", " )", times));
        texts.push(nested("$(", "ls", ")", times));
        texts.push(nested("echo \"$(", "ls", ")\"", times));
        texts.push(nested("{ ", "ls", "; }", times));
        texts.push(nested("${x:-", "y", "}", times));
        texts.push(nested("{a,", "b", "}", times));
        texts.push(nested("if ls; then ", "ls", "; fi", times));
        texts.push(nested("while ls; do ", "ls", "; done", times));
        texts.push(nested("case x in x) ", "ls", ";; esac", times));
        texts.push(nested("$((", "1", "))", times));
        texts.push(nested("((", "1", "))", times));
        texts.push(nested("f() { ", "ls", "; }", times));
        texts.push(nested("<(", "ls", ")", times));
        for word in [
            "(",
            ")",
            "{ ",
            "\"",
            "'",
            "`",
            "\\",
            "$(",
            "${",
            "$((",
            "ls | ",
            "! ",
            "a=b ",
            "<<E\n",
            "if ",
            "sudo ",
            "ls;",
            "ls\n",
            "time ",
            "[[ ",
            "a{b,c}",
            "> f ",
            "&",
            "*",
            "?(",
            "@(a|",
            "'a'",
            "${x}",
            "((a;",
            "( (",
            "if ( ",
            "f() ( ",
            "{ (",
            "! (",
            "x=(",
            "[[ ( ",
            "$( (",
            "case $( ",
            "(( (",
            "for ((",
            "$((( ",
            "f() ((",
            "if ((",
            "${a[",
            "a=$((",
            "<( ( ",
            "while ! ((",
            "a | (",
            "a && ((",
            "bash -c ",
            "é",
        ] {
            texts.push(word.repeat(times));
        }
    }
    texts.push("x".repeat(COMMAND_CHARS_MAX));
    texts.push(format!("x=aa; {}", "x=$x$x; ".repeat(10_000)));
    texts.push(format!("x=aa; {} {}", "x=$x$x; ".repeat(20), "$x".repeat(50_000)));
    texts.push((0..7_000).map(|n| format!("x{n}=1;ls|ls;")).collect());
    texts.push("cd a; ".repeat(20_000));
    let values = (0..16).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
    texts.push(format!("{} ls {}", format!("for x in {values}; do ").repeat(10), "; done".repeat(10)));
    texts.push("{a,b}".repeat(20_000));
    texts.push("{a,b}".repeat(20));
    texts.push("x ".repeat(COMMAND_CHARS_MAX / 2));
    for text in texts {
        if text.chars().count() > COMMAND_CHARS_MAX {
            continue;
        }
        let begin = std::time::Instant::now();
        anywhere(&text);
        let shown: String = text.chars().take(40).collect();
        assert!(begin.elapsed().as_secs() < 5, "{:?} for {} bytes of {shown:?}", begin.elapsed(), text.len());
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[ -~\n]{0,60}|\\PC{0,20}|([;&|<>(){}$`\"'\\\\#*~=! \n]|rm|/|-rf|if|fi|do|in|EOF){0,30}") {
        anywhere(&text);
        last_program(&text);
    }
}

/// Parts that are put together at random and repeated: whatever grows faster than the text shows here.
const PARTS: &[&str] = &[
    "(",
    ")",
    "{ ",
    "}",
    "$(",
    "`",
    "\"",
    "'",
    "\\",
    "$((",
    "((",
    "))",
    "<(",
    "<<E\n",
    "E\n",
    "<<<",
    "|",
    "&&",
    ";",
    "\n",
    "&",
    "if ",
    "then ",
    "fi ",
    "case x in ",
    "x) ",
    ";; ",
    "esac ",
    "for x in ",
    "do ",
    "done ",
    "f() ",
    "[[ ",
    "]] ",
    "x=",
    "$x",
    "${x:-",
    "${x/a/",
    "{a,b}",
    "*",
    "?",
    "[a-z]",
    "ls ",
    "rm -rf ",
    "sudo ",
    "xargs ",
    "sh -c '",
    "eval ",
    "env -S ",
    "find . -exec ",
    "echo -e ",
    "printf %s ",
    " x",
    "/",
    "~",
    "# ",
    "DELETE FROM t;",
    "psql -c ",
    "> ",
    "< ",
];
/// Bytes of such a text.
const REPEATED_BYTES: usize = 24 << 10;
/// Time that even an unoptimized build does not need.
const REPEATED_TIME_MAX: std::time::Duration = std::time::Duration::from_secs(8);

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 48, ..Default::default() })]
    #[test]
    fn what_is_repeated_takes_no_more_than_its_length(parts in proptest::collection::vec(0..PARTS.len(), 1..7)) {
        let part: String = parts.iter().map(|nth| PARTS[*nth]).collect();
        let text = part.repeat(REPEATED_BYTES / part.len());
        let begin = std::time::Instant::now();
        anywhere(&text);
        proptest::prop_assert!(begin.elapsed() < REPEATED_TIME_MAX, "{:?} for {part:?}", begin.elapsed());
    }
}

#[test]
fn the_program_that_gives_the_exit_status_is_the_last_one() {
    for (command, program) in [
        ("grep x f", Some("grep")),
        ("cat f | grep x", Some("grep")),
        ("cd d; /usr/bin/diff a b", Some("diff")),
        ("git grep x", Some("git grep")),
        ("timeout 5 grep x f", Some("grep")),
        ("a && grep x f", None),
        ("! grep x f", None),
        ("(grep x f)", None),
        ("grep 'x", None),
    ] {
        assert_eq!(last_program(command).as_deref(), program, "{command}");
    }
}

#[test]
fn what_is_too_large_is_refused_in_every_mode() {
    let off = Rules { mode: Mode::Off, ..Rules::default() };
    for (text, refused) in [
        ("echo a; ".repeat(COMMAND_CHARS_MAX / 8), false),
        ("echo a; ".repeat(COMMAND_CHARS_MAX / 8 + 1), true),
        ("x".repeat(UNSEPARATED_CHARS_MAX), false),
        ("x".repeat(UNSEPARATED_CHARS_MAX + 1), true),
        ("é".repeat(UNSEPARATED_CHARS_MAX), false),
        (format!("{}\n{}", "x".repeat(UNSEPARATED_CHARS_MAX), "y"), false),
        ("a;".repeat(SEGMENTS_MAX - 1), false),
        ("a;".repeat(SEGMENTS_MAX), true),
    ] {
        let judgement = judged(&text, &off, &NoScripts);
        assert_eq!(judgement.step == Step::Limits, refused, "{} characters", text.chars().count());
        if refused {
            assert_eq!(judgement.outcome, Outcome::Blocked);
            assert!(matches!(judgement.verdict, Verdict::Block { rule: TOO_LARGE, .. }));
        }
    }
}

#[test]
fn what_is_refused_for_its_size_is_kept_and_the_way_on_is_named() {
    let home = tempfile::tempdir().unwrap();
    let text = "x".repeat(UNSEPARATED_CHARS_MAX + 1);
    let mut judgement = judged(&text, &Rules::default(), &NoScripts);
    saved::keep(&mut judgement, &text, home.path());
    let Verdict::Block { shown, .. } = judgement.verdict else { panic!() };
    let kept: Vec<_> = std::fs::read_dir(home.path().join("cache/blocked-scripts")).unwrap().collect();
    let path = kept[0].as_ref().unwrap().path();
    assert!(kept.len() == 1 && shown.contains(&format!("bash {}", path.display())), "{shown}");
    assert!(std::fs::read_to_string(path).unwrap().contains(&text));

    let mut harmless = judged("ls", &Rules::default(), &NoScripts);
    let before = harmless.clone();
    saved::keep(&mut harmless, "ls", home.path());
    assert_eq!(harmless, before);
}

fn step(command: &str, rules: &Rules) -> Step {
    judged(command, rules, &NoScripts).step
}

#[test]
fn the_first_three_steps_cannot_be_passed() {
    let pattern = |command: &str| match verdict(command) {
        Verdict::Ask { pattern, .. } => pattern,
        _ => command.to_owned(),
    };
    let rules = Rules {
        mode: Mode::Off,
        deny: vec!["git push*".into()],
        allowlist: vec![pattern("rm -rf /"), pattern("echo x | sudo -S id"), pattern("git push -f")],
        ..Rules::default()
    };
    assert_eq!(step("rm -rf /", &rules), Step::HardLine);
    assert_eq!(step("echo x | sudo -S id", &rules), Step::SudoStdin);
    assert_eq!(step("git push -f", &rules), Step::DenyRule);
    assert_eq!(step("git reset --hard", &rules), Step::Off);
    assert_eq!(step("ls", &rules), Step::Passed);
}

#[test]
fn a_password_for_sudo_is_refused_unless_herm_has_one() {
    for command in [
        "echo x | sudo -S id",
        "sudo -k && sudo -S ls",
        "sudo -nS id",
        "sudo -Sk id",
        "sudo --stdin id",
        "sudo -u root -S id",
        "sudo -A id",
        "sudo --askpass id",
        "env sudo -S id",
        "bash -c 'sudo -S id'",
        "sudo --std id",
        "/usr/bin/sudo -S id",
    ] {
        assert_eq!(step(command, &Rules::default()), Step::SudoStdin, "{command}");
        let known = Rules { sudo_password: true, ..Rules::default() };
        assert_eq!(judged(command, &known, &NoScripts).outcome, Outcome::Asks, "{command}");
    }
    for command in ["sudo id", "sudo -u S id", "sudo -E make", "sudo ls -S", "sudo -n id"] {
        assert_eq!(step(command, &Rules::default()), Step::Passed, "{command}");
    }
}

#[test]
fn a_deny_rule_is_about_what_runs() {
    for (rule, blocked, passed) in [
        ("*systemctl*", "systemctl stop web", "rg -n systemctl deploy.sh"),
        ("*docker *", "docker stop web", "grep -n docker deploy.sh"),
        ("*docker *", "sudo docker ps", "echo docker stop"),
        ("*docker *", "docker", "git commit -m 'stop docker now'"),
        ("*docker *", "bash -c 'docker ps'", "nice grep docker f"),
        ("git push*", "git push origin main", "git pull"),
        ("git push --force*", "ls; git push --force origin", "git push origin"),
        ("*--force*", "git push --force", "git commit -m 'use --force'"),
        ("*prod*", "kubectl get pods -n prod", "grep prod f"),
        ("*id_rsa*", "cat ~/.ssh/id_rsa", "man id_rsa"),
        ("GIT *", "git status", "gitk"),
        ("curl * | sh", "curl x | sh", "curl x"),
        ("npm publish", "npm publish", "npm publish-x"),
        ("*docker*", "$(docker ps)", "find . -name '*docker*'"),
        ("terraform ?pply", "terraform apply", "terraform plan"),
        ("*reboot*", "x='touch reboot'; eval \"$x\"", "printf reboot"),
    ] {
        let rules = Rules { deny: vec![rule.into()], ..Rules::default() };
        assert_eq!(step(blocked, &rules), Step::DenyRule, "{rule}: {blocked}");
        assert_ne!(step(passed, &rules), Step::DenyRule, "{rule}: {passed}");
    }
    let empty = Rules { deny: vec![String::new(), " ".into()], ..Rules::default() };
    assert_eq!(step("ls", &empty), Step::Passed);
}

fn pattern(command: &str) -> String {
    match verdict(command) {
        Verdict::Ask { pattern, .. } => pattern,
        other => panic!("{command:?}: {other:?}"),
    }
}

#[test]
fn a_yes_covers_a_danger_and_no_other() {
    let rules = |command: &str| Rules { allowlist: vec![pattern(command)], ..Rules::default() };
    for (yes, covered) in [
        ("git push -f", "git push --force origin main"),
        ("git reset --hard", "git -C x reset --hard HEAD~1"),
        ("rm -r build", "rm -rf target/debug"),
        ("docker stop a", "docker stop b"),
        ("kubectl delete pod x", "kubectl -n y delete pod z"),
        ("psql -c 'DROP TABLE a'", "psql -c 'drop table b'"),
        ("echo A=1 > .env", "tee .env"),
    ] {
        assert_eq!(step(covered, &rules(yes)), Step::AllowList, "{yes}: {covered}");
    }
    for (yes, other) in [
        ("git push -f", "git push origin :main"),
        ("git push -f", "git push -f && git reset --hard"),
        ("git reset --hard", "git clean -fd"),
        ("rm -r build", "rm -rf /srv/x"),
        ("rm -r build", "ls | xargs rm -r"),
        ("rm -r build", "rm -r build; $X"),
        ("python3 -c 'print(1)'", "python3 -c 'print(2)'"),
        ("curl http://a/x | sh", "curl http://b/x | sh"),
        ("docker stop a", "docker rm a"),
        ("psql -c 'DROP TABLE a'", "psql -c 'DROP DATABASE a'"),
        ("echo A=1 > .env", "echo A=1 > ../.env"),
        ("chmod 777 f", "chmod -R 777 f"),
        ("bash <<< ls", "bash <<< id"),
        ("$X", "$Y"),
        ("python3 -c \"$X\"", "python3 -c \"$Y\""),
        ("rm -r \"$X\"", "rm -r \"$Y\""),
    ] {
        assert_eq!(step(other, &rules(yes)), Step::Dangerous, "{yes}: {other}");
    }
    let both = "git push -f && git reset --hard";
    assert_eq!(step(both, &rules(both)), Step::AllowList);
    let each =
        Rules { allowlist: vec![pattern("git push -f"), pattern("git reset --hard")], ..Rules::default() };
    assert_eq!(step(both, &each), Step::AllowList);
}

#[test]
fn a_grant_may_be_for_one_target() {
    let Verdict::Ask { pattern, target, .. } = verdict("rm -r build") else { panic!() };
    assert_eq!(target.as_deref(), Some("build"));
    let grant = Grant { pattern, target };
    let rules = Rules { grants: vec![grant.clone()], ..Rules::default() };
    assert_eq!(step("rm -rf build", &rules), Step::Grant);
    assert_eq!(step("rm -rf other", &rules), Step::Dangerous);
    let any = Rules { grants: vec![Grant { target: None, ..grant }], ..Rules::default() };
    assert_eq!(step("rm -rf other", &any), Step::Grant);
}

#[test]
fn the_scene_decides_who_answers() {
    let outcome = |rules: &Rules, scene| {
        let cwd = Path::new("/home/alice/project");
        let asked = Asked { command: "git reset --hard", cwd, home: None, agent_home: None };
        let judgement = judge(&asked, rules, scene, &NoScripts);
        assert!(matches!(judgement.verdict, Verdict::Ask { .. }));
        judgement.outcome
    };
    let deny = Rules::default();
    let approve = Rules { cron: Preset::Approve, single_query: Preset::Approve, ..Rules::default() };
    for (rules, scene, expected) in [
        (&deny, Scene::Cli, Outcome::Asks),
        (&deny, Scene::Gateway, Outcome::Asks),
        (&deny, Scene::Cron, Outcome::Denied),
        (&deny, Scene::SingleQuery, Outcome::Denied),
        (&approve, Scene::Cli, Outcome::Asks),
        (&approve, Scene::Cron, Outcome::Runs),
        (&approve, Scene::SingleQuery, Outcome::Runs),
    ] {
        assert_eq!(outcome(rules, scene), expected, "{scene:?}");
    }
}

/// Scripts by path.
struct Shelf(&'static [(&'static str, Script)]);

impl Scripts for Shelf {
    fn read(&self, path: &Path) -> Script {
        let found = self.0.iter().find(|(name, _)| Path::new(name) == path);
        found.map_or(Script::Missing, |(_, script)| script.clone())
    }
}

#[test]
fn scripts_are_read_and_judged() {
    let text = |text: &str| Script::Text(text.into());
    let shelf = Box::leak(Box::new(vec![
        ("/home/alice/project/wipe.sh", text("#!/bin/bash\nset -e\nrm -rf /\n")),
        ("/home/alice/project/reset", text("#!/bin/sh\ngit reset --hard\n")),
        ("/home/alice/project/fine.sh", text("ls\necho \"$1\"\n")),
        ("/home/alice/project/outer.sh", text("./wipe.sh\n")),
        ("/home/alice/project/self.sh", text("./self.sh\n")),
        ("/home/alice/project/arg.sh", text("rm -rf \"$1\"\n")),
        ("/home/alice/project/x.py", text("#!/usr/bin/env python3\nrm -rf /\n")),
        ("/home/alice/project/tool", Script::Binary),
        ("/home/alice/project/big.sh", Script::Unreadable("is too long to be checked")),
        ("/home/alice/.profile2", text("export A=1\nreboot\n")),
    ]));
    let shelf = Shelf(shelf);
    for (command, expected) in [
        ("bash wipe.sh", "delete-root"),
        ("sh ./wipe.sh", "delete-root"),
        ("./wipe.sh", "delete-root"),
        ("source wipe.sh", "delete-root"),
        (". ./wipe.sh", "delete-root"),
        ("bash < wipe.sh", "delete-root"),
        ("sudo ./wipe.sh", "delete-root"),
        ("cd /tmp; /home/alice/project/wipe.sh", "delete-root"),
        ("bash -x wipe.sh", "delete-root"),
        ("./outer.sh", "delete-root"),
        ("source ~/.profile2", "power-off"),
        ("bash arg.sh /", "delete-root"),
        ("bash arg.sh build", "delete-recursively"),
        ("./reset", "git-reset-hard"),
        ("bash big.sh", "unreadable"),
        ("./fine.sh x", "allow"),
        ("./self.sh", "unreadable"),
        ("./x.py", "allow"),
        ("python3 x.py", "allow"),
        ("./tool", "allow"),
        ("bash missing.sh", "allow"),
        ("cd sub && ./wipe.sh", "allow"),
    ] {
        let judgement = judged(command, &Rules::default(), &shelf);
        let rule = match judgement.verdict {
            Verdict::Allow => "allow",
            Verdict::Ask { rule, .. } | Verdict::Block { rule, .. } => rule,
        };
        assert_eq!(rule, expected, "{command}");
    }
    let said = |script: &'static str| {
        let scripts = Shelf(Box::leak(Box::new([("/home/alice/project/run", text(script))])));
        match judged("./run", &Rules::default(), &scripts).verdict {
            Verdict::Ask { pattern, .. } => pattern,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(said("$X"), said("$X"));
    assert_ne!(said("$X"), said("$X; ls"), "a yes to a script is none to another of its name");
    let Verdict::Ask { reason, .. } = judged("./reset", &Rules::default(), &shelf).verdict else { panic!() };
    assert!(reason.contains("in the script `./reset`"), "{reason}");
}

#[test]
fn what_would_run_is_listed_as_the_shell_would_see_it() {
    let commands = |command| judged(command, &Rules::default(), &NoScripts).commands;
    assert_eq!(commands("r\\m -r \"a b\" $X | tee \"$(date)\""), ["rm -r 'a b' …", "date", "tee …"]);
    assert_eq!(commands("sudo -u bob env A=1 ls"), ["sudo -u bob env A=1 ls", "env A=1 ls", "ls"]);
    assert!(commands("# ls").is_empty());
}

#[test]
fn brackets_with_a_space_between_them_are_subshells() {
    for command in [
        "( ( reboot))",
        "((reboot) )",
        "( (reboot) )",
        "echo $( (reboot))",
        "echo $((reboot) )",
        "echo \"$( ( reboot ) )\"",
        "(\\\n(reboot))",
        "if ( (reboot)); then ls; fi",
        "( ( ls; reboot ) )",
        "( case x in (x) reboot;; esac)",
        "cat <(( reboot\n)\n)",
        "cat <((reboot))",
        "cat <(( cat <<END\n$(reboot\n)\nEND\n)\n)",
        "cat <(( cat <<END\n$(:(){ :|:& };:\n)\nEND\n)\n)",
        "( ( ( reboot)))",
        "((( reboot) ))",
        "(case x in x) reboot;; esac)",
        "( case x in (x) a=(y 'reboot'); ${a[1]};; esac )",
        "(if ls; then case x in x) reboot;; esac; fi; case y in y) ls;; esac)",
    ] {
        assert!(is_blocked(command), "{command:?}: {:?}", verdict(command));
    }
    for command in ["((i++))", "(( $i < 10 )) && ls", "echo $((x + (1 * 2)))", "((a > 5)); ( ls )"] {
        assert_eq!(verdict(command), Verdict::Allow, "{command}");
    }
}

#[test]
fn options_of_launchers_may_be_short_and_shortened_and_repeated() {
    for command in [
        "env -iS 'sh -c halt'",
        "env -vS/bin/sh -c halt",
        "env --spl='sh -c halt'",
        "env --un X --split 'halt -f'",
        "env -S '-u X sh -c halt'",
        "env -S 'sh\\_-c\\_halt'",
        "env -a other -S halt",
        "env -iC /tmp A.B=1 halt",
        "su -lc halt",
        "su bob -c 'echo x' --comm halt",
        "su --session-command=halt bob",
        "runuser -g staff --command halt bob",
        "runuser -u bob halt",
        "sh -c -x halt",
        "bash -c -o nounset -- halt",
        "timeout --foreground 5 halt",
        "ssh host <<< halt",
        "echo halt | ssh -p 2222 host",
        "kill -1",
        "halt${IFS:0:1}-f",
        "rm -rf \\\r\n/",
    ] {
        assert!(is_blocked(command), "{command:?}: {:?}", verdict(command));
    }
    for command in [
        "env -u halt ls",
        "env -Svi halt",
        "env -- echo -S halt",
        "env A=1 echo --split-string halt",
        "env -0S halt",
        "su -c halt -c 'echo x' bob",
        "su -whalt bob",
        "su -- bob -c halt",
        "runuser -u bob --command halt",
        "sh -- -c halt",
        "sudo -n echo sh -c halt",
        "timeout --foreground echo sh -c halt",
        "ssh host uptime <<< halt",
        "gcc -c halt.c",
    ] {
        assert!(!is_blocked(command), "{command:?}: {:?}", verdict(command));
    }
}

/// Where it stands has a stack of its own size; what is read there must fit into a part of it.
#[test]
fn a_shallow_line_is_read_on_half_a_megabyte() {
    let quoted = |text: &str| format!("bash -c '{}'", text.replace('\'', "'\\''"));
    let nested = (0..6).fold("( { ls; } )".to_owned(), |text, _| quoted(&text));
    let texts = [
        "sudo ".repeat(9) + "ls",
        "sudo ".repeat(7) + "bash -c '( { ls; } )'",
        nested,
        "eval ".repeat(9) + "ls",
        "xargs ".repeat(9) + "ls",
        "echo ${x:-${y:-z}} $(echo $(ls)) $((1 + (2)))".to_owned(),
        "if ls; then if ls; then (ls); fi; fi".to_owned(),
        "f() { { ls \"$(ls)\"; }; }; f".to_owned(),
        "case x in a) (ls);; esac; [[ ( -n a ) && ! b ]]".to_owned(),
        "a{b,{c,d}}e ".repeat(20),
        "{ ls | ( ls ) ; } | ".repeat(50) + "cat",
    ];
    for text in texts {
        let thread = std::thread::Builder::new().stack_size(512 << 10);
        let judged = thread.spawn(move || anywhere(&text)).unwrap();
        judged.join().unwrap();
    }
}
