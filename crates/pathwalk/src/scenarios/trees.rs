//! Several file systems in one cache, whose nodes have the same keys.

use std::sync::Arc;

use super::explore;
use super::fs::{ROOT, TestFs};
use super::world::{DIRECTORY, FILE, World};
use crate::{AtFlags, Credentials, DetachedTree, Errno, Handle, MountFlags};

/// Creates another file system as a detached tree; returns it, and its mount.
fn enter(world: &World, fill: impl FnOnce(&TestFs)) -> (Arc<TestFs>, DetachedTree) {
    let fs = Arc::new(TestFs::new());
    fill(&fs);
    let root = world.vfs.context(Credentials::root());
    let tree = root.new_tree(fs.clone(), MountFlags::empty()).expect("a directory is its root");
    (fs, tree)
}

fn mode(world: &World, root: &Handle, path: &str) -> Result<u16, Errno> {
    world.user().fstatat(root, path, AtFlags::empty()).map(|attributes| attributes.mode)
}

/// Checks `/d` with key 2 in two file systems: all users may search it in one, and only its owner
/// in the other.
#[test]
fn equal_keys_are_two_nodes() {
    explore(|hash| {
        let world = World::new(hash, |fs| _ = fs.plain(ROOT, "d", DIRECTORY));
        let (other, tree) = enter(&world, |fs| {
            let d = fs.add(ROOT, "d", DIRECTORY.0, 0o700);
            fs.plain(d, "f", FILE);
        });
        let root = tree.handle().clone();
        let second = root.clone();
        let walker = world.spawn(move |world| {
            assert_eq!(mode(world, &second, "d"), Ok(0o700));
            assert_eq!(mode(world, &second, "d/f"), Err(Errno::EACCES));
            world.evict(1);
        });
        assert_eq!(mode(&world, &world.root(), "d"), Ok(0o755));
        assert_eq!(mode(&world, &world.root(), "d/f"), Err(Errno::ENOENT));
        world.evict(1);
        walker.join().unwrap();
        assert_eq!((mode(&world, &root, "d"), mode(&world, &world.root(), "d")), (Ok(0o700), Ok(0o755)));
        assert_eq!((other.asked("x"), world.fs.asked("x")), (0, 0));
        assert_eq!(mode(&world, &root, "x"), Err(Errno::ENOENT));
        assert_eq!((other.asked("x"), world.fs.asked("x")), (1, 0), "each is asked for its own names");
        drop((root, tree));
        world.evict(20);
        assert_eq!(world.vfs.stats().dentries.used, 1);
        assert_eq!(other.held(), [], "what it handed out was forgotten, and by it");
        world.end();
    });
}
