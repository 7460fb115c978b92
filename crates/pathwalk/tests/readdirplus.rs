//! Listings with attributes: the same as a listing and a lookup of each name, by one call of the
//! file system for many names.

use std::io::SeekFrom;
use std::ops::ControlFlow;

use pathwalk::{
    Access, AtFlags, Attributes, Context, Credentials, Directory, Entry, EntryHandles, Errno, FIRST_COOKIE, File, FileSystem,
    FileType, Freshness, ListedNode, MountFlags, Name, Node, NodeKey, OpenFile, OpenFlags, OpenFor, Resolve, Vfs, internals,
};
use pathwalk_memfs::{Calls, MemFs, Options};

struct World {
    fs: MemFs,
    who: Context,
}

impl World {
    fn with(options: Options, names: usize, budget: u64) -> World {
        let fs = MemFs::with(options);
        fs.mkdir("/d", 0o755).unwrap();
        for i in 0..names {
            match i % 5 {
                0 => fs.mkdir(format!("/d/{i}"), 0o700),
                1 => fs.symlink("nowhere", format!("/d/{i}")),
                _ => fs.file(format!("/d/{i}"), 0o644),
            }
            .unwrap();
        }
        let who = Vfs::builder().budget(budget).build(fs.alias()).unwrap().context(Credentials::root());
        World { fs, who }
    }

    fn new(names: usize) -> World {
        World::with(Options::default(), names, 1 << 20)
    }

    fn open(&self, path: &str) -> File {
        self.who.open(path, OpenFlags::READ).unwrap()
    }

    fn user(&self) -> Context {
        self.who.vfs().context(Credentials::user(1000, 1000, &[]))
    }

    /// Returns the calls that `act` causes.
    fn calls(&self, act: impl FnOnce()) -> Calls {
        let before = self.fs.calls();
        act();
        self.fs.calls().since(&before)
    }
}

const WITHOUT: EntryHandles = EntryHandles::Without;

/// Lists what is left of a directory, in pieces.
fn pieces(who: &Context, dir: &File, at_most: usize, handles: EntryHandles) -> Vec<ListedNode> {
    let mut all = Vec::new();
    loop {
        let piece = who.readdirplus(dir, at_most, handles).unwrap();
        assert!(piece.len() <= at_most);
        if piece.is_empty() {
            return all;
        }
        all.extend(piece);
    }
}

fn names(of: &[ListedNode]) -> Vec<String> {
    of.iter().map(|of| String::from_utf8_lossy(&of.entry.name).into_owned()).collect()
}

fn named<'a>(all: &'a [ListedNode], name: &str) -> &'a ListedNode {
    all.iter().find(|of| *of.entry.name == *name.as_bytes()).unwrap()
}

#[test]
fn each_entry_is_that_of_a_listing_with_what_a_lookup_finds() {
    for at_most in [1, 2, 3, 7, 100, usize::MAX] {
        let world = World::new(40);
        let dir = world.open("/d");
        let listed = world.open("/d").getdents(usize::MAX).unwrap();
        for temperature in ["cold", "warm"] {
            dir.seek(SeekFrom::Start(0)).unwrap();
            let all = pieces(&world.who, &dir, at_most, EntryHandles::With);
            assert_eq!(all.iter().map(|of| of.entry.clone()).collect::<Vec<_>>(), listed, "{temperature}");
            for ListedNode { entry, attributes, handle } in &all {
                let found = world.who.fstatat(&dir, &entry.name[..], AtFlags::SYMLINK_NOFOLLOW);
                assert_eq!(*attributes, found);
                let handle = handle.as_ref().unwrap();
                assert_eq!(handle.attributes(), found);
                let looked_up = world.who.lookup_at(&dir, &entry.name[..], AtFlags::SYMLINK_NOFOLLOW).unwrap();
                assert_eq!((handle.path(), handle.key()), (looked_up.path(), looked_up.key()));
            }
        }
    }
}

