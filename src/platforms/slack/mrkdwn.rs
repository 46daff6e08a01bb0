//! PURE: a text as Slack sends it, as people see it.
//!
//! Source: docs.slack.dev, "Formatting message text": `&`, `<` and `>` are written as entities, and between
//! angle brackets stand links, people, channels and groups.

/// A text as people see it, without the name of `me`, and whether that was there. People who are named
/// stay as `<@ID>` unless Slack tells what they are called.
pub(super) fn read(text: &str, me: &str) -> (String, bool) {
    let (mut out, mut named, mut rest) = (String::with_capacity(text.len()), false, text);
    while let Some((before, behind)) = rest.split_once('<') {
        unescape(before, &mut out);
        let Some((inside, after)) = behind.split_once('>') else {
            // No sequence ends so; Slack would have written an entity.
            out.push('<');
            rest = behind;
            continue;
        };
        rest = after;
        if is_named(inside, me) {
            named = true;
            // With the space that stood between it and what follows.
            rest = rest.strip_prefix(' ').unwrap_or(rest);
        } else {
            sequence(inside, &mut out);
        }
    }
    unescape(rest, &mut out);
    match named {
        true => (out.trim().to_owned(), true),
        false => (out, false),
    }
}

fn is_named(inside: &str, me: &str) -> bool {
    let id = inside.strip_prefix('@').map(|id| id.split('|').next().unwrap_or(id));
    id == Some(me)
}

fn sequence(inside: &str, out: &mut String) {
    let (target, label) = match inside.split_once('|') {
        Some((target, label)) => (target, Some(label).filter(|label| !label.is_empty())),
        None => (inside, None),
    };
    match (target.chars().next(), label) {
        (Some('@'), Some(label)) => push(out, "@", label),
        (Some('@'), None) => push(out, "<", &format!("{target}>")),
        (Some('#'), Some(label)) => push(out, "#", label),
        (Some('!'), Some(label)) => unescape(label, out),
        (Some('!'), None) => push(out, "@", target.trim_start_matches('!')),
        (_, Some(label)) if label != target.trim_start_matches("mailto:") => {
            unescape(label, out);
            out.push_str(" (");
            unescape(target, out);
            out.push(')');
        }
        _ => unescape(target.trim_start_matches("mailto:"), out),
    }
}

fn push(out: &mut String, sign: &str, text: &str) {
    out.push_str(sign);
    unescape(text, out);
}

fn unescape(text: &str, out: &mut String) {
    out.push_str(&text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"));
}

/// A text in which nothing is markup.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_as_people_see_it() {
        for (sent, seen, named) in [
            ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c", false),
            ("<@U1> do this", "do this", true),
            ("please <@U1|herm> do", "please do", true),
            ("<@U2> and <@U3|bob>", "<@U2> and @bob", false),
            ("in <#C1|general>, <!here> <!subteam^S1|@team>", "in #general, @here @team", false),
            (
                "<https://x.org/?a=1&amp;b|the page> <https://x.org>",
                "the page (https://x.org/?a=1&b) https://x.org",
                false,
            ),
            ("<mailto:a@b.org|a@b.org>", "a@b.org", false),
            ("1 < 2", "1 < 2", false),
        ] {
            assert_eq!(read(sent, "U1"), (seen.to_owned(), named), "{sent}");
        }
        assert_eq!(read(&escaped("<!channel> & <@U1>"), "U1"), ("<!channel> & <@U1>".to_owned(), false));
    }
}
