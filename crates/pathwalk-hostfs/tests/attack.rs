//! Tests of changes beside another process that moves the tree: nothing outside of the root is
//! read, listed, shown, written, removed or made, nothing waits for a pipe, and descriptors stay
//! few.
//!
//! A thread exchanges directories of the root for links to an outside directory, moves them out and
//! back, puts pipes, devices and links in the place of files, and removes the root, by the host's
//! calls alone. Beside it, threads carry out changes of all kinds through a `Vfs`, ask about nodes
//! by path and by handle, and drop what it has cached. `PATHWALK_ATTACK_SECONDS` says for how long;
//! by default for two.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{At, Context, Credentials, Errno, HandleFlags, NewKind, OpenFlags, OpenOptions, RenameFlags, Vfs, XattrFlags};
use pathwalk_hostfs::{Coherence, HostFs};
use rustix::fs::{CWD, Mode, renameat_with};

/// The owner of all that is outside.
const OUTSIDER: u32 = 4242;

/// The number of descriptors of open files that the file system may keep.
const DESCRIPTORS: usize = 4;

/// The descriptors that the process may have beside those: of its threads' calls, of nodes that
/// lost their names and are held, and of the test itself.
const BESIDE: usize = 60;

/// The names in each directory that is moved.
const NAMES: [&str; 4] = ["file", "other", "below/file", "below/new"];

fn seconds() -> u64 {
    match std::env::var("PATHWALK_ATTACK_SECONDS") {
        Ok(seconds) => seconds.parse().expect("PATHWALK_ATTACK_SECONDS is a number of seconds"),
        Err(_) => 2,
    }
}

/// The world: `root`, `outside` with the same names, and `aside` for what waits.
struct World {
    _dir: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
    aside: PathBuf,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        let at = |name| dir.path().join(name);
        let world = World { root: at("root"), outside: at("outside"), aside: at("aside"), _dir: dir };
        fs::create_dir(&world.root).unwrap();
        fs::create_dir(&world.aside).unwrap();
        filled(&world.root.join("a"), "inside");
        filled(&world.root.join("b"), "inside");
        filled(&world.outside, "secret");
        // A name and an owner that are outside alone.
        fs::write(world.outside.join("below/secret"), "secret").unwrap();
        for path in ["", "file", "other", "below", "below/file", "below/secret"] {
            // Other users than root give nothing away, and see less.
            _ = std::os::unix::fs::chown(world.outside.join(path), Some(OUTSIDER), None);
        }
        symlink(&world.outside, world.aside.join("link")).unwrap();
        world
    }
}

fn filled(dir: &Path, text: &str) {
    fs::create_dir_all(dir.join("below")).unwrap();
    ["file", "other", "below/file"].into_iter().for_each(|file| fs::write(dir.join(file), text).unwrap());
}

/// What can be seen of a node, but for its time of access.
#[derive(PartialEq, Eq, Debug)]
struct Seen {
    mode: u32,
    links: u64,
    size: u64,
    changed: (i64, i64),
    text: Vec<u8>,
}

/// Returns all that can be seen of a tree.
fn seen(dir: &Path) -> BTreeMap<PathBuf, Seen> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(path) = waiting.pop() {
        let found = fs::symlink_metadata(&path).unwrap();
        if found.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let text = if found.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        let changed = (found.ctime(), found.ctime_nsec());
        all.insert(path, Seen { mode: found.mode(), links: found.nlink(), size: found.size(), changed, text });
    }
    all
}

/// Moves the tree, by the host's calls. Each of them may fail, since others change the tree, too.
fn attack(world: &World, random: &mut fastrand::Rng) {
    let name = ["a", "b"][random.usize(..2)];
    let (place, link, aside) = (world.root.join(name), world.aside.join("link"), world.aside.join(name));
    match random.u8(..8) {
        6 if random.u8(..4) == 0 => {
            // The root itself goes, and comes back. What is made meanwhile is elsewhere.
            let gone = world.aside.join("root");
            if fs::rename(&world.root, &gone).is_ok() {
                pause(random);
                _ = fs::rename(&gone, &world.root);
            }
        }
        6 | 7 => {
            let file = place.join(NAMES[random.usize(..2)]);
            let is_inside = fs::symlink_metadata(&place).is_ok_and(|found| found.is_dir());
            if is_inside && fs::remove_file(&file).is_ok() {
                // The terminal of the process, and a device that gives without end.
                let device = rustix::fs::makedev([5, 1][random.usize(..2)], [0, 5][random.usize(..2)]);
                _ = rustix::fs::mknodat(CWD, &file, rustix::fs::FileType::CharacterDevice, Mode::RWXU, device);
            }
        }
        0 | 1 => {
            // The directory is exchanged for the link to the outside, and back.
            if renameat_with(CWD, &place, CWD, &link, rustix::fs::RenameFlags::EXCHANGE).is_ok() {
                pause(random);
                _ = renameat_with(CWD, &place, CWD, &link, rustix::fs::RenameFlags::EXCHANGE);
            }
        }
        2 => {
            if fs::rename(&place, &aside).is_ok() {
                pause(random);
                _ = fs::rename(&aside, &place);
            }
        }
        // The attacker leaves the outside alone, too.
        3..=5 if !fs::symlink_metadata(&place).is_ok_and(|found| found.is_dir()) => _ = fs::create_dir(&place),
        3 => {
            let file = place.join(NAMES[random.usize(..2)]);
            _ = fs::remove_file(&file);
            _ = rustix::fs::mknodat(CWD, &file, rustix::fs::FileType::Fifo, Mode::RWXU, 0);
        }
        _ => {
            let file = place.join("below/new");
            _ = fs::remove_file(&file);
            _ = symlink(world.outside.join("file"), &file);
        }
    }
}

