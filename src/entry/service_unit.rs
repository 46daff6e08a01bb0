//! The texts by which a system keeps `herm gateway run` running: a unit of systemd, for a person or for
//! the machine, and a property list of launchd. PURE: nothing is written and nothing is run here.
//!
//! Sources: systemd.unit(5), systemd.service(5) and systemd.syntax(7) of systemd 252; launchd.plist(5)
//! of macOS 14.

use std::path::Path;
use std::time::Duration;

use super::Exit;

/// How much longer than the gateway takes to finish what it can the system waits before it kills.
const KILL_AFTER_DRAIN: Duration = Duration::from_secs(10);
/// How long the system waits before it starts a gateway that failed again, in seconds.
const RESTART_AFTER_SECONDS: u32 = 5;
/// What launchd knows it by.
pub const LAUNCHD_LABEL: &str = "org.herm.gateway";
/// The name of the unit's file.
pub const UNIT_NAME: &str = "herm-gateway.service";

/// What is to be kept running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit<'a> {
    /// The binary, absolute.
    pub program: &'a Path,
    /// `HERM_HOME`, absolute.
    pub home: &'a Path,
    /// How long the gateway may take to finish what it can.
    pub drain: Duration,
}

/// Why no unit can be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("`{path}` is not an absolute path")]
    Relative { path: String },
    #[error("the path `{path}` is no UTF-8 text, or holds a control character")]
    Unwritable { path: String },
    #[error("systemd runs no program whose path holds a quote or a backslash, as `{path}` does")]
    Quoted { path: String },
    #[error("`{user}` is not the name of a user")]
    BadUser { user: String },
}

/// A unit for a person's own systemd, `~/.config/systemd/user/`. It is started at login, or with the
/// machine where `loginctl enable-linger` was run.
///
/// # Errors
/// A path that cannot stand in a unit.
pub fn systemd_user(unit: &Unit<'_>) -> Result<String, Error> {
    systemd(unit, &Manager { after: "", who: "", wanted_by: "default.target" })
}

/// A unit for the machine, `/etc/systemd/system/`, that runs as `user`.
///
/// # Errors
/// A path or a name that cannot stand in a unit.
pub fn systemd_system(unit: &Unit<'_>, user: &str) -> Result<String, Error> {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
    let fits = user.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') && user.chars().all(letters);
    if !fits {
        return Err(Error::BadUser { user: user.to_owned() });
    }
    // A person's own manager knows no such target.
    let after = "Wants=network-online.target\nAfter=network-online.target\n";
    systemd(unit, &Manager { after, who: &format!("User={user}\n"), wanted_by: "multi-user.target" })
}

/// What differs between a person's manager and the machine's; whole lines, or nothing.
struct Manager<'a> {
    after: &'a str,
    who: &'a str,
    wanted_by: &'a str,
}

fn systemd(unit: &Unit<'_>, manager: &Manager<'_>) -> Result<String, Error> {
    let Manager { after, who, wanted_by } = manager;
    // Another start would find the same wrong configuration.
    let never = Exit::Config as u8;
    let (program, home) = (text(unit.program)?, text(unit.home)?);
    // systemd runs no program with one of these in its path, however it is quoted.
    if program.contains(['"', '\'', '\\']) {
        return Err(Error::Quoted { path: program.to_owned() });
    }
    let stop = (unit.drain + KILL_AFTER_DRAIN).as_secs();
    Ok(format!(
        "[Unit]\n\
         Description=herm gateway\n\
         Documentation=https://github.com/herm-agent/herm\n\
         {after}\
         \n\
         [Service]\n\
         Type=notify\n\
         NotifyAccess=main\n\
         {who}\
         Environment={}\n\
         ExecStart={} gateway run\n\
         Restart=on-failure\n\
         RestartSec={RESTART_AFTER_SECONDS}\n\
         RestartPreventExitStatus={never}\n\
         TimeoutStopSec={stop}\n\
         KillMode=mixed\n\
         \n\
         [Install]\n\
         WantedBy={wanted_by}\n",
        quoted(&format!("HERM_HOME={home}")),
        quoted(program),
    ))
}

/// In double quotes, so that spaces belong to it; `%` begins a specifier. A `$` means nothing here:
/// systemd puts variables neither into the first word of a command line nor into `Environment`.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\"").replace('%', "%%"))
}

/// A property list for `~/Library/LaunchAgents/`. `log` is a file for what the gateway prints.
///
/// # Errors
/// A path that cannot stand in it.
pub fn launchd(unit: &Unit<'_>, log: &Path) -> Result<String, Error> {
    let (program, home, log) = (text(unit.program)?, text(unit.home)?, text(log)?);
    let (program, home, log) = (xml(program), xml(home), xml(log));
    let stop = (unit.drain + KILL_AFTER_DRAIN).as_secs();
    Ok(format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{LAUNCHD_LABEL}</string>
  <key>ProgramArguments</key>
  <array>
    <string>{program}</string>
    <string>gateway</string>
    <string>run</string>
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>HERM_HOME</key>
    <string>{home}</string>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>{RESTART_AFTER_SECONDS}</integer>
  <key>ExitTimeOut</key>
  <integer>{stop}</integer>
  <key>StandardOutPath</key>
  <string>{log}</string>
  <key>StandardErrorPath</key>
  <string>{log}</string>
</dict>
</plist>
"#
    ))
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A path as a text that fits on one line.
fn text(path: &Path) -> Result<&str, Error> {
    let shown = || path.display().to_string();
    if !path.is_absolute() {
        return Err(Error::Relative { path: shown() });
    }
    let text = path.to_str().filter(|text| !text.chars().any(char::is_control));
    text.ok_or_else(|| Error::Unwritable { path: shown() })
}

#[cfg(test)]
#[path = "service_unit_tests.rs"]
mod tests;
