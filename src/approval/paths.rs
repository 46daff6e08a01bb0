//! Paths as the system would resolve them, without asking it.

use std::path::Path;

use super::glob;
use super::word::HOME_UNKNOWN;

/// Folders without which a system does not run; exactly these, not what lies below them.
const SYSTEM_FOLDERS: &[&str] = &[
    "/home",
    "/root",
    "/etc",
    "/usr",
    "/var",
    "/bin",
    "/sbin",
    "/boot",
    "/lib",
    "/lib32",
    "/lib64",
    "/dev",
    "/proc",
    "/sys",
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib64",
    "/System",
    "/Library",
    "/Applications",
    "/Users",
    "/private",
    "/private/etc",
    "/private/var",
];

/// What deleting a path would destroy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vital {
    Root,
    System,
    Home,
}

/// A path and whether it ended in a wildcard that stands for everything in it.
pub struct Target {
    pub path: String,
    pub everything_in_it: bool,
}

/// Resolves `.`, `..`, doubled slashes and a closing wildcard. `None` if it is relative to an
/// unknown folder.
pub fn target(text: &str, cwd: Option<&Path>) -> Option<Target> {
    let absolute = if text.starts_with('/') { text.to_owned() } else { format!("{}/{text}", cwd?.to_str()?) };
    let mut components: Vec<&str> = vec![];
    for component in absolute.split('/') {
        match component {
            "" | "." => {}
            ".." => {
                components.pop();
            }
            name => components.push(name),
        }
    }
    let mut everything_in_it = false;
    while components.last().is_some_and(|last| matches_everything(last)) {
        components.pop();
        everything_in_it = true;
    }
    Some(Target { path: format!("/{}", components.join("/")), everything_in_it })
}

/// `*`, `.*`, `?*`, `.[!.]*`: wildcards and dots only.
fn matches_everything(component: &str) -> bool {
    component.contains('*') && component.chars().all(|c| "*?.[]!^".contains(c))
}

/// What deleting `path`, resolved, would destroy that nobody wants destroyed. With wildcards, it
/// is everything that they may stand for.
pub fn vital(path: &str, home: Option<&Path>) -> Option<Vital> {
    if path == "/" {
        return Some(Vital::Root);
    }
    let wild = glob::is_pattern(path);
    let levels = path.matches('/').count();
    let stands_for = |folder: &str| match wild {
        false => folder == path,
        true => folder.matches('/').count() == levels && glob::matches(path, folder),
    };
    if SYSTEM_FOLDERS.iter().any(|folder| stands_for(folder)) {
        return Some(Vital::System);
    }
    // Whatever contains the home directory takes it along.
    let is_home = path == HOME_UNKNOWN
        || home.is_some_and(|home| home.ancestors().any(|above| above.to_str().is_some_and(stands_for)));
    is_home.then_some(Vital::Home)
}

/// `/dev/sda`, `/dev/nvme0n1p2`, `/dev/disk0`: a disk or a partition.
pub fn is_disk(text: &str, cwd: Option<&Path>) -> bool {
    let Some(Target { path, .. }) = target(text, cwd) else { return false };
    let Some(device) = path.strip_prefix("/dev/") else { return false };
    if device.starts_with("disk/by-") {
        return true;
    }
    ["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk"].iter().any(|kind| {
        device.strip_prefix(kind).is_some_and(|rest| {
            !rest.is_empty()
                && rest.len() <= 12
                && rest.chars().all(|c| c.is_ascii_alphanumeric() || "*?[]".contains(c))
        })
    })
}