#[test]
fn a_listing_fills_the_caches_and_asks_for_nothing_twice() {
    let world = World::new(100);
    let dir = world.open("/d");
    let calls = world.calls(|| assert_eq!(pieces(&world.who, &dir, 1000, WITHOUT).len(), 102));
    assert_eq!((calls.lookup, calls.attributes, calls.read_dir), (0, 0, 0), "{calls:?}");
    assert!(calls.read_dir_with_nodes >= 1);
    let calls = world.calls(|| {
        for i in 0..100 {
            world.who.lstat(format!("/d/{i}")).unwrap();
        }
        assert_eq!(world.who.stat("/d/absent"), Err(Errno::ENOENT), "all names are known");
    });
    assert_eq!(calls.total(), 0, "{calls:?}");
    // What is cached is listed again without its node.
    dir.seek(SeekFrom::Start(0)).unwrap();
    let calls = world.calls(|| assert_eq!(pieces(&world.who, &dir, 1000, WITHOUT).len(), 102));
    assert_eq!(calls.total(), calls.read_dir_with_nodes, "{calls:?}");
    assert_eq!(calls.forget, 0);
}

#[test]
fn names_that_were_only_listed_get_their_nodes() {
    let world = World::new(50);
    world.open("/d").getdents(usize::MAX).unwrap();
    let dir = world.open("/d");
    let calls = world.calls(|| assert_eq!(pieces(&world.who, &dir, 7, WITHOUT).len(), 52));
    assert_eq!(calls.lookup, 0);
    assert_eq!(world.who.stat("/d/2").map(|of| of.kind), Ok(FileType::Regular));
}

#[test]
fn entries_that_have_to_be_revalidated_are_so_by_being_listed() {
    let options = Options::default().freshness(Freshness::AskEachTime).absence(Freshness::AskEachTime);
    let world = World::with(options, 50, 1 << 20);
    for _ in 0..2 {
        let dir = world.open("/d");
        let calls = world.calls(|| assert_eq!(pieces(&world.who, &dir, 100, WITHOUT).len(), 52));
        // Of the dots, `..` is walked to.
        assert_eq!((calls.lookup, calls.revalidate), (0, 0), "{calls:?}");
    }
    // A node that was replaced behind the `Vfs` is not the one that was listed.
    world.fs.remove("/d/2").unwrap();
    world.fs.file("/d/2", 0o600).unwrap();
    let all = pieces(&world.who, &world.open("/d"), 100, WITHOUT);
    assert_eq!(named(&all, "2").attributes.unwrap().mode, 0o600);
}

#[test]
fn who_may_not_search_gets_names_alone() {
    let world = World::new(10);
    world.who.chmod("/d", 0o744).unwrap();
    let user = world.user();
    let dir = user.open("/d", OpenFlags::READ).unwrap();
    let calls = world.calls(|| {
        let all = pieces(&user, &dir, 4, EntryHandles::With);
        assert_eq!(all.len(), 12);
        assert!(all.iter().all(|of| of.attributes == Err(Errno::EACCES) && of.handle.is_none()));
    });
    assert_eq!((calls.lookup, calls.read_dir_with_nodes), (0, 0));
    // The rights are those of the context, now, and not of the opener.
    dir.seek(SeekFrom::Start(0)).unwrap();
    assert!(world.who.readdirplus(&dir, 5, WITHOUT).unwrap().iter().all(|of| of.attributes.is_ok()));
    world.who.chmod("/d", 0o755).unwrap();
    assert!(user.readdirplus(&dir, 5, WITHOUT).unwrap().iter().all(|of| of.attributes.is_ok()));
    world.who.chmod("/d", 0o744).unwrap();
    assert!(user.readdirplus(&dir, 5, WITHOUT).unwrap().iter().all(|of| of.attributes == Err(Errno::EACCES)));
}

