//! Complete directories: all of their names are cached. An absent name is known to be absent
//! without asking, and an existing name never is.

use pathwalk::{Access, At, Context, Credentials, Errno, File, Freshness, Name, OpenFlags, OpenHow, RenameFlags, Vfs, internals};
use pathwalk_memfs::{MemFs, Options};

const CWD: At<'static> = At::Cwd;

/// A directory `/d` with so many names, and a context for lookups.
struct World {
    fs: MemFs,
    who: Context,
}

impl World {
    fn with(options: Options, names: usize) -> World {
        let fs = MemFs::with(options);
        fs.mkdir("/d", 0o755).unwrap();
        fs.mkdir("/e", 0o755).unwrap();
        (0..names).for_each(|i| fs.file(format!("/d/{i}"), 0o644).unwrap());
        let who = Vfs::builder().budget(1 << 20).build(fs.alias()).unwrap().context(Credentials::root());
        World { fs, who }
    }

    fn new(names: usize) -> World {
        World::with(Options::default(), names)
    }

    fn open(&self, path: &str) -> File {
        self.who.open(path, OpenFlags::READ).unwrap()
    }

    fn list(&self, path: &str) {
        all(&self.open(path));
    }

    /// Returns the answer, and the number of lookups that reached the file system.
    fn exists(&self, path: &str) -> (Result<(), Errno>, u64) {
        let before = self.fs.calls();
        let answer = self.who.access(path, Access::empty());
        (answer, self.fs.calls().since(&before).lookup)
    }

    fn create(&self, path: &str) {
        let flags = OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
        self.who.open(path, OpenHow { flags, mode: 0o644, ..OpenHow::default() }).unwrap();
    }

    fn evict_all(&self) {
        while internals::evict(self.who.vfs(), 1) > 0 {}
    }
}

fn all(dir: &File) {
    dir.getdents(usize::MAX).unwrap();
}

const ABSENT: Result<(), Errno> = Err(Errno::ENOENT);

#[test]
fn a_new_directory_is_complete() {
    let world = World::new(0);
    world.who.mkdir("/d/new", 0o755).unwrap();
    assert_eq!(world.exists("/d/new/name"), (ABSENT, 0));
    world.create("/d/new/file");
    assert_eq!(world.exists("/d/new/file"), (Ok(()), 0));
    let before = world.fs.calls();
    world.create("/d/new/other");
    assert_eq!(world.fs.calls().since(&before).lookup, 0, "nor is anything asked before a name is made");
    world.who.unlink("/d/new/other").unwrap();
    assert_eq!((world.exists("/d/new/other"), world.exists("/d/new/more")), ((ABSENT, 0), (ABSENT, 0)));
    assert!(world.who.vfs().stats().known_absent >= 4);
}

#[test]
fn a_listing_from_behind_the_dots_leaves_the_cache_alone() {
    let world = World::new(20);
    let dir = world.open("/d");
    let cached = || world.who.vfs().stats().dentries.used;
    let before = cached();
    let behind_dots = dir.getdents(2).unwrap()[1].cookie;
    let again = world.open("/d");
    again.seek(std::io::SeekFrom::Start(behind_dots)).unwrap();
    assert_eq!((again.getdents(usize::MAX).unwrap().len(), cached()), (20, before));
    assert_eq!(world.exists("/d/absent"), (ABSENT, 1));
    world.list("/d");
    assert_eq!((world.exists("/d/other"), cached() >= before + 20), ((ABSENT, 0), true));
}

#[test]
fn a_directory_that_comes_again_is_another() {
    let world = World::new(0);
    for _ in 0..2 {
        world.who.mkdir("/d/new", 0o755).unwrap();
        world.create("/d/new/file");
        world.who.unlink("/d/new/file").unwrap();
        world.who.rmdir("/d/new").unwrap();
    }
    world.fs.mkdir("/d/new", 0o755).unwrap();
    world.fs.file("/d/new/file", 0o644).unwrap();
    world.who.vfs().invalidate(&world.who.lookup("/d").unwrap(), Name::new(b"new").unwrap()).unwrap();
    assert_eq!(world.exists("/d/new/file").0, Ok(()));
}

#[test]
fn a_listing_makes_a_directory_complete() {
    let world = World::new(20);
    assert_eq!(world.exists("/d/3").1, 2);
    world.list("/d");
    assert_eq!((world.exists("/d/none"), world.exists("/d/none")), ((ABSENT, 0), (ABSENT, 0)));
    assert_eq!([world.exists("/d/3"), world.exists("/d/7"), world.exists("/d/7")], [(Ok(()), 0), (Ok(()), 1), (Ok(()), 0)]);
    // Names that were listed, and never looked up.
    world.who.renameat(CWD, "/d/8", CWD, "/e/8", RenameFlags::empty()).unwrap();
    world.who.renameat(CWD, "/d/9", CWD, "/d/ten", RenameFlags::empty()).unwrap();
    world.who.unlink("/d/10").unwrap();
    let gone = ["/d/8", "/d/9", "/d/10", "/d/12/x"].map(|path| world.exists(path).0);
    assert_eq!(gone, [ABSENT, ABSENT, ABSENT, Err(Errno::ENOTDIR)]);
    assert_eq!(
        [world.exists("/e/8"), world.exists("/d/ten"), world.exists("/d/eleven")],
        [(Ok(()), 0), (Ok(()), 0), (ABSENT, 0)]
    );
}

