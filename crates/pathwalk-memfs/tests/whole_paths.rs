//! Tests of the memo of whole paths: what keeps an entry valid, what invalidates it, and which
//! users may use it.

use pathwalk::{
    Access, At, AtFlags, Context, Credentials, Errno, MountFlags, NewKind, Recursion, RenameFlags, StatxMask, Vfs, internals,
};
use pathwalk_memfs::MemFs;

/// A number of lookups after which every path that can be learned is.
const OFTEN: usize = 4;

fn at_once(fs: MemFs) -> Vfs {
    internals::learning_at_once(Vfs::builder().budget(1 << 20)).build(fs).unwrap()
}

fn root(vfs: &Vfs) -> Context {
    vfs.context(Credentials::root())
}

fn user(vfs: &Vfs, uid: u32) -> Context {
    vfs.context(Credentials::user(uid, uid, &[]))
}

fn fills(vfs: &Vfs) -> u64 {
    vfs.stats().whole_paths.fills
}

/// Returns whether a path is answered from the memo, that is, not learned again.
fn is_known(who: &Context, path: &str) -> bool {
    let before = who.vfs().stats().whole_paths;
    _ = who.access(path, Access::empty());
    who.vfs().stats().whole_paths == before
}

fn learn(who: &Context, path: &str) {
    (0..OFTEN).for_each(|_| _ = who.access(path, Access::empty()));
    let before = who.vfs().stats().whole_paths;
    assert!(is_known(who, path), "{path} is not learned: {before:?}");
}

fn chmod(who: &Context, path: &str, mode: u16) {
    who.chmod(path, mode).unwrap();
}

fn rename(who: &Context, old: &str, new: &str) {
    who.renameat(At::Cwd, old, At::Cwd, new, RenameFlags::empty()).unwrap();
}

fn make(who: &Context, path: &str) {
    who.mknod(path, NewKind::Regular, 0o644).unwrap();
}

fn tree() -> MemFs {
    let fs = MemFs::new();
    for dir in ["/a", "/a/b", "/a/b/c", "/other"] {
        fs.mkdir(dir, 0o755).unwrap();
    }
    fs.file("/a/b/c/f", 0o644).unwrap();
    fs.symlink("a/b", "/to_b").unwrap();
    fs
}

#[test]
fn what_is_asked_again_is_answered_from_the_memo() {
    let vfs = at_once(tree());
    let who = user(&vfs, 1);
    for path in ["/", "/a/b/c/f", "/a/b/none", "/a/none/f", "/to_b/c/f", "/a/../to_b", "/a/b/", "/a//b/./c", "a/b/c/f", "."] {
        learn(&who, path);
    }
    let held = who.lookup("/a/b").unwrap();
    (0..OFTEN).for_each(|_| who.faccessat(&held, "c/f", Access::READ, AtFlags::empty()).unwrap());
    let before = fills(&vfs);
    who.faccessat(&held, "c/f", Access::READ, AtFlags::empty()).unwrap();
    assert_eq!(fills(&vfs), before);
    assert_eq!(who.stat("/a/b/c/f").unwrap().mode, 0o644);
    assert_eq!(who.stat("/a/b/none").unwrap_err(), Errno::ENOENT);
    assert!(fills(&vfs) == before && vfs.stats().whole_paths.used > 10);
}

#[test]
fn a_memo_of_no_bytes_is_none() {
    let vfs = internals::learning_at_once(Vfs::builder().whole_paths(0)).build(tree()).unwrap();
    (0..OFTEN).for_each(|_| root(&vfs).access("/a/b/c/f", Access::READ).unwrap());
    let stats = vfs.stats().whole_paths;
    assert_eq!((stats.capacity, stats.used, stats.fills), (0, 0, 0));
}

#[test]
fn by_default_a_64th_of_the_budget_is_for_whole_paths_and_at_most_a_mebibyte() {
    let bytes = |budget| {
        let stats = Vfs::builder().budget(budget).build(MemFs::new()).unwrap().stats().whole_paths;
        stats.capacity * stats.entry_bytes
    };
    for (budget, expected) in [(1 << 20, 16 << 10), (16 << 20, 256 << 10), (64 << 20, 1 << 20), (1 << 30, 1 << 20)] {
        assert!((expected - 2 * 192..=expected).contains(&bytes(budget)), "{budget}: {}", bytes(budget));
    }
}

