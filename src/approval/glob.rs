//! Wildcards: `*`, `?` and `[…]`, as in file names. Slashes are letters like any other.

/// Whether a pattern stands for the whole of a text.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where the last `*` stood, and how much of the text it had taken then.
    let mut star: Option<(usize, usize)> = None;
    while let Some(&c) = text.get(t) {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, t));
            p += 1;
            continue;
        }
        match one(&pattern, p, c) {
            Some(after) => (p, t) = (after, t + 1),
            None => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, t) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|c| *c == '*')
}

/// Whether a text has wildcards at all.
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Where the pattern goes on if its next part takes this letter.
fn one(pattern: &[char], at: usize, c: char) -> Option<usize> {
    match pattern.get(at)? {
        '?' => Some(at + 1),
        '[' => match set(pattern, at + 1, c) {
            Some((fits, after)) => fits.then_some(after),
            // Without its end it is a bracket.
            None => (c == '[').then_some(at + 1),
        },
        literal => (*literal == c).then_some(at + 1),
    }
}

/// Whether the set that begins here has this letter, and where it ends.
fn set(pattern: &[char], from: usize, c: char) -> Option<(bool, usize)> {
    let negated = matches!(pattern.get(from)?, '!' | '^');
    let mut at = from + usize::from(negated);
    let first = at;
    let mut found = false;
    loop {
        let low = *pattern.get(at)?;
        if low == ']' && at > first {
            return Some((found != negated, at + 1));
        }
        match (pattern.get(at + 1), pattern.get(at + 2)) {
            (Some('-'), Some(high)) if *high != ']' => {
                found |= (low..=*high).contains(&c);
                at += 3;
            }
            _ => {
                found |= low == c;
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_whole_texts() {
        for (pattern, text, fits) in [
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("*", "", true),
            ("?", "é", true),
            ("[a-c]x", "bx", true),
            ("[!a]", "a", false),
            ("[", "[", true),
            ("[]]", "]", true),
            ("*docker *", "docker stop", true),
            ("**a**", "bab", true),
            ("a", "", false),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }
}
