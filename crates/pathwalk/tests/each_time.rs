//! A file system that is asked each time: nothing that was cached is used once it is wrong, by
//! any operation, and the caches alone have no answer. Also reports that end the promise that
//! answers are stable.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use pathwalk::permission::{AclEntry, AclTag};
use pathwalk::{
    Access, At, AtFlags, Attributes, Context, Credentials, Directory, Errno, FileSystem, FileType, Freshness, LinkFlags, Name,
    Node, NodeKey, Notifier, OpenFlags, RenameFlags, StatxFlags, Sweep, Vfs,
};
use pathwalk_memfs::{MemFs, Options};

const ALL: Freshness = Freshness::AskEachTime;

/// Returns a tree that is changed behind the engine, and contexts of root and of a user.
fn world(options: Options) -> (MemFs, Context, Context) {
    let fs = MemFs::with(options);
    fs.mkdir_all("/d/e", 0o755).unwrap();
    ["/f", "/d/f", "/d/e/f"].iter().for_each(|path| fs.file(path, 0o644).unwrap());
    let vfs = Vfs::builder().budget(1 << 20).build(fs.alias()).unwrap();
    let root = vfs.context(Credentials::root());
    let user = vfs.context(Credentials::user(7, 7, &[]));
    (fs, root, user)
}

fn strict() -> (MemFs, Context, Context) {
    world(Options::default().freshness(ALL).absence(ALL).attributes(ALL))
}

#[test]
fn attributes_are_those_of_the_file_system_by_every_way() {
    let (fs, root, user) = strict();
    let (handle, file) = (root.lookup("/d/f").unwrap(), root.open("/d/f", OpenFlags::READ | OpenFlags::WRITE).unwrap());
    for mode in [0o600, 0o640, 0o604] {
        fs.chmod("/d/f", mode).unwrap();
        assert_eq!(root.stat("/d/f").unwrap().mode, mode);
        assert_eq!(root.cached().stat("/d/f"), Err(Errno::EAGAIN));
        assert_eq!(handle.attributes().unwrap().mode, mode);
        assert_eq!(file.metadata().unwrap().mode, mode);
        assert_eq!(root.fstatat(&handle, "", AtFlags::EMPTY_PATH).unwrap().mode, mode);
        assert_eq!(root.cached().fstatat(&handle, "", AtFlags::EMPTY_PATH), Err(Errno::EAGAIN));
        let may = |want| user.access("/d/f", want).is_ok();
        assert_eq!((may(Access::READ), may(Access::WRITE)), (mode & 0o004 != 0, mode & 0o002 != 0));
        assert_eq!(user.open("/d/f", OpenFlags::READ).is_ok(), mode & 0o004 != 0);
        assert_eq!(user.cached().access("/d/f", Access::READ), Err(Errno::EAGAIN));
    }
    fs.write("/d/f", 0, b"behind").unwrap();
    assert_eq!((file.metadata().unwrap().size, root.stat("/d/f").unwrap().size), (6, 6));
}

/// Checks each directory on a way, the working directory and a handle among them.
#[test]
fn the_right_to_search_is_asked_for() {
    let (fs, root, user) = strict();
    let dir = root.lookup("/d").unwrap();
    let mut inside = user.clone();
    inside.chdir("/d").unwrap();
    let ways: [&dyn Fn() -> Option<Errno>; 4] = [
        &|| user.stat("/d/f").err(),
        &|| user.stat("/d/absent").err().filter(|errno| *errno != Errno::ENOENT),
        &|| inside.stat("f").err(),
        &|| user.fstatat(&dir, "e/f", AtFlags::empty()).err(),
    ];
    for round in 0..2 {
        ways.iter().for_each(|way| assert_eq!(way(), None, "{round}"));
        fs.chmod("/d", 0o600).unwrap();
        ways.iter().for_each(|way| assert_eq!(way(), Some(Errno::EACCES), "{round}"));
        fs.chmod("/d", 0o755).unwrap();
    }
}

