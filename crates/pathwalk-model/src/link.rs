//! The call `linkat`.
//!
//! Source: `do_linkat`, `may_linkat`, `safe_hardlink_source`, `vfs_link`, `shmem_link` of Linux.

use crate::create::Making;
use crate::errno::{Errno, Result};
use crate::flags::{Access, AtFlags};
use crate::node::{Body, Id, Tmpfile};
use crate::permission::{GROUP_EXECUTE, SGID, SUID, may_create, owner_or_capable, permission};
use crate::process::Process;
use crate::walk::{Empty, Follow};
use crate::{Call, Model};

impl Model {
    /// Gives another name to a node that is not a directory, as `linkat` does. Flags:
    /// `SYMLINK_FOLLOW`, `EMPTY_PATH`.
    pub fn link(
        &self,
        process: &mut Process,
        old_at: i32,
        old_path: &[u8],
        new_at: i32,
        new_path: &[u8],
        flags: AtFlags,
    ) -> Result<()> {
        let mut call = self.call(process);
        if !(AtFlags::SYMLINK_FOLLOW | AtFlags::EMPTY_PATH).contains(flags) {
            return Err(Errno::EINVAL);
        }
        let follow = Follow::unless(!flags.contains(AtFlags::SYMLINK_FOLLOW));
        let empty = if flags.contains(AtFlags::EMPTY_PATH) { Empty::StartOfLinkat } else { Empty::Refused };
        let source = call.lookup(old_at, old_path, follow, empty)?;
        let (directory, name) = call.free_name(new_at, new_path, Making::Other)?;
        call.may_link(source)?;
        may_create(&call.state, call.who(), directory)?;
        call.state.node(source).may_be_set()?;
        call.link(source)?;
        call.state.set_name(directory, &name, source);
        Ok(())
    }
}

impl Call<'_> {
    /// Checks `protected_hardlinks`: another user's file can be linked only if the caller could
    /// copy it and it is not set-id.
    fn may_link(&self, source: Id) -> Result<()> {
        let node = self.state.node(source);
        let trap = node.mode & SUID != 0 || node.mode & (SGID | GROUP_EXECUTE) == SGID | GROUP_EXECUTE;
        let safe = node.is_file() && !trap && permission(node, self.who(), Access::READ | Access::WRITE).is_ok();
        if safe || !self.options.protected_hardlinks || owner_or_capable(node, self.who()) { Ok(()) } else { Err(Errno::EPERM) }
    }

    /// Counts one more name: `ENOSPC`.
    fn link(&mut self, source: Id) -> Result<()> {
        let room = self.room_for_node();
        let node = self.state.node_mut(source);
        let linkable = matches!(node.body, Body::File { tmpfile: Tmpfile::Linkable, .. });
        let links = node.links_mut().ok_or(Errno::EPERM)?;
        match *links {
            0 if !linkable => return Err(Errno::ENOENT),
            // The first name was counted when the node was made.
            0 => {}
            _ => room?,
        }
        *links += 1;
        if let Body::File { tmpfile, .. } = &mut node.body {
            *tmpfile = Tmpfile::No;
        }
        Ok(())
    }
}
