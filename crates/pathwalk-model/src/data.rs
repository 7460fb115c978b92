//! `read`, `write`, `pread`, `pwrite`, `lseek`, `ftruncate`, `truncate`, `fsync`.
//!
//! Source: `fs/read_write.c`, `generic_write_checks`, `vfs_truncate`, `do_ftruncate`, `do_truncate`, `shmem_setattr` of Linux.

use crate::errno::{Errno, Result};
use crate::flags::{Access, OpenFlags};
use crate::limits::PAGE;
use crate::node::{Body, Id, Node, OpenFile};
use crate::permission::permission;
use crate::process::Process;
use crate::walk::{Empty, Follow};
use crate::{Call, Model};

/// How many bytes one call reads or writes at most: `MAX_RW_COUNT`.
const AT_ONCE: usize = 0x7fff_f000;

/// From where an offset counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Whence {
    /// The start.
    Set,
    /// Where the file stands.
    Current,
    /// The end. Directories have none: `EINVAL`.
    End,
}

impl Model {
    /// `read`: at most `count` bytes from where the file stands, which moves on.
    pub fn read(&self, process: &mut Process, descriptor: i32, count: usize) -> Result<Vec<u8>> {
        let mut call = self.call(process);
        let (id, file) = call.file(descriptor)?;
        let data = call.read_at(&file, file.offset, count)?;
        call.state.open_file_mut(id)?.offset += data.len() as u64;
        Ok(data)
    }

    /// `pread`: at most `count` bytes from `offset`.
    pub fn pread(&self, process: &mut Process, descriptor: i32, count: usize, offset: i64) -> Result<Vec<u8>> {
        let call = self.call(process);
        let offset = u64::try_from(offset).map_err(|_| Errno::EINVAL)?;
        let (_, file) = call.file(descriptor)?;
        call.read_at(&file, offset, count)
    }

    /// `write`: bytes to where the file stands, which moves on. How many were written.
    pub fn write(&self, process: &mut Process, descriptor: i32, data: &[u8]) -> Result<usize> {
        let mut call = self.call(process);
        let (id, file) = call.file(descriptor)?;
        let (end, written) = call.write_at(&file, file.offset, data)?;
        call.state.open_file_mut(id)?.offset = end;
        Ok(written)
    }

    /// `pwrite`: bytes to `offset`, or to the end of what was opened with `APPEND`.
    pub fn pwrite(&self, process: &mut Process, descriptor: i32, data: &[u8], offset: i64) -> Result<usize> {
        let mut call = self.call(process);
        let offset = u64::try_from(offset).map_err(|_| Errno::EINVAL)?;
        let (_, file) = call.file(descriptor)?;
        call.write_at(&file, offset, data).map(|(_, written)| written)
    }

    /// `lseek`: where the file stands then.
    pub fn seek(&self, process: &mut Process, descriptor: i32, offset: i64, whence: Whence) -> Result<u64> {
        let mut call = self.call(process);
        let (id, file) = call.file(descriptor)?;
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

    /// `ftruncate`: cuts or lengthens what is open for writing.
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

    /// `truncate`: cuts or lengthens a file.
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

    /// `fsync`: nothing to do for what is open.
    pub fn fsync(&self, process: &mut Process, descriptor: i32) -> Result<()> {
        self.call(process).file(descriptor).map(|_| ())
    }
}

impl Call<'_> {
    /// What is open, not merely a place.
    pub(crate) fn file(&self, descriptor: i32) -> Result<(Id, OpenFile)> {
        let id = self.process.open_file(descriptor)?;
        let file = self.state.open_file(id)?;
        if file.flags.contains(OpenFlags::PATH) { Err(Errno::EBADF) } else { Ok((id, file.clone())) }
    }

    fn read_at(&self, file: &OpenFile, offset: u64, count: usize) -> Result<Vec<u8>> {
        if !file.flags.readable() {
            return Err(Errno::EBADF);
        }
        range(offset, count)?;
        let count = count.min(AT_ONCE);
        let node = self.state.node(file.node);
        if node.is_directory() {
            return Err(Errno::EISDIR);
        }
        let data = contents(node);
        let from = data.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
        Ok(data[from..data.len().min(from.saturating_add(count))].to_vec())
    }

    /// Where the write ended, and how much it wrote.
    fn write_at(&mut self, file: &OpenFile, offset: u64, bytes: &[u8]) -> Result<(u64, usize)> {
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
        self.clear_suid_and_sgid(file.node);
        self.state.touch_modified(file.node);
        let node = self.state.node_mut(file.node);
        // Also where nothing finds room.
        if end == start {
            return Err(Errno::ENOSPC);
        }
        let length = (end - start) as usize;
        if let Body::File { data, pages, .. } = &mut node.body {
            pages.extend(start / PAGE..end.div_ceil(PAGE));
            data.resize(data.len().max(end as usize), 0);
            data[start as usize..end as usize].copy_from_slice(&bytes[..length]);
        }
        Ok((end, length))
    }

    /// Through an open file: the time moves even if the size stays.
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
        self.clear_suid_and_sgid(id);
        if length == size {
            return Ok(());
        }
        self.state.touch_modified(id);
        let node = self.state.node_mut(id);
        if let Body::File { data, pages, .. } = &mut node.body {
            data.resize(length as usize, 0);
            pages.retain(|page| page * PAGE < length);
        }
        Ok(())
    }
}

/// Offsets beyond `i64::MAX` don't exist.
fn range(offset: u64, count: usize) -> Result<()> {
    let end = offset.checked_add(count as u64);
    if end.is_some_and(|end| end <= i64::MAX as u64) { Ok(()) } else { Err(Errno::EINVAL) }
}

fn contents(node: &Node) -> &[u8] {
    match &node.body {
        Body::File { data, .. } => data,
        _ => &[],
    }
}
