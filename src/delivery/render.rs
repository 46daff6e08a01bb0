//! PURE: a part of an answer in the markup of its platform.

use super::document::{Block, Cell, Item, Leaf, Link, Marker, Marks, Run, Table};
use super::markup::{APART, Mark, Pen, Place, pens};
use super::read::parse;
use super::{Format, Markup};
use crate::platforms::Written;

/// The part in the platform's markup, and as readable text. `plan::parts` sees to it that both keep
/// the limit.
pub fn render(part: &str, format: &Format) -> Written {
    if part.trim().is_empty() {
        return Written::plain(part);
    }
    let blocks = parse(part);
    let (pen, plain) = pens(format.markup);
    let text = match format.markup {
        Markup::Source => part.to_owned(),
        _ => write(pen, &blocks),
    };
    Written { text, plain: write(plain, &blocks) }
}

/// Around a block: what [`framed`] puts it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// With a number of its own, which tells it from other quotes.
    Quote(usize),
    Item {
        list: usize,
        item: usize,
        marker: Marker,
    },
}

/// Blocks as a whole document.
pub(super) fn write(pen: &dyn Pen, blocks: &[Block]) -> String {
    joined(pen, blocks, pen.gap(), false)
}

/// Blocks inside of these frames, the outermost first.
pub(super) fn framed(pen: &dyn Pen, blocks: &[Block], frames: &[Frame]) -> String {
    let in_item = matches!(frames.last(), Some(Frame::Item { .. }));
    let mut body = match in_item {
        true => item_body(pen, blocks, true),
        false => joined(pen, blocks, pen.gap(), !frames.is_empty()),
    };
    for (depth, frame) in frames.iter().enumerate().rev() {
        body = match frame {
            Frame::Quote(_) => pen.quote(&body, depth > 0),
            Frame::Item { marker, .. } => pen.list(marker, &[pen.item(marker, &body)]),
        };
    }
    body
}

fn joined(pen: &dyn Pen, blocks: &[Block], gap: &str, nested: bool) -> String {
    let mut out = String::new();
    for block in blocks {
        let one = written(pen, block, nested);
        if !one.is_empty() {
            if !out.is_empty() {
                out.push_str(gap);
            }
            out.push_str(&one);
        }
    }
    out
}

fn item_body(pen: &dyn Pen, blocks: &[Block], nested: bool) -> String {
    match blocks {
        [Block::Text { heading: None, runs }, rest @ ..] if pen.item_is_bare() => {
            inline(pen, runs, Place { line_start: true, one_line: false })
                + joined(pen, rest, pen.item_gap(), nested).as_str()
        }
        _ => joined(pen, blocks, pen.item_gap(), nested),
    }
}

fn written(pen: &dyn Pen, block: &Block, nested: bool) -> String {
    let place = Place { line_start: true, one_line: false };
    match block {
        Block::Text { heading: None, runs } => pen.paragraph(inline(pen, runs, place)),
        Block::Text { heading: Some(level), runs } => heading(pen, *level, runs),
        Block::Code { info, text } => pen.code_block(info, text),
        Block::Quote(blocks) => pen.quote(&joined(pen, blocks, pen.gap(), true), nested),
        Block::List(items) => {
            let first = items.first().map(|item| item.marker).unwrap_or_default();
            let items =
                items.iter().map(|Item { marker, blocks }| pen.item(marker, &item_body(pen, blocks, true)));
            pen.list(&first, &items.collect::<Vec<_>>())
        }
        Block::Table(table) => tabled(pen, table, nested),
        Block::Rule => pen.rule().to_owned(),
    }
}

/// On one line, in every markup.
fn heading(pen: &dyn Pen, level: u8, runs: &[Run]) -> String {
    let strong = pen.heading_is_strong(level);
    let runs: Vec<Run> = runs
        .iter()
        .map(|run| match &run.leaf {
            Leaf::Break { .. } => Run { leaf: Leaf::Text(" ".to_owned()), ..run.clone() },
            _ => run.clone(),
        })
        .map(|run| if strong { run.strong() } else { run })
        .collect();
    // A heading's text never begins a line: its mark stands before it.
    pen.heading(level, inline(pen, &runs, Place { line_start: strong, one_line: false }))
}

fn tabled(pen: &dyn Pen, table: &Table, nested: bool) -> String {
    if !pen.tables() {
        return joined(pen, &table.records(), pen.gap(), nested);
    }
    let cell = |cell: &Cell| inline(pen, cell, Place { line_start: false, one_line: true });
    let head: Vec<String> = table.head.iter().map(cell).collect();
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    pen.table(&head, &rows)
}

/// Runs of text with their marks.
pub(super) fn inline(pen: &dyn Pen, runs: &[Run], place: Place) -> String {
    let mut line =
        Line { pen, place, out: String::new(), open: Vec::new(), space: String::new(), shut: false };
    let mut rest = runs;
    while let Some(run) = rest.first() {
        let Some(link) = &run.link else {
            line.run(run);
            rest = rest.get(1..).unwrap_or_default();
            continue;
        };
        let count = rest.iter().take_while(|other| other.same_link(run)).count();
        let (label, after) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        let begin = label.iter().take_while(|run| run.is_blank()).count();
        let end = label.iter().rposition(|run| !run.is_blank()).map_or(begin, |last| last + 1);
        // New lines at its ends are not part of a link.
        label.iter().take(begin).for_each(|run| line.run(run));
        line.link(link, label.get(begin..end).unwrap_or_default());
        label.iter().skip(end).for_each(|run| line.run(run));
        rest = after;
    }
    line.end()
}

