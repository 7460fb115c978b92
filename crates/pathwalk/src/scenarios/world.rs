//! A `Vfs` over a [`TestFs`], and checks for the end of a scenario.

use std::sync::Arc;

use super::fs::{ROOT, TestFs};
use super::thread::{self, JoinHandle};
use crate::attr::FileType;
use crate::cache::budget::Split;
use crate::memo::Memo;
use crate::memory::slot::DentryId;
use crate::node::{NewKind, NewNode, SetAttributes};
use crate::sync::Ordering;
use crate::text::Name;
use crate::text::hash::COLLIDE;
use crate::{Access, Context, Credentials, Errno, Handle, Vfs, VfsBuilder, internals};

/// The distribution of the hashes of names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hash {
    Spread,
    /// All names have one hash, so each search meets every entry.
    Collide,
}

impl Hash {
    #[cfg(shuttle)]
    pub(super) fn name(self) -> &'static str {
        match self {
            Hash::Spread => "spread",
            Hash::Collide => "collide",
        }
    }
}

/// The state that the threads of a scenario share.
#[derive(Clone)]
pub(super) struct World {
    pub(super) vfs: Vfs,
    pub(super) fs: Arc<TestFs>,
}

impl World {
    /// Creates a world with room for as many dentries as threads can pin in these scenarios, and
    /// few more; `fill` makes the tree.
    pub(super) fn new(hash: Hash, fill: impl FnOnce(&TestFs)) -> World {
        World::with_room(14, hash, fill)
    }

    /// Creates a world with room for this many dentries.
    pub(super) fn with_room(dentries: u64, hash: Hash, fill: impl FnOnce(&TestFs)) -> World {
        World::built((dentries, 0), hash, |builder| builder, fill)
    }

    /// Creates a world with room for this many dentries and this many sets of whole paths, which
    /// are learned at once. `how` changes its builder.
    pub(super) fn built(
        (dentries, sets): (u64, u64),
        hash: Hash,
        how: impl FnOnce(VfsBuilder) -> VfsBuilder,
        fill: impl FnOnce(&TestFs),
    ) -> World {
        let fs = Arc::new(TestFs::new());
        fill(&fs);
        let seed = if hash == Hash::Collide { COLLIDE } else { 1 };
        let for_paths = sets * Memo::SET_BYTES;
        let builder = Vfs::builder().budget(Split::bytes(dentries) + for_paths).whole_paths(for_paths).seed(seed);
        let vfs = how(internals::learning_at_once(builder)).build(fs.clone());
        World { vfs: vfs.expect("a small budget is enough"), fs }
    }

    /// Returns the context of a user without privileges.
    pub(super) fn user(&self) -> Context {
        self.vfs.context(Credentials::user(1000, 1000, &[]))
    }

    pub(super) fn exists(&self, path: &str) -> Result<(), Errno> {
        self.user().access(path, Access::empty())
    }

    /// Returns the inode number of a path, by the lock-free walk if that can answer.
    pub(super) fn ino(&self, path: &str) -> Result<u64, Errno> {
        self.user().stat(path).map(|attributes| attributes.ino)
    }

    pub(super) fn handle(&self, path: &str) -> Handle {
        self.user().lookup(path).expect("a path that is there")
    }

    pub(super) fn root(&self) -> Handle {
        self.handle("/")
    }

    pub(super) fn spawn<T: Send + 'static>(&self, what: impl FnOnce(&World) -> T + Send + 'static) -> JoinHandle<T> {
        let world = self.clone();
        thread::spawn(move || what(&world))
    }

    pub(super) fn create(&self, dir: &Handle, name: &str) -> Result<Handle, Errno> {
        internals::create(dir, part(name), &NewNode::new(NewKind::Regular, 0o644, 0, 0))
    }

    pub(super) fn unlink(&self, dir: &Handle, name: &str) -> Result<(), Errno> {
        internals::unlink(dir, part(name))
    }

    pub(super) fn chmod(&self, node: &Handle, mode: u16) {
        let set = SetAttributes { mode: Some(mode), ..SetAttributes::default() };
        internals::set_attributes(node, &set).expect("modes can be set");
    }

    /// Evicts up to `n` dentries, one by one.
    pub(super) fn evict(&self, n: usize) {
        for _ in 0..n {
            internals::evict(&self.vfs, 1);
        }
    }

    /// Ends a scenario, all of whose handles are dropped, and checks that nothing is left over.
    pub(super) fn end(self) {
        let (caches, top) = (self.vfs.world().caches(), self.vfs.world().root.dentry());
        while internals::evict(&self.vfs, 1) != 0 {}
        let stats = self.vfs.stats();
        assert_eq!((stats.dentries.used, stats.inodes.used, stats.side.used), (1, 1, 0), "only the root is left");
        assert_eq!(caches.dentries.first_child(top).load(Ordering::Relaxed) as u32, 0);
        assert_eq!(
            caches.dentries.life(top).load(Ordering::Relaxed) as u32 & 0x7fff_ffff,
            3,
            "pins of the root: of its superblock, its mount, and the world"
        );
        for slot in 0..caches.dentries.free().touched() {
            assert_eq!(caches.dentries.lock(DentryId(slot)).load(Ordering::Relaxed), 0, "the lock of slot {slot}");
        }
        assert_eq!(self.fs.held(), [(ROOT, 1)]);
        let World { vfs, fs } = self;
        drop(vfs);
        assert_eq!(fs.held(), []);
    }
}

/// Returns a validated name.
pub(super) fn part(name: &str) -> Name<'_> {
    Name::new(name.as_bytes()).expect("a name")
}

/// The type and mode of a directory that all users may search.
pub(super) const DIRECTORY: (FileType, u16) = (FileType::Directory, 0o755);
/// The type and mode of a file that all users may read.
pub(super) const FILE: (FileType, u16) = (FileType::Regular, 0o644);

impl TestFs {
    /// Adds a new node with one of the types and modes above.
    pub(super) fn plain(&self, dir: u128, name: &str, (kind, mode): (FileType, u16)) -> u128 {
        self.add(dir, name, kind, mode)
    }
}
