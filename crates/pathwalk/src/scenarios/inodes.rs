//! An inode that is found, freed and made again by its two names: there is one at a time, and the
//! file system's counts are right.

use super::explore;
use super::fs::{ROOT, TestFs};
use super::world::{FILE, World, part};
use crate::{Errno, internals};

/// Creates `/one` and `/two`, two names of one inode.
fn fill(fs: &TestFs) {
    let file = fs.plain(ROOT, "one", FILE);
    fs.add_name(ROOT, "two", file);
}

#[test]
fn found_beside_freed() {
    explore(|hash| {
        let world = World::new(hash, fill);
        let other = world.spawn(|world| {
            for _ in 0..2 {
                assert_eq!(world.ino("/two"), Ok(2));
                world.evict(1);
            }
        });
        for _ in 0..2 {
            assert_eq!(world.ino("/one"), Ok(2));
            world.evict(1);
        }
        other.join().unwrap();
        world.end();
    });
}

/// Checks a name that is unlinked, which frees the inode at once, while the other name is looked
/// up.
#[test]
fn the_last_name_but_one_goes() {
    explore(|hash| {
        let world = World::new(hash, fill);
        let other = world.spawn(|world| assert_eq!(world.ino("/two"), Ok(2)));
        let held = world.spawn(|world| _ = world.user().lookup("/one").map(|one| one.attributes().unwrap().ino));
        world.unlink(&world.root(), "one").unwrap();
        other.join().unwrap();
        held.join().unwrap();
        assert_eq!((world.ino("/one"), world.ino("/two")), (Err(Errno::ENOENT), Ok(2)));
        world.end();
    });
}

/// Checks a name that is linked while another is unlinked.
#[test]
fn a_name_comes_and_another_goes() {
    explore(|hash| {
        let world = World::new(hash, fill);
        let one = world.handle("/one");
        let other = world.spawn(|world| world.unlink(&world.root(), "one").unwrap());
        let walker = world.spawn(|world| [Ok(2), Err(Errno::ENOENT)].contains(&world.ino("/three")));
        internals::link(&one, &world.root(), part("three")).unwrap();
        other.join().unwrap();
        assert!(walker.join().unwrap());
        assert_eq!((world.ino("/one"), world.ino("/three")), (Err(Errno::ENOENT), Ok(2)));
        drop(one);
        world.end();
    });
}
