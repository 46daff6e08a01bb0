//! Characters that nobody sees and a model reads. Those that scripts and pictures are joined with pass
//! where they join such.

/// The first character of `text` that is not seen and has no business where it stands.
pub fn find(text: &str) -> Option<char> {
    let chars: Vec<char> = text.chars().collect();
    let around = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| chars.get(at)).copied();
        (before, chars.get(at + 1).copied())
    };
    chars.iter().enumerate().find_map(|(at, c)| hides(*c, around(at)).then_some(*c))
}

fn hides(c: char, (before, after): (Option<char>, Option<char>)) -> bool {
    let beyond_ascii = |c: Option<char>| c.is_some_and(|c| !c.is_ascii());
    match c {
        // Line ends and tabs are seen by what they do.
        '\n' | '\r' | '\t' => false,
        // Joiner and non-joiner belong into scripts, the joiner into pictures made of pictures.
        '\u{200c}' | '\u{200d}' => !(beyond_ascii(before) && beyond_ascii(after)),
        // A picture or a letter may choose its looks once; a row of such choices is a hidden text.
        '\u{fe00}'..='\u{fe0f}' => before.is_none_or(|c| matches!(c, '\u{fe00}'..='\u{fe0f}')),
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        c => c.is_control(),
    }
}
