//! Where a shell finds what it is to run.

use crate::approval::word::Field;

/// Where a shell finds what it is to run.
#[derive(Debug, PartialEq)]
pub enum Source {
    /// `-c TEXT NAME ARGUMENTS`.
    Text {
        text: Field,
        positional: Vec<Field>,
    },
    File {
        path: Field,
        arguments: Vec<Field>,
    },
    Stdin,
    /// `--version`, or a text that is missing.
    Nothing,
}

/// What the arguments of a shell say.
pub fn shell_source(arguments: &[Field]) -> Source {
    let mut rest = arguments;
    let (mut has_c, mut has_s) = (false, false);
    while let Some((first, after)) = rest.split_first() {
        let Some(text) = first.value().filter(|text| text.starts_with(['-', '+'])) else { break };
        rest = after;
        match text {
            "-" | "--" => break,
            "--version" | "--help" => return Source::Nothing,
            "--rcfile" | "--init-file" | "-o" | "-O" | "+o" | "+O" => {
                rest = rest.get(1..).unwrap_or_default()
            }
            _ if text.starts_with("--") => {}
            _ => {
                has_c |= text.starts_with('-') && text.contains('c');
                has_s |= text.starts_with('-') && text.contains('s');
                if text.ends_with(['o', 'O']) {
                    rest = rest.get(1..).unwrap_or_default();
                }
            }
        }
    }
    match (rest.split_first(), has_c) {
        (Some((text, rest)), true) => {
            Source::Text { text: text.clone(), positional: rest.get(1..).unwrap_or_default().to_vec() }
        }
        (None, true) => Source::Nothing,
        (Some((path, _)), false) if is_stdin(path) => Source::Stdin,
        (Some((path, arguments)), false) if !has_s => {
            Source::File { path: path.clone(), arguments: arguments.to_vec() }
        }
        _ => Source::Stdin,
    }
}

/// Whether a file is the standard input by another name.
pub fn is_stdin(path: &Field) -> bool {
    matches!(path.value(), Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" | "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(words: &str) -> Source {
        shell_source(&words.split(' ').filter(|w| !w.is_empty()).map(Field::literal).collect::<Vec<_>>())
    }

    #[test]
    fn a_shell_runs_a_text_a_file_or_what_it_is_fed() {
        let text = |text: &str| Source::Text { text: Field::literal(text), positional: vec![] };
        assert_eq!(source("-c ls"), text("ls"));
        assert_eq!(source("-o pipefail -lc ls"), text("ls"));
        assert_eq!(source("-euo pipefail -c ls"), text("ls"));
        assert_eq!(source("-c -- ls"), text("ls"));
        assert_eq!(source(""), Source::Stdin);
        assert_eq!(source("-s a"), Source::Stdin);
        assert_eq!(source("-x /dev/stdin"), Source::Stdin);
        assert_eq!(source("--version"), Source::Nothing);
        assert!(matches!(source("-x a.sh b"), Source::File { .. }));
    }
}
