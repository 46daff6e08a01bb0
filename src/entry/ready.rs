//! Tells the system that started this process how it is: started, reloading, stopping. One datagram
//! to the socket that `NOTIFY_SOCKET` names; nothing where nobody listens.
//!
//! Source: sd_notify(3) of systemd 252.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// What there is to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Messages are taken.
    Ready,
    /// No more are taken; what is running is finished.
    Stopping,
}

impl Phase {
    fn word(self) -> &'static str {
        match self {
            Self::Ready => "READY=1",
            Self::Stopping => "STOPPING=1",
        }
    }
}

/// Tells it to whoever `NOTIFY_SOCKET` names; whether anybody was named. `status` is a line for
/// `systemctl status`, empty for none.
///
/// # Errors
/// When the socket is not there or does not take it.
pub fn notify(socket: Option<&OsStr>, phase: Phase, status: &str) -> io::Result<bool> {
    let Some(socket) = socket.filter(|socket| !socket.is_empty()) else { return Ok(false) };
    let status: String = status.chars().filter(|c| !c.is_control()).collect();
    let message = match status.as_str() {
        "" => phase.word().to_owned(),
        status => format!("{}\nSTATUS={status}", phase.word()),
    };
    UnixDatagram::unbound()?.send_to_addr(message.as_bytes(), &address(socket)?)?;
    Ok(true)
}

/// A path, or with `@` a name without a file, which only Linux has.
fn address(socket: &OsStr) -> io::Result<SocketAddr> {
    match socket.as_bytes().strip_prefix(b"@") {
        #[cfg(target_os = "linux")]
        Some(name) => {
            use std::os::linux::net::SocketAddrExt;
            SocketAddr::from_abstract_name(name)
        }
        #[cfg(not(target_os = "linux"))]
        Some(_) => Err(io::ErrorKind::Unsupported.into()),
        None => SocketAddr::from_pathname(socket),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn heard(socket: &UnixDatagram) -> String {
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut buffer = [0; 256];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    #[test]
    fn whoever_listens_hears_it() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        assert!(notify(Some(path.as_os_str()), Phase::Ready, "2 platforms\nREADY=0").unwrap());
        assert_eq!(heard(&socket), "READY=1\nSTATUS=2 platformsREADY=0");
        assert!(notify(Some(path.as_os_str()), Phase::Stopping, "").unwrap());
        assert_eq!(heard(&socket), "STOPPING=1");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_socket_without_a_file_hears_it_too() {
        use std::os::linux::net::SocketAddrExt;
        let name = format!("herm-notify-{}", std::process::id());
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        assert!(notify(Some(OsStr::new(&format!("@{name}"))), Phase::Ready, "").unwrap());
        assert_eq!(heard(&socket), "READY=1");
    }

    #[test]
    fn nobody_listening_is_fine_and_a_missing_socket_is_not() {
        assert!(!notify(None, Phase::Ready, "").unwrap());
        assert!(!notify(Some(OsStr::new("")), Phase::Ready, "").unwrap());
        let scratch = tempfile::tempdir().unwrap();
        assert!(notify(Some(scratch.path().join("none").as_os_str()), Phase::Ready, "").is_err());
    }
}
