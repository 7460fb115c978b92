//! The calls that change a process's own state: `chdir`, `fchdir`, `chroot`, `umask`.
//!
//! Source: `fs/open.c`, `fs/fs_struct.c` of Linux.

use crate::errno::{Errno, Result};
use crate::flags::{Access, Capabilities};
use crate::node::Id;
use crate::permission::permission;
use crate::process::Process;
use crate::walk::Follow;
use crate::{AT_FDCWD, Call, Model};

impl Model {
    /// Changes the working directory, as `chdir` does.
    pub fn chdir(&self, process: &mut Process, path: &[u8]) -> Result<()> {
        let mut call = self.call(process);
        let directory = call.directory_to_enter(path)?;
        call.set_cwd(directory);
        Ok(())
    }

    /// Makes an open directory the working directory, as `fchdir` does; a mere place is allowed.
    pub fn fchdir(&self, process: &mut Process, descriptor: i32) -> Result<()> {
        let mut call = self.call(process);
        let directory = call.place(descriptor)?;
        let node = call.state.node(directory);
        if !node.is_directory() {
            return Err(Errno::ENOTDIR);
        }
        permission(node, call.who(), Access::EXECUTE)?;
        call.set_cwd(directory);
        Ok(())
    }

    /// Changes the root, as `chroot` does. The working directory stays, even outside the new root.
    pub fn chroot(&self, process: &mut Process, path: &[u8]) -> Result<()> {
        let mut call = self.call(process);
        let directory = call.directory_to_enter(path)?;
        if !call.who().has(Capabilities::SYS_CHROOT) {
            return Err(Errno::EPERM);
        }
        call.state.pin(directory);
        let before = std::mem::replace(&mut call.process.root, directory);
        call.state.unpin(before);
        Ok(())
    }

    /// Sets the permission bits that new nodes do not get, as `umask` does. Returns the former
    /// ones.
    pub fn umask(&self, process: &mut Process, umask: u32) -> u32 {
        std::mem::replace(&mut self.call(process).process.umask, umask & 0o777)
    }
}

impl Call<'_> {
    fn directory_to_enter(&self, path: &[u8]) -> Result<Id> {
        let directory = self.lookup_directory(AT_FDCWD, path, Follow::Links)?;
        permission(self.state.node(directory), self.who(), Access::EXECUTE)?;
        Ok(directory)
    }

    fn set_cwd(&mut self, directory: Id) {
        self.state.pin(directory);
        let before = std::mem::replace(&mut self.process.cwd, directory);
        self.state.unpin(before);
    }
}
