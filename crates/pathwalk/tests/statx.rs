//! `statx` with each flag and mask, beside the running kernel on a tmpfs; how far the caches are
//! asked by `FORCE_SYNC` and `DONT_SYNC`; change cookies, subvolumes and generations.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use pathwalk::{
    At, AtFlags, Attributes, ChangeCookie, Context, Credentials, Details, Directory, Errno, FileSystem, FileType, InodeFlags,
    LinkFlags, MountFlags, Name, NewKind, Node, NodeKey, OpenFlags, Resolve, SetTime, StatxFlags, StatxMask, Timestamp, Vfs,
    XattrFlags,
};
use pathwalk_memfs::{Calls, MemFs, Options};

const NONE: AtFlags = AtFlags::empty();
const FORCE: AtFlags = AtFlags::FORCE_SYNC;
const DONT: AtFlags = AtFlags::DONT_SYNC;
const STATS: StatxMask = StatxMask::BASIC_STATS;

fn world() -> (MemFs, Context) {
    let fs = MemFs::new();
    let context = Vfs::builder().budget(1 << 20).build(fs.alias()).unwrap().context(Credentials::root());
    context.write("/file", "data").unwrap();
    (fs, context)
}

#[cfg(target_os = "linux")]
mod kernel {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn answer<T>(result: i32, value: T) -> Result<T, Errno> {
        let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
        if result == 0 { Ok(value) } else { Err(Errno::from_raw(errno)) }
    }

    fn statx(path: &CString, flags: u32, mask: u32) -> Result<u32, Errno> {
        // SAFETY: all zeros is a `statx`.
        let mut found: libc::statx = unsafe { std::mem::zeroed() };
        // SAFETY: the path ends in NUL, and both live through the call.
        let result = unsafe { libc::statx(libc::AT_FDCWD, path.as_ptr(), flags as i32, mask, &raw mut found) };
        answer(result, found.stx_mask)
    }

    fn fstatat(path: &CString, flags: u32) -> Result<(), Errno> {
        // SAFETY: all zeros is a `stat`.
        let mut found: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: the path ends in NUL, and both live through the call.
        answer(unsafe { libc::fstatat(libc::AT_FDCWD, path.as_ptr(), &raw mut found, flags as i32) }, ())
    }

    /// Asks the kernel and the engine with each flag and two, and each bit of a mask.
    #[test]
    fn flags_and_masks_are_those_of_the_kernel() {
        let (_, context) = world();
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = CString::new(file.path().as_os_str().as_bytes()).unwrap();
        let flags = (0..32).map(|bit| 1 << bit).chain([0, 0x6000, 0x2100, 0x4800, 0x6800, 0x2200]);
        for flags in flags {
            let how = AtFlags::from_bits_retain(flags);
            let ours = context.fstatat(At::Cwd, "/file", how).map(drop);
            assert_eq!(ours, fstatat(&path, flags), "fstatat with {flags:#x}");
            let ours = context.statx_at(At::Cwd, "/file", how, STATS).map(drop);
            assert_eq!(ours, statx(&path, flags, STATS.bits()).map(drop), "statx with {flags:#x}");
            let cached = context.cached();
            let again = |answer: Result<(), Errno>| if answer == Err(Errno::EAGAIN) { Ok(()) } else { answer };
            assert_eq!(again(cached.statx_at(At::Cwd, "/file", how, STATS).map(drop)), ours, "the caches, with {flags:#x}");
            assert_eq!(again(cached.fstatat(At::Cwd, "/file", how).map(drop)), fstatat(&path, flags), "{flags:#x}");
        }
        for mask in (0..32).map(|bit| 1 << bit).chain([0, 0x5000, 0x7fff_ffff, u32::MAX]) {
            let wanted = StatxMask::from_bits_retain(mask);
            let (ours, theirs) = (context.statx("/file", wanted), statx(&path, 0, mask));
            assert_eq!(ours.map(drop), theirs.map(drop), "{mask:#x}");
            let (Ok(ours), Ok(theirs)) = (ours, theirs) else { continue };
            // What was asked for; and which of the two numbers of the mount.
            let mount = StatxMask::MNT_ID | StatxMask::MNT_ID_UNIQUE;
            let kept = STATS | StatxMask::BTIME;
            let theirs = StatxMask::from_bits_retain(theirs);
            assert_eq!(ours.mask & (wanted & kept | mount), theirs & (wanted & kept | mount), "{mask:#x}");
            assert!((kept | mount).contains(ours.mask), "nothing else is there");
        }
        assert_eq!(context.statx_at(At::Cwd, "/absent", NONE, StatxMask::from_bits_retain(1 << 31)), Err(Errno::EINVAL));
        assert_eq!(context.statx_at(At::Cwd, "/absent", FORCE | DONT, STATS), Err(Errno::EINVAL));
    }
}

