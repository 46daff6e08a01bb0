//! Has the system keep the gateway running: writes its unit, and tells the system of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::service_unit::{self, LAUNCHD_LABEL, UNIT_NAME, Unit};
use super::{Exit, Failure, Out, Start, gateway};
use crate::gateway::control::Request;

/// How long a gateway in the background has to be there.
const READY_TIME_MAX: std::time::Duration = std::time::Duration::from_secs(15);

/// Writes the unit and switches it on.
///
/// # Errors
/// It cannot be written, or the system does not take it.
pub fn install(
    start: &Start,
    (system, user): (bool, Option<&str>),
    dry_run: bool,
    out: &mut Out,
) -> Result<(), Failure> {
    let loaded = start.load(&[])?;
    let program = std::env::current_exe()?;
    let unit =
        Unit { program: &program, home: start.home.root(), drain: loaded.config.gateway.drain_timeout };
    let user = user.map(str::to_owned).or_else(|| std::env::var("SUDO_USER").ok());
    let text = match (system, cfg!(target_os = "macos")) {
        (true, _) => {
            let user = user.ok_or_else(|| {
                Failure::message(Exit::Usage, "who is it to run as?")
                    .hint("herm gateway install --system --user NAME")
            })?;
            service_unit::systemd_system(&unit, &user)
        }
        (false, true) => service_unit::launchd(&unit, &start.home.diagnostics_dir().join("gateway.log")),
        (false, false) => service_unit::systemd_user(&unit),
    };
    let text = text.map_err(|error| Failure::new(Exit::Usage, error))?;
    let path = unit_path(system)?;
    if dry_run {
        out.line(&format!("# {}", path.display()))?;
        return Ok(out.line(text.trim_end())?);
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    crate::config::write_atomically(&path, &text)?;
    out.line(&format!("written: {}", path.display()))?;
    for line in switch_on(system, &path) {
        run(&line)?;
        out.line(&format!("done: {}", line.join(" ")))?;
    }
    Ok(())
}

/// Switches the unit off and removes it.
///
/// # Errors
/// There is none, or it cannot be removed.
pub fn uninstall(system: bool, out: &mut Out) -> Result<(), Failure> {
    let path = unit_path(system)?;
    if !path.exists() {
        return Err(Failure::message(Exit::Failed, format!("`{}` is not there", path.display())));
    }
    for line in switch_off(system, &path) {
        // One that does not run cannot be stopped, and is to go all the same.
        if let Err(failure) = run(&line) {
            out.line(&format!("not done: {}: {}", line.join(" "), failure.error))?;
        }
    }
    std::fs::remove_file(&path)?;
    Ok(out.line(&format!("removed: {}", path.display()))?)
}

/// Starts the gateway in the background.
///
/// # Errors
/// One runs already, or it does not start.
pub fn start(start: &Start, out: &mut Out) -> Result<(), Failure> {
    if gateway::ask(start, &Request::Status)?.is_some() {
        return Err(Failure::message(Exit::Failed, "it runs already").hint("herm gateway status"));
    }
    if let Some(line) = [false, true].into_iter().find_map(start_line) {
        run(&line)?;
    } else {
        in_the_background(start)?;
    }
    let deadline = std::time::Instant::now() + READY_TIME_MAX;
    while gateway::ask(start, &Request::Status).ok().flatten().is_none() {
        if std::time::Instant::now() >= deadline {
            let message = "it did not come up";
            return Err(Failure::message(Exit::Failed, message).hint("herm gateway run"));
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    Ok(out.line("it runs; herm gateway status shows how")?)
}

/// A process of its own, which outlives this terminal; what it says goes to a file.
fn in_the_background(start: &Start) -> Result<(), Failure> {
    use std::os::unix::process::CommandExt;
    start.home.create()?;
    let folder = start.home.diagnostics_dir();
    std::fs::create_dir_all(&folder)?;
    let log = std::fs::OpenOptions::new().create(true).append(true).open(folder.join("gateway.log"))?;
    Command::new(std::env::current_exe()?)
        .arg("--home")
        .arg(start.home.root())
        .args(["gateway", "run"])
        .stdin(std::process::Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .process_group(0)
        .spawn()?;
    Ok(())
}

fn unit_path(system: bool) -> Result<PathBuf, Failure> {
    if system {
        return Ok(Path::new("/etc/systemd/system").join(UNIT_NAME));
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let home = home.ok_or_else(|| Failure::message(Exit::Usage, "`HOME` is not set"))?;
    Ok(match cfg!(target_os = "macos") {
        true => home.join("Library/LaunchAgents").join(format!("{LAUNCHD_LABEL}.plist")),
        false => home.join(".config/systemd/user").join(UNIT_NAME),
    })
}

fn words(line: &[&str]) -> Vec<String> {
    line.iter().map(|word| (*word).to_owned()).collect()
}

fn systemctl(system: bool, rest: &[&str]) -> Vec<String> {
    let mut line = vec!["systemctl"];
    if !system {
        line.push("--user");
    }
    line.extend(rest);
    words(&line)
}

fn switch_on(system: bool, path: &Path) -> Vec<Vec<String>> {
    if cfg!(target_os = "macos") && !system {
        return vec![words(&["launchctl", "load", "-w", &path.to_string_lossy()])];
    }
    vec![systemctl(system, &["daemon-reload"]), systemctl(system, &["enable", UNIT_NAME])]
}

fn switch_off(system: bool, path: &Path) -> Vec<Vec<String>> {
    if cfg!(target_os = "macos") && !system {
        return vec![words(&["launchctl", "unload", "-w", &path.to_string_lossy()])];
    }
    vec![systemctl(system, &["disable", "--now", UNIT_NAME])]
}

/// How an installed unit is started; `None` if there is none.
fn start_line(system: bool) -> Option<Vec<String>> {
    if !unit_path(system).ok()?.exists() {
        return None;
    }
    Some(match cfg!(target_os = "macos") && !system {
        true => words(&["launchctl", "start", LAUNCHD_LABEL]),
        false => systemctl(system, &["start", UNIT_NAME]),
    })
}

fn run(line: &[String]) -> Result<(), Failure> {
    let (program, arguments) =
        line.split_first().ok_or_else(|| Failure::message(Exit::Failed, "nothing to run"))?;
    let failed = |why: String| Failure::message(Exit::Failed, format!("`{}`: {why}", line.join(" ")));
    let output = Command::new(program).args(arguments).output().map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}
