//! Random documents in every format. A seed that fails is in the message.

use super::*;

/// Splitmix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len() as u64) as usize]
    }
}

const WORDS: &[&str] = &[
    "word",
    "and",
    "a",
    "snake_case",
    "5.00!",
    "*",
    "**",
    "_",
    "~~",
    "`",
    "``",
    "[",
    "](x)",
    "\\",
    "|",
    "<b>",
    "&amp;",
    "&",
    "😀",
    "👨‍👩‍👧‍👦",
    "e\u{301}",
    "你好。",
    "שלום",
    "https://example.org/a_b?c=d&e=f",
    "#",
    "-",
    "1.",
    "@everyone",
    "(paren)",
    "don't",
    ">",
    "=",
    "```",
    "\u{200b}",
    "\u{a0}",
    "\t",
];

fn inline(dice: &mut Dice, depth: u64) -> String {
    let mut out = String::new();
    for _ in 0..=dice.roll(12) {
        let inner = |dice: &mut Dice| {
            if depth > 0 { inline(dice, depth - 1) } else { (*dice.pick(WORDS)).to_owned() }
        };
        let piece = match dice.roll(12) {
            0 => format!("**{}**", inner(dice)),
            1 => format!("*{}*", inner(dice)),
            2 => format!("~~{}~~", inner(dice)),
            3 => format!("`{}`", dice.pick(WORDS)),
            4 => format!("[{}](https://x.org/{})", inner(dice), dice.roll(1_000)),
            5 => format!("_{}_", inner(dice)),
            _ => (*dice.pick(WORDS)).to_owned(),
        };
        out.push_str(&piece);
        let gap = dice.pick::<&str>(&[" ", " ", " ", "", "\n", "  \n", ". "]);
        out.push_str(gap);
    }
    out
}

fn block(dice: &mut Dice, depth: u64) -> String {
    let lines = |text: String, first: &str, other: &str| {
        let lines: Vec<String> = text
            .lines()
            .enumerate()
            .map(|(n, line)| format!("{}{line}", if n == 0 { first } else { other }))
            .collect();
        lines.join("\n")
    };
    match dice.roll(if depth > 0 { 12 } else { 6 }) {
        0 => format!("{} {}", "#".repeat(1 + dice.roll(6) as usize), inline(dice, 1).replace('\n', " ")),
        1 => {
            let code: String =
                (0..dice.roll(12)).map(|n| format!("line {n} {}\n", dice.pick(WORDS))).collect();
            let fence = *dice.pick(&["```", "~~~", "````"]);
            let end = if dice.roll(8) == 0 { "" } else { fence };
            format!("{fence}{}\n{code}{end}", dice.pick(&["", "python", "rust,ignore x=1"]))
        }
        2 => {
            let cell = |dice: &mut Dice| inline(dice, 0).replace('\n', " ");
            let rows: String =
                (0..dice.roll(5)).map(|_| format!("| {} | {} |\n", cell(dice), cell(dice))).collect();
            format!("| {} | b |\n|---|---|\n{rows}", cell(dice))
        }
        3 => "---".to_owned(),
        4 | 5 => inline(dice, 2),
        6 | 7 => lines(document(dice, depth - 1), "> ", "> "),
        8 | 9 => {
            let items: Vec<String> =
                (0..=dice.roll(5)).map(|_| lines(document(dice, depth - 1), "- ", "  ")).collect();
            items.join("\n")
        }
        _ => {
            let first = 1 + dice.roll(120);
            let items: Vec<String> = (0..=dice.roll(5))
                .map(|n| lines(document(dice, depth - 1), &format!("{}. ", first + n), "     "))
                .collect();
            items.join("\n")
        }
    }
}

fn document(dice: &mut Dice, depth: u64) -> String {
    let blocks: Vec<String> = (0..=dice.roll(3)).map(|_| block(dice, depth)).collect();
    blocks.join(*dice.pick(&["\n\n", "\n\n", "\n"]))
}

#[test]
fn random_documents_keep_the_limit_in_every_format() {
    let (mut cut, mut texts, mut inexact) = (0, 0, 0);
    for seed in 0..100 {
        let mut dice = Dice(seed);
        let text = document(&mut dice, 2);
        for markup in MARKUPS {
            let max = *dice.pick(&[12, 20, 40, 80, 200, 1_000]);
            let unit = *dice.pick(UNITS);
            // A family of emoji takes 25 bytes.
            let max = if unit == Unit::Bytes { max.max(40) } else { max };
            let (parts, exact) = kept(&text, format(*markup, max, unit));
            cut += parts.len();
            if max >= 80 {
                texts += 1;
                inexact += u32::from(!exact);
            }
        }
    }
    assert!(cut > 4_000, "only {cut} parts");
    // Marks that no Markdown can say again are given up, and the text is said in plain words.
    assert!(inexact * 100 < texts, "{inexact} of {texts}");
}

#[test]
fn random_marks_keep_the_limit_in_every_format() {
    for seed in 0..2_000 {
        let mut dice = Dice(0x5eed_0000 + seed);
        let text: String = (0..dice.roll(60))
            .map(|_| format!("{}{}", dice.pick(WORDS), dice.pick(&["", " ", "\n"])))
            .collect();
        let markup = *dice.pick(MARKUPS);
        let max = *dice.pick(&[16, 30, 100]);
        kept(&text, format(markup, max, Unit::Utf16));
    }
}
