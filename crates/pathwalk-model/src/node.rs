//! The state: nodes and open files, in maps.
//!
//! Invariants: a name leads to a node that is there. A directory has one name, or none once it is removed. A node is there as long
//! as it has a name or a pin; pins are held by open files, by processes' places, and by removed directories on their parents,
//! since `..` leads there still.
//!
//! Nodes and open files are numbered by the process that made them, so that calls of two processes that commute give equal states.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::acl::AclEntry;
use crate::errno::{Errno, Result};
use crate::flags::{NodeFlags, OpenFlags};
use crate::limits::{PAGE, pages};
use crate::process::CredentialsId;

/// The name of a node or an open file that never changes: which process made it, and as its how manyeth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    /// The process, from 1; 0 for the root directory.
    pub process: u32,
    /// Counted from 1.
    pub number: u32,
}

/// The root of the tree.
pub(crate) const ROOT: Id = Id { process: 0, number: 0 };

/// When a node was last read or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stamp {
    /// Set by the clock, which stood there: see [`Model::set_clock`](crate::Model::set_clock).
    Clock(u32),
    /// Set by `utimensat`.
    Set {
        /// Since 1970.
        seconds: i64,
        /// 0..=999,999,999.
        nanoseconds: u32,
    },
}

/// The type of a node with what only that type has.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Body {
    Directory {
        entries: BTreeMap<Vec<u8>, Id>,
        parent: Id,
        removed: bool,
    },
    /// `pages` are those that were written to.
    File {
        data: Vec<u8>,
        pages: BTreeSet<u64>,
        links: u32,
        tmpfile: Tmpfile,
    },
    Link {
        body: Vec<u8>,
        links: u32,
    },
    Special {
        kind: Special,
        device: u32,
        links: u32,
    },
}

/// Whether a file without a name may get one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Tmpfile {
    Linkable,
    No,
}

/// Nodes that a kernel has to stand behind.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    CharDevice,
    BlockDevice,
    Fifo,
    Socket,
}

impl Special {
    pub(crate) fn file_type(self) -> u32 {
        match self {
            Special::CharDevice => libc::S_IFCHR,
            Special::BlockDevice => libc::S_IFBLK,
            Special::Fifo => libc::S_IFIFO,
            Special::Socket => libc::S_IFSOCK,
        }
    }

    pub(crate) fn is_device(self) -> bool {
        matches!(self, Special::CharDevice | Special::BlockDevice)
    }
}

/// A file, directory, link or special node. `mode` has the lower twelve bits only.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub(crate) body: Body,
    pub(crate) mode: u32,
    /// Empty: none.
    pub(crate) acl: Vec<AclEntry>,
    pub(crate) flags: NodeFlags,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) accessed: Stamp,
    pub(crate) modified: Stamp,
    pub(crate) changed: Stamp,
    pub(crate) born: Stamp,
    pub(crate) pins: u32,
}

impl Body {
    /// Returns that of a file without data.
    pub(crate) fn empty_file(links: u32, tmpfile: Tmpfile) -> Body {
        Body::File { data: Vec::new(), pages: BTreeSet::new(), links, tmpfile }
    }
}

impl Node {
    /// Returns one without names, lists or bits, all of whose times are `now`.
    pub(crate) fn new(body: Body, mode: u32, (uid, gid): (u32, u32), now: Stamp) -> Node {
        let (acl, flags) = (Vec::new(), NodeFlags::empty());
        Node { body, mode, acl, flags, uid, gid, accessed: now, modified: now, changed: now, born: now, pins: 0 }
    }

    pub(crate) fn is_directory(&self) -> bool {
        matches!(self.body, Body::Directory { .. })
    }

    pub(crate) fn is_file(&self) -> bool {
        matches!(self.body, Body::File { .. })
    }

    pub(crate) fn is_removed_directory(&self) -> bool {
        matches!(self.body, Body::Directory { removed: true, .. })
    }

    /// What a link says.
    pub(crate) fn link_body(&self) -> Option<&[u8]> {
        match &self.body {
            Body::Link { body, .. } => Some(body),
            _ => None,
        }
    }

