//! The calls `fallocate`, `lseek` for data and holes, `copy_file_range`, `preadv2` and `pwritev2`.
//!
//! Source: `vfs_fallocate`, `shmem_fallocate`, `shmem_file_llseek`, `generic_copy_file_checks`,
//! `kiocb_set_rw_flags` of Linux. As a tmpfs does, the model only allocates and punches holes, and
//! a copy fills the holes of its source with zeroes.

use crate::errno::{Errno, Result};
use crate::flags::{FallocateFlags, OpenFlags, RwFlags};
use crate::node::{Body, Id, Node, OpenFile, PAGE};
use crate::process::Process;
use crate::{Call, Model};

/// The greatest offset, in bytes.
const OFFSET_MAX: u64 = i64::MAX as u64;

/// The most pages that one call reserves where there is no limit of pages: 16 GiB.
const RESERVED_AT_ONCE: u64 = 1 << 22;

/// What `lseek` searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sparse {
    /// A page that was written.
    Data,
    /// A page that was not written, or the end.
    Hole,
}

impl Model {
    /// Allocates a range of a file, or makes it a hole, as `fallocate` does.
    pub fn fallocate(
        &self,
        process: &mut Process,
        descriptor: i32,
        mode: FallocateFlags,
        offset: i64,
        length: i64,
    ) -> Result<()> {
        let mut call = self.call(process);
        let (_, file) = call.file(descriptor)?;
        if offset < 0 || length <= 0 {
            return Err(Errno::EINVAL);
        }
        mode.check()?;
        if !file.flags.writable() {
            return Err(Errno::EBADF);
        }
        let node = call.state.node(file.node);
        let only_space = FallocateFlags::KEEP_SIZE.contains(mode);
        if node.is_immutable() || node.is_append_only() && !only_space {
            return Err(Errno::EPERM);
        }
        if call.state.is_pipe(file.node) {
            return Err(Errno::ESPIPE);
        }
        let (begin, end) = (offset as u64, offset as u64 + length as u64);
        if end > OFFSET_MAX {
            return Err(Errno::EFBIG);
        }
        match mode - FallocateFlags::KEEP_SIZE {
            FallocateFlags::PUNCH_HOLE => call.punch(file.node, begin, end),
            other if other.is_empty() => call.reserve(file.node, begin, end)?,
            _ => return Err(Errno::EOPNOTSUPP),
        }
        if mode.is_empty() {
            let node = call.state.node_mut(file.node);
            if let Body::File { data, .. } = &mut node.body {
                data.resize(data.len().max(end as usize), 0);
            }
        }
        call.state.touch_modified(file.node);
        call.clear_privileges(file.node);
        Ok(())
    }

    /// Sets the file's position to the next data or hole and returns it, as `lseek` does.
    pub fn seek_sparse(&self, process: &mut Process, descriptor: i32, offset: i64, what: Sparse) -> Result<u64> {
        let mut call = self.call(process);
        let (id, file) = call.file_with_offsets(descriptor)?;
        let Body::File { data, pages, unwritten, .. } = &call.state.node(file.node).body else {
            return Err(Errno::EINVAL);
        };
        let size = data.len() as u64;
        let offset = u64::try_from(offset).ok().filter(|offset| *offset < size).ok_or(Errno::ENXIO)?;
        let is_data = |page: &u64| pages.contains(page) && !unwritten.contains(page);
        let mut numbers = offset / PAGE..size.div_ceil(PAGE);
        let page = match what {
            Sparse::Data => Some(numbers.find(is_data).ok_or(Errno::ENXIO)?),
            Sparse::Hole => numbers.find(|page| !is_data(page)),
        };
        let to = page.map_or(size, |page| offset.max(page * PAGE));
        call.state.open_file_mut(id)?.offset = to;
        Ok(to)
    }

