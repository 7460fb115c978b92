//! Users and groups in the user namespace: each keeps its number.

use rustix::io::Errno;

use crate::error::{Failed, While};

/// Maps the own user and the own group, which needs no privilege.
pub(super) fn map_own(uid: u32, gid: u32) -> Result<(), Failed> {
    // A user may map a group only after giving up setgroups(2).
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("{uid} {uid} 1"))?;
    write("/proc/self/gid_map", &format!("{gid} {gid} 1"))
}

fn write(path: &str, text: &str) -> Result<(), Failed> {
    std::fs::write(path, text).doing(format_args!("writing \"{text}\" to {path}"))
}

/// Returns what can be done where no user namespace may be entered.
pub(super) fn advice(errno: Errno) -> String {
    let what = match errno {
        Errno::PERM | Errno::ACCESS => {
            "allow them (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; \
             in a container: --security-opt seccomp=unconfined)"
        }
        Errno::NOSPC | Errno::USERS => "allow more of them (sysctl user.max_user_namespaces)",
        _ => "the kernel needs CONFIG_USER_NS, CONFIG_PID_NS and CONFIG_IPC_NS",
    };
    format!("no user namespace can be entered: {errno}; {what}")
}
