//! Random programs by the kernel on a tmpfs, watched by `inotify(7)`, and by the engine, watched by
//! a subscription: the same events in the same order. `PATHWALK_EVENT_PROGRAMS=10000` for more.
//!
//! A subscription is to all below a directory, and an inotify watch to one directory. So the
//! programs have the root and two directories that are never removed or moved, each with a watch.
//! Events of the directories themselves, which have no name, are left out. Both merge equal events
//! in a row, but the kernel does so for each watch in its own queue, so repeated ones are merged
//! here once more.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use pathwalk::{
    At, AtFlags, Context, Credentials, Errno, Event, FileType, NewKind, OpenFlags, RenameFlags, SetTime, Vfs, XattrFlags,
};
use pathwalk_memfs::MemFs;
use pathwalk_tests::skipped;

const DIRS: [&str; 3] = ["", "p", "q"];
const NAMES: [&str; 3] = ["a", "b", "c"];

/// One operation, on names below the root.
#[derive(Clone, Debug)]
enum Op {
    Mkdir(String),
    Create(String),
    Symlink(String),
    Fifo(String),
    Link(String, String),
    Unlink(String),
    Rmdir(String),
    Rename(String, String, RenameFlags),
    Chmod(String, u16),
    Chown(String),
    Times(String, bool, bool),
    Truncate(String, u64),
    Write(String),
    WriteTruncating(String),
    SetXattr(String),
    RemoveXattr(String),
}

fn draw() -> Op {
    let path = || {
        let (dir, name) = (DIRS[fastrand::usize(..3)], NAMES[fastrand::usize(..3)]);
        if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
    };
    match fastrand::u32(..20) {
        0 | 1 => Op::Mkdir(path()),
        2 | 3 => Op::Create(path()),
        4 => Op::Symlink(path()),
        5 => Op::Fifo(path()),
        6 => Op::Link(path(), path()),
        7 => Op::Unlink(path()),
        8 => Op::Rmdir(path()),
        9..=11 => {
            let how = [RenameFlags::empty(), RenameFlags::empty(), RenameFlags::NOREPLACE, RenameFlags::EXCHANGE];
            Op::Rename(path(), path(), how[fastrand::usize(..4)])
        }
        12 => Op::Chmod(path(), [0o600, 0o644, 0o4755][fastrand::usize(..3)]),
        13 => Op::Chown(path()),
        14 => Op::Times(path(), fastrand::bool(), fastrand::bool()),
        15 => Op::Truncate(path(), fastrand::u64(..9)),
        16 => Op::Write(path()),
        17 => Op::WriteTruncating(path()),
        18 => Op::SetXattr(path()),
        _ => Op::RemoveXattr(path()),
    }
}

fn by_engine(context: &Context, op: &Op) -> Result<(), Errno> {
    let write = |path: &str, flags| {
        context.open(path, OpenFlags::WRITE | OpenFlags::NONBLOCK | flags).and_then(|file| file.write(b"x").map(drop))
    };
    match op {
        Op::Mkdir(path) => context.mkdir(path, 0o755),
        Op::Create(path) => context.mknod(path, NewKind::Regular, 0o644),
        Op::Symlink(path) => context.symlink("nowhere", path),
        Op::Fifo(path) => context.mknod(path, NewKind::Fifo, 0o644),
        Op::Link(from, to) => context.link(from, to),
        Op::Unlink(path) => context.unlink(path),
        Op::Rmdir(path) => context.rmdir(path),
        Op::Rename(from, to, how) => context.renameat(At::Cwd, from, At::Cwd, to, *how),
        Op::Chmod(path, mode) => context.chmod(path, *mode),
        Op::Chown(path) => context.chown(path, Some(1), Some(1)),
        Op::Times(path, atime, mtime) => {
            let time = |is_set| if is_set { SetTime::Now } else { SetTime::Keep };
            context.utimensat(At::Cwd, path, time(*atime), time(*mtime), AtFlags::SYMLINK_NOFOLLOW)
        }
        Op::Truncate(path, size) => context.truncate(path, *size),
        Op::Write(path) => write(path, OpenFlags::empty()),
        Op::WriteTruncating(path) => write(path, OpenFlags::TRUNCATE),
        Op::SetXattr(path) => context.setxattr(path, "user.x", b"1", XattrFlags::empty()),
        Op::RemoveXattr(path) => context.removexattr(path, "user.x"),
    }
}

