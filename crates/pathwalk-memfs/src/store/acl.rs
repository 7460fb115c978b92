//! The access control lists of nodes: kept consistent with the mode, as `acl(5)` requires, checked,
//! and given to new nodes.

use pathwalk::permission::{Acl, AclKind, Subject, generic};
use pathwalk::{Access, AclState, Attributes, Errno, FileType, Inherited, NewNode, NodeKey};

use super::Store;
use super::inode::Inode;
use super::ledger::allocation;
use super::locked::Guarded;

/// The lists of a node that has one at least.
#[derive(Default)]
pub(crate) struct Lists {
    access: Option<Acl>,
    default: Option<Acl>,
}

impl Store {
    /// Checks whether a subject may access a node in this way.
    pub(crate) fn permission(&self, node: NodeKey, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        let inode = self.inode(node)?;
        let guarded = inode.lock_shared();
        check(&self.attributes_of(inode), guarded.list(AclKind::Access), who, want)
    }

    /// Returns whether a node has an access list, or the options report one, as the state of its
    /// list.
    pub(crate) fn acl(&self, node: NodeKey) -> Result<AclState, Errno> {
        let listed = self.inode(node)?.slot.record.has_list(AclKind::Access);
        let present = listed || self.options.acl == AclState::Present;
        Ok(if present { AclState::Present } else { AclState::Absent })
    }

    /// Returns a list of a node, if it has one.
    pub(crate) fn get_acl(&self, node: NodeKey, kind: AclKind) -> Result<Option<Acl>, Errno> {
        Ok(self.inode(node)?.lock_shared().list(kind).cloned())
    }

    /// Sets a list of a node, or removes it, together with the mode that `mode` returns for the one
    /// before. `EOPNOTSUPP` for a link, `EACCES` for a default list of a node that is no directory.
    pub(crate) fn set_acl(
        &self,
        node: NodeKey,
        kind: AclKind,
        acl: Option<&Acl>,
        mode: impl FnOnce(u16) -> u16,
    ) -> Result<Attributes, Errno> {
        let inode = self.inode(node)?;
        if inode.slot.record.is(FileType::Symlink) {
            return Err(Errno::EOPNOTSUPP);
        }
        if kind == AclKind::Default && acl.is_some() && !inode.is_directory() {
            return Err(Errno::EACCES);
        }
        let mut locked = inode.lock();
        self.charged(&mut locked.guarded, |guarded| guarded.set_list(kind, acl.cloned()));
        locked.change(|record| {
            record.set_mode(mode(record.mode()));
            record.mark_list(kind, acl.is_some());
            record.touch_ctime(self.now());
        });
        Ok(self.attributes_of(inode))
    }

    /// Gives a node that is being created the lists that it inherits.
    pub(super) fn give_lists(&self, inode: Inode<'_>, inherited: Inherited) {
        let lists = [(AclKind::Access, inherited.access), (AclKind::Default, inherited.default)];
        for (kind, list) in lists.into_iter().filter(|(_, list)| list.is_some()) {
            self.charged(&mut inode.lock().guarded, |guarded| guarded.set_list(kind, list));
            inode.slot.record.mark_list(kind, true);
        }
    }

    /// Changes the entries of a node's list that the mode stands for. Returns whether it has a
    /// list.
    pub(super) fn follow_mode(&self, guarded: &mut Guarded, mode: u16) -> bool {
        let Some(list) = guarded.list(AclKind::Access).map(|list| list.with_mode(mode)) else { return false };
        self.charged(guarded, |guarded| guarded.set_list(AclKind::Access, Some(list)));
        true
    }

    /// Does a change of lists, and records their memory.
    fn charged(&self, guarded: &mut Guarded, change: impl FnOnce(&mut Guarded)) {
        let before = Lists::bytes(&guarded.lists);
        change(guarded);
        self.ledger.resize(before, Lists::bytes(&guarded.lists));
    }
}

impl Guarded {
    pub(super) fn list(&self, kind: AclKind) -> Option<&Acl> {
        let lists = self.lists.as_ref()?;
        match kind {
            AclKind::Access => lists.access.as_ref(),
            AclKind::Default => lists.default.as_ref(),
        }
    }

    fn set_list(&mut self, kind: AclKind, list: Option<Acl>) {
        let mut lists = self.lists.take().unwrap_or_default();
        match kind {
            AclKind::Access => lists.access = list,
            AclKind::Default => lists.default = list,
        }
        let is_some = lists.access.is_some() || lists.default.is_some();
        self.lists = is_some.then_some(lists);
    }

    /// Returns what a node to be made in this directory inherits.
    #[inline]
    pub(super) fn inherited_by(&self, new: &NewNode<'_>) -> Inherited {
        new.inherit(self.list(AclKind::Default))
    }
}

/// Checks an access completely, with or without a list; capabilities come last.
fn check(node: &Attributes, list: Option<&Acl>, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
    match list {
        None => generic(who, node.kind, node.mode, node.uid, node.gid, want),
        Some(list) => list.check(who, node, want),
    }
}

impl Lists {
    /// Returns the memory of a node's lists in bytes.
    pub(crate) fn bytes(lists: &Option<Box<Lists>>) -> u64 {
        let entries = |list: &Option<Acl>| list.as_ref().map_or(0, |list| allocation(size_of_val(list.entries())));
        lists.as_ref().map_or(0, |lists| allocation(size_of::<Lists>()) + entries(&lists.access) + entries(&lists.default))
    }
}