fn pause(random: &mut fastrand::Rng) {
    (0..random.u8(..8)).for_each(|_| std::thread::yield_now());
}

/// Carries out one change of any kind. It may fail; what is read must not be secret.
fn change(context: &Context, random: &mut fastrand::Rng) -> Result<(), Errno> {
    let [one, two] = [0; 2].map(|_: i32| format!("/{}/{}", ["a", "b"][random.usize(..2)], NAMES[random.usize(..4)]));
    let open = |flags: OpenFlags| context.open(&one, flags | OpenFlags::NONBLOCK);
    match random.u8(..25) {
        20 => {
            let found = context.lstat(&one)?;
            assert_ne!(found.uid, OUTSIDER, "{one}");
            Ok(())
        }
        21 | 22 => {
            let dir = format!("/{}/below", ["a", "b"][random.usize(..2)]);
            let names: Vec<_> = context.read_dir(&dir)?.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
            assert!(!names.iter().any(|name| name == "secret"), "{dir}: {names:?}");
            Ok(())
        }
        23 | 24 => {
            let (handle, _) = context.name_to_handle(&one, HandleFlags::empty())?;
            std::thread::yield_now();
            let found = context.lookup_by_handle(context.root(), &handle)?;
            assert_ne!(found.attributes()?.uid, OUTSIDER, "{one}");
            let mut buffer = [0; 16];
            let opened = context.open_by_handle(context.root(), &handle, OpenFlags::READ | OpenFlags::NONBLOCK)?;
            let length = opened.read_at(&mut buffer, 0)?;
            assert!(!buffer[..length].starts_with(b"secret"), "{one}");
            Ok(())
        }
        0 => context.mknod(&one, NewKind::Regular, 0o666),
        1 => context.mkdir(&one, 0o777),
        2 => context.symlink("file", &one),
        3 => context.mknod(&one, NewKind::Fifo, 0o666),
        4 => context.unlink(&one),
        5 => context.rmdir(&one),
        6 => context.link(&one, &two),
        7 => context.rename(&one, &two).map_err(|error| error.errno()),
        8 => context.renameat(At::Cwd, &one, At::Cwd, &two, RenameFlags::EXCHANGE),
        9 => context.chmod(&one, 0o640),
        10 => context.chown(&one, Some(1), Some(1)),
        11 => context.truncate(&one, random.u64(..100)),
        12 => context.setxattr(&one, "user.mark", "inside", XattrFlags::empty()),
        13 => context.set_acl(&one, AclKind::Access, Some(&Acl::from_mode(0o600))),
        14 => open(OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE)?.write_at(b"written", 0).map(drop),
        15 => {
            let mut buffer = [0; 16];
            let length = open(OpenFlags::READ)?.read_at(&mut buffer, 0)?;
            assert!(!buffer[..length].starts_with(b"secret"), "{one}");
            Ok(())
        }
        16 => {
            let file = open(OpenFlags::WRITE)?;
            std::thread::yield_now();
            file.write_at(b"later", 2)?;
            file.set_len(9)
        }
        17 => OpenOptions::new().append(true).open(context, &one).map_err(|error| error.errno())?.write(b"end").map(drop),
        18 => context.create_dir_all(format!("{one}/x")).map_err(|error| error.errno()),
        _ => context.remove_dir_all(&one).map_err(|error| error.errno()),
    }
}

#[test]
fn nothing_outside_is_touched_while_the_tree_is_moved() {
    nothing_outside_is_touched(Coherence::Exclusive);
}

#[test]
fn nothing_outside_is_touched_where_the_tree_is_watched() {
    nothing_outside_is_touched(Coherence::Watch);
}

#[test]
fn nothing_outside_is_touched_where_answers_are_confirmed() {
    nothing_outside_is_touched(Coherence::Strict);
}

fn nothing_outside_is_touched(coherence: Coherence) {
    // The descriptors of the whole process are counted.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock();
    let (world, mut most_open) = (World::new(), 0);
    let canary = seen(&world.outside);
    let fs = HostFs::open_writable(&world.root).unwrap().with_coherence(coherence).with_most_descriptors(DESCRIPTORS);
    let vfs = Vfs::builder().budget(4 << 20).build(fs).unwrap();
    let (ends, done, failed) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = fastrand::Rng::with_seed(seed);
            while !ends.load(Ordering::Relaxed) {
                attack(&world, &mut random);
            }
        });
        for thread in 1..=2 {
            let (ends, done, failed) = (&ends, &done, &failed);
            let context = vfs.context(Credentials::root());
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed ^ thread);
                while !ends.load(Ordering::Relaxed) {
                    if random.u8(..8) == 0 {
                        _ = context.vfs().invalidate_subtree(context.root());
                    }
                    let counted = if change(&context, &mut random).is_ok() { done } else { failed };
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(seconds()) {
            std::thread::sleep(Duration::from_millis(50));
            most_open = most_open.max(fs::read_dir("/proc/self/fd").map_or(0, Iterator::count));
        }
        ends.store(true, Ordering::Relaxed);
    });
    println!("{coherence:?}: {} changes were done, and {} refused", done.load(Ordering::Relaxed), failed.load(Ordering::Relaxed));
    assert!(done.load(Ordering::Relaxed) > 0);
    assert!(most_open <= DESCRIPTORS + BESIDE, "{most_open} descriptors were open");
    assert_eq!(seen(&world.outside), canary);
}
