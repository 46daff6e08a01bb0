//! PURE: a document as a tree of blocks, which is what gets cut and rendered.
//!
//! Text inside a block is flat: [`Run`]s that each know their marks and their link, so that a cut
//! between any two of them leaves nothing open. `read` makes the tree, `render` writes it.

use std::rc::Rc;

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph, or a heading of a level.
    Text {
        heading: Option<u8>,
        runs: Vec<Run>,
    },
    Code {
        /// What stands behind the fence, such as `python`; without newlines and backticks.
        info: String,
        /// Without the last newline.
        text: String,
    },
    Quote(Vec<Block>),
    List(Vec<Item>),
    Table(Table),
    Rule,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item {
    pub marker: Marker,
    pub blocks: Vec<Block>,
}

/// What stands before an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marker {
    /// `None` for a dash.
    pub number: Option<u64>,
    /// Of a task list.
    pub checked: Option<bool>,
}

pub type Cell = Vec<Run>;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub head: Vec<Cell>,
    pub rows: Vec<Vec<Cell>>,
}

/// A stretch of text that looks the same from end to end.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub marks: Marks,
    pub link: Option<Rc<Link>>,
    pub leaf: Leaf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leaf {
    Text(String),
    Code(String),
    /// A new line; `hard` where the Markdown asked for it.
    Break {
        hard: bool,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    pub strong: bool,
    pub emphasis: bool,
    pub strike: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub url: String,
    pub image: bool,
}

impl Run {
    pub fn text(text: impl Into<String>) -> Self {
        Self { marks: Marks::default(), link: None, leaf: Leaf::Text(text.into()) }
    }

    pub const fn line_break() -> Self {
        let marks = Marks { strong: false, emphasis: false, strike: false };
        Self { marks, link: None, leaf: Leaf::Break { hard: true } }
    }

    pub fn strong(mut self) -> Self {
        self.marks.strong = true;
        self
    }

    /// Whether nothing of it is seen.
    pub fn is_blank(&self) -> bool {
        match &self.leaf {
            Leaf::Text(text) => text.trim().is_empty(),
            Leaf::Code(_) => false,
            Leaf::Break { .. } => true,
        }
    }

    /// Whether both belong to the same link, or to none.
    pub fn same_link(&self, other: &Self) -> bool {
        match (&self.link, &other.link) {
            (Some(one), Some(two)) => Rc::ptr_eq(one, two),
            (None, None) => true,
            _ => false,
        }
    }
}

impl Block {
    pub fn paragraph(runs: Vec<Run>) -> Self {
        Self::Text { heading: None, runs }
    }

    /// Whether anything of it is seen.
    pub fn says_something(&self) -> bool {
        match self {
            Self::Text { runs, .. } => !runs.iter().all(Run::is_blank),
            Self::Code { text, .. } => !text.trim().is_empty(),
            Self::Quote(blocks) => blocks.iter().any(Self::says_something),
            Self::List(items) => items.iter().any(|item| item.blocks.iter().any(Self::says_something)),
            Self::Table(_) | Self::Rule => true,
        }
    }

    /// Takes strong, emphasis and strikethrough out of it.
    pub fn unmark(&mut self) {
        let plain = |runs: &mut Vec<Run>| runs.iter_mut().for_each(|run| run.marks = Marks::default());
        match self {
            Self::Text { runs, .. } => plain(runs),
            Self::Quote(blocks) => blocks.iter_mut().for_each(Self::unmark),
            Self::List(items) => {
                items.iter_mut().flat_map(|item| &mut item.blocks).for_each(Self::unmark);
            }
            Self::Table(table) => {
                table.head.iter_mut().chain(table.rows.iter_mut().flatten()).for_each(plain);
            }
            Self::Code { .. } | Self::Rule => {}
        }
    }

    /// A text in which nothing is markup.
    pub fn literal(text: &str) -> Self {
        let mut runs = Vec::new();
        for line in text.lines() {
            if !runs.is_empty() {
                runs.push(Run::line_break());
            }
            runs.push(Run::text(line));
        }
        Self::paragraph(runs)
    }
}

impl Table {
    /// A row for those who know no tables: the first cell, and a line `header: value` for each other,
    /// so that header and value stay together.
    pub fn record(&self, row: &[Cell]) -> Block {
        let mut runs = Vec::new();
        for (index, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            if !runs.is_empty() {
                runs.push(Run::line_break());
            }
            if index == 0 {
                runs.extend(cell.iter().cloned().map(Run::strong));
                continue;
            }
            if let Some(head) = self.head.get(index).filter(|head| !head.is_empty()) {
                runs.extend(head.iter().cloned());
                runs.push(Run::text(": "));
            }
            runs.extend(cell.iter().cloned());
        }
        Block::paragraph(runs)
    }

    /// All of it for those who know no tables.
    pub fn records(&self) -> Vec<Block> {
        if self.rows.is_empty() {
            return vec![self.heading()];
        }
        self.rows.iter().map(|row| self.record(row)).collect()
    }

    /// The header alone, on one line.
    pub fn heading(&self) -> Block {
        let mut runs = Vec::new();
        for cell in &self.head {
            if !runs.is_empty() {
                runs.push(Run::text(" · "));
            }
            runs.extend(cell.iter().cloned().map(Run::strong));
        }
        Block::paragraph(runs)
    }
}