    /// The type's bits of `st_mode`.
    pub(crate) fn file_type(&self) -> u32 {
        match &self.body {
            Body::Directory { .. } => libc::S_IFDIR,
            Body::File { .. } => libc::S_IFREG,
            Body::Link { .. } => libc::S_IFLNK,
            Body::Special { kind, .. } => kind.file_type(),
        }
    }

    /// Bytes of a file or of a link's body; 20 for each name in a directory, `.` and `..` among them, as tmpfs counts.
    pub(crate) fn size(&self) -> u64 {
        match &self.body {
            Body::Directory { entries, .. } => 20 * (2 + entries.len() as u64),
            Body::File { data, .. } => data.len() as u64,
            Body::Link { body, .. } => body.len() as u64,
            Body::Special { .. } => 0,
        }
    }

    /// Returns how many blocks of 512 bytes it takes: a page for each that was written, and one for
    /// a link's body over 127 bytes, as on a tmpfs.
    pub(crate) fn blocks(&self) -> u64 {
        pages(&self.body) * (PAGE / 512)
    }

    /// The count of names of what is no directory.
    pub(crate) fn links_mut(&mut self) -> Option<&mut u32> {
        match &mut self.body {
            Body::Directory { .. } => None,
            Body::File { links, .. } | Body::Link { links, .. } | Body::Special { links, .. } => Some(links),
        }
    }
}

/// What `open` makes; descriptors of several processes may share one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct OpenFile {
    pub(crate) node: Id,
    pub(crate) flags: OpenFlags,
    /// In bytes, at most `i64::MAX`.
    pub(crate) offset: u64,
    /// Whose credentials it was opened with: `linkat` asks.
    pub(crate) opener: CredentialsId,
    pub(crate) descriptors: u32,
}

/// Everything behind the lock.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// Shared with copies of the state until changed: copying is cheap.
    nodes: BTreeMap<Id, Arc<Node>>,
    open: BTreeMap<Id, OpenFile>,
    pub(crate) processes: u32,
    /// What a change is stamped with.
    pub(crate) clock: u32,
}

impl State {
    pub(crate) fn new(root_mode: u32) -> State {
        let body = Body::Directory { entries: BTreeMap::new(), parent: ROOT, removed: false };
        let root = Node::new(body, root_mode & 0o7777, (0, 0), Stamp::Clock(0));
        let root = Node { pins: 1, ..root };
        State { nodes: BTreeMap::from([(ROOT, Arc::new(root))]), open: BTreeMap::new(), processes: 0, clock: 0 }
    }

    /// Returns the clock's time.
    pub(crate) fn now(&self) -> Stamp {
        Stamp::Clock(self.clock)
    }

    /// Sets the time at which a node's attributes changed.
    pub(crate) fn touch_changed(&mut self, id: Id) {
        self.node_mut(id).changed = self.now();
    }

    /// Sets the time at which a node's data or names changed, and with it that of its attributes.
    pub(crate) fn touch_modified(&mut self, id: Id) {
        let now = self.now();
        let node = self.node_mut(id);
        (node.modified, node.changed) = (now, now);
    }

    pub(crate) fn node(&self, id: Id) -> &Node {
        &self.nodes[&id]
    }

    pub(crate) fn node_mut(&mut self, id: Id) -> &mut Node {
        Arc::make_mut(self.nodes.get_mut(&id).expect("an identity in the state leads to a node"))
    }

