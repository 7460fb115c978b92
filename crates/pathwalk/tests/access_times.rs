//! The times of accesses: which accesses are stored, and that a hit stores nothing.
//!
//! The rows are what Linux 6.18 does on a tmpfs.

use std::io::IoSliceMut;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use pathwalk::{
    AccessTimes, At, AtFlags, Context, Credentials, Errno, File, HandOver, IdExtent, IdMap, InodeFlags, MountAttributes,
    MountFlags, MoveFlags, NewKind, OpenFlags, Recursion, RwFlags, SetTime, Timestamp, Vfs, internals,
};
use pathwalk_memfs::{Calls, MemFs, Options};

const DAY: i64 = 24 * 60 * 60;

/// A file system with a clock of its own, and a context in it.
struct World {
    clock: Arc<AtomicI64>,
    fs: MemFs,
    context: Context,
}

/// The memo of whole paths: off, or one that learns each path at once.
#[derive(Clone, Copy, PartialEq)]
enum Memo {
    Off,
    LearnsAtOnce,
}

fn at(seconds: i64) -> Timestamp {
    Timestamp { seconds, nanoseconds: 0 }
}

fn world(flags: MountFlags, memo: Memo) -> World {
    let clock = Arc::new(AtomicI64::new(10 * DAY));
    let of_fs = Arc::clone(&clock);
    let fs = MemFs::with(Options::default().access_times(AccessTimes::OfEngine).clock(move || at(of_fs.load(Relaxed))));
    fs.mkdir("/dir", 0o777).unwrap();
    fs.file("/dir/file", 0o666).unwrap();
    fs.symlink("dir", "/link").unwrap();
    let builder = Vfs::builder().budget(1 << 20).mount_flags(flags);
    let builder = if memo == Memo::Off { builder.whole_paths(0) } else { internals::learning_at_once(builder) };
    let context = builder.build(fs.alias()).unwrap().context(Credentials::root());
    context.write("/dir/file", "hello").unwrap();
    let world = World { clock, fs, context };
    world.tick(10);
    world
}

impl World {
    fn tick(&self, seconds: i64) -> i64 {
        self.clock.fetch_add(seconds, Relaxed) + seconds
    }

    fn now(&self) -> i64 {
        self.clock.load(Relaxed)
    }

    /// Returns the time of access that the file system has, after a check that the caches have the
    /// same.
    fn atime(&self, path: &str) -> i64 {
        let cached = self.context.lstat(path).unwrap().atime;
        let vfs = Vfs::builder().budget(1 << 20).build(self.fs.alias()).unwrap();
        assert_eq!(vfs.context(Credentials::root()).lstat(path).unwrap().atime, cached, "{path}");
        cached.seconds
    }

