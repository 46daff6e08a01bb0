//! PURE: how long a text is, in the unit that a platform counts in.

use unicode_segmentation::UnicodeSegmentation;

use super::Unit;

/// How long the text is in the unit.
pub fn measure(text: &str, unit: Unit) -> usize {
    match unit {
        Unit::Bytes => text.len(),
        Unit::Chars => text.chars().count(),
        Unit::Utf16 => text.chars().map(char::len_utf16).sum(),
        Unit::Graphemes => text.graphemes(true).count(),
    }
}

impl Unit {
    /// As a program is told.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Chars => "chars",
            Self::Utf16 => "utf16",
            Self::Bytes => "bytes",
            Self::Graphemes => "graphemes",
        }
    }

    /// As a person is told, such as `4,096 UTF-16 units`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chars => "characters",
            Self::Utf16 => "UTF-16 units",
            Self::Bytes => "bytes",
            Self::Graphemes => "graphemes",
        }
    }
}