    /// All nodes.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values().map(|node| &**node)
    }

    pub(crate) fn add(&mut self, id: Id, node: Node) {
        self.nodes.insert(id, Arc::new(node));
    }

    /// Names and nodes of a directory; nothing of anything else.
    pub(crate) fn entries(&self, directory: Id) -> impl Iterator<Item = (&[u8], Id)> {
        let entries = match &self.node(directory).body {
            Body::Directory { entries, .. } => Some(entries),
            _ => None,
        };
        entries.into_iter().flatten().map(|(name, &id)| (name.as_slice(), id))
    }

    pub(crate) fn child(&self, directory: Id, name: &[u8]) -> Option<Id> {
        match &self.node(directory).body {
            Body::Directory { entries, .. } => entries.get(name).copied(),
            _ => None,
        }
    }

    pub(crate) fn is_empty(&self, directory: Id) -> bool {
        self.entries(directory).next().is_none()
    }

    /// The directory above; the root's is the root.
    pub(crate) fn parent(&self, directory: Id) -> Id {
        match self.node(directory).body {
            Body::Directory { parent, .. } => parent,
            _ => directory,
        }
    }

    /// Whether `below` is `above` or lies somewhere under it.
    pub(crate) fn is_within(&self, below: Id, above: Id) -> bool {
        let mut at = below;
        while at != above && at != ROOT {
            at = self.parent(at);
        }
        at == above
    }

    /// The link count: of a directory its own two and one for each directory in it, none once removed.
    pub(crate) fn links(&self, id: Id) -> u32 {
        match &self.node(id).body {
            Body::Directory { removed: true, .. } => 0,
            Body::Directory { .. } => 2 + self.entries(id).filter(|&(_, child)| self.node(child).is_directory()).count() as u32,
            Body::File { links, .. } | Body::Link { links, .. } | Body::Special { links, .. } => *links,
        }
    }

    /// Puts a name into a directory, in place of what it named, and sets the directory's times and
    /// the node's of change. Link counts are the caller's.
    pub(crate) fn set_name(&mut self, directory: Id, name: &[u8], child: Id) {
        self.touch_modified(directory);
        self.touch_changed(child);
        let node = self.node_mut(directory);
        if let Body::Directory { entries, .. } = &mut node.body {
            entries.insert(name.to_vec(), child);
        }
        if let Body::Directory { parent, .. } = &mut self.node_mut(child).body {
            *parent = directory;
        }
    }

    /// Takes a name out of a directory and sets the directory's time. Link counts are the caller's.
    pub(crate) fn clear_name(&mut self, directory: Id, name: &[u8]) {
        self.touch_modified(directory);
        let node = self.node_mut(directory);
        if let Body::Directory { entries, .. } = &mut node.body {
            entries.remove(name);
        }
    }

    /// A name of the node is gone: one link less, a directory is removed. The node goes too if nobody holds it.
    pub(crate) fn lost_name(&mut self, id: Id) {
        self.touch_changed(id);
        let mut held = None;
        match &mut self.node_mut(id).body {
            Body::Directory { removed, parent, .. } => {
                *removed = true;
                held = Some(*parent);
            }
            Body::File { links, .. } | Body::Link { links, .. } | Body::Special { links, .. } => *links -= 1,
        }
        if let Some(parent) = held {
            self.pin(parent);
        }
        self.forget_if_unused(id);
    }

    pub(crate) fn pin(&mut self, id: Id) {
        self.node_mut(id).pins += 1;
    }

    pub(crate) fn unpin(&mut self, id: Id) {
        self.node_mut(id).pins -= 1;
        self.forget_if_unused(id);
    }

    fn forget_if_unused(&mut self, id: Id) {
        if self.node(id).pins > 0 || self.links(id) > 0 {
            return;
        }
        let parent = self.node(id).is_directory().then(|| self.parent(id));
        self.nodes.remove(&id);
        if let Some(parent) = parent {
            self.unpin(parent);
        }
    }

    /// Keeps an open file, which holds its node.
    pub(crate) fn add_open(&mut self, id: Id, file: OpenFile) {
        self.pin(file.node);
        self.open.insert(id, file);
    }

    /// What a descriptor stands for; `EBADF` if it was closed by a copy of the process.
    pub(crate) fn open_file(&self, id: Id) -> Result<&OpenFile> {
        self.open.get(&id).ok_or(Errno::EBADF)
    }

    pub(crate) fn open_file_mut(&mut self, id: Id) -> Result<&mut OpenFile> {
        self.open.get_mut(&id).ok_or(Errno::EBADF)
    }

    /// One descriptor less on an open file; the last one closes it.
    pub(crate) fn close(&mut self, id: Id) -> Result<()> {
        let file = self.open_file_mut(id)?;
        file.descriptors -= 1;
        let node = file.node;
        if file.descriptors == 0 {
            self.open.remove(&id);
            self.unpin(node);
        }
        Ok(())
    }
}
