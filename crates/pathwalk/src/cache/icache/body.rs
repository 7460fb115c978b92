//! The bodies of links, which lie in side lines.

use super::inode;
use crate::attr::FileType;
use crate::cache::Caches;
use crate::cache::reclaim::Short;
use crate::limits::LINK_MAX;
use crate::memory::side::{Chain, ChainReader};
use crate::memory::slot::{DentryId, InodeId};
use crate::node::Node;
use crate::sync::Ordering;

/// The body of a link, stored for an inode that is about to be made; given back if none is.
pub(crate) struct StoredBody<'a> {
    caches: &'a Caches,
    chain: Chain,
}

impl StoredBody<'_> {
    /// Returns the chain, which belongs to the inode from now on. Its tag is the inode's alias.
    pub(crate) fn into_chain_of(self, alias: DentryId) -> Chain {
        let chain = self.chain;
        self.caches.side.set_tag(chain, alias.0);
        std::mem::forget(self);
        chain
    }
}

impl Drop for StoredBody<'_> {
    fn drop(&mut self) {
        self.caches.side.release(self.chain);
    }
}

impl Caches {
    /// Stores a link's body in side lines. Returns `None` if there is no body to cache, or no room
    /// for it; then the file system is asked each time. Evicts at most a few dentries to make room.
    pub(crate) fn store_body(&self, node: &Node) -> Option<StoredBody<'_>> {
        const TRIES: usize = 8;
        let body = node.link_body.as_deref()?;
        let fit = node.attributes.kind == FileType::Symlink && (1..=LINK_MAX).contains(&body.len()) && !body.contains(&0);
        let stored = || self.side.store(body).map(|chain| StoredBody { caches: self, chain });
        let evicted = || self.evict_one(Short::SideLines).then(stored).flatten();
        fit.then(stored).flatten().or_else(|| (0..TRIES).filter(|_| fit).find_map(|_| evicted()))
    }

    /// Returns the cached body of a link. The result is valid if the inode is pinned, or is found
    /// unchanged afterwards.
    pub(crate) fn copy_body(&self, id: InodeId) -> Vec<u8> {
        let record = self.inodes.record(id);
        let length = inode::body_length(record[inode::MIXED].load(Ordering::Relaxed));
        let chain = inode::aux_of(record[inode::LINKS_AUX].load(Ordering::Relaxed));
        let text = ChainReader::new(self.side.lines(), chain);
        let mut body: Vec<u8> = (0..length.div_ceil(8)).flat_map(|at| text.word(at).to_le_bytes()).collect();
        body.truncate(length);
        body
    }
}