    /// Makes the time of access a minute older than the time of the last change, and a second pass.
    fn set_old(&self, path: &str) {
        let (atime, mtime) = (SetTime::To(at(self.now() - 60)), SetTime::Now);
        self.context.utimensat(At::Cwd, path, atime, mtime, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        self.tick(1);
    }

    /// Returns whether `access` is stored of a node whose time is old.
    fn stores<T>(&self, path: &str, access: impl FnOnce() -> T) -> bool {
        self.set_old(path);
        let before = self.atime(path);
        access();
        let after = self.atime(path);
        assert!(after == before || after == self.now(), "{path}: from {before} to {after} at {}", self.now());
        after != before
    }

    fn handed_over(&self) -> u64 {
        self.context.vfs().stats().hand_overs_for(HandOver::AccessTime)
    }

    /// Returns the calls of the file system during `what`, of which none is a hand-over.
    fn calls<T>(&self, what: impl FnOnce() -> T) -> Calls {
        let (before, handed_over) = (self.fs.calls(), self.context.vfs().stats().hand_overs);
        what();
        assert_eq!(self.context.vfs().stats().hand_overs, handed_over);
        self.fs.calls().since(&before)
    }
}

#[test]
fn what_counts_as_an_access_to_a_file() {
    let world = world(MountFlags::empty(), Memo::Off);
    let context = &world.context;
    let stores = |access: &dyn Fn()| world.stores("/dir/file", access);
    let file = context.open("/dir/file", OpenFlags::READ).unwrap();
    let (mut buffer, mut empty) = ([0; 3], [0; 0]);
    let mut read = |offset, length: usize| {
        let buffer = &mut buffer[..length];
        world.stores("/dir/file", || file.read_at(buffer, offset).unwrap())
    };
    assert!(read(0, 3), "a read");
    assert!(read(0, 0), "of nothing");
    assert!(read(5, 3), "at the end");
    assert!(read(500, 3), "behind it");
    assert!(stores(&|| _ = file.read(&mut [0; 1])), "at the position");
    context.open("/dir/file", OpenFlags::WRITE).unwrap().write_at(b"h", 0).unwrap();
    assert_eq!(file.try_read_at(&mut [0; 1], 0), Err(Errno::EAGAIN), "the times are out of date");
    let nowait = |file: &File| file.preadv2(&mut [IoSliceMut::new(&mut [0; 1])], Some(0), RwFlags::NOWAIT);
    assert_eq!(nowait(&file), Err(Errno::EAGAIN));
    assert!(stores(&|| _ = file.try_read_at(&mut [0; 1], 0)), "without waiting");
    assert!(stores(&|| _ = file.read_vectored(&mut [IoSliceMut::new(&mut [0; 1])])), "into buffers");
    assert!(stores(&|| _ = file.preadv2(&mut [IoSliceMut::new(&mut [0; 1])], Some(0), RwFlags::empty())));
    assert!(!stores(&|| _ = file.read_vectored_at(&mut [IoSliceMut::new(&mut [0; 0])], 0)), "into empty buffers");
    assert!(!stores(&|| _ = file.read_vectored_at(&mut [], 0)), "into none");
    assert!(!stores(&|| _ = file.read_at(&mut [0; 1], u64::MAX)), "a read that fails");
    assert!(!stores(&|| _ = context.open("/dir/file", OpenFlags::READ)), "an open");
    assert!(!stores(&|| _ = context.stat("/dir/file")), "a look");
    assert!(!stores(&|| _ = file.seek(std::io::SeekFrom::Start(0))), "a seek");
    let written = context.open("/dir/file", OpenFlags::WRITE).unwrap();
    assert!(!stores(&|| _ = written.write_at(b"h", 0)), "a write");
    assert!(!stores(&|| _ = written.read(&mut [0; 1])), "a read without the right");
    let to = context.open("/to", OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
    assert!(stores(&|| _ = file.copy_file_range(Some(0), &to, None, 5)), "a copy");
    assert!(!stores(&|| _ = file.copy_file_range(Some(50), &to, None, 5)), "a copy from behind the end");
    assert!(!world.stores("/to", || file.copy_file_range(Some(0), &to, None, 5)), "to another file");
    assert!(!stores(&|| _ = context.open("/dir/file", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::TRUNCATE)));
    assert_eq!(empty.len(), file.read_at(&mut empty, 0).unwrap());
}

/// A C library asks once more behind the last entry.
#[test]
fn the_end_of_a_listing_is_an_access() {
    let world = world(MountFlags::empty(), Memo::Off);
    let mut listing = world.context.read_dir("/dir").unwrap();
    let entry = listing.next().unwrap().unwrap();
    world.tick(10);
    world.context.remove_file(entry.path()).unwrap();
    let removed = world.tick(10);
    assert!(listing.next().is_none());
    assert_eq!(world.atime("/dir"), removed);
}

/// The access is noted once more behind the write, which makes the time that was stored before
/// older than the change.
#[test]
fn a_copy_within_one_file_is_an_access_behind_its_write() {
    for flags in [MountFlags::empty(), MountFlags::STRICTATIME, MountFlags::NOATIME] {
        let world = world(flags, Memo::Off);
        let file = world.context.open("/dir/file", OpenFlags::READ | OpenFlags::WRITE).unwrap();
        file.read_at(&mut [0; 1], 0).unwrap();
        let read = world.tick(10);
        file.copy_file_range(Some(0), &file, Some(100), 1).unwrap();
        let expected = if flags == MountFlags::NOATIME { read - 20 } else { read };
        assert_eq!(world.atime("/dir/file"), expected, "{flags:?}");
    }
}

#[test]
fn what_counts_as_an_access_to_a_directory() {
    let world = world(MountFlags::empty(), Memo::Off);
    let context = &world.context;
    let dir = context.open("/dir", OpenFlags::READ).unwrap();
    let stores = |access: &dyn Fn()| world.stores("/dir", access);
    assert!(stores(&|| _ = dir.getdents(1)), "a part of a listing");
    assert!(stores(&|| _ = dir.getdents(100)), "the rest");
    assert!(stores(&|| assert!(dir.getdents(100).unwrap().is_empty())), "its end");
    assert!(stores(&|| _ = context.read_dir("/dir").unwrap().count()));
    assert!(!stores(&|| _ = context.stat("/dir/file")), "a walk through it");
    assert!(!stores(&|| _ = dir.read(&mut [0; 1])), "a read, which is no listing");
    let quiet = context.open("/dir", OpenFlags::READ | OpenFlags::NOATIME).unwrap();
    assert!(!stores(&|| _ = quiet.getdents(100)));
    // A removed directory cannot be listed.
    context.mkdir("/gone", 0o755).unwrap();
    let gone = context.open("/gone", OpenFlags::READ).unwrap();
    world.tick(1);
    context.rmdir("/gone").unwrap();
    assert_eq!(gone.getdents(1).unwrap_err(), Errno::ENOENT);
    assert_ne!(gone.handle().attributes().unwrap().atime.seconds, world.now());
}

#[test]
fn what_counts_as_an_access_to_a_link() {
    for memo in [Memo::Off, Memo::LearnsAtOnce] {
        let world = world(MountFlags::empty(), memo);
        let context = &world.context;
        let stores = |access: &dyn Fn()| world.stores("/link", access);
        assert!(stores(&|| _ = context.readlink("/link", &mut [0; 9])));
        let link = context.lookup_at(At::Cwd, "/link", AtFlags::SYMLINK_NOFOLLOW).unwrap();
        assert!(stores(&|| _ = context.readlinkat(&link, "", &mut [0; 9])), "by a handle");
        assert!(stores(&|| _ = context.stat("/link")), "at the end of a path");
        assert!(stores(&|| _ = context.stat("/link/file")), "on the way");
        assert!(stores(&|| assert_eq!(context.stat("/link/none"), Err(Errno::ENOENT))), "on a way that ends nowhere");
        assert!(stores(&|| assert_eq!(context.stat("/link/file/"), Err(Errno::ENOTDIR))));
        assert!(!stores(&|| _ = context.lstat("/link")), "a look at it");
        assert!(!stores(&|| _ = context.open("/link", OpenFlags::PATH | OpenFlags::NOFOLLOW)));
        assert!(!stores(&|| _ = context.open("/link", OpenFlags::READ | OpenFlags::NOFOLLOW)), "ELOOP");
        let new = OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
        assert!(!stores(&|| assert_eq!(context.open("/link", new).unwrap_err(), Errno::EEXIST)));
        assert!(!stores(&|| assert_eq!(context.readlink("/link", &mut []), Err(Errno::EINVAL))));
        assert!(!world.stores("/dir", || context.stat("/link")), "where it leads");
    }
}

#[test]
fn what_counts_as_an_access_to_a_pipe() {
    let world = world(MountFlags::empty(), Memo::Off);
    let context = &world.context;
    context.mknod("/pipe", NewKind::Fifo, 0o600).unwrap();
    let reader = context.open("/pipe", OpenFlags::READ | OpenFlags::NONBLOCK).unwrap();
    let writer = context.open("/pipe", OpenFlags::WRITE | OpenFlags::NONBLOCK).unwrap();
    let stores = |access: &dyn Fn()| world.stores("/pipe", access);
    assert!(!stores(&|| assert_eq!(reader.read(&mut [0; 1]), Err(Errno::EAGAIN))));
    writer.write(b"abc").unwrap();
    assert!(!stores(&|| assert_eq!(reader.read(&mut []), Ok(0))));
    assert!(stores(&|| assert_eq!(reader.read(&mut [0; 1]), Ok(1))));
    assert!(stores(&|| assert_eq!(reader.read_vectored(&mut [IoSliceMut::new(&mut [0; 9])]), Ok(2))));
    drop(writer);
    assert!(!stores(&|| assert_eq!(reader.read(&mut [0; 1]), Ok(0))), "there is nothing to read");
}

#[test]
fn a_time_is_stored_after_a_change_and_once_a_day() {
    let world = world(MountFlags::RELATIME, Memo::Off);
    let read = || world.context.read("/dir/file").unwrap();
    read();
    let first = world.atime("/dir/file");
    assert_eq!(first, world.now());
    world.tick(1);
    assert_eq!(world.calls(read).accessed, 0);
    assert_eq!(world.atime("/dir/file"), first);
    world.context.chmod("/dir/file", 0o600).unwrap();
    world.tick(1);
    read();
    let second = world.atime("/dir/file");
    assert_eq!(second, world.now());
    world.tick(DAY - 1);
    read();
    assert_eq!(world.atime("/dir/file"), second);
    world.tick(1);
    read();
    assert_eq!(world.atime("/dir/file"), world.now());
    // Only the time of access changes.
    let (before, _) = (world.context.stat("/dir/file").unwrap(), world.tick(2 * DAY));
    read();
    assert_eq!(world.context.stat("/dir/file").unwrap(), {
        let mut after = before;
        after.atime = at(world.now());
        after
    });
}

/// Checks that links whose time is not due are followed without a question and without a
/// hand-over, from the memo too; and that they are due again after each kind of change.
#[test]
fn a_link_is_followed_by_the_walk_that_takes_no_lock() {
    for memo in [Memo::Off, Memo::LearnsAtOnce] {
        let world = world(MountFlags::empty(), memo);
        let context = &world.context;
        let follow = || (0..5).for_each(|_| _ = context.stat("/link/file").unwrap());
        follow();
        assert_eq!(world.atime("/link"), world.now());
        let held = context.lookup_at(At::Cwd, "/link", AtFlags::SYMLINK_NOFOLLOW).unwrap();
        let owner = || context.fchownat(&held, "", Some(7), None, AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW).unwrap();
        let changes: [(&str, &dyn Fn()); 6] = [
            ("owner", &|| context.fchownat(At::Cwd, "/link", Some(5), None, AtFlags::SYMLINK_NOFOLLOW).unwrap()),
            ("owner by a handle", &owner),
            ("another name", &|| context.link("/link", "/second").unwrap()),
            ("its end", &|| context.unlink("/second").unwrap()),
            ("times", &|| {
                let (old, now) = (SetTime::To(at(5)), SetTime::Keep);
                context.utimensat(At::Cwd, "/link", old, now, AtFlags::SYMLINK_NOFOLLOW).unwrap();
            }),
            ("name", &|| {
                context.rename("/link", "/other").unwrap();
                context.rename("/other", "/link").unwrap();
            }),
        ];
        for (name, change) in changes {
            world.tick(1);
            assert_eq!(world.calls(follow).total(), 0, "before: {name}");
            change();
            world.tick(1);
            let handed_over = world.handed_over();
            follow();
            assert_eq!(world.atime("/link"), world.now(), "{name}");
            assert!(world.handed_over() <= handed_over + 1, "{name}");
        }
    }
}

#[test]
fn each_name_of_a_link_shows_that_its_time_is_due() {
    let world = world(MountFlags::empty(), Memo::LearnsAtOnce);
    let context = &world.context;
    context.link("/link", "/second").unwrap();
    world.tick(1);
    let follow = || ["/link/file", "/second/file"].iter().for_each(|path| _ = context.stat(path).unwrap());
    (0..5).for_each(|_| follow());
    assert_eq!(world.calls(follow).total(), 0);
    for (changed, followed) in [("/link", "/second"), ("/second", "/link"), ("/link", "/link")] {
        world.tick(1);
        context.fchownat(At::Cwd, changed, Some(5), None, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        world.tick(1);
        context.stat(&*format!("{followed}/file")).unwrap();
        assert_eq!(world.atime("/link"), world.now(), "{changed} and {followed}");
        (0..5).for_each(|_| follow());
    }
}

/// Checks that a link that was cached and followed for a day is found to be due.
#[test]
fn a_link_that_stays_cached_is_stored_once_a_day() {
    for memo in [Memo::Off, Memo::LearnsAtOnce] {
        let world = world(MountFlags::empty(), memo);
        let follow = || (0..5).for_each(|_| _ = world.context.stat("/link/file").unwrap());
        follow();
        let first = world.atime("/link");
        world.tick(DAY - 1);
        assert_eq!(world.calls(follow).total(), 0);
        world.tick(1);
        // Within an hour, any access to the file system shows that a day has passed.
        world.context.read("/dir/file").unwrap();
        world.tick(60 * 60);
        world.context.read("/dir/file").unwrap();
        assert_eq!(world.atime("/link"), first);
        follow();
        assert_eq!(world.atime("/link"), world.now());
        world.tick(1);
        assert_eq!(world.calls(follow).total(), 0);
    }
}

#[test]
fn the_caches_alone_store_nothing() {
    let world = world(MountFlags::empty(), Memo::Off);
    let cached = || world.context.cached().stat("/link/file").map(drop);
    world.context.stat("/link/file").unwrap();
    assert_eq!(cached(), Ok(()));
    world.set_old("/link");
    world.context.lstat("/link").unwrap();
    assert_eq!(cached(), Err(Errno::EAGAIN));
    assert_eq!(world.context.cached().readlink("/link", &mut [0; 9]), Err(Errno::EAGAIN));
    world.context.stat("/link/file").unwrap();
    assert_eq!((cached(), world.context.cached().readlink("/link", &mut [0; 9])), (Ok(()), Ok(3)));
}

/// Checks the flags of the mount, of which each row says what is stored of a file, a directory and
/// a link.
#[test]
fn the_mount_decides() {
    let strict = MountFlags::STRICTATIME;
    let rows = [
        (MountFlags::empty(), [true; 3]),
        (MountFlags::RELATIME, [true; 3]),
        (MountFlags::NOATIME, [false; 3]),
        (MountFlags::NODIRATIME, [true, false, true]),
        (strict, [true; 3]),
        (strict | MountFlags::NODIRATIME, [true, false, true]),
        (strict | MountFlags::NOATIME, [true; 3]),
    ];
    for memo in [Memo::Off, Memo::LearnsAtOnce] {
        for (flags, expected) in rows {
            let world = world(flags, memo);
            let context = &world.context;
            let accesses: [(&str, &dyn Fn()); 3] = [
                ("/dir/file", &|| _ = context.read("/dir/file").unwrap()),
                ("/dir", &|| _ = context.read_dir("/dir").unwrap().count()),
                ("/link", &|| (0..4).for_each(|_| _ = context.stat("/link/file").unwrap())),
            ];
            let stored = accesses.map(|(path, access)| world.stores(path, access));
            assert_eq!(stored, expected, "{flags:?}");
            // An access that follows at once.
            for ((path, access), is_stored) in accesses.iter().zip(expected) {
                let before = world.atime(path);
                world.tick(1);
                access();
                let again = is_stored && flags.contains(strict);
                assert_eq!(world.atime(path) == world.now(), again, "{path}, {flags:?}");
                assert!(again || world.atime(path) == before);
            }
            context.remount("/", MountFlags::READ_ONLY | flags).unwrap();
            world.tick(2 * DAY);
            accesses.iter().for_each(|(_, access)| access());
            assert!(accesses.iter().all(|(path, _)| world.atime(path) != world.now()), "read-only, {flags:?}");
        }
    }
}

/// Checks that a link whose time is due is followed at once where its mount stores none, and that a
/// mount that begins to store them does so, whatever was remembered.
#[test]
fn a_mount_that_stores_no_times_costs_nothing() {
    for memo in [Memo::Off, Memo::LearnsAtOnce] {
        let world = world(MountFlags::NOATIME, memo);
        let context = &world.context;
        let follow = || (0..5).for_each(|_| _ = (context.stat("/link/file").unwrap(), context.readlink("/link", &mut [0; 9])));
        world.set_old("/link");
        follow();
        assert_eq!(world.calls(follow).total(), 0);
        for stores in [MountFlags::RELATIME, MountFlags::STRICTATIME] {
            world.set_old("/link");
            follow();
            assert_ne!(world.atime("/link"), world.now());
            let to = MountAttributes::default().with_clear(MountFlags::NOATIME).with_set(stores);
            context.mount_setattr("/", &to, Recursion::Alone).unwrap();
            context.stat("/link/file").unwrap();
            assert_eq!(world.atime("/link"), world.now(), "{stores:?}");
            let to = MountAttributes::default().with_clear(stores).with_set(MountFlags::NOATIME);
            context.mount_setattr("/", &to, Recursion::Alone).unwrap();
        }
    }
}

/// Checks that two mounts of one file system have rules of their own.
#[test]
fn another_mount_has_another_rule() {
    for memo in [Memo::Off, Memo::LearnsAtOnce] {
        let world = world(MountFlags::empty(), memo);
        let context = &world.context;
        context.mkdir("/quiet", 0o755).unwrap();
        context.bind("/", "/quiet", Recursion::Alone).unwrap();
        let to = MountAttributes::default().with_set(MountFlags::NOATIME);
        context.mount_setattr("/quiet", &to, Recursion::Alone).unwrap();
        for _ in 0..2 {
            assert!(!world.stores("/link", || (0..4).for_each(|_| _ = context.stat("/quiet/link/file").unwrap())));
            assert!(world.stores("/link", || (0..4).for_each(|_| _ = context.stat("/link/file").unwrap())));
            assert!(!world.stores("/dir/file", || context.read("/quiet/dir/file").unwrap()));
            assert!(world.stores("/dir/file", || context.read("/dir/file").unwrap()));
        }
    }
}

#[test]
fn nodes_and_files_without_times_of_access() {
    let world = world(MountFlags::empty(), Memo::Off);
    let context = &world.context;
    context.set_inode_flags("/dir", InodeFlags::NOATIME).unwrap();
    context.symlink("/dir", "/dir/link").unwrap();
    assert!(!world.stores("/dir", || context.read_dir("/dir").unwrap().count()));
    let follow = || (0..5).for_each(|_| _ = context.stat("/dir/link/file").unwrap());
    assert!(!world.stores("/dir/link", follow), "new nodes inherit the flag");
    assert_eq!(world.calls(follow).total(), 0, "which is asked for once");
    context.set_inode_flags("/dir", InodeFlags::empty()).unwrap();
    assert!(world.stores("/dir", || context.read_dir("/dir").unwrap().count()));

    let open = |who: &Context| who.open("/dir/file", OpenFlags::READ | OpenFlags::NOATIME);
    let quiet = open(context).unwrap();
    assert!(!world.stores("/dir/file", || quiet.read_at(&mut [0; 1], 0).unwrap()));
    context.chown("/dir/file", Some(1000), Some(1000)).unwrap();
    let user = |uid| context.clone().with_credentials(Credentials::user(uid, uid, &[]));
    assert!(open(&user(1000)).is_ok(), "its owner");
    assert_eq!(open(&user(1001)).unwrap_err(), Errno::EPERM);
    let made = OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::NOATIME;
    assert!(user(1001).open("/dir/made", made).is_ok());
    assert_eq!(user(1000).open("/dir/made", made).unwrap_err(), Errno::EACCES, "the mode comes first");
}

/// Checks that accesses through a mount that maps an owner to no id are not stored.
#[test]
fn nodes_of_owners_that_the_mount_does_not_map() {
    for memo in [Memo::Off, Memo::LearnsAtOnce] {
        let world = world(MountFlags::empty(), memo);
        let context = &world.context;
        context.mkdir("/mapped", 0o755).unwrap();
        let extent = IdExtent { inside: 0, outside: 0, length: 1 };
        let map = MountAttributes::default().with_id_map(IdMap::new(&[extent], &[extent]).unwrap());
        let tree = context.open_tree("/", Recursion::Alone).unwrap();
        context.mount_setattr_at(tree.handle(), "", AtFlags::EMPTY_PATH, &map, Recursion::Alone).unwrap();
        context.move_mount_at(tree.handle(), "", At::Cwd, "/mapped", MoveFlags::FROM_EMPTY_PATH).unwrap();
        let follow = || (0..3).for_each(|_| _ = context.stat("/mapped/link/file").unwrap());
        assert!(world.stores("/link", follow));
        assert!(world.stores("/dir", || context.read_dir("/mapped/dir").unwrap().count()));
        for (uid, gid) in [(7, 0), (0, 7)] {
            let owner = |path| context.fchownat(At::Cwd, path, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW).unwrap();
            ["/link", "/dir"].into_iter().for_each(owner);
            assert!(!world.stores("/link", follow));
            assert!(!world.stores("/dir", || context.read_dir("/mapped/dir").unwrap().count()));
        }
    }
}
