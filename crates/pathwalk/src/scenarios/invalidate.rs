//! The file system changes by itself and says so: once that has returned, no walk answers as before.

use super::explore;
use super::fs::ROOT;
use super::world::{DIRECTORY, FILE, Hash, World, part};
use crate::Errno;

fn world(hash: Hash) -> World {
    World::new(hash, |fs| {
        let dir = fs.plain(ROOT, "dir", DIRECTORY);
        fs.plain(dir, "file", FILE);
        fs.plain(ROOT, "file", FILE);
    })
}

#[test]
fn a_name_that_is_gone_and_comes_back() {
    explore(|hash| {
        let world = world(hash);
        let walkers = [(); 2].map(|()| world.spawn(|world| [(); 2].map(|()| world.exists("/file"))));
        let root = world.root();
        world.fs.take_name(ROOT, "file");
        world.vfs.invalidate(&root, part("file")).unwrap();
        assert_eq!(world.exists("/file"), Err(Errno::ENOENT));
        world.fs.plain(ROOT, "file", FILE);
        world.vfs.invalidate(&root, part("file")).unwrap();
        assert_eq!(world.exists("/file"), Ok(()));
        drop(root);
        for walker in walkers {
            assert!(walker.join().unwrap().iter().all(|answer| [Ok(()), Err(Errno::ENOENT)].contains(answer)));
        }
        assert_eq!(world.exists("/file"), Ok(()));
        world.end();
    });
}

#[test]
fn what_is_below_a_name() {
    explore(|hash| {
        let world = world(hash);
        let walker = world.spawn(|world| _ = world.exists("/dir/file"));
        // Pins the directory meanwhile, and goes on from it.
        let inside = world.spawn(|world| _ = world.user().lookup("/dir").map(|dir| dir.path()));
        world.fs.take_name(2, "file");
        world.vfs.invalidate(&world.root(), part("dir")).unwrap();
        assert_eq!(world.exists("/dir/file"), Err(Errno::ENOENT));
        walker.join().unwrap();
        inside.join().unwrap();
        assert_eq!(world.exists("/dir/file"), Err(Errno::ENOENT));
        world.end();
    });
}

#[test]
fn everything_twice_at_once() {
    explore(|hash| {
        let world = world(hash);
        let walker = world.spawn(|world| assert_eq!(world.exists("/dir/none"), Err(Errno::ENOENT)));
        let other = world.spawn(|world| world.vfs.invalidate_subtree(&world.root()).unwrap());
        world.fs.take_name(2, "file");
        world.vfs.invalidate_subtree(&world.root()).unwrap();
        assert_eq!(world.exists("/dir/file"), Err(Errno::ENOENT));
        walker.join().unwrap();
        other.join().unwrap();
        world.end();
    });
}
