//! The data of files: reading, writing, and what `lseek` finds.
//!
//! A file that was not changed is read from the base as it is. Of one that was, each extent says
//! where its bytes are. Bytes of the base are read only as long as the base's file is as it was
//! when it was copied: else a read of them is `ESTALE`, since they would be mixed with those of
//! another version.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use pathwalk::limits::OFFSET_MAX;
use pathwalk::security::NodeId;
use pathwalk::{Errno, File, FileType, Handle, WriteAt, Written};

use super::{Inner, record, record_mut};
use crate::base::Base;
use crate::extents::{Extents, ExtentsMut, PAGE, Segments};
use crate::origin::Origin;
use crate::rows::{Record, Row, What};
use crate::tree::Tree;

/// The blocks of 512 bytes of a page.
pub(super) const PAGE_BLOCKS: u64 = 8;

/// The number of files of the base that an open file keeps open. A file shows more than one only
/// after data was copied into it from other files.
const MOST_OPEN: usize = 4;

/// The open files of the base behind one open file. They are opened when they are first read.
#[derive(Default)]
pub(crate) struct BaseFiles(Mutex<Vec<(NodeId, Arc<File>)>>);

impl BaseFiles {
    pub(crate) fn get(&self, base: &Base, node: &Handle) -> Result<Arc<File>, Errno> {
        let id = node.node_id();
        let mut files = self.0.lock();
        if let Some((_, file)) = files.iter().find(|(of, _)| *of == id) {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(base.open(node)?);
        files.truncate(MOST_OPEN - 1);
        files.insert(0, (id, Arc::clone(&file)));
        Ok(file)
    }

    /// Reads bytes of the file as it was when it was copied: `ESTALE` if it was changed since.
    pub(super) fn read(&self, base: &Base, origin: &Origin, buffer: &mut [u8], offset: u64) -> Result<(), Errno> {
        let file = self.get(base, &origin.handle(base)?)?;
        let mut filled = 0;
        while filled < buffer.len() {
            match file.read_at(&mut buffer[filled..], offset + filled as u64)? {
                0 => return Err(Errno::ESTALE),
                bytes => filled += bytes,
            }
        }
        // What was read before was of the version that is there now.
        base.check_unchanged(origin)
    }
}

/// The finder of data in files of the base.
pub(super) struct OfBase<'a>(pub(super) &'a BaseFiles, pub(super) &'a Base);

impl Segments for OfBase<'_> {
    fn first_in(&mut self, origin: &Arc<Origin>, range: Range<u64>) -> Result<Option<Range<u64>>, Errno> {
        let file = self.0.get(self.1, &origin.handle(self.1)?)?;
        let data = match file.seek_data(range.start) {
            Ok(data) if data < range.end => data,
            Ok(_) | Err(Errno::ENXIO) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        let end = file.seek_hole(data).unwrap_or(range.end).min(range.end);
        Ok(Some(data..end))
    }
}

impl Inner {
    /// Fills the buffer from `offset` on, up to the end of the file.
    pub(crate) fn read(&self, files: &BaseFiles, number: u64, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let tree = self.tree.read();
        self.read_in(&tree, files, number, buffer, offset)
    }

    /// Does the same if no thread changes the branch, and all data is in the store: else `EAGAIN`.
    pub(crate) fn try_read(&self, files: &BaseFiles, number: u64, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let tree = self.tree.try_read().ok_or(Errno::EAGAIN)?;
        let range = offset..offset.saturating_add(buffer.len() as u64);
        let shows_base = || Extents::new(&tree, number).within(range).any(|(_, what)| matches!(what, What::Base(..)));
        if record(&tree, number).is_none() || shows_base() {
            return Err(Errno::EAGAIN);
        }
        self.read_in(&tree, files, number, buffer, offset)
    }

    /// Does the same in a given state of the branch.
    pub(crate) fn read_in(
        &self,
        tree: &Tree<Row>,
        files: &BaseFiles,
        number: u64,
        buffer: &mut [u8],
        offset: u64,
    ) -> Result<usize, Errno> {
        let base = &self.shared.base;
        let Some(record) = record(tree, number) else {
            return files.get(base, &self.base_of(number)?)?.read_at(buffer, offset);
        };
        check_data(record.kind())?;
        let left = record.attributes.size.saturating_sub(offset);
        let length = buffer.len().min(left.try_into().unwrap_or(usize::MAX));
        let buffer = &mut buffer[..length];
        buffer.fill(0);
        for (part, what) in Extents::new(tree, number).within(offset..offset + length as u64) {
            let target = &mut buffer[(part.start - offset) as usize..(part.end - offset) as usize];
            match what {
                What::Blob(blob, from) => blob.read(from, target)?,
                What::Base(origin, from) => files.read(base, &origin, target, from)?,
                What::Zeroes | What::Reserved => {}
            }
        }
        Ok(length)
    }