#[test]
fn an_immutable_file_is_one_as_soon_as_it_is_one() {
    for options in [Options::default().attributes(ALL), Options::default().freshness(ALL).absence(ALL).attributes(ALL)] {
        let (fs, root, user) = world(options);
        let file = root.open("/d/f", OpenFlags::WRITE).unwrap();
        fs.chmod("/d/f", 0o666).unwrap();
        for is_immutable in [true, false, true, false] {
            fs.set_flags("/d/f", if is_immutable { StatxFlags::IMMUTABLE } else { StatxFlags::empty() }).unwrap();
            let refused = is_immutable.then_some(Errno::EPERM);
            assert_eq!(user.access("/d/f", Access::WRITE).err(), refused);
            assert_eq!(user.open("/d/f", OpenFlags::WRITE).err(), refused);
            assert_eq!(root.chmod("/d/f", 0o666).err(), refused);
            assert_eq!(root.link("/d/f", "/link").err(), refused);
            _ = root.unlink("/link");
        }
        fs.set_flags("/d/f", StatxFlags::APPEND).unwrap();
        assert_eq!(file.set_len(0).err(), Some(Errno::EPERM));
    }
}

/// A file system that keeps its notifier.
struct Keeps(MemFs, OnceLock<Notifier>);
impl FileSystem for Keeps {
    fn attached(&self, notifier: Notifier) {
        _ = self.1.set(notifier);
    }
    fn root(&self) -> Result<Node, Errno> {
        self.0.root()
    }
    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        self.0.lookup(dir, name)
    }
    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        self.0.attributes(node)
    }
    fn forget(&self, node: NodeKey) {
        self.0.forget(node);
    }
}

/// Checks the same after a report, where attributes are stable otherwise.
#[test]
fn an_immutable_file_that_is_reported() {
    let fs = MemFs::new();
    fs.file("/f", 0o666).unwrap();
    let keeps = Arc::new(Keeps(fs.alias(), OnceLock::new()));
    let vfs = Vfs::builder().build(keeps.clone()).unwrap();
    let user = vfs.context(Credentials::user(7, 7, &[]));
    for flags in [StatxFlags::IMMUTABLE, StatxFlags::empty(), StatxFlags::IMMUTABLE, StatxFlags::empty()] {
        fs.set_flags("/f", flags).unwrap();
        keeps.1.get().unwrap().invalidate_attributes(fs.key("/f").unwrap());
        let expected = if flags.is_empty() { Ok(()) } else { Err(Errno::EPERM) };
        assert_eq!(user.cached().access("/f", Access::WRITE), Err(Errno::EAGAIN));
        assert_eq!(user.access("/f", Access::WRITE), expected);
    }
}

#[test]
fn an_access_list_counts_as_soon_as_it_is_there() {
    let options = Options::default().freshness(ALL).absence(ALL).attributes(ALL);
    for options in [options.clone(), options.acl(pathwalk::AclState::Unknown)] {
        let (fs, _, user) = world(options);
        fs.chmod("/d/f", 0o660).unwrap();
        let entry = |tag, grants| AclEntry { tag, grants };
        let (rw, no) = (Access::READ | Access::WRITE, Access::empty());
        let list = [
            entry(AclTag::Owner, rw),
            entry(AclTag::User(7), rw),
            entry(AclTag::Group, no),
            entry(AclTag::Mask, rw),
            entry(AclTag::Other, no),
        ];
        let may = || user.access("/d/f", rw).is_ok();
        assert!(!may());
        fs.set_acl("/d/f", &list).unwrap();
        assert!(may());
        fs.set_acl("/d/f", &[]).unwrap();
        fs.chmod("/d/f", 0o600).unwrap();
        assert!(!may());
    }
}

