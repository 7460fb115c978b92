//! The calls `unlink` and `rmdir`.
//!
//! Source: `do_unlinkat`, `do_rmdir`, `vfs_unlink`, `vfs_rmdir`, `shmem_rmdir` of Linux.

use crate::errno::{Errno, Result};
use crate::node::Id;
use crate::permission::{Victim, may_delete};
use crate::process::Process;
use crate::walk::{Last, Parent, child};
use crate::{Call, Model};

impl Model {
    /// Removes a name of a node that is not a directory, as `unlinkat` without `AT_REMOVEDIR` does.
    pub fn unlink(&self, process: &mut Process, at: i32, path: &[u8]) -> Result<()> {
        let mut call = self.call(process);
        let Parent { directory, last } = call.parent(at, path)?;
        let Last::Name { name, slash } = last else { return Err(Errno::EISDIR) };
        let victim = child(&call.state, directory, &name)?.ok_or(Errno::ENOENT)?;
        if slash {
            return Err(if call.state.node(victim).is_directory() { Errno::EISDIR } else { Errno::ENOTDIR });
        }
        may_delete(&call.state, call.who(), directory, victim, Victim::Other)?;
        call.remove(directory, &name, victim);
        Ok(())
    }

    /// Removes an empty directory, as `unlinkat` with `AT_REMOVEDIR` does.
    pub fn rmdir(&self, process: &mut Process, at: i32, path: &[u8]) -> Result<()> {
        let mut call = self.call(process);
        let Parent { directory, last } = call.parent(at, path)?;
        let name = match last {
            Last::Name { name, .. } => name,
            Last::DotDot => return Err(Errno::ENOTEMPTY),
            Last::Dot => return Err(Errno::EINVAL),
            Last::Root => return Err(Errno::EBUSY),
        };
        let victim = child(&call.state, directory, &name)?.ok_or(Errno::ENOENT)?;
        may_delete(&call.state, call.who(), directory, victim, Victim::Directory)?;
        if !call.state.is_empty(victim) {
            return Err(Errno::ENOTEMPTY);
        }
        call.remove(directory, &name, victim);
        Ok(())
    }
}

impl Call<'_> {
    fn remove(&mut self, directory: Id, name: &[u8], victim: Id) {
        self.state.clear_name(directory, name);
        self.state.lost_name(victim);
    }
}