    /// Copies from file to file, at offsets or at the positions, as `copy_file_range` does.
    pub fn copy_file_range(
        &self,
        process: &mut Process,
        (from, from_offset): (i32, Option<i64>),
        (to, to_offset): (i32, Option<i64>),
        count: usize,
    ) -> Result<usize> {
        let mut call = self.call(process);
        let (source_id, source) = call.file(from)?;
        let (target_id, target) = call.file(to)?;
        let begin = from_offset.unwrap_or(source.offset as i64);
        let at = to_offset.unwrap_or(target.offset as i64);
        let data = call.to_copy((&source, begin), (&target, at), count as u64)?;
        if data.is_empty() {
            return Ok(0);
        }
        let written = call.write_at(&target, at as u64, &data);
        // The second time: the reading did it, too.
        call.access_by(&source);
        let (end, written) = written?;
        if from_offset.is_none() {
            call.state.open_file_mut(source_id)?.offset = begin as u64 + written as u64;
        }
        if to_offset.is_none() {
            call.state.open_file_mut(target_id)?.offset = end;
        }
        Ok(written)
    }

    /// Reads at an offset, or at the position and advances it, as `preadv2` does.
    pub fn preadv2(
        &self,
        process: &mut Process,
        descriptor: i32,
        count: usize,
        offset: Option<i64>,
        flags: RwFlags,
    ) -> Result<Vec<u8>> {
        let mut call = self.call(process);
        let (id, file) = call.with_offset(descriptor, offset)?;
        if !file.flags.readable() {
            return Err(Errno::EBADF);
        }
        if count == 0 {
            return Ok(Vec::new());
        }
        if call.state.is_pipe(file.node) {
            flags.check(call.state.node(file.node), &file)?;
            let data = call.state.read_pipe(&file, count)?;
            if !data.is_empty() {
                call.access_by(&file);
            }
            return Ok(data);
        }
        crate::data::range(file.offset, count)?;
        let node = call.state.node(file.node);
        if node.is_directory() {
            return Err(if RwFlags::HIPRI.contains(flags) { Errno::EISDIR } else { Errno::EOPNOTSUPP });
        }
        flags.check(node, &file)?;
        let data = call.read_at(&file, file.offset, count)?;
        if offset.is_none() {
            call.state.open_file_mut(id)?.offset += data.len() as u64;
        }
        Ok(data)
    }

    /// Writes at an offset, or at the position and advances it, as `pwritev2` does.
    pub fn pwritev2(
        &self,
        process: &mut Process,
        descriptor: i32,
        data: &[u8],
        offset: Option<i64>,
        flags: RwFlags,
    ) -> Result<usize> {
        let mut call = self.call(process);
        let (id, mut file) = call.with_offset(descriptor, offset)?;
        if !file.flags.writable() {
            return Err(Errno::EBADF);
        }
        if data.is_empty() {
            return Ok(0);
        }
        if call.state.is_pipe(file.node) {
            flags.check(call.state.node(file.node), &file)?;
            return call.state.write_pipe(&file, data);
        }
        crate::data::range(file.offset, data.len())?;
        flags.check(call.state.node(file.node), &file)?;
        file.flags.set(OpenFlags::APPEND, flags.appends(&file));
        let (end, written) = call.write_at(&file, file.offset, data)?;
        if offset.is_none() {
            call.state.open_file_mut(id)?.offset = end;
        }
        Ok(written)
    }
}

