//! The calls `read`, `write`, `pread`, `pwrite`, `lseek`, `ftruncate`, `truncate` and `fsync`.
//!
//! Source: `fs/read_write.c`, `generic_write_checks`, `vfs_truncate`, `do_ftruncate`,
//! `do_truncate`, `shmem_setattr` of Linux.

use crate::errno::{Errno, Result};
use crate::flags::{Access, OpenFlags};
use crate::node::{Body, Id, Node, OpenFile, PAGE};
use crate::permission::permission;
use crate::process::Process;
use crate::walk::{Empty, Follow};
use crate::{Call, Model};

/// The most bytes that one call reads or writes: `MAX_RW_COUNT`.
const AT_ONCE: usize = 0x7fff_f000;

/// The origin of an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Whence {
    /// The start of the file.
    Set,
    /// The file's position.
    Current,
    /// The end of the file. Directories have none: `EINVAL`.
    End,
}

impl Model {
    /// Reads at most `count` bytes at the file's position, and advances it, as `read` does.
    pub fn read(&self, process: &mut Process, descriptor: i32, count: usize) -> Result<Vec<u8>> {
        let mut call = self.call(process);
        let (id, file) = call.file(descriptor)?;
        if call.state.is_pipe(file.node) {
            let data = call.state.read_pipe(&file, count)?;
            if !data.is_empty() {
                call.access_by(&file);
            }
            return Ok(data);
        }
        let data = call.read_at(&file, file.offset, count)?;
        call.state.open_file_mut(id)?.offset += data.len() as u64;
        Ok(data)
    }

    /// Reads at most `count` bytes at `offset`, as `pread` does.
    pub fn pread(&self, process: &mut Process, descriptor: i32, count: usize, offset: i64) -> Result<Vec<u8>> {
        let call = self.call(process);
        let offset = u64::try_from(offset).map_err(|_| Errno::EINVAL)?;
        let (_, file) = call.file_with_offsets(descriptor)?;
        call.read_at(&file, offset, count)
    }

    /// Writes at the file's position and advances it, as `write` does. Returns the number of bytes
    /// written.
    pub fn write(&self, process: &mut Process, descriptor: i32, data: &[u8]) -> Result<usize> {
        let mut call = self.call(process);
        let (id, file) = call.file(descriptor)?;
        if call.state.is_pipe(file.node) {
            return call.state.write_pipe(&file, data);
        }
        let (end, written) = call.write_at(&file, file.offset, data)?;
        call.state.open_file_mut(id)?.offset = end;
        Ok(written)
    }

    /// Writes at `offset`, or at the end of a file that was opened with `APPEND`, as `pwrite` does.
    pub fn pwrite(&self, process: &mut Process, descriptor: i32, data: &[u8], offset: i64) -> Result<usize> {
        let mut call = self.call(process);
        let offset = u64::try_from(offset).map_err(|_| Errno::EINVAL)?;
        let (_, file) = call.file_with_offsets(descriptor)?;
        call.write_at(&file, offset, data).map(|(_, written)| written)
    }

    /// Sets the file's position and returns it, as `lseek` does.
    pub fn seek(&self, process: &mut Process, descriptor: i32, offset: i64, whence: Whence) -> Result<u64> {
        let mut call = self.call(process);
        let (id, file) = call.file_with_offsets(descriptor)?;
        let node = call.state.node(file.node);
        let base = match whence {
            Whence::Set => 0,
            Whence::Current => file.offset,
            Whence::End if node.is_directory() => return Err(Errno::EINVAL),
            Whence::End => node.size(),
        };
        let to = (base as i64).checked_add(offset).and_then(|to| u64::try_from(to).ok()).ok_or(Errno::EINVAL)?;
        call.state.open_file_mut(id)?.offset = to;
        Ok(to)
    }

    /// Cuts or extends a file that is open for writing, as `ftruncate` does.
    pub fn ftruncate(&self, process: &mut Process, descriptor: i32, length: i64) -> Result<()> {
        let mut call = self.call(process);
        let length = u64::try_from(length).map_err(|_| Errno::EINVAL)?;
        let (_, file) = call.file(descriptor)?;
        if !call.state.node(file.node).is_file() || !file.flags.writable() {
            return Err(Errno::EINVAL);
        }
        if call.state.node(file.node).is_append_only() {
            return Err(Errno::EPERM);
        }
        call.truncate_open(file.node, length)
    }

    /// Cuts or extends a file, as `truncate` does.
    pub fn truncate(&self, process: &mut Process, path: &[u8], length: i64) -> Result<()> {
        let mut call = self.call(process);
        let length = u64::try_from(length).map_err(|_| Errno::EINVAL)?;
        let id = call.lookup(crate::AT_FDCWD, path, Follow::Links, Empty::Refused)?;
        let node = call.state.node(id);
        match node.body {
            Body::Directory { .. } => return Err(Errno::EISDIR),
            Body::File { .. } => permission(node, call.who(), Access::WRITE)?,
            _ => return Err(Errno::EINVAL),
        }
        if node.is_append_only() {
            return Err(Errno::EPERM);
        }
        call.set_size(id, length)
    }

    /// Checks the descriptor, as `fsync` does; there is nothing to write. `EINVAL` for a pipe.
    pub fn fsync(&self, process: &mut Process, descriptor: i32) -> Result<()> {
        let call = self.call(process);
        let (_, file) = call.file(descriptor)?;
        if call.state.is_pipe(file.node) { Err(Errno::EINVAL) } else { Ok(()) }
    }

