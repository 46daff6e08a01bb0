//! Texts that are hard to cut.

use super::*;

/// Cuts the text for everyone, at several lengths.
fn everywhere(text: &str) {
    for markup in MARKUPS {
        for unit in UNITS {
            for max in [60, 300] {
                whole(text, format(*markup, max, *unit));
            }
        }
    }
}

#[test]
fn a_text_that_fits_is_left_alone() {
    let text = "*  one\n*  two\n\n\n| a |\n|---|\n";
    assert_eq!(plan::parts(text, &telegram(4_096)), [text]);
    assert_eq!(plan::parts("", &telegram(4_096)), [""]);
}

#[test]
fn cuts_are_between_blocks_then_sentences_then_words() {
    let plain = |max| format(Markup::Plain, max, Unit::Chars);
    assert_eq!(whole("one two\n\nthree four", plain(12)), ["one two", "three four"]);
    assert_eq!(
        whole("One two. Three four five.", plain(16)),
        ["One two.", "Three four five\\."].map(|t| t.replace('\\', ""))
    );
    assert_eq!(whole("one two three", plain(8)), ["one two", "three"]);
    assert_eq!(whole("😀😀😀😀😀", plain(2)), ["😀😀", "😀😀", "😀"]);
}

#[test]
fn a_heading_goes_with_what_it_is_the_heading_of() {
    let text = format!("{}\n\n# Next\n\n{}", "one ".repeat(12).trim_end(), "two ".repeat(12).trim_end());
    let parts = whole(&text, format(Markup::Plain, 60, Unit::Chars));
    assert_eq!(parts.len(), 2);
    assert!(parts[1].starts_with("# Next\n\ntwo"), "{parts:?}");
}

#[test]
fn numbers_of_a_list_go_on() {
    let items: String = (1..=40).map(|n| format!("{n}. item number {n}\n")).collect();
    let parts = whole(&items, telegram(300));
    let mut next = 1;
    for part in &parts {
        for line in render(part, &telegram(300)).text.lines() {
            assert_eq!(line, format!("{next}\\. item number {next}"));
            next += 1;
        }
    }
    assert_eq!(next, 41);
}

#[test]
fn a_quote_is_a_quote_in_every_part() {
    let text: String = (0..60).map(|n| format!("> line {n} of it\n")).collect();
    for part in whole(&text, telegram(200)) {
        assert!(render(&part, &telegram(200)).text.lines().all(|line| line.starts_with('>')));
    }
}

#[test]
fn a_table_is_cut_between_rows_and_says_its_header_again() {
    let rows: String =
        (0..50).map(|n| format!("| row {n} | {n} | `c|d` |\n").replace("c|d", "c\\|d")).collect();
    let text = format!("| Name | Age | What |\n|---|---|---|\n{rows}");
    for (markup, mark) in
        [(Markup::Html, "<th>Age</th>"), (Markup::Source, "| Age |"), (Markup::Discord, "Age: ")]
    {
        let format = format(markup, 400, Unit::Chars);
        let parts = checked(&text, format);
        let all: String = parts.iter().map(|part| render(part, &format).text).collect();
        assert!(
            parts.len() > 1 && parts.iter().all(|part| render(part, &format).text.contains(mark)),
            "{parts:?}"
        );
        assert!((0..50).all(|n| all.contains(&format!("row {n}"))));
    }
}

#[test]
fn a_cell_that_is_longer_than_a_part_is_cut_as_text() {
    let long = "long words ".repeat(100);
    let text = format!("| Name | Story |\n|---|---|\n| Ada | {long} |\n| Bob | short |");
    for markup in MARKUPS {
        let parts = checked(&text, format(*markup, 200, Unit::Chars));
        let all: String = parts.iter().map(|part| words(part)).collect();
        assert_eq!(all.matches("long").count(), 100);
        assert!(all.contains("Story") && all.contains("short"));
    }
}

#[test]
fn marks_are_closed_and_opened_again() {
    let text = format!("**{}**", "bold words. ".repeat(40).trim_end());
    for part in whole(&text, telegram(100)) {
        let written = render(&part, &telegram(100)).text;
        assert!(written.starts_with('*') && written.ends_with('*'), "{written}");
        assert_eq!(written.matches('*').count(), 2);
    }
}

#[test]
fn a_link_is_not_cut_if_a_part_can_hold_it() {
    let text = format!("{}[the name of the page](https://example.org/page) and more", "word ".repeat(16));
    let parts = whole(&text, telegram(100));
    let link = "[the name of the page](https://example.org/page)";
    assert!(parts.iter().any(|part| render(part, &telegram(100)).text.contains(link)), "{parts:?}");
}

