//! Tests of single rules.

use super::super::{Attributes, Caller, Change, Ground as _, NamespaceId, Place, Setting, Tree, TreeInfo};
use super::toy::Toy;
use crate::Errno;
use crate::abi::{MountFlags, Propagation, UmountFlags};
use crate::memory::slot::{DentryId, MountId, SuperblockId};

/// A tree with one namespace, whose root mount has the directories `a` and `b`.
struct World {
    tree: Tree,
    ground: Toy,
    caller: Caller,
    root: DentryId,
}

impl World {
    fn new(limit: usize) -> World {
        let ground = Toy::default();
        let mut tree = Tree::new(limit);
        let (superblock, root) = ground.filled();
        let (namespace, mount) = tree.on(&ground).new_namespace(superblock, root, Attributes::default()).unwrap();
        let caller = Caller { namespace, root: Place::new(mount, root) };
        World { tree, ground, caller, root }
    }

    /// Returns the directory of this name in the root's file system, seen through a mount.
    fn at(&self, mount: MountId, name: &str) -> Place {
        Place::new(mount, self.ground.child(self.root, name).unwrap())
    }

    fn top(&self) -> MountId {
        self.caller.root.mount()
    }

    fn mount(&mut self, at: Place) -> Result<MountId, Errno> {
        let (superblock, root) = self.ground.filled();
        self.mount_this(superblock, root, at)
    }

    fn mount_this(&mut self, superblock: SuperblockId, root: DentryId, at: Place) -> Result<MountId, Errno> {
        let mut change = self.tree.on(&self.ground);
        let result = change.mount(&self.caller, superblock, root, Attributes::default(), at);
        self.tree.check();
        result
    }

    fn bind(&mut self, from: Place, to: Place) -> MountId {
        self.tree.on(&self.ground).bind(&self.caller, from, to, false).unwrap()
    }

    fn umount(&mut self, mount: MountId, flags: UmountFlags) -> Result<(), Errno> {
        let dentry = self.ground.root(mount);
        let mut change = self.tree.on(&self.ground);
        let result = change.umount(&self.caller, Place::new(mount, dentry), flags);
        self.tree.check();
        result
    }

    fn set(&mut self, mount: MountId, kind: Propagation) {
        let dentry = self.ground.root(mount);
        self.tree.set_propagation(Place::new(mount, dentry), kind, false).unwrap();
    }

    fn root_place(&self, mount: MountId) -> Place {
        Place::new(mount, self.ground.root(mount))
    }

    fn infos(&self) -> Vec<TreeInfo> {
        self.tree.mountinfo(&self.ground, self.caller.namespace, self.caller.root)
    }
}

#[test]
fn a_mount_is_shown_at_its_place_and_hidden_when_it_is_unmounted() {
    let mut world = World::new(Tree::LIMIT);
    let at = world.at(world.top(), "a");
    let mount = world.mount(at).unwrap();
    assert_eq!(world.ground.shown(mount), Some((world.top(), at.dentry())));
    assert_eq!(world.tree.top(at), world.root_place(mount));
    world.umount(mount, UmountFlags::empty()).unwrap();
    assert_eq!((world.ground.slots(), world.tree.top(at)), (1, at));
}

#[test]
fn the_same_file_system_is_not_mounted_on_its_own_root() {
    let mut world = World::new(Tree::LIMIT);
    let (superblock, root) = world.ground.filled();
    let at = world.at(world.top(), "a");
    world.mount_this(superblock, root, at).unwrap();
    assert_eq!(world.mount_this(superblock, root, at), Err(Errno::EBUSY));
}

#[test]
fn a_file_is_not_mounted_on_a_directory() {
    let mut world = World::new(Tree::LIMIT);
    let (from, to) = (world.at(world.top(), "f"), world.at(world.top(), "a"));
    let result = world.tree.on(&world.ground).bind(&world.caller, from, to, false);
    assert_eq!(result, Err(Errno::ENOTDIR));
    assert_eq!(world.ground.slots(), 1);
}

#[test]
fn mounting_counts_what_propagates_before_it_changes_anything() {
    let mut world = World::new(4);
    let (a, b) = (world.at(world.top(), "a"), world.at(world.top(), "b"));
    let shared = world.mount(a).unwrap();
    world.set(shared, Propagation::Shared);
    let peer = world.bind(world.root_place(shared), b);
    let point = Place::new(shared, world.ground.child(world.ground.root(shared), "a").unwrap());
    assert_eq!(world.mount(point), Err(Errno::ENOSPC));
    assert_eq!((world.ground.slots(), world.infos().len()), (3, 3));
    world.umount(peer, UmountFlags::empty()).unwrap();
    world.mount(point).unwrap();
}