impl Call<'_> {
    /// Returns the open file with the offset in place of its position: `EINVAL` for a negative one.
    fn with_offset(&self, descriptor: i32, offset: Option<i64>) -> Result<(Id, OpenFile)> {
        let offset = offset.map(u64::try_from).transpose().map_err(|_| Errno::EINVAL)?;
        let (id, file) = if offset.is_some() { self.file_with_offsets(descriptor)? } else { self.file(descriptor)? };
        Ok((id, OpenFile { offset: offset.unwrap_or(file.offset), ..file }))
    }

    /// Reserves all pages of a range that are missing, or none. A reserved page is filled with
    /// zeroes by a second call, even one that fails further on.
    fn reserve(&mut self, id: Id, begin: u64, end: u64) -> Result<()> {
        let numbers = begin / PAGE..end.div_ceil(PAGE);
        if numbers.end - numbers.start > self.options.most_pages.unwrap_or(RESERVED_AT_ONCE) {
            return Err(Errno::ENOSPC);
        }
        let mut left = self.pages_left();
        let Body::File { pages, unwritten, .. } = &mut self.state.node_mut(id).body else { return Ok(()) };
        let mut made = Vec::new();
        for number in numbers {
            if pages.contains(&number) {
                unwritten.remove(&number);
                continue;
            }
            if left == 0 {
                pages.retain(|page| !made.contains(page));
                unwritten.retain(|page| !made.contains(page));
                return Err(Errno::ENOSPC);
            }
            left -= 1;
            made.push(number);
            pages.insert(number);
            unwritten.insert(number);
        }
        Ok(())
    }

    /// Makes the whole pages of a range holes, and zeroes the rest of it.
    fn punch(&mut self, id: Id, begin: u64, end: u64) {
        let Body::File { data, pages, unwritten, .. } = &mut self.state.node_mut(id).body else { return };
        let within = data.len().min(begin as usize)..data.len().min(end as usize);
        data[within].fill(0);
        let whole = begin.div_ceil(PAGE)..end / PAGE;
        pages.retain(|page| !whole.contains(page));
        unwritten.retain(|page| !whole.contains(page));
    }

    /// Returns the data that is to be copied.
    fn to_copy(&self, (source, from): (&OpenFile, i64), (target, at): (&OpenFile, i64), count: u64) -> Result<Vec<u8>> {
        let nodes = [self.state.node(source.node), self.state.node(target.node)];
        if nodes.iter().any(|node| node.is_directory()) {
            return Err(Errno::EISDIR);
        }
        if !nodes.iter().all(|node| node.is_file()) {
            return Err(Errno::EINVAL);
        }
        if !source.flags.readable() || !target.flags.writable() || target.flags.contains(OpenFlags::APPEND) {
            return Err(Errno::EBADF);
        }
        if nodes[1].is_immutable() {
            return Err(Errno::EPERM);
        }
        let wraps = |begin: i64| (begin as u64).checked_add(count).is_none();
        if wraps(from) || wraps(at) {
            return Err(Errno::EOVERFLOW);
        }
        if at == i64::MAX {
            return Err(Errno::EFBIG);
        }
        let (Ok(from), Ok(at)) = (u64::try_from(from), u64::try_from(at)) else { return Err(Errno::EINVAL) };
        let count = count.min(nodes[0].size().saturating_sub(from)).min(OFFSET_MAX - at);
        if source.node == target.node && at + count > from && at < from + count {
            return Err(Errno::EINVAL);
        }
        if count == 0 { Ok(Vec::new()) } else { self.read_at(source, from, count as usize) }
    }
}

impl FallocateFlags {
    /// Checks that the flags go together: `EOPNOTSUPP`.
    fn check(self) -> Result<()> {
        let keeps_size = self.contains(FallocateFlags::KEEP_SIZE);
        let possible = match self - FallocateFlags::KEEP_SIZE {
            FallocateFlags::PUNCH_HOLE => keeps_size,
            FallocateFlags::COLLAPSE_RANGE | FallocateFlags::INSERT_RANGE | FallocateFlags::WRITE_ZEROES => !keeps_size,
            FallocateFlags::ZERO_RANGE | FallocateFlags::UNSHARE_RANGE => true,
            other => other.is_empty(),
        };
        if possible { Ok(()) } else { Err(Errno::EOPNOTSUPP) }
    }
}

impl RwFlags {
    fn check(self, node: &Node, file: &OpenFile) -> Result<()> {
        let refused = RwFlags::NOWAIT | RwFlags::ATOMIC | RwFlags::DONTCACHE;
        if !RwFlags::all().contains(self) {
            return Err(Errno::EOPNOTSUPP);
        }
        if self.contains(RwFlags::APPEND | RwFlags::NOAPPEND) {
            return Err(Errno::EINVAL);
        }
        if self.intersects(refused) {
            return Err(Errno::EOPNOTSUPP);
        }
        let refuses_to_overwrite = self.contains(RwFlags::NOAPPEND) && file.flags.contains(OpenFlags::APPEND);
        if refuses_to_overwrite && node.is_append_only() { Err(Errno::EPERM) } else { Ok(()) }
    }

    fn appends(self, file: &OpenFile) -> bool {
        let opened = file.flags.contains(OpenFlags::APPEND) && !self.contains(RwFlags::NOAPPEND);
        opened || self.contains(RwFlags::APPEND)
    }
}
