//! The nodes of one file system, by key.
//!
//! # Locks
//!
//! From the outside in; a thread that holds one of them takes only those further down:
//!
//! 1. `tree`: taken to move a directory, or to move a name to another directory. While it is held,
//!    no directory changes its parent.
//! 2. A node's lock. For a directory's names: shared by lookups and listings, exclusive for
//!    changes. A name moves between two directories while both are locked exclusively, so that
//!    every lookup finds it in one of them. For a file's pages: one file's lock at a time, and
//!    never together with a lock for names. For the attributes of either: exclusive for changes;
//!    reading them takes no lock (see [`record`]). **A thread that waits for a second node's lock
//!    holds `tree`**, so the order in which such locks are taken does not matter: only one thread
//!    at a time does so, and the threads that it waits for wait for no lock. A thread that removes
//!    a directory tries for that directory's lock beside its parent's. Only if another thread has
//!    the lock, it releases the parent's and starts again with `tree`. (The lock of a node that is
//!    being created or freed is taken beside its directory's: no other thread takes it.)
//!
//! An operation on a name takes the lock of its directory. Without concurrent operations it takes
//! no second one but that of a directory that it removes. Its effect on the node of the name is
//! counted ([`life`]) or stored ([`record`]) without that node's lock, and free slots ([`table`])
//! are taken and given back without a lock as well.
//!
//! # Life of a node
//!
//! A node lives as long as it has a name or is held. The engine holds it once for each `Node` that
//! it received and did not forget, and once for each open file; a [`Held`] is a hold of this crate.
//! A node is handed out while the lock of a directory that leads to it is held, so it cannot be
//! freed in between. The thread that removes the last name or the last hold frees it. A node that
//! was created without a name lives by its holds until it gets one. A directory has one name.
//! Once the directory has none, a thread with its lock sees that no name can be added to it. Slots
//! are reused: a key is valid as long as its node is held or its name cannot be removed.

mod acl;
mod change;
mod change_time;
mod copy;
mod data;
mod fallocate;
mod handles;
mod inode;
mod ledger;
mod life;
mod locked;
mod meter;
mod names;
mod pages;
mod project;
mod quota;
mod record;
mod rename;
mod space;
mod table;
#[cfg(test)]
mod tests;
mod xattr;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use hashbrown::DefaultHashBuilder;
use parking_lot::Mutex;
use pathwalk::{
    AclState, Attributes, ChangeCookie, Details, Device, Errno, FileType, Name, NewKind, NewNode, Node, NodeKey, StatxMask,
    Timestamp,
};

use crate::calls::Counters;
use crate::options::{LinkBodies, LinkSizes, Options};
use crate::quota::Project;
use inode::Inode;
use ledger::Ledger;
use life::{FirstName, Left};
use names::Hashed;
use pages::{PAGE, PAGE_BYTES};
use project::Projects;
use quota::{Amount, Payers, Quotas};
use space::Space;
use table::{Ino, Table};
use xattr::Xattrs;

/// The number of the root, which is its own parent.
const ROOT: Ino = Ino(1);

/// The number of nodes of a file system, the holds on them, and their memory.
///
/// [`MemFs`](crate::MemFs) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Usage {
    /// The number of nodes, the root included.
    pub nodes: u64,
    /// The number of nodes that have no name any more and live because they are held.
    pub unlinked: u64,
    /// The number of holds: each handed out node that is not yet forgotten, as often as it was
    /// handed out, and each open file.
    pub held: u64,
    /// The number of pages of 4096 bytes that files and long link bodies take:
    /// [`Options::max_bytes`] limits them.
    pub pages: u64,
    /// The memory in bytes: nodes, names, tables, link bodies and data, with the allocator's
    /// overhead.
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
    /// The accounts of users, groups and projects; `None` if none are kept.
    quotas: Option<Box<Quotas>>,
    projects: Projects,
    xattrs: Xattrs,
    device: Device,
    hasher: DefaultHashBuilder,
}

/// One hold on a node. It is given back on drop, or passed on to the engine as a [`Node`].
pub(crate) struct Held<'a> {
    store: &'a Store,
    inode: Inode<'a>,
}

impl Held<'_> {
    pub(crate) fn key(&self) -> NodeKey {
        self.inode.key().into()
    }

    /// Passes the hold on to the engine, which gives it back by `forget`.
    #[inline]
    pub(crate) fn into_node(self) -> Node {
        let held = std::mem::ManuallyDrop::new(self);
        held.store.node(held.inode)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // This cannot fail: the hold that it gives back is its own.
        let _ = self.store.release(self.inode);
    }
}

