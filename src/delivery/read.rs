//! PURE: reads Markdown into a document. Raw HTML is text.

use std::rc::Rc;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

use super::document::{Block, Cell, Item, Leaf, Link, Marker, Marks, Run, Table};

/// Deepest nesting of quotes and lists that is kept; what is nested deeper moves up to it.
const DEPTH_MAX: usize = 12;

/// Reads Markdown: CommonMark with GitHub's tables, strikethrough and task lists. A text that is not
/// blank never comes to nothing: one of nothing but marks or definitions of links is a paragraph.
pub fn parse(markdown: &str) -> Vec<Block> {
    let lines = markdown.replace("\r\n", "\n").replace('\r', "\n");
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut builder = Builder::default();
    for event in Parser::new_ext(&lines, options) {
        builder.event(event);
    }
    let blocks = builder.end();
    if !blocks.iter().any(Block::says_something) && !lines.trim().is_empty() {
        return vec![Block::literal(lines.trim_matches('\n'))];
    }
    blocks
}

/// A container that is open.
enum Open {
    Quote(Vec<Block>),
    List { next: Option<u64>, items: Vec<Item> },
    Item(Item),
}

#[derive(Default)]
struct Builder {
    done: Vec<Block>,
    open: Vec<Open>,
    /// For each container of the Markdown whether it was opened here.
    kept: Vec<bool>,
    runs: Vec<Run>,
    strong: usize,
    emphasis: usize,
    strike: usize,
    /// The links around, each with how many runs there were at its beginning.
    links: Vec<(Rc<Link>, usize)>,
    code: Option<(String, String)>,
    table: Table,
    row: Vec<Cell>,
}

