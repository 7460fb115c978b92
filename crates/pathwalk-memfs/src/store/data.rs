//! The contents of files and directories: reading, writing, truncating, listing; and the free
//! space.
//!
//! A write holds the file's lock exclusively from end to end, and a read shares it: no reader sees
//! half of a write. Pages without room are not created: a write ends before the first of them.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::Ordering::Relaxed;

use pathwalk::limits::{NAME_MAX, OFFSET_MAX};
use pathwalk::{
    AccessTimes, Accessed, Attributes, Entry, EntrySink, Errno, FileType, InodeFlags, Name, NodeKey, OpenFor, SetAttributes,
    StatFs, StatxFlags, Timestamp, WriteAt, Written,
};

use super::inode::Inode;
use super::locked::Locked;
use super::pages::{PAGE, PAGE_BYTES};
use super::record::{KEPT_FLAGS, KEPT_INODE_FLAGS};
use super::{Held, Store};
use crate::quota::ProjectScope;

/// The `f_type` of tmpfs, which this file system imitates.
const TMPFS_MAGIC: u64 = 0x0102_1994;

impl Store {
    /// Holds a node as long as it is open: `EISDIR` for a directory that is opened for writing,
    /// `EINVAL` for a node that is neither file nor directory.
    pub(crate) fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<(), Errno> {
        let inode = self.inode(node)?;
        match inode.kind() {
            FileType::Directory if what_for.contains(OpenFor::WRITE) => return Err(Errno::EISDIR),
            FileType::Directory | FileType::Regular => {}
            _ => return Err(Errno::EINVAL),
        }
        inode.slot.life.hold()?;
        // Without a hold before, the slot may have been freed and now have another node.
        self.inode(node).map(drop).inspect_err(|_| self.release(inode).unwrap_or_default())
    }

    /// Gives back the hold that `open` took.
    pub(crate) fn close(&self, node: NodeKey) {
        // This cannot fail: the hold is the caller's own.
        let _ = self.inode(node).and_then(|inode| self.release(inode));
    }

    pub(crate) fn is_regular(&self, node: NodeKey) -> bool {
        self.inode(node).is_ok_and(|inode| inode.kind() == FileType::Regular)
    }

    /// Fills the buffer from `offset` on, up to the end of the file. Does not change `atime`, which
    /// the engine has changed where the mount says so.
    pub(crate) fn read(&self, node: NodeKey, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let inode = self.inode(node)?;
        let pages = inode.pages()?;
        let left = inode.slot.record.size().saturating_sub(offset);
        let length = buffer.len().min(left.try_into().unwrap_or(usize::MAX));
        pages.read(&mut buffer[..length], offset);
        Ok(length)
    }

    /// Returns the whole file: `ENOMEM` if there is no memory for it.
    pub(crate) fn read_all(&self, node: NodeKey) -> Result<Vec<u8>, Errno> {
        let inode = self.inode(node)?;
        let pages = inode.pages()?;
        let size = inode.slot.record.size().try_into().map_err(|_| Errno::ENOMEM)?;
        let mut all = Vec::new();
        all.try_reserve_exact(size).map_err(|_| Errno::ENOMEM)?;
        all.resize(size, 0);
        pages.read(&mut all, 0);
        Ok(all)
    }

