//! What each markup makes of the same Markdown.

use super::*;

fn written(markup: Markup, text: &str) -> String {
    render(text, &format(markup, 4_096, Unit::Chars)).text
}

const ALL: &str = "# A *head*\n\nSome **bold**, *it*, ~~gone~~, `co.de` and [a (link)](https://x.org/a_(b)).\n\n> quoted\n> more\n\n- one\n- two\n  1. deep\n\n```rust\nlet a = `x`;\n```";

#[test]
fn telegram_escapes_all_that_is_reserved_and_nothing_in_code() {
    let expected = "*A _head_*\n\nSome *bold*, _it_, ~gone~, `co.de` and [a \\(link\\)](https://x.org/a_(b\\))\\.\n\n>quoted\n>more\n\n• one\n• two\n  1\\. deep\n\n```rust\nlet a = \\`x\\`;\n```";
    assert_eq!(written(Markup::TelegramMarkdownV2, ALL), expected);
    let all = "\\_\\*\\[\\]\\(\\)\\~\\`\\>\\#\\+\\-\\=\\|\\{\\}\\.\\!\\\\";
    assert_eq!(written(Markup::TelegramMarkdownV2, &format!("a {all}")), format!("a {all}"));
}

#[test]
fn discord_keeps_its_markdown() {
    let expected = "# A *head*\n\nSome **bold**, *it*, ~~gone~~, `co.de` and [a (link)](https://x.org/a_%28b%29).\n\n> quoted\n> more\n\n- one\n- two\n  1. deep\n\n```rust\nlet a = `x`;\n```";
    assert_eq!(written(Markup::Discord, ALL), expected);
    assert_eq!(written(Markup::Discord, "2\\. not an item"), "2\\. not an item");
    assert_eq!(written(Markup::Discord, "https://x.org/a_b_c and a\\_b"), "https://x.org/a_b_c and a\\_b");
}

#[test]
fn slack_has_marks_of_its_own() {
    let expected = "*A _head_*\n\nSome *bold*, _it_, ~gone~, `co.de` and <https://x.org/a_(b)|a (link)>.\n\n> quoted\n> more\n\n• one\n• two\n  1. deep\n\n```\nlet a = `x`;\n```";
    assert_eq!(written(Markup::SlackMrkdwn, ALL), expected);
    assert_eq!(written(Markup::SlackMrkdwn, "a < b && c > d"), "a &lt; b &amp;&amp; c &gt; d");
    assert_eq!(written(Markup::SlackMrkdwn, "un**believ**able"), "un\u{200b}*believ*\u{200b}able");
}

#[test]
fn html_is_safe_and_has_tables() {
    let expected = "<h1>A <em>head</em></h1>\n<p>Some <strong>bold</strong>, <em>it</em>, <del>gone</del>, <code>co.de</code> and <a href=\"https://x.org/a_(b)\">a (link)</a>.</p>\n<blockquote><p>quoted<br>more</p></blockquote>\n<ul><li>one</li><li>two<ol><li>deep</li></ol></li></ul>\n<pre><code class=\"language-rust\">let a = `x`;\n</code></pre>";
    assert_eq!(written(Markup::Html, ALL), expected);
    assert_eq!(
        written(Markup::Html, "<script>alert(1)</script>"),
        "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"
    );
    assert_eq!(written(Markup::Html, "[x](javascript:alert(1))"), "<p>x (javascript:alert(1))</p>");
    assert_eq!(
        written(Markup::Html, "|a|b|\n|-|-|\n|1|2|"),
        "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>"
    );
}

#[test]
fn whatsapp_has_marks_of_its_own() {
    let expected = "*A _head_*\n\nSome *bold*, _it_, ~gone~, `co.de` and a (link) (https://x.org/a_(b)).\n\n> quoted\n> more\n\n- one\n- two\n  1. deep\n\n```\nlet a = `x`;\n```";
    assert_eq!(written(Markup::WhatsApp, ALL), expected);
}

#[test]
fn plain_text_reads_well() {
    let expected = "A head\n\nSome bold, it, gone, co.de and a (link) (https://x.org/a_(b)).\n\n> quoted\n> more\n\n- one\n- two\n  1. deep\n\nlet a = `x`;";
    assert_eq!(written(Markup::Plain, ALL), expected);
    assert_eq!(written(Markup::Plain, "<https://x.org> <me@x.org>"), "https://x.org me@x.org");
    assert_eq!(written(Markup::Plain, "- [x] done\n- [ ] open"), "☑ done\n☐ open");
}

#[test]
fn source_is_as_it_was_written() {
    assert_eq!(written(Markup::Source, ALL), ALL);
    assert_eq!(plan::parts("a\r\n\r\n* b", &Format::SOURCE), ["a\r\n\r\n* b"]);
}

#[test]
fn nobody_is_called_by_the_way() {
    let text = "@everyone and @here, <!channel> <!here|here> <@&42>, `@everyone`";
    for markup in [Markup::Discord, Markup::SlackMrkdwn] {
        let written = render(text, &format(markup, 2_000, Unit::Chars));
        for call in ["<!channel", "<!here", "<@&42"] {
            assert!(!written.text.contains(call) && !written.plain.contains(call), "{written:?}");
        }
        let outside = written.text.split('`').next().unwrap();
        for call in ["@everyone", "@here"] {
            assert!(!outside.contains(call) && !written.plain.contains(call), "{written:?}");
        }
    }
    assert!(written(Markup::Discord, "hi <@123>, me@herebefore.org").contains("<@123>"));
}

#[test]
fn a_quote_in_a_quote_or_an_item_does_not_break_telegram() {
    let text = "> a\n>> b\n\n- > c\n";
    assert_eq!(written(Markup::TelegramMarkdownV2, text), ">a\n>\n>b\n\n• c");
}

#[test]
fn a_link_inside_of_bold_text_stays_bold() {
    let text = "**see [the page](https://x.org) now**";
    assert_eq!(written(Markup::TelegramMarkdownV2, text), "*see [the page](https://x.org) now*");
    assert_eq!(written(Markup::SlackMrkdwn, text), "*see <https://x.org|the page> now*");
}

#[test]
fn telegram_has_no_code_inside_of_anything() {
    let text = "# Run `it`\n\n**a `b` c** [`d`](https://x.org)";
    let expected = "*Run* `it`\n\n*a* `b` *c* [d](https://x.org)";
    assert_eq!(written(Markup::TelegramMarkdownV2, text), expected);
}

#[test]
fn a_text_that_only_defines_a_link_is_not_silence() {
    assert_eq!(written(Markup::Plain, "[a]: https://x.org"), "[a]: https://x.org");
}