impl Builder {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.finish(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.text(&text),
            },
            Event::Code(text) => self.run(Leaf::Code(text.replace('\n', " "))),
            Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.text(&text),
            Event::SoftBreak => self.run(Leaf::Break { hard: false }),
            Event::HardBreak => self.run(Leaf::Break { hard: true }),
            Event::Rule => self.block(Block::Rule),
            Event::TaskListMarker(checked) => {
                if let Some(Open::Item(item)) = self.open.last_mut() {
                    item.marker.checked = Some(checked);
                }
            }
        }
    }

    fn text(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.run(Leaf::Break { hard: false });
            }
            if !line.is_empty() {
                self.run(Leaf::Text(line.to_owned()));
            }
        }
    }

    fn run(&mut self, leaf: Leaf) {
        let marks = Marks { strong: self.strong > 0, emphasis: self.emphasis > 0, strike: self.strike > 0 };
        let link = self.links.first().map(|(link, _)| Rc::clone(link));
        let run = Run { marks, link, leaf };
        if let Some(last) = self.runs.last_mut()
            && last.marks == run.marks
            && last.same_link(&run)
            && let (Leaf::Text(before), Leaf::Text(after)) = (&mut last.leaf, &run.leaf)
        {
            before.push_str(after);
            return;
        }
        self.runs.push(run);
    }

    /// The runs until here are a block, if there are any.
    fn flush(&mut self, heading: Option<u8>) {
        let mut runs = std::mem::take(&mut self.runs);
        while runs.last().is_some_and(Run::is_blank) {
            runs.pop();
        }
        let begin = runs.iter().position(|run| !run.is_blank()).unwrap_or(runs.len());
        runs.drain(..begin);
        if !runs.is_empty() {
            self.put(Block::Text { heading, runs });
        }
    }

    fn block(&mut self, block: Block) {
        self.flush(None);
        self.put(block);
    }

    fn put(&mut self, block: Block) {
        match self.open.last_mut() {
            None => self.done.push(block),
            Some(Open::Quote(blocks) | Open::Item(Item { blocks, .. })) => blocks.push(block),
            // A list holds items only; pulldown-cmark puts nothing else there.
            Some(Open::List { items, .. }) => {
                items.push(Item { blocks: vec![block], ..Item::default() });
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Emphasis => self.emphasis += 1,
            Tag::Strong => self.strong += 1,
            Tag::Strikethrough => self.strike += 1,
            Tag::Link { link_type, dest_url, .. } => {
                let email = matches!(link_type, LinkType::Email);
                let url = if email { format!("mailto:{dest_url}") } else { dest_url.into_string() };
                self.links.push((Rc::new(Link { url, image: false }), self.runs.len()));
            }
            Tag::Image { dest_url, .. } => {
                let link = Link { url: dest_url.into_string(), image: true };
                self.links.push((Rc::new(link), self.runs.len()));
            }
            Tag::BlockQuote(_) => self.container(Open::Quote(Vec::new())),
            Tag::List(first) => self.container(Open::List { next: first, items: Vec::new() }),
            Tag::Item => {
                let number = match self.open.last_mut() {
                    Some(Open::List { next, .. }) => {
                        let number = *next;
                        *next = number.map(|number| number.saturating_add(1));
                        number
                    }
                    _ => None,
                };
                let marker = Marker { number, checked: None };
                self.container(Open::Item(Item { marker, blocks: Vec::new() }));
            }
            Tag::CodeBlock(kind) => {
                self.flush(None);
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.replace(['`', '\n'], ""),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((info.trim().to_owned(), String::new()));
            }
            Tag::Table(_) => {
                self.flush(None);
                self.table = Table::default();
            }
            _ => {}
        }
    }

    fn container(&mut self, open: Open) {
        self.flush(None);
        let of_list = matches!((&open, self.open.last()), (Open::Item(_), Some(Open::List { .. })));
        let keep = match open {
            Open::Item(_) => of_list,
            _ => self.open.len() < DEPTH_MAX,
        };
        self.kept.push(keep);
        if keep {
            self.open.push(open);
        }
    }

    fn close(&mut self) {
        self.flush(None);
        if self.kept.pop() != Some(true) {
            return;
        }
        match self.open.pop() {
            Some(Open::Quote(blocks)) => self.put(Block::Quote(blocks)),
            Some(Open::List { items, .. }) => self.put(Block::List(items)),
            Some(Open::Item(item)) => {
                if let Some(Open::List { items, .. }) = self.open.last_mut() {
                    items.push(item);
                }
            }
            None => {}
        }
    }

    fn finish(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Emphasis => self.emphasis = self.emphasis.saturating_sub(1),
            TagEnd::Strong => self.strong = self.strong.saturating_sub(1),
            TagEnd::Strikethrough => self.strike = self.strike.saturating_sub(1),
            TagEnd::Link | TagEnd::Image => {
                if let Some((link, runs)) = self.links.last().cloned() {
                    let said = self.runs.get(runs..).unwrap_or_default();
                    // A link without a text is shown as its address.
                    if said.iter().all(Run::is_blank) && self.links.len() == 1 {
                        self.runs.truncate(runs);
                        self.run(Leaf::Text(link.url.clone()));
                    }
                    self.links.pop();
                }
            }
            TagEnd::Heading(level) => self.flush(Some(level as u8)),
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item => self.close(),
            TagEnd::CodeBlock => {
                if let Some((info, mut text)) = self.code.take() {
                    if text.ends_with('\n') {
                        text.pop();
                    }
                    self.put(Block::Code { info, text });
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.runs);
                self.row.push(cell);
            }
            TagEnd::TableHead => self.table.head = std::mem::take(&mut self.row),
            TagEnd::TableRow => {
                let row = std::mem::take(&mut self.row);
                self.table.rows.push(row);
            }
            TagEnd::Table => {
                let table = std::mem::take(&mut self.table);
                self.put(Block::Table(table));
            }
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(None),
            _ => {}
        }
    }

    fn end(mut self) -> Vec<Block> {
        self.flush(None);
        self.done
    }
}
