//! PURE: what a message says, without what clients add to it, and whether it speaks to herm by name.

use serde_json::Value;

use super::wire::{Event, at};

/// Who herm is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Me {
    /// Such as `@herm:example.org`.
    pub id: String,
    /// As people see it.
    pub name: Option<String>,
}

/// A text as the pipeline reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    /// Without herm's own name.
    pub text: String,
    /// herm was spoken to by name.
    pub mentioned: bool,
}

/// Reads the content of a message, or the new content of an edited one.
pub(super) fn read(content: &Value, text: &str, me: &Me) -> Read {
    let formatted = content.get("formatted_body").and_then(Value::as_str).unwrap_or_default();
    let linked = linked(formatted, &me.id);
    let names = || {
        let own = [Some(me.id.clone()), at_name(&me.id), me.name.clone()].into_iter().flatten();
        let mut names: Vec<String> =
            linked.iter().cloned().chain(own).filter(|name| !name.is_empty()).collect();
        // The longest first, or a part of it would be left.
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        names
    };
    let mentioned = match at(content, &["m.mentions"]) {
        // Whoever says whom it means, means nobody else (client-server API 1.7 and later).
        Some(mentions) => {
            let ids = mentions.get("user_ids").and_then(Value::as_array);
            ids.is_some_and(|ids| ids.iter().any(|id| id.as_str() == Some(&me.id)))
        }
        None => {
            !linked.is_empty() || text.contains(&me.id) || names().iter().any(|name| is_addressed(text, name))
        }
    };
    let text = if mentioned { without(text, &names()) } else { text.to_owned() };
    Read { text, mentioned }
}

/// `@herm` of `@herm:example.org`.
fn at_name(id: &str) -> Option<String> {
    id.split_once(':').map(|(name, _)| name.to_owned())
}

/// The text begins with the name and a colon or a comma, as clients without mentions write.
fn is_addressed(text: &str, name: &str) -> bool {
    strip(text, name).is_some_and(|rest| rest.starts_with([':', ',']))
}

fn strip<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let head = text.get(..name.len())?;
    head.eq_ignore_ascii_case(name).then(|| text.get(name.len()..)).flatten()
}

/// The texts of the links to `id`: what clients show in place of a user.
fn linked(formatted: &str, id: &str) -> Vec<String> {
    let escaped = id.replace('@', "%40").replace(':', "%3A");
    let leads_here = |attributes: &str| {
        let mut targets = attributes.split(['"', '\'']).filter_map(|part| part.split_once("matrix.to/#/"));
        targets.any(|(_, target)| target == id || target.eq_ignore_ascii_case(&escaped))
    };
    let links = formatted.split("<a ").skip(1).filter_map(|link| link.split_once('>'));
    let texts = links
        .filter(|(attributes, _)| leads_here(attributes))
        .filter_map(|(_, rest)| rest.split_once("</a>"));
    texts.map(|(text, _)| unescaped(text)).collect()
}

fn unescaped(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    text.replace("&amp;", "&")
}

/// The text without herm's name: at its beginning with what follows it, elsewhere where it is marked by
/// its sign.
fn without(text: &str, names: &[String]) -> String {
    let text = text.trim();
    for name in names {
        let Some(rest) = strip(text, name) else { continue };
        if rest.chars().next().is_none_or(|next| !next.is_alphanumeric()) {
            return rest.trim_start_matches([':', ',']).trim().to_owned();
        }
    }
    let mut text = text.to_owned();
    for name in names.iter().filter(|name| name.starts_with('@')) {
        text = text.replace(&format!("{name} "), "").replace(name, "");
    }
    text.trim().to_owned()
}

/// The text of a message without the quotation that old clients put before an answer.
pub(super) fn body(event: &Event) -> &str {
    let body = event.text(&["body"]).unwrap_or_default();
    if event.text(&["m.relates_to", "m.in_reply_to", "event_id"]).is_none() || !body.starts_with("> ") {
        return body;
    }
    let mut rest = body;
    while rest.starts_with('>') {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    rest.strip_prefix('\n').unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn me() -> Me {
        Me { id: "@herm:example.org".to_owned(), name: Some("Herm".to_owned()) }
    }

    fn said(content: &Value) -> (String, bool) {
        let read = read(content, content["body"].as_str().unwrap(), &me());
        (read.text, read.mentioned)
    }

    #[test]
    fn the_own_name_is_taken_out_wherever_clients_put_it() {
        let meant = json!({"user_ids": ["@herm:example.org"]});
        let link = "<a href=\"https://matrix.to/#/@herm:example.org\">Herm &amp; Co</a>: hi";
        for (body, formatted, text) in [
            ("Herm: hi", "", "hi"),
            ("herm hi", "", "hi"),
            ("@herm:example.org: hi", "", "hi"),
            ("@herm hi", "", "hi"),
            ("Herm & Co: hi", link, "hi"),
            ("hi @herm:example.org and all", "", "hi and all"),
            ("hermit crabs", "", "hermit crabs"),
        ] {
            let content = json!({"body": body, "formatted_body": formatted, "m.mentions": meant});
            assert_eq!(said(&content), (text.to_owned(), true), "{body}");
        }
    }

    #[test]
    fn without_mentions_a_link_or_an_address_is_one() {
        let link = "<p>ask <a href='https://matrix.to/#/%40herm%3Aexample.org'>him</a></p>";
        assert!(said(&json!({"body": "ask him", "formatted_body": link})).1);
        assert!(said(&json!({"body": "ask @herm:example.org"})).1);
        assert!(said(&json!({"body": "herm, hi"})).1);
        assert!(!said(&json!({"body": "herm is a program"})).1);
        let other = "<a href=\"https://matrix.to/#/@herm:example.org.evil\">Herm</a>";
        assert!(!said(&json!({"body": "x", "formatted_body": other})).1);
    }

    #[test]
    fn whoever_says_whom_it_means_means_nobody_else() {
        let content = json!({"body": "Herm: hi", "m.mentions": {}});
        assert_eq!(said(&content), ("Herm: hi".to_owned(), false));
    }

    #[test]
    fn the_quotation_before_an_answer_is_taken_out() {
        let event = |body: &str, relation: Value| -> Event {
            serde_json::from_value(json!({
                "event_id": "$1", "type": "m.room.message", "sender": "@a:b", "origin_server_ts": 1,
                "content": {"msgtype": "m.text", "body": body, "m.relates_to": relation},
            }))
            .unwrap()
        };
        let answer = json!({"m.in_reply_to": {"event_id": "$0"}});
        assert_eq!(
            body(&event("> <@x:y> one\n> two\n\nthe answer\n> kept", answer.clone())),
            "the answer\n> kept"
        );
        assert_eq!(body(&event("no quotation", answer)), "no quotation");
        assert_eq!(body(&event("> said by a person", json!({}))), "> said by a person");
    }
}
