//! Environments as a person meets them: the built program, the built-in model, the configuration.

use super::podman::{IMAGE, Podman};
use super::sshd::Sshd;
use serde_json::json;

use super::stage::{Run, Stage};
use super::support::{ModelServer, Recorded, Reply};
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

/// The file tools and the command lines of a session see the same files, which are not those of herm.
fn files_are_those_of_the_environment(stage: &Stage, variables: &[(&str, &str)]) {
    std::fs::write(stage.path("notes.txt"), "of herm itself").unwrap();
    let calls = [
        (
            "terminal",
            json!({"command": "mkdir -p 'w ü' && cd 'w ü' && printf 'one\\r\\ntwo\\r\\n' > crlf.txt"}),
        ),
        ("write_file", json!({"path": "deep/notes.txt", "content": "alpha\nbeta\n"})),
        (
            "patch",
            json!({"mode": "replace", "path": "deep/notes.txt", "old_string": "beta", "new_string": "gamma"}),
        ),
        (
            "patch",
            json!({"mode": "replace", "path": "crlf.txt", "old_string": "one\ntwo", "new_string": "1\n2"}),
        ),
        ("read_file", json!({"path": "deep/notes.txt"})),
        ("read_file", json!({"path": "deep/note.txt"})),
        ("search_files", json!({"pattern": "gam+a"})),
        ("write_file", json!({"path": "/root/.ssh/authorized_keys", "content": "x"})),
        ("terminal", json!({"command": "cat deep/notes.txt; od -An -c crlf.txt | tr -d ' \\n'; ls -a deep"})),
    ];
    let replies = calls.iter().map(|(name, arguments)| Reply::call(name, arguments));
    let server = ModelServer::start(replies.chain([Reply::text("Done.")]));
    let base_url = server.base_url();
    let mut command = stage.command(&super::stage::chat(&base_url, &["--yolo", "-q", "go"]));
    command.envs(variables.iter().copied());
    let run = Stage::finish(command);
    assert_eq!((run.exit, run.out.as_str()), (0, "Done.\n"), "{run:?}");
    let results: Vec<serde_json::Value> = server.requests().iter().skip(1).map(shown).collect();
    let text = |index: usize| results[index].to_string();
    assert!(text(1).contains("\"bytes_written\":11"), "{}", text(1));
    assert!(text(2).contains("+gamma") && text(3).contains("\"success\":true"), "{} {}", text(2), text(3));
    assert_eq!(results[4]["content"], "1|alpha\n2|gamma", "{}", text(4));
    assert!(text(5).contains("does not exist") && text(5).contains("deep/notes.txt"), "{}", text(5));
    assert!(text(6).contains("deep/notes.txt") && text(6).contains("gamma"), "{}", text(6));
    assert!(text(7).contains("its folder holds keys"), "{}", text(7));
    let printed = results[8]["output"].as_str().unwrap();
    assert!(printed.starts_with("alpha\ngamma\n") && printed.contains("1\\r\\n2\\r\\n"), "{printed}");
    assert!(!printed.contains(".herm-"), "nothing is left beside it: {printed}");
    assert_eq!(stage.file("notes.txt"), "of herm itself");
    assert!(!stage.path("deep").exists());
}

/// What is left running begins with the directory and the variables that the session has, and leaves
/// those of the session as they are.
fn a_process_begins_as_the_session_stands(stage: &Stage, variables: &[(&str, &str)]) {
    let begin = json!({"command": "echo \"$GIVEN $PATH ${PWD##*/}\" > told; cd /; export GIVEN=other", "background": true});
    let look = "export PATH=/usr/bin:/bin; while [ ! -s told ]; do sleep 0.1; done; cat told; echo $GIVEN ${PWD##*/}";
    let calls = [
        ("terminal", json!({"command": "mkdir -p left && cd left && export GIVEN='a b' PATH=/nowhere"})),
        ("terminal", begin),
        ("terminal", json!({"command": look})),
    ];
    let replies = calls.iter().map(|(name, arguments)| Reply::call(name, arguments));
    let server = ModelServer::start(replies.chain([Reply::text("Done.")]));
    let base_url = server.base_url();
    let mut command = stage.command(&super::stage::chat(&base_url, &["--yolo", "-q", "go"]));
    command.envs(variables.iter().copied());
    let run = Stage::finish(command);
    assert_eq!((run.exit, run.out.as_str()), (0, "Done.\n"), "{run:?}");
    let told = shown(&server.requests()[3]);
    assert_eq!(told["output"], "a b /nowhere left\na b left\n", "{told}");
}

