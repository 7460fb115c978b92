//! File capabilities beside writes: once one is set, whether by the engine or behind it and then
//! reported, the next write removes it. A note that there is none, for which a write asked before,
//! is not made afterwards.

use super::explore;
use super::fs::ROOT;
use super::world::{FILE, Hash, World};
use crate::{Context, Credentials, Errno, Handle, OpenFlags, XattrFlags};

const CAPABILITY: &str = "security.capability";

/// A valid value, of revision 2.
const VALUE: [u8; 20] = [1, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// The key of the file.
const KEY: u128 = 2;

fn world(hash: Hash) -> World {
    World::new(hash, |fs| assert_eq!(fs.plain(ROOT, "file", FILE), KEY))
}

fn root(world: &World) -> Context {
    world.vfs.context(Credentials::root())
}

/// Writes to the file. The file system of the scenarios refuses that after the capability was
/// removed.
fn write(world: &World) {
    let file = root(world).open("/file", OpenFlags::WRITE).unwrap();
    assert_eq!(file.write(b"x"), Err(Errno::EINVAL));
}

fn has_capability(world: &World) -> bool {
    let mut found = false;
    world.fs.alter(KEY, |entry| found = entry.capability.is_some());
    found
}

fn set_behind(world: &World) {
    world.fs.alter(KEY, |entry| entry.capability = Some(VALUE.into()));
}

/// Runs a change that gives the file a capability beside two writes, and checks the next write.
fn beside_writes(hash: Hash, change: fn(&World, &Handle)) {
    let world = world(hash);
    let file = world.handle("/file");
    let writers = [(); 2].map(|()| world.spawn(write));
    change(&world, &file);
    write(&world);
    assert!(!has_capability(&world), "a write that began afterwards removed it");
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    root(&world).setxattr("/file", CAPABILITY, VALUE, XattrFlags::empty()).unwrap();
    write(&world);
    assert!(!has_capability(&world));
    drop(file);
    world.end();
}

#[test]
fn one_that_is_set() {
    explore(|hash| {
        beside_writes(hash, |world, _| root(world).setxattr("/file", CAPABILITY, VALUE, XattrFlags::empty()).unwrap());
    });
}

#[test]
fn one_that_is_reported() {
    explore(|hash| {
        beside_writes(hash, |world, file| {
            set_behind(world);
            world.vfs.refresh(file).unwrap();
        });
    });
}

#[test]
fn one_that_comes_with_an_invalidation() {
    explore(|hash| {
        beside_writes(hash, |world, _| {
            set_behind(world);
            world.vfs.invalidate_subtree(&world.root()).unwrap();
        });
    });
}

/// Checks a change of owner, which also removes it, beside a write.
#[test]
fn two_that_remove_it() {
    explore(|hash| {
        let world = world(hash);
        set_behind(&world);
        let writer = world.spawn(write);
        root(&world).chown("/file", Some(7), None).unwrap();
        assert!(!has_capability(&world));
        writer.join().unwrap();
        assert_eq!(root(&world).getxattr("/file", CAPABILITY), Err(Errno::ENODATA));
        world.end();
    });
}