    /// Writes as far as there is room: `ENOSPC` or `EDQUOT` if there is none for the first byte,
    /// `EFBIG` at and behind the greatest size. Updates `mtime` and `ctime` if there was data to
    /// write, even without room for it, as a tmpfs does.
    pub(crate) fn write(&self, node: NodeKey, data: &[u8], at: WriteAt) -> Result<Written, Errno> {
        let inode = self.inode(node)?;
        inode.check_data()?;
        let mut file = inode.lock();
        let offset = inode.offset_of(at);
        if data.is_empty() {
            return Ok(Written { bytes: 0, end: offset });
        }
        let reach = reach(offset)?;
        let data = &data[..data.len().min(reach.try_into().unwrap_or(usize::MAX))];
        let pages = file.pages_mut(&self.ledger)?;
        let before = pages.count();
        let mut refusal = Errno::ENOSPC;
        let room = || self.take_pages(inode, 1).inspect_err(|errno| refusal = *errno);
        let bytes = pages.write(data, offset, room);
        let after = pages.count();
        if bytes == 0 {
            file.tidy(&self.ledger);
            file.change(|record| record.touch(self.now()));
            return Err(refusal);
        }
        self.ledger.charge((after - before) * PAGE_BYTES);
        let end = offset + bytes as u64;
        file.change(|record| {
            record.size.store(record.size().max(end), Relaxed);
            record.extent.store(after, Relaxed);
            record.touch(self.now());
        });
        Ok(Written { bytes, end })
    }

    /// Returns the error that a write would fail with before it changes anything: `EFBIG`, but not
    /// `ENOSPC`, as on a tmpfs.
    pub(crate) fn check_write(&self, node: NodeKey, length: usize, at: WriteAt) -> Result<(), Errno> {
        let inode = self.inode(node)?;
        inode.check_data()?;
        let _file = inode.lock_shared();
        let offset = inode.offset_of(at);
        if length == 0 { Ok(()) } else { reach(offset).map(drop) }
    }

    /// Sets all of these attributes or none: `EDQUOT` if a new owner has no room for the node. A
    /// smaller or equal size frees the pages behind it, a greater one makes a hole. An equal one
    /// changes the times if the file has pages, as on a tmpfs.
    pub(crate) fn set_attributes(&self, node: NodeKey, set: &SetAttributes) -> Result<Attributes, Errno> {
        let inode = self.inode(node)?;
        set.check(inode.kind())?;
        let mut locked = inode.lock();
        self.transfer_owner(inode, set)?;
        let pages = match set.size {
            // Room may be reserved behind the end.
            Some(size) if size <= inode.slot.record.size() => self.cut_off(&mut locked, size)?,
            _ => inode.slot.record.extent(),
        };
        let has_new_list = set.mode.is_some_and(|mode| self.follow_mode(&mut locked.guarded, mode));
        locked.change(|record| {
            record.set(set, self.now());
            if has_new_list {
                record.touch_ctime(self.now());
            }
            record.extent.store(pages, Relaxed);
        });
        Ok(self.attributes_of(inode))
    }

    /// Returns which side keeps the times of accesses.
    pub(crate) fn access_times(&self) -> AccessTimes {
        self.options.access_times
    }

    /// Sets the time of the last access, and no other time.
    pub(crate) fn accessed(&self, node: NodeKey, at: Timestamp) -> Result<Accessed, Errno> {
        let inode = self.inode(node)?;
        let _locked = inode.lock();
        Ok(if inode.slot.record.touch_atime(at) { Accessed::Stored } else { Accessed::NotKept })
    }

    /// Sets the attribute bits of a file or directory: `EOPNOTSUPP` for bits that are not stored,
    /// and for other nodes.
    pub(crate) fn set_flags(&self, node: NodeKey, flags: StatxFlags) -> Result<(), Errno> {
        let inode = self.inode(node)?;
        if !KEPT_FLAGS.contains(flags) || !matches!(inode.kind(), FileType::Regular | FileType::Directory) {
            return Err(Errno::EOPNOTSUPP);
        }
        inode.lock().change(|record| {
            record.set_flags(flags);
            record.touch_ctime(self.now());
        });
        Ok(())
    }

    /// Returns the flags of a file or directory that users set: `ENOTTY` for other nodes.
    pub(crate) fn inode_flags(&self, node: NodeKey) -> Result<InodeFlags, Errno> {
        Ok(self.with_inode_flags(node)?.slot.record.inode_flags())
    }

