//! The bytes of text files: which encoding, whether it is text at all, and back again unchanged.
//!
//! UTF-8, UTF-16 with or without a byte order mark, and as a last resort windows-1252, which gives
//! every byte a character. Whatever [`decode`] returns, [`encode`] turns into the same bytes.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Bytes that are looked at to tell what a file is.
pub(crate) const SAMPLE_BYTES: usize = 64 << 10;
/// A file is binary when more than one in this many bytes is a control character.
const CONTROL_ONE_IN: usize = 10;

const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";
const UTF16LE_BOM: &[u8] = b"\xff\xfe";
const UTF16BE_BOM: &[u8] = b"\xfe\xff";

/// How text is kept in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub encoding: &'static Encoding,
    /// Whether a byte order mark stands before it.
    pub bom: bool,
}

impl Format {
    pub const UTF8: Self = Self { encoding: UTF_8, bom: false };

    /// The byte order mark, or nothing.
    pub fn mark(self) -> &'static [u8] {
        match self.encoding {
            _ if !self.bom => b"",
            encoding if encoding == UTF_16LE => UTF16LE_BOM,
            encoding if encoding == UTF_16BE => UTF16BE_BOM,
            _ => UTF8_BOM,
        }
    }
}

/// What the beginning of a file says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Text(Format),
    /// A picture, of this kind.
    Image(&'static str),
    Binary,
}

/// Tells what a file is from its first bytes; `whole` if they are all there is.
pub(crate) fn sniff(sample: &[u8], whole: bool) -> Content {
    if let Some(kind) = image(sample) {
        return Content::Image(kind);
    }
    if let Some(format) = marked(sample) {
        return Content::Text(format);
    }
    if sample.contains(&0) {
        return unmarked_utf16(sample, whole).map_or(Content::Binary, Content::Text);
    }
    let control = sample.iter().filter(|byte| is_control(**byte)).count();
    if control.saturating_mul(CONTROL_ONE_IN) > sample.len() {
        return Content::Binary;
    }
    Content::Text(if is_utf8(sample, whole) {
        Format::UTF8
    } else {
        Format { encoding: WINDOWS_1252, bom: false }
    })
}

/// The text of a whole file, and how it was kept; `None` if it is not text.
pub(crate) fn decode(bytes: &[u8]) -> Option<(String, Format)> {
    let Content::Text(mut format) =
        sniff(bytes.get(..SAMPLE_BYTES).unwrap_or(bytes), bytes.len() <= SAMPLE_BYTES)
    else {
        return None;
    };
    if format == Format::UTF8 && std::str::from_utf8(bytes).is_err() {
        format.encoding = WINDOWS_1252;
    }
    let body = bytes.strip_prefix(format.mark())?;
    let text = format.encoding.decode_without_bom_handling_and_without_replacement(body)?;
    Some((text.into_owned(), format))
}

/// The bytes of `text` in a file of this format.
///
/// # Errors
/// The first character that the encoding does not have.
pub(crate) fn encode(text: &str, format: Format) -> Result<Vec<u8>, char> {
    let mut bytes = format.mark().to_vec();
    match format.encoding {
        encoding if encoding == UTF_8 => bytes.extend_from_slice(text.as_bytes()),
        encoding if encoding == UTF_16LE => bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
        encoding if encoding == UTF_16BE => bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
        encoding => {
            let (encoded, _, lost) = encoding.encode(text);
            if lost {
                return Err(first_lost(text, encoding));
            }
            bytes.extend_from_slice(&encoded);
        }
    }
    Ok(bytes)
}

fn first_lost(text: &str, encoding: &'static Encoding) -> char {
    let lost = |character: &char| encoding.encode(character.encode_utf8(&mut [0; 4])).2;
    text.chars().find(lost).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn marked(sample: &[u8]) -> Option<Format> {
    let (encoding, _) = Encoding::for_bom(sample)?;
    Some(Format { encoding, bom: true })
}

/// Text in UTF-16 without a mark has its zero bytes all on one side.
fn unmarked_utf16(sample: &[u8], whole: bool) -> Option<Format> {
    let zeros = |odd: usize| sample.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    let encoding = match (zeros(0), zeros(1)) {
        (0, right) if right * 5 > sample.len() => UTF_16LE,
        (left, 0) if left * 5 > sample.len() => UTF_16BE,
        _ => return None,
    };
    // A sample may end inside a character; its last two code units prove nothing.
    let end = if whole { sample.len() } else { (sample.len() & !1).saturating_sub(4) };
    let text = encoding.decode_without_bom_handling_and_without_replacement(sample.get(..end)?)?;
    let control = text.chars().filter(|c| c.is_control() && !c.is_whitespace()).count();
    (control == 0).then_some(Format { encoding, bom: false })
}

/// Whether it is UTF-8; a sample may end inside a character.
fn is_utf8(sample: &[u8], whole: bool) -> bool {
    match std::str::from_utf8(sample) {
        Ok(_) => true,
        Err(error) => !whole && error.error_len().is_none(),
    }
}

fn is_control(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0c | 0x1b)
}

