//! Walks that must not leave a directory, beside directories that are moved out from under them.

use super::explore;
use super::fs::{ROOT, TestFs};
use super::thread::JoinHandle;
use super::world::{DIRECTORY, FILE, World, part};
use crate::abi::Resolve;
use crate::node::RenameFlags;
use crate::{Context, Errno, Handle, internals};

/// The inode number of `/secret`.
const SECRET: u64 = 2;

/// Creates `/secret` and `/jail/a/b`; in the latter a directory, a file, and a link that leads up.
fn fill(fs: &TestFs) {
    assert_eq!(fs.plain(ROOT, "secret", FILE), SECRET.into());
    let jail = fs.plain(ROOT, "jail", DIRECTORY);
    let a = fs.plain(jail, "a", DIRECTORY);
    let b = fs.plain(a, "b", DIRECTORY);
    fs.plain(b, "f", FILE);
    fs.plain(b, "c", DIRECTORY);
    fs.add_link(b, "up", "../../secret");
}

fn moves(world: &World, from: (&str, &str), to: (&str, &str)) -> JoinHandle<()> {
    let (from, to) = ((world.handle(from.0), from.1.to_owned()), (world.handle(to.0), to.1.to_owned()));
    world.spawn(move |_| {
        internals::rename((&from.0, part(&from.1)), (&to.0, part(&to.1)), RenameFlags::empty()).unwrap();
    })
}

/// Returns a context that is confined to `/jail`, and one in `/jail` with these rules.
fn jailed(world: &World, rules: Resolve) -> [Context; 2] {
    let mut from_there = world.user();
    from_there.chdir("/jail").unwrap();
    let jail: Handle = world.handle("/jail");
    [world.user().confined(&jail).unwrap(), from_there.with_resolve(rules).unwrap()]
}

/// Checks `/jail/a/b` that becomes `/b`, while walks go down there and up again.
#[test]
fn a_directory_is_moved_out() {
    explore(|hash| {
        let world = World::with_room(20, hash, fill);
        let [confined, beneath] = jailed(&world, Resolve::BENEATH);
        let mover = moves(&world, ("/jail/a", "b"), ("/", "b"));
        for context in [&confined, &beneath] {
            for path in ["a/b/c/../../../secret", "a/b/../../secret", "a/b/up"] {
                let found = context.stat(path).map(|of| of.ino);
                assert_ne!(found, Ok(SECRET), "{path}");
            }
            let found = context.lookup("a/b/f").map(drop);
            assert!(matches!(found, Ok(()) | Err(Errno::ENOENT | Errno::EXDEV | Errno::EAGAIN)), "{found:?}");
        }
        mover.join().unwrap();
        drop((confined, beneath));
        world.end();
    });
}

/// Checks that a walk does not go out and in again, even if its end is below the root.
#[test]
fn the_way_does_not_lead_out_and_in_again() {
    explore(|hash| {
        let world = World::with_room(20, hash, fill);
        let [confined, beneath] = jailed(&world, Resolve::BENEATH);
        let mover = moves(&world, ("/jail/a", "b"), ("/", "b"));
        for context in [&confined, &beneath] {
            // From a directory that is moved along: its own parent does not change.
            for path in ["a/b/c/../../jail/a", "a/b/c/../../jail/a/.."] {
                let found = context.access(path, crate::Access::empty());
                assert!(matches!(found, Err(Errno::ENOENT | Errno::EXDEV | Errno::EAGAIN)), "{path}: {found:?}");
            }
        }
        mover.join().unwrap();
        drop((confined, beneath));
        world.end();
    });
}

/// Checks that a file that was made in a directory after that was moved out is not found by the old
/// way.
#[test]
fn the_end_is_not_out() {
    explore(|hash| {
        let world = World::with_room(20, hash, fill);
        let [confined, beneath] = jailed(&world, Resolve::BENEATH);
        let b = world.handle("/jail/a/b");
        let mover = world.spawn(move |world| {
            let (root, a) = (world.handle("/"), world.handle("/jail/a"));
            internals::rename((&a, part("b")), (&root, part("b")), RenameFlags::empty()).unwrap();
            world.create(&b, "new").unwrap();
        });
        for context in [&confined, &beneath] {
            let found = context.access("a/b/new", crate::Access::empty());
            assert!(matches!(found, Err(Errno::ENOENT | Errno::EXDEV | Errno::EAGAIN)), "{found:?}");
        }
        mover.join().unwrap();
        drop((confined, beneath));
        world.end();
    });
}

/// Checks a directory above that is moved out and back, while walks check as of one instant that
/// their end is below the root.
#[test]
fn a_directory_above_is_moved_out_and_back() {
    explore(|hash| {
        let world = World::with_room(20, hash, fill);
        let [confined, in_root] = jailed(&world, Resolve::IN_ROOT);
        let mover = world.spawn(|world| {
            let (root, jail) = (world.handle("/"), world.handle("/jail"));
            internals::rename((&jail, part("a")), (&root, part("a")), RenameFlags::empty()).unwrap();
            internals::rename((&root, part("a")), (&jail, part("a")), RenameFlags::empty()).unwrap();
        });
        for context in [&confined, &in_root] {
            for path in ["a/b/../../secret", "a/../secret", "a/b/up"] {
                let found = context.access(path, crate::Access::empty());
                assert!(matches!(found, Err(Errno::ENOENT | Errno::EXDEV | Errno::EAGAIN)), "{path}: {found:?}");
            }
        }
        mover.join().unwrap();
        for context in [&confined, &in_root] {
            assert_eq!(context.access("a/b/f", crate::Access::empty()), Ok(()), "nothing is moved any more");
        }
        drop((confined, in_root));
        world.end();
    });
}