impl Store {
    pub(crate) fn new(options: Options) -> Store {
        // As the kernel numbers file systems without a device, so that two of them differ.
        static NEXT_DEVICE: AtomicU32 = AtomicU32::new(1);
        let device = Device { major: 0, minor: NEXT_DEVICE.fetch_add(1, Relaxed) & 0xf_ffff };
        let (table, ledger) = (Table::new(), Ledger::default());
        let new = NewNode::new(NewKind::Directory, 0o755, 0, 0);
        let root = table.insert(&new, ROOT, FirstName::Given, options.clock.now(), &ledger).expect("an empty table has a slot");
        root.slot.life.begin_root();
        let root = root.key().into();
        let space = Space::new(options.max_bytes.map(|bytes| bytes.div_ceil(PAGE)), options.max_nodes);
        space.nodes.take_root();
        let quotas = Quotas::new(&options);
        if let Some(quotas) = &quotas {
            ledger.charge(ledger::allocation(size_of::<Quotas>()));
            let at = (&options.clock, &ledger);
            quotas.take(Payers([0; 3]), Amount::node(0), at).expect("no account has a limit yet");
        }
        ledger.charge(ledger::allocation(size_of::<Store>() + 2 * size_of::<usize>()));
        Store {
            options,
            calls: Counters::default(),
            table,
            root,
            tree: Mutex::new(()),
            ledger,
            space,
            quotas,
            projects: Projects::default(),
            xattrs: Xattrs::default(),
            device,
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// Returns the current time of the file system's clock.
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

    /// Returns the node that a name leads to at the moment, without holding it.
    pub(crate) fn peek(&self, dir: NodeKey, name: Name<'_>) -> Result<Option<NodeKey>, Errno> {
        let dir = self.inode(dir)?;
        let names = dir.names()?;
        Ok(names.find(&self.hashed(name)).map(|place| names.key(place).into()))
    }

    /// Returns the change cookie of a node, if it is wanted.
    pub(crate) fn details(&self, node: NodeKey, wanted: StatxMask) -> Result<Details, Errno> {
        let inode = self.inode(node)?;
        if !wanted.contains(StatxMask::CHANGE_COOKIE) {
            return Ok(Details::default());
        }
        let cookie = {
            let _locked = inode.lock_shared();
            inode.slot.record.change_cookie()
        };
        self.inode(node).map(|_| Details::default().with_change(ChangeCookie::Monotonic(cookie)))
    }

    pub(crate) fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        let inode = self.inode(node)?;
        let attributes = self.attributes_of(inode);
        // A caller without a hold may have read the attributes of the slot's next node.
        self.inode(node).map(|_| attributes)
    }

    pub(crate) fn read_link(&self, node: NodeKey) -> Result<Box<[u8]>, Errno> {
        self.inode(node)?.link_body()
    }

    /// Fails with `ENOTDIR` if the node is no directory.
    pub(crate) fn check_directory(&self, node: NodeKey) -> Result<(), Errno> {
        self.inode(node)?.names().map(drop)
    }

    /// Returns the names in a directory, sorted.
    pub(crate) fn list(&self, dir: NodeKey) -> Result<Vec<Vec<u8>>, Errno> {
        Ok(self.inode(dir)?.names()?.sorted())
    }

    /// Gives one hold back. A call without a hold is counted and otherwise ignored.
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

    /// Returns the node of a key; `ESTALE` if it is gone.
    pub(crate) fn inode(&self, key: NodeKey) -> Result<Inode<'_>, Errno> {
        self.table.get(key.into())
    }

    fn hashed<'n>(&self, name: Name<'n>) -> Hashed<'n> {
        Hashed::new(name, &self.hasher)
    }

    /// Holds a node that has a name, whose directory's lock the caller has: `ENFILE` if the count
    /// of holds is at its maximum.
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

    /// Gives back the room of a name that was removed while others are left, or frees a node
    /// without names and holds.
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
        self.give_node(self.payers(inode), pages);
        self.put_project(inode, Project::default());
        self.drop_xattrs(inode);
        self.table.remove(inode, &self.ledger);
    }

    #[inline]
    fn node(&self, inode: Inode<'_>) -> Node {
        let with_body = inode.slot.record.is(FileType::Symlink) && self.options.link_bodies == LinkBodies::WithNode;
        // An empty body cannot come with the node.
        let link_body = if with_body { inode.link_body().ok().filter(|body| !body.is_empty()) } else { None };
        let attributes = Attributes::new(FileType::Regular, 0);
        let (key, rule, freshness) = (inode.key().into(), self.options.rule, self.options.names);
        let mut node = Node::new(key, attributes).with_rule(rule).with_freshness(freshness).with_link_body(link_body);
        // Writes the attributes in place, which saves a copy.
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

/// Returns whether `dir` is `above` or lies beneath it. The caller holds `tree`, and `dir` was not
/// removed.
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
