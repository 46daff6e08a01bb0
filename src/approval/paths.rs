//! Paths as the system would resolve them, without asking it.

use std::path::Path;

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

/// What deleting `path`, resolved, would destroy that nobody wants destroyed.
pub fn vital(path: &str, home: Option<&Path>) -> Option<Vital> {
    if path == "/" {
        return Some(Vital::Root);
    }
    if SYSTEM_FOLDERS.contains(&path) {
        return Some(Vital::System);
    }
    // Whatever contains the home directory takes it along.
    let is_home = path == HOME_UNKNOWN || home.is_some_and(|home| home.starts_with(path));
    is_home.then_some(Vital::Home)
}

/// `/dev/sda`, `/dev/nvme0n1p2`, `/dev/disk0`: a disk or a partition.
pub fn is_disk(text: &str) -> bool {
    let Some(Target { path, .. }) = target(text, None) else { return false };
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

/// Whether reading this file would show a secret, by its name.
pub fn looks_secret(text: &str) -> bool {
    text.split(['/', ':', '=']).any(|component| {
        let name = component.to_ascii_lowercase();
        is_secret_name(&name) || (name.starts_with('.') && name.contains(['*', '?', '[']))
    })
}

fn is_secret_name(name: &str) -> bool {
    const FOLDERS_AND_FILES: &[&str] = &[
        ".ssh",
        ".gnupg",
        ".aws",
        ".azure",
        ".kube",
        ".docker",
        ".netrc",
        "_netrc",
        ".pgpass",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        ".htpasswd",
        ".vault-token",
        "shadow",
        "gshadow",
        "sudoers",
        "environ",
        "gcloud",
        ".password-store",
        "keyrings",
        ".env",
        ".envrc",
    ];
    const EXAMPLES: &[&str] = &["example", "sample", "template", "dist", "defaults"];
    if FOLDERS_AND_FILES.contains(&name) {
        return true;
    }
    if name.ends_with("_history") {
        return true;
    }
    if let Some(kind) = name.strip_prefix(".env.") {
        return !EXAMPLES.contains(&kind);
    }
    let private_key = name.starts_with("id_")
        && !name.ends_with(".pub")
        && ["rsa", "dsa", "ecdsa", "ed25519"]
            .iter()
            .any(|kind| name.strip_prefix("id_").is_some_and(|rest| rest.starts_with(kind)));
    let named_so = ["credential", "secret", "passwd", "password", "token"].iter().any(|word| {
        name.starts_with(word) && name != "passwd" && !name.ends_with(".rs") && !name.ends_with(".py")
    });
    let key_file = [".pem", ".key", ".p12", ".pfx", ".jks", ".kdbx"].iter().any(|end| name.ends_with(end));
    private_key || named_so || key_file
}
