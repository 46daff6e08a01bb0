//! The red team: ten thousand disguises of the twelve hard lines a run, and as many of harmless
//! commands. The seed is printed; `HERM_SEED` repeats one.

use std::time::{SystemTime, UNIX_EPOCH};

use herm::approval::{Rules, Scene};

use super::disguise::{Dice, Line, Plain, disguise};
use super::{judged, word};

/// Disguises of one run.
const DISGUISES: usize = 10_000;

const HARD_LINES: &[Plain] = &[
    Plain::Words(&["rm", "-rf", "/"]),
    Plain::Words(&["rm", "-fr", "--", "/"]),
    Plain::Words(&["rm", "--recursive", "/"]),
    Plain::Words(&["rm", "-rf", "/usr"]),
    Plain::Words(&["rm", "-R", "/etc"]),
    Plain::Words(&["rm", "-rf", "/home/alice"]),
    Plain::Text("rm -rf ~"),
    Plain::Text("rm -rf \"$HOME\"/*"),
    Plain::Words(&["mkfs.ext4", "/dev/sdb1"]),
    Plain::Words(&["mkfs", "-t", "ext4", "/dev/sdb1"]),
    Plain::Words(&["dd", "if=img", "of=/dev/nvme0n1"]),
    Plain::Text("cat img > /dev/sda"),
    Plain::Text("echo x >> '/dev/sd'b"),
    Plain::Text(":(){ :|:& };:"),
    Plain::Text("b() { b | b & }; b"),
    Plain::Words(&["kill", "-9", "-1"]),
    Plain::Words(&["kill", "-s", "KILL", "-1"]),
    Plain::Words(&["shutdown", "-h", "now"]),
    Plain::Words(&["reboot"]),
    Plain::Words(&["/sbin/halt"]),
    Plain::Words(&["init", "0"]),
    Plain::Words(&["systemctl", "poweroff"]),
    Plain::Words(&["systemctl", "--no-wall", "reboot"]),
    Plain::Words(&["telinit", "6"]),
];

const HARMLESS: &[Plain] = &[
    Plain::Words(&["ls", "-la", "src"]),
    Plain::Words(&["cat", "README.md"]),
    Plain::Words(&["rm", "-f", "x.txt"]),
    Plain::Words(&["rm", "-rf", "build"]),
    Plain::Words(&["rm", "-rf", "/tmp/x"]),
    Plain::Words(&["dd", "if=a", "of=b"]),
    Plain::Text("cat img > disk.img"),
    Plain::Words(&["kill", "-9", "1234"]),
    Plain::Words(&["init", "3"]),
    Plain::Words(&["systemctl", "status", "reboot.target"]),
    Plain::Words(&["git", "status"]),
    Plain::Words(&["man", "reboot"]),
    Plain::Words(&["grep", "-n", "reboot", "f"]),
    Plain::Words(&["make", "halt"]),
    Plain::Text("go2() { echo hi; }; go2"),
];

fn seed() -> u64 {
    let given = std::env::var("HERM_SEED").ok().map(|seed| seed.parse().unwrap());
    let seed = given.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        u64::from(now.subsec_nanos()) ^ now.as_secs()
    });
    println!("HERM_SEED={seed}");
    seed
}

fn disguises<'a>(of: &'a [Plain], dice: &'a mut Dice) -> impl Iterator<Item = (Plain, Line)> + 'a {
    (0..DISGUISES).map(|nth| {
        let plain = of[nth % of.len()];
        (plain, disguise(plain, dice))
    })
}

#[test]
fn no_disguise_of_a_hard_line_gets_through() {
    let seed = seed();
    let (mut blocked, mut undecidable) = (0, 0);
    let mut through = vec![];
    for (plain, line) in disguises(HARD_LINES, &mut Dice::new(seed)) {
        let judgement = judged(&line.text, &Rules::default(), Scene::Cli);
        undecidable += usize::from(!line.decidable);
        match word(&judgement) {
            "block" => blocked += 1,
            "ask" if !line.decidable => {}
            other => through.push(format!(
                "{other}: {:?} of {plain:?}\n  {:?}\n  {:?}",
                line.text, judgement.verdict, judgement.commands
            )),
        }
    }
    println!("{blocked} of {DISGUISES} blocked, {undecidable} undecidable, {} others", through.len());
    through.truncate(20);
    assert!(through.is_empty(), "HERM_SEED={seed}\n{}", through.join("\n"));
    // Those that cannot be decided are few, or the generator would prove nothing.
    assert!(blocked * 10 >= DISGUISES * 8, "HERM_SEED={seed}: {blocked} of {DISGUISES} are blocked");
}

#[test]
fn no_disguise_of_a_harmless_command_is_blocked() {
    let seed = seed();
    let mut wrong = vec![];
    for (plain, line) in disguises(HARMLESS, &mut Dice::new(seed)) {
        let judgement = judged(&line.text, &Rules::default(), Scene::Cli);
        if word(&judgement) == "block" {
            wrong.push(format!("{:?} of {plain:?}\n  {:?}", line.text, judgement.verdict));
        }
    }
    wrong.truncate(20);
    assert!(wrong.is_empty(), "HERM_SEED={seed}\n{}", wrong.join("\n"));
}

#[test]
fn a_hard_line_that_is_only_spoken_of_is_not_blocked() {
    let seed = seed();
    let mut dice = Dice::new(seed);
    let mut wrong = vec![];
    for nth in 0..DISGUISES / 10 {
        let said = disguise(HARD_LINES[nth % HARD_LINES.len()], &mut dice).text;
        let quoted = format!("'{}'", said.replace('\'', "'\\''"));
        let text = match dice.below(7) {
            0 => format!("echo {quoted}"),
            1 => format!("git commit -m {quoted}"),
            2 => format!("grep -rn {quoted} docs"),
            3 => format!("cat > notes.md <<'NOTES{0}'\n{said}\nNOTES{0}", said.len()),
            4 => format!("printf '%s\\n' {quoted} >> notes.md"),
            5 => format!("ls # {}", said.replace('\n', " ")),
            _ => format!("note={quoted}; echo \"$note\""),
        };
        let judgement = judged(&text, &Rules::default(), Scene::Cli);
        if word(&judgement) == "block" {
            wrong.push(format!("{text:?}\n  {:?}", judgement.verdict));
        }
    }
    wrong.truncate(20);
    assert!(wrong.is_empty(), "HERM_SEED={seed}\n{}", wrong.join("\n"));
}

#[test]
fn what_the_parser_cannot_follow_is_asked_about() {
    for text in [
        "echo $(case x in x) reboot;; esac)",
        "echo \"$(case x in x) reboot;; esac\n)\"",
        "cat <<END\n$(case x in x) cat img > /dev/sda;; esac\n)\nEND",
        "echo \"$(case x in x) $(rev <<< toober);; esac)\"",
    ] {
        assert_ne!(word(&judged(text, &Rules::default(), Scene::Cli)), "allow", "{text}");
    }
}
