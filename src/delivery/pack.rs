//! PURE: fills parts with blocks: whole where they fit, else by their items, rows, lines and words.

use std::collections::HashSet;

use super::document::{Block, Cell, Item, Marker, Run, Table};
use super::render::Frame;
use super::size::{Room, Size};

/// A block in a part, with what it stands in.
pub(super) struct Entry {
    frames: Vec<Frame>,
    block: Block,
}

/// Fills part after part.
pub(super) struct Packer {
    pub room: Room,
    entries: Vec<Entry>,
    pub used: Size,
    done: Vec<Vec<Block>>,
    /// Items that stand in the part at hand.
    begun: HashSet<usize>,
    /// Items that stand in an earlier part: what is left of them has no marker.
    left: HashSet<usize>,
    ids: usize,
}

impl Packer {
    pub fn new(room: Room) -> Self {
        Self {
            room,
            entries: Vec::new(),
            used: Size::default(),
            done: Vec::new(),
            begun: HashSet::new(),
            left: HashSet::new(),
            ids: 0,
        }
    }

    pub fn pack(mut self, blocks: Vec<Block>) -> Vec<Vec<Block>> {
        for block in blocks {
            self.place(block, &[]);
        }
        self.turn();
        self.done
    }

    pub fn is_fresh(&self) -> bool {
        self.entries.is_empty()
    }

    /// The frames that still count: a continued item has no marker.
    pub fn frames(&self, frames: &[Frame]) -> Vec<Frame> {
        let counts = |frame: &&Frame| match frame {
            Frame::Quote(_) => true,
            Frame::Item { item, .. } => !self.left.contains(item),
        };
        frames.iter().filter(counts).copied().collect()
    }

    /// What stands between the last block and the next.
    pub fn gap(&self, frames: &[Frame]) -> Size {
        if self.is_fresh() { Size::default() } else { self.room.gap(frames) }
    }

    pub fn push(&mut self, block: Block, frames: &[Frame], size: Size) {
        for frame in frames {
            if let Frame::Item { item, .. } = frame {
                self.begun.insert(*item);
            }
        }
        self.used = self.used + size;
        self.entries.push(Entry { frames: frames.to_vec(), block });
    }

    /// The part at hand is done.
    pub fn turn(&mut self) {
        if self.entries.is_empty() {
            return;
        }
        self.done.push(assembled(std::mem::take(&mut self.entries), 0));
        self.left.extend(self.begun.drain());
        self.used = Size::default();
    }

    /// The part at hand is done; a heading at its end goes on with what it is the heading of.
    fn turn_before(&mut self, size: Size) {
        let heading = match self.entries.as_slice() {
            [_, .., Entry { frames, block: Block::Text { heading: Some(_), .. } }] if frames.is_empty() => {
                self.entries.pop()
            }
            _ => None,
        };
        self.turn();
        if let Some(Entry { frames, block }) = heading {
            let own = self.room.block(&block, &frames);
            self.push(block, &frames, own);
            if !self.room.fits(own + self.room.gap(&[]) + size) {
                self.turn();
            }
        }
    }

    fn id(&mut self) -> usize {
        self.ids += 1;
        self.ids
    }

    fn place(&mut self, block: Block, frames: &[Frame]) {
        let frames = self.frames(frames);
        let size = self.room.block(&block, &frames);
        let gap = self.gap(&frames);
        if self.room.fits(self.used + gap + size) {
            return self.push(block, &frames, gap + size);
        }
        if !self.is_fresh() && self.room.fits(size) {
            self.turn_before(size);
            let frames = self.frames(&frames);
            let gap = self.gap(&frames);
            return self.push(block, &frames, gap + size);
        }
        self.descend(block, &frames);
    }

    /// What does not fit as a whole.
    fn descend(&mut self, mut block: Block, frames: &[Frame]) {
        if self.used.most() > self.room.limit.max / 4 * 3 {
            self.turn();
        }
        let mut frames = self.frames(frames);
        let empty = Block::paragraph(Vec::new());
        if self.room.crowds(self.room.block(&empty, &frames)) {
            self.say_number(&mut block, &frames);
            frames.clear();
        }
        match block {
            Block::Text { heading, runs } => self.cut_text(heading, runs, &frames),
            Block::Code { info, text } => self.cut_code(info, &text, &frames),
            Block::Quote(blocks) => {
                frames.push(Frame::Quote(self.id()));
                for block in blocks {
                    self.place(block, &frames);
                }
            }
            Block::List(items) => {
                let list = self.id();
                for item in items {
                    self.place_item(item, list, &frames);
                }
            }
            Block::Table(table) => self.place_table(table, &frames),
            Block::Rule => self.push(Block::Rule, &frames, Size::default()),
        }
    }

