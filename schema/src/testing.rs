//! Every event there can be, made from bytes or counted through. For tests and fuzzing only.
//!
//! A serde deserializer that draws what it is asked for from a [`Source`] instead of reading it
//! from a format: whatever the vocabulary grows by is covered without a line here. Two sources:
//! [`Entropy`] turns arbitrary bytes into arbitrary values and shrinks towards nothing as its bytes
//! run out; [`Counter`] walks through the variants, so that a few samples show all of them.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::value::U32Deserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, SeqAccess, VariantAccess, Visitor,
};

use crate::{Event, NewEvent, Position, Recorded, TurnId};

/// Longest generated list.
const LIST_MAX: usize = 3;
/// Longest generated text, in characters.
const TEXT_CHARS_MAX: usize = 24;

/// Where generated values come from.
pub trait Source {
    /// One of `of` choices of `what`, counted from 0.
    fn pick(&mut self, what: &'static str, of: usize) -> usize;
    /// Any number.
    fn number(&mut self) -> u64;
    /// Any text.
    fn text(&mut self) -> String;
}

/// An event made of `bytes`; the same bytes make the same event, no bytes make the plainest one.
pub fn event(bytes: &[u8]) -> Event {
    generate(&mut Entropy(bytes))
}

/// An event of the type that is `nth` in [`Event::KINDS`], counted around, made of `bytes`.
pub fn event_of(nth: usize, bytes: &[u8]) -> Event {
    generate(&mut Of { nth, source: Entropy(bytes), picked: false })
}

/// A whole recorded event made of `bytes`; its envelope is as arbitrary as its event.
pub fn recorded(bytes: &[u8]) -> Recorded {
    generate(&mut Entropy(bytes))
}

/// An event with arbitrary references, about to be appended.
pub fn new_event(bytes: &[u8]) -> NewEvent {
    let mut source = Entropy(bytes);
    let cause = Some(source.number()).filter(|number| *number != 0).map(Position);
    let turn = Some(source.number()).filter(|number| *number != 0).map(TurnId);
    NewEvent { event: generate(&mut source), cause, turn }
}

/// Samples of the type that is `nth` in [`Event::KINDS`] which together show every variant of
/// every enum in it, each option both ways, and the numbers at which the encoding changes. Always
/// the same ones.
pub fn samples(nth: usize) -> Vec<Event> {
    const TRIED: u64 = 512;
    const KEPT_ANYWAY: u64 = 6;
    let mut seen = BTreeSet::new();
    let mut samples = Vec::new();
    for round in 0..TRIED {
        let mut source = Of { nth, source: Counter::new(round), picked: false };
        let event = generate(&mut source);
        let before = seen.len();
        seen.extend(source.source.seen);
        if seen.len() > before || round < KEPT_ANYWAY {
            samples.push(event);
        }
    }
    samples
}

/// A value of any type whose deserialization asks for nothing but what events are made of.
///
/// # Panics
/// If the type refuses what it is given, which no payload does.
pub fn generate<T: for<'de> Deserialize<'de>, S: Source>(source: &mut S) -> T {
    match T::deserialize(Drawn(source)) {
        Ok(value) => value,
        Err(error) => panic!("a payload refuses a generated value: {error}"),
    }
}

/// Arbitrary bytes as a source; zeros once they have run out.
pub struct Entropy<'a>(pub &'a [u8]);

impl Entropy<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }
}

impl Source for Entropy<'_> {
    fn pick(&mut self, _: &'static str, of: usize) -> usize {
        usize::from(self.byte()) % of.max(1)
    }

    fn number(&mut self) -> u64 {
        let bytes = self.byte() % 9;
        (0..bytes).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    fn text(&mut self) -> String {
        let chars = usize::from(self.byte()) % (TEXT_CHARS_MAX + 1);
        let mut draw = |_| match self.byte() {
            byte if byte < 0xc0 => char::from(byte),
            byte => char::from_u32(
                u32::from(byte & 0x1f) << 16 | u32::from(self.byte()) << 8 | u32::from(self.byte()),
            )
            .unwrap_or(char::REPLACEMENT_CHARACTER),
        };
        (0..chars).map(&mut draw).collect()
    }
}

/// Numbers at which the encoding changes its width, and their neighbours.
const NUMBERS: [u64; 12] = [
    0,
    1,
    250,
    251,
    255,
    256,
    u16::MAX as u64,
    u16::MAX as u64 + 1,
    u32::MAX as u64,
    u32::MAX as u64 + 1,
    i64::MAX as u64,
    u64::MAX,
];
/// Texts of one to four bytes a character, empty, with quotes and line ends.
const TEXTS: [&str; 6] =
    ["", "plain", "naïve café", "记忆 かな 한글", "🦀 \"quoted\" \\ \u{301}", "two\r\nlines\t\0"];

