//! What the tests of cutting and rendering share.

mod cases;
mod markups;
mod prompts;
mod random;
mod splitting;
mod telegram;

use super::document::{Block, Leaf};
use super::markup::APART;
use super::read::parse;
use super::{Format, Limit, Markup, Unit, measure, plan, render};

const MARKUPS: &[Markup] = &[
    Markup::Source,
    Markup::Plain,
    Markup::Discord,
    Markup::TelegramMarkdownV2,
    Markup::SlackMrkdwn,
    Markup::Html,
    Markup::WhatsApp,
];

const UNITS: &[Unit] = &[Unit::Chars, Unit::Utf16, Unit::Bytes, Unit::Graphemes];

fn format(markup: Markup, max: usize, unit: Unit) -> Format {
    Format { markup, limit: Some(Limit { max, unit }) }
}

fn telegram(max: usize) -> Format {
    format(Markup::TelegramMarkdownV2, max, Unit::Utf16)
}

/// The text as it reads, without white space.
fn words(text: &str) -> String {
    text.chars().filter(|char| !char.is_whitespace() && *char != APART).collect()
}

/// Headers of tables are said again in every part, and markers of items not at all in a continued one.
fn comparable(blocks: &[Block]) -> bool {
    blocks.iter().all(|block| match block {
        Block::Table(_) => false,
        Block::Quote(blocks) => comparable(blocks),
        Block::List(items) => items.iter().all(|item| comparable(&item.blocks)),
        _ => true,
    })
}

/// The letters of all that is said, without the addresses of links and the numbers of items.
fn letters(blocks: &[Block], out: &mut String) {
    let keep = |char: &char| char.is_alphanumeric();
    for block in blocks {
        match block {
            Block::Text { runs, .. } => runs.iter().for_each(|run| match &run.leaf {
                Leaf::Text(text) | Leaf::Code(text) => out.extend(text.chars().filter(keep)),
                Leaf::Break { .. } => {}
            }),
            Block::Code { text, .. } => out.extend(text.chars().filter(keep)),
            Block::Quote(blocks) => letters(blocks, out),
            Block::List(items) => {
                for item in items {
                    letters(&item.blocks, out);
                }
            }
            Block::Table(_) | Block::Rule => {}
        }
    }
}

/// Whether a link's address may have to be written out.
fn long_links(blocks: &[Block], max: usize) -> bool {
    blocks.iter().any(|block| match block {
        Block::Text { runs, .. } => {
            runs.iter().filter_map(|run| run.link.as_ref()).any(|link| link.url.len() + 10 > max / 3)
        }
        Block::Quote(blocks) => long_links(blocks, max),
        Block::List(items) => items.iter().any(|item| long_links(&item.blocks, max)),
        _ => false,
    })
}

/// Checks what holds for every text; the parts.
fn checked(text: &str, format: Format) -> Vec<String> {
    let parts = plan::parts(text, &format);
    let limit = format.limit.unwrap();
    assert!(!parts.is_empty());
    for part in &parts {
        let written = render(part, &format);
        assert!(text.is_empty() || !part.is_empty(), "an empty part of {text:?}");
        for (which, written) in [("text", &written.text), ("plain", &written.plain)] {
            let measured = measure(written, limit.unit);
            assert!(
                measured <= limit.max,
                "{which} {measured} of {limit:?}: {written:?} in {text:?}, {format:?}"
            );
        }
        if format.markup == Markup::TelegramMarkdownV2 {
            let verdict = telegram::read(&written.text);
            assert_eq!(verdict, Ok(()), "{:?} of {text:?}", written.text);
        }
        let fences = written.text.matches("```").count();
        let fenced = !matches!(format.markup, Markup::Source | Markup::Plain | Markup::Html);
        assert!(!fenced || fences.is_multiple_of(2), "{fences} fences in {:?} of {text:?}", written.text);
    }
    parts
}

/// Checks also that nothing is lost; whether nothing is said twice either, such as an address that
/// had to be written out.
fn kept(text: &str, format: Format) -> (Vec<String>, bool) {
    let parts = checked(text, format);
    let blocks = parse(text);
    let (mut said, mut wanted) = (String::new(), String::new());
    parts.iter().for_each(|part| letters(&parse(part), &mut said));
    letters(&blocks, &mut wanted);
    if !comparable(&blocks) {
        return (parts, true);
    }
    let mut rest = said.chars();
    let lost = wanted.char_indices().find(|(_, char)| !rest.any(|other| other == *char));
    let lost = lost.map(|(at, _)| wanted.get(at..).unwrap());
    assert_eq!(lost, None, "{text:?} in {format:?}: {parts:#?} say {said}");
    (parts, said == wanted)
}

/// Checks also that what the parts say is what the text says.
fn whole(text: &str, format: Format) -> Vec<String> {
    let (parts, exact) = kept(text, format);
    let written_out = long_links(&parse(text), format.limit.unwrap().max);
    assert!(exact || written_out, "{text:?} in {format:?}: {parts:#?}");
    parts
}