/// Checks changes through the engine of names that are not there any more, or are there by now.
#[test]
fn changes_go_by_the_names_of_the_file_system() {
    let (fs, root, _) = strict();
    let none = Err(Errno::ENOENT);
    // A name that is gone, and what is made in its place.
    root.stat("/f").unwrap();
    fs.unlink("/f").unwrap();
    root.mkdir("/f", 0o755).unwrap();
    // One that is there by now.
    assert_eq!(root.stat("/new"), Err(Errno::ENOENT));
    fs.file("/new", 0o644).unwrap();
    assert_eq!(root.mkdir("/new", 0o755), Err(Errno::EEXIST));
    let how = OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
    assert_eq!(root.open("/new", how).err(), Some(Errno::EEXIST));
    // A removal, and a rename, of what is gone.
    fs.unlink("/new").unwrap();
    assert_eq!(root.unlink("/new"), none);
    fs.file("/old", 0o644).unwrap();
    root.stat("/old").unwrap();
    fs.unlink("/old").unwrap();
    assert_eq!(root.rename("/old", "/f/old").map_err(|error| error.errno()), none);
    // A target of another kind than before.
    fs.file("/old", 0o644).unwrap();
    fs.mkdir("/target", 0o755).unwrap();
    root.stat("/target").unwrap();
    fs.remove("/target").unwrap();
    root.renameat(At::Cwd, "/old", At::Cwd, "/target", RenameFlags::NOREPLACE).unwrap();
    assert_eq!(root.stat("/target").unwrap().kind, FileType::Regular);
    fs.unlink("/target").unwrap();
    fs.mkdir("/target", 0o755).unwrap();
    fs.file("/old", 0o644).unwrap();
    assert_eq!(root.renameat(At::Cwd, "/old", At::Cwd, "/target", RenameFlags::empty()), Err(Errno::EISDIR));
    // A link to what is another node by now.
    root.stat("/old").unwrap();
    fs.unlink("/old").unwrap();
    fs.file("/old", 0o600).unwrap();
    root.linkat(At::Cwd, "/old", At::Cwd, "/again", LinkFlags::empty()).unwrap();
    assert_eq!(root.stat("/again").unwrap().ino, fs.stat("/old").unwrap().ino);
}

/// Checks a directory that was made, and one that was listed: neither counts as complete.
#[test]
fn no_listing_makes_absences_last() {
    let (fs, root, _) = strict();
    root.mkdir("/made", 0o755).unwrap();
    root.open("/d", OpenFlags::READ).unwrap().getdents(usize::MAX).unwrap();
    for path in ["/made/x", "/d/x"] {
        assert_eq!(root.stat(path), Err(Errno::ENOENT));
        fs.file(path, 0o644).unwrap();
        assert!(root.stat(path).is_ok(), "{path}");
    }
}

/// Checks that a link at the end of a path is protected by rights as they are.
#[test]
fn a_protected_link() {
    for names in [Freshness::Stable, ALL] {
        let fs = MemFs::with(Options::default().freshness(names).attributes(ALL));
        fs.mkdir("/t", 0o755).unwrap();
        fs.file("/f", 0o644).unwrap();
        fs.symlink("/f", "/t/link").unwrap();
        fs.chown("/t/link", 8, 8).unwrap();
        let vfs = Vfs::builder().protect_symlinks().build(fs.alias()).unwrap();
        let user = vfs.context(Credentials::user(7, 7, &[]));
        for _ in 0..2 {
            assert!(user.stat("/t/link").is_ok());
            fs.chmod("/t", 0o1777).unwrap();
            assert_eq!(user.stat("/t/link"), Err(Errno::EACCES));
            fs.chmod("/t", 0o755).unwrap();
        }
    }
}

/// Checks the same for the owner of a link that is reported, in a directory that is known.
#[test]
fn a_protected_link_whose_owner_is_reported() {
    let fs = MemFs::new();
    fs.mkdir("/t", 0o1777).unwrap();
    fs.file("/f", 0o644).unwrap();
    fs.symlink("/f", "/t/link").unwrap();
    let keeps = Arc::new(Keeps(fs.alias(), OnceLock::new()));
    let user = Vfs::builder().protect_symlinks().build(keeps.clone()).unwrap().context(Credentials::user(7, 7, &[]));
    for uid in [7, 8, 7, 8] {
        fs.chown("/t/link", uid, uid).unwrap();
        keeps.1.get().unwrap().invalidate_attributes(fs.key("/t/link").unwrap());
        let expected = if uid == 7 { Ok(()) } else { Err(Errno::EACCES) };
        for _ in 0..2 {
            assert_eq!(user.stat("/t/link").map(drop), expected);
        }
    }
}

/// A root with files that come and go. Its promises end with a report.
#[derive(Default)]
struct Ends {
    is_there: AtomicBool,
    asks: AtomicBool,
    confirms: AtomicBool,
    notifier: OnceLock<Notifier>,
}

impl Ends {
    fn freshness(&self) -> Freshness {
        if self.asks.load(Ordering::SeqCst) { ALL } else { Freshness::Stable }
    }

    fn leads_to(&self, name: Name<'_>) -> Option<NodeKey> {
        let is_there = name.bytes() == b"dir" || self.is_there.load(Ordering::SeqCst) == (name.bytes() == b"new");
        is_there.then(|| NodeKey(name.bytes().iter().fold(0, |sum, byte| sum * 256 + u128::from(*byte))))
    }
}

