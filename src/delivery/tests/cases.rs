//! The cases of splitting, by their names.

use super::*;

#[test]
fn split_utf16_o_emoji_count_two_units() {
    let text = "\u{1f600}".repeat(2_049);
    let parts = whole(&text, telegram(4_096));
    assert_eq!(parts.len(), 2);
    let joined: String = parts.iter().map(|part| render(part, &telegram(4_096)).text).collect();
    assert_eq!(joined, text);
}

#[test]
fn split_fence_o_every_piece_is_code_on_its_own() {
    let text = format!("Before\n```python\n{}```\nAfter", "x = 1\n".repeat(100));
    for markup in [Markup::Source, Markup::Discord, Markup::TelegramMarkdownV2] {
        let format = format(markup, 300, Unit::Chars);
        let parts = whole(&text, format);
        assert!(parts.len() > 2);
        let mut lines = 0;
        for (index, part) in parts.iter().enumerate() {
            let written = render(part, &format).text;
            assert_eq!(part.matches("```").count() % 2, 0);
            assert_eq!(written.matches("```").count() % 2, 0);
            assert!(index == 0 || written.starts_with("```python\n"), "{written}");
            lines += written.matches("x = 1\n").count();
        }
        assert_eq!(lines, 100);
    }
}

#[test]
fn split_mdv2_o_length_counts_after_escaping() {
    let sent = |text: &str| render(text, &telegram(4_096)).text;
    assert_eq!(sent("Price is $5.00!"), "Price is $5\\.00\\!");
    assert_eq!(sent("Run `rm -rf ./*` carefully"), "Run `rm -rf ./*` carefully");
    let marks = "!".repeat(4_096);
    let parts = whole(&marks, telegram(4_096));
    assert!(parts.len() >= 2);
    let plain: String = parts.iter().map(|part| render(part, &telegram(4_096)).plain).collect();
    assert_eq!(plain, marks);
}

#[test]
fn split_table_o_header_and_value_stay_together() {
    let written = render("| Name | Age |\n|:-----|----:|\n| Ada | 30 |", &telegram(4_096)).text;
    assert_eq!(written, "*Ada*\nAge: 30");
}
