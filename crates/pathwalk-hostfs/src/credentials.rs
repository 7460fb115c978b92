//! Whose rights this process has, for a context that walks as the process itself would.

use pathwalk::permission::{Ids, OVERFLOW_ID};
use pathwalk::{Capabilities, Credentials, Errno};
use rustix::process::{getegid, geteuid, getgid, getgroups, getuid};
use rustix::thread::{CapabilitySet, capabilities};

use crate::open_file::host;

/// Returns whose rights the calling thread has: real and effective ids, supplementary groups, and
/// of the permitted and effective capabilities those that the engine looks at. Changes that come
/// later are not noticed.
///
/// [`OVERFLOW_ID`] is left out of the groups: in a user namespace everything that belongs to an
/// unmapped group seems to belong to it, mostly wrongly.
///
/// Errors are those of `getgroups(2)` and `capget(2)`, which fail only where they are not allowed,
/// as by a seccomp filter. Cost: 7 system calls. Source: `credentials(7)`.
///
/// ```
/// use pathwalk::Vfs;
/// use pathwalk_hostfs::{HostFs, credentials};
///
/// let vfs = Vfs::builder().build(HostFs::open("/".as_ref())?)?;
/// assert!(vfs.context(credentials()?).stat("/")?.is_dir());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn credentials() -> Result<Credentials, Errno> {
    let groups = getgroups().map_err(host)?;
    let groups: Vec<u32> = groups.iter().map(|gid| gid.as_raw()).filter(|gid| *gid != OVERFLOW_ID).collect();
    let sets = capabilities(None).map_err(host)?;
    Ok(Credentials::user(geteuid().as_raw(), getegid().as_raw(), &groups)
        .with_real(Ids { uid: getuid().as_raw(), gid: getgid().as_raw() })
        .with_capability_sets(known(sets.permitted), known(sets.effective)))
}

/// Returns those that the engine looks at.
fn known(set: CapabilitySet) -> Capabilities {
    let pairs = [
        (CapabilitySet::DAC_OVERRIDE, Capabilities::DAC_OVERRIDE),
        (CapabilitySet::DAC_READ_SEARCH, Capabilities::DAC_READ_SEARCH),
        (CapabilitySet::FOWNER, Capabilities::FOWNER),
        (CapabilitySet::CHOWN, Capabilities::CHOWN),
        (CapabilitySet::FSETID, Capabilities::FSETID),
        (CapabilitySet::MKNOD, Capabilities::MKNOD),
        (CapabilitySet::SYS_ADMIN, Capabilities::SYS_ADMIN),
        (CapabilitySet::SETFCAP, Capabilities::SETFCAP),
        (CapabilitySet::LINUX_IMMUTABLE, Capabilities::LINUX_IMMUTABLE),
        (CapabilitySet::LEASE, Capabilities::LEASE),
    ];
    pairs.iter().filter(|(theirs, _)| set.contains(*theirs)).map(|(_, ours)| *ours).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_taken_over_one_by_one() {
        assert_eq!(known(CapabilitySet::all()), Capabilities::all());
        assert_eq!(known(CapabilitySet::DAC_READ_SEARCH | CapabilitySet::SYS_CHROOT), Capabilities::DAC_READ_SEARCH);
        assert_eq!(known(CapabilitySet::empty()), Capabilities::empty());
    }
}
