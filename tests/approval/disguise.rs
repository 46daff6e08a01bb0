//! Other ways to write a command line: words spelt differently, and the whole put where a shell
//! runs it all the same. What a disguise runs is what it was made of.

/// Numbers that look random and are the same for a seed (splitmix64).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(end).unwrap()).unwrap()
    }

    pub fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

/// A command line in the making.
#[derive(Clone, Debug)]
pub struct Line {
    pub text: String,
    /// One program with its arguments, so that a launcher can stand before it.
    simple: bool,
    /// Without running it, it can be told what it runs.
    pub decidable: bool,
}

/// A command to disguise.
#[derive(Clone, Copy, Debug)]
pub enum Plain {
    /// A program with its arguments.
    Words(&'static [&'static str]),
    /// Something with operators.
    Text(&'static str),
}

/// One disguise of a command.
pub fn disguise(plain: Plain, dice: &mut Dice) -> Line {
    let mut line = match plain {
        Plain::Words(words) => spelt(words, dice),
        Plain::Text(text) => Line { text: text.to_owned(), simple: false, decidable: true },
    };
    for _ in 0..dice.below(4) {
        line = wrapped(line, dice);
    }
    line
}

fn spelt(words: &[&str], dice: &mut Dice) -> Line {
    let mut line = Line { text: String::new(), simple: true, decidable: true };
    let mut before = String::new();
    for (nth, word) in words.iter().enumerate() {
        if nth > 0 {
            let gap = dice.pick(&[" ", " ", " ", "  ", "\t", " \\\n", "${IFS}", "$IFS"]);
            line.text.push_str(gap);
            // `$IFSx` is another variable.
            if gap == "$IFS" {
                line.text.push_str("\"\"");
            }
        }
        let word = path_spelling(word, nth == 0, dice);
        let spelling = spelling(&word, nth, dice);
        line.text.push_str(&spelling.text);
        before.push_str(&spelling.before);
        line.decidable &= spelling.decidable;
    }
    if !before.is_empty() {
        line.text = format!("{before}{}", line.text);
        line.simple = false;
    }
    line
}

/// Other spellings of a path that mean the same place.
fn path_spelling(word: &str, is_file: bool, dice: &mut Dice) -> String {
    let is_path = word.starts_with('/') && !word.starts_with("/dev");
    let choices = if is_file { 4 } else { 7 };
    match if is_path { dice.below(choices) } else { 0 } {
        1 => format!("/{word}"),
        2 => format!("/tmp/..{word}"),
        3 => format!("/.{word}"),
        4 => format!("{word}/."),
        5 => format!("{word}/x/.."),
        6 => format!("{}/", word.trim_end_matches('/')),
        _ => word.to_owned(),
    }
}

struct Spelling {
    text: String,
    /// What has to stand before the command.
    before: String,
    decidable: bool,
}

fn spelling(word: &str, nth: usize, dice: &mut Dice) -> Spelling {
    let is_program = nth == 0;
    let same = |text: String| Spelling { text, before: String::new(), decidable: true };
    let chars: Vec<char> = word.chars().collect();
    let at = dice.below(chars.len());
    let (head, tail): (String, String) = (chars[..at].iter().collect(), chars[at..].iter().collect());
    let bytes = |radix: u32| {
        word.bytes()
            .map(|b| if radix == 16 { format!("\\x{b:02x}") } else { format!("\\{b:03o}") })
            .collect::<String>()
    };
    match dice.below(18) {
        0 => same(format!("\"{word}\"")),
        1 => same(format!("'{word}'")),
        2 => same(format!("{head}\\{tail}")),
        3 => same(format!("{head}''{tail}")),
        4 => same(format!("{head}\"{tail}\"")),
        5 => same(format!("$'{}'", bytes(16))),
        6 => same(format!("$'{}'", bytes(8))),
        7 => same(format!("{head}\\\n{tail}")),
        8 => same(format!("${{unset_x:-{word}}}")),
        9 => same(format!("$(echo {word})")),
        10 => same(format!("\"$(printf %s '{word}')\"")),
        11 => same(format!("$(printf '{}')", bytes(8))),
        12 => {
            let name = format!("v{nth}_{}", dice.below(90));
            Spelling { text: format!("${name}"), before: format!("{name}='{word}'; "), decidable: true }
        }
        13 => {
            let name = format!("w{nth}_{}", dice.below(90));
            let before = format!("{name}={head}; {name}+='{tail}'; ");
            Spelling { text: format!("\"${{{name}}}\""), before, decidable: true }
        }
        14 if is_program => {
            let coded: String = word.chars().rev().collect();
            Spelling { text: format!("$(rev <<< '{coded}')"), before: String::new(), decidable: false }
        }
        15 if is_program && word.chars().all(|c| c.is_ascii_lowercase()) => {
            let text = format!("$(echo {} | tr A-Z a-z)", word.to_uppercase());
            Spelling { text, before: String::new(), decidable: false }
        }
        16 => {
            let name = format!("a{nth}_{}", dice.below(90));
            let before = format!("{name}=(x '{word}'); ");
            Spelling { text: format!("${{{name}[1]}}"), before, decidable: true }
        }
        _ => same(word.to_owned()),
    }
}

