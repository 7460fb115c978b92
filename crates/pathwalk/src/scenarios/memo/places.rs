//! Slots that are reused: at the end of a path, on it, and where it begins.

use super::super::explore;
use super::super::fs::ROOT;
use super::super::world::{DIRECTORY, FILE, World, part};
use super::{ABSENT, D, IN_D, IN_E, NEXT, admin, alone, fill, filled, ino, is_known, is_there, learn, world};
use crate::memory::slot::DentryId;
use crate::{Context, internals};

/// Checks slots at the end of a path and on it that hold other names by the time that the memo is
/// asked.
#[test]
fn slot_reused_between_fill_and_hit() {
    explore(|hash| {
        let world = world(hash);
        let walkers = [("/d/f", Ok(IN_D)), ("/e/../d/f", Ok(IN_D))].map(|(path, found)| {
            world.spawn(move |world| {
                for _ in 0..4 {
                    assert_eq!(world.ino(path), found, "{path}");
                }
            })
        });
        for name in ["x", "y", "e/f", "d/z"] {
            world.evict(6);
            let found = world.ino(&format!("/{name}"));
            assert_eq!(found, if name == "e/f" { Ok(IN_E) } else { ABSENT });
        }
        walkers.into_iter().for_each(|walker| walker.join().unwrap());
        world.end();
    });
}

/// Evicts everything and looks up ever more names, until the place that `come` brings a context to
/// lies in the given slot. Returns that context.
fn bring_to(world: &World, slot: DentryId, come: impl Fn() -> Context, slot_of: impl Fn(&Context) -> DentryId) -> Context {
    let brought = (0..20).find_map(|names| {
        internals::evict_all(&world.vfs);
        (0..names).for_each(|name| assert_eq!(world.ino(&format!("/{name}")), ABSENT));
        Some(come()).filter(|context| slot_of(context) == slot)
    });
    brought.expect("slots that are free are used again")
}

/// Checks two working directories that lie in one slot, one after the other.
#[test]
fn start_and_root_slots_outlive_their_context() {
    alone(|hash| {
        let world = world(hash);
        let inside = |path: &str| {
            let mut context = admin(&world);
            context.chdir(path).unwrap();
            context
        };
        let confined = |path: &str| {
            let mut context = inside(path);
            context.chroot(path).unwrap();
            context
        };
        let first = inside("/d");
        learn(&first, "f");
        learn(&first, "g");
        let slot = first.asker().cwd.dentry();
        drop(first);
        let second = bring_to(&world, slot, || inside("/e"), |context| context.asker().cwd.dentry());
        assert!(!is_known(&second, "f") && !is_known(&second, "g"));
        assert_eq!((ino(&second, "f"), ino(&second, "g")), (Ok(IN_E), ABSENT));
        drop(second);

        let first = confined("/d");
        learn(&first, "/f");
        learn(&first, "../../f");
        let slot = first.asker().root.dentry();
        drop(first);
        let second = bring_to(&world, slot, || confined("/e"), |context| context.asker().root.dentry());
        assert_eq!((ino(&second, "/f"), ino(&second, "../../f")), (Ok(IN_E), Ok(IN_E)));
        drop(second);
        world.end();
    });
}

/// Checks one path from two directories, and under two roots.
#[test]
fn starts_and_roots_are_told_from_each_other() {
    alone(|hash| {
        let world = World::built(
            (24, 8),
            hash,
            |builder| builder,
            |fs| {
                fill(fs);
                fs.add_link(D.into(), "l", "/f");
                fs.plain(ROOT, "f", FILE);
                fs.plain(D.into(), "down", DIRECTORY);
            },
        );
        let (top, mut in_d, mut in_e) = (admin(&world), admin(&world), admin(&world));
        in_d.chdir("/d").unwrap();
        in_e.chdir("/e").unwrap();
        let mut rooted = in_d.clone();
        rooted.chroot("/d").unwrap();
        for _ in 0..3 {
            let found = [&top, &in_d, &in_e, &rooted].map(|context| ino(context, "f"));
            assert_eq!(found, [Ok(NEXT + 1), Ok(IN_D), Ok(IN_E), Ok(IN_D)]);
            let found = [&top, &in_d, &in_e, &rooted].map(|context| ino(context, "/f"));
            assert_eq!(found, [Ok(NEXT + 1), Ok(NEXT + 1), Ok(NEXT + 1), Ok(IN_D)]);
            // The start is the same, and the root is not.
            let found = [&in_d, &rooted].map(|context| ["l", "down/../..", "down/.."].map(|path| ino(context, path)));
            assert_eq!(found, [[Ok(NEXT + 1), Ok(1), Ok(D)], [Ok(IN_D), Ok(D), Ok(D)]]);
        }
        drop((top, in_d, in_e, rooted));
        world.end();
    });
}

/// Checks a directory that a path went through and left again by `..`, and that is then dropped and
/// no longer there.
#[test]
fn dotdot_through_an_evicted_directory() {
    explore(|hash| {
        let world = filled(hash, |fs| {
            fill(fs);
            fs.plain(D.into(), "down", DIRECTORY);
        });
        let user = world.user();
        learn(&user, "/d/down/../f");
        let walker = world.spawn(|world| {
            let found = world.ino("/d/down/../f");
            assert!(found == Ok(IN_D) || found == ABSENT, "{found:?}");
        });
        // The memo is notified of neither change.
        world.fs.take_name(D.into(), "down");
        world.vfs.invalidate(&world.handle("/d"), part("down")).unwrap();
        assert_eq!(ino(&user, "/d/down/../f"), ABSENT);
        walker.join().unwrap();
        assert_eq!((ino(&user, "/d/down/../f"), ino(&user, "/d/f")), (ABSENT, Ok(IN_D)));
        drop(user);
        world.end();
    });
}

/// Checks the same with the directory evicted to make room; its pinned parent is still there.
#[test]
fn dotdot_through_a_directory_that_made_room() {
    alone(|hash| {
        let world = filled(hash, |fs| {
            fill(fs);
            fs.plain(D.into(), "down", DIRECTORY);
        });
        let user = world.user();
        let file = world.handle("/d/f");
        learn(&user, "/d/down/../f");
        world.fs.take_name(D.into(), "down");
        world.fs.plain(D.into(), "down", FILE);
        internals::evict_all(&world.vfs);
        assert!(!is_known(&user, "/d/down/../f"));
        for _ in 0..3 {
            assert_eq!(ino(&user, "/d/down/../f"), Err(crate::Errno::ENOTDIR));
            assert_eq!(is_there(&user, "/d/f"), Ok(()));
        }
        drop((user, file));
        world.end();
    });
}

/// Checks that a hit of the memo counts as use: hands keep the dentry that it leads to, and the
/// links on the way.
#[test]
fn what_is_found_is_kept() {
    alone(|hash| {
        let names: Vec<_> = (0..40).map(|name| name.to_string()).collect();
        let world = World::built(
            (10, 1),
            hash,
            |builder| builder,
            |fs| {
                fill(fs);
                fs.add_link(ROOT, "l", "d/f");
                names.iter().for_each(|name| _ = fs.plain(ROOT, name, FILE));
            },
        );
        let user = world.user();
        learn(&user, "/l");
        for name in &names {
            assert_eq!((is_there(&user, "/l"), is_known(&user, "/l")), (Ok(()), true), "before {name}");
            world.exists(&format!("/{name}")).unwrap();
        }
        assert_eq!(["l", "d", "f"].map(|name| world.fs.asked(name)), [1; 3]);
        drop(user);
        world.end();
    });
}
