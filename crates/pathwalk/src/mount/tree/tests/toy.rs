//! A ground of directories in memory, which checks the tree's calls.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use super::super::{Attributes, Ground};
use crate::Errno;
use crate::abi::SuperblockFlags;
use crate::memory::slot::{DentryId, MountId, SuperblockId};
use crate::mount::id_maps::{IdMapNumber, IdMaps};
use crate::permission::IdMap;

/// A file or directory.
struct Dentry {
    parent: DentryId,
    is_directory: bool,
    is_removed: bool,
    children: HashMap<String, DentryId>,
}

/// A mount's slot.
struct Slot {
    root: DentryId,
    holds: usize,
    is_the_trees: bool,
    shown: Option<(MountId, DentryId)>,
}

#[derive(Default)]
struct State {
    dentries: Vec<Dentry>,
    superblocks: u16,
    slots: HashMap<MountId, Slot>,
    free: Vec<MountId>,
    last: u32,
    limit: Option<usize>,
    writers: Vec<MountId>,
    barred: Vec<MountId>,
    expiring: HashSet<MountId>,
    /// A file system that allows no id maps.
    unmappable: Option<SuperblockId>,
    maps: IdMaps,
    read_only: HashSet<SuperblockId>,
}

/// Directories, and slots of mounts.
#[derive(Default)]
pub(crate) struct Toy(RefCell<State>);

impl Toy {
    /// Records the use of a mount.
    pub(super) fn used(&self, mount: MountId) {
        self.0.borrow_mut().expiring.remove(&mount);
    }

    /// Creates a file system and returns its root.
    pub(super) fn file_system(&self) -> (SuperblockId, DentryId) {
        let mut state = self.0.borrow_mut();
        state.superblocks += 1;
        let number = SuperblockId(state.superblocks);
        (number, add(&mut state, DentryId::NONE, true))
    }

    /// Creates a file system with the directories that the comparison uses.
    pub(super) fn filled(&self) -> (SuperblockId, DentryId) {
        let (number, root) = self.file_system();
        for name in ["a", "b"] {
            let directory = self.make(root, name, true).unwrap();
            self.make(directory, "a", true).unwrap();
            self.make(directory, "b", true).unwrap();
        }
        self.make(root, "f", false).unwrap();
        (number, root)
    }

    /// Creates a file or directory.
    pub(super) fn make(&self, parent: DentryId, name: &str, is_directory: bool) -> Option<DentryId> {
        let mut state = self.0.borrow_mut();
        if at(&state, parent).children.contains_key(name) || at(&state, parent).is_removed {
            return None;
        }
        let new = add(&mut state, parent, is_directory);
        state.dentries[parent.0 as usize - 1].children.insert(name.into(), new);
        Some(new)
    }

    pub(super) fn child(&self, parent: DentryId, name: &str) -> Option<DentryId> {
        at(&self.0.borrow(), parent).children.get(name).copied()
    }

    pub(super) fn parent(&self, dentry: DentryId) -> DentryId {
        at(&self.0.borrow(), dentry).parent
    }

    pub(super) fn hold(&self, mount: MountId) {
        self.0.borrow_mut().slots.get_mut(&mount).expect("a mount").holds += 1;
    }

    /// Gives a hold back. The caller then calls the tree, which may have kept the mount.
    pub(super) fn unhold(&self, mount: MountId) {
        let mut state = self.0.borrow_mut();
        let slot = state.slots.get_mut(&mount).expect("a mount");
        slot.holds -= 1;
        if slot.holds == 0 && !slot.is_the_trees {
            free(&mut state, mount);
        }
    }

    pub(super) fn set_limit(&self, limit: usize) {
        self.0.borrow_mut().limit = Some(limit);
    }

    /// Adds a writer to a mount.
    pub(super) fn write(&self, mount: MountId) {
        self.0.borrow_mut().writers.push(mount);
    }

    /// Makes a file system allow no id maps.
    pub(super) fn forbid_maps(&self, superblock: SuperblockId) {
        self.0.borrow_mut().unmappable = Some(superblock);
    }

    pub(super) fn barred(&self) -> usize {
        self.0.borrow().barred.len()
    }

    pub(super) fn slots(&self) -> usize {
        self.0.borrow().slots.len()
    }

    pub(super) fn shown(&self, mount: MountId) -> Option<(MountId, DentryId)> {
        self.0.borrow().slots.get(&mount)?.shown
    }
}

fn at(state: &State, dentry: DentryId) -> &Dentry {
    &state.dentries[dentry.0 as usize - 1]
}

