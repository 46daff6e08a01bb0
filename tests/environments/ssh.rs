//! The ssh backend over a real OpenSSH server.

use std::fs;

use herm::environments::VariablePolicy;
use herm::environments::ssh::{Ssh, SshSettings};

use super::sshd::Sshd;
use super::*;

fn ssh(settings: SshSettings, scratch: &Scratch) -> Ssh {
    let home = scratch.made("home");
    let folder = home.join("sandboxes/ssh");
    Ssh::new(settings, VariablePolicy::default(), &home, folder).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_machine_keeps_the_contract_over_one_connection() {
    let Some(sshd) = Sshd::start() else { return };
    let scratch = Scratch::new();
    let ssh = ssh(sshd.settings(), &scratch);
    let folder = sshd.scratch.made("there/work");
    keeps_the_contract(&ssh, &scratch, text(&folder)).await;
    assert_eq!(sshd.logins(), 1);
    ssh.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_begins_in_the_home_there_and_sees_none_of_our_variables() {
    let Some(sshd) = Sshd::start() else { return };
    let scratch = Scratch::new();
    let ssh = ssh(sshd.settings(), &scratch);
    let (outcome, text) = scratch.run(&ssh, "pwd; echo [$CARGO_MANIFEST_DIR]").await;
    assert_eq!(text, format!("{}\n[]\n", sshd.home().display()));
    assert_eq!(outcome.notices, Vec::<String>::new());
    ssh.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_reached_is_nobodys_fault_and_says_what_ssh_said() {
    let Some(mut sshd) = Sshd::start() else { return };
    let scratch = Scratch::new();
    let unknown = SshSettings {
        options: vec!["UserKnownHostsFile=/dev/null".into(), "StrictHostKeyChecking=yes".into()],
        ..sshd.settings()
    };
    let stranger = SshSettings { key: Some(sshd.scratch.path("host_key")), ..sshd.settings() };
    for (settings, reason) in [(unknown, "Host key verification failed"), (stranger, "Permission denied")] {
        let error = refused(&ssh(settings, &scratch), &scratch).await;
        assert!(error.may_pass() && error.to_string().contains(reason), "{error}");
    }
    sshd.down();
    let ssh = ssh(sshd.settings(), &scratch);
    let error = refused(&ssh, &scratch).await;
    assert!(error.to_string().contains("Connection refused"), "{error}");
    assert!(error.to_string().contains("not the command's fault"), "{error}");
    // It comes back, and so does the environment.
    sshd.up();
    assert_eq!(scratch.run(&ssh, "echo again").await.1, "again\n");
    ssh.close().await.unwrap();
}

async fn refused(environment: &dyn Environment, scratch: &Scratch) -> Error {
    let execution = scratch.execution("s", "echo ran");
    environment.execute(&execution, &Default::default()).await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_leaves_the_outcome_open() {
    let Some(mut sshd) = Sshd::start() else { return };
    let scratch = Scratch::new();
    let ssh = ssh(sshd.settings(), &scratch);
    let execution = scratch.execution("s", "echo begun; sleep 300");
    let output = execution.spool.join("output");
    let breaking = async {
        while fs::read_to_string(&output).unwrap_or_default().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        sshd.down();
    };
    let cancel = Default::default();
    let (outcome, ()) = tokio::join!(ssh.execute(&execution, &cancel), breaking);
    let outcome = outcome.unwrap();
    assert_eq!(outcome.ending, Ending::Lost);
    assert!(
        outcome.notices.join(" ").contains("connection to the environment was lost"),
        "{:?}",
        outcome.notices
    );
    assert_eq!(ssh.recover(&execution.spool, &cancel).await, Recovery::Unknown);
}

#[tokio::test(flavor = "multi_thread")]
async fn runtime_files_go_over_by_content_and_come_back_without_credentials() {
    let Some(sshd) = Sshd::start() else { return };
    let scratch = Scratch::new();
    let home = scratch.made("home");
    for (name, content) in [
        ("skills/a b/one.md", "one"),
        ("skills/two.md", "two"),
        ("cache/c", "c"),
        ("google/token.json", "secret"),
        ("other", "stays"),
    ] {
        fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
        fs::write(home.join(name), content).unwrap();
    }
    let settings = SshSettings { credentials: vec!["google/token.json".into()], ..sshd.settings() };
    let first = ssh(settings.clone(), &scratch);
    let there = |name: &str| fs::read_to_string(sshd.home().join(".herm").join(name)).ok();
    let run = async |ssh: &Ssh, line: &str| scratch.run(ssh, line).await.1;
    assert_eq!(run(&first, "cat ~/.herm/skills/a\\ b/one.md ~/.herm/google/token.json").await, "onesecret");
    assert_eq!((there("skills/two.md").as_deref(), there("other")), (Some("two"), None));
    // Not looked at again at once.
    fs::write(home.join("skills/two.md"), "changed").unwrap();
    assert_eq!(run(&first, "cat ~/.herm/skills/two.md").await, "two");
    // Changed there, made there, and a credential that is not to come back.
    run(&first, "cd ~/.herm; echo better > skills/a\\ b/one.md; mkdir -p skills/new; echo new > skills/new/x.md; echo stolen > google/token.json; ln -s /etc/passwd skills/link; echo out > ../out").await;
    first.close().await.unwrap();
    let here = |name: &str| fs::read_to_string(home.join(name)).ok();
    assert_eq!(here("skills/a b/one.md").as_deref(), Some("better\n"));
    assert_eq!(here("skills/new/x.md").as_deref(), Some("new\n"));
    assert_eq!(here("google/token.json").as_deref(), Some("secret"));
    assert_eq!(
        (here("skills/two.md").as_deref(), here("skills/link"), here("out")),
        (Some("changed"), None, None)
    );
    // The next herm brings what changed, and takes away what is gone.
    fs::remove_file(home.join("cache/c")).unwrap();
    let second = ssh(settings.clone(), &scratch);
    assert_eq!(run(&second, "cat ~/.herm/skills/two.md; ls ~/.herm/cache").await, "changed");
    assert_eq!(
        there("google/token.json").as_deref(),
        Some("stolen\n"),
        "what did not change here is not sent again"
    );
    second.close().await.unwrap();
    // Over there everything is lost: all of it is brought again.
    fs::remove_dir_all(sshd.home().join(".herm")).unwrap();
    let third = ssh(settings, &scratch);
    assert_eq!(
        run(&third, "cat ~/.herm/skills/two.md ~/.herm/google/token.json; ls -a ~/.herm").await,
        "changedsecret.\n..\n.synced\ncache\ngoogle\nshell\nskills\n".replace("cache\n", "")
    );
    third.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_cannot_be_put_in_place_change_nothing_and_run_nothing() {
    let Some(sshd) = Sshd::start() else { return };
    let scratch = Scratch::new();
    let home = scratch.made("home/skills");
    fs::write(home.join("a.md"), "one").unwrap();
    // A file is in the way of the folder.
    fs::write(sshd.home().join(".herm"), "in the way").unwrap();
    let ssh = ssh(sshd.settings(), &scratch);
    let error = refused(&ssh, &scratch).await;
    assert!(error.to_string().contains("cannot be brought over"), "{error}");
    fs::remove_file(sshd.home().join(".herm")).unwrap();
    assert_eq!(scratch.run(&ssh, "cat ~/.herm/skills/a.md").await.1, "one");
    ssh.close().await.unwrap();
}
