//! File handles: the way to a node that is not cached is looked for while its directories move, are
//! evicted, or go. What is found is always the node of the handle, at a place where it was.

use super::fs::{ROOT, TestFs};
use super::world::{DIRECTORY, FILE, Hash, World, part};
use super::{explore, interrupt};
use crate::node::{NodeKey, RenameFlags};
use crate::{At, Context, Credentials, Errno, FileHandle, Handle, HandleFlags};

/// The keys of `/p/a` and `/p/a/f`.
const A: NodeKey = NodeKey(4);
const F: NodeKey = NodeKey(5);

/// Creates `/p/a/f` and `/q`.
fn fill(fs: &TestFs) {
    let p = fs.plain(ROOT, "p", DIRECTORY);
    fs.plain(ROOT, "q", DIRECTORY);
    let a = fs.plain(p, "a", DIRECTORY);
    fs.plain(a, "f", FILE);
}

fn world(hash: Hash) -> World {
    World::new(hash, fill)
}

fn root(world: &World) -> Context {
    world.vfs.context(Credentials::root())
}

/// Returns the handle of a node, none of whose names is cached any more.
fn cold(world: &World, path: &str) -> FileHandle {
    let (handle, _) = root(world).name_to_handle(path, HandleFlags::empty()).unwrap();
    world.evict(9);
    handle
}

fn find(world: &World, handle: &FileHandle) -> Result<Handle, Errno> {
    let context = root(world);
    context.lookup_by_handle(context.root(), handle)
}

/// Checks that each of two threads finds a directory that moves, while some entries are evicted,
/// and that it has one place.
fn moves_beside(hash: Hash, evicted: usize) {
    let world = world(hash);
    let handle = cold(&world, "/p/a");
    let finders = [(); 2].map(|()| {
        let handle = handle.clone();
        world.spawn(move |world| {
            let found = find(world, &handle).unwrap();
            assert_eq!(found.key(), A);
            let path = found.path().unwrap();
            assert!([&b"/p/a"[..], b"/q/a"].contains(&&path[..]), "{}", path.escape_ascii());
        })
    });
    let evictor = world.spawn(move |world| world.evict(evicted));
    root(&world).rename("/p/a", "/q/a").unwrap();
    assert_eq!(find(&world, &handle).unwrap().path().unwrap(), b"/q/a");
    finders.into_iter().chain([evictor]).for_each(|thread| thread.join().unwrap());
    assert_eq!(find(&world, &handle).unwrap().path().unwrap(), b"/q/a");
    world.end();
}

#[test]
fn a_directory_that_moves() {
    explore(|hash| moves_beside(hash, 0));
}

#[test]
fn a_directory_that_moves_and_is_evicted() {
    explore(|hash| moves_beside(hash, 3));
}

/// A directory that is held, whose name was dropped from the cache, and which moved then: its
/// former path is not believed.
#[test]
fn one_whose_name_was_dropped() {
    explore(|hash| {
        let world = world(hash);
        let handle = cold(&world, "/p/a");
        let (p, held) = (world.handle("/p"), world.handle("/p/a"));
        world.vfs.invalidate(&p, part("a")).unwrap();
        world.fs.take_name(2, "a");
        world.fs.add_name(3, "a", A.0);
        let evictor = world.spawn(|world| world.evict(2));
        assert_eq!(find(&world, &handle).unwrap().path().unwrap(), b"/q/a");
        assert_eq!(held.path().unwrap(), b"/q/a", "a directory has one place");
        evictor.join().unwrap();
        drop((p, held));
        world.end();
    });
}

/// A directory that moved without the engine, to a name that is cached as absent: the file system
/// is asked for the name again.
#[test]
fn one_that_moved_behind() {
    explore(|hash| {
        let world = world(hash);
        let handle = cold(&world, "/p/a");
        assert_eq!(world.exists("/q/b"), Err(Errno::ENOENT));
        world.fs.take_name(2, "a");
        world.fs.add_name(3, "b", A.0);
        let evictor = world.spawn(|world| world.evict(1));
        assert_eq!(find(&world, &handle).unwrap().path().unwrap(), b"/q/b");
        evictor.join().unwrap();
        world.end();
    });
}

/// Two directories that are exchanged: a name that was found leads to the other one meanwhile.
#[test]
fn two_that_are_exchanged() {
    interrupt(|hash| {
        let world = world(hash);
        let handle = cold(&world, "/p/a/f");
        let finder = world.spawn({
            let handle = handle.clone();
            move |world| {
                let found = find(world, &handle).unwrap();
                (found.key(), found.path().unwrap())
            }
        });
        root(&world).renameat(At::Cwd, "/p/a", At::Cwd, "/q", RenameFlags::EXCHANGE).unwrap();
        let (key, path) = finder.join().unwrap();
        assert_eq!(key, F);
        assert!([&b"/p/a/f"[..], b"/q/f"].contains(&&path[..]), "{}", path.escape_ascii());
        assert_eq!(find(&world, &handle).unwrap().path().unwrap(), b"/q/f");
        world.end();
    });
}

/// A file and its directory that are removed: what was found before is held, without a path, and
/// afterwards the handle is stale.
#[test]
fn one_that_is_removed() {
    explore(|hash| {
        let world = world(hash);
        let handle = cold(&world, "/p/a/f");
        let finder = world.spawn({
            let handle = handle.clone();
            move |world| find(world, &handle).map(|found| (found.key(), found.path()))
        });
        let admin = root(&world);
        let (of_dir, held) = (admin.name_to_handle("/p/a", HandleFlags::empty()).unwrap().0, world.handle("/p/a"));
        admin.unlink("/p/a/f").unwrap();
        admin.rmdir("/p/a").unwrap();
        let removed = find(&world, &of_dir).unwrap();
        assert_eq!((removed.key(), removed.path()), (A, Err(Errno::ENOENT)));
        drop((held, removed));
        match finder.join().unwrap() {
            Ok((key, path)) => {
                assert_eq!(key, F);
                assert!([Ok(b"/p/a/f".to_vec()), Err(Errno::ENOENT)].contains(&path), "{path:?}");
            }
            Err(errno) => assert_eq!(errno, Errno::ESTALE),
        }
        drop(admin);
        while crate::internals::evict(&world.vfs, 1) != 0 {}
        assert_eq!(find(&world, &handle).map(drop), Err(Errno::ESTALE));
        world.end();
    });
}
