//! The user, group and capabilities as which this thread asks file systems while a node is made, or
//! a file is truncated.
//!
//! What always holds: the thread's ids and capabilities are as before when a guard is dropped,
//! also after a panic. Other threads are not affected.
//!
//! The kernel takes the capabilities that concern files from a thread whose user is not 0. The
//! engine has checked the rights already, so the thread gets them back for as long as the node is
//! made. It does without `CAP_SYS_RESOURCE` then: quotas and reserved blocks are those of the
//! owner. Source: `setfsuid(2)`, `capabilities(7)`.

use pathwalk::Errno;
use rustix::process::getgroups;
use rustix::thread::{CapabilitySet, CapabilitySets, Gid, capabilities, set_capabilities, set_thread_groups};

use crate::calls::{set_fs_group, set_fs_user};
use crate::open_file::host;

/// The number that changes no id.
const NO_ID: u32 = u32::MAX;

/// A guard: while it lives, nodes that this thread makes belong to another user or group.
pub(crate) struct As {
    before: Option<Before>,
}

struct Before {
    uid: u32,
    gid: u32,
    sets: CapabilitySets,
}

impl As {
    /// Becomes this user and group. `EPERM` if this process may not. (As its own user, it may give
    /// nodes to its own group and, after they are made, to its supplementary groups.)
    pub(crate) fn owner(uid: u32, gid: u32) -> Result<As, Errno> {
        let (own_uid, own_gid) = (set_fs_user(NO_ID), set_fs_group(NO_ID));
        if (own_uid, own_gid) == (uid, gid) {
            return Ok(As { before: None });
        }
        let sets = capabilities(None).map_err(host)?;
        let mut kept = sets;
        // The guard restores what was changed, whatever fails.
        let becoming = As { before: Some(Before { uid: own_uid, gid: own_gid, sets }) };
        set_fs_group(gid);
        if own_uid != uid {
            set_fs_user(uid);
            if set_fs_user(NO_ID) != uid {
                return Err(Errno::EPERM);
            }
            kept.effective.remove(CapabilitySet::SYS_RESOURCE);
            set_capabilities(None, kept).map_err(host)?;
        }
        Ok(becoming)
    }
}

impl Drop for As {
    fn drop(&mut self) {
        if let Some(Before { uid, gid, sets }) = &self.before {
            set_fs_user(*uid);
            set_fs_group(*gid);
            // What the thread had a moment ago, it may have again.
            let restored = set_capabilities(None, *sets);
            debug_assert_eq!(restored, Ok(()));
        }
    }
}

/// A guard: while it lives, what this thread writes and truncates loses its suid and sgid bits. The
/// kernel leaves them for `CAP_FSETID`, and sgid alone for a member of the file's group.
pub(crate) struct Clearing {
    sets: CapabilitySets,
    gid: u32,
    groups: Vec<Gid>,
}

/// Two groups, of which at most one is that of a file.
const STRANGERS: [u32; 2] = [65_534, 65_533];

impl Clearing {
    /// Begins to clear the bits of a file of this group.
    pub(crate) fn begin(of: u32) -> Result<Clearing, Errno> {
        let sets = capabilities(None).map_err(host)?;
        let groups = getgroups().map_err(host)?;
        let stranger = STRANGERS[usize::from(of == STRANGERS[0])];
        let clearing = Clearing { sets, gid: set_fs_group(stranger), groups };
        // A process that may not leave its groups is as good as its groups are.
        _ = set_thread_groups(&[]);
        let mut less = sets;
        less.effective.remove(CapabilitySet::FSETID);
        set_capabilities(None, less).map_err(host)?;
        Ok(clearing)
    }
}

impl Drop for Clearing {
    fn drop(&mut self) {
        let restored = set_capabilities(None, self.sets);
        debug_assert_eq!(restored, Ok(()));
        set_fs_group(self.gid);
        _ = set_thread_groups(&self.groups);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> (u32, u32, CapabilitySet) {
        (set_fs_user(NO_ID), set_fs_group(NO_ID), capabilities(None).unwrap().effective)
    }

    #[test]
    fn the_ids_come_back_after_a_panic_too() {
        let before = now();
        if !rustix::process::geteuid().is_root() {
            assert_eq!(As::owner(before.0 + 1, before.1).err(), Some(Errno::EPERM));
            assert_eq!(now(), before);
            return pathwalk_tests::skipped("the_ids_come_back_after_a_panic_too", "only root becomes another user");
        }
        let panics = std::panic::catch_unwind(|| {
            let _other = As::owner(1001, 1002).unwrap();
            let (uid, gid, caps) = now();
            assert_eq!((uid, gid), (1001, 1002));
            assert_eq!(caps | CapabilitySet::SYS_RESOURCE, before.2, "with all capabilities but one");
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(panics.is_err());
        assert_eq!(now(), before);
    }
}
