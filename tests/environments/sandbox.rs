//! The machine itself, held in by the kernel, through the built program.

use std::net::TcpListener;
use std::path::PathBuf;

use herm::environments::sandbox::{Sandbox, SandboxMode, SandboxSettings, Support, support};
use herm::environments::{Local, Sandboxed, VariablePolicy};

use super::*;

/// `None`, with the reason printed, where the kernel cannot.
fn local(scratch: &Scratch, mode: SandboxMode, network: bool, writable: Vec<PathBuf>) -> Option<Local> {
    if let Support::No { why } = support() {
        println!("skipped: {why}");
        return None;
    }
    let settings = SandboxSettings { mode, network, writable };
    let sandbox = Sandbox::of(settings, HERM.into()).unwrap();
    Some(Local::new(VariablePolicy::default()).keeping(scratch.path("states")).within(sandbox))
}

/// A folder outside of the workspace and of what is for temporary files.
fn outside() -> tempfile::TempDir {
    let mut folders = [Some("/var/lib".into()), std::env::home_dir()].into_iter().flatten();
    let mut builder = tempfile::Builder::new();
    folders.find_map(|folder: PathBuf| builder.prefix("herm-outside").tempdir_in(folder).ok()).unwrap()
}

#[tokio::test]
async fn held_in_this_machine_keeps_the_contract() {
    let scratch = Scratch::new();
    let Some(local) = local(&scratch, SandboxMode::Require, true, vec![]) else { return };
    let work = scratch.made("work");
    keeps_the_contract(&local, &scratch, text(&work)).await;
}

#[tokio::test]
async fn only_the_workspace_and_temporary_folders_can_be_written() {
    let scratch = Scratch::new();
    let (outside, more) = (outside(), outside());
    let Some(local) = local(&scratch, SandboxMode::Auto, true, vec![more.path().into()]) else { return };
    scratch.made("work");
    let there = outside.path().display();
    std::fs::write(outside.path().join("file"), "as it was").unwrap();
    let (outcome, shown) = scratch.run(&local, &format!("cat {there}/file; echo here > made; ls")).await;
    assert_eq!((outcome.sandboxed, shown.as_str()), (Sandboxed::Yes, "as it wasmade\n"));
    for line in [
        format!("echo x > {there}/new"),
        format!("echo x >> {there}/file"),
        format!("rm {there}/file"),
        format!("mv {there}/file made"),
        format!("mkdir {there}/dir"),
        format!("ln -s x {there}/link"),
        format!("ln {there}/file hard"),
        format!("sh -c 'bash -c \"truncate -s 0 {there}/file\"'"),
        format!("python3 -c 'open(\"{there}/file\", \"w\")'"),
        "mount -t tmpfs none /mnt".into(),
        "touch /etc/herm-test".into(),
        "touch ~/herm-test".into(),
    ] {
        let (outcome, text) = scratch.run(&local, &line).await;
        assert_ne!(outcome.ending.exit_code(), 0, "`{line}`: {text}");
    }
    assert_eq!(std::fs::read_to_string(outside.path().join("file")).unwrap(), "as it was");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    let more = more.path().display();
    for line in [
        format!("echo x > {more}/new"),
        "echo x > $(mktemp)".into(),
        "echo x > /dev/null".into(),
        "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x".into(),
    ] {
        let (outcome, text) = scratch.run(&local, &line).await;
        assert_eq!(outcome.ending.exit_code(), 0, "`{line}`: {text}");
    }
}

#[tokio::test]
async fn the_network_is_there_or_not_as_is_configured() {
    let scratch = Scratch::new();
    scratch.made("work");
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let connects = format!("exec 7<>/dev/tcp/127.0.0.1/{port} && echo connected");
    let datagram =
        "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)' 2>&1 | tail -1";
    let Some(allowed) = local(&scratch, SandboxMode::Require, true, vec![]) else { return };
    assert_eq!(scratch.run(&allowed, &connects).await.1, "connected\n");
    let denied = local(&scratch, SandboxMode::Require, false, vec![]).unwrap();
    let (outcome, text) = scratch.run(&denied, &connects).await;
    assert!(outcome.ending.exit_code() != 0 && text.contains("not permitted"), "{text}");
    assert!(scratch.run(&denied, datagram).await.1.contains("PermissionError"));
    let local_socket =
        "python3 -c 'import socket; a, b = socket.socketpair(); a.send(b\"x\"); print(b.recv(1))'";
    assert_eq!(scratch.run(&denied, local_socket).await.1, "b'x'\n");
}

#[tokio::test]
async fn a_background_process_of_one_command_can_be_ended_by_the_next() {
    let scratch = Scratch::new();
    scratch.made("work");
    let Some(local) = local(&scratch, SandboxMode::Auto, true, vec![]) else { return };
    scratch.run(&local, "sleep 300 & echo $! > pid").await;
    let (outcome, text) = scratch.run(&local, "kill $(cat pid)").await;
    assert_eq!(outcome.ending.exit_code(), 0, "{text}");
}

#[tokio::test]
async fn a_program_that_is_not_herm_cannot_be_the_sandbox() {
    let scratch = Scratch::new();
    scratch.made("work");
    let settings = SandboxSettings { mode: SandboxMode::Require, network: true, writable: vec![] };
    let sandbox = Sandbox::of(settings, scratch.path("no-herm")).unwrap();
    let local = Local::new(VariablePolicy::default()).within(sandbox);
    let (outcome, _) = scratch.run(&local, "echo ran").await;
    assert_eq!((outcome.ending.exit_code(), outcome.output_bytes), (127, 0));
}

#[test]
fn a_policy_that_cannot_be_read_runs_nothing() {
    let output =
        Command::new(HERM).args(["sandbox-exec", "--policy", "{", "--", "echo", "ran"]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(96), &b""[..]));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("herm:refused "));
}
