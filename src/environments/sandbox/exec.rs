//! `herm sandbox-exec`: gives up rights, then becomes the program that it was started for.
//!
//! What it has to say goes to its standard error, the report of the spool: whether the program is
//! held in, or why nothing was run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, path_beneath_rules,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::Policy;
use crate::environments::shell::NOTHING_RUN;

/// Rights to files that are taken away. Device controls (V5) stay: graphics cards need them.
const FILES: ABI = ABI::V3;
/// Rights to the network that are taken away.
const NETWORK: ABI = ABI::V4;

/// What only somebody who administers the machine asks of the kernel; Landlock does not cover it.
const ADMINISTRATION: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_bpf,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_load,
    libc::SYS_mount,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_pivot_root,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_umount2,
];

/// Kinds of sockets that stay where the network is taken away: those of this machine.
const LOCAL_SOCKETS: &[i32] = &[libc::AF_UNIX, libc::AF_NETLINK];

/// What this kernel can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Support {
    /// With the version of Landlock's interface.
    Yes {
        abi: i32,
    },
    No {
        why: String,
    },
}

/// Finds out by trying, in a thread that ends with it.
pub fn support() -> Support {
    let tried = std::thread::spawn(|| files(&["/".into()], true)).join();
    match tried {
        Ok(Ok(abi)) => Support::Yes { abi },
        Ok(Err(why)) => Support::No { why },
        Err(_) => Support::No { why: "it cannot be tried".into() },
    }
}

/// Takes rights away and becomes `program`. Comes back only if that failed.
pub fn exec(policy: &str, program: &[OsString]) -> ExitCode {
    let refused = |why: &str| {
        say(&format!("refused {why}"));
        ExitCode::from(u8::try_from(NOTHING_RUN).unwrap_or(1))
    };
    let policy: Policy = match serde_json::from_str(policy) {
        Ok(policy) => policy,
        Err(error) => return refused(&format!("the sandbox policy cannot be read: {error}")),
    };
    let Some((name, arguments)) = program.split_first() else {
        return refused("no program is named");
    };
    match restrict(&policy) {
        Ok(()) => say("sandboxed"),
        Err(why) if policy.require => {
            return refused(&format!("`terminal.sandbox.mode` is `require`, and {why}"));
        }
        Err(why) => say(&format!("unsandboxed {why}")),
    }
    let error = Command::new(name).args(arguments).exec();
    refused(&format!("`{}` cannot be started: {error}", name.display()))
}

fn say(line: &str) {
    // Whoever reads it sees the same from a report that stays empty.
    let _ = writeln!(std::io::stderr(), "herm:{}", line.replace('\n', " "));
}

fn restrict(policy: &Policy) -> Result<(), String> {
    files(&policy.writable, policy.network)?;
    let filter = filter(policy.network).map_err(|error| format!("no system call filter: {error}"))?;
    seccompiler::apply_filter(&filter).map_err(|error| format!("no system call filter: {error}"))
}

/// Takes away writing outside of `writable`, and connections where `network` is not allowed. The version
/// of Landlock that does it.
fn files(writable: &[PathBuf], network: bool) -> Result<i32, String> {
    let status = landlock(writable, network).map_err(|error| format!("Landlock failed: {error}"))?;
    let LandlockStatus::Available { effective_abi, .. } = status.landlock else {
        let why = match status.landlock {
            LandlockStatus::NotEnabled => {
                "Landlock is not enabled in this kernel (boot with `lsm=landlock,…`)"
            }
            _ => "this kernel has no Landlock (Linux 5.13 and later have it)",
        };
        return Err(why.into());
    };
    match status.ruleset {
        RulesetStatus::NotEnforced => Err("Landlock took nothing away".into()),
        _ => Ok(effective_abi as i32),
    }
}

fn landlock(writable: &[PathBuf], network: bool) -> Result<landlock::RestrictionStatus, RulesetError> {
    let all = AccessFs::from_all(FILES);
    let mut ruleset = Ruleset::default().handle_access(all)?;
    if !network {
        ruleset = ruleset.handle_access(AccessNet::from_all(NETWORK))?;
    }
    ruleset
        .create()?
        .add_rules(path_beneath_rules(["/"], AccessFs::from_read(FILES)))?
        .add_rules(path_beneath_rules(writable, all))?
        .add_rules(path_beneath_rules(devices(), all))?
        .restrict_self()
}

/// Devices that programs write to: all that are not memory or disks.
fn devices() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    let usual = entries.filter(|entry| {
        let name = entry.file_name();
        let is_memory = ["mem", "kmem", "port", "mapper"].iter().any(|memory| name == *memory);
        let of_programs = ["pts", "shm", "mqueue", "dri", "snd"].iter().any(|folder| name == *folder);
        of_programs || !is_memory && entry.file_type().is_ok_and(|kind| kind.is_char_device())
    });
    usual.map(|entry| entry.path()).collect()
}

fn filter(network: bool) -> Result<BpfProgram, seccompiler::Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ADMINISTRATION.iter().map(|call| (*call, vec![])).collect();
    if !network {
        rules.insert(libc::SYS_socket, vec![SeccompRule::new(not_local()?)?]);
        // Its ring opens sockets without the call that is looked at.
        rules.insert(libc::SYS_io_uring_setup, vec![]);
    }
    let denied = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let arch = std::env::consts::ARCH.try_into().map_err(seccompiler::Error::Backend)?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, arch);
    filter.and_then(TryInto::try_into).map_err(seccompiler::Error::Backend)
}

fn not_local() -> Result<Vec<SeccompCondition>, seccompiler::Error> {
    let other = |family: &i32| {
        let family = u64::from(family.unsigned_abs());
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
    };
    LOCAL_SOCKETS.iter().map(other).collect::<Result<_, _>>().map_err(seccompiler::Error::Backend)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_out_by_trying_leaves_this_process_as_it_was() {
        let scratch = tempfile::tempdir().unwrap();
        let found = support();
        std::fs::write(scratch.path().join("still"), "").unwrap();
        match found {
            Support::Yes { abi } => assert!(abi >= 1),
            Support::No { why } => assert!(!why.is_empty()),
        }
    }

    #[test]
    fn the_filter_is_a_program_for_this_machine() {
        assert!(filter(false).unwrap().len() > filter(true).unwrap().len());
    }

    #[test]
    fn disks_and_memory_are_no_devices_of_programs() {
        let devices = devices();
        assert!(devices.contains(&"/dev/null".into()));
        assert!(!devices.contains(&"/dev/mem".into()) && !devices.contains(&"/dev".into()));
    }
}
