//! The nodes of one file system, by key.
//!
//! # Locks
//!
//! From the outside in; while one is held, only those further down are taken:
//!
//! 1. `tree`, by whoever moves names or removes a directory. **Whoever holds the locks of two directories' names holds this one**,
//!    so that in which order they were taken does not matter. It also keeps still which directory lies beneath which.
//! 2. A directory's `names`: shared by lookups and listings, exclusive for changes. A name moves between two directories while both
//!    are held exclusively, so that no lookup finds it in neither. A file's `pages`, one file's at a time and beside no `names`.
//! 3. A node's `meta`, one node's at a time.
//! 4. A shard of the table.
//!
//! # Life of a node
//!
//! A node lives as long as it has a name or somebody holds it: the engine, for each `Node` that it was given and did not forget
//! and for each file that is open, or a [`Held`] here. It is handed out while the lock of a directory that leads to it is held, so it cannot go in between; who
//! takes away the last name or the last hold frees it.

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

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use parking_lot::Mutex;
use pathwalk::permission::{AclEntry, Subject};
use pathwalk::{
    Access, AclState, Attributes, Device, Errno, FileType, Name, NewKind, NewNode, Node, NodeKey, StatxFlags,
};

use crate::calls::Counters;
use crate::options::{LinkBodies, LinkSizes, Options};
pub(crate) use inode::Inode;
use inode::{Content, FirstName, Meta};
use ledger::Ledger;
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
}

/// One hold on a node. Given back when dropped, or passed on to the engine as a [`Node`].
pub(crate) struct Held<'a> {
    store: &'a Store,
    /// `None` once passed on.
    inode: Option<Arc<Inode>>,
    key: NodeKey,
}

impl Held<'_> {
    pub(crate) fn key(&self) -> NodeKey {
        self.key
    }

    /// Passes the hold on: the engine will forget it.
    pub(crate) fn into_node(mut self) -> Result<Node, Errno> {
        let inode = self.inode.take().ok_or(Errno::EIO)?;
        Ok(self.store.node(&inode))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(inode) = &self.inode {
            // It cannot fail: the hold that it gives back is its own.
            let _ = self.store.release(inode);
        }
    }
}

impl Store {
    pub(crate) fn new(options: Options) -> Store {
        // As the kernel numbers file systems without a device: so that two of them are told apart.
        static NEXT_DEVICE: AtomicU32 = AtomicU32::new(1);
        let device = Device { major: 0, minor: NEXT_DEVICE.fetch_add(1, Relaxed) & 0xf_ffff };
        let (table, ledger) = (Table::new(), Ledger::default());
        let new = NewNode { kind: NewKind::Directory, mode: 0o755, uid: 0, gid: 0 };
        let root = table.insert(&ledger, |key| Inode::new(key, &new, key.ino, FirstName::Given, inode::now()));
        root.meta.lock().held = 0;
        let space = Space::new(options.max_bytes.map(|bytes| bytes.div_ceil(PAGE)), options.max_nodes);
        space.nodes.take_root();
        ledger.charge(ledger::allocation(size_of::<Store>() + 2 * size_of::<usize>()));
        Store { options, calls: Counters::default(), table, root: root.key.into(), tree: Mutex::new(()), ledger, space, device }
    }