/// What is left running is written to by later calls, and reads an end when it is closed.
fn a_process_is_written_to(stage: &Stage, variables: &[(&str, &str)]) {
    let begin =
        json!({"command": "while read -r word; do echo \"got $word\"; done; echo over", "background": true});
    let name = std::sync::Mutex::new(String::new());
    let acts = [
        json!({"action": "submit", "data": "hello"}),
        json!({"action": "close"}),
        json!({"action": "wait", "timeout": 20}),
    ];
    let server = ModelServer::computed(move |request| {
        let results = request.json["messages"].as_array().unwrap();
        match results.iter().filter(|message| message["role"] == "tool").count() {
            0 => Reply::call("terminal", &begin),
            count => {
                let mut name = name.lock().unwrap();
                if count == 1 {
                    *name = shown(request)["session_id"].as_str().unwrap().to_owned();
                }
                let Some(act) = acts.get(count - 1) else { return Reply::text("Done.") };
                let mut act = act.clone();
                act["session_id"] = json!(*name);
                Reply::call("process", &act)
            }
        }
    });
    let base_url = server.base_url();
    let mut command = stage.command(&super::stage::chat(&base_url, &["--yolo", "-q", "go"]));
    command.envs(variables.iter().copied());
    let run = Stage::finish(command);
    assert_eq!((run.exit, run.out.as_str()), (0, "Done.\n"), "{run:?}");
    let results: Vec<serde_json::Value> = server.requests().iter().skip(2).map(shown).collect();
    let said: String = results.iter().filter_map(|result| result["output"].as_str()).collect();
    assert_eq!(said, "got hello\nover\n", "{results:?}");
    assert_eq!(
        (&results[2]["status"], &results[2]["exit_code"]),
        (&json!("exited"), &json!(0)),
        "{results:?}"
    );
}

/// An image of nothing but busybox is given the Python of this machine, with the libraries that it needs.
fn python_of_this_machine() -> Option<String> {
    if !Path::new("/usr/bin/python3").exists() {
        println!("skipped: there is no `/usr/bin/python3` that a container could be given");
        return None;
    }
    let given = ["/usr", "/lib", "/lib64"].into_iter().filter(|folder| Path::new(folder).exists());
    Some(given.map(|folder| format!("{folder}:{folder}:ro")).collect::<Vec<_>>().join(","))
}

/// A program runs where the command lines run, and calls tools by the rules that hold for the model.
fn a_program_calls_tools_from_there(stage: &Stage, variables: &[(&str, &str)]) {
    let code = "import os\nfrom herm_tools import terminal, write_file, read_file, ToolError\n\
                write_file(path='made.txt', content='alpha\\n')\n\
                print(open('made.txt').read().strip(), os.environ['GIVEN'])\n\
                print(read_file(path='made.txt')['content'])\n\
                print(terminal(command='echo from ${PWD##*/}')['output'].strip())\n\
                try:\n    terminal(command='rm -rf ' + '/')\nexcept ToolError as error:\n    print('no:', error)\n";
    let calls = [
        ("terminal", json!({"command": "mkdir -p prog && cd prog && export GIVEN=here"})),
        ("execute_code", json!({"code": code})),
        ("terminal", json!({"command": "ls -A ~/.herm/programs 2>/dev/null"})),
    ];
    let replies = calls.iter().map(|(name, arguments)| Reply::call(name, arguments));
    let server = ModelServer::start(replies.chain([Reply::text("Done.")]));
    let base_url = server.base_url();
    let mut command = stage.command(&super::stage::chat(&base_url, &["--yolo", "-q", "go"]));
    command.envs(variables.iter().copied());
    let run = Stage::finish(command);
    assert_eq!((run.exit, run.out.as_str()), (0, "Done.\n"), "{run:?}");
    let told = shown(&server.requests()[2]);
    let output = told["output"].as_str().unwrap_or_default();
    assert!(
        output.starts_with("alpha here\n1|alpha\nfrom prog\nno: ") && output.contains("delete-root"),
        "{told}"
    );
    assert_eq!((&told["tool_calls_made"], &told["status"]), (&json!(4), &json!("success")));
    println!("four calls took {} s", told["duration_seconds"]);
    assert_eq!(shown(&server.requests()[3])["output"], "", "nothing of it is left over there");
    let spools = super::stage::files(&stage.home().join("spool"));
    assert_eq!(
        spools.iter().filter(|file| file.to_string_lossy().contains("program-")).count(),
        0,
        "{spools:?}"
    );
}