fn by_kernel(root: &Path, op: &Op) -> Result<(), Errno> {
    let at = |path: &str| CString::new(root.join(path).as_os_str().as_bytes()).expect("no NUL");
    let done = |result: libc::c_int| if result < 0 { Err(last_error()) } else { Ok(()) };
    let write = |path: &str, flags: libc::c_int| {
        // SAFETY: the path ends in a NUL; the descriptor is closed once.
        unsafe {
            let file = libc::open(at(path).as_ptr(), libc::O_WRONLY | libc::O_NONBLOCK | flags);
            if file < 0 {
                return Err(last_error());
            }
            let written = libc::write(file, b"x".as_ptr().cast(), 1);
            let result = if written < 0 { Err(last_error()) } else { Ok(()) };
            libc::close(file);
            result
        }
    };
    let name = c"user.x".as_ptr();
    // SAFETY: all paths end in a NUL and outlive the calls.
    unsafe {
        match op {
            Op::Mkdir(path) => done(libc::mkdir(at(path).as_ptr(), 0o755)),
            Op::Create(path) => done(libc::mknod(at(path).as_ptr(), libc::S_IFREG | 0o644, 0)),
            Op::Symlink(path) => done(libc::symlink(c"nowhere".as_ptr(), at(path).as_ptr())),
            Op::Fifo(path) => done(libc::mknod(at(path).as_ptr(), libc::S_IFIFO | 0o644, 0)),
            Op::Link(from, to) => done(libc::link(at(from).as_ptr(), at(to).as_ptr())),
            Op::Unlink(path) => done(libc::unlink(at(path).as_ptr())),
            Op::Rmdir(path) => done(libc::rmdir(at(path).as_ptr())),
            Op::Rename(from, to, how) => {
                let (from, to) = (at(from), at(to));
                done(libc::renameat2(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), how.bits()))
            }
            Op::Chmod(path, mode) => done(libc::chmod(at(path).as_ptr(), (*mode).into())),
            Op::Chown(path) => done(libc::chown(at(path).as_ptr(), 1, 1)),
            Op::Times(path, atime, mtime) => {
                let time =
                    |is_set| libc::timespec { tv_sec: 0, tv_nsec: if is_set { libc::UTIME_NOW } else { libc::UTIME_OMIT } };
                let times = [time(*atime), time(*mtime)];
                done(libc::utimensat(libc::AT_FDCWD, at(path).as_ptr(), times.as_ptr(), libc::AT_SYMLINK_NOFOLLOW))
            }
            Op::Truncate(path, size) => done(libc::truncate(at(path).as_ptr(), *size as libc::off_t)),
            Op::Write(path) => write(path, 0),
            Op::WriteTruncating(path) => write(path, libc::O_TRUNC),
            Op::SetXattr(path) => done(libc::setxattr(at(path).as_ptr(), name, b"1".as_ptr().cast(), 1, 0)),
            Op::RemoveXattr(path) => done(libc::removexattr(at(path).as_ptr(), name)),
        }
    }
}

fn last_error() -> Errno {
    Errno::from(std::io::Error::last_os_error())
}

/// What both sides tell, in one form.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Told {
    Created(String, bool),
    Removed(String, bool),
    Renamed(Option<String>, Option<String>, bool),
    Attributes(String, bool),
    Content(String),
    Lost,
}

fn of_engine(event: &Event) -> Told {
    let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    let is_dir = |kind: &FileType| *kind == FileType::Directory;
    match event {
        Event::Created { path, kind } => Told::Created(text(path), is_dir(kind)),
        Event::Removed { path, kind } => Told::Removed(text(path), is_dir(kind)),
        Event::Renamed { from, to, kind, .. } => Told::Renamed(from.as_deref().map(text), to.as_deref().map(text), is_dir(kind)),
        Event::Attributes { path, kind } => Told::Attributes(text(path), is_dir(kind)),
        Event::Content { path } => Told::Content(text(path)),
        _ => Told::Lost,
    }
}

/// Watches of the kernel.
struct Inotify {
    file: fs::File,
    dirs: HashMap<i32, &'static str>,
}

