//! File systems that are inconsistent, wrong or fail halfway. Nothing that was refused is granted,
//! nothing loops, nothing is lost.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pathwalk::internals::{evict, unlink};
use pathwalk::{
    Access, At, AtFlags, Attributes, Context, Credentials, Device, Directory, Errno, FileSystem, FileType, Freshness, Name, Node,
    NodeKey, RenameFlags, Timestamp, Validity, Vfs,
};
use pathwalk_memfs::MemFs;

/// Creates the attributes of a directory with this mode and owner.
fn directory(mode: u16, uid: u32) -> Attributes {
    Attributes::new(FileType::Directory, mode).with_owner(uid, 0)
}

#[derive(Default)]
struct Fickle {
    asked: AtomicU64,
    forgotten: AtomicU64,
    handed_out: AtomicU64,
    /// Whether links have become files that all users may read.
    links_are_files: AtomicBool,
    /// Whether `attributes` fails. (`panics`: whether it panics.)
    fails: AtomicBool,
    panics: AtomicBool,
}

impl FileSystem for Fickle {
    fn root(&self) -> Result<Node, Errno> {
        self.handed_out.fetch_add(1, Ordering::Relaxed);
        Ok(Node::new(NodeKey(1), directory(0o755, 0)))
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        let node = |key, attributes| Node::new(NodeKey(key), attributes);
        let file = Attributes::new(FileType::Regular, 0o644);
        let odd_time = Timestamp { seconds: 5, nanoseconds: u32::MAX };
        let odd_device = Device { major: 5000, minor: 1 << 21 };
        let found = match (dir.key().0, name.bytes()) {
            (1, b"secret") => node(2, directory(0o700, 1)),
            (2, b"x") => node(3, file),
            (1, b"l1") => Node::symlink(NodeKey(4), *b"body1"),
            (1, b"l2") => Node::symlink(NodeKey(5), *b"body2"),
            (1, b"asked") => node(6, directory(0o755, 0)).with_freshness(Freshness::AskEachTime),
            (6, b"sub") => node(7, directory(0o755, 0)),
            (1, b"one" | b"other") => node(9, directory(0o755, 0)),
            (1, b"odd") => {
                let mut odd = directory(0, 0);
                (odd.mode, odd.mtime, odd.device) = (0o100_644, odd_time, odd_device);
                node(8, odd)
            }
            _ => return Ok(None),
        };
        self.handed_out.fetch_add(1, Ordering::Relaxed);
        Ok(Some(found))
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        assert!(!self.panics.load(Ordering::Relaxed), "as it was told to");
        if self.fails.load(Ordering::Relaxed) {
            return Err(Errno::EIO);
        }
        Ok(match node.0 {
            2 => directory(0o700, 1),
            1 | 6 | 7 | 9 => directory(0o755, 0),
            4 | 5 if !self.links_are_files.load(Ordering::Relaxed) => Attributes::new(FileType::Symlink, 0o777),
            _ => Attributes::new(FileType::Regular, 0o777),
        })
    }

    fn revalidate(&self, _: &Directory<'_>, _: Name<'_>, _: Option<NodeKey>) -> Result<Validity, Errno> {
        assert!(self.asked.fetch_add(1, Ordering::Relaxed) < 1000, "asked for ever");
        Ok(Validity::Invalid)
    }

    fn forget(&self, _: NodeKey) {
        self.forgotten.fetch_add(1, Ordering::Relaxed);
    }
}

fn fickle() -> (Arc<Fickle>, Vfs, Context) {
    let fs = Arc::new(Fickle::default());
    let vfs = Vfs::builder().budget(1 << 20).build(fs.clone()).unwrap();
    let root = vfs.context(Credentials::root());
    (fs, vfs, root)
}

/// Evicts all idle entries. Only the root is left, and the file system was told to forget the
/// others.
fn all_is_given_back(fs: &Fickle, vfs: &Vfs) {
    evict(vfs, usize::MAX);
    assert_eq!((vfs.stats().dentries.used, vfs.stats().inodes.used, vfs.stats().side.used), (1, 1, 0));
    assert_eq!(fs.handed_out.load(Ordering::Relaxed) - fs.forgotten.load(Ordering::Relaxed), 1);
}