/// Returns how often the file system was asked for attributes.
fn asked(fs: &MemFs, before: &Calls) -> u64 {
    let calls = fs.calls().since(before);
    assert_eq!(calls.total(), calls.attributes, "it is asked for attributes alone");
    calls.attributes
}

#[test]
fn force_asks_the_file_system_and_dont_does_not() {
    let (fs, context) = world();
    context.stat("/file").unwrap();
    // Without the engine's knowledge.
    fs.chmod("/file", 0o600).unwrap();
    fs.write("/file", 0, b"longer").unwrap();
    let before = fs.calls();
    let stat = |how| context.fstatat(At::Cwd, "/file", how).map(|found| (found.mode, found.size));
    assert_eq!(stat(NONE), Ok((0o644, 4)));
    assert_eq!(stat(DONT), Ok((0o644, 4)));
    assert_eq!(asked(&fs, &before), 0);
    assert_eq!(stat(FORCE), Ok((0o600, 6)));
    assert_eq!(asked(&fs, &before), 1);
    assert_eq!(stat(NONE), Ok((0o600, 6)), "the answer is kept");
    assert_eq!(stat(FORCE | DONT), Ok((0o600, 6)), "force comes first, as in `nfs_getattr`");
    assert_eq!(asked(&fs, &before), 2);
    // Through a handle.
    let file = context.lookup("/file").unwrap();
    fs.chmod("/file", 0o640).unwrap();
    let through = |how| context.statx_at(&file, "", how | AtFlags::EMPTY_PATH, STATS).unwrap().attributes.mode;
    assert_eq!((through(DONT), through(NONE), through(FORCE), through(DONT)), (0o600, 0o600, 0o640, 0o640));
    // The caches alone.
    let cached = context.cached();
    assert_eq!(cached.fstatat(At::Cwd, "/file", FORCE), Err(Errno::EAGAIN));
    assert_eq!(cached.missing(), None);
    assert_eq!(cached.fstatat(At::Cwd, "/absent", FORCE), Err(Errno::EAGAIN));
    assert!(cached.missing().is_some(), "a name is missing");
    assert_eq!(context.stat("/absent"), Err(Errno::ENOENT));
    assert_eq!(cached.fstatat(At::Cwd, "/absent", FORCE), Err(Errno::ENOENT));
    assert_eq!(cached.fstatat(&file, "", FORCE | AtFlags::EMPTY_PATH), Err(Errno::EAGAIN));
    assert_eq!(cached.fstatat(&file, "", AtFlags::NO_AUTOMOUNT | AtFlags::EMPTY_PATH).unwrap().mode, 0o640);
    assert_eq!(cached.statx_at(&file, "", DONT | AtFlags::EMPTY_PATH, STATS).unwrap().attributes.mode, 0o640);
    let only_cached = context.with_resolve(Resolve::CACHED).unwrap();
    assert_eq!(only_cached.fstatat(At::Cwd, "/file", FORCE), Err(Errno::EAGAIN));
    assert_eq!(only_cached.fstatat(At::Cwd, "/file", DONT).unwrap().mode, 0o640);
    assert_eq!(only_cached.details("/file", STATS).map(drop), Err(Errno::EAGAIN));
}