    /// Sets the flags of a file or directory that users set: `ENOTTY` for other nodes, and
    /// `EOPNOTSUPP` for a flag that is not stored.
    pub(crate) fn set_inode_flags(&self, node: NodeKey, to: InodeFlags) -> Result<Attributes, Errno> {
        let inode = self.with_inode_flags(node)?;
        if !KEPT_INODE_FLAGS.contains(to) {
            return Err(Errno::EOPNOTSUPP);
        }
        inode.lock().change(|record| {
            record.set_inode_flags(to);
            record.touch_ctime(self.now());
        });
        Ok(self.attributes_of(inode))
    }

    fn with_inode_flags(&self, node: NodeKey) -> Result<Inode<'_>, Errno> {
        let inode = self.inode(node)?;
        let has_flags = matches!(inode.kind(), FileType::Regular | FileType::Directory);
        if has_flags { Ok(inode) } else { Err(Errno::ENOTTY) }
    }

    /// Frees a file's pages at and behind `size`; returns the number of pages left.
    fn cut_off(&self, file: &mut Locked<'_>, size: u64) -> Result<u64, Errno> {
        self.free(file, |pages| pages.truncate(size))?;
        let left = file.guarded.content.pages().count();
        file.tidy(&self.ledger);
        Ok(left)
    }

    /// Passes the entries of a directory behind a cookie to `each`.
    pub(crate) fn read_dir(
        &self,
        node: NodeKey,
        from: u64,
        each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<(), Errno> {
        self.inode(node)?.names()?.list(from, each);
        Ok(())
    }

    /// Passes the entries of a directory behind a cookie to `sink`, with the nodes that it wants.
    pub(crate) fn read_dir_with_nodes(&self, node: NodeKey, from: u64, sink: &mut EntrySink<'_>) -> Result<(), Errno> {
        let (mut text, mut held) = (Vec::new(), Vec::new());
        {
            // The names lead to their nodes as long as they are locked.
            let names = self.inode(node)?.names()?;
            names.list(from, &mut |entry| {
                let flow = sink.push(entry);
                let is_wanted = Name::new(entry.name).is_ok_and(|name| sink.wants(name));
                let hold = || self.held(self.inode(entry.key)?);
                if let Some(Ok(node)) = is_wanted.then(hold) {
                    let start = text.len();
                    text.extend_from_slice(entry.name);
                    held.push((start..text.len(), node));
                }
                flow
            });
        }
        let node = |(range, node): (Range<usize>, Held<'_>)| Ok((Name::new(&text[range])?, node.into_node()));
        let found: Vec<_> = held.into_iter().map(node).collect::<Result<_, Errno>>()?;
        sink.give(&found);
        Ok(())
    }

    /// Returns the limits and the free amounts; zeroes where there are no limits.
    pub(crate) fn statfs(&self) -> StatFs {
        let (blocks, blocks_free) = self.space.pages.limit_and_free();
        let (files, files_free) = self.space.nodes.limit_and_free();
        let name_max = NAME_MAX as u64;
        let mut stat = StatFs::default();
        stat.kind = TMPFS_MAGIC;
        stat.block_size = PAGE;
        stat.blocks = blocks;
        stat.blocks_free = blocks_free;
        stat.blocks_available = blocks_free;
        stat.files = files;
        stat.files_free = files_free;
        stat.name_max = name_max;
        stat
    }

    /// Returns the same, bounded by the quota of the project of a directory whose new nodes get it.
    pub(crate) fn statfs_of(&self, node: NodeKey) -> Result<StatFs, Errno> {
        let (project, mut stat) = (self.project(node)?, self.statfs());
        if project.scope == ProjectScope::NewNodes {
            self.bound_by_quota(&mut stat, project.id);
        }
        Ok(stat)
    }
}

/// Returns the number of bytes from an offset up to the greatest size of a file: `EFBIG` if none.
fn reach(offset: u64) -> Result<u64, Errno> {
    OFFSET_MAX.checked_sub(offset).filter(|reach| *reach > 0).ok_or(Errno::EFBIG)
}
