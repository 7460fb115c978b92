//! A branch that is held: what is changed in it is in memory, and its data in another store, until
//! it is settled.
//!
//! So a branch that is dropped or committed soon is never stored with its changes, and data that is
//! elsewhere already is not copied.
//!
//! What always holds: the store has a held branch as it was before. No row of a store refers to
//! data that is in another one.

use std::ops::Range;
use std::sync::Arc;

use pathwalk::limits::OFFSET_MAX;
use pathwalk::{Errno, NodeKey};

use super::data::check_data;
use super::{Inner, Shared, record_mut};
use crate::blobs::{Blob, BlobId, BlobStore, LONGEST};
use crate::error::Error;
use crate::extents::ExtentsMut;
use crate::rows::{self, Extent, Row, Tag, What};
use crate::tree::Tree;
use crate::{Branch, Branches};

impl Branches {
    /// Holds a branch: from now on it is not stored, and data that is written to it goes to this
    /// store. [`commit`](Self::commit), [`drop`](Self::drop) and [`diff`](Self::diff) are as ever.
    /// After a crash, or when this list is dropped, the branch is as it was before.
    /// [`settle`](Self::settle) ends it; until then the branch cannot be forked or copied (`EBUSY`).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::{BlobStore, Branches, DiskStore, MemoryBlobs, Options};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # let dir = tempfile::tempdir()?;
    /// # let dir = dir.path();
    /// let base = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let branches = Branches::open(base.clone(), Options::default(), DiskStore::open(dir)?)?;
    /// let branch = branches.fork(None, "work")?;
    /// let data = Arc::new(MemoryBlobs::default());
    /// branches.hold("work", data.clone())?;
    /// let work = Vfs::builder().build(branch.clone())?.context(Credentials::root());
    /// work.write("/written", "text")?;
    ///
    /// // Data that is in that store is shown where it is.
    /// let text = data.put(b"elsewhere")?;
    /// work.write("/shown", "")?;
    /// branch.show(work.stat("/shown")?.ino, text, &[0..9], 9)?;
    /// assert_eq!(work.read_to_string("/shown")?, "elsewhere");
    ///
    /// branches.settle("work")?;
    /// drop((branches, branch, work));
    /// let branches = Branches::open(base, Options::default(), DiskStore::open(dir)?)?;
    /// let work = Vfs::builder().build(branches.get("work")?)?.context(Credentials::root());
    /// assert_eq!(work.read_to_string("/written")? + &work.read_to_string("/shown")?, "textelsewhere");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hold(&self, name: &str, data: Arc<dyn BlobStore>) -> Result<(), Error> {
        *self.get(name)?.0.held.write() = Some(data);
        Ok(())
    }

    /// Stores a held branch, with all its data. If that fails, the branch is still held.
    ///
    /// [`hold`](Self::hold) has an example.
    pub fn settle(&self, name: &str) -> Result<(), Error> {
        let branch = self.get(name)?;
        branch.0.take_data_over().map_err(|errno| Error::Store { action: "store the data of the branch", errno })?;
        branch.0.sync()
    }
}

impl Branch {
    /// Shows bytes of a blob, of the store that a held branch has, in a regular file of this number
    /// (`st_ino`): in each of these ranges those at the same offsets. The file has at least this
    /// size then. `EINVAL` if the branch is not held.
    ///
    /// It checks no rights, and reads nothing. [`Branches::hold`] has an example.
    pub fn show(&self, node: u64, blob: BlobId, ranges: &[Range<u64>], size: u64) -> Result<(), Errno> {
        self.0.show(node, blob, ranges, size)
    }
}

impl Inner {
    /// Returns the store to which data is written while the branch is held.
    pub(super) fn held_data(&self) -> Option<Arc<dyn BlobStore>> {
        self.held.read().clone()
    }

    /// Returns the store to which data is written.
    pub(super) fn data(&self) -> Arc<dyn BlobStore> {
        self.held_data().unwrap_or_else(|| Arc::clone(&self.shared.store))
    }

    pub(crate) fn is_held_back(&self) -> bool {
        self.held.read().is_some()
    }

    fn show(&self, number: u64, blob: BlobId, ranges: &[Range<u64>], size: u64) -> Result<(), Errno> {
        {
            let tree = &mut *self.lock();
            let data = self.held_data().ok_or(Errno::EINVAL)?;
            check_data(self.kind(tree, number)?)?;
            if size > OFFSET_MAX || ranges.iter().any(|range| range.end > size) {
                return Err(Errno::EFBIG);
            }
            self.copy_up(tree, number)?;
            self.keep_text(tree, number)?;
            let blob = Blob::kept(&data, blob);
            for range in ranges {
                let what = What::Blob(blob.clone(), range.start);
                self.change_extents(tree, number, range.clone(), |extents| extents.replace(range.clone(), Some(what)))?;
            }
            let now = self.shared.now();
            let record = record_mut(tree, number)?;
            record.attributes.size = record.attributes.size.max(size);
            record.touch(now);
        }
        let key = NodeKey(number.into());
        self.notify(|notifier| notifier.invalidate_data(key));
        self.notify(|notifier| notifier.invalidate_attributes(key));
        Ok(())
    }

    /// Copies all data to the store of the branches, and ends the hold.
    fn take_data_over(&self) -> Result<(), Errno> {
        let tree = &mut *self.lock();
        let own = &self.shared.store;
        let is_elsewhere = |row: &Row| matches!(row, Row::Extent(Extent { what: What::Blob(blob, _), .. }) if !blob.is_in(own));
        let elsewhere: Vec<_> =
            tree.range(b"").filter(|(_, row)| is_elsewhere(row)).map(|(key, row)| (key.clone(), row.clone())).collect();
        for (key, row) in elsewhere {
            if let Row::Extent(Extent { length, what: What::Blob(blob, from) }) = row {
                copy(tree, &key, (&blob, from, length), &self.shared)?;
            }
        }
        *self.held.write() = None;
        Ok(())
    }
}

/// Copies the data of one extent, or of one text, to the store of the branches.
fn copy(tree: &mut Tree<Row>, key: &[u8], (blob, from, length): (&Blob, u64, u64), shared: &Shared) -> Result<(), Errno> {
    let (number, tag, rest) = rows::parts(key).ok_or(Errno::EIO)?;
    let mut buffer = vec![0; length.min(LONGEST) as usize];
    if tag != Tag::Extent {
        // A text is one blob.
        buffer.resize(length as usize, 0);
        blob.read(from, &mut buffer)?;
        let what = What::Blob(Blob::new(&shared.store, &buffer)?, 0);
        tree.insert(key, Row::Extent(Extent { length, what }));
        return Ok(());
    }
    let start = rows::offset(rest).ok_or(Errno::EIO)?;
    for done in (0..length).step_by(LONGEST as usize) {
        let part = &mut buffer[..(length - done).min(LONGEST) as usize];
        blob.read(from + done, part)?;
        shared.write(&mut ExtentsMut::new(tree, number), part, start + done)?;
    }
    Ok(())
}
