//! The tree that is read and changed, and its contents in each state.

use std::sync::atomic::{AtomicUsize, Ordering};

use pathwalk::{
    Context, Credentials, Errno, FileType, Handle, Name, NewKind, NewNode, OpenFlags, RenameFlags, SetAttributes, Vfs, internals,
};
use pathwalk_memfs::MemFs;

use crate::phase::Phase;

/// The number of directories below `always`, and of files in each: several times as many as the
/// cache has room for.
pub(crate) const DIRECTORIES: usize = 40;
pub(crate) const FILES: usize = 40;
/// The number of names that are created and unlinked.
pub(crate) const CHURNED: usize = 6;
/// The groups that distinguish `left/mark` and `right/mark`.
pub(crate) const MARKS: [u32; 2] = [11, 12];
/// The groups that distinguish the exchanged files.
pub(crate) const EXCHANGED: [u32; 2] = [21, 22];

/// The part of the cache that is evicted all the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Eviction {
    Everything,
    Little,
}

/// The caches, the file system below, and one count for each object that changes.
pub(crate) struct World {
    pub(crate) fs: MemFs,
    pub(crate) vfs: Vfs,
    /// `swap/target`: replaced by a new file, of group `n`, at each change.
    pub(crate) swapped: Phase,
    /// The directory `pair/a`, with `x` in it, is `pair/b` in odd states.
    pub(crate) moved: Phase,
    /// The directory `left/m` is `right/m` in odd states.
    pub(crate) crossed: Phase,
    /// `swap/p` and `swap/q` are exchanged in odd states.
    pub(crate) exchanged: Phase,
    /// The directory `guard`, which only root may search in odd states.
    pub(crate) guarded: Phase,
    /// `churn/<k>` exists, with group `n`, in odd states.
    pub(crate) churned: [Phase; CHURNED],
    readers: AtomicUsize,
}

/// One running reader. The other threads stop when all readers have ended, also by a panic.
pub(crate) struct Reading<'a>(&'a World);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::SeqCst);
    }
}

fn name(bytes: &str) -> Name<'_> {
    Name::new(bytes.as_bytes()).expect("a name")
}

/// Returns the type of `churn/<k>` in state `n`.
pub(crate) fn churned_kind(n: u64) -> (NewKind<'static>, FileType) {
    let kind = [NewKind::Regular, NewKind::Directory, NewKind::Symlink(b"../always/0/0"), NewKind::Fifo][(n / 2 % 4) as usize];
    (kind, kind.file_type())
}

/// Returns the group that distinguishes `always/<dir>/<file>` from the others.
pub(crate) fn always_group(dir: usize, file: usize) -> u32 {
    (1000 + dir * FILES + file) as u32
}

impl World {
    pub(crate) fn new(budget: u64, readers: usize) -> World {
        let fs = MemFs::new();
        lay_out(&fs).expect("the tree can be built");
        let vfs = Vfs::builder().budget(budget).build(fs.alias()).expect("a Vfs");
        World {
            fs,
            vfs,
            swapped: Phase::default(),
            moved: Phase::default(),
            crossed: Phase::default(),
            exchanged: Phase::default(),
            guarded: Phase::default(),
            churned: Default::default(),
            readers: AtomicUsize::new(readers),
        }
    }