/// Checks that what is out of date comes without its bits, also where nothing is asked.
#[test]
fn dont_names_what_is_up_to_date() {
    let (fs, context) = world();
    let file = context.open("/file", OpenFlags::WRITE).unwrap();
    context.stat("/file").unwrap();
    file.write(b"longer than before").unwrap();
    let before = fs.calls();
    let kept = StatxMask::TYPE | StatxMask::MODE | StatxMask::UID | StatxMask::GID;
    let of_handle = || context.statx_at(file.handle(), "", DONT | AtFlags::EMPTY_PATH, STATS).unwrap();
    for found in [context.statx_at(At::Cwd, "/file", DONT, STATS).unwrap(), of_handle()] {
        assert_eq!((found.mask, found.attributes.mode), (kept | StatxMask::MNT_ID, 0o644));
    }
    assert_eq!(fs.calls().since(&before).total(), 0);
    assert_eq!(context.statx("/file", STATS).unwrap().attributes.size, 18);
    let found = context.statx_at(At::Cwd, "/file", DONT, STATS | StatxMask::MNT_ID_UNIQUE).unwrap();
    assert_eq!(found.mask, STATS | StatxMask::BTIME | StatxMask::MNT_ID_UNIQUE);
    assert_eq!(found.attributes.size, 18);
    assert_eq!(of_handle().attributes.size, 18);
    // A name that is not cached is looked up, as with any other flag.
    fs.file("/other", 0o604).unwrap();
    assert_eq!(context.fstatat(At::Cwd, "/other", DONT).unwrap().mode, 0o604);
}

/// A file system that cannot always say what its one file is.
struct Flaky(Arc<Mutex<Result<Attributes, Errno>>>);

impl FileSystem for Flaky {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(0), Attributes::new(FileType::Directory, 0o755)))
    }

    fn lookup(&self, _: &Directory<'_>, _: Name<'_>) -> Result<Option<Node>, Errno> {
        Ok(Some(Node::new(NodeKey(1), self.attributes(NodeKey(1))?)))
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        if node == NodeKey(0) { Ok(Attributes::new(FileType::Directory, 0o755)) } else { *self.0.lock().unwrap() }
    }

    fn details(&self, _: NodeKey, wanted: StatxMask) -> Result<Details, Errno> {
        let one = self.0.lock().unwrap().map(|attributes| attributes.size)?;
        let cookie = Details::default().with_change(ChangeCookie::Unordered(one));
        // More than what is wanted, which is left out.
        Ok(if wanted == StatxMask::SUBVOL { cookie.with_subvolume(5) } else { cookie })
    }
}

#[test]
fn dont_names_the_type_alone_where_all_is_unknown() {
    let state = Arc::new(Mutex::new(Ok(Attributes::new(FileType::Regular, 0o640))));
    let vfs = Vfs::builder().build(Flaky(Arc::clone(&state))).unwrap();
    let context = vfs.context(Credentials::root());
    let file = context.lookup("/file").unwrap();
    *state.lock().unwrap() = Err(Errno::EIO);
    vfs.invalidate_attributes(&file).unwrap();
    let found = context.statx_at(At::Cwd, "/file", DONT, STATS).unwrap();
    assert_eq!(found.mask - StatxMask::MNT_ID, StatxMask::TYPE);
    assert_eq!(context.statx_at(At::Cwd, "/file", FORCE, STATS), Err(Errno::EIO));
    *state.lock().unwrap() = Ok(Attributes::new(FileType::Regular, 0o604).with_size(7));
    assert_eq!(context.statx_at(At::Cwd, "/file", FORCE, STATS).unwrap().attributes.mode, 0o604);
    // What was not asked for is not there.
    let (found, details) = context.details("/file", StatxMask::SUBVOL).unwrap();
    assert_eq!((details.change, details.subvolume), (None, Some(5)));
    assert_eq!(found.mask & (StatxMask::SUBVOL | StatxMask::CHANGE_COOKIE), StatxMask::SUBVOL);
    // With a cookie come attributes that are no older than it.
    *state.lock().unwrap() = Ok(Attributes::new(FileType::Regular, 0o604).with_size(9));
    let (found, details) = context.details("/file", StatxMask::CHANGE_COOKIE).unwrap();
    assert_eq!((found.attributes.size, details.change), (9, Some(ChangeCookie::Unordered(9))));
    let (found, details) = context.details_at(At::Cwd, "/file", DONT, StatxMask::CHANGE_COOKIE).unwrap();
    assert_eq!((found.attributes.size, details), (9, Details::default()));
    let (found, details) = context.details("/file", StatxMask::CTIME).unwrap();
    assert_eq!((found.attributes.size, details), (9, Details::default()));
    *state.lock().unwrap() = Err(Errno::EIO);
    assert_eq!(context.details("/file", StatxMask::CHANGE_COOKIE).map(drop), Err(Errno::EIO));
    assert_eq!(context.details("/file", StatxMask::from_bits_retain(1 << 31)).map(drop), Err(Errno::EINVAL));
}

