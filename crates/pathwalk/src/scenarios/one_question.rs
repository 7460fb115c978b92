//! Misses of one name by several threads: the file system is asked once.

use super::explore;
use super::fs::ROOT;
use super::world::{FILE, World};
use crate::Errno;

#[test]
fn three_miss_one_name() {
    explore(|hash| {
        let world = World::new(hash, |fs| _ = fs.plain(ROOT, "file", FILE));
        let others = [(); 2].map(|()| {
            world.spawn(|world| {
                assert_eq!(world.exists("/file"), Ok(()));
                assert_eq!(world.exists("/none"), Err(Errno::ENOENT));
            })
        });
        assert_eq!(world.exists("/none"), Err(Errno::ENOENT));
        assert_eq!(world.ino("/file"), Ok(2));
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!((world.fs.asked("file"), world.fs.asked("none")), (1, 1));
        world.end();
    });
}

/// Checks a change of a directory beside a miss in it: the file system is asked before or after the
/// change, and once.
#[test]
fn a_miss_beside_a_change() {
    explore(|hash| {
        let world = World::new(hash, |_| {});
        let other = world.spawn(|world| _ = world.exists("/new"));
        drop(world.create(&world.root(), "new").unwrap());
        assert_eq!(world.exists("/new"), Ok(()));
        other.join().unwrap();
        assert_eq!(world.fs.asked("new"), 1);
        world.end();
    });
}