impl FileSystem for Ends {
    fn attached(&self, notifier: Notifier) {
        _ = self.notifier.set(notifier);
    }
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(1), self.attributes(NodeKey(1))?))
    }
    fn lookup(&self, _: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        let node = |key| Ok(Node::new(key, self.attributes(key)?).with_freshness(self.freshness()));
        self.leads_to(name).map(node).transpose()
    }
    fn revalidate(&self, _: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<pathwalk::Validity, Errno> {
        let is_valid = self.leads_to(name) == node;
        Ok(if is_valid { pathwalk::Validity::Valid } else { pathwalk::Validity::Invalid })
    }
    fn confirm(&self, _: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<Option<Freshness>, Errno> {
        let is_valid = self.confirms.load(Ordering::SeqCst) && self.leads_to(name) == node;
        Ok(is_valid.then(|| self.freshness()))
    }
    fn absence_in(&self, _: NodeKey) -> Freshness {
        self.freshness()
    }
    fn attributes_freshness(&self, _: NodeKey) -> Freshness {
        self.freshness()
    }
    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        let kind = if node == NodeKey(1) { FileType::Directory } else { FileType::Regular };
        Ok(Attributes::new(kind, if self.is_there.load(Ordering::SeqCst) { 0o755 } else { 0o711 }))
    }
}

#[test]
fn a_promise_ends_with_a_report_and_may_come_back() {
    let fs = Arc::new(Ends::default());
    let context = Vfs::builder().build(fs.clone()).unwrap().context(Credentials::root());
    let ask = || (context.stat("/new").is_ok(), context.stat("/old").is_ok(), context.stat("/").unwrap().mode);
    let (without, with) = ((false, true, 0o711), (true, false, 0o755));
    let set = |to| fs.is_there.store(to, Ordering::SeqCst);
    assert_eq!(ask(), without);
    set(true);
    assert_eq!(ask(), without, "all of it is stable");
    fs.asks.store(true, Ordering::SeqCst);
    fs.notifier.get().unwrap().invalidate_node(NodeKey(1));
    for is_there in [true, false, true] {
        set(is_there);
        assert_eq!(ask(), if is_there { with } else { without });
    }
    // Stable again: that is kept with the next answer of each.
    fs.asks.store(false, Ordering::SeqCst);
    fs.notifier.get().unwrap().invalidate_all();
    assert_eq!(ask(), with);
    set(false);
    assert_eq!(ask(), with);
    assert!(context.cached().stat("/new").is_ok() && context.cached().stat("/").is_ok());
}

#[test]
fn a_sweep_marks_its_kinds_and_no_others() {
    for confirms in [false, true] {
        let fs = Arc::new(Ends::default());
        fs.confirms.store(confirms, Ordering::SeqCst);
        let context = Vfs::builder().build(fs.clone()).unwrap().context(Credentials::root());
        let ask = || [context.stat("/new").is_ok(), context.stat("/old").is_ok(), context.stat("/").unwrap().mode == 0o755];
        assert_eq!(ask(), [false, true, false]);
        let notifier = fs.notifier.get().unwrap();
        fs.is_there.store(true, Ordering::SeqCst);
        let before = context.vfs().stats().fs_lookups;
        notifier.invalidate_all_of(Sweep::empty());
        assert_eq!(ask(), [false, true, false]);
        assert_eq!(context.vfs().stats().fs_lookups, before, "nothing was marked");
        notifier.invalidate_all_of(Sweep::ABSENCES);
        assert_eq!(context.cached().stat("/new"), Err(Errno::EAGAIN));
        assert!(context.cached().stat("/old").is_ok());
        assert_eq!(ask(), [true, true, false]);
        notifier.invalidate_all_of(Sweep::ATTRIBUTES);
        assert_eq!(ask(), [true, true, true]);
        fs.is_there.store(false, Ordering::SeqCst);
        notifier.invalidate_all_of(Sweep::NAMES);
        assert_eq!(ask(), [false, true, true]);
        notifier.invalidate_all_of(Sweep::all());
        assert_eq!(ask(), [false, true, false]);
        // What holds is confirmed without a lookup.
        let before = context.vfs().stats().fs_lookups;
        notifier.invalidate_all_of(Sweep::all());
        assert_eq!(ask(), [false, true, false]);
        assert_eq!(context.vfs().stats().fs_lookups - before, if confirms { 0 } else { 2 });
    }
}
