//! Environments as a person meets them: the built program, the built-in model, the configuration.

use super::podman::{IMAGE, Podman};
use super::sshd::Sshd;
use super::stage::{Run, Stage};
use super::*;

fn told(stage: &Stage, variables: &[(&str, &str)], question: &str) -> Run {
    let mut command = stage.command(&["chat", "--provider", "offline", "--yolo", "-q", question]);
    command.envs(variables.iter().copied());
    Stage::finish(command)
}

fn doctor(stage: &Stage, variables: &[(&str, &str)]) -> serde_json::Value {
    let mut command = stage.command(&["doctor", "--json"]);
    command.envs(variables.iter().copied());
    let out = Stage::finish(command).out;
    let rows = out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    rows.into_iter().find(|row| row["check"] == "commands").unwrap()
}

#[test]
fn directory_and_variables_stay_from_one_command_to_the_next() {
    let stage = Stage::new();
    let run = told(&stage, &[], "run: mkdir d && cd d && export A=1\nrun: echo $A; pwd");
    assert!(run.out.contains(&format!("1\n{}", stage.path("d").display())), "{run:?}");
    let run = told(&stage, &[], "run: mkdir d2 && cd d2\nrun: rm -rf ../d2\nrun: echo alive");
    assert!(run.out.contains("alive"), "{run:?}");
}

#[test]
fn the_sandbox_is_on_and_says_so_where_it_is_in_the_way() {
    use herm::environments::sandbox::{Support, support};
    if let Support::No { why } = support() {
        println!("skipped: {why}");
        return;
    }
    let stage = Stage::new();
    let person = stage.work().with_file_name("person");
    std::fs::write(person.join(".bashrc"), "as it was").unwrap();
    // The stage lies below a temporary folder, which may be written: this one does not.
    let run = told(&stage, &[], "run: touch /etc/herm-test-of-the-sandbox; echo $?");
    assert!(run.out.contains("Permission denied"), "{run:?}");
    assert!(!Path::new("/etc/herm-test-of-the-sandbox").exists());
    assert_eq!(doctor(&stage, &[])["level"], "ok");
    let off = [("HERM_TERMINAL_SANDBOX", "off")];
    let row = doctor(&stage, &off);
    assert!(row["what"].as_str().unwrap().contains("the sandbox is off"), "{row}");
    let deny = [("HERM_TERMINAL_SANDBOX_NETWORK", "deny")];
    let run = told(&stage, &deny, "run: exec 7<>/dev/tcp/127.0.0.1/9; echo $?");
    assert!(run.out.contains("not permitted"), "{run:?}");
}

#[test]
fn a_conversation_runs_in_its_container_and_leaves_none() {
    let Some(podman) = Podman::start() else { return };
    let stage = Stage::new();
    let socket = podman.socket().display().to_string();
    let variables = [
        ("HERM_TERMINAL_BACKEND", "container"),
        ("HERM_CONTAINER_ENGINE", socket.as_str()),
        ("HERM_CONTAINER_IMAGE", IMAGE),
        ("HERM_CONTAINER_NETWORK", "none"),
    ];
    let row = doctor(&stage, &variables);
    assert!(row["level"] == "ok" && row["what"].as_str().unwrap().contains("Podman"), "{row}");
    let run = told(
        &stage,
        &variables,
        "run: cd /tmp; echo x > /workspace/kept\nrun: pwd; hostname; ls /bin/busybox",
    );
    assert!(run.out.contains("/tmp\n") && run.out.contains("/bin/busybox"), "{run:?}");
    assert_eq!(podman.containers(), Vec::<String>::new());
    let sandboxes = stage.home().join("sandboxes/container");
    let kept = super::stage::files(&sandboxes).into_iter().filter(|file| file.ends_with("workspace/kept"));
    assert_eq!(kept.count(), 1);
}

#[test]
fn a_conversation_runs_over_there() {
    let Some(sshd) = Sshd::start() else { return };
    let stage = Stage::new();
    let settings = sshd.settings();
    let (port, key) = (settings.port.unwrap().to_string(), settings.key.unwrap().display().to_string());
    let options = settings.options.join(",");
    let variables = [
        ("HERM_TERMINAL_BACKEND", "ssh"),
        ("HERM_SSH_HOST", "127.0.0.1"),
        ("HERM_SSH_PORT", port.as_str()),
        ("HERM_SSH_KEY", key.as_str()),
        ("HERM_SSH_OPTIONS", options.as_str()),
    ];
    let row = doctor(&stage, &variables);
    assert_eq!(row["level"], "ok", "{row}");
    let run = told(&stage, &variables, "run: mkdir -p w && cd w\nrun: pwd");
    assert!(run.out.contains(&format!("{}/w", sshd.home().display())), "{run:?}");
}

#[test]
fn what_cannot_be_had_is_said_and_runs_nothing() {
    let stage = Stage::new();
    for (variables, says) in [
        (vec![("HERM_TERMINAL_BACKEND", "modal")], "not built yet"),
        (vec![("HERM_TERMINAL_BACKEND", "ssh")], "which is no host"),
        (
            vec![("HERM_TERMINAL_BACKEND", "container"), ("HERM_CONTAINER_ENGINE", "/nowhere.sock")],
            "/nowhere.sock",
        ),
    ] {
        let run = told(&stage, &variables, "run: touch made");
        assert!(run.out.contains(says) || run.err.contains(says), "{variables:?}: {run:?}");
        assert_eq!(doctor(&stage, &variables)["level"], "problem");
    }
    assert!(!stage.path("made").exists());
}