    /// Where there is no room for an item as such, its number is said in the text.
    fn say_number(&mut self, block: &mut Block, frames: &[Frame]) {
        for frame in frames {
            let Frame::Item { item, marker: Marker { number: Some(number), .. }, .. } = frame else {
                continue;
            };
            if !self.begun.insert(*item) {
                continue;
            }
            let said = Run::text(format!("{number}. "));
            match block {
                Block::Text { runs, .. } => runs.insert(0, said),
                _ => self.place(Block::paragraph(vec![said]), &[]),
            }
        }
    }

    fn place_item(&mut self, item: Item, list: usize, frames: &[Frame]) {
        let mut frames = self.frames(frames);
        frames.push(Frame::Item { list, item: self.id(), marker: item.marker });
        let mut blocks = item.blocks;
        if blocks.is_empty() {
            blocks.push(Block::paragraph(Vec::new()));
        }
        let size = self.room.blocks(&blocks, &frames);
        let mut whole = self.gap(&frames) + size;
        if !self.room.fits(self.used + whole) {
            if self.is_fresh() || !self.room.fits(size) {
                for block in blocks {
                    self.place(block, &frames);
                }
                return;
            }
            self.turn();
            frames = self.frames(&frames);
            whole = size;
        }
        for block in blocks {
            self.push(block, &frames, std::mem::take(&mut whole));
        }
    }

    /// Row by row, with the header again in every part.
    fn place_table(&mut self, table: Table, frames: &[Frame]) {
        let Table { head, rows } = table;
        let only = |rows: Vec<Vec<Cell>>| Block::Table(Table { head: head.clone(), rows });
        let mut frames = self.frames(frames);
        let bare = self.room.block(&only(Vec::new()), &frames);
        let mut taken: Vec<Vec<Cell>> = Vec::new();
        let mut size = Size::default();
        if rows.is_empty() {
            return self.place(Table { head, rows }.heading(), &frames);
        }
        for row in rows {
            let own = self.room.block(&only(vec![row.clone()]), &frames);
            // Where there are no tables the header is not a row, and an empty line is between rows.
            let gap = self.room.gap(&frames);
            let more = Size {
                text: if self.room.text.tables() { own.less(bare).text + 1 } else { own.text + gap.text },
                plain: own.plain + gap.plain,
            };
            let first = Size { text: own.text.max(bare.text), plain: own.plain };
            if !taken.is_empty() && self.room.fits(self.used + size + more) {
                taken.push(row);
                size = size + more;
                continue;
            }
            if !taken.is_empty() {
                self.push(only(std::mem::take(&mut taken)), &frames, size);
            }
            if !self.is_fresh() && !self.room.fits(self.used + self.gap(&frames) + first) {
                self.turn();
                frames = self.frames(&frames);
            }
            if self.room.fits(self.used + self.gap(&frames) + first) {
                size = self.gap(&frames) + first;
                taken.push(row);
            } else {
                let record = Table { head: head.clone(), rows: Vec::new() }.record(&row);
                self.place(record, &frames);
            }
        }
        if !taken.is_empty() {
            self.push(only(taken), &frames, size);
        }
    }
}

/// Blocks out of entries: what stands in the same quote, list or item stands together again.
fn assembled(entries: Vec<Entry>, depth: usize) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut last_list = None;
    let mut entries = entries.into_iter().peekable();
    while let Some(entry) = entries.next() {
        let Some(frame) = entry.frames.get(depth).copied() else {
            blocks.push(entry.block);
            last_list = None;
            continue;
        };
        let mut inner = vec![entry];
        while let Some(next) = entries.next_if(|next| next.frames.get(depth) == Some(&frame)) {
            inner.push(next);
        }
        let inner = assembled(inner, depth + 1);
        match frame {
            Frame::Quote(_) => {
                blocks.push(Block::Quote(inner));
                last_list = None;
            }
            Frame::Item { list, marker, .. } => {
                let item = Item { marker, blocks: inner };
                match blocks.last_mut() {
                    Some(Block::List(items)) if last_list == Some(list) => items.push(item),
                    _ => blocks.push(Block::List(vec![item])),
                }
                last_list = Some(list);
            }
        }
    }
    blocks
}