#[test]
fn a_ground_without_slots_leaves_everything_as_it_was() {
    let mut world = World::new(Tree::LIMIT);
    let (a, b) = (world.at(world.top(), "a"), world.at(world.top(), "b"));
    let shared = world.mount(a).unwrap();
    world.set(shared, Propagation::Shared);
    world.bind(world.root_place(shared), b);
    world.ground.set_limit(4);
    let point = Place::new(shared, world.ground.child(world.ground.root(shared), "a").unwrap());
    assert_eq!(world.mount(point), Err(Errno::ENOSPC));
    assert_eq!(world.ground.slots(), 3);
    let namespaces = world.tree.on(&world.ground).clone_namespace(world.caller.namespace);
    assert_eq!(namespaces.map(|_| ()), Err(Errno::ENOSPC));
    world.tree.check();
    assert_eq!(world.ground.slots(), 3);
}

#[test]
fn a_held_mount_is_busy_and_leaves_lazily() {
    let mut world = World::new(Tree::LIMIT);
    let mount = world.mount(world.at(world.top(), "a")).unwrap();
    world.ground.hold(mount);
    assert_eq!(world.umount(mount, UmountFlags::empty()), Err(Errno::EBUSY));
    world.umount(mount, UmountFlags::DETACH).unwrap();
    assert_eq!(world.tree.namespace_of(mount), None);
    assert_eq!(world.umount(mount, UmountFlags::DETACH), Err(Errno::EINVAL));
    world.ground.unhold(mount);
    assert_eq!(world.ground.slots(), 1);
}

#[test]
fn a_mount_expires_when_it_was_not_used_between_two_tries() {
    let mut world = World::new(Tree::LIMIT);
    let mount = world.mount(world.at(world.top(), "a")).unwrap();
    assert_eq!(world.umount(mount, UmountFlags::EXPIRE), Err(Errno::EAGAIN));
    world.ground.used(mount);
    assert_eq!(world.umount(mount, UmountFlags::EXPIRE), Err(Errno::EAGAIN));
    assert_eq!(world.umount(mount, UmountFlags::EXPIRE), Ok(()));
    let both = UmountFlags::EXPIRE | UmountFlags::DETACH;
    let mount = world.mount(world.at(world.top(), "a")).unwrap();
    assert_eq!(world.umount(mount, both), Err(Errno::EINVAL));
}

#[test]
fn mounts_on_a_removed_directory_stay_connected_for_their_holder() {
    let mut world = World::new(Tree::LIMIT);
    let point = world.at(world.top(), "a");
    let outer = world.mount(point).unwrap();
    let inside = Place::new(outer, world.ground.child(world.ground.root(outer), "a").unwrap());
    let inner = world.mount(inside).unwrap();
    world.ground.hold(outer);
    assert!(world.tree.is_mounted_in(point.dentry(), world.caller.namespace));
    assert!(!world.tree.is_mounted_in(point.dentry(), NamespaceId(7)));
    world.tree.on(&world.ground).detach_at(point.dentry());
    world.tree.check();
    assert!(!world.tree.is_mounted_on(point.dentry()));
    assert_eq!(world.tree.lookup(inside), Some(inner));
    world.ground.unhold(outer);
    world.tree.on(&world.ground).collect(outer);
    assert_eq!((world.ground.slots(), world.tree.lookup(inside)), (1, None));
}

#[test]
fn a_detached_tree_is_attached_once_or_dissolved() {
    let mut world = World::new(Tree::LIMIT);
    let (a, b) = (world.at(world.top(), "a"), world.at(world.top(), "b"));
    let mut change = world.tree.on(&world.ground);
    let (_, mount) = change.clone_tree(&world.caller, b, true).unwrap();
    let from = Place::new(mount, b.dentry());
    change.move_mount(&world.caller, from, a).unwrap();
    change.dissolve(mount);
    assert!(world.tree.is_in(mount, world.caller.namespace));
    let mut change = world.tree.on(&world.ground);
    let (_, mount) = change.clone_tree(&world.caller, b, true).unwrap();
    change.dissolve(mount);
    world.tree.check();
    assert_eq!(world.ground.slots(), 2);
}

#[test]
fn a_tree_detached_from_another_namespace_is_not_the_callers() {
    let mut world = World::new(Tree::LIMIT);
    let (a, b) = (world.at(world.top(), "a"), world.at(world.top(), "b"));
    let mut change = world.tree.on(&world.ground);
    let (_, mount) = change.clone_tree(&world.caller, b, true).unwrap();
    let (other, copies) = change.clone_namespace(world.caller.namespace).unwrap();
    let there = Caller { namespace: other, root: Place::new(copies[&a.mount()], world.caller.root.dentry()) };
    let from = Place::new(mount, b.dentry());
    let to = Place::new(there.root.mount(), a.dentry());
    assert_eq!(change.bind(&there, from, to, true), Err(Errno::EINVAL));
    assert_eq!(change.move_mount(&there, from, to), Ok(()));
    assert_eq!(change.move_mount(&there, world.caller.root, to), Err(Errno::EINVAL));
    world.tree.check();
}

