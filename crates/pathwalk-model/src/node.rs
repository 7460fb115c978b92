//! The state: nodes and open files, in maps.
//!
//! Invariants: a name leads to an existing node. A directory has one name, or none once it is
//! removed. A node exists as long as it has a name or a pin. Open files and processes' places hold
//! pins. A removed directory holds one on its parent, since its `..` still leads there.
//!
//! Nodes and open files are numbered by the process that made them, so that calls of two processes
//! that commute give equal states.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::acl::AclEntry;
use crate::errno::{Errno, Result};
use crate::flags::{NodeFlags, OpenFlags};
use crate::leases::Lease;
use crate::locks::Locks;
use crate::pipe::Pipes;
use crate::process::CredentialsId;

/// The permanent identity of a node or an open file: the process that made it, and a number counted
/// by that process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    /// The process, from 1; 0 for the root directory.
    pub process: u32,
    /// The number, counted from 1.
    pub number: u32,
}

/// The size of a page in bytes.
pub(crate) const PAGE: u64 = 4096;

/// The longest link body that a tmpfs stores without a page, in bytes.
const SHORT_BODY: usize = 127;

/// The root of the tree.
pub(crate) const ROOT: Id = Id { process: 0, number: 0 };

/// The time of a node's last access or change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stamp {
    /// A time of the clock: see [`Model::set_clock`](crate::Model::set_clock).
    Clock(u32),
    /// A time that `utimensat` set.
    Set {
        /// The seconds since 1970.
        seconds: i64,
        /// The nanoseconds, 0..=999,999,999.
        nanoseconds: u32,
    },
}

/// The type of a node, with the data of that type.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Body {
    Directory {
        entries: BTreeMap<Vec<u8>, Id>,
        parent: Id,
        removed: bool,
    },
    /// A file. `pages` are the numbers of the pages that are allocated: the others are holes.
    /// `unwritten` are those that were reserved and not written yet.
    File {
        data: Vec<u8>,
        pages: BTreeSet<u64>,
        unwritten: BTreeSet<u64>,
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

/// The possibility that a file without a name gets one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Tmpfile {
    Linkable,
    No,
}

/// The special nodes, which a kernel implements.
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
    /// The access list; empty if there is none.
    pub(crate) acl: Vec<AclEntry>,
    /// The default list of a directory; empty if there is none.
    pub(crate) default_acl: Vec<AclEntry>,
    /// The extended attributes, by name.
    pub(crate) xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
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
    /// Returns the body of a file without data.
    pub(crate) fn empty_file(links: u32, tmpfile: Tmpfile) -> Body {
        Body::File { data: Vec::new(), pages: BTreeSet::new(), unwritten: BTreeSet::new(), links, tmpfile }
    }
}

impl Node {
    /// Creates a node without names, list, attribute bits or extended attributes. All its times are
    /// `now`.
    pub(crate) fn new(body: Body, mode: u32, (uid, gid): (u32, u32), now: Stamp) -> Node {
        let (acl, default_acl, xattrs, flags) = (Vec::new(), Vec::new(), BTreeMap::new(), NodeFlags::empty());
        let (accessed, modified, changed, born) = (now, now, now, now);
        Node { body, mode, acl, default_acl, xattrs, flags, uid, gid, accessed, modified, changed, born, pins: 0 }
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

    /// Returns the body of a link.
    pub(crate) fn link_body(&self) -> Option<&[u8]> {
        match &self.body {
            Body::Link { body, .. } => Some(body),
            _ => None,
        }
    }

    /// Returns the type's bits of `st_mode`.
    pub(crate) fn file_type(&self) -> u32 {
        match &self.body {
            Body::Directory { .. } => libc::S_IFDIR,
            Body::File { .. } => libc::S_IFREG,
            Body::Link { .. } => libc::S_IFLNK,
            Body::Special { kind, .. } => kind.file_type(),
        }
    }

    /// Returns the size of a file or of a link's body in bytes. A directory's size is 20 for each
    /// name, including `.` and `..`, as on a tmpfs.
    pub(crate) fn size(&self) -> u64 {
        match &self.body {
            Body::Directory { entries, .. } => 20 * (2 + entries.len() as u64),
            Body::File { data, .. } => data.len() as u64,
            Body::Link { body, .. } => body.len() as u64,
            Body::Special { .. } => 0,
        }
    }

    /// Returns the number of blocks of 512 bytes: a page for each that was written, and one for a
    /// link's body over 127 bytes, as on a tmpfs.
    pub(crate) fn blocks(&self) -> u64 {
        let pages = match &self.body {
            Body::File { pages, .. } => pages.len() as u64,
            Body::Link { body, .. } => u64::from(body.len() > SHORT_BODY),
            Body::Directory { .. } | Body::Special { .. } => 0,
        };
        pages * (PAGE / 512)
    }

    /// Returns the count of names of a node that is not a directory.
    pub(crate) fn links_mut(&mut self) -> Option<&mut u32> {
        match &mut self.body {
            Body::Directory { .. } => None,
            Body::File { links, .. } | Body::Link { links, .. } | Body::Special { links, .. } => Some(links),
        }
    }
}

/// An open file. Descriptors of several processes may share it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct OpenFile {
    pub(crate) node: Id,
    /// The directory that it was made in without a name, which is there as long as the file is
    /// open.
    pub(crate) within: Option<Id>,
    pub(crate) flags: OpenFlags,
    /// The position in bytes, at most `i64::MAX`.
    pub(crate) offset: u64,
    /// The credentials that it was opened with; `linkat` compares them.
    pub(crate) opener: CredentialsId,
    pub(crate) descriptors: u32,
}