fn add(state: &mut State, parent: DentryId, is_directory: bool) -> DentryId {
    let children = HashMap::new();
    state.dentries.push(Dentry { parent, is_directory, is_removed: false, children });
    DentryId(state.dentries.len() as u32)
}

fn free(state: &mut State, mount: MountId) {
    let slot = state.slots.remove(&mount).expect("a mount");
    assert_eq!((slot.holds, slot.shown), (0, None));
    state.free.push(mount);
}

impl Ground for Toy {
    fn new_mount(&self, _: SuperblockId, root: DentryId, _: &Attributes) -> Result<MountId, Errno> {
        let mut state = self.0.borrow_mut();
        if state.limit.is_some_and(|limit| state.slots.len() >= limit) {
            return Err(Errno::ENOSPC);
        }
        let id = state.free.pop().unwrap_or_else(|| {
            state.last += 1;
            MountId(state.last)
        });
        state.slots.insert(id, Slot { root, holds: 0, is_the_trees: true, shown: None });
        Ok(id)
    }

    fn show(&self, mount: MountId, parent: MountId, point: DentryId) {
        let mut state = self.0.borrow_mut();
        let slot = state.slots.get_mut(&mount).expect("a mount");
        assert_eq!(slot.shown.replace((parent, point)), None);
    }

    fn hide(&self, mount: MountId) {
        let mut state = self.0.borrow_mut();
        let slot = state.slots.get_mut(&mount).expect("a mount");
        assert!(slot.shown.take().is_some());
        if !slot.is_the_trees {
            free(&mut state, mount);
        }
    }

    fn set(&self, mount: MountId, _: &Attributes) {
        self.0.borrow_mut().barred.retain(|&other| other != mount);
    }

    fn allows_id_maps(&self, superblock: SuperblockId) -> bool {
        self.0.borrow().unmappable != Some(superblock)
    }

    fn enter_id_map(&self, map: &IdMap) -> Result<IdMapNumber, Errno> {
        self.0.borrow().maps.enter(map)
    }

    fn bar_writers(&self, mount: MountId) -> bool {
        let mut state = self.0.borrow_mut();
        let free = !state.writers.contains(&mount);
        if free {
            state.barred.push(mount);
        }
        free
    }

    fn admit_writers(&self, mount: MountId) {
        self.set(mount, &Attributes::default());
    }

    fn superblock_flags(&self, superblock: SuperblockId) -> SuperblockFlags {
        let is_read_only = self.0.borrow().read_only.contains(&superblock);
        if is_read_only { SuperblockFlags::READ_ONLY } else { SuperblockFlags::empty() }
    }

    fn set_superblock(&self, superblock: SuperblockId, to: SuperblockFlags) -> Result<(), Errno> {
        let mut state = self.0.borrow_mut();
        if !to.contains(SuperblockFlags::READ_ONLY) {
            state.read_only.remove(&superblock);
        } else if state.writers.is_empty() {
            state.read_only.insert(superblock);
        } else {
            return Err(Errno::EBUSY);
        }
        Ok(())
    }

    fn is_busy(&self, mount: MountId) -> bool {
        self.0.borrow().slots[&mount].holds > 0
    }

    fn close(&self, mount: MountId) -> bool {
        let mut state = self.0.borrow_mut();
        let slot = state.slots.get_mut(&mount).expect("a mount");
        if slot.holds > 0 {
            return false;
        }
        slot.is_the_trees = false;
        if slot.shown.is_none() {
            free(&mut state, mount);
        }
        true
    }

    fn release(&self, mount: MountId) {
        let mut state = self.0.borrow_mut();
        let slot = state.slots.get_mut(&mount).expect("a mount");
        assert!(slot.is_the_trees);
        slot.is_the_trees = false;
        if slot.holds == 0 {
            free(&mut state, mount);
        }
    }

    fn expire(&self, mount: MountId) -> bool {
        !self.0.borrow_mut().expiring.insert(mount)
    }

    fn linger(&self, mount: MountId) {
        assert!(self.is_busy(mount));
    }

    fn root(&self, mount: MountId) -> DentryId {
        self.0.borrow().slots[&mount].root
    }

    fn is_below(&self, dentry: DentryId, top: DentryId) -> bool {
        let mut at = dentry;
        while at != top && at != DentryId::NONE {
            at = self.parent(at);
        }
        at == top
    }

    fn is_directory(&self, dentry: DentryId) -> bool {
        at(&self.0.borrow(), dentry).is_directory
    }

    fn is_removed(&self, dentry: DentryId) -> bool {
        at(&self.0.borrow(), dentry).is_removed
    }
}
