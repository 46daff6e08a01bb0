//! PURE: cuts what is too long by itself: a paragraph, a heading, a block of code.
//!
//! A text is cut after a line, a sentence or a word, in this order; inside a link or code only if
//! that is longer than a part, inside a word likewise, and inside a grapheme never unless it is.

use unicode_segmentation::UnicodeSegmentation;

use super::document::{Block, Leaf, Marks, Run};
use super::pack::Packer;
use super::render::Frame;
use super::size::{Room, Size};

/// Longest piece of a word, in characters, where parts are large; finer pieces only cost time.
const PIECE_CHARS_MAX: usize = 16;
/// Parts from here on are large.
const LARGE: usize = 256;

/// How good a place for a cut is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cut {
    /// In the middle of a word.
    Grapheme,
    /// Between words of a link or of code.
    Inner,
    Word,
    Sentence,
    Line,
}

/// A bit of a run, never cut itself.
struct Token<'a> {
    run: &'a Run,
    text: &'a str,
    /// What the place behind it is.
    after: Cut,
}

impl Token<'_> {
    fn is_break(&self) -> bool {
        matches!(self.run.leaf, Leaf::Break { .. })
    }

    fn is_code(&self) -> bool {
        matches!(self.run.leaf, Leaf::Code(_))
    }

    fn is_blank(&self) -> bool {
        self.is_break() || (!self.is_code() && self.text.trim().is_empty())
    }

    fn looks_like(&self, other: &Self) -> bool {
        let kind = std::mem::discriminant(&self.run.leaf) == std::mem::discriminant(&other.run.leaf);
        kind && self.run.marks == other.run.marks && self.run.same_link(other.run)
    }

    fn leaf(&self) -> Leaf {
        match self.run.leaf {
            Leaf::Text(_) => Leaf::Text(self.text.to_owned()),
            Leaf::Code(_) => Leaf::Code(self.text.to_owned()),
            Leaf::Break { hard } => Leaf::Break { hard },
        }
    }
}

impl Packer {
    pub(super) fn cut_text(&mut self, heading: Option<u8>, runs: Vec<Run>, frames: &[Frame]) {
        let runs = lightened(runs, &self.room);
        let tokens = tokens(&runs, &self.room);
        let mut rest = tokens.as_slice();
        loop {
            let blank = rest.iter().take_while(|token| token.is_blank()).count();
            rest = rest.get(blank..).unwrap_or_default();
            if rest.is_empty() {
                return;
            }
            let frames = self.frames(frames);
            let bare = Block::Text { heading, runs: Vec::new() };
            let before = self.used + self.gap(&frames) + self.room.block(&bare, &frames);
            let (count, size) = filled(rest, before, &self.room, self.room.line(&frames), self.is_fresh());
            let (taken, after) = rest.split_at_checked(count).unwrap_or((rest, &[]));
            if !taken.is_empty() {
                self.push(Block::Text { heading, runs: merged(taken) }, &frames, size.less(self.used));
                rest = after;
            } else if self.is_fresh()
                && let [token, after @ ..] = rest
            {
                // Not even this one goes with all that stands around it: it goes alone.
                self.push(Block::paragraph(vec![Run::text(token.text)]), &[], Size::default());
                rest = after;
            }
            if !rest.is_empty() {
                self.turn();
            }
        }
    }

    /// What stands around code: a fence is as long as what it fences in needs.
    fn fence(&self, text: &str) -> Size {
        let fences = text.lines().filter(|line| line.trim_start().starts_with("```"));
        let longest = fences.max_by_key(|line| line.len()).unwrap_or_default();
        let block = Block::Code { info: String::new(), text: longest.to_owned() };
        self.room.block(&block, &[]).less(self.room.code(longest))
    }

