//! The engine's interface to an open file or directory of a branch.

use std::ops::ControlFlow;
use std::sync::Arc;

use pathwalk::{Entry, Errno, FallocateFlags, NodeKey, OpenFile, OpenFor, SyncWhat, WriteAt, Written};

use crate::branch::{BaseFiles, BaseNames, Inner, number_of};

/// An open file or directory. The engine holds its node for as long as it is open.
pub(crate) struct Open {
    branch: Arc<Inner>,
    number: u64,
    what_for: OpenFor,
    files: BaseFiles,
    names: BaseNames,
}

impl Open {
    pub(crate) fn new(branch: &Arc<Inner>, number: u64, what_for: OpenFor) -> Result<Open, Errno> {
        branch.check_open(number, what_for)?;
        let (files, names) = (BaseFiles::default(), BaseNames::default());
        Ok(Open { branch: Arc::clone(branch), number, what_for, files, names })
    }

    /// Fails with `EBADF` if the file was not opened for this.
    fn opened_for(&self, what: OpenFor) -> Result<(), Errno> {
        if self.what_for.contains(what) { Ok(()) } else { Err(Errno::EBADF) }
    }
}

impl OpenFile for Open {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.opened_for(OpenFor::READ)?;
        self.branch.read(&self.files, self.number, buffer, offset)
    }

    fn try_read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.opened_for(OpenFor::READ)?;
        self.branch.try_read(&self.files, self.number, buffer, offset)
    }

    fn write_at(&self, data: &[u8], at: WriteAt) -> Result<Written, Errno> {
        self.opened_for(OpenFor::WRITE)?;
        self.branch.write(self.number, data, at)
    }

    fn check_write(&self, length: usize, at: WriteAt) -> Result<(), Errno> {
        self.opened_for(OpenFor::WRITE)?;
        self.branch.check_write(self.number, length, at)
    }

    /// Returns true for regular files, as on a tmpfs.
    fn allows_direct(&self) -> bool {
        self.branch.is_regular(self.number)
    }

    /// Makes the whole branch durable, as a commit of a journal does.
    fn sync(&self, _: SyncWhat) -> Result<(), Errno> {
        self.branch.sync().map_err(|error| error.errno())
    }

    fn fallocate(&self, mode: FallocateFlags, offset: u64, length: u64) -> Result<(), Errno> {
        self.opened_for(OpenFor::WRITE)?;
        self.branch.fallocate(self.number, mode, offset, length)
    }

    fn seek_data(&self, offset: u64, _size: u64) -> Result<u64, Errno> {
        self.branch.seek_data(&self.files, self.number, offset)
    }

    fn seek_hole(&self, offset: u64, _size: u64) -> Result<u64, Errno> {
        self.branch.seek_hole(&self.files, self.number, offset)
    }

    fn copy_range(&self, offset: u64, to: NodeKey, at: u64, length: usize) -> Result<usize, Errno> {
        self.opened_for(OpenFor::READ)?;
        self.branch.copy_range(self.number, offset, number_of(to), at, length as u64).map(|copied| copied as usize)
    }

    fn can_clone(&self) -> bool {
        true
    }

    fn clone_range(&self, offset: u64, to: NodeKey, at: u64, length: u64) -> Result<(), Errno> {
        self.opened_for(OpenFor::READ)?;
        self.branch.clone_range(self.number, offset, number_of(to), at, length)
    }

    fn read_dir(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        self.opened_for(OpenFor::READ)?;
        self.branch.read_dir(&self.names, self.number, from, each)
    }
}
