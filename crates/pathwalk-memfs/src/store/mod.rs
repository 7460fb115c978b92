//! The nodes of one file system, by key.
//!
//! # Locks
//!
//! From the outside in; while one is held, only those further down are taken:
//!
//! 1. `tree`, by whoever moves a directory, moves a name to another directory, or removes a directory. **Whoever holds the locks of two
//!    directories' names holds this one**, so that in which order they were taken does not matter. It also keeps still which
//!    directory lies beneath which.
//! 2. A node's `content`. A directory's names: shared by lookups and listings, exclusive for changes; a name moves between two
//!    directories while both are held exclusively, so that no lookup finds it in neither. A file's pages, one file's at a time and
//!    beside no names. (That of a node that is being made or freed is locked beside its directory's: nobody else wants it.)
//! 3. A node's `meta`, one node's at a time.
//! 4. The table's list of free slots.
//!
//! # Life of a node
//!
//! A node lives as long as it has a name or somebody holds it: the engine, for each `Node` that it was given and did not forget
//! and for each file that is open, or a [`Held`] here. It is handed out while the lock of a directory that leads to it is held, so it
//! cannot go in between; who takes away the last name or the last hold frees it. What was made without a name lives by its holds
//! until it gets one. Slots are used again: a key is good for as long as its node is held or its name cannot go.

mod acl;
mod change;
mod data;
mod inode;
mod ledger;
mod names;
mod pages;
mod rename;
mod space;
mod table;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use hashbrown::DefaultHashBuilder;
use parking_lot::{Mutex, MutexGuard};
use pathwalk::{AclState, Attributes, Device, Errno, FileType, Name, NewKind, NewNode, Node, NodeKey, StatxFlags};

use crate::calls::Counters;
use crate::options::{LinkBodies, LinkSizes, Options};
use inode::{FirstName, Inode, Meta};
use ledger::Ledger;
use names::Hashed;
use pages::{PAGE, PAGE_BYTES};
use space::Space;
use table::{Ino, Table};

/// Bytes of a block, as `st_blocks` counts them.
const BLOCK: u64 = 512;

/// Who holds a file system's nodes, and what they weigh.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Usage {
    /// Nodes, the root included.
    pub nodes: u64,
    /// Those of them that have no name any more and live because they are held.
    pub unlinked: u64,
    /// Nodes handed out and not yet forgotten, each as often as it was, and open files.
    pub held: u64,
    /// Pages of 4096 bytes that files and long link bodies take: what [`Options::max_bytes`] limits.
    pub pages: u64,
    /// Bytes of memory: nodes, names, tables, link bodies, data, with what the allocator adds.
    pub bytes: u64,
}

pub(crate) struct Store {
    pub(crate) options: Options,
    pub(crate) calls: Counters,
    table: Table,
    root: NodeKey,
    tree: Mutex<()>,
    ledger: Ledger,
    space: Space,
    device: Device,
    hasher: DefaultHashBuilder,
}

/// One hold on a node. Given back when dropped, or passed on to the engine as a [`Node`].
pub(crate) struct Held<'a> {
    store: &'a Store,
    inode: Inode<'a>,
    /// As of when the hold was taken.
    attributes: Attributes,
}

impl Held<'_> {
    pub(crate) fn key(&self) -> NodeKey {
        self.inode.key.into()
    }

    /// Passes the hold on: the engine will forget it.
    #[inline]
    pub(crate) fn into_node(self) -> Node {
        let node = self.store.node(self.inode, self.attributes);
        std::mem::forget(self);
        node
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // It cannot fail: the hold that it gives back is its own.
        let _ = self.store.release(self.inode);
    }
}

impl Store {
    pub(crate) fn new(options: Options) -> Store {
        // As the kernel numbers file systems without a device: so that two of them are told apart.
        static NEXT_DEVICE: AtomicU32 = AtomicU32::new(1);
        let device = Device { major: 0, minor: NEXT_DEVICE.fetch_add(1, Relaxed) & 0xf_ffff };
        let (table, ledger) = (Table::new(), Ledger::default());
        let new = NewNode { kind: NewKind::Directory, mode: 0o755, uid: 0, gid: 0 };
        let root = table.insert(&new, None, FirstName::Given, inode::now(), &ledger, |root, meta| {
            meta.held = 0;
            NodeKey::from(root.key)
        });
        let space = Space::new(options.max_bytes.map(|bytes| bytes.div_ceil(PAGE)), options.max_nodes);
        space.nodes.take_root();
        ledger.charge(ledger::allocation(size_of::<Store>() + 2 * size_of::<usize>()));
        Store {
            options,
            calls: Counters::default(),
            table,
            root,
            tree: Mutex::new(()),
            ledger,
            space,
            device,
            hasher: DefaultHashBuilder::default(),
        }
    }

