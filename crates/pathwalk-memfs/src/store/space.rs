//! The limited resources: pages of data and nodes.
//!
//! Extended attributes take room of the nodes' limit, byte by byte, as on a tmpfs: a node is 1024
//! of these bytes.
//!
//! Room is taken before anything is created, and given back when a node or a page is freed. So an
//! operation that finds no room has changed nothing.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pathwalk::Errno;

/// The bytes of a node in the nodes' limit: `BOGO_INODE_SIZE` of Linux.
const NODE: u64 = 1024;

/// The used amounts, and the limits.
pub(crate) struct Space {
    pub(crate) pages: Quota,
    /// Each node, and each name but the first, as tmpfs counts. Counted only if there is a limit.
    pub(crate) nodes: Quota,
}

/// One limited resource.
pub(crate) struct Quota {
    /// The limit in parts; `None` if only memory limits the resource.
    limit: Option<u64>,
    /// The used amount, in parts.
    used: AtomicU64,
    /// The number of parts of one: of which a part can be taken, too.
    parts: u64,
}

impl Space {
    pub(crate) fn new(pages: Option<u64>, nodes: Option<u64>) -> Space {
        Space { pages: Quota::new(pages, 1), nodes: Quota::new(nodes, NODE) }
    }

    /// Takes room for one node and its first pages, or none of it: `ENOSPC`.
    pub(crate) fn take_node(&self, pages: u64) -> Result<(), Errno> {
        self.nodes.take_if_limited()?;
        if pages > 0 {
            self.pages.take(pages).inspect_err(|_| self.nodes.give_if_limited())?;
        }
        Ok(())
    }

    /// Gives back the room of a node with so many pages.
    pub(crate) fn give_node(&self, pages: u64) {
        self.nodes.give_if_limited();
        if pages > 0 {
            self.pages.give(pages);
        }
    }

    /// Takes this many bytes of the nodes' limit, if there is one: `ENOSPC`.
    pub(crate) fn take_bytes(&self, bytes: u64) -> Result<(), Errno> {
        if self.nodes.limit.is_some() { self.nodes.take_parts(bytes) } else { Ok(()) }
    }

    /// Gives bytes of the nodes' limit back, if there is one.
    pub(crate) fn give_bytes(&self, bytes: u64) {
        if self.nodes.limit.is_some() {
            self.nodes.used.fetch_sub(bytes, Relaxed);
        }
    }
}

impl Quota {
    fn new(limit: Option<u64>, parts: u64) -> Quota {
        Quota { limit: limit.map(|limit| limit.saturating_mul(parts)), used: AtomicU64::new(0), parts }
    }

    /// Takes this many or none: `ENOSPC`.
    pub(crate) fn take(&self, count: u64) -> Result<(), Errno> {
        self.take_parts(count.saturating_mul(self.parts))
    }

    fn take_parts(&self, count: u64) -> Result<(), Errno> {
        let Some(limit) = self.limit else {
            self.used.fetch_add(count, Relaxed);
            return Ok(());
        };
        let fits = |used: u64| used.checked_add(count).filter(|used| *used <= limit);
        self.used.fetch_update(Relaxed, Relaxed, fits).map(drop).map_err(|_| Errno::ENOSPC)
    }

    pub(crate) fn take_if_limited(&self) -> Result<(), Errno> {
        if self.limit.is_some() { self.take(1) } else { Ok(()) }
    }

    pub(crate) fn give_if_limited(&self) {
        if self.limit.is_some() {
            self.give(1);
        }
    }

    /// Takes one for the root, whatever the limit is.
    pub(crate) fn take_root(&self) {
        self.used.fetch_add(self.parts, Relaxed);
    }

    pub(crate) fn give(&self, count: u64) {
        self.used.fetch_sub(count * self.parts, Relaxed);
    }

    pub(crate) fn used(&self) -> u64 {
        self.used.load(Relaxed) / self.parts
    }

    /// Returns the limit, if there is one.
    pub(crate) fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Returns the limit and the free amount; both 0 without a limit.
    pub(crate) fn limit_and_free(&self) -> (u64, u64) {
        let free = |limit: u64| limit.saturating_sub(self.used.load(Relaxed));
        self.limit.map_or((0, 0), |limit| (limit / self.parts, free(limit) / self.parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_or_nothing() {
        let space = Space::new(Some(2), Some(3));
        assert_eq!(space.take_node(3), Err(Errno::ENOSPC));
        assert_eq!((space.pages.used(), space.nodes.used()), (0, 0));
        assert_eq!([space.take_node(2), space.take_node(0), space.take_node(1)], [Ok(()), Ok(()), Err(Errno::ENOSPC)]);
        assert_eq!((space.pages.limit_and_free(), space.nodes.limit_and_free()), ((2, 0), (3, 1)));
        space.give_node(2);
        assert_eq!((space.pages.limit_and_free(), space.nodes.limit_and_free()), ((2, 2), (3, 2)));
        let endless = Space::new(None, None);
        assert_eq!((endless.take_node(u64::MAX), endless.pages.limit_and_free()), (Ok(()), (0, 0)));
    }
}
