//! The engine's interface to an open file or directory: each method counts its call and calls the
//! store.

use std::ops::ControlFlow;
use std::sync::Arc;

use pathwalk::{Entry, EntrySink, Errno, FallocateFlags, NodeKey, OpenFile, OpenFor, SyncWhat, WriteAt, Written};

use crate::store::Store;

/// An open file or directory. Its node lives as long as it is open, even without names.
pub(crate) struct Open {
    store: Arc<Store>,
    node: NodeKey,
    what_for: OpenFor,
}

impl Open {
    pub(crate) fn new(store: &Arc<Store>, node: NodeKey, what_for: OpenFor) -> Result<Open, Errno> {
        store.open(node, what_for)?;
        Ok(Open { store: store.clone(), node, what_for })
    }

    /// Fails with `EBADF` if the file was not opened for this.
    fn opened_for(&self, what: OpenFor) -> Result<(), Errno> {
        if self.what_for.contains(what) { Ok(()) } else { Err(Errno::EBADF) }
    }
}

impl OpenFile for Open {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.store.calls.read_at.count();
        self.opened_for(OpenFor::READ)?;
        self.store.read(self.node, buffer, offset)
    }

    /// Reads as `read_at` does, which never blocks: all data is in memory.
    fn try_read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.read_at(buffer, offset)
    }

    fn write_at(&self, data: &[u8], at: WriteAt) -> Result<Written, Errno> {
        self.store.calls.write_at.count();
        self.opened_for(OpenFor::WRITE)?;
        self.store.write(self.node, data, at)
    }

    fn check_write(&self, length: usize, at: WriteAt) -> Result<(), Errno> {
        self.opened_for(OpenFor::WRITE)?;
        self.store.check_write(self.node, length, at)
    }

    /// Returns true for regular files, as on a tmpfs: there are no caches to bypass.
    fn allows_direct(&self) -> bool {
        self.store.is_regular(self.node)
    }

    fn fallocate(&self, mode: FallocateFlags, offset: u64, length: u64) -> Result<(), Errno> {
        self.store.calls.fallocate.count();
        self.opened_for(OpenFor::WRITE)?;
        self.store.fallocate(self.node, mode, offset, length)
    }

    fn seek_data(&self, offset: u64, _size: u64) -> Result<u64, Errno> {
        self.store.seek_data(self.node, offset)
    }

    fn seek_hole(&self, offset: u64, _size: u64) -> Result<u64, Errno> {
        self.store.seek_hole(self.node, offset)
    }

    fn copy_range(&self, offset: u64, to: NodeKey, at: u64, length: usize) -> Result<usize, Errno> {
        self.store.calls.copy_range.count();
        self.opened_for(OpenFor::READ)?;
        self.store.copy_range(self.node, offset, to, at, length as u64).map(|copied| copied as usize)
    }

    fn can_clone(&self) -> bool {
        true
    }

    fn clone_range(&self, offset: u64, to: NodeKey, at: u64, length: u64) -> Result<(), Errno> {
        self.store.calls.clone_range.count();
        self.opened_for(OpenFor::READ)?;
        self.store.clone_range(self.node, offset, to, at, length)
    }

    fn read_dir(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        self.store.calls.read_dir.count();
        self.opened_for(OpenFor::READ)?;
        self.store.read_dir(self.node, from, each)
    }

    fn read_dir_with_nodes(&self, from: u64, sink: &mut EntrySink<'_>) -> Result<(), Errno> {
        self.store.calls.read_dir_with_nodes.count();
        self.opened_for(OpenFor::READ)?;
        self.store.read_dir_with_nodes(self.node, from, sink)
    }

    fn sync(&self, _what: SyncWhat) -> Result<(), Errno> {
        self.store.calls.sync.count();
        Ok(())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.store.close(self.node);
    }
}
