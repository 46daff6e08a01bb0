//! PURE: takes out of a text what a model writes between tags: its reasoning (`<think>…</think>`),
//! and the memory that herm showed it (`<memory-context>…</memory-context>`).
//!
//! A state machine over chunk borders: a tag may be cut anywhere. An opening tag counts only where
//! a line begins (nothing but white space before it), so that a sentence about the tag stays whole;
//! a closing tag ends the block wherever it stands. A block that is never closed goes on to the end.

/// Names of tags, compared without regard to case; a prefix and a colon may stand before one.
const THINK: &[&str] = &["think", "thinking", "reasoning", "thought", "reasoning_scratchpad"];
/// Around facts that are put beside a message for the model alone.
const MEMORY: &[&str] = &["memory-context"];
/// Longest tag that is waited for, in bytes: the longest name with a prefix and punctuation.
const TAG_BYTES_MAX: usize = 64;

/// A piece of text, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scrubbed {
    pub visible: String,
    /// What stood in blocks.
    pub hidden: String,
}

/// What is known about the text that is held back.
enum Held {
    Tag { closing: bool, bytes: usize },
    NoTag,
    Undecided,
}

/// Sorts a text that comes in pieces.
#[derive(Debug)]
pub struct Scrubber {
    names: &'static [&'static str],
    in_block: bool,
    /// Only white space has been seen on the current line.
    line_start: bool,
    /// Nothing visible but white space has been given yet: leading white space is dropped.
    nothing_visible: bool,
    /// Begins with `<` or is empty.
    held: String,
}

impl Default for Scrubber {
    fn default() -> Self {
        Self::think()
    }
}

impl Scrubber {
    /// For the reasoning of models that write it into their text.
    pub fn think() -> Self {
        Self::new(THINK)
    }

    /// For memory that a model repeats.
    pub fn memory() -> Self {
        Self::new(MEMORY)
    }

    fn new(names: &'static [&'static str]) -> Self {
        Self { names, in_block: false, line_start: true, nothing_visible: true, held: String::new() }
    }

    /// A whole text without its blocks.
    pub fn scrubbed(mut self, text: &str) -> Scrubbed {
        let mut all = self.feed(text);
        let rest = self.finish();
        all.visible.push_str(&rest.visible);
        all.hidden.push_str(&rest.hidden);
        all
    }

    /// Takes the next piece; what is decided of it.
    pub fn feed(&mut self, text: &str) -> Scrubbed {
        let mut out = Scrubbed::default();
        let mut input = std::mem::take(&mut self.held);
        input.push_str(text);
        let mut rest = input.as_str();
        while !rest.is_empty() {
            let (plain, from_tag) = self.before_tag(rest);
            self.give(plain, &mut out);
            if from_tag.is_empty() {
                break;
            }
            match judge(from_tag, self.names) {
                Held::Undecided => {
                    from_tag.clone_into(&mut self.held);
                    break;
                }
                Held::Tag { closing, bytes } if self.counts(closing) => {
                    self.in_block = !closing;
                    rest = from_tag.get(bytes..).unwrap_or_default();
                }
                _ => {
                    self.give("<", &mut out);
                    rest = from_tag.strip_prefix('<').unwrap_or_default();
                }
            }
        }
        out
    }

    /// Ends the text: what was held back was no tag.
    pub fn finish(mut self) -> Scrubbed {
        let mut out = Scrubbed::default();
        let held = std::mem::take(&mut self.held);
        self.give(&held, &mut out);
        out
    }

    /// Splits before the next `<` that may begin a tag that counts.
    fn before_tag<'a>(&self, text: &'a str) -> (&'a str, &'a str) {
        let mut line_start = self.line_start;
        for (at, char) in text.char_indices() {
            if char == '<' && (self.in_block || line_start) {
                return text.split_at_checked(at).unwrap_or((text, ""));
            }
            line_start = char == '\n' || (line_start && char.is_whitespace());
        }
        (text, "")
    }

    /// A closing tag outside a block counts where a line begins: its opening was in the prompt.
    fn counts(&self, closing: bool) -> bool {
        if self.in_block { closing } else { self.line_start }
    }

    fn give(&mut self, text: &str, out: &mut Scrubbed) {
        if self.in_block {
            out.hidden.push_str(text);
            return;
        }
        for char in text.chars() {
            self.line_start = char == '\n' || (self.line_start && char.is_whitespace());
        }
        let text = if self.nothing_visible { text.trim_start() } else { text };
        self.nothing_visible &= text.is_empty();
        out.visible.push_str(text);
    }
}

