//! PURE: the order of what one answer consisted of, kept with it and restored when it is sent back.
//!
//! A vendor that signs its thinking wants an answer back as it was: thinking, words and calls in
//! their places, the signed parts byte for byte. The neutral message has the words and the calls;
//! the provider extras have the signed parts and where they stood.

use herm_replay::reducer::request::Call;
use herm_schema::JsonText;
use herm_schema::events::ProviderExtras;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What stands between two pieces of text with something between them.
pub(super) const APART: &str = "\n\n";

/// One part of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Place {
    /// What only the vendor understands, as it came.
    Own(Value),
    /// So many characters of the text; `apart` if [`APART`] stands before them.
    Text { chars: usize, apart: bool },
    /// The next call.
    Call,
}

/// The JSON of the extras of the dialects that use this.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Order {
    order: Vec<Place>,
}

/// One part of an answer, restored.
#[derive(Debug, PartialEq)]
pub(super) enum Piece<'a> {
    Own(Value),
    Text(String),
    Call(&'a Call),
}

/// The extras of an answer, if it has anything of the vendor's own in it.
pub(super) fn extras(order: Vec<Place>, family: &str) -> Option<ProviderExtras> {
    if !order.iter().any(|place| matches!(place, Place::Own(_))) {
        return None;
    }
    let json = serde_json::to_string(&Order { order }).ok()?;
    Some(ProviderExtras { family: family.to_owned(), json: JsonText(json) })
}

/// An answer in its order. Parts of the vendor's own come back to `family` alone, only if it
/// `takes` them, and never as the last.
pub(super) fn pieces<'a>(
    text: &str,
    calls: &'a [Call],
    extras: Option<&ProviderExtras>,
    family: &str,
    takes: fn(&Value) -> bool,
) -> Vec<Piece<'a>> {
    let own = extras.filter(|extras| extras.family == family);
    let order: Order = own.and_then(|own| serde_json::from_str(&own.json.0).ok()).unwrap_or_default();
    let order = order.order;
    let mut pieces = restored(text, calls, &order).unwrap_or_else(|| plain(text, calls, &order));
    pieces.retain(|piece| match piece {
        Piece::Own(own) => takes(own),
        Piece::Text(text) => !text.trim().is_empty(),
        Piece::Call(_) => true,
    });
    while let Some(Piece::Own(_)) = pieces.last() {
        pieces.pop();
    }
    pieces
}

/// `None` if the message is not what the order describes.
fn restored<'a>(text: &str, calls: &'a [Call], order: &[Place]) -> Option<Vec<Piece<'a>>> {
    let mut text = text;
    let mut calls = calls.iter();
    let mut pieces = Vec::new();
    for place in order {
        pieces.push(match place {
            Place::Own(own) => Piece::Own(own.clone()),
            Place::Call => Piece::Call(calls.next()?),
            Place::Text { chars, apart } => {
                let rest = if *apart { text.strip_prefix(APART)? } else { text };
                let end = rest.char_indices().nth(*chars).map_or(rest.len(), |(at, _)| at);
                let (piece, after) = rest.split_at_checked(end)?;
                text = after;
                (piece.chars().count() == *chars).then_some(Piece::Text(piece.to_owned()))?
            }
        });
    }
    (text.is_empty() && calls.next().is_none()).then_some(pieces)
}

fn plain<'a>(text: &str, calls: &'a [Call], order: &[Place]) -> Vec<Piece<'a>> {
    let own = order.iter().filter_map(|place| match place {
        Place::Own(own) => Some(Piece::Own(own.clone())),
        _ => None,
    });
    own.chain([Piece::Text(text.to_owned())]).chain(calls.iter().map(Piece::Call)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: &str) -> Call {
        Call { id: id.into(), name: "f".into(), arguments: "{}".into() }
    }

    fn order() -> Vec<Place> {
        vec![
            Place::Own(json!(1)),
            Place::Text { chars: 2, apart: false },
            Place::Own(json!(2)),
            Place::Text { chars: 1, apart: true },
            Place::Call,
            Place::Own(json!(3)),
        ]
    }

    #[test]
    fn the_order_comes_back_without_what_would_be_last() {
        let calls = [call("a")];
        let kept = extras(order(), "v:m").unwrap();
        let back = pieces("hé\n\nx", &calls, Some(&kept), "v:m", |_| true);
        let text = |text: &str| Piece::Text(text.to_owned());
        let expected =
            [Piece::Own(json!(1)), text("hé"), Piece::Own(json!(2)), text("x"), Piece::Call(&calls[0])];
        assert_eq!(back, expected);
    }

    #[test]
    fn a_message_that_was_changed_keeps_its_own_parts_in_front() {
        let calls = [call("a")];
        let kept = extras(order(), "v:m").unwrap();
        let back = pieces("other", &calls, Some(&kept), "v:m", |own| own != &json!(2));
        let own = |n: u8| Piece::Own(json!(n));
        assert_eq!(back, [own(1), own(3), Piece::Text("other".into()), Piece::Call(&calls[0])]);
    }

    #[test]
    fn foreign_parts_are_left_out_and_nothing_of_ones_own_needs_no_extras() {
        let kept = extras(order(), "v:other").unwrap();
        let text = [Piece::Text("hé\n\nx".into())];
        assert_eq!(pieces("hé\n\nx", &[], Some(&kept), "v:m", |_| true), text);
        assert_eq!(extras(vec![Place::Call], "v:m"), None);
        assert_eq!(pieces(" ", &[], None, "v:m", |_| true), []);
    }
}