    /// Puts a file system on stable storage, as `syncfs` does. `EBADF` for a mere place.
    pub fn syncfs(&self, process: &mut Process, descriptor: i32) -> Result<()> {
        self.call(process).file(descriptor).map(drop)
    }
}

impl Call<'_> {
    /// Returns the open file of a descriptor; `EBADF` for a mere place.
    pub(crate) fn file(&self, descriptor: i32) -> Result<(Id, OpenFile)> {
        let id = self.process.open_file(descriptor)?;
        let file = self.state.open_file(id)?;
        if file.flags.contains(OpenFlags::PATH) { Err(Errno::EBADF) } else { Ok((id, file.clone())) }
    }

    /// Returns the open file of a descriptor; `ESPIPE` for a pipe.
    pub(crate) fn file_with_offsets(&self, descriptor: i32) -> Result<(Id, OpenFile)> {
        let (id, file) = self.file(descriptor)?;
        if self.state.is_pipe(file.node) { Err(Errno::ESPIPE) } else { Ok((id, file)) }
    }

    /// Notes an access through an open file.
    pub(crate) fn access_by(&self, file: &OpenFile) {
        if !file.flags.contains(OpenFlags::NOATIME) {
            self.access(file.node);
        }
    }

    pub(crate) fn read_at(&self, file: &OpenFile, offset: u64, count: usize) -> Result<Vec<u8>> {
        if !file.flags.readable() {
            return Err(Errno::EBADF);
        }
        range(offset, count)?;
        let count = count.min(AT_ONCE);
        let node = self.state.node(file.node);
        if node.is_directory() {
            return Err(Errno::EISDIR);
        }
        self.access_by(file);
        let data = contents(node);
        let from = data.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
        Ok(data[from..data.len().min(from.saturating_add(count))].to_vec())
    }

    /// Returns the end of the write, and the number of bytes written.
    pub(crate) fn write_at(&mut self, file: &OpenFile, offset: u64, bytes: &[u8]) -> Result<(u64, usize)> {
        if !file.flags.writable() {
            return Err(Errno::EBADF);
        }
        range(offset, bytes.len())?;
        let bytes = &bytes[..bytes.len().min(AT_ONCE)];
        if bytes.is_empty() {
            return Ok((offset, 0));
        }
        let limit = self.options.largest_file;
        let appends = file.flags.contains(OpenFlags::APPEND);
        let start = if appends { self.state.node(file.node).size() } else { offset };
        if start >= limit {
            return Err(Errno::EFBIG);
        }
        let bytes = &bytes[..bytes.len().min(usize::try_from(limit - start).unwrap_or(usize::MAX))];
        let end = self.room_up_to(self.state.node(file.node), start, start + bytes.len() as u64);
        self.clear_privileges(file.node);
        self.state.touch_modified(file.node);
        if end == start {
            // The times have been updated.
            return Err(Errno::ENOSPC);
        }
        let length = (end - start) as usize;
        let node = self.state.node_mut(file.node);
        if let Body::File { data, pages, unwritten, .. } = &mut node.body {
            let written = start / PAGE..end.div_ceil(PAGE);
            unwritten.retain(|page| !written.contains(page));
            pages.extend(written);
            data.resize(data.len().max(end as usize), 0);
            data[start as usize..end as usize].copy_from_slice(&bytes[..length]);
        }
        Ok((end, length))
    }

    /// Truncates through an open file: the times are updated even if the size is the same.
    pub(crate) fn truncate_open(&mut self, id: Id, length: u64) -> Result<()> {
        self.set_size(id, length)?;
        self.state.touch_modified(id);
        Ok(())
    }

    fn set_size(&mut self, id: Id, length: u64) -> Result<()> {
        let size = self.state.node(id).size();
        if length > size && length > self.options.largest_file {
            return Err(Errno::EFBIG);
        }
        self.drop_capability(id);
        let (mode, changed) = (self.state.node(id).mode, self.state.node(id).changed);
        self.clear_privileges(id);
        let node = self.state.node(id);
        let has_new_list = node.mode != mode && !node.acl.is_empty();
        let has_pages = matches!(&self.state.node(id).body, Body::File { pages, .. } if !pages.is_empty());
        if length != size || has_pages {
            self.state.touch_modified(id);
        } else if !has_new_list {
            self.state.node_mut(id).changed = changed;
        }
        let node = self.state.node_mut(id);
        if let Body::File { data, pages, unwritten, .. } = &mut node.body {
            // Pages that are reserved behind the end stay where the file grows.
            if length <= size {
                pages.split_off(&length.div_ceil(PAGE));
                unwritten.split_off(&length.div_ceil(PAGE));
            }
            data.resize(length as usize, 0);
        }
        Ok(())
    }
}

/// Checks that no offset is beyond `i64::MAX`.
pub(crate) fn range(offset: u64, count: usize) -> Result<()> {
    let end = offset.checked_add(count as u64);
    if end.is_some_and(|end| end <= i64::MAX as u64) { Ok(()) } else { Err(Errno::EINVAL) }
}

fn contents(node: &Node) -> &[u8] {
    match &node.body {
        Body::File { data, .. } => data,
        _ => &[],
    }
}
