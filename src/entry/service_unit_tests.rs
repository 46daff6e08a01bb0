use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use super::*;

fn unit<'a>(program: &'a str, home: &'a str) -> Unit<'a> {
    Unit { program: Path::new(program), home: Path::new(home), drain: Duration::from_secs(60) }
}

#[test]
fn a_person_s_unit_starts_the_gateway_and_gives_it_time_to_finish() {
    let text = systemd_user(&unit("/usr/bin/herm", "/home/ann/.herm")).unwrap();
    for line in [
        "Type=notify",
        "Environment=\"HERM_HOME=/home/ann/.herm\"",
        "ExecStart=\"/usr/bin/herm\" gateway run",
        "Restart=on-failure",
        "RestartPreventExitStatus=78",
        "TimeoutStopSec=70",
        "WantedBy=default.target",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(!text.contains("User=") && !text.contains("network-online"), "{text}");
}

#[test]
fn the_machine_s_unit_names_its_user() {
    let text = systemd_system(&unit("/usr/bin/herm", "/var/lib/herm"), "herm").unwrap();
    assert!(text.contains("\nUser=herm\n") && text.contains("WantedBy=multi-user.target"), "{text}");
    for user in ["", "a b", "ann\nExecStartPre=/bin/evil", "-x", "ann%i"] {
        let refused = systemd_system(&unit("/usr/bin/herm", "/h"), user);
        assert_eq!(refused, Err(Error::BadUser { user: user.into() }));
    }
}

#[test]
fn what_means_something_to_systemd_is_written_so_that_it_does_not() {
    let text = systemd_user(&unit("/opt/my herm/100%/$x", r#"/home/ann b/50%$"\"#)).unwrap();
    assert!(text.contains(r#"ExecStart="/opt/my herm/100%%/$x" gateway run"#), "{text}");
    assert!(text.contains(r#"Environment="HERM_HOME=/home/ann b/50%%$\"\\""#), "{text}");
    for program in ["/opt/a\"b", "/opt/a'b", "/opt/a\\b"] {
        let refused = systemd_user(&unit(program, "/h"));
        assert_eq!(refused, Err(Error::Quoted { path: program.into() }));
    }
}

#[test]
fn a_path_that_would_begin_a_line_of_its_own_is_refused() {
    let evil = "/opt/herm\nExecStartPre=/bin/evil";
    assert_eq!(systemd_user(&unit(evil, "/h")), Err(Error::Unwritable { path: evil.into() }));
    assert_eq!(systemd_user(&unit("herm", "/h")), Err(Error::Relative { path: "herm".into() }));
    let odd = Path::new(std::ffi::OsStr::from_bytes(b"/opt/\xff"));
    let odd = Unit { program: odd, ..unit("/x", "/h") };
    assert!(matches!(systemd_user(&odd), Err(Error::Unwritable { .. })));
    assert!(matches!(launchd(&odd, Path::new("/l")), Err(Error::Unwritable { .. })));
}

#[test]
fn the_property_list_is_xml_whatever_the_paths_are() {
    let text =
        launchd(&unit("/Apps/<herm> & co", "/Users/ann/.herm"), Path::new("/Users/ann/herm.log")).unwrap();
    assert!(text.contains("<string>/Apps/&lt;herm&gt; &amp; co</string>"), "{text}");
    assert!(text.contains("<key>ExitTimeOut</key>\n  <integer>70</integer>"), "{text}");
    assert!(text.contains("<key>HERM_HOME</key>\n    <string>/Users/ann/.herm</string>"), "{text}");
    assert_eq!(text.matches("<dict>").count(), text.matches("</dict>").count());
}

/// systemd itself reads the units; paths with spaces and with signs of its own among them.
#[test]
fn systemd_finds_nothing_wrong_with_the_units() {
    let Ok(version) = Command::new("systemd-analyze").arg("--version").output() else {
        println!("skipped: there is no systemd-analyze");
        return;
    };
    assert!(version.status.success());
    let scratch = tempfile::Builder::new().prefix("my herm 100%").tempdir().unwrap();
    let program = scratch.path().join("he$rm ${HOME};");
    std::fs::copy("/bin/true", &program).unwrap();
    let given = Unit { program: &program, home: scratch.path(), drain: Duration::from_secs(60) };
    for (folder, mode, text) in [
        ("user", "--user", systemd_user(&given).unwrap()),
        ("system", "--system", systemd_system(&given, "root").unwrap()),
    ] {
        let folder = scratch.path().join(folder);
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join(UNIT_NAME);
        std::fs::write(&file, &text).unwrap();
        let checked = Command::new("systemd-analyze")
            .args([mode, "verify", "--man=no", "--recursive-errors=no"])
            .arg(&file)
            .env("XDG_RUNTIME_DIR", scratch.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&checked.stderr);
        let about_it: Vec<&str> = said.lines().filter(|line| line.contains(UNIT_NAME)).collect();
        assert!(checked.status.success() && about_it.is_empty(), "{mode}: {said}\n{text}");
    }
}
