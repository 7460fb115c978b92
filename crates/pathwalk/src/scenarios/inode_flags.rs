//! Flags that users set, beside walks: once a change has returned, no walk answers by the flags
//! before.

use super::explore;
use super::fs::ROOT;
use super::world::{DIRECTORY, FILE, Hash, World};
use crate::{Access, Context, Credentials, Errno, InodeFlags};

const PATH: &str = "/dir/file";
const REFUSED: Result<(), Errno> = Err(Errno::EPERM);

fn world(hash: Hash) -> World {
    World::new(hash, |fs| {
        let dir = fs.plain(ROOT, "dir", DIRECTORY);
        fs.plain(dir, "file", FILE);
    })
}

fn root(world: &World) -> Context {
    world.vfs.context(Credentials::root())
}

/// Returns two answers of a walk: by the cached state, and by the file system.
fn twice(world: &World) -> [Result<(), Errno>; 2] {
    let ask = || root(world).access(PATH, Access::WRITE);
    let cached = ask();
    world.evict(4);
    [cached, ask()]
}

#[test]
fn a_node_is_immutable_once_it_is() {
    explore(|hash| {
        let world = world(hash);
        let walkers = [(); 2].map(|()| world.spawn(|world| _ = root(world).access(PATH, Access::WRITE)));
        let evictor = world.spawn(|world| world.evict(3));
        root(&world).set_inode_flags(PATH, InodeFlags::IMMUTABLE).unwrap();
        assert_eq!(root(&world).access(PATH, Access::WRITE), REFUSED);
        walkers.into_iter().chain([evictor]).for_each(|thread| thread.join().unwrap());
        assert_eq!(twice(&world), [REFUSED; 2]);
        root(&world).set_inode_flags(PATH, InodeFlags::empty()).unwrap();
        assert_eq!(twice(&world), [Ok(()); 2]);
        world.end();
    });
}

#[test]
fn two_changes_and_a_walk() {
    explore(|hash| {
        let world = world(hash);
        let walker = world.spawn(|world| _ = root(world).access(PATH, Access::WRITE));
        let other = world.spawn(|world| root(world).set_inode_flags(PATH, InodeFlags::IMMUTABLE).unwrap());
        root(&world).set_inode_flags(PATH, InodeFlags::NODUMP).unwrap();
        walker.join().unwrap();
        other.join().unwrap();
        // Whichever change came last, the cache says what the file system says.
        let said = twice(&world);
        assert_eq!(said[0], said[1]);
        world.end();
    });
}

#[test]
fn a_change_beside_chmod() {
    explore(|hash| {
        let world = world(hash);
        let other = world.spawn(|world| root(world).chmod(PATH, 0o600));
        root(&world).set_inode_flags(PATH, InodeFlags::IMMUTABLE).unwrap();
        let mode = root(&world).stat(PATH).unwrap().mode;
        let changed = other.join().unwrap();
        assert_eq!(root(&world).stat(PATH).unwrap().mode, mode, "an immutable node does not change");
        assert_eq!(changed.is_ok(), mode == 0o600);
        world.end();
    });
}

/// The owner is changed without the engine, and reported, while the flags change: what the file
/// system returned before is not kept.
#[test]
fn a_change_beside_a_report() {
    explore(|hash| {
        let world = world(hash);
        let file = world.handle(PATH);
        let other = world.spawn(|world| root(world).set_inode_flags(PATH, InodeFlags::IMMUTABLE).unwrap());
        world.fs.alter(3, |file| file.uid = 7);
        world.vfs.refresh(&file).unwrap();
        assert_eq!(file.attributes().unwrap().uid, 7);
        other.join().unwrap();
        assert_eq!(file.attributes().unwrap().uid, 7);
        assert_eq!(root(&world).access(PATH, Access::WRITE), REFUSED);
        drop(file);
        world.end();
    });
}
