//! Which `git` command lines only read.

use super::word::Field;

/// Subcommands that only read, with any operands, and the short options that change that.
const READING: &[(&str, &str)] = &[
    ("status", ""),
    ("log", ""),
    ("diff", "O"),
    ("show", "O"),
    ("rev-parse", ""),
    ("rev-list", ""),
    ("ls-files", ""),
    ("ls-tree", ""),
    ("blame", ""),
    ("shortlog", ""),
    ("describe", ""),
    ("cat-file", ""),
    ("grep", "O"),
    ("name-rev", ""),
    ("merge-base", ""),
    ("count-objects", ""),
    ("whatchanged", ""),
    ("version", ""),
    ("check-ignore", ""),
    ("show-ref", ""),
    ("for-each-ref", ""),
];

/// Options that write a file or run a program, in any subcommand.
const CHANGING: &[&str] = &[
    "--output",
    "--ext-diff",
    "--textconv",
    "--open-files-in-pager",
    "--exec",
    "--filters",
    "--upload-pack",
];

/// Options of `branch`, `tag`, `remote` and `stash` that only list.
const LISTING: &[&str] =
    &["-a", "--all", "-r", "--remotes", "-v", "-vv", "--verbose", "-l", "--list", "--show-current", "-n"];

/// Whether a `git` with these arguments only reads.
pub fn only_reads(arguments: &[Field]) -> bool {
    let Some(arguments) = arguments.iter().map(Field::value).collect::<Option<Vec<&str>>>() else {
        return false;
    };
    let Some((subcommand, rest)) = subcommand(&arguments) else {
        return matches!(arguments.as_slice(), ["--version" | "--help"]);
    };
    if rest.iter().any(|argument| changes(argument)) {
        return false;
    }
    if let Some((_, short)) = READING.iter().find(|(name, _)| *name == subcommand) {
        return !rest.iter().any(|argument| is_short(argument) && argument.contains(|c| short.contains(c)));
    }
    match (subcommand, rest) {
        ("branch" | "tag" | "remote", rest) => rest.iter().all(|argument| LISTING.contains(argument)),
        ("stash", ["list", ..]) | ("worktree", ["list", ..]) | ("submodule", ["status"]) => true,
        ("reflog", []) | ("reflog", ["show", ..]) => true,
        _ => false,
    }
}

/// The subcommand and what follows; global options other than these change what is run.
fn subcommand<'a, 'b>(arguments: &'b [&'a str]) -> Option<(&'a str, &'b [&'a str])> {
    let mut rest = arguments;
    loop {
        rest = match rest {
            ["--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs", after @ ..] => after,
            ["-C", _, after @ ..] => after,
            [first, after @ ..] if !first.starts_with('-') => return Some((first, after)),
            _ => return None,
        };
    }
}

fn is_short(argument: &str) -> bool {
    argument.starts_with('-') && !argument.starts_with("--")
}

/// Any beginning of a long option counts as the option.
fn changes(argument: &str) -> bool {
    let option = argument.split_once('=').map_or(argument, |(option, _)| option);
    option.len() > 2
        && option.starts_with("--")
        && CHANGING.iter().any(|changing| changing.starts_with(option))
}
