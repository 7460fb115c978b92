//! Creation and removal of a name beside walks: each answer was true at some instant of its walk.

use std::sync::Arc;

use super::explore;
use super::fs::ROOT;
use super::world::{DIRECTORY, FILE, World};
use crate::sync::AtomicU32;
use crate::sync::Ordering::SeqCst;
use crate::{At, Credentials, Errno, LinkFlags};

/// The phase of the changing thread: the name is there, being unlinked, gone, being created, there
/// again.
struct Phase(AtomicU32);

impl Phase {
    fn next(&self) {
        self.0.fetch_add(1, SeqCst);
    }

    /// Returns the answers that are allowed for a walk that ran between these phases.
    fn allowed(before: u32, after: u32) -> Vec<Result<(), Errno>> {
        let there = (before..=after).any(|phase| phase != 2);
        let gone = (before..=after).any(|phase| (1..=3).contains(&phase));
        [there.then_some(Ok(())), gone.then_some(Err(Errno::ENOENT))].into_iter().flatten().collect()
    }
}

fn check(hash: super::world::Hash, dir: &'static str, path: &'static str) {
    let world = World::new(hash, |fs| {
        let below = fs.plain(ROOT, "dir", DIRECTORY);
        fs.plain(ROOT, "file", FILE);
        fs.plain(below, "file", FILE);
    });
    let phase = Arc::new(Phase(AtomicU32::new(0)));
    let walkers = [(); 2].map(|()| {
        let phase = phase.clone();
        world.spawn(move |world| {
            for _ in 0..2 {
                let before = phase.0.load(SeqCst);
                let answer = world.exists(path);
                let allowed = Phase::allowed(before, phase.0.load(SeqCst));
                assert!(allowed.contains(&answer), "{answer:?}, not one of {allowed:?}");
            }
        })
    });
    let dir = world.handle(dir);
    phase.next();
    world.unlink(&dir, "file").unwrap();
    phase.next();
    assert_eq!(world.exists(path), Err(Errno::ENOENT));
    phase.next();
    drop(world.create(&dir, "file").unwrap());
    phase.next();
    assert_eq!(world.exists(path), Ok(()));
    drop(dir);
    walkers.into_iter().for_each(|walker| walker.join().unwrap());
    world.end();
}

#[test]
fn in_the_root() {
    explore(|hash| check(hash, "/", "/file"));
}

#[test]
fn below_a_directory() {
    explore(|hash| check(hash, "/dir", "/dir/file"));
}

/// Checks a directory that is removed while walks are in it: they find it empty, or gone.
#[test]
fn a_removed_directory_takes_no_names() {
    explore(|hash| {
        let world = World::new(hash, |fs| _ = fs.plain(ROOT, "dir", DIRECTORY));
        let walker = world.spawn(|world| {
            assert_eq!(world.exists("/dir/none"), Err(Errno::ENOENT));
            assert_eq!(world.exists("/dir/other"), Err(Errno::ENOENT));
        });
        let maker = world.spawn(|world| {
            let dir = world.user().lookup("/dir").ok()?;
            world.create(&dir, "new").ok().map(drop)
        });
        let root = world.root();
        let removed = world.unlink(&root, "dir");
        drop(root);
        walker.join().unwrap();
        let made = maker.join().unwrap();
        match removed {
            Ok(()) => assert_eq!((made, world.exists("/dir")), (None, Err(Errno::ENOENT))),
            Err(errno) => assert_eq!((errno, made, world.exists("/dir/new")), (Errno::ENOTEMPTY, Some(()), Ok(()))),
        }
        world.end();
    });
}

/// Checks two threads that create one name: one of them succeeds.
#[test]
fn two_make_one_name() {
    explore(|hash| {
        let world = World::new(hash, |_| {});
        let other = world.spawn(|world| world.create(&world.root(), "new").map(drop));
        let here = world.create(&world.root(), "new").map(drop);
        let both = [here, other.join().unwrap()];
        assert!(both.contains(&Ok(())) && both.contains(&Err(Errno::EEXIST)), "{both:?}");
        assert_eq!(world.exists("/new"), Ok(()));
        world.end();
    });
}

/// Checks that a thread that saw a file gone, and then saw its new name absent, does not see that
/// name appear afterwards.
#[test]
fn what_is_gone_gets_no_other_name() {
    explore(|hash| {
        // The names are in different directories: changes of one directory exclude each other.
        let world = World::new(hash, |fs| {
            let dir = fs.plain(ROOT, "dir", DIRECTORY);
            fs.plain(dir, "file", FILE);
        });
        assert_eq!(world.exists("/other"), Err(Errno::ENOENT));
        let held = world.handle("/dir/file");
        let linker = world.spawn(move |world| {
            let root = world.vfs.context(Credentials::root());
            root.linkat(&held, "", At::Cwd, "/other", LinkFlags::EMPTY_PATH)
        });
        world.unlink(&world.handle("/dir"), "file").unwrap();
        let seen = world.exists("/other");
        let linked = linker.join().unwrap();
        assert_eq!(world.exists("/other").is_ok(), linked.is_ok());
        assert!(seen.is_ok() || linked == Err(Errno::ENOENT), "{seen:?}, {linked:?}");
        world.end();
    });
}