/// Counts through choices: round after round every variant comes up.
struct Counter {
    round: u64,
    /// What of the round is not used up by earlier picks.
    left: u64,
    drawn: u64,
    picks: usize,
    seen: BTreeSet<(&'static str, usize, usize)>,
}

impl Counter {
    fn new(round: u64) -> Self {
        Self { round, left: round, drawn: round, picks: 0, seen: BTreeSet::new() }
    }
}

impl Source for Counter {
    fn pick(&mut self, what: &'static str, of: usize) -> usize {
        let of = of.max(1);
        let picked = (self.left % of as u64) as usize;
        self.left = match self.left / of as u64 {
            0 => self.round,
            left => left,
        };
        self.picks += 1;
        // An enum counts by its variants wherever it stands, an option by where it stands.
        let place = if what.is_empty() { self.picks } else { 0 };
        self.seen.insert((what, place, picked));
        picked
    }

    fn number(&mut self) -> u64 {
        self.drawn += 1;
        *NUMBERS.iter().cycle().nth((self.drawn % 12) as usize).unwrap_or(&0)
    }

    fn text(&mut self) -> String {
        self.drawn += 1;
        TEXTS.iter().cycle().nth((self.drawn % 6) as usize).map(|text| (*text).to_owned()).unwrap_or_default()
    }
}

/// Fixes the first choice, which is the event's type.
struct Of<S> {
    nth: usize,
    source: S,
    picked: bool,
}

impl<S: Source> Source for Of<S> {
    fn pick(&mut self, what: &'static str, of: usize) -> usize {
        if self.picked {
            return self.source.pick(what, of);
        }
        self.picked = true;
        self.nth % of.max(1)
    }

    fn number(&mut self) -> u64 {
        self.source.number()
    }

    fn text(&mut self) -> String {
        self.source.text()
    }
}

/// Why a value could not be generated.
#[derive(Debug)]
pub struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl serde::de::Error for Refused {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// A deserializer that makes up what it is asked for.
struct Drawn<'a, S>(&'a mut S);

macro_rules! numbers {
    ($($method:ident $visit:ident $type:ty,)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
            visitor.$visit(self.0.number() as $type)
        })*
    };
}

macro_rules! refused {
    ($($method:ident($($argument:ident: $type:ty),*),)*) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $type,)* _: V) -> Result<V::Value, Refused> {
            $(let _ = $argument;)*
            Err(Refused(concat!("no payload may ask for ", stringify!($method)).to_owned()))
        })*
    };
}

impl<'de, S: Source> Deserializer<'de> for Drawn<'_, S> {
    type Error = Refused;

    numbers! {
        deserialize_u8 visit_u8 u8,
        deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64,
        deserialize_i8 visit_i8 i8,
        deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64,
    }

    // The rules of change in the crate's head forbid these in a payload.
    refused! {
        deserialize_any(),
        deserialize_f32(),
        deserialize_f64(),
        deserialize_map(),
        deserialize_identifier(),
        deserialize_ignored_any(),
        deserialize_bytes(),
        deserialize_byte_buf(),
        deserialize_char(),
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_bool(self.0.pick("", 2) == 1)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_string(self.0.text())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_string(self.0.text())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.0.pick("", 2) {
            0 => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        let left = self.0.pick("", LIST_MAX + 1);
        visitor.visit_seq(Parts { source: self.0, left })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_seq(Parts { source: self.0, left: len })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_seq(Parts { source: self.0, left: len })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_seq(Parts { source: self.0, left: fields.len() })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        let picked = self.0.pick(name, variants.len());
        visitor.visit_enum(Variant { source: self.0, picked: picked as u32 })
    }
}

struct Parts<'a, S> {
    source: &'a mut S,
    left: usize,
}

impl<'de, S: Source> SeqAccess<'de> for Parts<'_, S> {
    type Error = Refused;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Refused> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = left;
        seed.deserialize(Drawn(self.source)).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

struct Variant<'a, S> {
    source: &'a mut S,
    picked: u32,
}

impl<'de, S: Source> EnumAccess<'de> for Variant<'_, S> {
    type Error = Refused;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Refused> {
        let index: U32Deserializer<Refused> = self.picked.into_deserializer();
        Ok((seed.deserialize(index)?, self))
    }
}

impl<'de, S: Source> VariantAccess<'de> for Variant<'_, S> {
    type Error = Refused;

    fn unit_variant(self) -> Result<(), Refused> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Refused> {
        seed.deserialize(Drawn(self.source))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_seq(Parts { source: self.source, left: len })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_seq(Parts { source: self.source, left: fields.len() })
    }
}
