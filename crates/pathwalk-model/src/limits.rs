//! The limited resources: nodes and pages. Both are counted when there is a limit. Extended
//! attributes count as parts of nodes.
//!
//! A write that finds no room has already updated the times and cleared suid and sgid bits.
//!
//! What it does not do: on Linux, an open file without a name pins its former directory, so a
//! removed directory counts for longer.
//!
//! Source: `shmem_reserve_inode`, `shmem_xattr_handler_set`, `shmem_link`,
//! `shmem_inode_acct_blocks`, `shmem_symlink` of Linux.

use crate::Call;
use crate::errno::{Errno, Result};
use crate::node::{Body, Node, PAGE, State};

/// The length of the longest body of a link that takes no page, in bytes.
const SHORT_LINK: usize = 127;

/// Returns the number of pages that a node with this body takes.
fn pages(body: &Body) -> u64 {
    match body {
        Body::File { pages, .. } => pages.len() as u64,
        Body::Link { body, .. } => (body.len() > SHORT_LINK).into(),
        _ => 0,
    }
}

/// The bytes that a node counts as: `BOGO_INODE_SIZE`.
const NODE: u64 = 1024;

/// The bytes that an attribute counts as beside its name and value: the size of `struct
/// simple_xattr`.
const XATTR: u64 = 40;

/// Counts the bytes of the nodes, of each name of a node but the first, and of the attributes.
fn nodes(state: &State) -> u64 {
    let names = |body: &Body| match body {
        Body::Directory { .. } => 1,
        Body::File { links, .. } | Body::Link { links, .. } | Body::Special { links, .. } => (*links).max(1),
    };
    let room = |(name, value): (&Vec<u8>, &Vec<u8>)| xattr_room(name, value);
    let xattrs = |node: &Node| -> u64 { node.xattrs.iter().map(room).sum() };
    state.nodes().map(|node| u64::from(names(&node.body)) * NODE + xattrs(node)).sum()
}

fn xattr_room(name: &[u8], value: &[u8]) -> u64 {
    XATTR + name.len() as u64 + value.len() as u64
}

impl Call<'_> {
    /// Checks that there is room for one more attribute, also where it is to replace another:
    /// `ENOSPC`.
    pub(crate) fn room_for_xattr(&self, name: &[u8], value: &[u8]) -> Result<()> {
        self.room_for_bytes(xattr_room(name, value))
    }

    /// Checks that there is room for one more node, or one more name of a node: `ENOSPC`.
    pub(crate) fn room_for_node(&self) -> Result<()> {
        self.room_for_bytes(NODE)
    }

    fn room_for_bytes(&self, bytes: u64) -> Result<()> {
        match self.options.most_nodes {
            Some(most) if nodes(&self.state) + bytes > most * NODE => Err(Errno::ENOSPC),
            _ => Ok(()),
        }
    }

    /// Checks that there is room for a node with this body and its first pages: `ENOSPC`.
    pub(crate) fn room_for(&self, body: &Body) -> Result<()> {
        self.room_for_node()?;
        if self.pages_left() < pages(body) { Err(Errno::ENOSPC) } else { Ok(()) }
    }

    /// Returns the offset up to which a write to a file from `start` to `end` finds room.
    pub(crate) fn room_up_to(&self, file: &Node, start: u64, end: u64) -> u64 {
        let Body::File { pages, .. } = &file.body else { return start };
        let mut left = self.pages_left();
        for page in start / PAGE..end.div_ceil(PAGE) {
            if !pages.contains(&page) {
                if left == 0 {
                    return start.max(page * PAGE);
                }
                left -= 1;
            }
        }
        end
    }

    pub(crate) fn pages_left(&self) -> u64 {
        let used = || self.state.nodes().map(|node| pages(&node.body)).sum();
        self.options.most_pages.map_or(u64::MAX, |most| most.saturating_sub(used()))
    }
}
