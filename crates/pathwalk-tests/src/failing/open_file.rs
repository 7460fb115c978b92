//! The open files of a file system that fails by plan.

use std::ops::ControlFlow;
use std::sync::Arc;

use pathwalk::{Entry, EntrySink, Errno, FallocateFlags, NodeKey, OpenFile, SyncWhat, WriteAt, Written};

use super::Faults;

/// An open file of a file system that fails by plan.
pub(super) struct FailingFile {
    pub(super) inner: Box<dyn OpenFile>,
    pub(super) faults: Arc<Faults>,
}

impl OpenFile for FailingFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.faults.meet()?;
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, data: &[u8], at: WriteAt) -> Result<Written, Errno> {
        self.faults.meet()?;
        self.inner.write_at(data, at)
    }

    fn check_write(&self, length: usize, at: WriteAt) -> Result<(), Errno> {
        self.faults.meet()?;
        self.inner.check_write(length, at)
    }

    fn allows_direct(&self) -> bool {
        self.inner.allows_direct()
    }

    fn fallocate(&self, mode: FallocateFlags, offset: u64, length: u64) -> Result<(), Errno> {
        self.faults.meet()?;
        self.inner.fallocate(mode, offset, length)
    }

    fn seek_data(&self, offset: u64, size: u64) -> Result<u64, Errno> {
        self.faults.meet()?;
        self.inner.seek_data(offset, size)
    }

    fn seek_hole(&self, offset: u64, size: u64) -> Result<u64, Errno> {
        self.faults.meet()?;
        self.inner.seek_hole(offset, size)
    }

    fn copy_range(&self, offset: u64, to: NodeKey, at: u64, length: usize) -> Result<usize, Errno> {
        self.faults.meet()?;
        self.inner.copy_range(offset, to, at, length)
    }

    fn can_clone(&self) -> bool {
        self.inner.can_clone()
    }

    fn clone_range(&self, offset: u64, to: NodeKey, at: u64, length: u64) -> Result<(), Errno> {
        self.faults.meet()?;
        self.inner.clone_range(offset, to, at, length)
    }

    fn read_dir(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        self.faults.meet()?;
        self.inner.read_dir(from, each)
    }

    fn read_dir_with_nodes(&self, from: u64, sink: &mut EntrySink<'_>) -> Result<(), Errno> {
        self.faults.meet()?;
        self.inner.read_dir_with_nodes(from, sink)
    }

    fn sync(&self, what: SyncWhat) -> Result<(), Errno> {
        self.faults.meet()?;
        self.inner.sync(what)
    }
}