fn wrapped(line: Line, dice: &mut Dice) -> Line {
    if line.simple && dice.below(2) == 0 {
        return launched(line, dice);
    }
    let Line { text, decidable, .. } = line;
    // A here-document ends with its own line.
    let end = if text.contains("<<") { "\n" } else { "; " };
    let quoted = format!("'{}'", text.replace('\'', "'\\''"));
    let text = match dice.below(40) {
        // Two brackets together would be arithmetic.
        0 => format!("( {text}{})", end.trim_end_matches("; ")),
        1 => format!("{{ {text}{end}}}"),
        2 => format!("ls{end}{text}"),
        3 => format!("true && {text}"),
        4 => format!("false || {text}"),
        // Alone in its pipeline, so that what it sets is there where it is needed.
        5 => format!("ls | {{ {text}{end}}}"),
        6 => format!("sleep 1 & {text}"),
        7 => format!("ls\n{text}\nls"),
        8 => format!("if true; then {text}{end}fi"),
        9 => format!("while true; do {text}{end}done"),
        10 => format!("for i in 1; do {text}{end}done"),
        11 => format!("case x in (x) {text}{};; esac", end.trim_end_matches("; ")),
        12 => format!("go() {{ {text}{end}}}; go"),
        13 => format!("function go {{ {text}{end}}}; go"),
        14 => format!("echo \"$({text}\n)\""),
        15 => format!("echo $({text}\n)"),
        16 => format!("x=$({text}\n)"),
        17 => format!("cat <({text}\n)"),
        18 => format!("cat <<END{0}\n$({text}\n)\nEND{0}", text.len()),
        19 => format!("[[ -n $({text}\n) ]]"),
        20 => format!("! {{ {text}{end}}}"),
        21 => format!("bash -c {quoted}"),
        22 => format!("sh -ec {quoted}"),
        23 => format!("eval {quoted}"),
        24 => format!("bash <<'BASH{0}'\n{text}\nBASH{0}", text.len()),
        25 => format!("bash <<< {quoted}"),
        26 => format!("printf '%s\\n' {quoted} | sh"),
        27 => format!("trap {quoted} EXIT"),
        28 => format!("su -c {quoted}"),
        29 => format!("watch -n 5 {quoted}"),
        30 => format!("ssh host {quoted}"),
        31 => format!("docker exec c sh -c {quoted}"),
        32 => format!("script -qc {quoted} /dev/null"),
        33 => format!("flock /tmp/l -c {quoted}"),
        34 => format!("xargs sh -c {quoted}"),
        35 => format!("env -i bash -c {quoted}"),
        36 => format!("find . -maxdepth 0 -exec sh -c {quoted} \\;"),
        37 => format!("sudo bash -lc {quoted}"),
        38 => format!("text_{0}={quoted}; eval \"$text_{0}\"", text.len()),
        _ => format!("bash -c \"$(cat <<'TEXT{0}'\n{text}\nTEXT{0}\n)\"", text.len()),
    };
    Line { text, simple: false, decidable }
}

fn launched(line: Line, dice: &mut Dice) -> Line {
    let before = dice.pick(&[
        "sudo",
        "sudo -u root -E",
        "sudo --",
        "env",
        "env A=1",
        "env -u A",
        "nice",
        "nice -n 10",
        "nohup",
        "command",
        "exec",
        "time",
        "timeout 5",
        "timeout -k 1 5s",
        "setsid",
        "stdbuf -o0",
        "ionice -c 3",
        "busybox",
        "doas",
        "xargs",
        "xargs -n 1",
        "strace -f",
        "A=1 B=2",
        "builtin command",
        "unshare -r",
        "chroot /mnt",
        "systemd-run --scope",
        "caffeinate",
        "docker exec -it c",
        "kubectl exec p --",
        "ssh host",
        "taskset 1",
        "flock /tmp/l",
        "!",
        "time -p",
        "\\command",
        "find . -maxdepth 0 -exec",
        "direnv exec .",
        "uv run",
        "parallel",
    ]);
    let after = if before.starts_with("find") { " \\;" } else { "" };
    let simple = before != "!" && !before.contains('=') && after.is_empty() && !before.starts_with("time");
    Line { text: format!("{before} {}{after}", line.text), simple, decidable: line.decidable }
}