    pub(crate) fn reading(&self) -> Reading<'_> {
        Reading(self)
    }

    /// Returns whether a reader is still running.
    pub(crate) fn is_read(&self) -> bool {
        self.readers.load(Ordering::SeqCst) != 0
    }

    pub(crate) fn root(&self) -> Context {
        self.vfs.context(Credentials::root())
    }

    fn directory(&self, path: &str) -> Handle {
        self.root().lookup(path).expect("a directory that is always there")
    }

    /// Renames, exchanges and moves until no reader is left.
    pub(crate) fn rename_again_and_again(&self) {
        let [swap, pair, left, right] = ["/swap", "/pair", "/left", "/right"].map(|path| self.directory(path));
        let rename = |from, to, flags| internals::rename(from, to, flags).expect("a rename that nothing stands against");
        while self.is_read() {
            self.swapped.advance(|n| {
                drop(internals::create(&swap, name("new"), &node(NewKind::Regular, n as u32)).expect("create"));
                rename((&swap, name("new")), (&swap, name("target")), RenameFlags::empty());
            });
            let there_and_back = |n: u64, a, b| if n % 2 == 1 { (a, b) } else { (b, a) };
            self.moved.advance(|n| {
                let (from, to) = there_and_back(n, "a", "b");
                rename((&pair, name(from)), (&pair, name(to)), RenameFlags::NOREPLACE);
            });
            self.crossed.advance(|n| {
                let (from, to) = if n % 2 == 1 { (&left, &right) } else { (&right, &left) };
                rename((from, name("m")), (to, name("m")), RenameFlags::empty());
            });
            self.exchanged.advance(|_| rename((&swap, name("p")), (&swap, name("q")), RenameFlags::EXCHANGE));
        }
    }

    /// Creates, unlinks and changes permissions until no reader is left.
    pub(crate) fn create_again_and_again(&self) {
        let churn = self.directory("/churn");
        let guard = self.directory("/guard");
        while self.is_read() {
            for (k, phase) in self.churned.iter().enumerate() {
                let k = k.to_string();
                phase.advance(|n| {
                    if n % 2 == 1 {
                        drop(internals::create(&churn, name(&k), &node(churned_kind(n).0, n as u32)).expect("create"));
                    } else {
                        internals::unlink(&churn, name(&k)).expect("unlink");
                    }
                });
            }
            self.guarded.advance(|n| {
                let mode = if n % 2 == 1 { 0o700 } else { 0o755 };
                internals::set_attributes(&guard, &SetAttributes::default().with_mode(mode)).expect("chmod")
            });
        }
    }

    /// Evicts, invalidates and refreshes until no reader is left.
    pub(crate) fn evict_again_and_again(&self, eviction: Eviction) {
        let always = self.directory("/always");
        let mut turn = 0usize;
        while self.is_read() {
            turn += 1;
            internals::evict(
                &self.vfs,
                match eviction {
                    Eviction::Everything => [1, 7, 100, usize::MAX][turn % 4],
                    Eviction::Little => usize::from(turn.is_multiple_of(64)),
                },
            );
            let one = (turn % DIRECTORIES).to_string();
            match turn % 512 {
                3 => self.vfs.invalidate(&always, name(&one)).expect("invalidate"),
                259 => drop(self.vfs.refresh(&always).expect("refresh")),
                511 => self.vfs.invalidate_subtree(&always).expect("invalidate"),
                _ => std::thread::yield_now(),
            }
        }
    }

    /// Lists directories until no reader is left. Afterwards all their names are cached, and any
    /// other name is absent without a call of the file system.
    pub(crate) fn list_again_and_again(&self) {
        let root = self.root();
        let others = ["/swap", "/pair", "/left", "/right", "/churn", "/guard", "/always"].map(String::from);
        let dirs: Vec<_> = others.into_iter().chain((0..DIRECTORIES).map(|dir| format!("/always/{dir}"))).collect();
        for path in dirs.iter().cycle().take_while(|_| self.is_read()) {
            let dir = root.open(path, OpenFlags::READ).expect("a directory that is always there");
            let names = dir.getdents(usize::MAX).expect("a listing").len();
            let all = if path.starts_with("/always/") { FILES + 2 } else { 2 };
            assert!(names >= all, "{path} has {names} names");
            std::thread::yield_now();
        }
    }

    /// Checks that nothing is left behind: all entries but the root can be evicted, and the file
    /// system holds only nodes with names.
    pub(crate) fn check_nothing_leaked(&self) {
        while internals::evict(&self.vfs, usize::MAX) != 0 {}
        let stats = self.vfs.stats();
        assert_eq!((stats.dentries.used, stats.inodes.used, stats.side.used), (1, 1, 0), "{stats:?}");
        let usage = self.fs.usage();
        assert_eq!((usage.held, usage.unlinked), (1, 0), "{usage:?}");
    }
}

fn node(kind: NewKind<'_>, gid: u32) -> NewNode<'_> {
    NewNode::new(kind, 0o755, 0, gid)
}

fn lay_out(fs: &MemFs) -> Result<(), pathwalk_memfs::Error> {
    for dir in ["swap", "pair", "pair/a", "left", "left/m", "right", "churn", "guard", "always"] {
        fs.mkdir(dir, 0o755)?;
    }
    for (path, gid) in [
        ("swap/target", 0),
        ("swap/p", EXCHANGED[0]),
        ("swap/q", EXCHANGED[1]),
        ("left/mark", MARKS[0]),
        ("right/mark", MARKS[1]),
        ("pair/a/x", 0),
        ("guard/f", 0),
    ] {
        fs.file(path, 0o644)?;
        fs.chown(path, 0, gid)?;
    }
    // A name longer than a dentry has room for, so that it takes side lines.
    fs.symlink("../pair/../left/../always/0/0", "always/link-with-a-name-that-is-longer-than-its-dentry-has-room-for")?;
    for dir in 0..DIRECTORIES {
        fs.mkdir(format!("always/{dir}"), 0o755)?;
        for file in 0..FILES {
            fs.file(format!("always/{dir}/{file}"), 0o644)?;
            fs.chown(format!("always/{dir}/{file}"), 0, always_group(dir, file))?;
        }
    }
    Ok(())
}

/// The group of a file, or the errno.
pub(crate) type Group = Result<u32, Errno>;