/// A file system that reads details and attributes of its one file at once.
struct Together {
    now: Mutex<Attributes>,
    asked: AtomicU64,
    /// What is done when the details were read, and are not returned yet.
    meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl FileSystem for Together {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(0), Attributes::new(FileType::Directory, 0o755)))
    }

    fn lookup(&self, _: &Directory<'_>, _: Name<'_>) -> Result<Option<Node>, Errno> {
        Ok(Some(Node::new(NodeKey(1), *self.now.lock().unwrap())))
    }

    fn attributes(&self, _: NodeKey) -> Result<Attributes, Errno> {
        self.asked.fetch_add(1, Relaxed);
        Ok(*self.now.lock().unwrap())
    }

    fn details(&self, _: NodeKey, _: StatxMask) -> Result<Details, Errno> {
        let now = *self.now.lock().unwrap();
        if let Some(change) = self.meanwhile.lock().unwrap().take() {
            change();
        }
        Ok(Details::default().with_change(ChangeCookie::Unordered(now.size)).with_attributes(now))
    }
}

#[test]
fn attributes_that_come_with_details_are_kept_and_not_asked_for() {
    let of_size = |size| Attributes::new(FileType::Regular, 0o604).with_size(size);
    let fs = Together { now: Mutex::new(of_size(7)), asked: AtomicU64::new(0), meanwhile: Mutex::default() };
    let fs = Arc::new(fs);
    let vfs = Vfs::builder().build(Arc::clone(&fs)).unwrap();
    let context = vfs.context(Credentials::root());
    let file = context.lookup("/file").unwrap();
    *fs.now.lock().unwrap() = of_size(9);
    assert_eq!(context.stat("/file").unwrap().size, 7, "what is cached");
    let ask = || {
        let (found, details) = context.details("/file", STATS | StatxMask::CHANGE_COOKIE).unwrap();
        (found.attributes.size, details)
    };
    let cookie = |number| Details::default().with_change(ChangeCookie::Unordered(number));
    assert_eq!(ask(), (9, cookie(9)));
    assert_eq!((context.stat("/file").unwrap().size, fs.asked.load(Relaxed)), (9, 0));
    // They may be old if the node was changed meanwhile.
    let (changed, vfs_then, file_then) = (Arc::clone(&fs), vfs.clone(), file.clone());
    *fs.meanwhile.lock().unwrap() = Some(Box::new(move || {
        *changed.now.lock().unwrap() = of_size(11);
        vfs_then.invalidate_attributes(&file_then).unwrap();
    }));
    assert_eq!(ask(), (11, cookie(9)));
    assert_eq!((context.stat("/file").unwrap().size, fs.asked.load(Relaxed)), (11, 1));
}

