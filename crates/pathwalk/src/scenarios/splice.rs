//! Directories that were moved without the engine: a lookup that finds one under its new name moves
//! its dentry there.

use super::explore;
use super::fs::{ROOT, TestFs};
use super::world::{DIRECTORY, FILE, World, part};
use crate::Errno;

/// Creates `/a/d/f` and `/b`.
fn fill(fs: &TestFs) {
    let a = fs.plain(ROOT, "a", DIRECTORY);
    fs.plain(ROOT, "b", DIRECTORY);
    let d = fs.plain(a, "d", DIRECTORY);
    fs.plain(d, "f", FILE);
}

#[test]
fn a_directory_that_somebody_holds() {
    explore(|hash| {
        let world = World::new(hash, fill);
        let d = world.handle("/a/d");
        world.exists("/a/d/f").unwrap();
        world.fs.move_name((2, "d"), (3, "e"));
        let walkers = [(); 2].map(|()| world.spawn(|world| assert_eq!(world.exists("/b/e/f"), Ok(()))));
        world.exists("/b/e").unwrap();
        assert_eq!(d.path().as_deref(), Ok(&b"/b/e"[..]));
        walkers.into_iter().for_each(|walker| walker.join().unwrap());
        assert_eq!(world.exists("/a/d"), Err(Errno::ENOENT));
        drop(d);
        world.end();
    });
}

/// Checks a directory that is found while its old name is invalidated and entries are evicted.
#[test]
fn found_and_invalidated_and_evicted() {
    explore(|hash| {
        let world = World::new(hash, fill);
        world.exists("/a/d/f").unwrap();
        world.fs.move_name((2, "d"), (3, "d"));
        let finder = world.spawn(|world| assert_eq!(world.exists("/b/d/f"), Ok(())));
        let evictor = world.spawn(|world| world.evict(3));
        world.vfs.invalidate(&world.handle("/a"), part("d")).unwrap();
        assert_eq!((world.exists("/a/d"), world.exists("/b/d")), (Err(Errno::ENOENT), Ok(())));
        finder.join().unwrap();
        evictor.join().unwrap();
        world.end();
    });
}

/// Checks two directories that swapped places: each is now where the other's dentry was.
#[test]
fn two_that_changed_places() {
    explore(|hash| {
        let world = World::new(hash, fill);
        let (a, d) = (world.handle("/a"), world.handle("/a/d"));
        // `/a/d` becomes `/d`, and `/a` becomes `/d/a`.
        world.fs.move_name((2, "d"), (ROOT, "d"));
        world.fs.move_name((ROOT, "a"), (4, "a"));
        let walker = world.spawn(|world| _ = world.exists("/d/a"));
        world.vfs.invalidate_subtree(&world.root()).unwrap();
        assert_eq!(world.exists("/d/f"), Ok(()));
        walker.join().unwrap();
        assert_eq!(world.exists("/d/a"), Ok(()));
        assert_eq!((d.path().as_deref(), a.path().as_deref()), (Ok(&b"/d"[..]), Ok(&b"/d/a"[..])));
        drop((a, d));
        world.end();
    });
}