#[test]
fn what_is_hard_to_cut_is_cut() {
    let url = format!("https://example.org/{}", "a_b(c)?d=&e;".repeat(60));
    let texts = [
        "a\n".repeat(400),
        "x".repeat(2_000),
        format!("see {url} there"),
        format!("see [it]({url}) there, [**bold** page `code`]({url})"),
        format!("```\n{}\n```", "y".repeat(1_500)),
        format!("````md\n```python\n{}```\n````\n", "code()\n".repeat(80)),
        format!("- item\n\n  ```sh\n{}  ```\n- next\n", "  echo `date` # a line\n".repeat(60)),
        format!("1. one\n   - deep {}\n     > quoted {}\n2. two", "word ".repeat(80), "quote ".repeat(80)),
        format!("```rust\n{}", "fn main() {}\n".repeat(60)),
        format!("``{}``", "a`b ".repeat(100).trim_end()),
        format!("*one **two {} three** four*", "strong ".repeat(80)),
        "👨‍👩‍👧‍👦".repeat(100),
        "e\u{301}\u{302}".repeat(300),
        "שלום עולם, ".repeat(100),
        "مرحبا بالعالم ".repeat(100),
        "这是一个很长的句子，没有空格。".repeat(40),
        "line one\r\nline two\r\n\r\n```\r\ncode\r\n```\r\n".repeat(30),
        "<div>\n<b>not</b> markup & <!-- hidden -->\n</div>\n\n".repeat(30),
        "# a heading that is long ".repeat(40),
        format!("> - > - {}", "nested ".repeat(100)),
        ">".repeat(3_000) + "deep",
        "*".repeat(1_000),
        "_a_b_ *c*d* ~e~ [f] (g) \\ ` ".repeat(60),
        "![an image](https://example.org/i.png) ".repeat(40),
        "[a][r] ".repeat(100) + "\n\n[r]: https://example.org/reference",
        "- [ ] open task with words\n- [x] done task\n".repeat(30),
        format!("```{}\nx\n```", "info".repeat(200)),
        format!("~~~\n{}~~~\n", "```\nx\n".repeat(60)),
        "1986\\. A year. \\- not an item\n\n".repeat(30),
        "&amp; &lt;b&gt; &copy; &#42; ".repeat(50),
    ];
    for text in &texts {
        everywhere(text);
    }
}

#[test]
fn white_space_alone_is_one_part() {
    for text in [" ", "\n\n\n", "\t \r\n"] {
        assert_eq!(checked(text, telegram(10)).len(), 1);
    }
    assert_eq!(checked(&" \n".repeat(5_000), telegram(100)).len(), 1);
}

#[test]
fn a_limit_smaller_than_a_fence_makes_progress() {
    let text = "a **b** `c`\n\n```python\nprint('x')\n```\n\n> q\n\n1. one\n2. two [l](https://x.org)";
    for markup in MARKUPS {
        for max in 1..40 {
            let format = format(*markup, max, Unit::Utf16);
            let parts = plan::parts(text, &format);
            assert!(parts.iter().all(|part| !part.trim().is_empty()));
            assert!(parts.len() <= text.len());
            // Tags alone take seven.
            if max >= if *markup == Markup::Html { 16 } else { 6 } {
                kept(text, format);
            }
        }
    }
}

#[test]
fn a_grapheme_is_cut_only_if_it_is_longer_than_a_part() {
    let family = "👨‍👩‍👧‍👦";
    for max in [12, 25, 60] {
        for part in whole(&family.repeat(20), telegram(max)) {
            assert_eq!(part.replace(family, ""), "", "{part:?}");
        }
    }
    let heap = format!("a{}", "\u{301}".repeat(500));
    assert!(whole(&heap, telegram(100)).len() >= 6);
}

#[test]
fn a_megabyte_is_cut_in_time_that_grows_with_its_length() {
    let line = "Some *text* with [a link](https://example.org), `code` and more words. ";
    let kinds = [
        line.to_owned(),
        format!("{line}\n\n"),
        "word".to_owned(),
        format!("- {line}\n"),
        "```\nx = 1\n```\n".to_owned(),
    ];
    for kind in kinds {
        let time = |bytes: usize| {
            let text = kind.repeat(bytes / kind.len());
            let begin = std::time::Instant::now();
            let parts = plan::parts(&text, &telegram(4_096));
            assert!(parts.len() > 1);
            begin.elapsed()
        };
        let (small, large) = (time(100 << 10), time(1 << 20));
        assert!(
            large < small * 40 + std::time::Duration::from_millis(500),
            "{small:?} and {large:?}: {kind:?}"
        );
    }
}
