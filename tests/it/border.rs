//! The border between what follows from events and what is done in the world is kept by Cargo:
//! neither `herm-schema` nor `herm-replay` can contact anyone, because nothing they depend on can.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Async runtimes and everything that speaks HTTP or TLS.
const FORBIDDEN: &[&str] = &[
    "actix-web",
    "async-executor",
    "async-global-executor",
    "async-h1",
    "async-io",
    "async-net",
    "async-std",
    "attohttpc",
    "awc",
    "axum",
    "curl",
    "curl-sys",
    "h2",
    "h3",
    "hyper",
    "hyper-util",
    "isahc",
    "mio",
    "native-tls",
    "openssl",
    "openssl-sys",
    "quinn",
    "reqwest",
    "rustls",
    "smol",
    "surf",
    "tokio",
    "tower",
    "ureq",
    "warp",
];

fn forbidden(name: &str) -> bool {
    FORBIDDEN.contains(&name) || name.starts_with("http")
}

/// The machine that this was built on: a build downloads nothing for any other.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    said.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", &host()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Ids of the packages that `node` needs to run, not to be tested or built.
fn normal_dependencies(node: &Value) -> Vec<String> {
    let is_normal =
        |dep: &&Value| dep["dep_kinds"].as_array().unwrap().iter().any(|kind| kind["kind"].is_null());
    let deps = node["deps"].as_array().unwrap().iter().filter(is_normal);
    deps.map(|dep| dep["pkg"].as_str().unwrap().to_owned()).collect()
}

/// Names of everything that `package` depends on, itself included.
fn closure(metadata: &Value, package: &str) -> BTreeSet<String> {
    let packages = metadata["packages"].as_array().unwrap();
    let names: BTreeMap<&str, &str> =
        packages.iter().map(|p| (p["id"].as_str().unwrap(), p["name"].as_str().unwrap())).collect();
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let edges: BTreeMap<&str, Vec<String>> =
        nodes.iter().map(|node| (node["id"].as_str().unwrap(), normal_dependencies(node))).collect();
    let root = names.iter().find(|(_, name)| **name == package).map(|(id, _)| (*id).to_owned()).unwrap();
    let (mut seen, mut open) = (BTreeSet::new(), vec![root]);
    while let Some(id) = open.pop() {
        if seen.insert(id.clone()) {
            open.extend(edges[id.as_str()].iter().cloned());
        }
    }
    seen.iter().map(|id| names[id.as_str()].to_owned()).collect()
}

#[test]
fn schema_and_replay_can_contact_nobody() {
    let metadata = metadata();
    for package in ["herm-schema", "herm-replay"] {
        let all = closure(&metadata, package);
        assert!(all.len() > 5 && all.contains("serde"), "{package} seems to depend on nothing: {all:?}");
        let bad: Vec<_> = all.iter().filter(|name| forbidden(name)).collect();
        assert!(bad.is_empty(), "{package} pulls in {bad:?}");
    }
}

/// The test sees what it looks for where it is.
#[test]
fn herm_itself_is_on_the_other_side_of_the_border() {
    let all = closure(&metadata(), "herm");
    assert!(all.contains("tokio") && all.contains("reqwest") && all.iter().any(|name| forbidden(name)));
}
