//! Nodes without paths: file handles, and opens of what is open.
//!
//! A handle is the identity of its node, which no other node gets. What it does not do: keep a
//! connectable handle below the descriptor that it is opened with.

use crate::errno::{Errno, Result};
use crate::flags::{Capabilities, HandleFlags, OpenFlags};
use crate::node::{Body, Id};
use crate::process::Process;
use crate::walk::{Empty, Follow};
use crate::{Call, Model};

impl Model {
    /// Returns the handle of the node that a path leads to, as `name_to_handle_at` does. It leads
    /// to the node whatever it was asked for.
    pub fn name_to_handle(&self, process: &mut Process, at: i32, path: &[u8], flags: HandleFlags) -> Result<Id> {
        let call = self.call(process);
        let exclusive = HandleFlags::FID | HandleFlags::EMPTY_PATH;
        if flags.contains(HandleFlags::CONNECTABLE) && flags.intersects(exclusive) {
            return Err(Errno::EINVAL);
        }
        let follow = Follow::unless(!flags.contains(HandleFlags::SYMLINK_FOLLOW));
        let empty = if flags.contains(HandleFlags::EMPTY_PATH) { Empty::Start } else { Empty::Refused };
        call.lookup(at, path, follow, empty)
    }

    /// Opens a handle's node, as `open_by_handle_at` does with a descriptor of the file system.
    pub fn open_by_handle(&self, process: &mut Process, mount: i32, handle: Id, flags: OpenFlags) -> Result<i32> {
        let mut call = self.call(process);
        let mount = call.process.open_file(mount)?;
        call.state.open_file(mount)?.not_place()?;
        if !call.who().has(Capabilities::DAC_READ_SEARCH) {
            return Err(Errno::EPERM);
        }
        if !call.state.has(handle) {
            return Err(Errno::ESTALE);
        }
        if matches!(call.state.node(handle).body, Body::Link { .. }) && !flags.contains(OpenFlags::PATH) {
            return Err(Errno::ELOOP);
        }
        call.open_node(handle, flags)
    }

    /// Opens the node of a descriptor once more, as an open of `/proc/self/fd/N` does.
    pub fn reopen(&self, process: &mut Process, descriptor: i32, flags: OpenFlags) -> Result<i32> {
        let mut call = self.call(process);
        let id = call.process.open_file(descriptor)?;
        let node = call.state.open_file(id)?.node;
        call.open_node(node, flags)
    }
}

impl Call<'_> {
    /// Opens a node that was found without a path.
    fn open_node(&mut self, node: Id, flags: OpenFlags) -> Result<i32> {
        if flags.contains(OpenFlags::TMPFILE_BIT) {
            if !self.state.node(node).is_directory() {
                return Err(Errno::ENOTDIR);
            }
            return self.open_nameless_in(node, flags, 0);
        }
        if flags.contains(OpenFlags::PATH) {
            if flags.contains(OpenFlags::DIRECTORY) && !self.state.node(node).is_directory() {
                return Err(Errno::ENOTDIR);
            }
        } else {
            self.open_found(node, None, flags, flags.contains(OpenFlags::DIRECTORY))?;
        }
        Ok(self.add_descriptor(node, None, flags))
    }
}
