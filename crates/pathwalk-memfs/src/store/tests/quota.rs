//! Tests of quotas: what counts for which owner, and what is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use pathwalk::{Errno, FallocateFlags, FileSystem, NewKind, RenameFlags, SetAttributes, Timestamp, WriteAt};

use super::{errno, key, name, new, open};
use crate::{MemFs, Options, Project, ProjectScope, QuotaKind, QuotaLimits};

const PAGE: u64 = 4096;

fn counted() -> Options {
    Options::default().quota(QuotaKind::User).quota(QuotaKind::Group).quota(QuotaKind::Project)
}

fn limits() -> QuotaLimits {
    QuotaLimits::default()
}

/// Returns the pages and nodes of a user.
fn used(fs: &MemFs, uid: u32) -> (u64, u64) {
    let usage = fs.quota(QuotaKind::User, uid).unwrap();
    (usage.bytes / PAGE, usage.nodes)
}

/// Makes a file of user 1 with so many pages.
fn file(fs: &MemFs, path: &str, pages: u64) {
    fs.file(path, 0o644).unwrap();
    fs.chown(path, 1, 1).unwrap();
    fs.write(path, 0, &vec![1; (pages * PAGE) as usize]).unwrap();
}

#[test]
fn each_change_of_a_file_counts() {
    let fs = MemFs::with(counted());
    assert_eq!((used(&fs, 0), used(&fs, 1)), ((0, 1), (0, 0)), "the root is a node");
    file(&fs, "f", 3);
    assert_eq!((used(&fs, 0), used(&fs, 1)), ((0, 1), (3, 1)));
    fs.truncate("f", PAGE + 1).unwrap();
    assert_eq!(used(&fs, 1), (2, 1));
    fs.truncate("f", 10 * PAGE).unwrap();
    assert_eq!(used(&fs, 1), (2, 1), "a hole");
    let f = open(&fs, "f");
    f.fallocate(FallocateFlags::empty(), 0, 5 * PAGE).unwrap();
    assert_eq!(used(&fs, 1), (5, 1));
    f.fallocate(FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, PAGE, 2 * PAGE).unwrap();
    assert_eq!(used(&fs, 1), (3, 1));
    f.fallocate(FallocateFlags::COLLAPSE_RANGE, 0, PAGE).unwrap();
    assert_eq!(used(&fs, 1), (2, 1));
    fs.link("f", "g").unwrap();
    assert_eq!(used(&fs, 1), (2, 1), "a second name");
    fs.unlink("f").unwrap();
    fs.unlink("g").unwrap();
    assert_eq!(used(&fs, 1), (2, 1), "it is open");
    drop(f);
    assert_eq!(used(&fs, 1), (0, 0));
    assert_eq!(fs.quotas(QuotaKind::User).unwrap().len(), 1);
}

#[test]
fn a_clone_pays_for_all_its_pages() {
    let fs = MemFs::with(counted());
    file(&fs, "f", 3);
    fs.file("g", 0o644).unwrap();
    open(&fs, "f").clone_range(0, key(&fs, "g"), 0, 3 * PAGE).unwrap();
    assert_eq!((used(&fs, 0), used(&fs, 1)), ((3, 2), (3, 1)));
    fs.write("g", 0, b"its own").unwrap();
    assert_eq!((used(&fs, 0), used(&fs, 1)), ((3, 2), (3, 1)));
    fs.set_quota(QuotaKind::User, 0, limits().with_bytes(5 * PAGE)).unwrap();
    fs.file("h", 0o644).unwrap();
    let (f, h) = (open(&fs, "f"), key(&fs, "h"));
    assert_eq!(f.clone_range(0, h, 0, 3 * PAGE), Err(Errno::EDQUOT));
    assert_eq!(f.copy_range(0, h, 0, 3 * PAGE as usize), Ok(2 * PAGE as usize), "as far as there is room");
    assert_eq!(f.copy_range(0, h, 2 * PAGE, PAGE as usize), Err(Errno::EDQUOT));
    assert_eq!(used(&fs, 0), (5, 3));
}

