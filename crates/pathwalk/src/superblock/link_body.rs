//! The body of a link, from the cache or from the file system.

use super::Trees;
use super::miss::Trust;
use crate::Errno;
use crate::cache::Pinned;
use crate::cache::dcache::dentry;
use crate::cache::icache::inode::{self, flags};
use crate::fs_api::Directory;
use crate::limits::LINK_MAX;
use crate::memory::dir_lock;
use crate::memory::slot::DentryId;
use crate::node::NodeKey;
use crate::sync::Ordering;
use crate::text::Name;

impl Trees {
    /// Returns the body of a link on which the caller has a pin, from the cache or the file system.
    /// `EAGAIN` if the file system would have to be asked, and `trust` forbids that.
    pub(crate) fn link_body(&self, link: DentryId, trust: Trust) -> Result<Vec<u8>, Errno> {
        let id = self.caches.dentries.inode(link);
        let record = self.caches.inodes.record(id);
        let word = record[inode::WORD].load(Ordering::Relaxed);
        if word & flags::HAS_BODY != 0 {
            return Ok(self.caches.copy_body(id));
        }
        if trust == Trust::CacheOnly {
            return Err(Errno::EAGAIN);
        }
        let key = inode::key_of(record);
        let body = if word & flags::BODY_LEFT_OUT != 0 {
            self.look_up_body(link, key)?
        } else {
            self.superblock(id).fs.read_link(key)?
        };
        let fits = body.len() <= LINK_MAX && !body.contains(&0);
        if fits { Ok(body.into_vec()) } else { Err(Errno::EIO) }
    }

    /// Returns the body that came with a node when its name was looked up, but found no room in the
    /// cache: the name is looked up again. If the name no longer leads to this node, the file
    /// system is asked by `read_link`, as for a link that came without a body.
    fn look_up_body(&self, link: DentryId, key: NodeKey) -> Result<Box<[u8]>, Errno> {
        let superblock = self.superblock_at(link);
        loop {
            let dir = Pinned::new(&self.caches, self.caches.pin_parent(link));
            let _names = dir_lock::shared(self.caches.dentries.lock(dir.id()));
            if self.caches.dentries.parent(link) != dir.id() {
                continue;
            }
            if self.caches.dentries.word(link) & dentry::flags::UNHASHED != 0 {
                return superblock.fs.read_link(key);
            }
            let name = self.caches.name_of(self.caches.dentries.line(link));
            superblock.looked_up();
            let Some(node) = superblock.fs.lookup(&Directory::new(&self.caches, dir.id()), Name::new(&name)?)? else {
                return superblock.fs.read_link(key);
            };
            superblock.fs.forget(node.key);
            return match node.link_body {
                Some(body) if node.key == key => Ok(body),
                _ => superblock.fs.read_link(key),
            };
        }
    }
}