    pub(crate) fn root(&self) -> Result<Held<'_>, Errno> {
        Ok(self.hold(self.inode(self.root)?))
    }

    pub(crate) fn lookup(&self, dir: NodeKey, name: Name<'_>) -> Result<Option<Held<'_>>, Errno> {
        let dir = self.inode(dir)?;
        let names = dir.directory()?.names.read();
        names.get(name).map(|target| Ok(self.hold(self.table.get(target.key)?))).transpose()
    }

    /// Where a name leads just now, without holding it.
    pub(crate) fn peek(&self, dir: NodeKey, name: Name<'_>) -> Result<Option<NodeKey>, Errno> {
        let dir = self.inode(dir)?;
        let names = dir.directory()?.names.read();
        Ok(names.get(name).map(|target| target.key.into()))
    }

    pub(crate) fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        let inode = self.inode(node)?;
        let meta = inode.meta.lock();
        Ok(self.attributes_of(&inode, &meta))
    }

    pub(crate) fn read_link(&self, node: NodeKey) -> Result<Box<[u8]>, Errno> {
        match &self.inode(node)?.content {
            Content::Link(body) => Ok(body.clone()),
            _ => Err(Errno::EINVAL),
        }
    }

    pub(crate) fn permission(&self, node: NodeKey, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        let inode = self.inode(node)?;
        acl::check(&inode.meta.lock(), inode.kind, who, want)
    }

    pub(crate) fn acl(&self, node: NodeKey) -> Result<AclState, Errno> {
        let listed = self.inode(node)?.meta.lock().acl.is_some();
        let present = listed || self.options.acl == AclState::Present;
        Ok(if present { AclState::Present } else { AclState::Absent })
    }

    /// Gives a node an ACL, which changes its mode too, or takes it away (no entries).
    pub(crate) fn set_acl(&self, node: NodeKey, entries: &[AclEntry]) -> Result<(), Errno> {
        let inode = self.inode(node)?;
        if inode.kind == FileType::Symlink {
            return Err(Errno::EOPNOTSUPP);
        }
        let list = (!entries.is_empty()).then(|| Arc::from(entries));
        let mut meta = inode.meta.lock();
        self.ledger.resize(acl::bytes(&meta.acl), acl::bytes(&list));
        meta.mode = acl::mode_of(entries, meta.mode);
        meta.acl = list;
        meta.ctime = inode::now();
        Ok(())
    }

    /// `ENOTDIR` if it is none.
    pub(crate) fn check_directory(&self, node: NodeKey) -> Result<(), Errno> {
        self.inode(node)?.directory().map(drop)
    }

    /// The names in a directory, sorted.
    pub(crate) fn list(&self, dir: NodeKey) -> Result<Vec<Vec<u8>>, Errno> {
        Ok(self.inode(dir)?.directory()?.names.read().sorted())
    }

    /// Gives one hold back. Whoever has none left, or never had one, is counted and otherwise ignored.
    pub(crate) fn forget(&self, node: NodeKey) {
        let forgotten = self.inode(node).and_then(|inode| self.release(&inode));
        let counter = if forgotten.is_ok() { &self.calls.forget } else { &self.calls.stray_forget };
        counter.count();
    }

    pub(crate) fn memory(&self) -> u64 {
        self.ledger.total()
    }

    pub(crate) fn usage(&self) -> Usage {
        let mut usage = Usage { bytes: self.memory(), pages: self.space.pages.used(), ..Usage::default() };
        self.table.for_each(|inode| {
            let meta = inode.meta.lock();
            usage.nodes += 1;
            usage.held += meta.held;
            usage.unlinked += u64::from(meta.nlink == 0);
        });
        usage
    }

    fn inode(&self, key: NodeKey) -> Result<Arc<Inode>, Errno> {
        self.table.get(key.into())
    }

    /// The caller holds the lock of a directory that leads to the node.
    fn hold(&self, inode: Arc<Inode>) -> Held<'_> {
        inode.meta.lock().held += 1;
        self.held(inode)
    }

    /// Takes over a hold that is counted already.
    fn held(&self, inode: Arc<Inode>) -> Held<'_> {
        Held { store: self, key: inode.key.into(), inode: Some(inode) }
    }

    /// Gives one hold back; `EINVAL` if there is none.
    fn release(&self, inode: &Inode) -> Result<(), Errno> {
        let mut meta = inode.meta.lock();
        meta.held = meta.held.checked_sub(1).ok_or(Errno::EINVAL)?;
        self.free_if_gone(inode, meta);
        Ok(())
    }

    /// Frees a node whose last name and last hold are gone.
    fn free_if_gone(&self, inode: &Inode, meta: parking_lot::MutexGuard<'_, Meta>) {
        if !meta.is_gone() {
            return;
        }
        let data = if inode.kind == FileType::Regular { meta.pages * PAGE_BYTES } else { 0 };
        self.ledger.credit(acl::bytes(&meta.acl) + data);
        self.space.give_node(meta.pages);
        drop(meta);
        self.table.remove(inode.key, &self.ledger);
    }

    fn node(&self, inode: &Inode) -> Node {
        let mut node = Node::new(inode.key.into(), self.attributes_of(inode, &inode.meta.lock()));
        (node.rule, node.freshness) = (self.options.rule, self.options.names);
        node.link_body = match (&inode.content, self.options.link_bodies) {
            // An empty body cannot come with the node.
            (Content::Link(body), LinkBodies::WithNode) if !body.is_empty() => Some(body.clone()),
            _ => None,
        };
        node
    }

    fn attributes_of(&self, inode: &Inode, meta: &Meta) -> Attributes {
        let no_size = inode.kind == FileType::Symlink && self.options.link_sizes == LinkSizes::Zero;
        let device_node = if let Content::Device(device) = inode.content { device } else { Device::default() };
        Attributes {
            nlink: meta.nlink,
            uid: meta.uid,
            gid: meta.gid,
            ino: inode.key.ino.0,
            size: if no_size { 0 } else { meta.size },
            blocks: meta.pages * (PAGE / BLOCK),
            device: self.device,
            device_node,
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
fn lies_beneath(table: &Table, dir: &Inode, above: Ino) -> Result<bool, Errno> {
    let (mut ino, mut parent) = (dir.key.ino, dir.directory()?.parent());
    while ino != above {
        if ino == parent {
            return Ok(false);
        }
        ino = parent;
        parent = table.linked(ino)?.directory()?.parent();
    }
    Ok(true)
}