#[test]
fn errors_are_those_of_getdents() {
    let world = World::new(3);
    let (who, dir) = (&world.who, world.open("/d"));
    assert_eq!(who.readdirplus(&dir, 0, WITHOUT).unwrap_err(), Errno::EINVAL);
    assert_eq!(who.readdirplus(&world.open("/d/2"), 1, WITHOUT).unwrap_err(), Errno::ENOTDIR);
    let place = who.open("/d", OpenFlags::PATH).unwrap();
    assert_eq!(who.readdirplus(&place, 1, WITHOUT).unwrap_err(), Errno::EBADF);
    assert_eq!(World::new(1).who.readdirplus(&dir, 1, WITHOUT).unwrap_err(), Errno::EBADF, "another `Vfs`");
    let cached = who.clone().with_resolve(Resolve::CACHED).unwrap();
    assert_eq!(cached.readdirplus(&dir, 1, WITHOUT).unwrap_err(), Errno::EAGAIN);
    who.mkdir("/gone", 0o755).unwrap();
    let gone = world.open("/gone");
    who.rmdir("/gone").unwrap();
    assert_eq!(who.readdirplus(&gone, 1, WITHOUT).unwrap_err(), Errno::ENOENT);
}

#[test]
fn a_covered_name_shows_what_is_mounted_there() {
    let world = World::new(10);
    let other = MemFs::new();
    other.chmod("/", 0o711).unwrap();
    world.who.mount(other, "/d/0", MountFlags::empty()).unwrap();
    let dir = world.open("/d");
    let all = pieces(&world.who, &dir, 100, EntryHandles::With);
    let (covered, beside) = (named(&all, "0"), named(&all, "2"));
    let attributes = covered.attributes.unwrap();
    assert_eq!((attributes.mode, attributes), (0o711, world.who.stat("/d/0").unwrap()));
    assert_ne!(attributes.device, beside.attributes.unwrap().device);
    assert_eq!(covered.handle.as_ref().unwrap().path().unwrap(), b"/d/0");
    // The listing itself is that of the directory below.
    let below = world.open("/d").getdents(usize::MAX).unwrap();
    assert!(below.contains(&covered.entry));

    let confined = world.who.clone().with_resolve(Resolve::NO_XDEV).unwrap();
    dir.seek(SeekFrom::Start(0)).unwrap();
    let all = pieces(&confined, &dir, 100, WITHOUT);
    assert_eq!(named(&all, "0").attributes, Err(Errno::EXDEV));
    assert!(named(&all, "2").attributes.is_ok());
}

#[test]
fn the_directory_above_ends_at_the_root_of_the_context() {
    let world = World::new(3);
    let root = world.who.stat("/").unwrap();
    let of_dir = world.who.stat("/d").unwrap();
    let dir = world.open("/d");
    let all = pieces(&world.who, &dir, 100, WITHOUT);
    assert_eq!((named(&all, ".").attributes, named(&all, "..").attributes), (Ok(of_dir), Ok(root)));

    let inside = world.who.confined(&world.who.lookup("/d").unwrap()).unwrap();
    let dir = inside.open("/", OpenFlags::READ).unwrap();
    let all = pieces(&inside, &dir, 100, EntryHandles::With);
    assert_eq!(named(&all, "..").attributes, Ok(of_dir));
    assert_eq!(named(&all, "..").handle.as_ref().unwrap().key(), inside.lookup("/").unwrap().key());
    // A directory that is outside of the context's root is not searched.
    let outside = world.open("/");
    let all = pieces(&inside, &outside, 100, EntryHandles::With);
    assert!(all.iter().all(|of| of.attributes.is_err() && of.handle.is_none()), "{all:?}");
}

#[test]
fn a_position_stays_valid_while_names_come_and_go() {
    let world = World::new(20);
    let dir = world.open("/d");
    let first = world.who.readdirplus(&dir, 7, WITHOUT).unwrap();
    world.who.unlink("/d/1").unwrap();
    let last = names(&first).pop().unwrap();
    world.who.rename(format!("/d/{last}"), "/moved").unwrap();
    world.who.mkdir("/d/new", 0o755).unwrap();
    let rest = pieces(&world.who, &dir, 3, WITHOUT);
    let mut all = [names(&first), names(&rest)].concat();
    all.sort();
    let mut wanted: Vec<_> =
        (0..20).map(|i| i.to_string()).filter(|name| name != "1").chain([".", ".."].map(String::from)).collect();
    wanted.sort();
    assert_eq!(all, wanted);
    // Another open file goes on at the same position.
    let again = world.open("/d");
    again.seek(SeekFrom::Start(first[4].entry.cookie)).unwrap();
    assert_eq!(names(&pieces(&world.who, &again, 100, WITHOUT))[0], names(&first)[5]);
}