    pub(crate) fn root(&self) -> Result<Held<'_>, Errno> {
        Ok(self.hold(self.inode(self.root)?))
    }

    pub(crate) fn lookup(&self, dir: NodeKey, name: Name<'_>) -> Result<Option<Held<'_>>, Errno> {
        let dir = self.inode(dir)?;
        let names = dir.names()?;
        names.get(self.hashed(name)).map(|target| Ok(self.hold(self.table.get(target.key)?))).transpose()
    }

    /// Where a name leads just now, without holding it.
    pub(crate) fn peek(&self, dir: NodeKey, name: Name<'_>) -> Result<Option<NodeKey>, Errno> {
        let dir = self.inode(dir)?;
        let names = dir.names()?;
        Ok(names.get(self.hashed(name)).map(|target| target.key.into()))
    }

    pub(crate) fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        let inode = self.inode(node)?;
        let meta = inode.slot.meta.lock();
        Ok(self.attributes_of(inode, &meta))
    }

    pub(crate) fn read_link(&self, node: NodeKey) -> Result<Box<[u8]>, Errno> {
        self.inode(node)?.link_body()
    }

    /// `ENOTDIR` if it is none.
    pub(crate) fn check_directory(&self, node: NodeKey) -> Result<(), Errno> {
        self.inode(node)?.names().map(drop)
    }

    /// The names in a directory, sorted.
    pub(crate) fn list(&self, dir: NodeKey) -> Result<Vec<Vec<u8>>, Errno> {
        Ok(self.inode(dir)?.names()?.sorted())
    }

    /// Gives one hold back. Whoever has none left, or never had one, is counted and otherwise ignored.
    pub(crate) fn forget(&self, node: NodeKey) {
        let forgotten = self.inode(node).and_then(|inode| self.release(inode));
        let counter = if forgotten.is_ok() { &self.calls.forget } else { &self.calls.stray_forget };
        counter.count();
    }

    pub(crate) fn memory(&self) -> u64 {
        self.ledger.total()
    }

    pub(crate) fn usage(&self) -> Usage {
        let mut usage = Usage { bytes: self.memory(), pages: self.space.pages.used(), ..Usage::default() };
        self.table.for_each(|meta| {
            usage.nodes += 1;
            usage.held += meta.held;
            usage.unlinked += u64::from(meta.nlink == 0);
        });
        usage
    }

    /// The node of a key; `ESTALE` if it is gone.
    pub(crate) fn inode(&self, key: NodeKey) -> Result<Inode<'_>, Errno> {
        self.table.get(key.into())
    }

    fn hashed<'n>(&self, name: Name<'n>) -> Hashed<'n> {
        Hashed::new(name, &self.hasher)
    }

    /// The caller holds the lock of a directory that leads to the node.
    fn hold<'a>(&'a self, inode: Inode<'a>) -> Held<'a> {
        let mut meta = inode.slot.meta.lock();
        meta.held += 1;
        self.held(inode, &meta)
    }

    /// Takes over a hold that is counted already.
    #[inline]
    fn held<'a>(&'a self, inode: Inode<'a>, meta: &Meta) -> Held<'a> {
        Held { store: self, inode, attributes: self.attributes_of(inode, meta) }
    }

    /// Gives one hold back; `EINVAL` if there is none.
    fn release(&self, inode: Inode<'_>) -> Result<(), Errno> {
        let mut meta = inode.slot.meta.lock();
        meta.held = meta.held.checked_sub(1).ok_or(Errno::EINVAL)?;
        self.free_if_gone(inode, meta);
        Ok(())
    }

    /// Frees a node whose last name and last hold are gone.
    fn free_if_gone(&self, inode: Inode<'_>, mut meta: MutexGuard<'_, Meta>) {
        if !meta.is_gone() {
            return;
        }
        let data = if inode.kind == FileType::Regular { meta.pages * PAGE_BYTES } else { 0 };
        self.ledger.credit(acl::bytes(&meta.acl.take()) + data);
        self.space.give_node(meta.pages);
        drop(meta);
        self.table.remove(inode, &self.ledger);
    }

    #[inline]
    fn node(&self, inode: Inode<'_>, attributes: Attributes) -> Node {
        let mut node = Node::new(inode.key.into(), attributes);
        (node.rule, node.freshness) = (self.options.rule, self.options.names);
        if inode.kind == FileType::Symlink && self.options.link_bodies == LinkBodies::WithNode {
            // An empty body cannot come with the node.
            node.link_body = inode.link_body().ok().filter(|body| !body.is_empty());
        }
        node
    }

    #[inline]
    fn attributes_of(&self, inode: Inode<'_>, meta: &Meta) -> Attributes {
        let no_size = inode.kind == FileType::Symlink && self.options.link_sizes == LinkSizes::Zero;
        Attributes {
            nlink: meta.nlink,
            uid: meta.uid,
            gid: meta.gid,
            ino: inode.key.ino.0,
            size: if no_size { 0 } else { meta.size },
            blocks: meta.pages * (PAGE / BLOCK),
            device: self.device,
            device_node: meta.device,
            atime: meta.atime,
            mtime: meta.mtime,
            ctime: meta.ctime,
            btime: Some(meta.btime),
            flags: StatxFlags::empty(),
            acl: match (meta.acl.is_some(), self.options.acl) {
                (_, AclState::Unknown) => AclState::Unknown,
                (true, _) => AclState::Present,
                (false, said) => said,
            },
            ..Attributes::new(inode.kind, meta.mode)
        }
    }
}

/// `true` if `dir` is `above` or lies beneath it. The caller holds `tree`, and `dir` was not removed.
fn lies_beneath(table: &Table, dir: Inode<'_>, above: Ino) -> Result<bool, Errno> {
    let (mut ino, mut parent) = (dir.key.ino, dir.parent());
    while ino != above {
        if ino == parent {
            return Ok(false);
        }
        ino = parent;
        parent = table.linked(ino)?.parent();
    }
    Ok(true)
}