/// A line that is being written.
struct Line<'a> {
    pen: &'a dyn Pen,
    place: Place,
    out: String,
    /// The marks that are open, the outermost first.
    open: Vec<Mark>,
    /// Spaces that are yet to be written: marks do not begin before or end behind one.
    space: String,
    /// A mark was closed just now.
    shut: bool,
}

fn listed(marks: Marks) -> Vec<Mark> {
    let all = [(marks.strong, Mark::Strong), (marks.emphasis, Mark::Emphasis), (marks.strike, Mark::Strike)];
    all.iter().filter(|(set, _)| *set).map(|(_, mark)| *mark).collect()
}

impl Line<'_> {
    fn run(&mut self, run: &Run) {
        match &run.leaf {
            Leaf::Break { .. } if self.place.one_line => self.space.push(' '),
            // An empty line would end the paragraph.
            Leaf::Break { .. } if self.place.line_start => self.space.clear(),
            Leaf::Break { hard } => {
                self.close(0);
                self.space.clear();
                self.shut = false;
                self.out.push_str(self.pen.line_break(*hard));
                self.place.line_start = true;
            }
            Leaf::Code(text) => {
                let mut code = String::new();
                self.pen.code(text, self.place, &mut code);
                let marks = if self.pen.code_nests() { run.marks } else { Marks::default() };
                self.write(marks, text, &code);
            }
            Leaf::Text(text) => {
                let core = text.trim_start();
                let lead = text.len() - core.len();
                self.space.push_str(text.get(..lead).unwrap_or_default());
                let core = core.trim_end();
                if core.is_empty() {
                    return;
                }
                let mut written = String::new();
                self.pen.text(core, self.place, &mut written);
                self.write(run.marks, core, &written);
                self.space.push_str(text.get(lead + core.len()..).unwrap_or_default());
            }
        }
    }

    fn link(&mut self, link: &Link, label: &[Run]) {
        let common = |mark: fn(&Marks) -> bool| label.iter().all(|run| mark(&run.marks));
        let around = Marks {
            strong: common(|marks| marks.strong),
            emphasis: common(|marks| marks.emphasis),
            strike: common(|marks| marks.strike),
        };
        let inner: Vec<Run> = label
            .iter()
            .map(|run| Run {
                marks: Marks {
                    strong: run.marks.strong && !around.strong,
                    emphasis: run.marks.emphasis && !around.emphasis,
                    strike: run.marks.strike && !around.strike,
                },
                link: None,
                leaf: match &run.leaf {
                    Leaf::Code(text) if !self.pen.code_nests() => Leaf::Text(text.clone()),
                    leaf => leaf.clone(),
                },
            })
            .collect();
        let text: String = label
            .iter()
            .map(|run| match &run.leaf {
                Leaf::Text(text) | Leaf::Code(text) => text.as_str(),
                Leaf::Break { .. } => "\n",
            })
            .collect();
        let written = inline(self.pen, &inner, Place { line_start: false, ..self.place });
        if written.is_empty() {
            return;
        }
        self.space.push_str(text.get(..text.len() - text.trim_start().len()).unwrap_or_default());
        let mut out = String::new();
        self.pen.link(&written, text.trim(), link, &mut out);
        self.write(around, text.trim(), &out);
        self.space.push_str(text.get(text.trim_end().len()..).unwrap_or_default());
    }

    /// `text` is what is `written`, without its markup.
    fn write(&mut self, marks: Marks, text: &str, written: &str) {
        let marks = listed(marks);
        let kept = self.open.iter().zip(&marks).take_while(|(open, wanted)| open == wanted).count();
        self.close(kept);
        if !self.place.line_start {
            self.out.push_str(&self.space.replace('\n', " "));
        }
        let apart = self.pen.marks_whole_words();
        if apart && self.shut && self.space.is_empty() && text.starts_with(char::is_alphanumeric) {
            self.out.push(APART);
        }
        self.space.clear();
        self.shut = false;
        for mark in marks.iter().skip(kept) {
            if apart && self.out.ends_with(char::is_alphanumeric) {
                self.out.push(APART);
            }
            self.out.push_str(self.pen.mark(*mark).0);
            self.open.push(*mark);
        }
        if written.starts_with('`') && self.out.ends_with('`') {
            // Code next to code, or to a tick: together they would be another fence.
            self.out.push(APART);
        }
        self.out.push_str(written);
        self.place.line_start = false;
    }

    /// Closes all but so many.
    fn close(&mut self, kept: usize) {
        while self.open.len() > kept
            && let Some(mark) = self.open.pop()
        {
            self.out.push_str(self.pen.mark(mark).1);
            self.shut = true;
        }
    }

    fn end(mut self) -> String {
        self.close(0);
        self.out
    }
}