/// Whether `text`, which begins with `<`, begins with a tag of ours.
fn judge(text: &str, names: &[&str]) -> Held {
    let Some(end) = text.find('>') else {
        let inner = text.strip_prefix('<').unwrap_or(text);
        let possible = text.len() <= TAG_BYTES_MAX && may_become_name(inner, names);
        return if possible { Held::Undecided } else { Held::NoTag };
    };
    let inner = text.get(1..end).unwrap_or_default();
    let closing = inner.starts_with('/');
    let name = inner.strip_prefix('/').unwrap_or(inner).trim_end();
    let (prefix, bare) = name.split_once(':').unwrap_or(("", name));
    if end <= TAG_BYTES_MAX && is_word(prefix) && names.iter().any(|known| bare.eq_ignore_ascii_case(known)) {
        Held::Tag { closing, bytes: end + 1 }
    } else {
        Held::NoTag
    }
}

fn is_word(text: &str) -> bool {
    text.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.'))
}

fn may_become_name(inner: &str, names: &[&str]) -> bool {
    let name = inner.strip_prefix('/').unwrap_or(inner);
    let plain = name.trim_end();
    match plain.split_once(':') {
        Some((prefix, bare)) => is_word(prefix) && begins_a_name(bare, names),
        // A prefix may still be written, so any word may go on to be one.
        None => is_word(plain) && (plain.len() == name.len() || begins_a_name(plain, names)),
    }
}

fn begins_a_name(text: &str, names: &[&str]) -> bool {
    names.iter().any(|name| {
        name.len() >= text.len() && name.bytes().zip(text.bytes()).all(|(a, b)| a == b.to_ascii_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scrub(deltas: &[&str]) -> (String, String) {
        let mut scrubber = Scrubber::think();
        let mut all = Scrubbed::default();
        let mut add = |piece: Scrubbed| {
            all.visible.push_str(&piece.visible);
            all.hidden.push_str(&piece.hidden);
        };
        deltas.iter().for_each(|delta| add(scrubber.feed(delta)));
        add(scrubber.finish());
        (all.visible, all.hidden)
    }

    #[test]
    fn a_tag_cut_over_chunks_does_not_leak() {
        // Case `stream-think-o`.
        for (deltas, visible) in [
            (vec!["<", "think>plan</think>", "Done"], "Done"),
            (vec!["<think>a", "b", "</think>", "Let me check."], "Let me check."),
            (vec!["Use the <think> element for notes"], "Use the <think> element for notes"),
            (vec!["<think>never closed"], ""),
            (vec!["<Thinking>p</Thin", "king>Yes"], "Yes"),
            (vec!["<x:thinking>p</x:thinking>Ok"], "Ok"),
        ] {
            assert_eq!(scrub(&deltas).0, visible, "{deltas:?}");
        }
    }

    #[test]
    fn what_is_taken_out_is_reasoning() {
        assert_eq!(scrub(&["<think>a < b", " </b></think>\n\nYes\n <thought>c</thought>"]).1, "a < b </b>c");
    }

    #[test]
    fn memory_that_a_model_repeats_is_not_shown() {
        for (text, visible) in [
            ("<memory-context>\nlikes tea\n</memory-context>\n\nHello", "Hello"),
            ("Hello\n<Memory-Context>x</memory-context> there", "Hello\n there"),
            ("what is <memory-context>?", "what is <memory-context>?"),
            ("<memory>kept</memory>", "<memory>kept</memory>"),
            ("<think>kept</think>", "<think>kept</think>"),
        ] {
            assert_eq!(Scrubber::memory().scrubbed(text).visible, visible);
            let mut scrubber = Scrubber::memory();
            let mut piecewise: String =
                text.chars().map(|c| scrubber.feed(c.encode_utf8(&mut [0; 4])).visible).collect();
            piecewise.push_str(&scrubber.finish().visible);
            assert_eq!(piecewise, visible, "in pieces");
        }
    }

    #[test]
    fn other_tags_and_lone_angles_stay() {
        for text in ["<b>bold</b>", "a < b", "x\n<", "<table>", "<thinker>x", "Vec<think>", "< think>"] {
            assert_eq!(scrub(&[text]).0, text);
        }
    }

    #[test]
    fn a_closing_tag_whose_opening_was_in_the_prompt_is_dropped() {
        assert_eq!(scrub(&["</think>\n\nYes"]).0, "Yes");
    }

    proptest! {
        #[test]
        fn chunk_borders_do_not_matter(
            parts in proptest::collection::vec(
                prop_oneof!["<think>", "</think>", "<x:think>", "<", ">", "\n", " ", "a", "é", "<thi"], 0..12),
            cut in 0usize..40,
        ) {
            let text = parts.concat();
            let at = text.char_indices().map(|(at, _)| at).nth(cut).unwrap_or(text.len());
            let (a, b) = text.split_at(at);
            let each: Vec<String> = text.chars().map(String::from).collect();
            let each: Vec<&str> = each.iter().map(String::as_str).collect();
            prop_assert_eq!(scrub(&[a, b]), scrub(&[&text]));
            prop_assert_eq!(scrub(&each), scrub(&[&text]));
        }
    }
}
