//! The tree as a system of mounts with one caller, which looks paths up in the toy ground.

use super::super::{Attributes, Caller, Ground as _, MountInfo, NamespaceId, Place, Tree};
use super::op::{Op, SLOTS, Spot};
use super::system::{Failure, Line, System};
use super::toy::Toy;
use crate::Errno;
use crate::memory::slot::MountId;

/// How many mounts a namespace may have before it gets no more of them.
const ENOUGH: usize = 60;

/// The tree and its caller.
pub(crate) struct Model {
    pub(crate) tree: Tree,
    pub(super) ground: Toy,
    pub(super) caller: Caller,
    held: [Option<(Place, bool)>; SLOTS],
    pub(super) namespaces: [Option<NamespaceId>; SLOTS],
}

pub(super) fn errno(errno: Errno) -> Failure {
    Failure::Errno(errno.raw())
}

impl Model {
    pub(crate) fn new() -> Model {
        let ground = Toy::default();
        let mut tree = Tree::new(Tree::LIMIT);
        let (superblock, root) = ground.file_system();
        let mut change = tree.on(&ground);
        let (namespace, mount) = change.new_namespace(superblock, root, Attributes::default()).unwrap();
        let below = Place::new(mount, root);
        let (superblock, root) = ground.filled();
        let caller = Caller { namespace, root: below };
        let new = change.mount(&caller, superblock, root, Attributes::default(), below).unwrap();
        ground.hold(new);
        let caller = Caller { namespace, root: Place::new(new, root) };
        let mut namespaces = [None; SLOTS];
        namespaces[0] = Some(namespace);
        Model { tree, ground, caller, held: [None; SLOTS], namespaces }
    }

    fn unhold(&mut self, mount: MountId) {
        self.ground.unhold(mount);
        self.tree.on(&self.ground).collect(mount);
    }

    pub(super) fn set_root(&mut self, root: Place) {
        self.ground.hold(root.mount());
        let old = std::mem::replace(&mut self.caller.root, root);
        self.unhold(old.mount());
    }

    pub(super) fn walk(&self, path: &str) -> Result<Place, Failure> {
        let mut place = self.caller.root;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            place = self.step(place, name)?;
        }
        Ok(place)
    }

    fn step(&self, place: Place, name: &str) -> Result<Place, Failure> {
        if !self.ground.is_directory(place.dentry()) {
            return Err(errno(Errno::ENOTDIR));
        }
        let child = self.ground.child(place.dentry(), name).ok_or(errno(Errno::ENOENT))?;
        Ok(self.tree.top(Place::new(place.mount(), child)))
    }

    pub(super) fn at(&self, spot: &Spot) -> Result<Place, Failure> {
        match spot {
            Spot::Path(path) => self.walk(path),
            Spot::Held(slot) => self.held[*slot].map(|held| held.0).ok_or(Failure::Skipped),
        }
    }

    /// Returns a spot that a working directory can be.
    pub(super) fn directory(&self, spot: &Spot) -> Result<Place, Failure> {
        let place = self.at(spot)?;
        if matches!(spot, Spot::Held(_)) && !self.ground.is_directory(place.dentry()) {
            return Err(errno(Errno::ENOTDIR));
        }
        Ok(place)
    }

    pub(super) fn skip_if(&self, condition: bool) -> Result<(), Failure> {
        if condition { Err(Failure::Skipped) } else { Ok(()) }
    }

    pub(super) fn is_full(&self) -> bool {
        self.tree.nodes.ids().count() > ENOUGH * 4
    }

    pub(super) fn close(&mut self, slot: usize) {
        if let Some((place, detached)) = self.held[slot].take() {
            if detached {
                self.tree.on(&self.ground).dissolve(place.mount());
            }
            self.unhold(place.mount());
        }
    }

    pub(super) fn keep(&mut self, slot: usize, place: Place, detached: bool) {
        self.ground.hold(place.mount());
        self.close(slot);
        self.held[slot] = Some((place, detached));
    }

    /// Ends all that is left, as at the end of a process.
    pub(crate) fn end(mut self) -> (Tree, Toy) {
        (0..SLOTS).for_each(|slot| self.close(slot));
        let namespaces = std::mem::take(&mut self.namespaces);
        for namespace in namespaces.into_iter().flatten().chain([self.caller.namespace]) {
            self.tree.on(&self.ground).drop_namespace(namespace);
        }
        self.unhold(self.caller.root.mount);
        (self.tree, self.ground)
    }
}

impl System for Model {
    fn run(&mut self, op: &Op) -> Result<(), Failure> {
        match op {
            Op::MountEmpty(at) => self.mount_empty(at),
            Op::Mount(at) => self.mount(at),
            Op::Bind { from, to, recursive } => self.bind(from, to, *recursive),
            Op::Move { from, to, beneath } => self.move_mount(from, to, *beneath),
            Op::Clone { from, slot, recursive } => self.clone_tree(from, *slot, *recursive),
            Op::Hold { from, slot } => {
                let place = self.walk(from)?;
                self.keep(*slot, place, false);
                Ok(())
            }
            Op::Close(slot) => {
                self.close(*slot);
                Ok(())
            }
            Op::Umount(at, way) => self.umount(at, *way),
            Op::Propagation { at, kind, recursive } => self.set_propagation(at, *kind, *recursive),
            Op::Attributes { at, set, clear, recursive } => self.set_attributes(at, (*set, *clear), *recursive),
            Op::Pivot { new, old } => self.pivot(new, old),
            Op::Chroot(path) => self.chroot(path),
            Op::Mkdir(path) => self.mkdir(path),
            Op::Rmdir(path) => self.rmdir(path),
            Op::Unshare(slot) => self.unshare(*slot),
            Op::Enter(slot) => self.enter(*slot),
            Op::Drop(slot) => {
                if let Some(namespace) = self.namespaces[*slot].take() {
                    self.end_unless_used(namespace);
                }
                Ok(())
            }
        }
    }

    fn mountinfo(&mut self) -> Vec<Line> {
        let root = self.caller.root;
        let infos = self.tree.mountinfo(&self.ground, self.caller.namespace, root);
        let line = |info: MountInfo| Line {
            id: info.number,
            parent: info.parent_number,
            superblock: u64::from(info.superblock.0),
            root: self.ground.path_in_file_system(info.root),
            point: self.path_of(Place::new(info.mount, info.root), root),
            flags: info.flags.bits(),
            shared: info.shared.map(u64::from),
            master: info.master.map(u64::from),
            propagate_from: info.propagate_from.map(u64::from),
            unbindable: info.unbindable,
        };
        infos.into_iter().map(line).collect()
    }
}

impl Model {
    fn path_of(&self, mut at: Place, root: Place) -> String {
        let mut path = String::new();
        while at.mount() != root.mount() {
            let node = &self.tree.nodes[at.mount()];
            path = self.ground.path(at.dentry(), node.root) + &path;
            at = Place::new(node.parent, node.point);
        }
        path = self.ground.path(at.dentry(), root.dentry()) + &path;
        if path.is_empty() { "/".into() } else { path }
    }
}
