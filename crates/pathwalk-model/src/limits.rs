//! What may be used up: nodes and pages. Both are counted when there is a limit.
//!
//! A write that finds no room has moved the times and taken suid and sgid bits away by then.
//!
//! What it does not do: a file that is open and has no name any more holds the directory that it was
//! in on Linux, so that a removed one counts for longer.
//!
//! Source: `shmem_reserve_inode`, `shmem_link`, `shmem_inode_acct_blocks`, `shmem_symlink` of
//! Linux.

use crate::Call;
use crate::errno::{Errno, Result};
use crate::node::{Body, Node, PAGE, State};

/// The longest text of a link that takes no page, in bytes.
const SHORT_LINK: usize = 127;

/// Returns how many pages a node of this body takes.
fn pages(body: &Body) -> u64 {
    match body {
        Body::File { pages, .. } => pages.len() as u64,
        Body::Link { body, .. } => (body.len() > SHORT_LINK).into(),
        _ => 0,
    }
}

/// Counts nodes, and each name of one but the first.
fn nodes(state: &State) -> u64 {
    let names = |body: &Body| match body {
        Body::Directory { .. } => 1,
        Body::File { links, .. } | Body::Link { links, .. } | Body::Special { links, .. } => (*links).max(1),
    };
    state.nodes().map(|node| u64::from(names(&node.body))).sum()
}

impl Call<'_> {
    /// Says whether there is room for one more node, or a further name of one: `ENOSPC`.
    pub(crate) fn room_for_node(&self) -> Result<()> {
        match self.options.most_nodes {
            Some(most) if nodes(&self.state) >= most => Err(Errno::ENOSPC),
            _ => Ok(()),
        }
    }

    /// Says the same of a node of this body, with its first pages.
    pub(crate) fn room_for(&self, body: &Body) -> Result<()> {
        self.room_for_node()?;
        if self.pages_left() < pages(body) { Err(Errno::ENOSPC) } else { Ok(()) }
    }

    /// Says how far a write to a file from `start` to `end` finds room.
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

    fn pages_left(&self) -> u64 {
        let used = || self.state.nodes().map(|node| pages(&node.body)).sum();
        self.options.most_pages.map_or(u64::MAX, |most| most.saturating_sub(used()))
    }
}
