//! Extended attributes, of any namespace but `system.`, as a tmpfs keeps them.
//!
//! Few nodes have any, so a node's slot has only a mark for them ([`Record`](super::record)). The
//! attributes are in a table beside the slots, by the node's number. It is in stripes, each with a
//! lock of its own, inside of which no other is taken. A change holds the node's lock exclusively,
//! and then that of the stripe.
//!
//! What always holds: a node is in the table if and only if it has the mark, and the mark changes
//! only under the node's lock, or while the node is freed. Attributes take room of the nodes' limit
//! ([`Space`](super::space)), and replaced ones give theirs back afterwards, as on a tmpfs.

use std::cmp::Ordering;

use hashbrown::HashMap;
use parking_lot::RwLock;
use pathwalk::{Errno, NodeKey, XattrFlags, XattrName};

use super::Store;
use super::inode::Inode;
use super::ledger::allocation;

/// The number of stripes of the table.
const STRIPES: usize = 16;

/// The bytes of the nodes' limit that an attribute takes beside its name and value: the size of
/// `struct simple_xattr` of Linux.
const OVERHEAD: u64 = 40;

/// The memory of a node's entry in the table, in bytes, where half of the table is free.
const TABLE_ENTRY: u64 = 2 * (size_of::<(u64, Attributes)>() as u64 + 1);

/// The attributes of all nodes that have any.
#[derive(Default)]
pub(crate) struct Xattrs([RwLock<HashMap<u64, Attributes>>; STRIPES]);

/// The attributes of one node, in the order in which a tmpfs lists them: by their names, backwards.
#[derive(Default)]
struct Attributes(Vec<Attribute>);

struct Attribute {
    name: Box<[u8]>,
    value: Box<[u8]>,
}

impl Store {
    /// Returns the value of an attribute; `None` if the node does not have it.
    pub(crate) fn get_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<Option<Box<[u8]>>, Errno> {
        let inode = self.inode(node)?;
        if !inode.slot.record.has_xattrs() {
            return Ok(None);
        }
        let stripe = self.xattrs.stripe(inode).read();
        let found = stripe.get(&inode.ino.0).and_then(|all| all.find(name.bytes()).ok().map(|at| &all.0[at]));
        Ok(found.map(|attribute| attribute.value.clone()))
    }

    /// Passes the names of all attributes to `each`.
    pub(crate) fn list_xattrs(&self, node: NodeKey, each: &mut dyn FnMut(&[u8])) -> Result<(), Errno> {
        let inode = self.inode(node)?;
        if inode.slot.record.has_xattrs()
            && let Some(all) = self.xattrs.stripe(inode).read().get(&inode.ino.0)
        {
            all.0.iter().for_each(|attribute| each(&attribute.name));
        }
        Ok(())
    }

    /// Sets an attribute: `ENOSPC`, `EEXIST`, `ENODATA`.
    pub(crate) fn set_xattr(&self, node: NodeKey, name: XattrName<'_>, value: &[u8], flags: XattrFlags) -> Result<(), Errno> {
        let inode = self.inode(node)?;
        let (name, value) = (Box::from(name.bytes()), Box::from(value));
        let new = Attribute { name, value };
        let room = new.room();
        self.space.take_bytes(room)?;
        let replaced = self.change_xattrs(inode, |all| all.set(new, flags));
        let unused = match &replaced {
            Ok(replaced) => replaced.as_ref().map_or(0, Attribute::room),
            Err(_) => room,
        };
        self.space.give_bytes(unused);
        replaced.map(drop)
    }

    /// Removes an attribute: `ENODATA`.
    pub(crate) fn remove_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<(), Errno> {
        let removed = self.change_xattrs(self.inode(node)?, |all| all.remove(name.bytes()))?;
        self.space.give_bytes(removed.room());
        Ok(())
    }

    /// Drops the attributes of a node that is being freed.
    pub(super) fn drop_xattrs(&self, inode: Inode<'_>) {
        if !inode.slot.record.has_xattrs() {
            return;
        }
        let gone = self.xattrs.stripe(inode).write().remove(&inode.ino.0).unwrap_or_default();
        self.ledger.credit(gone.bytes());
        self.space.give_bytes(gone.0.iter().map(Attribute::room).sum());
    }

    /// Changes the attributes of a node, and its mark, its time of change and the memory with them.
    /// A change that fails has changed nothing.
    fn change_xattrs<T>(&self, inode: Inode<'_>, change: impl FnOnce(&mut Attributes) -> Result<T, Errno>) -> Result<T, Errno> {
        let mut locked = inode.lock();
        let mut stripe = self.xattrs.stripe(inode).write();
        let mut all = stripe.remove(&inode.ino.0).unwrap_or_default();
        let before = all.bytes();
        let changed = change(&mut all);
        self.ledger.resize(before, all.bytes());
        let has_some = !all.0.is_empty();
        if has_some {
            stripe.insert(inode.ino.0, all);
        }
        if changed.is_ok() {
            locked.change(|record| {
                record.set_xattrs(has_some);
                record.touch_ctime(self.now());
            });
        }
        changed
    }
}

impl Xattrs {
    fn stripe(&self, inode: Inode<'_>) -> &RwLock<HashMap<u64, Attributes>> {
        &self.0[inode.ino.0 as usize % STRIPES]
    }
}

impl Attributes {
    /// Returns the place of an attribute, or else the place that it would have.
    fn find(&self, name: &[u8]) -> Result<usize, usize> {
        let order = |attribute: &Attribute| -> Ordering { name.cmp(&attribute.name) };
        self.0.binary_search_by(order)
    }

    /// Sets an attribute, and returns the one that it replaced.
    fn set(&mut self, new: Attribute, flags: XattrFlags) -> Result<Option<Attribute>, Errno> {
        match self.find(&new.name) {
            Ok(_) if flags.contains(XattrFlags::CREATE) => Err(Errno::EEXIST),
            Ok(at) => Ok(Some(std::mem::replace(&mut self.0[at], new))),
            Err(_) if flags.contains(XattrFlags::REPLACE) => Err(Errno::ENODATA),
            Err(at) => {
                self.0.reserve_exact(1);
                self.0.insert(at, new);
                Ok(None)
            }
        }
    }

    fn remove(&mut self, name: &[u8]) -> Result<Attribute, Errno> {
        let at = self.find(name).map_err(|_| Errno::ENODATA)?;
        let removed = self.0.remove(at);
        self.0.shrink_to_fit();
        Ok(removed)
    }

    /// Returns the memory in bytes.
    fn bytes(&self) -> u64 {
        if self.0.is_empty() {
            return 0;
        }
        let of_each = |attribute: &Attribute| allocation(attribute.name.len()) + allocation(attribute.value.len());
        TABLE_ENTRY + allocation(self.0.len() * size_of::<Attribute>()) + self.0.iter().map(of_each).sum::<u64>()
    }
}

impl Attribute {
    /// Returns the bytes of the nodes' limit that it takes.
    fn room(&self) -> u64 {
        OVERHEAD + self.name.len() as u64 + self.value.len() as u64
    }
}