#[test]
fn a_program_runs_in_a_container_that_has_python_and_says_where_there_is_none() {
    let Some(podman) = Podman::start() else { return };
    let stage = Stage::new();
    let socket = podman.socket().display().to_string();
    let variables = [
        ("HERM_TERMINAL_BACKEND", "container"),
        ("HERM_CONTAINER_ENGINE", socket.as_str()),
        ("HERM_CONTAINER_IMAGE", IMAGE),
        ("HERM_CONTAINER_NETWORK", "none"),
    ];
    let server =
        ModelServer::start([Reply::call("execute_code", &json!({"code": "print(1)"})), Reply::text("No.")]);
    let base_url = server.base_url();
    let mut command = stage.command(&super::stage::chat(&base_url, &["--yolo", "-q", "go"]));
    command.envs(variables);
    let run = Stage::finish(command);
    assert_eq!(run.exit, 0, "{run:?}");
    let told = shown(&server.requests()[1])["error"].as_str().unwrap().to_owned();
    assert!(told.contains("python3 is not installed") && told.contains("`container`"), "{told}");
    let Some(volumes) = python_of_this_machine() else { return };
    let variables = [&variables[..], &[("HERM_CONTAINER_VOLUMES", volumes.as_str())]].concat();
    a_program_calls_tools_from_there(&Stage::new(), &variables);
    assert_eq!(podman.containers(), Vec::<String>::new());
}

#[test]
fn what_apptainer_would_run_takes_up_the_session_and_calls_tools() {
    let (stage, scratch) = (Stage::new(), Scratch::new());
    let Some((program, image)) = super::singularity::contained(&scratch) else { return };
    let volumes = python_of_this_machine();
    let variables = [
        ("HERM_TERMINAL_BACKEND", "singularity"),
        ("HERM_SINGULARITY_IMAGE", text(&image)),
        ("HERM_SINGULARITY_VOLUMES", volumes.as_deref().unwrap_or_default()),
        ("HERM_SINGULARITY_PROGRAM", text(&program)),
    ];
    a_process_begins_as_the_session_stands(&stage, &variables);
    a_process_is_written_to(&stage, &variables);
    if volumes.is_some() {
        a_program_calls_tools_from_there(&stage, &variables);
    }
}

#[test]
fn what_is_left_running_here_and_programs_begin_as_the_session_stands() {
    a_process_begins_as_the_session_stands(&Stage::new(), &[]);
    a_process_is_written_to(&Stage::new(), &[]);
    a_program_calls_tools_from_there(&Stage::new(), &[]);
}

/// The newest tool result of a request.
fn shown(request: &Recorded) -> serde_json::Value {
    let messages = request.json["messages"].as_array().unwrap();
    let result = messages.iter().rev().find(|message| message["role"] == "tool").unwrap();
    serde_json::from_str(result["content"].as_str().unwrap()).unwrap()
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
    files_are_those_of_the_environment(&stage, &variables);
    a_process_begins_as_the_session_stands(&stage, &variables);
    a_process_is_written_to(&stage, &variables);
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
    files_are_those_of_the_environment(&stage, &variables);
    a_process_begins_as_the_session_stands(&stage, &variables);
    a_process_is_written_to(&stage, &variables);
    a_program_calls_tools_from_there(&stage, &variables);
    assert_eq!(std::fs::read_to_string(sshd.home().join("w ü/deep/notes.txt")).unwrap(), "alpha\ngamma\n");
    let run = stage.run(&["chat", "--provider", "offline", "--continue", "-q", "run: pwd"]);
    assert!(run.exit != 0 && run.err.contains("run in `ssh`, and `local` is configured"), "{run:?}");
    assert!(run.err.contains("HERM_TERMINAL_BACKEND=ssh herm chat --resume"), "{run:?}");
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
