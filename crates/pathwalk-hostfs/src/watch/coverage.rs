//! What is watched, and by which means: for each mount, and where inotify is used for each node.
//!
//! A node is covered before its attributes are read for the last time, so a change is either in
//! them or comes as an event. What is not covered is counted, and checked at each use.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;
use pathwalk::{Attributes, FileType, NodeKey};
use rustix::fs::fstatfs;

use super::event::{Uncovered, WatchBy, WatchEvent};
use super::fanotify::Fanotify;
use super::inotify::{Added, Inotify};
use super::mounts::path_below;
use crate::beneath::Reached;
use crate::calls::{self, HandleUse};
use crate::key;
use crate::magic;
use crate::tree::Tree;

/// The means by which the nodes on one mount are watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Means {
    /// The whole file system, by fanotify.
    Whole,
    /// Each directory, by inotify.
    Each,
    /// None.
    Nothing,
}

/// The means for each place of keys.
pub(super) struct Coverage {
    /// The place of the root.
    root: u32,
    pub(super) fanotify: Option<Fanotify>,
    pub(super) inotify: Inotify,
    places: RwLock<HashMap<u32, Means>>,
    /// Whether some mount is not watched. `SeqCst`; it is set before a node of the mount is handed
    /// out.
    has_nothing: AtomicBool,
}

/// The occasion on which a node is covered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Handing {
    /// The node is about to be handed out.
    Out,
    /// The node was handed out, and its attributes are asked for again.
    Again,
}

/// A node that is about to be handed out. It stays watched until this is dropped, and after that
/// while the engine holds it.
pub(crate) struct Covering<'a> {
    by: Option<(&'a Tree, &'a Coverage, NodeKey)>,
    /// Whether the attributes that were read before may be older than the watch.
    pub(crate) read_again: bool,
    /// Whether the node was held before it was watched, so that what is cached of its attributes
    /// may be out of date: a file that got its second name where nothing is watched.
    pub(super) was_held: bool,
}

impl Covering<'_> {
    /// Returns what a node has where nothing is watched.
    pub(crate) fn none() -> Covering<'static> {
        Covering { by: None, read_again: false, was_held: false }
    }
}

impl Drop for Covering<'_> {
    fn drop(&mut self) {
        if let Some((tree, coverage, node)) = self.by {
            coverage.inotify.settle(node, || tree.nodes.read().is_held(node));
        }
    }
}

impl Coverage {
    /// Chooses the means for the root, which was reached and has this key.
    pub(super) fn new(by: WatchBy, most: usize, (key, root): (NodeKey, Option<&Reached>)) -> Coverage {
        let fanotify = if by == WatchBy::Any { Fanotify::new() } else { None };
        let (place, inotify) = (key::place_of(key), Inotify::new(most));
        let coverage =
            Coverage { root: place, fanotify, inotify, places: RwLock::default(), has_nothing: AtomicBool::new(false) };
        root.map(|root| coverage.means(place, root));
        coverage
    }

    /// Returns the queues of events that there are.
    pub(super) fn queues(&self) -> Vec<&OwnedFd> {
        self.fanotify.as_ref().map(Fanotify::queue).into_iter().chain(self.inotify.made_queue()).collect()
    }

