//! The access control lists of nodes: kept consistent with the mode, as `acl(5)` requires, and
//! checked.

use pathwalk::permission::{Acl, AclEntry, AclTag, Subject, generic};
use pathwalk::{Access, AclState, Attributes, Errno, FileType, NodeKey};

use super::Store;
use super::ledger::allocation;

/// The entries of a list.
pub(crate) struct List(Box<[AclEntry]>);

impl Store {
    /// Checks whether a subject may access a node in this way.
    pub(crate) fn permission(&self, node: NodeKey, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        let inode = self.inode(node)?;
        let guarded = inode.lock_shared();
        check(&self.attributes_of(inode), &guarded.acl, who, want)
    }

    /// Returns whether a node has a list, or the options report one, as the state of its list.
    pub(crate) fn acl(&self, node: NodeKey) -> Result<AclState, Errno> {
        let listed = self.inode(node)?.slot.record.is_listed();
        let present = listed || self.options.acl == AclState::Present;
        Ok(if present { AclState::Present } else { AclState::Absent })
    }

    /// Sets the ACL of a node, which changes its mode too; without entries, removes it.
    pub(crate) fn set_acl(&self, node: NodeKey, entries: &[AclEntry]) -> Result<(), Errno> {
        let inode = self.inode(node)?;
        if inode.slot.record.is(FileType::Symlink) {
            return Err(Errno::EOPNOTSUPP);
        }
        let list = (!entries.is_empty()).then(|| Box::new(List(entries.into())));
        let mut locked = inode.lock();
        self.ledger.resize(List::bytes(&locked.guarded.acl), List::bytes(&list));
        locked.change(|record| {
            record.set_mode(mode_of(entries, record.mode()));
            record.set_listed(list.is_some());
            record.touch_ctime(self.now());
        });
        locked.guarded.acl = list;
        Ok(())
    }
}

/// Returns the list after a change of mode: the owner's and the other entry follow it, and so does
/// the mask, or else the owning group's entry.
fn with_mode(entries: &[AclEntry], mode: u16) -> Box<[AclEntry]> {
    let triad = |shift: u16| Access::from_bits_truncate((mode >> shift) as u8 & 7);
    let class = group_class(entries);
    let follow = |entry: &AclEntry| {
        let grants = match entry.tag {
            AclTag::Owner => triad(6),
            AclTag::Other => triad(0),
            tag if tag == class => triad(3),
            _ => entry.grants,
        };
        AclEntry { grants, ..*entry }
    };
    entries.iter().map(follow).collect()
}

/// Returns the mode after a change of the list.
fn mode_of(entries: &[AclEntry], mode: u16) -> u16 {
    let class = group_class(entries);
    entries.iter().fold(mode, |mode, entry| {
        let shift = match entry.tag {
            AclTag::Owner => 6,
            AclTag::Other => 0,
            tag if tag == class => 3,
            _ => return mode,
        };
        mode & !(7 << shift) | u16::from(entry.grants.bits()) << shift
    })
}

/// Returns the entry that the group bits of the mode stand for.
fn group_class(entries: &[AclEntry]) -> AclTag {
    if entries.iter().any(|entry| entry.tag == AclTag::Mask) { AclTag::Mask } else { AclTag::Group }
}

/// Checks an access completely, with or without a list; capabilities come last.
fn check(node: &Attributes, list: &Option<Box<List>>, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
    match list {
        None => generic(who, node.kind, node.mode, node.uid, node.gid, want),
        Some(list) => Acl::new(list.0.to_vec()).check(who, node, want),
    }
}

impl List {
    /// Updates the list after a change of mode.
    pub(crate) fn follow(&mut self, mode: u16) {
        self.0 = with_mode(&self.0, mode);
    }

    /// Returns the memory of a list in bytes.
    pub(crate) fn bytes(list: &Option<Box<List>>) -> u64 {
        list.as_ref().map_or(0, |list| allocation(size_of::<List>()) + allocation(size_of_val(&*list.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(mask: Option<Access>) -> Vec<AclEntry> {
        let entry = |tag, grants| AclEntry { tag, grants };
        let mut entries = vec![
            entry(AclTag::Owner, Access::all()),
            entry(AclTag::User(11), Access::READ),
            entry(AclTag::Group, Access::READ),
            entry(AclTag::Other, Access::empty()),
        ];
        entries.extend(mask.map(|grants| entry(AclTag::Mask, grants)));
        entries
    }

    #[test]
    fn group_bits_stand_for_the_mask_if_there_is_one() {
        assert_eq!(mode_of(&entries(None), 0o1007), 0o1740);
        assert_eq!(mode_of(&entries(Some(Access::EXECUTE)), 0o007), 0o710);
        let grants = |entries: &[AclEntry], tag| entries.iter().find(|entry| entry.tag == tag).map(|entry| entry.grants);
        let without = with_mode(&entries(None), 0o651);
        assert_eq!(grants(&without, AclTag::Group), Some(Access::READ | Access::EXECUTE));
        assert_eq!(grants(&without, AclTag::Other), Some(Access::EXECUTE));
        let with = with_mode(&entries(Some(Access::all())), 0o651);
        assert_eq!(grants(&with, AclTag::Group), Some(Access::READ), "hidden behind the mask");
        assert_eq!(grants(&with, AclTag::Mask), Some(Access::READ | Access::EXECUTE));
        assert_eq!(grants(&with, AclTag::User(11)), Some(Access::READ));
    }
}