#[test]
fn a_write_ends_where_the_quota_ends() {
    let fs = MemFs::with(counted().max_bytes(10 * PAGE));
    file(&fs, "f", 1);
    for kind in [QuotaKind::User, QuotaKind::Group] {
        fs.set_quota(kind, 1, limits().with_bytes(3 * PAGE + 1)).unwrap();
        let f = open(&fs, "f");
        assert_eq!(f.write_at(&[1; 5 * PAGE as usize], WriteAt::Offset(0)).unwrap().bytes, 3 * PAGE as usize);
        assert_eq!(f.write_at(b"x", WriteAt::End), Err(Errno::EDQUOT));
        assert_eq!(f.fallocate(FallocateFlags::empty(), PAGE, 3 * PAGE), Err(Errno::EDQUOT));
        assert_eq!((used(&fs, 1), fs.usage().pages), ((3, 1), 3));
        assert_eq!(errno(fs.write("f", 2 * PAGE, &[1; 2 * PAGE as usize])), Errno::EDQUOT, "all of it has no room");
        fs.set_quota(kind, 1, limits()).unwrap();
    }
    // The room of the file system is asked for first, as on a tmpfs.
    fs.set_quota(QuotaKind::User, 1, limits().with_bytes(10 * PAGE)).unwrap();
    fs.write("f", 0, &[1; 10 * PAGE as usize]).unwrap();
    assert_eq!(open(&fs, "f").write_at(b"x", WriteAt::End), Err(Errno::ENOSPC));
}

#[test]
fn nodes_are_limited_and_failures_take_nothing() {
    let fs = MemFs::with(counted());
    let root = key(&fs, "/");
    fs.set_quota(QuotaKind::User, 1, limits().with_nodes(1).with_bytes(0)).unwrap();
    let body = [b'x'; 200];
    assert_eq!(fs.0.create(root, name("link"), &new(NewKind::Symlink(&body))).err(), Some(Errno::EDQUOT), "it takes a page");
    assert_eq!((used(&fs, 1), fs.usage().pages), ((0, 0), 0));
    drop(fs.0.create(root, name("dir"), &new(NewKind::Directory)).unwrap());
    assert_eq!(fs.0.create(root, name("file"), &new(NewKind::Regular)).err(), Some(Errno::EDQUOT));
    assert_eq!(fs.0.create_unnamed(root, &new(NewKind::Regular)).err(), Some(Errno::EDQUOT));
    assert_eq!((used(&fs, 1), fs.usage().nodes), ((0, 1), 2));
    assert_eq!(fs.quota(QuotaKind::Group, 2).unwrap().nodes, 1, "the group paid for no failure");
    fs.unlink("dir").unwrap();
    drop(fs.0.create(root, name("file"), &new(NewKind::Regular)).unwrap());
    assert_eq!(errno(fs.write("file", 0, b"x")), Errno::EDQUOT);
}

#[test]
fn a_new_owner_needs_room() {
    let fs = MemFs::with(counted());
    file(&fs, "f", 3);
    fs.set_quota(QuotaKind::Group, 5, limits().with_bytes(2 * PAGE)).unwrap();
    let both = SetAttributes::default().with_uid(9).with_gid(5).with_mode(0o600);
    assert_eq!(fs.set_attributes(key(&fs, "f"), &both).err(), Some(Errno::EDQUOT));
    let found = fs.stat("f").unwrap();
    assert_eq!((found.uid, found.gid, found.mode), (1, 1, 0o644));
    assert_eq!((used(&fs, 1), used(&fs, 9)), ((3, 1), (0, 0)), "the user gave it back");
    fs.truncate("f", 2 * PAGE).unwrap();
    fs.set_attributes(key(&fs, "f"), &both).unwrap();
    assert_eq!((used(&fs, 1), used(&fs, 9)), ((0, 0), (2, 1)));
    // Whatever takes nothing from an account passes, even beyond its limits.
    fs.set_quota(QuotaKind::User, 9, limits().with_bytes(0).with_nodes(0)).unwrap();
    fs.chown("f", 9, 5).unwrap();
    fs.write("f", 0, &[2; PAGE as usize]).unwrap();
    fs.chown("f", 1, 5).unwrap();
    assert_eq!(used(&fs, 1), (2, 1));
}