#[test]
fn a_large_listing_fits_into_a_small_cache_and_leaves_what_is_in_use() {
    for budget in [Vfs::budget_for(0), 1 << 20] {
        let world = World::with(Options::default(), 5000, budget);
        for i in 0..8 {
            world.fs.file(format!("/hot{i}"), 0o644).unwrap();
        }
        let hot = || (0..8).for_each(|i| world.who.access(format!("/hot{i}"), Access::READ).unwrap());
        (0..4).for_each(|_| hot());
        let dir = world.open("/d");
        let mut count = 0;
        loop {
            let piece = world.who.readdirplus(&dir, 1000, WITHOUT).unwrap();
            if piece.is_empty() {
                break;
            }
            count += piece.len();
            for ListedNode { entry, attributes, .. } in piece {
                assert!(attributes.is_ok(), "{budget}: {entry:?}: {attributes:?}");
            }
        }
        assert_eq!(count, 5002);
        if budget == 1 << 20 {
            let calls = world.calls(hot);
            assert_eq!(calls.lookup, 0, "what is in use is still cached");
        }
    }
}

#[test]
fn handles_keep_their_nodes() {
    let world = World::new(30);
    let dir = world.open("/d");
    let held = pieces(&world.who, &dir, 10, EntryHandles::With);
    while internals::evict(world.who.vfs(), 1) > 0 {}
    let calls = world.calls(|| {
        for ListedNode { entry, handle, .. } in held.iter().skip(2) {
            let path = [b"/d/", &entry.name[..]].concat();
            assert_eq!(handle.as_ref().unwrap().path().unwrap(), path);
            world.who.lstat(&path[..]).unwrap();
        }
    });
    assert_eq!(calls.lookup, 0);
}

/// A directory that lists these names, and looks up any.
struct Odd(&'static [&'static [u8]]);

impl Odd {
    fn node(key: u128) -> Node {
        let kind = if key == 1 { FileType::Directory } else { FileType::Regular };
        Node::new(NodeKey(key), Attributes::new(kind, 0o755).with_ino(key as u64))
    }
}

impl FileSystem for Odd {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Odd::node(1))
    }

    fn lookup(&self, _: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        match name.bytes() {
            b"absent" => Ok(None),
            b"broken" => Err(Errno::EIO),
            name => Ok(Some(Odd::node(100 + name.len() as u128))),
        }
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        Ok(Odd::node(node.0).attributes)
    }

    fn open(&self, _: NodeKey, _: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        Ok(Box::new(Odd(self.0)))
    }
}

impl OpenFile for Odd {
    fn read_dir(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        for (name, cookie) in self.0.iter().zip(FIRST_COOKIE..).filter(|(_, cookie)| *cookie > from) {
            // What it passes on after a break is not taken.
            _ = each(Entry { name, key: NodeKey(2), ino: 2, kind: FileType::Regular, cookie });
        }
        Ok(())
    }
}

#[test]
fn a_file_system_without_nodes_at_hand_is_asked_for_each() {
    let odd = Odd(&[b"a", b"absent", b"bb", b"broken", b"", b"x/y", b"..", b"nul\0", b"ccc"]);
    let who = Vfs::builder().build(odd).unwrap().context(Credentials::root());
    for at_most in [1, 2, 100] {
        let dir = who.open("/", OpenFlags::READ).unwrap();
        let all = pieces(&who, &dir, at_most, WITHOUT);
        assert_eq!(all.len(), 11);
        let found: Vec<_> = all[2..].iter().map(|of| of.attributes.map(|found| found.ino)).collect();
        assert_eq!(found[..4], [Ok(101), Err(Errno::ENOENT), Ok(102), Err(Errno::EIO)]);
        // Names that are no names lead nowhere.
        assert!(found[4..8].iter().all(Result::is_err), "{found:?}");
        assert_eq!(found[8], Ok(103));
    }
    assert_eq!(who.stat("/bb").unwrap().ino, 102);
}