#[test]
fn a_node_that_changes_its_type_opens_nothing() {
    let (fs, vfs, root) = fickle();
    let user = vfs.context(Credentials::user(1000, 1000, &[]));
    let lookup = |path| root.lookup_at(At::Cwd, path, AtFlags::SYMLINK_NOFOLLOW).unwrap();
    root.access("/secret/x", Access::empty()).unwrap();
    let (l1, l2) = (lookup("/l1"), lookup("/l2"));
    assert_eq!(user.access("/secret/x", Access::READ), Err(Errno::EACCES));
    fs.links_are_files.store(true, Ordering::Relaxed);
    for link in [&l1, &l2] {
        assert_eq!(vfs.refresh(link), Err(Errno::ESTALE));
        let at = root.faccessat(link, "", Access::READ, AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW);
        assert_eq!(at, Ok(()), "it is still the link it was");
    }
    assert_eq!(user.access("/secret/x", Access::READ), Err(Errno::EACCES));
    drop((l1, l2));
    all_is_given_back(&fs, &vfs);
}

#[test]
fn what_is_always_invalid_is_looked_up_once_a_walk() {
    let (fs, vfs, root) = fickle();
    root.stat("/asked/sub").unwrap();
    let below = root.lookup("/asked/sub").unwrap();
    for _ in 0..10 {
        assert!(root.stat("/asked").is_ok());
        assert_eq!(below.path().unwrap(), b"/asked/sub");
    }
    drop(below);
    all_is_given_back(&fs, &vfs);
}

#[test]
fn invalidating_asks_about_what_is_held_when_it_is_needed() {
    let (fs, vfs, root) = fickle();
    let user = vfs.context(Credentials::user(1, 1, &[]));
    let top = root.lookup("/").unwrap();
    for path in ["/secret/x", "/l1", "/nope"] {
        let _ = root.lstat(path);
    }
    let before = fs.asked.load(Ordering::Relaxed);
    vfs.invalidate_subtree(&top).unwrap();
    assert_eq!(fs.asked.load(Ordering::Relaxed), before);
    let held = root.lookup("/secret").unwrap();
    fs.fails.store(true, Ordering::Relaxed);
    vfs.invalidate_subtree(&top).unwrap();
    assert_eq!(fs.asked.load(Ordering::Relaxed), before);
    // An attribute that the file system could not report is not invented.
    let search = |who: &Context| who.faccessat(&held, "x", Access::empty(), AtFlags::empty());
    assert_eq!(search(&user), Err(Errno::EIO));
    fs.fails.store(false, Ordering::Relaxed);
    assert_eq!(search(&user), Ok(()));
    drop(held);
    drop(top);
    all_is_given_back(&fs, &vfs);
}

#[test]
fn a_panic_on_the_way_loses_no_pin() {
    let (fs, vfs, root) = fickle();
    let top = root.lookup("/").unwrap();
    let held = root.lookup("/secret/x").unwrap();
    for path in ["/l1", "/l2", "/asked/sub"] {
        let _ = root.lstat(path);
    }
    vfs.invalidate_subtree(&top).unwrap();
    fs.panics.store(true, Ordering::Relaxed);
    assert!(catch_unwind(AssertUnwindSafe(|| held.attributes())).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| root.stat("/asked/sub"))).is_ok());
    fs.panics.store(false, Ordering::Relaxed);
    assert!(root.stat("/secret").is_ok());
    drop((held, top));
    all_is_given_back(&fs, &vfs);
}

#[test]
fn attributes_out_of_range_are_brought_into_it() {
    let (_, _, root) = fickle();
    let odd = root.stat("/odd").unwrap();
    assert_eq!((odd.kind, odd.mode), (FileType::Directory, 0o644));
    assert_eq!(odd.mtime, Timestamp { seconds: 5, nanoseconds: 999_999_999 });
    assert_eq!(odd.device, Device { major: 4095, minor: 0xf_ffff });
}

/// A file system that wants its root to be revalidated, which has no name.
struct DoubtfulRoot;