#[test]
fn each_change_on_the_way_is_seen_at_once() {
    let vfs = at_once(tree());
    let (root, who) = (root(&vfs), user(&vfs, 1));
    let ask = |path: &str| who.access(path, Access::READ);
    let learned = |path: &str| {
        learn(&who, path);
        ask(path)
    };
    assert_eq!(learned("/a/b/c/f"), Ok(()));
    chmod(&root, "/a/b", 0o700);
    assert_eq!(ask("/a/b/c/f"), Err(Errno::EACCES));
    chmod(&root, "/a/b", 0o755);
    assert_eq!(learned("/a/b/c/f"), Ok(()));
    rename(&root, "/a/b", "/other/b");
    assert_eq!(ask("/a/b/c/f"), Err(Errno::ENOENT));
    assert_eq!(learned("/to_b/c/f"), Err(Errno::ENOENT));
    rename(&root, "/other/b", "/a/b");
    assert_eq!((ask("/to_b/c/f"), learned("/to_b/c/f")), (Ok(()), Ok(())));
    root.unlink("/to_b").unwrap();
    assert_eq!(ask("/to_b/c/f"), Err(Errno::ENOENT));
    root.symlink("other", "/to_b").unwrap();
    assert_eq!(ask("/to_b/c/f"), Err(Errno::ENOENT));
    assert_eq!(learned("/a/b/c/new"), Err(Errno::ENOENT));
    make(&root, "/a/b/c/new");
    assert_eq!((ask("/a/b/c/new"), learned("/a/b/c/new")), (Ok(()), Ok(())));
    root.unlink("/a/b/c/new").unwrap();
    assert_eq!(ask("/a/b/c/new"), Err(Errno::ENOENT));
    assert_eq!(learned("/a/b/c/f"), Ok(()));
    chmod(&root, "/a/b/c/f", 0o600);
    assert_eq!(ask("/a/b/c/f"), Err(Errno::EACCES));
}

#[test]
fn a_directory_that_not_everyone_may_search_is_remembered_by_class() {
    let fs = tree();
    let vfs = at_once(fs);
    let root = root(&vfs);
    root.chown("/a", Some(7), Some(7)).unwrap();
    chmod(&root, "/a", 0o700);
    let (owner, other) = (user(&vfs, 7), user(&vfs, 8));
    learn(&owner, "/a/b/c/f");
    assert_eq!(other.access("/a/b/c/f", Access::empty()), Err(Errno::EACCES));
    assert!(is_known(&user(&vfs, 7).clone(), "/a/b/c/f") || is_known(&owner, "/a/b/c/f"));
    // The bits that grant rights to all users are unchanged.
    root.chown("/a", Some(8), Some(8)).unwrap();
    assert_eq!(owner.access("/a/b/c/f", Access::empty()), Err(Errno::EACCES));
    learn(&other, "/a/b/c/f");
    chmod(&root, "/a", 0o600);
    assert_eq!(other.access("/a/b/c/f", Access::empty()), Err(Errno::EACCES));
}

/// Checks that names added to and removed from a directory, and refreshed attributes of it, do not
/// invalidate a path through it.
#[test]
fn a_refresh_that_changes_no_rights_keeps_what_is_remembered() {
    let vfs = at_once(tree());
    let root = root(&vfs);
    learn(&root, "/a/b/c/f");
    let fill = |path: &str| {
        let before = fills(&vfs);
        root.access(path, Access::READ).unwrap();
        fills(&vfs) - before
    };
    let mut refills = 0;
    for _ in 0..1000 {
        make(&root, "/a/b/new");
        root.stat("/a/b").unwrap();
        rename(&root, "/a/b/new", "/a/b/newer");
        root.unlink("/a/b/newer").unwrap();
        refills += fill("/a/b/c/f");
    }
    assert_eq!(refills, 0);
    chmod(&root, "/a/b", 0o711);
    assert_eq!(fill("/a/b/c/f"), 1);
}

#[test]
fn mounts_on_the_way_are_seen() {
    let vfs = at_once(tree());
    let root = root(&vfs);
    learn(&root, "/a/b/c/f");
    let over = MemFs::new();
    over.mkdir("/c", 0o755).unwrap();
    root.mount(over, "/a/b", MountFlags::empty()).unwrap();
    assert_eq!(root.access("/a/b/c/f", Access::empty()), Err(Errno::ENOENT));
    learn(&root, "/a/b/c");
    learn(&root, "/a/b/c/../../b/c");
    root.bind("/other", "/a/b", Recursion::Alone).unwrap();
    assert_eq!(root.access("/a/b/c", Access::empty()), Err(Errno::ENOENT));
    assert_eq!(root.access("/a/b/c/../../b/c", Access::empty()), Err(Errno::ENOENT));
}

/// Checks that an absolute link leads from the mount where the walk begins to the mount of the
/// root, which then shows the link's target.
#[test]
fn a_link_leads_to_the_mount_of_the_root() {
    let vfs = at_once(tree());
    let mut who = root(&vfs);
    let other = MemFs::new();
    other.symlink("/a/b", "/l").unwrap();
    who.mount(other, "/other", MountFlags::empty()).unwrap();
    let mount_id = |who: &Context, path: &str| who.statx(path, StatxMask::BASIC_STATS | StatxMask::MNT_ID).unwrap().mount_id;
    let expected = mount_id(&who, "/a/b");
    who.chdir("/other").unwrap();
    for _ in 0..OFTEN {
        assert_eq!(mount_id(&who, "l"), expected);
    }
    assert_ne!(mount_id(&who, "."), expected);
}