#[test]
fn a_soft_limit_is_hard_after_the_grace_time() {
    let clock = Arc::new(AtomicI64::new(1000));
    let read = clock.clone();
    let now = move || Timestamp { seconds: read.load(Relaxed), nanoseconds: 0 };
    let fs = MemFs::with(counted().quota_grace(Duration::from_secs(50)).clock(now));
    let until = |fs: &MemFs| fs.quota(QuotaKind::User, 1).unwrap().bytes_until.map(|time| time.seconds);
    file(&fs, "f", 1);
    fs.set_quota(QuotaKind::User, 1, limits().with_soft_bytes(2 * PAGE).with_soft_nodes(1)).unwrap();
    fs.write("f", PAGE, b"x").unwrap();
    assert_eq!(until(&fs), None, "up to the limit");
    fs.write("f", 2 * PAGE, b"x").unwrap();
    assert_eq!(until(&fs), Some(1050));
    clock.store(1049, Relaxed);
    fs.write("f", 3 * PAGE, b"x").unwrap();
    assert_eq!(until(&fs), Some(1050), "the time does not begin anew");
    clock.store(1050, Relaxed);
    assert_eq!(errno(fs.write("f", 4 * PAGE, b"x")), Errno::EDQUOT);
    fs.write("f", 0, b"no new page").unwrap();
    fs.truncate("f", 2 * PAGE).unwrap();
    assert_eq!(until(&fs), None);
    fs.write("f", 2 * PAGE, b"x").unwrap();
    assert_eq!(until(&fs), Some(1100));
    // New limits begin a new time, or end it.
    clock.store(1060, Relaxed);
    fs.set_quota(QuotaKind::User, 1, limits().with_soft_bytes(PAGE)).unwrap();
    assert_eq!(until(&fs), Some(1110));
    fs.set_quota(QuotaKind::User, 1, limits().with_soft_bytes(3 * PAGE)).unwrap();
    assert_eq!(until(&fs), None);
    // Nodes have a time of their own.
    fs.set_quota(QuotaKind::User, 1, limits().with_soft_nodes(1)).unwrap();
    drop(fs.0.create(key(&fs, "/"), name("g"), &new(NewKind::Fifo)).unwrap());
    clock.store(1110, Relaxed);
    assert_eq!(fs.0.create(key(&fs, "/"), name("h"), &new(NewKind::Fifo)).err(), Some(Errno::EDQUOT));
}

fn tree(id: u32) -> Project {
    Project { id, scope: ProjectScope::NewNodes }
}

fn node(id: u32) -> Project {
    Project { id, scope: ProjectScope::Node }
}

#[test]
fn new_nodes_inherit_a_project() {
    let fs = MemFs::with(counted());
    fs.mkdir("d", 0o755).unwrap();
    fs.set_project("d", tree(7)).unwrap();
    fs.file("d/f", 0o644).unwrap();
    fs.symlink("x", "d/l").unwrap();
    fs.mkdir("d/d", 0o755).unwrap();
    let found = ["d", "d/f", "d/l", "d/d"].map(|path| fs.project(path).unwrap());
    assert_eq!(found, [tree(7), node(7), node(7), tree(7)]);
    let unnamed = fs.0.create_unnamed(key(&fs, "d"), &new(NewKind::Regular)).unwrap();
    assert_eq!(fs.project_of(unnamed.key()), Ok(node(7)));
    assert_eq!(fs.quota(QuotaKind::Project, 7).unwrap().nodes, 5);
    drop(unnamed);
    fs.set_project("d", node(7)).unwrap();
    fs.file("d/g", 0o644).unwrap();
    assert_eq!(fs.project("d/g").unwrap(), node(0));

    assert_eq!(errno(fs.set_project("d/f", tree(7))), Errno::EOPNOTSUPP);
    assert_eq!(errno(fs.set_project("d/l", node(7))), Errno::EOPNOTSUPP);
    assert_eq!(errno(fs.set_project("d/f", node(u32::MAX))), Errno::EINVAL);
    fs.set_quota(QuotaKind::Project, 8, limits().with_nodes(0)).unwrap();
    assert_eq!(errno(fs.set_project("d/f", node(8))), Errno::EDQUOT);
    assert_eq!((fs.project("d/f").unwrap(), fs.quota(QuotaKind::Project, 7).unwrap().nodes), (node(7), 4));

    // The next node in a slot has no project, and the memory comes back.
    let before = fs.usage().bytes;
    for _ in 0..3 {
        fs.file("new", 0o644).unwrap();
        assert_eq!(fs.project("new").unwrap(), node(0));
        fs.set_project("new", node(9)).unwrap();
        fs.unlink("new").unwrap();
    }
    assert_eq!(fs.usage().bytes, before);
}

