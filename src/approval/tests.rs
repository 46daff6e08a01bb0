//! Tables of command lines and what is to be said of them.

use std::path::Path;

use super::*;

const HOME: &str = "/home/alice";

fn verdict(command: &str) -> Verdict {
    judge(command, Path::new("/home/alice/project"), Some(Path::new(HOME)))
}

fn is_blocked(command: &str) -> bool {
    matches!(verdict(command), Verdict::Block { .. })
}

fn is_asked(command: &str) -> bool {
    matches!(verdict(command), Verdict::Ask { .. })
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
        assert_eq!(verdict(command), Verdict::Block { rule }, "{command}");
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
fn everything_else_is_asked() {
    for command in [
        // Changes.
        "cargo build",
        "rm x",
        "mv a b",
        "touch x",
        "echo x > f",
        "echo x >> f",
        "ls > out",
        "ls &> out",
        "tee f",
        "python3 build.py",
        "make",
        "git commit -m x",
        "git branch -D old",
        "git push",
        "git tag v1",
        "git remote add a b",
        "npm install",
        "curl https://example.net",
        "sed -i s/a/b/ f",
        "chmod +x f",
        "kill 123",
        "mkdir d",
        // Options of readers that write or run.
        "find . -delete",
        "find . -exec cat {} \\;",
        "find . -fprint f",
        "sort -o f f",
        "sort --outp=f f",
        "sort -uo f f",
        "sort --compress-program=./x f",
        "rg --pre ./x y",
        "git diff --output=f",
        "git log --outp=f",
        "git -c a.b=c log",
        "git grep -Oless x",
        "git diff --ext-diff",
        "tree -o f",
        "uniq a b",
        "date -s tomorrow",
        "date 01010101",
        "hostname new",
        "sed 's/a/b/w f' x",
        "sed -n 'e' x",
        "man -P ./x ls",
        "env",
        "printenv",
        "set",
        "export",
        "sort *",
        "rg x *",
        "printf -v 'a[$(id)]' x",
        "test -v 'a[$(id)]'",
        "[[ 'a[$(id)]' -eq 1 ]]",
        "x='a[$(id)]'; echo $((x))",
        "for x in 'a[$(id)]'; do echo $((x)); done",
        "(( 'a[$(id)]' ))",
        // What is only known when it runs.
        "$CMD",
        "$(echo ls)",
        "`echo ls`",
        "cat $FILE",
        "ls $(cat f)",
        "/bin/l?",
        "eval \"$X\"",
        "bash -c \"$X\"",
        "x=rm; false && x=ls; $x foo",
        "ls | xargs cat",
        "bash script.sh",
        "sh",
        "source f",
        ". f",
        "./ls",
        "~/bin/ls",
        "/tmp/ls",
        "echo x | sh -c \"$Y\"",
        "bash <(echo ls)",
        "cat < $F",
        "cat < /dev/tcp/example.net/80",
        "bash --rcfile x -ic ls",
        // Variables that programs heed.
        "PATH=. ls",
        "PATH=.; ls",
        "LD_PRELOAD=x ls",
        "GIT_PAGER=./x git log",
        "IFS=x",
        "BASH_ENV=x bash -c ls",
        // Other users.
        "sudo ls",
        "sudo -S whoami",
        "doas cat x",
        // Secrets.
        "cat .env",
        "cat ~/.ssh/id_rsa",
        "cat ~/.aws/credentials",
        "head .env.local",
        "grep x .env",
        "cat < .env",
        "cat .e*",
        "cat ~/.s*/*",
        "git show HEAD:.env",
        "cat /proc/self/environ",
        "cat server.key",
        "cat ~/.bash_history",
        "base64 ~/.netrc",
        "grep -r token ~",
        "cd ~ && grep -r token",
        "grep -r token /",
        "head -c 9 /dev/sda",
        // Not shell, or not text.
        "ls >& f",
        "ls <> f",
        "x='$(id)'; echo ${x@P}",
        "x=-v; false && x=%s; printf $x 'a[$(id)]' y",
        "echo ${x@P}",
        "grep -ex .env",
        "rg --files .env",
        "cd ~/.ssh && cat id*",
        "yarn --version",
        "echo $[ $(touch x) ]",
        "echo {$(touch x),b}",
        "ls {a,`touch x`}",
        "echo ${a['b[$(id)]']}",
        "${x}ls",
        "l${x}s",
        "select x in a; do touch x; done",
        "ls (",
        "echo 'unclosed",
        "ls\r",
        "\u{1b}[31mrm\u{1b}[0m -rf x",
        "r\0m -rf x",
        "\u{ff52}\u{ff4d} -rf x",
        "fi",
    ] {
        assert!(is_asked(command), "{command:?}: {:?}", verdict(command));
    }
}

fn pattern(command: &str) -> String {
    match verdict(command) {
        Verdict::Ask { pattern, .. } => pattern,
        other => panic!("{command:?}: {other:?}"),
    }
}

#[test]
fn a_lasting_yes_covers_a_plain_command_with_its_subcommand_or_exactly_this_line() {
    assert_eq!(pattern("cargo build --release"), "cargo build");
    assert_eq!(pattern(" git commit -m 'x y' "), "git commit");
    for exact in [
        "rm -r build",
        "python3 build.py",
        "cargo build > log",
        "cargo build && rm x",
        "cargo test $X",
        "sudo cargo build",
        "cargo build < input",
        "RUSTFLAGS=x cargo build",
        "cargo -V build",
        "git $(echo push)",
        "echo y | npm install",
        "f() { cargo build; }",
        "cargo build <<EOF\nx\nEOF",
    ] {
        assert_eq!(pattern(exact), exact);
    }
}

#[test]
fn the_reason_is_one_plain_sentence() {
    for command in
        ["cargo build", "echo x > f", "sudo ls", "cat .env", "$X", "ls (", "PATH=. ls", "cat $F", "\u{1b}x y"]
    {
        let Verdict::Ask { reason, .. } = verdict(command) else { panic!("{command}") };
        assert!(reason.ends_with('.') && !reason.chars().any(char::is_control), "{reason}");
    }
    let Verdict::Ask { reason, rule, .. } = verdict("cargo build") else { panic!() };
    assert_eq!(reason, "It runs `cargo`, which is not known to only read here.");
    assert_eq!(rule, "not-read-only");
}

#[test]
fn nothing_is_known_of_a_home_that_is_not_told_but_its_spellings() {
    let judge = |command| judge(command, Path::new("/srv"), None);
    assert_eq!(judge("rm -rf ~"), Verdict::Block { rule: "delete-home" });
    assert_eq!(judge("rm -rf \"$HOME\"/*"), Verdict::Block { rule: "delete-home" });
    assert!(matches!(judge("rm -rf ./x"), Verdict::Ask { .. }));
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
        judge(&text, Path::new("/"), None);
        let shown: String = text.chars().take(40).collect();
        assert!(begin.elapsed().as_secs() < 5, "{:?} for {} bytes of {shown:?}", begin.elapsed(), text.len());
    }
    let long = "x".repeat(COMMAND_CHARS_MAX + 1);
    assert!(matches!(verdict(&long), Verdict::Ask { rule: "too-long", .. }));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[ -~\n]{0,60}|\\PC{0,20}|([;&|<>(){}$`\"'\\\\#*~=! \n]|rm|/|-rf|if|fi|do|in|EOF){0,30}") {
        judge(&text, Path::new("/"), None);
        last_program(&text);
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

/// Public cases: expected verdict and command lines, by case.
type Cases = std::collections::BTreeMap<String, std::collections::BTreeMap<String, Vec<String>>>;

/// Allowed by the cases, and still asked about: those that change something small. Which changes
/// are small is the full reading's to say.
const ASKED_FOR_NOW: &[&str] = &[
    "git branch -d old",
    "git push origin main",
    "git commit -F - <<'EOF'\nfix: document bash -c \"rm -rf ~/x\"\nEOF",
    "curl -fsSL https://example.net/a.tgz -o a.tgz",
    "python3 build.py",
    "kubectl get ns",
    "terraform plan",
    "docker ps",
    "psql -c \"SELECT 1\"",
    "sqlite3 a.db \"DELETE FROM users WHERE id = 1\"",
    "kill 12345",
    "pkill -f nginx",
    "rm run.sh",
    "rm -f readme.txt",
    "sed -n \"$(grep -n X f | cut -d: -f1),+3p\" f",
    "git commit -m \"rollback uses git clean -fdx\"",
    "git commit -m \"rm -rf /\"",
    "echo x > config.yaml.bak",
    "echo x > .env#backup",
    "pseudosudo -S id",
    "ｌｓ -ｌａ src",
    "nice -n 10 make",
    "env | sort",
];

#[test]
fn public_cases_get_the_verdict_that_they_expect() {
    let cases: Cases = serde_json::from_str(include_str!("cases.json")).unwrap();
    let mut asked_for_now = vec![];
    for (id, expected, command) in cases
        .iter()
        .flat_map(|(id, verdicts)| verdicts.iter().map(move |(expected, commands)| (id, expected, commands)))
        .flat_map(|(id, expected, commands)| commands.iter().map(move |command| (id, expected, command)))
    {
        let verdict = verdict(command);
        let (allowed, blocked) = (verdict == Verdict::Allow, matches!(verdict, Verdict::Block { .. }));
        let fits = match expected.as_str() {
            "block" => blocked,
            "ask" => !allowed && !blocked,
            "not_allow" => !allowed,
            "not_block" => !blocked,
            "allow" => {
                if !allowed && !blocked {
                    asked_for_now.push(command.as_str());
                }
                !blocked
            }
            other => panic!("{id}: unknown verdict {other}"),
        };
        assert!(fits, "{id}: {command:?} is to be {expected}, and is {verdict:?}");
    }
    assert_eq!(asked_for_now, ASKED_FOR_NOW);
}
