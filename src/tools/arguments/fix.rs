//! Correction: a value turned into what the schema asks for, where it unmistakably is that.

use serde_json::{Map, Number, Value};

use super::check;
use super::schema::{Alternative, Node};

/// Largest whole number that a float holds exactly.
const FLOAT_EXACT_MAX: f64 = 9_007_199_254_740_992.0;
/// Digits of a whole number with an exponent, at most; a 64-bit number has twenty.
const DIGITS_MAX: usize = 20;

/// The value as the first alternative that it can be; if it can be none, as near as it comes.
pub fn fix(value: Value, node: Node<'_, '_>) -> Value {
    if !node.step() {
        return value;
    }
    let alternatives = node.alternatives();
    // A scalar that fits as it is stays as it is; a text may still be meant as something declared before.
    let plain = !matches!(value, Value::String(_) | Value::Object(_) | Value::Array(_));
    if plain && alternatives.iter().any(|one| check::fits(&value, one, &node)) {
        return value;
    }
    let mut nearest = None;
    for wrap in [false, true] {
        for one in &alternatives {
            let turned = turn(value.clone(), one);
            let of_kind = one.kind.is_none_or(|kind| check::is(&turned, kind));
            let fixed = match of_kind {
                true => within(turned, one, &node),
                false if wrap => match wrapped(&value, one, &node) {
                    Some(list) => list,
                    None => continue,
                },
                false => continue,
            };
            if check::fits(&fixed, one, &node) {
                return fixed;
            }
            nearest = nearest.or(Some(fixed));
        }
    }
    nearest.unwrap_or(value)
}

/// A scalar as this alternative has it; what it cannot be stays what it is.
fn turn(value: Value, one: &Alternative<'_>) -> Value {
    let turned = match &value {
        Value::String(text) => turned_text(text, one),
        Value::Number(number) if one.kind == Some("integer") => whole(number),
        _ => None,
    };
    turned.unwrap_or(value)
}

fn turned_text(text: &str, one: &Alternative<'_>) -> Option<Value> {
    let trimmed = text.trim();
    let is = |word: &str| trimmed.eq_ignore_ascii_case(word);
    match one.kind {
        Some("string") => same_word(text, one),
        Some("null") => (trimmed == "null").then_some(Value::Null),
        Some("boolean") => {
            is("true").then_some(true).or_else(|| is("false").then_some(false)).map(Value::Bool)
        }
        Some("integer") => integer(trimmed),
        Some("number") => number(trimmed),
        Some("array") => serde_json::from_str(trimmed).ok().filter(Value::is_array),
        Some("object") => serde_json::from_str(trimmed).ok().filter(Value::is_object),
        Some(_) => None,
        None => listed(text, one),
    }
}

/// One of the words that are allowed, where only the case or the space around it is another. Two
/// words that differ in nothing else leave it open which is meant.
fn same_word(text: &str, one: &Alternative<'_>) -> Option<Value> {
    let values = one.values()?;
    let word = |value: &&Value| value.as_str().is_some_and(|word| word.eq_ignore_ascii_case(text.trim()));
    let exact = values.iter().any(|value| value.as_str() == Some(text));
    let mut alike = values.into_iter().filter(word);
    match (exact, alike.next(), alike.next()) {
        (false, Some(only), None) => Some(only.clone()),
        _ => None,
    }
}

/// The allowed value whose JSON the text is, where values are listed and types are not.
fn listed(text: &str, one: &Alternative<'_>) -> Option<Value> {
    let values = one.values()?;
    if values.iter().any(|value| value.as_str() == Some(text)) {
        return None;
    }
    let read: Option<Value> = serde_json::from_str(text.trim()).ok();
    let found = values.iter().find(|value| Some(**value) == read.as_ref());
    found.map(|value| (*value).clone()).or_else(|| same_word(text, one))
}

/// `42`, `+42`, `42.0`, `4.2e1`; never by way of a float, and not `007`, which might be octal.
fn integer(text: &str) -> Option<Value> {
    let text =
        text.strip_prefix('+').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(text);
    let whole = |text: &str| serde_json::from_str(text).ok().filter(|read| check::is(read, "integer"));
    let number = || serde_json::from_str::<Value>(text).is_ok_and(|read| read.is_f64());
    whole(text).or_else(|| whole(&expanded(text).filter(|_| number())?))
}

/// A JSON number with a fraction or an exponent as plain digits, if it is whole. Digits are moved, not
/// calculated with, so that all of them stay.
fn expanded(text: &str) -> Option<String> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let point = i64::try_from(whole.len()).ok()? + i64::from(exponent);
    let point = usize::try_from(point).ok().filter(|point| *point <= DIGITS_MAX)?;
    let (kept, lost) = digits.split_at_checked(point).unwrap_or((&digits, ""));
    if lost.chars().any(|digit| digit != '0') {
        return None;
    }
    let kept = format!("{kept:0<point$}");
    let kept = kept.trim_start_matches('0');
    Some(if kept.is_empty() { "0".to_owned() } else { format!("{sign}{kept}") })
}

/// A number; one that is whole and too large for 64 bits stays a text, which has all of its digits.
fn number(text: &str) -> Option<Value> {
    let text =
        text.strip_prefix('+').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(text);
    let read: Value = serde_json::from_str(text).ok()?;
    let digits_lost = read.is_f64() && !text.contains(['.', 'e', 'E']);
    (read.is_number() && !digits_lost).then_some(read)
}

/// `5.0` where only whole numbers are taken is five.
fn whole(number: &Number) -> Option<Value> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    (float.fract() == 0.0 && float.abs() < FLOAT_EXACT_MAX).then(|| Value::from(float as i64))
}

/// What is inside of a container, corrected.
fn within(value: Value, one: &Alternative<'_>, node: &Node<'_, '_>) -> Value {
    match value {
        Value::Object(object) => Value::Object(members(object, one, node)),
        Value::Array(items) => items
            .into_iter()
            .enumerate()
            .map(|(index, item)| match node.item(one, index) {
                Some(each) => fix(item, each),
                None => item,
            })
            .collect(),
        other => other,
    }
}

/// Members corrected, and `null` dropped where it says no more than leaving the member out.
fn members(object: Map<String, Value>, one: &Alternative<'_>, node: &Node<'_, '_>) -> Map<String, Value> {
    let required = one.required();
    let mut corrected = Map::new();
    for (name, value) in object {
        let Some(member) = node.member(one, &name) else {
            corrected.insert(name, value);
            continue;
        };
        let says_nothing = value.is_null() && !member.takes("null") && !required.contains(&name.as_str());
        if !says_nothing {
            corrected.insert(name, fix(value, member));
        }
    }
    corrected
}

/// A value that no type fits stands for a list of itself, unless it is the wreck of a list.
fn wrapped(value: &Value, one: &Alternative<'_>, node: &Node<'_, '_>) -> Option<Value> {
    if one.kind != Some("array") || value.is_null() {
        return None;
    }
    let looks_broken = value.as_str().is_some_and(|text| text.trim_start().starts_with(['[', '{']));
    let Some(each) = node.item(one, 0) else {
        return (!looks_broken).then(|| Value::Array(vec![value.clone()]));
    };
    let item = fix(value.clone(), each.clone());
    let broken = looks_broken && item.is_string();
    (!broken && check::mistakes(&item, each).is_empty()).then(|| Value::Array(vec![item]))
}
