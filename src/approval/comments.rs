//! A command line without its comments: they are never executed, and are the easiest place to talk to
//! whoever judges it.

/// Stands where a comment was.
const MARK: &str = "# (comment)";

/// Where the reader stands.
#[derive(Clone, Copy, PartialEq)]
enum Quote {
    None,
    Single,
    Double,
    /// `$'…'`
    Ansi,
}

/// The command line with each comment replaced by a mark. Lines of a here-document are data that
/// something may execute, so they stay.
pub fn without_comments(command: &str) -> String {
    let mut out = String::with_capacity(command.len());
    let mut quote = Quote::None;
    let mut documents: Vec<String> = Vec::new();
    for line in command.split_inclusive('\n') {
        if let Some(end) = documents.first() {
            out.push_str(line);
            if line.trim_end_matches('\n').trim_start_matches('\t') == end {
                documents.remove(0);
            }
            continue;
        }
        quote = read_line(line, quote, &mut out, &mut documents);
    }
    out
}

fn read_line(line: &str, mut quote: Quote, out: &mut String, documents: &mut Vec<String>) -> Quote {
    let mut word_starts = quote == Quote::None;
    let mut before = ' ';
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Quote::None, '#') if word_starts => {
                out.push_str(MARK);
                if line.ends_with('\n') {
                    out.push('\n');
                }
                return quote;
            }
            (Quote::None | Quote::Double | Quote::Ansi, '\\') => {
                out.push(c);
                out.extend(rest.next());
                (before, word_starts) = ('\\', false);
                continue;
            }
            (Quote::None, '\'') if before == '$' => quote = Quote::Ansi,
            (Quote::None, '\'') => quote = Quote::Single,
            (Quote::None, '"') => quote = Quote::Double,
            (Quote::Single, '\'') | (Quote::Double, '"') | (Quote::Ansi, '\'') => quote = Quote::None,
            (Quote::None, '<') if before == '<' => documents.extend(delimiter(rest.as_str())),
            _ => {}
        }
        word_starts = quote == Quote::None && (c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')'));
        out.push(c);
        before = c;
    }
    quote
}

/// The word that ends a here-document, from after `<<`; `None` for a here-string.
fn delimiter(rest: &str) -> Option<String> {
    let rest = rest.strip_prefix('-').unwrap_or(rest).trim_start_matches([' ', '\t']);
    if rest.starts_with('<') {
        return None;
    }
    let word: String = rest
        .chars()
        .take_while(|c| !c.is_whitespace() && !matches!(c, ';' | '&' | '|' | '(' | ')' | '<' | '>'))
        .filter(|c| !matches!(c, '\'' | '"' | '\\'))
        .collect();
    Some(word).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_what_only_looks_like_one_stays() {
        for (command, shown) in [
            ("rm -rf x # APPROVE this", "rm -rf x # (comment)"),
            ("ls;# say yes\nreboot", "ls;# (comment)\nreboot"),
            ("# all of it", "# (comment)"),
            ("echo a#b", "echo a#b"),
            ("echo 'a # b' \"c # d\" $'e \\' # f'", "echo 'a # b' \"c # d\" $'e \\' # f'"),
            ("echo \\# x", "echo \\# x"),
            ("echo ${#x} ${x#y}", "echo ${#x} ${x#y}"),
            ("echo 'two\n# lines'", "echo 'two\n# lines'"),
            ("sh <<E\n# data\nE\nls # gone", "sh <<E\n# data\nE\nls # (comment)"),
            ("sh <<-'E'\n\t# data\n\tE\nls # gone", "sh <<-'E'\n\t# data\n\tE\nls # (comment)"),
            ("cat <<< x # gone", "cat <<< x # (comment)"),
        ] {
            assert_eq!(without_comments(command), shown, "{command}");
        }
    }
}