    /// Whole lines in a block of code each, unless a line alone is too long.
    pub(super) fn cut_code(&mut self, info: String, text: &str, frames: &[Frame]) {
        let code = |info: &str, text: &str| Block::Code { info: info.to_owned(), text: text.to_owned() };
        let crowded = |info: &str| self.room.crowds(self.room.block(&code(info, ""), frames));
        let info = if crowded(&info) { String::new() } else { info };
        if crowded(&info) || self.room.crowds(self.fence(text)) {
            let Block::Text { runs, .. } = Block::literal(text) else { return };
            return self.cut_text(None, runs, frames);
        }
        let fence = self.fence(text).less(self.fence(""));
        let around = |frames: &[Frame], packer: &Self| packer.room.block(&code(&info, ""), frames) + fence;
        let mut rest = text;
        while !rest.is_empty() {
            let frames = self.frames(frames);
            let line = self.room.code_line(&frames);
            let before = self.used + self.gap(&frames) + around(&frames, self);
            let (mut end, mut size) = (0, before);
            for piece in rest.split_inclusive('\n') {
                let more = self.room.code(piece.trim_end_matches('\n')) + line;
                if !self.room.fits(size + more) {
                    break;
                }
                size = size + more;
                end += piece.len();
            }
            if end == 0 && self.is_fresh() {
                end = line_end(rest, before + line, &self.room);
            }
            if end > 0 {
                let (taken, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
                let taken = taken.strip_suffix('\n').unwrap_or(taken);
                self.push(code(&info, taken), &frames, size.less(self.used));
                rest = after;
            }
            if !rest.is_empty() {
                self.turn();
            }
        }
    }
}

/// How many tokens go into a part that holds `before` already, and its size then; none if a word would
/// have to be cut that a fresh part may take whole.
fn filled(tokens: &[Token<'_>], before: Size, room: &Room, line: Size, fresh: bool) -> (usize, Size) {
    let mut size = before;
    let mut ends: [Option<(usize, Size)>; 5] = [None; 5];
    let mut last: Option<&Token<'_>> = None;
    for (index, token) in tokens.iter().enumerate() {
        let mut more = if token.is_break() { line } else { room.leaf(token.text, token.is_code()) };
        if !token.is_break() && !last.is_some_and(|last| last.looks_like(token)) {
            more = more + room.around(token.run);
        }
        if !room.fits(size + more) {
            return chosen(&ends, before, size, fresh);
        }
        size = size + more;
        if let Some(end) = ends.get_mut(token.after as usize) {
            *end = Some((index + 1, size));
        }
        last = Some(token);
    }
    (tokens.len(), size)
}

/// The best of the places that the text can be cut at.
fn chosen(ends: &[Option<(usize, Size)>; 5], before: Size, full: Size, fresh: bool) -> (usize, Size) {
    let half = before.most() + full.most().saturating_sub(before.most()) / 2;
    let [grapheme, inner, word, sentence, line] = *ends;
    let good = |end: Option<(usize, Size)>| end.filter(|(_, size)| size.most() >= half);
    let words = [line, sentence, word].into_iter().flatten().max_by_key(|(count, _)| *count);
    let best = good(line).or(good(sentence)).or(words);
    let inside = [grapheme, inner].into_iter().flatten();
    best.or_else(|| inner.or(inside.max_by_key(|(count, _)| *count)).filter(|_| fresh)).unwrap_or((0, full))
}

/// Runs whose marks leave room for their text; those of others are written out or left away.
fn lightened(runs: Vec<Run>, room: &Room) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::with_capacity(runs.len());
    let mut runs = runs.into_iter().peekable();
    while let Some(mut run) = runs.next() {
        let next = runs.peek();
        let bare =
            |run: &Run| Run { marks: Marks::default(), leaf: Leaf::Text(String::new()), ..run.clone() };
        let mut address = None;
        if let Some(link) = run.link.clone()
            && room.crowds(room.around(&bare(&run)))
        {
            let ends =
                next.is_none_or(|next| !next.same_link(&run)) && run.leaf != Leaf::Text(link.url.clone());
            address = ends.then(|| format!(" ({})", link.url));
            run.link = None;
        }
        if room.crowds(room.around(&run)) {
            run.marks = Marks::default();
        }
        if let Leaf::Code(text) = &run.leaf
            && room.crowds(room.around(&run))
        {
            run.leaf = Leaf::Text(text.clone());
        }
        out.push(run);
        out.extend(address.map(Run::text));
    }
    out
}

/// Neighbours that look alike are one run again.
fn merged(tokens: &[Token<'_>]) -> Vec<Run> {
    let end = tokens.iter().rposition(|token| !token.is_blank()).map_or(0, |last| last + 1);
    let mut runs: Vec<Run> = Vec::new();
    let mut last: Option<&Token<'_>> = None;
    for token in tokens.iter().take(end) {
        match runs.last_mut().map(|run| &mut run.leaf) {
            Some(Leaf::Text(text) | Leaf::Code(text)) if last.is_some_and(|last| last.looks_like(token)) => {
                text.push_str(token.text);
            }
            _ => runs.push(Run { leaf: token.leaf(), ..token.run.clone() }),
        }
        last = Some(token);
    }
    runs
}

fn tokens<'a>(runs: &'a [Run], room: &Room) -> Vec<Token<'a>> {
    let mut tokens: Vec<Token<'a>> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let first = tokens.len();
        match &run.leaf {
            Leaf::Break { .. } => {
                let linked =
                    run.link.is_some() && runs.get(index + 1).is_some_and(|next| next.same_link(run));
                tokens.push(Token { run, text: "", after: if linked { Cut::Inner } else { Cut::Line } });
                continue;
            }
            Leaf::Text(text) | Leaf::Code(text) => {
                for word in text.split_inclusive(char::is_whitespace) {
                    pieces(word, run, room, &mut tokens);
                }
            }
        }
        let linked = run.link.is_some() && runs.get(index + 1).is_some_and(|next| next.same_link(run));
        let inside = run.link.is_some() || matches!(run.leaf, Leaf::Code(_));
        let count = tokens.len();
        for (place, token) in tokens.iter_mut().enumerate().skip(first) {
            let last = place + 1 == count;
            if inside && (!last || linked) {
                token.after = token.after.min(Cut::Inner);
            } else if last && token.after == Cut::Grapheme && ends_before_space(runs.get(index + 1)) {
                token.after = Cut::Word;
            }
        }
    }
    tokens
}