    /// Covers a node that was reached. `tell` takes what is to be told.
    pub(super) fn cover<'a>(
        &'a self,
        tree: &'a Tree,
        (node, reached, attributes): (NodeKey, &Reached, &Attributes),
        handing: Handing,
        tell: impl Fn(WatchEvent),
    ) -> Covering<'a> {
        let place = key::place_of(node);
        // Where the root is, the means were chosen before any node was handed out. Elsewhere
        // another thread may have chosen them after these attributes were read.
        let (means, is_first) = self.means(place, reached);
        let read_again = handing == Handing::Out && (is_first || place != self.root);
        let mut covering = Covering { by: None, read_again, was_held: false };
        let is_directory = attributes.kind == FileType::Directory;
        if means != Means::Each || !is_directory && attributes.nlink < 2 || handing == Handing::Again && self.inotify.has(node) {
            return covering;
        }
        covering.by = Some((tree, self, node));
        covering.read_again = true;
        match self.inotify.add(node, reached.through_proc().ok().as_deref()) {
            Added::Not(why) => tell(WatchEvent::Uncovered { path: path_below(tree.root.as_fd(), reached.fd()), why }),
            Added::New => covering.was_held = handing == Handing::Out && !is_directory && tree.nodes.read().is_held(node),
            Added::Before | Added::StillNot => {}
        }
        covering
    }

    /// Returns the means for the place of a node. Chooses them for the first node, and then returns
    /// true.
    fn means(&self, place: u32, reached: &Reached) -> (Means, bool) {
        if let Some(means) = self.places.read().get(&place) {
            return (*means, false);
        }
        let mut places = self.places.write();
        (*places.entry(place).or_insert_with(|| self.choose(reached)), true)
    }

    fn choose(&self, reached: &Reached) -> Means {
        if !fstatfs(reached.fd()).is_ok_and(|told| TELL_CHANGES.contains(&magic::of(&told))) {
            self.has_nothing.store(true, Ordering::SeqCst);
            return Means::Nothing;
        }
        // Nodes are found by their handles.
        let has_handles = || calls::name_to_handle(reached.fd(), c"", HandleUse::Identity).is_ok();
        match &self.fanotify {
            Some(fanotify) if has_handles() && fanotify.mark(reached).is_ok() => Means::Whole,
            _ => Means::Each,
        }
    }

    /// Returns whether all changes of the names in a directory, or of a node's attributes, are
    /// reported.
    pub(super) fn covers(&self, node: NodeKey) -> bool {
        if self.covers_all() {
            return true;
        }
        match self.places.read().get(&key::place_of(node)) {
            Some(Means::Whole) => true,
            Some(Means::Each) => !self.inotify.lacks(node),
            Some(Means::Nothing) | None => false,
        }
    }

    /// Returns whether everything that was handed out is covered. Takes no lock.
    pub(super) fn covers_all(&self) -> bool {
        !self.has_nothing.load(Ordering::SeqCst) && !self.inotify.lacks_any()
    }

    /// Returns whether a node with several names needs a watch of its own.
    pub(super) fn watches_each(&self, node: NodeKey) -> bool {
        self.places.read().get(&key::place_of(node)) == Some(&Means::Each)
    }

    /// Returns the number of mounts that are watched as a whole, and of those that are not watched.
    pub(super) fn counts(&self) -> (usize, usize) {
        let places = self.places.read();
        let count = |means: Means| places.values().filter(|of| **of == means).count();
        (count(Means::Whole), count(Means::Nothing))
    }

    /// Returns the reason why a node is not covered.
    pub(super) fn why(&self) -> Option<Uncovered> {
        let lacks = self.inotify.why();
        lacks.or_else(|| (self.counts().1 > 0).then_some(Uncovered::FileSystem))
    }

    pub(super) fn memory(&self) -> u64 {
        self.inotify.memory() + (self.places.read().capacity() * (size_of::<(u32, Means)>() + 1)) as u64
    }
}

/// The types of file systems that this kernel alone changes, and reports each change of. Source:
/// those file systems.
const TELL_CHANGES: [u32; 20] = [
    magic::EXT,
    magic::XFS,
    magic::BTRFS,
    magic::F2FS,
    magic::BCACHEFS,
    magic::ZFS,
    magic::JFS,
    magic::NILFS,
    magic::UBIFS,
    magic::TMPFS,
    magic::RAMFS,
    magic::OVERLAYFS,
    magic::SQUASHFS,
    magic::EROFS,
    magic::ISO_9660,
    magic::UDF,
    magic::FAT,
    magic::EXFAT,
    magic::NTFS3,
    magic::HFS_PLUS,
];
