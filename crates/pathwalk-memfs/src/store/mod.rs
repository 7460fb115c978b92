//! The nodes of one file system, by key.
//!
//! # Locks
//!
//! From the outside in; while one is held, only those further down are taken:
//!
//! 1. `tree`, by whoever moves a directory or moves a name to another directory. It also keeps still which directory lies beneath which.
//! 2. A node's lock. For a directory's names: shared by lookups and listings, exclusive for changes; a name moves between two directories
//!    while both are locked exclusively, so that no lookup finds it in neither. For a file's pages, one file's at a time and beside no names.
//!    For what `stat` tells of either, exclusive for changes; to read it takes no lock (see [`record`]). **Whoever waits for a second
//!    node's lock holds `tree`**, so that in which order they are taken does not matter: one at a time does so, and those whom it waits for
//!    wait for nobody. Who removes a directory tries for that directory's lock beside its parent's, and only if somebody has it gives up
//!    the parent's and starts again with `tree`. (That of a node that is being made or freed is locked beside its directory's: nobody else
//!    wants it.)
//!
//! An operation on a name takes the lock of its directory, and without others at work no second one but that of a directory that it removes.
//! What it does to the node that the name leads to is counted ([`life`]) or stored ([`record`]) without that node's lock, and the free slots
//! ([`table`]) are taken and given without one too.
//!
//! # Life of a node
//!
//! A node lives as long as it has a name or somebody holds it: the engine, for each `Node` that it was given and did not forget
//! and for each file that is open, or a [`Held`] here. It is handed out while the lock of a directory that leads to it is held, so it
//! cannot go in between; who takes away the last name or the last hold frees it. What was made without a name lives by its holds
//! until it gets one. A directory has one name; that it has none is what tells those who have its lock that nothing can be made in it. Slots are used again: a key is good for as long as its node is held or its name cannot go.

mod acl;
mod change;
mod data;
mod inode;
mod ledger;
mod life;
mod locked;
mod names;
mod pages;
mod record;
mod rename;
mod space;
mod table;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use hashbrown::DefaultHashBuilder;
use parking_lot::Mutex;
use pathwalk::{AclState, Attributes, Device, Errno, FileType, Name, NewKind, NewNode, Node, NodeKey, Timestamp};

use crate::calls::Counters;
use crate::options::{LinkBodies, LinkSizes, Options};
use inode::Inode;
use ledger::Ledger;
use life::{FirstName, Left};
use names::Hashed;
use pages::{PAGE, PAGE_BYTES};
use space::Space;
use table::{Ino, Table};

/// The first node of all, which is its own parent.
const ROOT: Ino = Ino(1);

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
}

impl Held<'_> {
    pub(crate) fn key(&self) -> NodeKey {
        self.inode.key().into()
    }

    /// Passes the hold on: the engine will forget it.
    #[inline]
    pub(crate) fn into_node(self) -> Node {
        let held = std::mem::ManuallyDrop::new(self);
        held.store.node(held.inode)
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
        let root = table.insert(&new, ROOT, FirstName::Given, options.clock.now(), &ledger).expect("an empty table has a slot");
        root.slot.life.begin_root();
        let root = root.key().into();
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

    /// Returns what the file system's clock says.
    #[inline]
    pub(crate) fn now(&self) -> Timestamp {
        self.options.clock.now()
    }

    pub(crate) fn root(&self) -> Result<Held<'_>, Errno> {
        self.held(self.inode(self.root)?)
    }

    pub(crate) fn lookup(&self, dir: NodeKey, name: Name<'_>) -> Result<Option<Held<'_>>, Errno> {
        let dir = self.inode(dir)?;
        let names = dir.names()?;
        names.find(&self.hashed(name)).map(|place| self.held(self.table.get(names.key(place))?)).transpose()
    }

    /// Where a name leads just now, without holding it.
    pub(crate) fn peek(&self, dir: NodeKey, name: Name<'_>) -> Result<Option<NodeKey>, Errno> {
        let dir = self.inode(dir)?;
        let names = dir.names()?;
        Ok(names.find(&self.hashed(name)).map(|place| names.key(place).into()))
    }

    pub(crate) fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        let inode = self.inode(node)?;
        let attributes = self.attributes_of(inode);
        // Whoever asks about what he does not hold may have looked at the slot's next node.
        self.inode(node).map(|_| attributes)
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
        self.table.for_each(|slot| {
            usage.nodes += 1;
            usage.held += u64::from(slot.life.holds());
            usage.unlinked += u64::from(slot.life.names() == 0);
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

    /// Holds a node that has a name, whose directory's lock the caller has: `ENFILE` if it has all the holds it can have.
    fn held<'a>(&'a self, inode: Inode<'a>) -> Result<Held<'a>, Errno> {
        inode.slot.life.hold()?;
        Ok(Held { store: self, inode })
    }

    /// Gives one hold back; `EINVAL` if there is none.
    fn release(&self, inode: Inode<'_>) -> Result<(), Errno> {
        let left = inode.slot.life.release()?;
        self.free_if(left, inode);
        Ok(())
    }

    /// Gives back the room of a name that was taken away beside others, or frees a node whose last
    /// name and last hold are gone.
    fn free_if(&self, left: Left, inode: Inode<'_>) {
        match left {
            Left::Nothing => {}
            Left::Something => return,
            Left::Names => return self.space.nodes.give_if_limited(),
        }
        let pages = inode.slot.record.pages_of(inode.kind());
        if inode.slot.record.is(FileType::Regular) {
            self.ledger.credit(pages * PAGE_BYTES);
        }
        self.space.give_node(pages);
        self.table.remove(inode, &self.ledger);
    }

    #[inline]
    fn node(&self, inode: Inode<'_>) -> Node {
        let with_body = inode.slot.record.is(FileType::Symlink) && self.options.link_bodies == LinkBodies::WithNode;
        // An empty body cannot come with the node.
        let link_body = if with_body { inode.link_body().ok().filter(|body| !body.is_empty()) } else { None };
        let attributes = Attributes::new(FileType::Regular, 0);
        let (key, rule, freshness) = (inode.key().into(), self.options.rule, self.options.names);
        let mut node = Node { key, attributes, rule, freshness, link_body };
        // In its place, which saves copying it.
        self.tell(inode, &mut node.attributes);
        node
    }

    fn attributes_of(&self, inode: Inode<'_>) -> Attributes {
        let mut attributes = Attributes::new(FileType::Regular, 0);
        self.tell(inode, &mut attributes);
        attributes
    }

    #[inline]
    fn tell(&self, inode: Inode<'_>, attributes: &mut Attributes) {
        inode.slot.record.read(attributes);
        attributes.nlink = inode.links();
        attributes.ino = inode.ino.0;
        attributes.device = self.device;
        if attributes.kind == FileType::Symlink && self.options.link_sizes == LinkSizes::Zero {
            attributes.size = 0;
        }
        if attributes.acl == AclState::Absent || self.options.acl == AclState::Unknown {
            attributes.acl = self.options.acl;
        }
    }
}

/// `true` if `dir` is `above` or lies beneath it. The caller holds `tree`, and `dir` was not removed.
fn lies_beneath(table: &Table, dir: Inode<'_>, above: Ino) -> Result<bool, Errno> {
    let (mut ino, mut parent) = (dir.ino, dir.parent());
    while ino != above {
        if ino == parent {
            return Ok(false);
        }
        ino = parent;
        parent = table.linked(ino)?.parent();
    }
    Ok(true)
}