fn image(sample: &[u8]) -> Option<&'static str> {
    const MAGIC: &[(&[u8], &str)] = &[
        (b"\x89PNG\r\n\x1a\n", "png"),
        (b"\xff\xd8\xff", "jpeg"),
        (b"GIF87a", "gif"),
        (b"GIF89a", "gif"),
        (b"II*\0", "tiff"),
        (b"MM\0*", "tiff"),
        (b"BM", "bmp"),
    ];
    if sample.starts_with(b"RIFF") && sample.get(8..12) == Some(b"WEBP") {
        return Some("webp");
    }
    let (_, kind) = MAGIC.iter().find(|(magic, _)| sample.starts_with(magic))?;
    // Two letters begin many texts; a bitmap has zeros in its header.
    (*kind != "bmp" || sample.get(..26).is_some_and(|header| header.contains(&0))).then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn utf16le(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn tells_encodings_apart() {
        let name =
            |bytes: &[u8]| decode(bytes).map(|(text, format)| (text, format.encoding.name(), format.bom));
        assert_eq!(name("né".as_bytes()), Some(("né".into(), "UTF-8", false)));
        assert_eq!(name(b"\xef\xbb\xbfa"), Some(("a".into(), "UTF-8", true)));
        assert_eq!(name(b"caf\xe9"), Some(("café".into(), "windows-1252", false)));
        assert_eq!(name(b"\xff\xfea\0"), Some(("a".into(), "UTF-16LE", true)));
        assert_eq!(name(&utf16le("plain words\n")), Some(("plain words\n".into(), "UTF-16LE", false)));
        assert_eq!(name(b""), Some((String::new(), "UTF-8", false)));
    }

    #[test]
    fn a_sample_that_ends_inside_a_character_is_text() {
        let file = format!("a{}", "я".repeat(SAMPLE_BYTES));
        let sample = &file.as_bytes()[..SAMPLE_BYTES];
        assert!(std::str::from_utf8(sample).is_err());
        assert_eq!(sniff(sample, false), Content::Text(Format::UTF8));
        assert_eq!(decode(file.as_bytes()).unwrap().0, file);
    }

    #[test]
    fn binaries_and_pictures_are_not_text() {
        assert_eq!(sniff(b"\x7fELF\x02\x01\x01\0\0\0\0\0", true), Content::Binary);
        assert_eq!(sniff(b"\x89PNG\r\n\x1a\n\0\0", true), Content::Image("png"));
        assert_eq!(sniff(b"BMW is a car, and not a picture of one", true), Content::Text(Format::UTF8));
        assert_eq!(sniff(&[1, 2, 3, 4, b'a'], true), Content::Binary);
    }

    #[test]
    fn a_character_that_does_not_fit_is_named() {
        let format = Format { encoding: WINDOWS_1252, bom: false };
        assert_eq!(encode("café €", format).unwrap(), b"caf\xe9 \x80");
        assert_eq!(encode("ok 漢", format), Err('漢'));
    }

    proptest! {
        #[test]
        fn what_is_decoded_encodes_to_the_same_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some((text, format)) = decode(&bytes) {
                prop_assert_eq!(encode(&text, format).unwrap(), bytes);
            }
        }

        #[test]
        fn marked_bytes_come_back_too(bytes in proptest::collection::vec(any::<u8>(), 0..50), mark in 0..3) {
            let mark = [UTF8_BOM, UTF16LE_BOM, UTF16BE_BOM][mark as usize];
            let bytes = [mark, &bytes].concat();
            if let Some((text, format)) = decode(&bytes) {
                prop_assert_eq!(encode(&text, format).unwrap(), bytes);
            }
        }
    }
}