    /// Writes data: `EFBIG` at and behind the greatest size, `ENOSPC`.
    pub(crate) fn write(&self, number: u64, data: &[u8], at: WriteAt) -> Result<Written, Errno> {
        let tree = &mut *self.lock();
        check_data(self.kind(tree, number)?)?;
        let offset = self.offset_of(tree, number, at)?;
        if data.is_empty() {
            return Ok(Written { bytes: 0, end: offset });
        }
        let reach = reach(offset)?;
        let data = &data[..data.len().min(reach.try_into().unwrap_or(usize::MAX))];
        let end = offset + data.len() as u64;
        self.copy_up(tree, number)?;
        self.keep_text(tree, number)?;
        let held = self.held_data();
        self.change_extents(tree, number, offset..end, |extents| match &held {
            Some(held) => extents.write(data, offset, held),
            None => self.shared.write(extents, data, offset),
        })??;
        let now = self.shared.now();
        let record = record_mut(tree, number)?;
        record.attributes.size = record.attributes.size.max(end);
        record.touch(now);
        Ok(Written { bytes: data.len(), end })
    }

    /// Returns the error that a write would fail with before it changes anything: `EFBIG`.
    pub(crate) fn check_write(&self, number: u64, length: usize, at: WriteAt) -> Result<(), Errno> {
        let tree = self.tree.read();
        check_data(self.kind(&tree, number)?)?;
        let offset = self.offset_of(&tree, number, at)?;
        if length == 0 { Ok(()) } else { reach(offset).map(drop) }
    }

    fn offset_of(&self, tree: &Tree<Row>, number: u64, at: WriteAt) -> Result<u64, Errno> {
        match at {
            WriteAt::Offset(offset) => Ok(offset),
            WriteAt::End => Ok(self.attributes(tree, number)?.size),
        }
    }

    pub(crate) fn seek_data(&self, files: &BaseFiles, number: u64, offset: u64) -> Result<u64, Errno> {
        let (tree, base) = (self.tree.read(), &self.shared.base);
        match record(&tree, number) {
            Some(record) => Extents::new(&tree, number).seek_data(offset, record.attributes.size, &mut OfBase(files, base)),
            None => files.get(base, &self.base_of(number)?)?.seek_data(offset),
        }
    }

    pub(crate) fn seek_hole(&self, files: &BaseFiles, number: u64, offset: u64) -> Result<u64, Errno> {
        let (tree, base) = (self.tree.read(), &self.shared.base);
        match record(&tree, number) {
            Some(record) => Extents::new(&tree, number).seek_hole(offset, record.attributes.size, &mut OfBase(files, base)),
            None => files.get(base, &self.base_of(number)?)?.seek_hole(offset),
        }
    }

    pub(crate) fn is_regular(&self, number: u64) -> bool {
        self.kind(&self.tree.read(), number).is_ok_and(|kind| kind == FileType::Regular)
    }

    /// Changes the extents of a node in a range, whose attributes the tree has, and counts its
    /// pages.
    pub(crate) fn change_extents<R>(
        &self,
        tree: &mut Tree<Row>,
        number: u64,
        range: Range<u64>,
        change: impl FnOnce(&mut ExtentsMut<'_>) -> R,
    ) -> Result<R, Errno> {
        let range = range.start / PAGE * PAGE..range.end.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX);
        let mut extents = ExtentsMut::new(tree, number);
        let before = extents.shared().pages_in(range.clone());
        let result = change(&mut extents);
        let after = extents.shared().pages_in(range);
        let record = record_mut(tree, number)?;
        record.pages.own = record.pages.own + after.own - before.own;
        record.pages.of_base = record.pages.of_base + after.of_base - before.of_base;
        record.attributes.blocks = blocks(record);
        Ok(result)
    }
}

/// Returns the number of blocks of 512 bytes that a file takes. Of a file of the base that is
/// sparse and was changed in parts, it is not known which blocks are left: it is a bound then.
fn blocks(record: &Record) -> u64 {
    let of_base = record.pages.of_base * PAGE_BLOCKS;
    let Some(origin) = &record.origin else { return record.pages.own * PAGE_BLOCKS + of_base };
    let all = origin.attributes.size.div_ceil(PAGE);
    let is_whole = all > 0 && record.pages.of_base == all;
    let of_base = if is_whole { origin.attributes.blocks } else { of_base.min(origin.attributes.blocks) };
    record.pages.own * PAGE_BLOCKS + of_base
}

/// Checks that a node of this type has data: `EISDIR`, `EINVAL`.
pub(super) fn check_data(kind: FileType) -> Result<(), Errno> {
    match kind {
        FileType::Regular => Ok(()),
        FileType::Directory => Err(Errno::EISDIR),
        _ => Err(Errno::EINVAL),
    }
}

/// Returns the number of bytes from an offset up to the greatest size of a file: `EFBIG` if none.
fn reach(offset: u64) -> Result<u64, Errno> {
    OFFSET_MAX.checked_sub(offset).filter(|reach| *reach > 0).ok_or(Errno::EFBIG)
}
