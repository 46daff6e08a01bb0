//! The container backend over a real Podman.

use std::sync::Arc;
use std::time::Duration;

use herm::environments::container::{Container, ContainerSettings, Host, User};

use super::podman::{IMAGE, Podman};
use super::*;

fn settings(podman: &Podman) -> ContainerSettings {
    ContainerSettings {
        engine: podman.socket().display().to_string(),
        image: IMAGE.into(),
        network: false,
        memory_mib: 256,
        cpus: 1.0,
        processes_max: 64,
        tmp_mib: 32,
        user: User::Host,
        volumes: vec![],
        mount_cwd: false,
        forward_env: vec![],
        ulimits: vec![],
    }
}

fn host(settings: ContainerSettings, scratch: &Scratch) -> Arc<Host> {
    Arc::new(Host::new(settings, scratch.made("home"), HERM.into()))
}

fn container(host: &Arc<Host>, scratch: &Scratch, session: &str) -> Container {
    let sandbox = scratch.path(&format!("home/sandboxes/container/{session}"));
    Container::new(Arc::clone(host), session, sandbox, &scratch.made("work"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_keeps_the_contract() {
    let Some(podman) = Podman::start() else { return };
    let scratch = Scratch::new();
    let container = container(&host(settings(&podman), &scratch), &scratch, "s");
    keeps_the_contract(&container, &scratch, "/workspace").await;
    assert_eq!(podman.containers().len(), 1, "one container was used for all of it");
    container.close().await.unwrap();
    assert_eq!(podman.containers(), Vec::<String>::new());
}

/// Where distributions put what makes networks for Podman.
const NETAVARK: &[&str] = &["/usr/lib/podman/netavark", "/usr/libexec/podman/netavark"];

#[tokio::test(flavor = "multi_thread")]
async fn a_container_with_a_network_reaches_out() {
    let Some(podman) = Podman::start() else { return };
    if !(NETAVARK.iter().any(|path| Path::new(path).exists()) && is_installed("iptables")) {
        println!("skipped: `netavark` or `iptables` is not installed");
        return;
    }
    let scratch = Scratch::new();
    let settings = ContainerSettings { network: true, ..settings(&podman) };
    let container = container(&host(settings, &scratch), &scratch, "s");
    let execution = scratch.execution("s", "ip -o -4 addr show eth0; ip route show default");
    let outcome = match container.execute(&execution, &Default::default()).await {
        Ok(outcome) => outcome,
        Err(error) if error.to_string().contains("netavark") => {
            println!("skipped: the kernel does not give a network: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let told = std::fs::read_to_string(outcome.output).unwrap();
    let gateway = told.split_once("default via ").unwrap().1.split_whitespace().next().unwrap().to_owned();
    // This machine, as the container reaches it.
    let listener = std::net::TcpListener::bind((gateway.as_str(), 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let greeter = std::thread::spawn(move || {
        std::io::Write::write_all(&mut listener.accept().unwrap().0, b"hello from outside\n").unwrap();
    });
    let (_, text) = scratch.run(&container, &format!("nc -w 5 {gateway} {port} </dev/null")).await;
    assert_eq!(text, "hello from outside\n", "{told}");
    greeter.join().unwrap();
    let (_, text) = scratch.run(&container, "grep Cap /proc/self/status").await;
    assert_eq!(text.matches("0000000000000000").count(), 5, "a network gives no capability: {text}");
    container.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_first_commands_at_once_share_one_container() {
    let Some(podman) = Podman::start() else { return };
    let scratch = Scratch::new();
    let container = container(&host(settings(&podman), &scratch), &scratch, "s");
    let (one, two) = tokio::join!(scratch.run(&container, "hostname"), scratch.run(&container, "hostname"));
    assert_eq!(one.1, two.1);
    assert_eq!(podman.containers().len(), 1);
    container.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_can_be_taken_away_is_taken_away() {
    let Some(podman) = Podman::start() else { return };
    let scratch = Scratch::new();
    scratch.made("data");
    std::fs::write(scratch.path("data/given"), "from outside").unwrap();
    let volume = format!("{}:/data:ro", scratch.path("data").display());
    let settings = ContainerSettings { volumes: vec![volume], ..settings(&podman) };
    let container = container(&host(settings, &scratch), &scratch, "s");
    let run = async |line: &str| scratch.run(&container, line).await;
    let fails = async |line: &str| {
        let (outcome, text) = run(line).await;
        assert_ne!(outcome.ending.exit_code(), 0, "`{line}`: {text}");
        text
    };
    assert!(fails("touch /etc/x").await.contains("Read-only"));
    assert!(fails("touch /bin/x").await.contains("Read-only"));
    assert!(fails("touch /data/x").await.contains("Read-only"));
    assert_eq!(run("cat /data/given").await.1, "from outside");
    fails("mount -t tmpfs none /mnt").await;
    fails("chown 1:1 /workspace").await;
    let (_, text) = run("grep -E 'Cap|NoNewPrivs' /proc/self/status").await;
    assert_eq!(text.matches("0000000000000000").count(), 5, "{text}");
    assert!(text.contains("NoNewPrivs:\t1"), "{text}");
    let (_, interfaces) = run("ls /sys/class/net").await;
    assert_eq!(interfaces.trim(), "lo");
    // The processes of one command do not take the machine along.
    let (_, text) = run("for n in $(seq 1 100); do sleep 1 & done 2>&1").await;
    assert!(text.contains("can't fork"), "{text}");
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert!(fails("dd if=/dev/zero of=/tmp/x bs=1M count=64").await.contains("No space left"));
    fails("dd if=/dev/zero of=/dev/null bs=400M count=1").await;
    // What it writes is here, and stays when the container goes.
    run("echo kept > /workspace/file; echo kept > ~/file").await;
    container.close().await.unwrap();
    let sandbox = scratch.path("home/sandboxes/container/s");
    assert_eq!(std::fs::read_to_string(sandbox.join("workspace/file")).unwrap(), "kept\n");
    assert_eq!(run("cat ~/file; pwd").await.1, "kept\n/workspace\n");
    container.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_directory_and_named_variables_are_given_where_that_is_configured() {
    let Some(podman) = Podman::start() else { return };
    let scratch = Scratch::new();
    std::fs::write(scratch.made("work").join("mine"), "from here").unwrap();
    let settings = ContainerSettings {
        mount_cwd: true,
        forward_env: vec!["CARGO_PKG_NAME".into()],
        ..settings(&podman)
    };
    let container = container(&host(settings, &scratch), &scratch, "s");
    let (_, text) =
        scratch.run(&container, "cat mine; echo; echo $CARGO_PKG_NAME [$CARGO_MANIFEST_DIR]").await;
    assert_eq!(text, "from here\nherm []\n");
    container.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_session_has_a_container_and_a_removed_one_is_made_anew() {
    let Some(podman) = Podman::start() else { return };
    let scratch = Scratch::new();
    let host = host(settings(&podman), &scratch);
    let (one, two) = (container(&host, &scratch, "one"), container(&host, &scratch, "two"));
    scratch.run(&one, "echo 1 > /tmp/x; cd /tmp").await;
    assert_eq!(scratch.run(&two, "ls /tmp").await.1, "");
    assert_eq!(podman.containers().len(), 2);
    podman.run(&["rm", "--all", "--force", "--time", "0"]);
    assert_eq!(scratch.run(&one, "ls; pwd").await.1, "/tmp\n", "the state of the session is kept");
    one.close().await.unwrap();
    two.close().await.unwrap();
    two.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_herm_left_is_removed_except_where_a_command_still_runs() {
    let Some(podman) = Podman::start() else { return };
    let scratch = Scratch::new();
    let idle = container(&host(settings(&podman), &scratch), &scratch, "idle");
    scratch.run(&idle, "true").await;
    let busy = container(&host(settings(&podman), &scratch), &scratch, "busy");
    let execution =
        scratch.execution("busy", "echo begun; until [ -e go ]; do sleep 0.05; done; echo done; exit 4");
    let cancel = Default::default();
    let begun = async {
        let output = execution.spool.join("output");
        while std::fs::read_to_string(&output).unwrap_or_default().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        outcome = busy.execute(&execution, &cancel) => panic!("ended early: {outcome:?}"),
        () = begun => {}
    }
    podman.run(&[
        "run",
        "--detach",
        "--name",
        "of-somebody-else",
        "--ulimit",
        "nofile=1024:1024",
        "--ulimit",
        "nproc=1024:1024",
        "--network",
        "none",
        IMAGE,
        "/bin/sleep",
        "600",
    ]);
    // The next herm of this home.
    let next = host(settings(&podman), &scratch);
    next.engine().await.unwrap();
    let left = podman.containers();
    assert!(left.iter().any(|name| name == "of-somebody-else"), "{left:?}");
    assert!(left.iter().any(|name| name.ends_with("-busy")), "{left:?}");
    assert!(!left.iter().any(|name| name.ends_with("-idle")), "{left:?}");
    let again = container(&next, &scratch, "busy");
    let go = async { scratch.run(&again, "touch go").await };
    let (found, _) = tokio::join!(again.recover(&execution.spool, &cancel), go);
    let Recovery::Finished(outcome) = found else { panic!("{found:?}") };
    assert_eq!(outcome.ending, Ending::Exited { code: 4 });
    assert_eq!(std::fs::read_to_string(outcome.output).unwrap(), "begun\ndone\n");
    again.close().await.unwrap();
    assert_eq!(podman.containers(), ["of-somebody-else"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_not_there_is_nobodys_fault_and_a_wrong_image_is_the_users_affair() {
    let scratch = Scratch::new();
    let nobody = ContainerSettings { engine: text(&scratch.path("none.sock")).into(), ..ghost() };
    let unreachable = container(&host(nobody, &scratch), &scratch, "s");
    let error =
        unreachable.execute(&scratch.execution("s", "echo ran"), &Default::default()).await.unwrap_err();
    assert!(error.may_pass() && error.to_string().contains("not the command's fault"), "{error}");
    assert!(error.to_string().contains("none.sock"), "{error}");
    let Some(podman) = Podman::start() else { return };
    let missing = ContainerSettings { image: "localhost/no-such-image:1".into(), ..settings(&podman) };
    let environment = container(&host(missing, &scratch), &scratch, "s");
    let error =
        environment.execute(&scratch.execution("s", "echo ran"), &Default::default()).await.unwrap_err();
    assert!(!error.may_pass() && error.to_string().contains("no-such-image"), "{error}");
}

fn ghost() -> ContainerSettings {
    ContainerSettings {
        engine: String::new(),
        image: IMAGE.into(),
        network: false,
        memory_mib: 64,
        cpus: 1.0,
        processes_max: 64,
        tmp_mib: 16,
        user: User::Image,
        volumes: vec![],
        mount_cwd: false,
        forward_env: vec![],
        ulimits: vec![],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_leaves_no_room_for_a_signal_is_ended_all_the_same() {
    let Some(podman) = Podman::start() else { return };
    let scratch = Scratch::new();
    let container = container(&host(settings(&podman), &scratch), &scratch, "s");
    let mut bomb = scratch
        .execution("s", "echo x > mine; (while :; do sleep 300 & done) 2>/dev/null; while :; do :; done");
    bomb.timeout = Duration::from_secs(3);
    let outcome = container.execute(&bomb, &Default::default()).await.unwrap();
    assert_eq!(outcome.ending, Ending::TimedOut);
    assert_eq!(scratch.run(&container, "cat mine; ps | grep -c '[s]leep 300'").await.1, "x\n0\n");
    container.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn more_output_than_is_kept_ends_the_command() {
    let Some(podman) = Podman::start() else { return };
    let scratch = Scratch::new();
    let container = container(&host(settings(&podman), &scratch), &scratch, "s");
    let outcome = container.execute(&scratch.execution("s", "yes"), &Default::default()).await.unwrap();
    assert_eq!(outcome.output_bytes, 256 << 20);
    assert_eq!(scratch.run(&container, "ps | grep -c '[y]es'").await.1, "0\n");
    container.close().await.unwrap();
}