#[test]
fn a_tree_takes_no_node_of_another_project() {
    let fs = MemFs::with(counted());
    for (dir, id) in [("one", 1), ("two", 2), ("none", 0)] {
        fs.mkdir(dir, 0o755).unwrap();
        fs.set_project(dir, if id > 0 { tree(id) } else { node(0) }).unwrap();
        fs.file(format!("{dir}/f").as_str(), 0o644).unwrap();
    }
    for (from, to, answer) in [
        ("one/f", "two/g", Some(Errno::EXDEV)),
        ("none/f", "two/g", Some(Errno::EXDEV)),
        ("none/f", "two/f", Some(Errno::EXDEV)),
        ("one/f", "none/g", None),
        ("none/g", "one/f", None),
    ] {
        assert_eq!(fs.rename(from, to).err().map(|error| error.errno()), answer, "{from} {to}");
    }
    assert_eq!(errno(fs.link("one/f", "two/g")), Errno::EXDEV);
    fs.link("one/f", "none/g").unwrap();
    let exchange = |from, to| fs.rename_with(from, to, RenameFlags::EXCHANGE);
    assert_eq!(errno(exchange("one/f", "none/f")), Errno::EXDEV, "either direction");
    assert_eq!(errno(exchange("none/f", "one/f")), Errno::EXDEV);
}

#[test]
fn statfs_shows_the_project_s_limit() {
    let fs = MemFs::with(counted().max_bytes(100 * PAGE).max_nodes(50));
    fs.mkdir("d", 0o755).unwrap();
    fs.set_project("d", tree(7)).unwrap();
    file(&fs, "d/f", 3);
    let found = |path| {
        let stat = fs.statfs_of(key(&fs, path)).unwrap();
        (stat.blocks, stat.blocks_free, stat.blocks_available, stat.files, stat.files_free)
    };
    let whole = (100, 97, 97, 50, 47);
    assert_eq!([found("/"), found("d")], [whole; 2]);
    fs.set_quota(QuotaKind::Project, 7, limits().with_bytes(20 * PAGE).with_soft_bytes(10 * PAGE).with_nodes(5)).unwrap();
    assert_eq!([found("/"), found("d/f")], [whole; 2]);
    assert_eq!(found("d"), (10, 7, 7, 5, 3));
    fs.set_quota(QuotaKind::Project, 7, limits().with_bytes(PAGE).with_nodes(1000)).unwrap();
    assert_eq!(found("d"), (1, 0, 0, 50, 47));
}

#[test]
fn what_is_not_counted_costs_and_limits_nothing() {
    let fs = MemFs::with(Options::default().quota(QuotaKind::Group));
    assert_eq!(fs.set_quota(QuotaKind::User, 1, limits().with_nodes(0)), Err(Errno::ESRCH));
    assert_eq!(fs.quota(QuotaKind::Project, 1), Err(Errno::ESRCH));
    assert_eq!(MemFs::new().quotas(QuotaKind::Group), Err(Errno::ESRCH));
    file(&fs, "f", 1);
    assert_eq!(fs.quota(QuotaKind::Group, 1).unwrap().bytes, PAGE);
}

/// Checks sums after threads have written, given away and removed files at once.
#[test]
fn threads_leave_exact_sums() {
    let fs = MemFs::with(counted());
    fs.set_quota(QuotaKind::User, 3, limits().with_bytes(4 * PAGE)).unwrap();
    let rounds = if cfg!(miri) { 5 } else { 2000 };
    std::thread::scope(|scope| {
        for thread in 0..4_u32 {
            let fs = &fs;
            scope.spawn(move || {
                let path = format!("f{thread}");
                for round in 0..rounds {
                    fs.file(path.as_str(), 0o644).unwrap();
                    let _ = fs.chown(path.as_str(), 3, thread);
                    let _ = fs.write(path.as_str(), 0, &[1; 2 * PAGE as usize]);
                    assert!(fs.quota(QuotaKind::User, 3).unwrap().bytes <= 4 * PAGE, "round {round}");
                    let _ = fs.chown(path.as_str(), round % 4, 0);
                    fs.unlink(path.as_str()).unwrap();
                }
            });
        }
    });
    let left = |kind| fs.quotas(kind).unwrap().iter().map(|(_, usage)| (usage.bytes, usage.nodes)).collect::<Vec<_>>();
    assert_eq!(left(QuotaKind::User), [(0, 1), (0, 0)], "the root, and the limit");
    assert_eq!((left(QuotaKind::Group), left(QuotaKind::Project)), (vec![(0, 1)], vec![(0, 1)]));
}