impl Inotify {
    fn new(root: &Path) -> Inotify {
        use std::os::fd::FromRawFd;
        // SAFETY: the descriptor is new.
        let file = unsafe { fs::File::from_raw_fd(libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC)) };
        let mask = libc::IN_CREATE | libc::IN_DELETE | libc::IN_MOVE | libc::IN_ATTRIB | libc::IN_MODIFY | libc::IN_EXCL_UNLINK;
        let watch = |dir: &'static str| {
            let path = CString::new(root.join(dir).as_os_str().as_bytes()).expect("no NUL");
            // SAFETY: the path ends in a NUL.
            let watch = unsafe { libc::inotify_add_watch(file.as_raw_fd(), path.as_ptr(), mask) };
            assert!(watch >= 0, "{}", last_error());
            (watch, dir)
        };
        let dirs = DIRS.into_iter().map(watch).collect();
        Inotify { file, dirs }
    }

    fn take(&mut self) -> Vec<Told> {
        use std::io::Read;
        let (mut all, mut moved): (Vec<Told>, Option<(u32, String)>) = (Vec::new(), None);
        let mut buffer = [0; 1 << 14];
        while let Ok(length) = self.file.read(&mut buffer) {
            let mut rest = &buffer[..length];
            while rest.len() >= 16 {
                let word = |at: usize| u32::from_ne_bytes(rest[at..at + 4].try_into().expect("four bytes"));
                let (watch, mask, cookie, length) = (word(0) as i32, word(4), word(8), word(12) as usize);
                let name = rest[16..16 + length].split(|byte| *byte == 0).next().unwrap_or_default();
                rest = &rest[16 + length..];
                if name.is_empty() {
                    continue;
                }
                let (dir, name) = (self.dirs[&watch], String::from_utf8_lossy(name));
                let path = if dir.is_empty() { name.into_owned() } else { format!("{dir}/{name}") };
                let is_dir = mask & libc::IN_ISDIR != 0;
                if mask & libc::IN_MOVED_FROM != 0 {
                    moved = Some((cookie, path));
                    continue;
                }
                if mask & libc::IN_MOVED_TO != 0 {
                    let from = moved.take().filter(|(of, _)| *of == cookie).map(|(_, path)| path);
                    all.push(Told::Renamed(from, Some(path), is_dir));
                    continue;
                }
                let is = |bit: u32| mask & bit != 0;
                all.extend(is(libc::IN_CREATE).then(|| Told::Created(path.clone(), is_dir)));
                all.extend(is(libc::IN_DELETE).then(|| Told::Removed(path.clone(), is_dir)));
                all.extend(is(libc::IN_MODIFY).then(|| Told::Content(path.clone())));
                all.extend(is(libc::IN_ATTRIB).then(|| Told::Attributes(path.clone(), is_dir)));
                all.extend(is(libc::IN_Q_OVERFLOW).then_some(Told::Lost));
            }
        }
        all.dedup();
        all
    }
}

#[test]
fn the_same_events_as_the_kernels() {
    let programs: u64 = std::env::var("PATHWALK_EVENT_PROGRAMS").map_or(300, |text| text.parse().expect("a number"));
    let Ok(tmpfs) = tempfile::tempdir_in("/dev/shm") else { return skipped("events", "there is no tmpfs at /dev/shm") };
    // SAFETY: no memory is involved.
    if unsafe { libc::geteuid() } != 0 {
        return skipped("events", "the owner is changed, as root");
    }
    // SAFETY: no memory is involved.
    unsafe { libc::umask(0o022) };
    let (mut compared, mut kinds) = (0, HashMap::new());
    for seed in 0..programs {
        fastrand::seed(seed);
        let root = tmpfs.path().join(seed.to_string());
        ["", "p", "q"].iter().for_each(|dir| fs::create_dir(root.join(dir)).expect("a directory"));
        let memory = MemFs::new();
        ["p", "q"].iter().for_each(|dir| memory.mkdir(dir, 0o755).expect("a directory"));
        let context = Vfs::builder().build(memory).expect("a budget").context(Credentials::root());
        let events = context.vfs().subscribe(context.root(), 1000).expect("a directory");
        let mut inotify = Inotify::new(&root);
        let mut log = Vec::new();
        for _ in 0..40 {
            let op = draw();
            let (kernel, engine) = (by_kernel(&root, &op), by_engine(&context, &op));
            log.push(format!("{op:?}: {engine:?}"));
            assert_eq!(kernel, engine, "seed {seed}\n{}", log.join("\n"));
            let kernel = inotify.take();
            let mut engine: Vec<_> = std::iter::from_fn(|| events.try_next()).map(|event| of_engine(&event)).collect();
            engine.dedup();
            assert_eq!(engine, kernel, "engine and kernel, seed {seed}\n{}", log.join("\n"));
            compared += kernel.len();
            kernel.iter().for_each(|told| *kinds.entry(std::mem::discriminant(told)).or_insert(0) += 1);
        }
        fs::remove_dir_all(&root).expect("it is there");
    }
    assert!(kinds.len() == 5 || programs < 100, "each kind was met");
    println!("{compared} events");
}