impl FileSystem for DoubtfulRoot {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(1), directory(0o755, 0)).with_freshness(Freshness::AskEachTime))
    }

    fn lookup(&self, _: &Directory<'_>, _: Name<'_>) -> Result<Option<Node>, Errno> {
        Ok(Some(Node::new(NodeKey(2), Attributes::new(FileType::Regular, 0o644))))
    }

    fn attributes(&self, _: NodeKey) -> Result<Attributes, Errno> {
        Err(Errno::EIO)
    }

    fn revalidate(&self, _: &Directory<'_>, _: Name<'_>, _: Option<NodeKey>) -> Result<Validity, Errno> {
        unreachable!("all names are stable")
    }
}

#[test]
fn a_root_is_not_revalidated() {
    let root = Vfs::builder().budget(1 << 20).build(DoubtfulRoot).unwrap().context(Credentials::root());
    assert!(root.stat("/file").is_ok());
    for path in ["/", ".", "/file", "/../file"] {
        assert_eq!(root.cached().stat(path), root.stat(path), "{path}");
    }
}

/// A computed file system of directories with long names, each with one file with a short one.
struct LongNames;

impl FileSystem for LongNames {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(0), directory(0o755, 0)))
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        if dir.key().0 != 0 {
            return Ok(Some(Node::new(NodeKey(dir.key().0 + 1), Attributes::new(FileType::Regular, 0o644))));
        }
        let number = name.bytes().strip_prefix(b"a-directory-with-a-name-of-over-32-bytes-");
        let number: Option<u128> = number.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        Ok(number.map(|number| Node::new(NodeKey(2 * number + 2), directory(0o755, 0))))
    }

    fn attributes(&self, _: NodeKey) -> Result<Attributes, Errno> {
        Err(Errno::EIO)
    }
}

#[test]
fn long_names_are_found_however_few_side_lines_are_left() {
    let vfs = Vfs::builder().budget(1 << 20).build(LongNames).unwrap();
    let root = vfs.context(Credentials::root());
    let lines = vfs.stats().side.capacity;
    for number in 0..3 * lines {
        let path = format!("/a-directory-with-a-name-of-over-32-bytes-{number}/f");
        assert_eq!(root.access(&path, Access::READ), Ok(()), "{path}");
    }
    assert_eq!(root.access("/absent", Access::empty()), Err(Errno::ENOENT));
}

#[test]
fn an_unlinked_file_is_forgotten_at_once_unless_somebody_holds_it() {
    let fs = MemFs::new();
    fs.file("/f", 0o644).unwrap();
    fs.file("/g", 0o644).unwrap();
    let vfs = Vfs::builder().budget(1 << 20).build(fs.alias()).unwrap();
    let root = vfs.context(Credentials::root());
    let top = root.lookup("/").unwrap();
    let held = root.lookup("/g").unwrap();
    unlink(&top, Name::new(b"f").unwrap()).unwrap();
    unlink(&top, Name::new(b"g").unwrap()).unwrap();
    assert_eq!(fs.usage().unlinked, 1);
    assert_eq!(held.attributes().unwrap().nlink, 0);
    drop(held);
    evict(&vfs, usize::MAX);
    assert_eq!(fs.usage().unlinked, 0);
}

/// Looks up a directory with two names, as if it were mounted twice. Each name is found, and takes
/// the dentry from the other. A change of both names at once would never have both.
#[test]
fn a_directory_with_two_names() {
    let (fs, vfs, _) = fickle();
    let root = vfs.context(Credentials::root());
    let held = ["/one", "/other"].map(|path| root.lookup(path).unwrap());
    assert_eq!(held.map(|dir| dir.path().unwrap()), [*b"/other"; 2].map(|path| path.to_vec()));
    for flags in [RenameFlags::empty(), RenameFlags::EXCHANGE] {
        assert_eq!(root.renameat(At::Cwd, "/one", At::Cwd, "/other", flags), Err(Errno::ESTALE));
    }
    assert_eq!(root.mkdir("/one", 0o755), Err(Errno::EEXIST));
    drop(root);
    drop(vfs);
    assert_eq!(fs.handed_out.load(Ordering::Relaxed), fs.forgotten.load(Ordering::Relaxed));
}
