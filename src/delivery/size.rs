//! PURE: what a piece of a document takes up once it is rendered, in its markup and as plain text.

use std::iter::Sum;
use std::ops::Add;

use super::document::{Block, Leaf, Run};
use super::markup::{Pen, Place, pens};
use super::measure::measure;
use super::render::{Frame, framed, inline};
use super::{Format, Limit};

/// Lengths in the unit of the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub text: usize,
    pub plain: usize,
}

impl Size {
    pub const fn both(size: usize) -> Self {
        Self { text: size, plain: size }
    }

    pub fn most(self) -> usize {
        self.text.max(self.plain)
    }

    pub fn less(self, other: Self) -> Self {
        Self { text: self.text.saturating_sub(other.text), plain: self.plain.saturating_sub(other.plain) }
    }
}

impl Add for Size {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { text: self.text + other.text, plain: self.plain + other.plain }
    }
}

impl Sum for Size {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::default(), Add::add)
    }
}

/// What a part has room for, and the pens that write it.
#[derive(Clone, Copy)]
pub struct Room {
    pub text: &'static dyn Pen,
    pub plain: &'static dyn Pen,
    pub limit: Limit,
}

impl Room {
    pub fn new(format: &Format, limit: Limit) -> Self {
        let (text, plain) = pens(format.markup);
        Self { text, plain, limit }
    }

    pub fn fits(&self, size: Size) -> bool {
        size.most() <= self.limit.max
    }

    /// Whether this much around a text leaves too little for the text itself.
    pub fn crowds(&self, size: Size) -> bool {
        size.most() > self.limit.max / 2
    }

    /// The size of what a function writes with a pen.
    fn of(&self, write: impl Fn(&dyn Pen) -> String) -> Size {
        let length = |pen| measure(&write(pen), self.limit.unit);
        Size { text: length(self.text), plain: length(self.plain) }
    }

    pub fn blocks(&self, blocks: &[Block], frames: &[Frame]) -> Size {
        self.of(|pen| framed(pen, blocks, frames))
    }

    pub fn block(&self, block: &Block, frames: &[Frame]) -> Size {
        self.blocks(std::slice::from_ref(block), frames)
    }

    /// A new line of text inside of these frames, with what stands before each.
    pub fn line(&self, frames: &[Frame]) -> Size {
        let x = || Run::text("x");
        let one = self.block(&Block::paragraph(vec![x()]), frames);
        let two = self.block(&Block::paragraph(vec![x(), Run::line_break(), x()]), frames);
        two.less(one).less(Size::both(1))
    }

    /// A new line of code inside of these frames.
    pub fn code_line(&self, frames: &[Frame]) -> Size {
        let code = |text: &str| Block::Code { info: String::new(), text: text.to_owned() };
        self.block(&code("x\nx"), frames).less(self.block(&code("x"), frames)).less(Size::both(1))
    }

    /// What stands between two blocks.
    pub fn gap(&self, frames: &[Frame]) -> Size {
        if frames.is_empty() {
            self.of(|pen| pen.gap().to_owned())
        } else {
            self.line(frames) + self.line(frames)
        }
    }

    /// A text without marks, wherever it stands.
    pub fn leaf(&self, text: &str, code: bool) -> Size {
        let place = Place { line_start: true, one_line: false };
        let put = |pen: &dyn Pen| {
            let mut out = String::with_capacity(text.len() + 8);
            if code {
                pen.code(text, place, &mut out)
            } else {
                pen.text(text, place, &mut out)
            }
            out
        };
        let size = self.of(put);
        if code { size.less(self.leaf_of_nothing()) } else { size }
    }

    fn leaf_of_nothing(&self) -> Size {
        let code = Run { leaf: Leaf::Code("x".to_owned()), ..Run::text("") };
        self.of(|pen| inline(pen, std::slice::from_ref(&code), Place::default())).less(Size::both(1))
    }

    /// Text as it stands in a block of code.
    pub fn code(&self, text: &str) -> Size {
        self.of(|pen| {
            let mut out = String::with_capacity(text.len());
            pen.code_lines(text, &mut out);
            out
        })
    }

    /// What the marks, the link and the ticks around the text of a run take up.
    pub fn around(&self, run: &Run) -> Size {
        let code = matches!(run.leaf, Leaf::Code(_));
        let leaf = if code { Leaf::Code("x".to_owned()) } else { Leaf::Text("x".to_owned()) };
        let run = Run { leaf, ..run.clone() };
        let mut size =
            self.of(|pen| inline(pen, std::slice::from_ref(&run), Place::default())).less(Size::both(1));
        if self.text.marks_whole_words() && size.text > 0 {
            // Up to one of no width on each side.
            size.text += 2;
        }
        size
    }
}
