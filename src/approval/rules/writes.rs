//! Writing where it has to be asked about: by redirection, and by the programs that write files.

use super::sensitive::{self, Kind};
use super::{Around, Found, has_option, operands, quoted};
use crate::approval::reading::{Invocation, Write, base_name};
use crate::approval::word::Field;

/// Options after which a program writes what it makes.
const OUTPUTS: &[(&[&str], &[&str])] = &[
    (&["curl"], &["-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar"]),
    (&["wget"], &["-O", "--output-document", "-o", "-a"]),
    (&["sort", "gsort"], &["-o", "--output"]),
    (&["openssl"], &["-out"]),
    (&["gpg", "gpg2"], &["-o", "--output"]),
    (&["tar", "gtar", "bsdtar"], &["-C", "--directory"]),
    (&["unzip"], &["-d"]),
    (&["gcc", "cc", "clang", "ld", "go", "rustc", "strace", "pandoc", "jq", "xmllint"], &["-o", "--output"]),
    (&["git"], &["--output"]),
    (&["install", "cp", "mv", "ln", "gcp", "gmv"], &["-t", "--target-directory"]),
    (&["dpkg-deb", "rsync"], &["--log-file"]),
];

pub fn redirected(write: &Write, around: &Around<'_>, found: &mut Found) {
    let target = &write.target;
    if target.unknown && target.computed && !target.text().contains(|c: char| c.is_alphanumeric()) {
        let reason = "Which file it writes is only known when it runs.".to_owned();
        return found.add("write-unknown", reason, "redirection to an unknown file".into());
    }
    add(target, write.cwd.as_deref(), "writes", around, found);
}

fn add(target: &Field, cwd: Option<&std::path::Path>, does: &str, around: &Around<'_>, found: &mut Found) {
    let Some((kind, path)) = sensitive::kind(target, cwd, around) else { return };
    let reason = format!("It {does} {}, {}.", quoted(&path), kind.what());
    let verb = if does == "deletes" { "delete" } else { "write" };
    found.about(kind.rule(), reason, format!("{verb} {path}"), Some(path));
}

pub fn found(name: &str, call: &Invocation, around: &Around<'_>, found: &mut Found) {
    let cwd = call.cwd.as_deref();
    for target in written(name, call) {
        add(&target, cwd, "writes", around, found);
    }
    if matches!(name, "rm" | "unlink" | "shred" | "mv" | "srm" | "grm") {
        let operands = operands(&call.arguments);
        let gone = if name == "mv" { operands.len().saturating_sub(1) } else { operands.len() };
        for target in operands.into_iter().take(gone) {
            let kind = sensitive::kind(target, cwd, around).map(|(kind, _)| kind);
            if kind.is_some_and(|kind| matches!(kind, Kind::System | Kind::Login | Kind::Own)) {
                add(target, cwd, "deletes", around, found);
            }
        }
    }
}

/// The files that a program writes.
fn written(name: &str, call: &Invocation) -> Vec<Field> {
    let arguments = call.arguments.as_slice();
    let all = |skipped: usize| operands(arguments).into_iter().skip(skipped).cloned().collect::<Vec<_>>();
    let mut targets = match name {
        "tee" | "gtee" | "sponge" | "truncate" | "gtruncate" | "shred" | "sudoedit" | "ed" | "ex"
        | "nano" | "vim" | "vi" | "nvim" | "emacs" | "patch" => all(0),
        "sudo" if crate::approval::sudo::has_option(call, "e", &["--edit"]) => all(0),
        "cp" | "mv" | "install" | "ln" | "rsync" | "scp" | "gcp" | "gmv" | "ginstall" => {
            destinations(arguments)
        }
        "dd" | "gdd" => {
            let of = arguments
                .iter()
                .filter_map(|field| Some(field.with_text(field.text().strip_prefix("of=")?.to_owned())));
            of.collect()
        }
        "sed" | "gsed" if edits_in_place(arguments) => {
            let has_script =
                has_option(arguments, "ef", &["--expression", "--file"]) || operands(arguments).len() == 1;
            all(usize::from(!has_script))
        }
        "perl" | "ruby" | "yq" if edits_in_place(arguments) => all(0),
        "awk" | "gawk" if arguments.iter().any(|field| field.text() == "inplace") => all(1),
        "crudini" | "augtool" => all(0),
        // With these it only reads the key.
        "ssh-keygen" if !has_option(arguments, "lyFBLEH", &[]) => {
            let file = arguments.iter().position(|field| field.text() == "-f");
            file.and_then(|at| arguments.get(at + 1)).cloned().into_iter().collect()
        }
        "git" => configured(arguments),
        _ => vec![],
    };
    targets.extend(named_outputs(name, arguments));
    targets
}

/// `-i`, `-pi`, `-i.bak`, `--in-place`.
fn edits_in_place(arguments: &[Field]) -> bool {
    arguments.iter().map(Field::text).any(|text| match text.strip_prefix('-') {
        Some(rest) if rest.starts_with('-') => {
            text.starts_with("--in-place") || text.starts_with("--inplace")
        }
        Some(cluster) => {
            // What follows the letter `e` or `f` is a program or a file.
            let letters = cluster.split(['e', 'f']).next().unwrap_or_default();
            letters.contains('i') && letters.chars().all(|c| c.is_ascii_alphanumeric() || "._~-".contains(c))
        }
        None => false,
    })
}

/// Where files are copied to; below a folder, by the names that they have.
fn destinations(arguments: &[Field]) -> Vec<Field> {
    let operands = operands(arguments);
    let Some((last, sources)) = operands.split_last() else { return vec![] };
    if sources.is_empty() {
        return vec![];
    }
    let mut targets = vec![(*last).clone()];
    let is_folder = last.text().ends_with('/') || matches!(last.text(), "." | "..");
    if is_folder {
        let folder = last.text().trim_end_matches('/');
        targets.extend(
            sources.iter().map(|source| last.with_text(format!("{folder}/{}", base_name(source.text())))),
        );
    }
    targets
}

fn named_outputs(name: &str, arguments: &[Field]) -> Vec<Field> {
    let mut targets = vec![];
    for (_, options) in OUTPUTS.iter().filter(|(names, _)| names.contains(&name)) {
        for (nth, field) in arguments.iter().enumerate() {
            let text = field.text();
            if options.contains(&text) {
                targets.extend(arguments.get(nth + 1).cloned());
            }
            let attached = options.iter().find_map(|option| {
                let rest = text.strip_prefix(option)?;
                if option.starts_with("--") {
                    rest.strip_prefix('=')
                } else {
                    Some(rest).filter(|rest| !rest.is_empty())
                }
            });
            targets.extend(attached.map(|attached| field.with_text(attached.to_owned())));
        }
    }
    targets
}

/// `git config --global core.pager …` and hooks: what later runs by itself.
fn configured(arguments: &[Field]) -> Vec<Field> {
    let is_config = arguments.first().is_some_and(|field| field.text() == "config");
    if !is_config {
        return vec![];
    }
    let file = arguments.iter().position(|field| matches!(field.text(), "-f" | "--file"));
    file.and_then(|at| arguments.get(at + 1)).cloned().into_iter().collect()
}