/// A file system may pass on what a host says, where another mount begins at the node.
#[test]
fn the_root_of_a_mount_is_not_one_of_the_nodes_attributes() {
    let mut told = Attributes::new(FileType::Regular, 0o640);
    (told.flags, told.flags_mask) = (StatxFlags::MOUNT_ROOT, StatxFlags::MOUNT_ROOT | StatxFlags::APPEND);
    let vfs = Vfs::builder().build(Flaky(Arc::new(Mutex::new(Ok(told))))).unwrap();
    let context = vfs.context(Credentials::root());
    let file = context.lookup("/file").unwrap();
    for _ in ["from the lookup", "asked for again"] {
        for flags in [NONE, DONT] {
            let found = context.fstatat(At::Cwd, "/file", flags).unwrap();
            assert_eq!((found.flags, found.flags_mask), (StatxFlags::empty(), StatxFlags::APPEND));
            let found = context.statx_at(At::Cwd, "/file", flags, STATS).unwrap().attributes;
            assert_eq!((found.flags, found.flags_mask), (StatxFlags::empty(), told.flags_mask));
            assert_eq!(file.attributes().unwrap().flags_mask, StatxFlags::APPEND);
        }
        vfs.invalidate_attributes(&file).unwrap();
    }
}

/// Checks that each change of a node moves its cookie, on a clock that stands still, and that
/// nothing else does.
#[test]
fn a_cookie_moves_with_each_change() {
    let fs = MemFs::with(Options::default().clock(|| Timestamp { seconds: 1000, nanoseconds: 999_999_990 }));
    let context = Vfs::builder().budget(1 << 20).build(fs).unwrap().context(Credentials::root());
    context.mkdir("/d", 0o755).unwrap();
    context.write("/d/f", "data").unwrap();
    let file = context.open("/d/f", OpenFlags::READ | OpenFlags::WRITE).unwrap();
    let cookie = |of: &str| match context.details(of, StatxMask::CHANGE_COOKIE).unwrap() {
        (found, Details { change: Some(ChangeCookie::Monotonic(number)), .. }) => {
            assert!(found.attributes.change_attribute() >= number);
            number
        }
        other => panic!("no cookie: {other:?}"),
    };
    let moves = |of: &str, what: &str, change: &dyn Fn()| {
        let before = cookie(of);
        assert_eq!(cookie(of), before, "{what}: nothing has changed yet");
        change();
        assert!(cookie(of) > before, "{what}");
    };
    moves("/d/f", "write", &|| file.write_at(b"D", 0).map(drop).unwrap());
    moves("/d/f", "truncate", &|| context.truncate("/d/f", 2).unwrap());
    moves("/d/f", "chmod", &|| context.chmod("/d/f", 0o4755).unwrap());
    moves("/d/f", "chown", &|| context.chown("/d/f", Some(5), None).unwrap());
    moves("/d/f", "utimens", &|| file.set_times(SetTime::Keep, SetTime::Now).unwrap());
    moves("/d/f", "link", &|| context.linkat(At::Cwd, "/d/f", At::Cwd, "/g", LinkFlags::empty()).unwrap());
    moves("/d/f", "rename", &|| context.rename("/g", "/h").unwrap());
    moves("/d/f", "unlink", &|| context.unlink("/h").unwrap());
    moves("/d/f", "setxattr", &|| context.setxattr("/d/f", "user.a", "b", XattrFlags::empty()).unwrap());
    moves("/d/f", "removexattr", &|| context.removexattr("/d/f", "user.a").unwrap());
    moves("/d/f", "flags", &|| context.set_inode_flags("/d/f", InodeFlags::NODUMP).unwrap());
    moves("/d", "mknod", &|| context.mknod("/d/n", NewKind::Fifo, 0o600).unwrap());
    moves("/d", "mkdir", &|| context.mkdir("/d/sub", 0o700).unwrap());
    moves("/d", "rmdir", &|| context.rmdir("/d/sub").unwrap());
    moves("/d", "rename", &|| context.rename("/d/n", "/d/m").unwrap());
    // A tmpfs leaves the times of an empty file whose size is set to what it is, also where it
    // loses bits by that.
    context.write("/d/empty", "").unwrap();
    context.chmod("/d/empty", 0o4755).unwrap();
    let user = Credentials::user(5, 5, &[]);
    context.chown("/d/empty", Some(5), Some(5)).unwrap();
    context.chmod("/d/empty", 0o4755).unwrap();
    let of_user = context.vfs().context(user);
    moves("/d/empty", "a lost bit", &|| {
        of_user.truncate("/d/empty", 0).unwrap();
        assert_eq!(context.stat("/d/empty").unwrap().mode, 0o755);
    });
    let before = cookie("/d/empty");
    of_user.truncate("/d/empty", 0).unwrap();
    file.read_at(&mut [0; 1], 0).unwrap();
    context.read_dir("/d").unwrap().count();
    assert_eq!(cookie("/d/empty"), before);
}