/// Whether the next run begins with a space or a new line, or there is none.
fn ends_before_space(next: Option<&Run>) -> bool {
    match next.map(|run| &run.leaf) {
        None | Some(Leaf::Break { .. }) => true,
        Some(Leaf::Text(text)) => text.starts_with(char::is_whitespace),
        Some(Leaf::Code(_)) => false,
    }
}

/// A word, with the space behind it, in pieces that a part can hold.
fn pieces<'a>(word: &'a str, run: &'a Run, room: &Room, tokens: &mut Vec<Token<'a>>) {
    let whole = if room.limit.max >= LARGE { PIECE_CHARS_MAX } else { 1 };
    let core = word.trim_end();
    let ended = if core.ends_with(['.', '!', '?', '…', ':']) { Cut::Sentence } else { Cut::Word };
    let after_word = if core.len() < word.len() { ended } else { Cut::Grapheme };
    let (mut begin, mut chars) = (0, 0);
    let mut put = |begin: usize, end: usize, after| {
        if let Some(text) = word.get(begin..end).filter(|text| !text.is_empty()) {
            tokens.push(Token { run, text, after });
        }
    };
    for (index, grapheme) in word.grapheme_indices(true) {
        let count = grapheme.chars().count();
        if count > 1 && !room.fits(room.leaf(grapheme, false)) {
            put(begin, index, Cut::Grapheme);
            for (at, char) in grapheme.char_indices() {
                put(index + at, index + at + char.len_utf8(), Cut::Grapheme);
            }
            (begin, chars) = (index + grapheme.len(), 0);
            continue;
        }
        if chars > 0 && chars + count > whole {
            put(begin, index, Cut::Grapheme);
            (begin, chars) = (index, 0);
        }
        chars += count;
        if let Some(after) = ideographic(grapheme, word.get(index + grapheme.len()..).unwrap_or_default()) {
            put(begin, index + grapheme.len(), after);
            (begin, chars) = (index + grapheme.len(), 0);
        }
    }
    put(begin, word.len(), after_word);
}

/// The place behind a grapheme of a script that writes no spaces.
fn ideographic(grapheme: &str, rest: &str) -> Option<Cut> {
    let char = grapheme.chars().next()?;
    if "。！？".contains(char) {
        return Some(Cut::Sentence);
    }
    let wide = matches!(char, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}');
    let closes = rest.starts_with(|next| "、。，．！？；：）」』】》〉\u{201d}".contains(next));
    (wide && !closes).then_some(Cut::Word)
}

/// Where a line that is longer than a part is cut: behind a space if there is one in the second half.
fn line_end(rest: &str, before: Size, room: &Room) -> usize {
    let line = rest.split('\n').next().unwrap_or_default();
    let (mut end, mut size, mut space) = (0, before, None);
    for (index, grapheme) in line.grapheme_indices(true) {
        let more = room.code(grapheme);
        if !room.fits(size + more) {
            break;
        }
        size = size + more;
        end = index + grapheme.len();
        if grapheme.trim().is_empty() {
            space = Some(end);
        }
    }
    if end == 0 {
        let grapheme = line.graphemes(true).next().unwrap_or(rest);
        let fits = room.fits(Size::both(0) + room.code(grapheme));
        let one = if fits { grapheme.len() } else { grapheme.chars().next().map_or(1, char::len_utf8) };
        return one.max(1);
    }
    space.filter(|space| *space > end / 2).unwrap_or(end)
}
