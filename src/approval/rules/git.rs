//! `git` commands that lose work or rewrite what others have.

use super::{Found, excerpt, has_option, operands};
use crate::approval::reading::Invocation;
use crate::approval::word::Field;

/// Global options that take the next word as their value.
const VALUED: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--config-env",
    "--exec-path",
    "--list-cmds",
    "--attr-source",
];

pub fn found(name: &str, call: &Invocation, found: &mut Found) {
    if name != "git" {
        return;
    }
    let Some((subcommand, rest)) = subcommand(&call.arguments) else { return };
    let Some(verb) = subcommand.value() else {
        let reason = "What `git` does is only known when it runs.".to_owned();
        return found.add("git-unknown", reason, excerpt(&call.line()));
    };
    if let Some((aspect, reason)) = loses(verb, rest) {
        let target = operands(rest).iter().map(|field| field.text().to_owned()).collect::<Vec<_>>().join(" ");
        let rule = rule_of(verb);
        found.about(
            rule,
            format!("It {reason}."),
            format!("git {verb} {aspect}").trim().to_owned(),
            Some(target),
        );
    }
}

fn rule_of(verb: &str) -> &'static str {
    match verb {
        "reset" => "git-reset-hard",
        "push" => "git-force-push",
        "clean" => "git-clean",
        "branch" => "git-branch-delete",
        "checkout" | "restore" | "switch" => "git-discard",
        "stash" => "git-stash-drop",
        _ => "git-rewrite",
    }
}

/// The subcommand and what follows it, behind the global options.
fn subcommand(arguments: &[Field]) -> Option<(&Field, &[Field])> {
    let mut rest = arguments;
    loop {
        let (first, after) = rest.split_first()?;
        rest = match first.text() {
            text if VALUED.contains(&text) => after.get(1..)?,
            text if text.starts_with('-') => after,
            _ => return Some((first, after)),
        };
    }
}

/// What a subcommand loses: the dangerous aspect, and why.
fn loses(verb: &str, rest: &[Field]) -> Option<(&'static str, &'static str)> {
    let has = |short: &str, long: &[&str]| has_option(rest, short, long);
    let first = operands(rest).first().map_or("", |field| field.text());
    let any_operand = |test: &dyn Fn(&str) -> bool| operands(rest).iter().any(|field| test(field.text()));
    if rest.iter().any(|field| field.text() == "--help") {
        return None;
    }
    match verb {
        "reset" if has("", &["--hard"]) => Some(("--hard", "throws uncommitted changes away")),
        "reset" if has("", &["--merge"]) => Some(("--merge", "throws uncommitted changes away")),
        "push" => pushes(rest),
        "clean" if has("n", &["--dry-run"]) => None,
        "clean" if has("fxX", &["--force"]) => Some(("-f", "deletes files that git does not track")),
        "branch" if has("D", &[]) => Some(("-D", "deletes a branch even if it is not merged")),
        "branch" if has("d", &["--delete"]) && has("f", &["--force"]) => {
            Some(("-D", "deletes a branch even if it is not merged"))
        }
        "branch" if has("Mf", &["--force"]) => Some(("--force", "moves a branch over another")),
        "checkout" | "switch" if has("fB", &["--force", "--discard-changes", "--ours", "--theirs"]) => {
            Some(("--force", "throws uncommitted changes away"))
        }
        "checkout" if rest.iter().any(|field| field.text() == "--") || first == "." => {
            Some(("-- PATH", "throws uncommitted changes of files away"))
        }
        "restore" if !has("S", &["--staged"]) || has("W", &["--worktree"]) => {
            Some(("PATH", "throws uncommitted changes of files away"))
        }
        "stash" if matches!(first, "drop" | "clear") => Some(("drop", "deletes stashed changes")),
        "reflog" if matches!(first, "expire" | "delete") => {
            Some(("expire", "deletes the history that lost commits are found by"))
        }
        "gc" if has("", &["--prune"]) && any_operand(&|text| text == "now") => {
            Some(("--prune", "deletes lost commits"))
        }
        "gc" if rest.iter().any(|field| field.text().starts_with("--prune=")) => {
            Some(("--prune", "deletes lost commits"))
        }
        "filter-branch" | "filter-repo" | "replace" => Some(("", "rewrites the whole history")),
        "update-ref" if has("d", &["--delete"]) => Some(("-d", "deletes a reference")),
        "worktree" if first == "remove" && has("f", &["--force"]) => {
            Some(("remove --force", "deletes a working tree with its changes"))
        }
        "submodule" if first == "deinit" && has("f", &["--force"]) => {
            Some(("deinit --force", "deletes a submodule's files with their changes"))
        }
        _ => None,
    }
}

fn pushes(rest: &[Field]) -> Option<(&'static str, &'static str)> {
    let has = |short: &str, long: &[&str]| has_option(rest, short, long);
    if has("n", &["--dry-run"]) {
        return None;
    }
    let refs = operands(rest);
    let refs = refs.iter().skip(1).map(|field| field.text());
    let mut refs = refs.peekable();
    if has("f", &["--force", "--force-with-lease", "--force-if-includes"]) {
        return Some(("--force", "rewrites what others have fetched"));
    }
    if has("", &["--mirror", "--prune"]) {
        return Some(("--mirror", "deletes remote branches that are not here"));
    }
    if has("d", &["--delete"]) {
        return Some(("--delete", "deletes a branch for everybody"));
    }
    refs.find_map(|text| match text {
        _ if text.starts_with('+') => Some(("--force", "rewrites what others have fetched")),
        _ if text.starts_with(':') && text.len() > 1 => Some(("--delete", "deletes a branch for everybody")),
        _ => None,
    })
}
