//! Places whose files must not be written unasked: what logs people in, what shells run by
//! themselves, what holds keys, what the system is set up by, and what herm itself is ruled by.
//!
//! A neighbour is not the place: `.envrc`, `config.yaml.bak` and `.env#backup` are files like any
//! other. `.env.example` and its like are templates without secrets, made to be committed.

use std::path::Path;

use super::Around;
use crate::approval::glob;
use crate::approval::paths;
use crate::approval::reading::base_name;
use crate::approval::word::{Field, HOME_UNKNOWN};

/// What a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    System,
    Login,
    Own,
    Project,
    Device,
}

impl Kind {
    pub fn rule(self) -> &'static str {
        match self {
            Self::System => "write-system",
            Self::Login => "write-login",
            Self::Own => "write-own-home",
            Self::Project => "write-project-config",
            Self::Device => "write-device",
        }
    }

    pub fn what(self) -> &'static str {
        match self {
            Self::System => "part of the system's configuration",
            Self::Login => "a file of keys, or one that runs at every login",
            Self::Own => "herm's own home, which says what herm may do",
            Self::Project => "a file of settings and secrets",
            Self::Device => "a device",
        }
    }
}

/// Below a person's home: what logs in, starts by itself, or holds keys. A slash at the end is
/// everything below.
const LOGIN: &[&str] = &[
    ".ssh/",
    ".gnupg/",
    ".aws/",
    ".azure/",
    ".kube/",
    ".docker/config.json",
    ".config/gcloud/",
    ".config/gh/",
    ".config/fish/",
    ".config/autostart/",
    ".config/systemd/",
    ".config/git/credentials",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".xprofile",
    ".xinitrc",
    ".xsession",
    ".xsessionrc",
    ".pam_environment",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".vault-token",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/rclone/",
    ".password-store/",
    "Library/LaunchAgents/",
    ".local/share/keyrings/",
];

/// The system's own places. A slash at the end is everything below, and the folder itself.
const SYSTEM: &[&str] = &[
    "/etc/",
    "/private/etc/",
    "/boot/",
    "/bin/",
    "/sbin/",
    "/lib/",
    "/lib32/",
    "/lib64/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/lib/",
    "/usr/lib64/",
    "/usr/libexec/",
    "/usr/share/",
    "/proc/",
    "/sys/",
    "/var/spool/cron/",
    "/var/lib/dpkg/",
    "/var/db/",
    "/System/",
    "/Library/",
    "/private/var/db/",
];

/// Below `/dev` and harmless to write.
const HARMLESS_DEVICES: &[&str] =
    &["null", "zero", "full", "stdout", "stderr", "stdin", "tty", "random", "urandom", "ptmx"];

/// Names of a template of settings, which holds none.
const TEMPLATES: &[&str] = &["example", "sample", "template", "dist", "defaults", "default", "tpl"];

/// What of herm's home is its own, for an agent whose home is not told.
const OWN_FOLDERS: &[&str] = &[".herm", ".hermes"];

/// What kind of place a word names, if writing there has to be asked about, and its path.
pub fn kind(field: &Field, cwd: Option<&Path>, around: &Around<'_>) -> Option<(Kind, String)> {
    // What stands before it may be the root: `${PATH:0:1}dev/sda`.
    let rooted = field.with_text(format!("/{}", field.text().trim_start_matches('/')));
    let hidden =
        if field.computed && !field.text().starts_with('/') { of(&rooted, cwd, around) } else { None };
    of(field, cwd, around).or(hidden)
}

fn of(field: &Field, cwd: Option<&Path>, around: &Around<'_>) -> Option<(Kind, String)> {
    let text = field.text();
    let path = match paths::target(text, cwd) {
        Some(target) if target.everything_in_it => format!("{}/*", target.path.trim_end_matches('/')),
        Some(target) => target.path,
        None => text.to_owned(),
    };
    let found = |kind| Some((kind, path.clone()));
    if let Some(device) = path.strip_prefix("/dev/") {
        let first = device.split('/').next().unwrap_or_default();
        let harmless = HARMLESS_DEVICES.contains(&device) || ["fd", "shm", "pts"].contains(&first);
        return (!harmless || field.unknown).then_some((Kind::Device, path));
    }
    if around.agent_home.and_then(Path::to_str).is_some_and(|home| is_below(&path, home)) {
        return found(Kind::Own);
    }
    if SYSTEM.iter().any(|place| fits(place, &path)) {
        return found(Kind::System);
    }
    let homes = in_homes(&path, around.home, field.unknown);
    if homes.iter().any(|rest| OWN_FOLDERS.iter().any(|own| first_is(rest, own))) {
        return found(Kind::Own);
    }
    if homes.iter().any(|rest| LOGIN.iter().any(|place| fits(place, rest))) {
        return found(Kind::Login);
    }
    is_project_settings(base_name(&path)).then_some((Kind::Project, path))
}

fn is_project_settings(name: &str) -> bool {
    let stands_for = |known: &str| match glob::is_pattern(name) {
        true => glob::matches(name, known) && name.starts_with(['.', 'c']),
        false => name == known,
    };
    if stands_for(".env") || stands_for("config.yaml") {
        return true;
    }
    let Some(rest) = name.strip_prefix(".env.") else { return false };
    !rest.is_empty() && !rest.split('.').any(|part| TEMPLATES.contains(&part))
}

/// The path as it is below any home that it may lie in.
fn in_homes<'p>(path: &'p str, home: Option<&Path>, unknown: bool) -> Vec<&'p str> {
    let mut found = vec![];
    let mut add = |rest: Option<&'p str>| found.extend(rest.map(|rest| rest.trim_start_matches('/')));
    add(home.and_then(Path::to_str).and_then(|home| path.strip_prefix(home)));
    add(path.strip_prefix(HOME_UNKNOWN));
    add(path.strip_prefix("/root/"));
    for folder in ["/home/", "/Users/", "/var/home/"] {
        add(path.strip_prefix(folder).and_then(|rest| rest.split_once('/')).map(|(_, rest)| rest));
    }
    // On Windows; the shell takes the backslashes away, so only slashes can be followed.
    if let Some(rest) =
        path.split_once(":/Users/").and_then(|(_, rest)| rest.split_once('/')).map(|(_, rest)| rest)
    {
        add(Some(rest));
    }
    // What stands before it is not known, and may be a home.
    if unknown {
        add(path.strip_prefix('/'));
        let dotted = path.find("/.").and_then(|at| path.get(at..));
        add(dotted);
    }
    found
}

fn first_is(rest: &str, folder: &str) -> bool {
    rest.split('/').next() == Some(folder)
}

/// Whether a path is the place, or below it; wildcards of the path stand for what they may.
fn fits(place: &str, path: &str) -> bool {
    let folder = place.trim_end_matches('/');
    if is_below(path, folder) {
        return place.ends_with('/') || path == folder;
    }
    if !glob::is_pattern(path) {
        return false;
    }
    let mut parts = path.split('/');
    folder.split('/').all(|part| parts.next().is_some_and(|written| glob::matches(written, part)))
}

fn is_below(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
