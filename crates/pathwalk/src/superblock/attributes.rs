//! Reads of attributes that are up to date, and changes of attributes.

use super::Trees;
use crate::Errno;
use crate::attr::Attributes;
use crate::cache::icache::inode::{self, WORD, attributes_of, flags, of_type};
use crate::cache::icache::snapshot::words;
use crate::cache::icache::store::IfMoved;
use crate::memory::slot::InodeId;
use crate::node::SetAttributes;
use crate::sync::{Ordering, yield_now};

impl Trees {
    /// Asks the file system for the attributes of an inode on which the caller has a pin, and
    /// stores them. `ESTALE` if they are those of a node of another type.
    pub(crate) fn refresh(&self, id: InodeId) -> Result<Attributes, Errno> {
        let record = self.caches.inodes.record(id);
        let kind = inode::kind_of(record[WORD].load(Ordering::Relaxed));
        let superblock = self.superblock(id);
        loop {
            let version = self.caches.versions.of(id);
            let attributes = of_type(kind, superblock.fs.attributes(inode::key_of(record))?)?;
            if self.caches.store(id, &attributes, version, IfMoved::Refuse) {
                return Ok(attributes);
            }
        }
    }

    /// Sets attributes through the file system.
    pub(crate) fn set_attributes(&self, id: InodeId, set: &SetAttributes) -> Result<Attributes, Errno> {
        let record = self.caches.inodes.record(id);
        let kind = inode::kind_of(record[WORD].load(Ordering::Relaxed));
        // Readers of the data see a new size. Other attributes are seen only through this code.
        let under_way = set.size.is_some().then(|| self.caches.under_way(id));
        let before = self.caches.versions.of(id);
        let attributes = of_type(kind, self.superblock(id).fs.set_attributes(inode::key_of(record), set)?)?;
        self.caches.versions.set_one();
        match under_way {
            Some(under_way) => drop(under_way),
            None => self.caches.versions.moved(id),
        }
        // The change is done. If the refresh fails, the attributes that the change returned are the
        // best available.
        Ok(self.refresh(id).unwrap_or_else(|_| {
            self.caches.store(id, &attributes, before.wrapping_add(1), IfMoved::MarkStale);
            attributes
        }))
    }

    /// Returns the attributes of an inode on which the caller has a pin, up to date.
    pub(crate) fn stat(&self, id: InodeId) -> Result<Attributes, Errno> {
        loop {
            match words(&self.caches, id) {
                Some(words) if words[WORD] & flags::STALE == 0 => return Ok(attributes_of(&words)),
                Some(_) => return self.refresh(id),
                None => yield_now(),
            }
        }
    }

    /// Returns attributes of which type, mode and owner are up to date.
    pub(crate) fn kept_attributes(&self, id: InodeId) -> Result<Attributes, Errno> {
        self.known_snapshot(id)?;
        loop {
            if let Some(words) = words(&self.caches, id) {
                return Ok(attributes_of(&words));
            }
            yield_now();
        }
    }
}
