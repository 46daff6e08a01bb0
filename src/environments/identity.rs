//! Telling a process from a later one with the same number.
//!
//! Read from `/proc` (Linux, `proc(5)`). Elsewhere nothing is known, and recovery then relies on
//! exit statuses alone.

use std::fs;

/// A process, told apart from every other that this machine runs before its next restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    pub pid: i32,
    /// Clock ticks since the machine started.
    pub start_ticks: u64,
}

impl ProcessIdentity {
    /// Whether this very process is there and has not ended.
    pub fn is_alive(self) -> bool {
        start_ticks(self.pid) == Some(self.start_ticks)
    }
}

/// Names the current run of the machine.
pub fn boot_id() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let id = id.trim();
    (!id.is_empty()).then(|| id.to_owned())
}

/// When a process started; `None` if there is none, or it is dead and only not yet collected.
fn start_ticks(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses and may itself contain both.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    // `fields` now begins with the fourth field, and the start time is the twenty-second.
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_its_number_with_another_start_is_not() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let start = start_ticks(pid).unwrap();
        assert!(ProcessIdentity { pid, start_ticks: start }.is_alive());
        assert!(!ProcessIdentity { pid, start_ticks: start + 1 }.is_alive());
    }
}
