//! PURE: cuts an answer to what a platform takes in one message.
//!
//! The parsed document is cut, never the text of its markup: each part is a Markdown document of its
//! own, with its fences, quotes and lists closed and opened again. Sizes are added up on the way
//! (`pack`, `cut`), and every part is rendered and measured before it is believed.

use super::document::Block;
use super::markup::{APART, Plain, Source, pens};
use super::measure::measure;
use super::pack::Packer;
use super::read::parse;
use super::render::{render, write};
use super::size::{Room, Size};
use super::{Format, Limit};
use crate::platforms::Written;

/// How often a part that came out too long is cut again before its markup is given up.
const TRIES: u32 = 3;

/// The text in parts, in order; each fits the format when it is rendered. At least one; none is empty
/// unless the text is. A part is longer than the limit only if a single character is.
pub fn parts(markdown: &str, format: &Format) -> Vec<String> {
    let Some(limit) = format.limit.filter(|limit| limit.max > 0) else {
        return vec![markdown.to_owned()];
    };
    if sized(&render(markdown, format), limit).most() <= limit.max {
        return vec![markdown.to_owned()];
    }
    let mut out = Vec::new();
    let cutting = Cutting { format, limit };
    cutting.cut(parse(markdown), limit.max, TRIES, &mut out);
    if out.is_empty() {
        cutting.literal(&[Block::literal(markdown)], limit.max, &mut out);
    }
    if out.is_empty() {
        // Nothing but white space: as much of it as goes.
        let blank: String = markdown.chars().take(limit.max).collect();
        out.push(if measure(&blank, limit.unit) <= limit.max { blank } else { " ".to_owned() });
    }
    out
}

fn sized(written: &Written, limit: Limit) -> Size {
    Size { text: measure(&written.text, limit.unit), plain: measure(&written.plain, limit.unit) }
}

/// The text without white space and other marks that cuts may add or take away.
fn words(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|char| !char.is_whitespace() && *char != APART)
}

/// Blocks written as Markdown, and what became of it.
struct Draft {
    part: String,
    written: Written,
    /// Whether it says what the blocks say.
    faithful: bool,
}

struct Cutting<'a> {
    format: &'a Format,
    limit: Limit,
}

impl Cutting<'_> {
    fn draft(&self, blocks: &[Block]) -> Draft {
        let part = write(&Source, blocks);
        let written = render(&part, self.format);
        let (_, plain) = pens(self.format.markup);
        let faithful = words(&write(plain, blocks)).eq(words(&written.plain));
        Draft { part, written, faithful }
    }

    /// Cuts the blocks into parts of at most `max`, which is less than the limit where that was tried.
    fn cut(&self, blocks: Vec<Block>, max: usize, tries: u32, out: &mut Vec<String>) {
        let room = Room::new(self.format, Limit { max, ..self.limit });
        for mut piece in Packer::new(room).pack(blocks) {
            if !piece.iter().any(Block::says_something) {
                continue;
            }
            let mut draft = self.draft(&piece);
            if !draft.faithful {
                // Marks that touch each other cannot always be said again in Markdown.
                let torn = |block: &&mut Block| !self.draft(std::slice::from_ref(&**block)).faithful;
                piece.iter_mut().filter(torn).for_each(Block::unmark);
                draft = self.draft(&piece);
            }
            let size = sized(&draft.written, self.limit).most();
            if size > self.limit.max && tries > 0 {
                self.cut(piece, self.smaller(max, size), tries - 1, out);
            } else if size > self.limit.max || !draft.faithful {
                self.literal(&piece, self.limit.max, out);
            } else {
                out.push(draft.part);
            }
        }
    }

    /// The last resort: the readable text, with no markup at all.
    fn literal(&self, blocks: &[Block], max: usize, out: &mut Vec<String>) {
        let room = Room::new(self.format, Limit { max, ..self.limit });
        let plain = write(&Plain { quiet: false }, blocks);
        for piece in Packer::new(room).pack(vec![Block::literal(&plain)]) {
            let Draft { part, written, .. } = self.draft(&piece);
            let size = sized(&written, self.limit).most();
            if size > self.limit.max && max > 1 {
                self.literal(&piece, self.smaller(max, size), out);
            } else if words(&part).next().is_some() {
                out.push(part);
            }
        }
    }

    /// What to try where `max` came out as `size`.
    fn smaller(&self, max: usize, size: usize) -> usize {
        let less = size.saturating_sub(self.limit.max).max(max / 16).max(1);
        max.saturating_sub(less).max(1)
    }
}