#[test]
fn attributes_change_for_all_mounts_or_for_none() {
    let mut world = World::new(Tree::LIMIT);
    let outer = world.mount(world.at(world.top(), "a")).unwrap();
    world.ground.write(outer);
    let setting = Setting { set: MountFlags::READ_ONLY, ..Setting::default() };
    let mut change = world.tree.on(&world.ground);
    let all = change.set_attributes(&world.caller, world.caller.root, &setting, true);
    assert_eq!((all, world.ground.barred()), (Err(Errno::EBUSY), 0));
    assert!(world.infos().iter().all(|info| info.flags.is_empty()));
    let setting = Setting { set: MountFlags::NOEXEC, ..Setting::default() };
    let mut change = world.tree.on(&world.ground);
    change.set_attributes(&world.caller, world.caller.root, &setting, true).unwrap();
    assert!(world.infos().iter().all(|info| info.flags == MountFlags::NOEXEC));
}

#[test]
fn id_maps_are_for_mounts_that_are_nowhere_yet() {
    let mut world = World::new(Tree::LIMIT);
    let inner = world.mount(world.at(world.top(), "a")).unwrap();
    let extent = [crate::permission::IdExtent { inside: 0, outside: 5, length: 1 }];
    let id_map = Some(crate::permission::IdMap::new(&extent, &extent).unwrap());
    let setting = Setting { id_map, ..Setting::default() };
    let root = world.caller.root;
    let mut change = world.tree.on(&world.ground);
    assert_eq!(change.set_attributes(&world.caller, root, &setting, false), Err(Errno::EINVAL));
    let (_, copy) = change.clone_tree(&world.caller, root, true).unwrap();
    let below = change.tree.children(copy).next().unwrap();
    let top = Place::new(copy, root.dentry());
    world.ground.write(below);
    assert_eq!(change.set_attributes(&world.caller, top, &setting, true), Err(Errno::EBUSY));
    assert_eq!((world.ground.barred(), change.tree.nodes[copy].attributes.id_map), (0, None));
    world.ground.forbid_maps(change.tree.nodes[inner].superblock);
    assert_eq!(change.set_attributes(&world.caller, top, &setting, true), Err(Errno::EINVAL));
    assert_eq!((world.ground.barred(), change.tree.nodes[copy].attributes.id_map), (0, None));
    assert_eq!(change.set_attributes(&world.caller, top, &setting, false), Ok(()));
    assert_eq!(world.ground.barred(), 0);
    let has_map = |mount: MountId, change: &Change<'_, Toy>| change.tree.nodes[mount].attributes.id_map.is_some();
    assert_eq!((has_map(copy, &change), has_map(below, &change)), (true, false));
    assert_eq!(change.set_attributes(&world.caller, top, &setting, false), Err(Errno::EPERM));
    let (_, again) = change.clone_tree(&world.caller, top, true).unwrap();
    assert!(has_map(again, &change), "a copy keeps it");
    world.tree.check();
}

#[test]
fn a_node_is_small() {
    assert!(size_of::<super::super::node::Node>() <= 144, "{}", size_of::<super::super::node::Node>());
}

/// Checks as many mounts as a namespace may have. A step that visits all of them would make this
/// take hours.
#[test]
fn as_many_mounts_as_there_may_be() {
    let count: usize = if cfg!(miri) { 50 } else { 99_990 };
    let mut world = World::new(Tree::LIMIT);
    let top = world.top();
    world.set(top, Propagation::Shared);
    let (superblock, root) = world.ground.filled();
    let points: Vec<DentryId> = (0..count).map(|n| world.ground.make(world.root, &n.to_string(), true).unwrap()).collect();
    let mut change = world.tree.on(&world.ground);
    for &dentry in &points {
        let at = Place::new(top, dentry);
        change.mount(&world.caller, superblock, root, Attributes::default(), at).unwrap();
    }
    let (other, _) = change.clone_namespace(world.caller.namespace).unwrap();
    let mount = change.tree.lookup(Place::new(top, points[0])).unwrap();
    let at = Place::new(mount, root);
    change.umount(&world.caller, at, UmountFlags::empty()).unwrap();
    change.drop_namespace(other);
    change.drop_namespace(world.caller.namespace);
    world.tree.check();
    assert_eq!(world.ground.slots(), 0);
}