#[test]
fn generations_are_those_of_nodes() {
    let (_, context) = world();
    let first = context.generation("/file").unwrap();
    let file = context.open("/file", OpenFlags::READ).unwrap();
    assert_eq!((file.generation(), context.generation_at(file.handle(), "", AtFlags::EMPTY_PATH)), (Ok(first), Ok(first)));
    let place = context.open("/file", OpenFlags::PATH).unwrap();
    assert_eq!((place.generation(), place.set_generation(1)), (Err(Errno::EBADF), Err(Errno::EBADF)));
    context.symlink("file", "/link").unwrap();
    assert_eq!(context.generation("/link"), Ok(first));
    assert_eq!(context.generation_at(At::Cwd, "/link", AtFlags::SYMLINK_NOFOLLOW), Err(Errno::ENOTTY));
    assert_eq!(context.generation_at(At::Cwd, "/file", AtFlags::EACCESS), Err(Errno::EINVAL));
    assert_eq!(context.generation("/absent"), Err(Errno::ENOENT));
    // The next node under the same number has another one.
    let ino = context.stat("/file").unwrap().ino;
    drop((file, place));
    context.unlink("/file").unwrap();
    let reused = (0..100).find(|i| {
        context.write(format!("/{i}"), "").unwrap();
        context.stat(format!("/{i}")).unwrap().ino == ino
    });
    if let Some(i) = reused {
        assert_ne!(context.generation(format!("/{i}")), Ok(first));
    }
}

/// A file system that sets generations. Rows of ext4 without checksums of metadata, Linux 6.18.
struct Generations(MemFs, std::sync::Mutex<u32>);

impl FileSystem for Generations {
    fn root(&self) -> Result<Node, Errno> {
        self.0.root()
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        self.0.lookup(dir, name)
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        self.0.attributes(node)
    }

    fn open(&self, node: NodeKey, what_for: pathwalk::OpenFor) -> Result<Box<dyn pathwalk::OpenFile>, Errno> {
        self.0.open(node, what_for)
    }

    fn generation(&self, _: NodeKey) -> Result<u32, Errno> {
        Ok(*self.1.lock().unwrap())
    }

    fn set_generation(&self, node: NodeKey, to: u32) -> Result<Attributes, Errno> {
        *self.1.lock().unwrap() = to;
        self.0.set_attributes(node, &pathwalk::SetAttributes::default())
    }

    fn forget(&self, node: NodeKey) {
        self.0.forget(node);
    }
}

#[test]
fn the_owner_sets_a_generation() {
    let fs = MemFs::new();
    fs.file("/file", 0o666).unwrap();
    fs.set_flags("/file", pathwalk::StatxFlags::IMMUTABLE).unwrap();
    let vfs = Vfs::builder().build(Generations(fs, 7.into())).unwrap();
    let context = vfs.context(Credentials::root());
    let file = context.open("/file", OpenFlags::READ).unwrap();
    let before = context.stat("/file").unwrap().ctime;
    while Timestamp::now().seconds == before.seconds && Timestamp::now().nanoseconds < before.nanoseconds + 10_000_000 {}
    assert_eq!((file.set_generation(77), file.generation()), (Ok(()), Ok(77)), "of an immutable file, too");
    assert!(context.stat("/file").unwrap().ctime > before);
    let user = Credentials::user(1000, 1000, &[]);
    assert_eq!((file.by(&user).set_generation(78), file.generation()), (Err(Errno::EPERM), Ok(77)));
    context.remount("/", MountFlags::READ_ONLY).unwrap();
    assert_eq!((file.set_generation(79), file.by(&user).set_generation(79)), (Err(Errno::EROFS), Err(Errno::EPERM)));
}