/// Checks that a listing makes at most a sixteenth of the dentries that there can be.
#[test]
fn a_listing_of_as_many_names_as_it_may_make_makes_complete() {
    const SLOTS: usize = 800;
    for (names, asked) in [(SLOTS / 16, 0), (SLOTS / 16 + 1, 1)] {
        let fs = World::new(names).fs;
        let vfs = Vfs::builder().budget(Vfs::budget_for(SLOTS as u64)).build(fs.alias()).unwrap();
        assert_eq!(vfs.stats().dentries.capacity, SLOTS as u64);
        let world = World { fs, who: vfs.context(Credentials::root()) };
        world.list("/d");
        assert_eq!(world.exists("/d/none"), (ABSENT, asked), "{names} names");
    }
}

#[test]
fn a_listing_in_pieces() {
    let world = World::new(20);
    let dir = world.open("/d");
    for _ in 0..21 {
        dir.getdents(1).unwrap();
        assert_eq!(world.exists(&format!("/d/none{}", world.fs.calls().lookup)).1, 1, "not yet complete");
    }
    all(&dir);
    assert_eq!((world.exists("/d/none"), world.exists("/d/19")), ((ABSENT, 0), (Ok(()), 1)));
}

#[test]
fn half_a_listing_says_nothing() {
    let world = World::new(20);
    let dir = world.open("/d");
    dir.getdents(1).unwrap();
    let cookie = dir.getdents(usize::MAX).unwrap().last().unwrap().cookie;
    world.evict_all();
    dir.seek(std::io::SeekFrom::Start(cookie - 3)).unwrap();
    all(&dir);
    assert_eq!(world.exists("/d/none"), (ABSENT, 1));
}

#[test]
fn what_leaves_the_cache_takes_the_note_with_it() {
    let world = World::new(20);
    world.list("/d");
    world.evict_all();
    assert_eq!((world.exists("/d/none"), world.exists("/d/3")), ((ABSENT, 2), (Ok(()), 1)));
    // While a listing runs.
    let dir = world.open("/d");
    (0..10).for_each(|_| drop(dir.getdents(1).unwrap()));
    internals::evict(world.who.vfs(), 8);
    all(&dir);
    assert_eq!(world.exists("/d/other").1, 1);
}

#[test]
fn absences_that_leave_take_nothing() {
    let world = World::new(0);
    world.list("/d");
    (0..10).for_each(|i| assert_eq!(world.exists(&format!("/d/{i}")), (ABSENT, 0)));
    let dir = world.who.lookup("/d").unwrap();
    world.evict_all();
    assert_eq!(world.exists("/d/3"), (ABSENT, 0));
    drop(dir);
}

#[test]
fn whoever_says_that_something_changed_is_believed() {
    let world = World::new(3);
    let (vfs, dir) = (world.who.vfs(), world.who.lookup("/d").unwrap());
    for name in ["by name", "below"] {
        world.list("/d");
        assert_eq!(world.exists("/d/none"), (ABSENT, 0));
        world.fs.file(format!("/d/{name}"), 0o644).unwrap();
        match name {
            "by name" => vfs.invalidate(&dir, Name::new(name.as_bytes()).unwrap()).unwrap(),
            _ => vfs.invalidate_subtree(&world.who.lookup("/").unwrap()).unwrap(),
        }
        assert_eq!(world.exists(&format!("/d/{name}")).0, Ok(()));
    }
}

#[test]
fn where_absences_are_asked_about_nothing_is_complete() {
    let world = World::with(Options::default().absence(Freshness::AskEachTime), 3);
    world.list("/d");
    assert_eq!(world.exists("/d/none"), (ABSENT, 1));
    world.who.mkdir("/d/new", 0o755).unwrap();
    assert_eq!(world.exists("/d/new/none"), (ABSENT, 1));
}

#[test]
fn a_long_listing_leaves_the_cache_to_others() {
    let world = World::new(3000);
    assert_eq!(world.exists("/e"), (Ok(()), 1));
    world.list("/d");
    assert!(world.who.vfs().stats().dentries.used < 400);
    assert_eq!((world.exists("/d/none"), world.exists("/e")), ((ABSENT, 1), (Ok(()), 0)));
}