impl OpenFile {
    /// Returns the file: `EBADF` if it is a place only, as by `PATH`.
    pub(crate) fn not_place(&self) -> Result<&OpenFile> {
        if self.flags.contains(OpenFlags::PATH) { Err(Errno::EBADF) } else { Ok(self) }
    }
}

/// The state that the lock protects.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// Nodes are shared with copies of the state until they change, which makes copies cheap.
    nodes: BTreeMap<Id, Arc<Node>>,
    open: BTreeMap<Id, OpenFile>,
    pub(crate) pipes: Pipes,
    pub(crate) locks: Locks,
    pub(crate) leases: Vec<Lease>,
    /// The nodes that a socket is bound to, each with a pin.
    pub(crate) bound: BTreeSet<Id>,
    pub(crate) processes: u32,
    /// The clock, which gives the times of changes.
    pub(crate) clock: u32,
}

impl State {
    pub(crate) fn new(root_mode: u32) -> State {
        let body = Body::Directory { entries: BTreeMap::new(), parent: ROOT, removed: false };
        let root = Node::new(body, root_mode & 0o7777, (0, 0), Stamp::Clock(0));
        let root = Node { pins: 1, ..root };
        State {
            nodes: BTreeMap::from([(ROOT, Arc::new(root))]),
            open: BTreeMap::new(),
            pipes: Pipes::new(),
            locks: Locks::default(),
            leases: Vec::new(),
            bound: BTreeSet::new(),
            processes: 0,
            clock: 0,
        }
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

    /// Returns whether a node is there.
    pub(crate) fn has(&self, id: Id) -> bool {
        self.nodes.contains_key(&id)
    }

    /// Returns a node, unless it is gone.
    pub(crate) fn node_if_there(&mut self, id: Id) -> Option<&mut Node> {
        self.nodes.get_mut(&id).map(Arc::make_mut)
    }

    /// Returns all nodes.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values().map(|node| &**node)
    }

    pub(crate) fn add(&mut self, id: Id, node: Node) {
        self.nodes.insert(id, Arc::new(node));
    }

    /// Returns the names and nodes of a directory; nothing for other nodes.
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

    /// Returns the parent directory; the root's parent is the root.
    pub(crate) fn parent(&self, directory: Id) -> Id {
        match self.node(directory).body {
            Body::Directory { parent, .. } => parent,
            _ => directory,
        }
    }

    /// Returns whether `below` is `above` or lies beneath it.
    pub(crate) fn is_within(&self, below: Id, above: Id) -> bool {
        let mut at = below;
        while at != above && at != ROOT {
            at = self.parent(at);
        }
        at == above
    }

    /// Returns the link count: of a directory its own two and one for each directory in it, or 0
    /// once it is removed.
    pub(crate) fn links(&self, id: Id) -> u32 {
        match &self.node(id).body {
            Body::Directory { removed: true, .. } => 0,
            Body::Directory { .. } => 2 + self.entries(id).filter(|&(_, child)| self.node(child).is_directory()).count() as u32,
            Body::File { links, .. } | Body::Link { links, .. } | Body::Special { links, .. } => *links,
        }
    }

    /// Sets the node of a name in a directory, replacing its former node. Updates the directory's
    /// times and the node's time of change. The caller updates link counts.
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

    /// Removes a name from a directory and updates the directory's times. The caller updates link
    /// counts.
    pub(crate) fn clear_name(&mut self, directory: Id, name: &[u8]) {
        self.touch_modified(directory);
        let node = self.node_mut(directory);
        if let Body::Directory { entries, .. } = &mut node.body {
            entries.remove(name);
        }
    }

    /// Records the removal of a name of the node: one link less, or the directory is removed. The
    /// node is dropped as well if it has no pins.
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

    /// Stores an open file, which pins its node.
    pub(crate) fn add_open(&mut self, id: Id, file: OpenFile) {
        self.pin(file.node);
        file.within.into_iter().for_each(|directory| self.pin(directory));
        self.open.insert(id, file);
    }

    pub(crate) fn open_files(&self) -> impl Iterator<Item = &OpenFile> {
        self.open.values()
    }

    /// Returns the open file of an id; `EBADF` if a copy of the process has closed it.
    pub(crate) fn open_file(&self, id: Id) -> Result<&OpenFile> {
        self.open.get(&id).ok_or(Errno::EBADF)
    }

    pub(crate) fn open_file_mut(&mut self, id: Id) -> Result<&mut OpenFile> {
        self.open.get_mut(&id).ok_or(Errno::EBADF)
    }

    /// Removes one descriptor of an open file; with the last one, closes the file.
    pub(crate) fn close(&mut self, id: Id) -> Result<()> {
        let file = self.open_file_mut(id)?;
        file.descriptors -= 1;
        let (node, within) = (file.node, file.within);
        if file.descriptors == 0 {
            self.open.remove(&id);
            self.release_locks_of(id);
            self.end_lease(id);
            self.closed(node);
            self.unpin(node);
            within.into_iter().for_each(|directory| self.unpin(directory));
        }
        Ok(())
    }
}
