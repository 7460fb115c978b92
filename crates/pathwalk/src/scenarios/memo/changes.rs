//! Names that come, go and move beside the memo.

use super::super::explore;
use super::super::fs::ROOT;
use super::super::world::{DIRECTORY, FILE, World, part};
use super::{ABSENT, D, E, IN_D, IN_E, NEXT, alone, changed, fill, filled, ino, is_there, learn, world};
use crate::node::RenameFlags;
use crate::{Errno, internals};

fn unlink(world: &World, dir: &str, name: &str) {
    world.unlink(&world.handle(dir), name).unwrap();
}

fn rename(world: &World, from: (&str, &str), to: (&str, &str), how: RenameFlags) {
    let dirs = (world.handle(from.0), world.handle(to.0));
    internals::rename((&dirs.0, part(from.1)), (&dirs.1, part(to.1)), how).unwrap();
}

/// Checks a walk that comes to an entry just before the entry is taken out of its directory.
#[test]
fn fill_beside_unhash() {
    explore(|hash| {
        let world = world(hash);
        let user = world.user();
        // A held entry keeps its content when it is taken out.
        let held = ["/d/f", "/e/f"].map(|path| world.handle(path));
        changed(&world, &user, "/d/f", (Ok(IN_D), Ok(IN_E)), |world| {
            rename(world, ("/e", "f"), ("/d", "f"), RenameFlags::empty());
        });
        changed(&world, &user, "/d/f", (Ok(IN_E), ABSENT), |world| unlink(world, "/d", "f"));
        drop((user, held));
        world.end();
    });
}

/// Checks the same for an entry that the file system removed by itself: the directory's own entry
/// does not change.
#[test]
fn fill_beside_an_invalidation() {
    explore(|hash| {
        let world = world(hash);
        let user = world.user();
        let held = ["/d/f", "/e"].map(|path| world.handle(path));
        changed(&world, &user, "/d/f", (Ok(IN_D), ABSENT), |world| {
            world.fs.take_name(D.into(), "f");
            world.vfs.invalidate(&world.handle("/d"), part("f")).unwrap();
        });
        changed(&world, &user, "/e/f", (Ok(IN_E), ABSENT), |world| {
            world.fs.move_name((ROOT, "e"), (ROOT, "g"));
            world.fs.plain(ROOT, "e", DIRECTORY);
            world.vfs.invalidate(&world.root(), part("e")).unwrap();
        });
        drop((user, held));
        world.end();
    });
}

/// Checks that a walk may begin at a dentry that is out of its directory, but may not come to that
/// dentry by name.
#[test]
fn cwd_replaced_while_walked_by_name() {
    explore(|hash| {
        let world = world(hash);
        let mut inside = world.user();
        inside.chdir("/d").unwrap();
        changed(&world, &inside, "../d/f", (Ok(IN_D), Ok(NEXT + 1)), |world| {
            world.fs.move_name((ROOT, "d"), (ROOT, "g"));
            let dir = world.fs.plain(ROOT, "d", DIRECTORY);
            world.fs.plain(dir, "f", FILE);
            world.vfs.invalidate(&world.root(), part("d")).unwrap();
        });
        learn(&inside, "f");
        assert_eq!((ino(&inside, "f"), ino(&inside, "..")), (Ok(IN_D), Ok(1)));
        drop(inside);
        world.end();
    });
}

#[test]
fn fill_beside_rename_of_ancestor() {
    explore(|hash| {
        let world = filled(hash, |fs| {
            fs.plain(ROOT, "a", DIRECTORY);
            ["d", "e"].iter().for_each(|name| _ = fs.plain(2, name, DIRECTORY));
            fs.plain(3, "f", FILE);
            fs.plain(4, "f", FILE);
        });
        let user = world.user();
        changed(&world, &user, "/a/d/f", (Ok(5), Ok(6)), |world| {
            rename(world, ("/a", "d"), ("/a", "e"), RenameFlags::EXCHANGE);
        });
        changed(&world, &user, "/a/d/f", (Ok(6), ABSENT), |world| rename(world, ("/", "a"), ("/", "b"), RenameFlags::empty()));
        changed(&world, &user, "/b/e/../d/f", (Ok(6), ABSENT), |world| unlink(world, "/b/d", "f"));
        drop(user);
        world.end();
    });
}

#[test]
fn absent_turns_present() {
    explore(|hash| {
        let world = world(hash);
        let user = world.user();
        changed(&world, &user, "/d/new", (ABSENT, Ok(NEXT)), |world| drop(world.create(&world.handle("/d"), "new").unwrap()));
        changed(&world, &user, "/d/new", (Ok(NEXT), ABSENT), |world| unlink(world, "/d", "new"));
        changed(&world, &user, "/d/new", (ABSENT, Ok(IN_E)), |world| {
            rename(world, ("/e", "f"), ("/d", "new"), RenameFlags::empty());
        });
        drop(user);
        world.end();
    });
}

#[test]
fn link_replaced() {
    explore(|hash| {
        let world = filled(hash, |fs| {
            fill(fs);
            fs.add_link(ROOT, "l", "d");
            fs.add_link(ROOT, "m", "/e/f");
        });
        let user = world.user();
        changed(&world, &user, "/l/f", (Ok(IN_D), Ok(IN_E)), |world| {
            world.fs.take_name(ROOT, "l");
            world.fs.add_link(ROOT, "l", "e");
            world.vfs.invalidate(&world.root(), part("l")).unwrap();
        });
        changed(&world, &user, "/m", (Ok(IN_E), Ok(IN_D)), |world| {
            world.fs.take_name(ROOT, "m");
            world.fs.add_link(ROOT, "m", "/d/f");
            world.vfs.invalidate(&world.root(), part("m")).unwrap();
        });
        assert_eq!(user.lstat("/m").map(|link| link.ino), Ok(NEXT + 3), "it is the link that is asked for");
        changed(&world, &user, "/l/f", (Ok(IN_E), ABSENT), |world| unlink(world, "/e", "f"));
        drop(user);
        world.end();
    });
}

/// Checks that a path that ends in a link has two answers: the link itself, and what it leads to.
#[test]
fn a_link_and_what_it_leads_to() {
    alone(|hash| {
        let world = filled(hash, |fs| {
            fill(fs);
            assert_eq!(fs.add_link(ROOT, "l", "d/f"), NEXT.into());
            assert_eq!(fs.add_link(ROOT, "m", "d"), u128::from(NEXT + 1));
        });
        let user = world.user();
        let of_link = |path| user.lstat(path).map(|link| link.ino);
        for _ in 0..3 {
            assert_eq!((ino(&user, "/l"), ino(&user, "/l")), (Ok(IN_D), Ok(IN_D)));
            assert_eq!((of_link("/l"), of_link("/l")), (Ok(NEXT), Ok(NEXT)));
            assert_eq!((of_link("/m/"), ino(&user, "/m/"), of_link("/m")), (Ok(D), Ok(D), Ok(NEXT + 1)));
        }
        drop(user);
        world.end();
    });
}

#[test]
fn trailing_slash_dir_becomes_file() {
    explore(|hash| {
        let world = filled(hash, |fs| {
            fill(fs);
            fs.plain(ROOT, "n", DIRECTORY);
        });
        let user = world.user();
        learn(&user, "/n/");
        changed(&world, &user, "/n/", (Ok(NEXT), ABSENT), |world| unlink(world, "/", "n"));
        changed(&world, &user, "/n/", (ABSENT, Err(Errno::ENOTDIR)), |world| {
            drop(world.create(&world.root(), "n").unwrap());
        });
        assert_eq!(is_there(&user, "/n"), Ok(()));
        drop(user);
        world.end();
    });
}

/// Checks two threads that store different paths in the same entries.
#[test]
fn two_fillers_one_way() {
    explore(|hash| {
        let world = world(hash);
        let fillers = [("/d/f", "/e"), ("/e/f", "/d")].map(|paths| {
            world.spawn(move |world| {
                let right = |path: &str| match path {
                    "/d/f" => Ok(IN_D),
                    "/e/f" => Ok(IN_E),
                    "/d" => Ok(D),
                    _ => Ok(E),
                };
                for path in [paths.0, paths.1, paths.0, paths.1] {
                    assert_eq!(world.ino(path), right(path), "{path}");
                }
            })
        });
        for _ in 0..2 {
            assert_eq!((world.ino("/d/f"), world.ino("/e/f"), world.ino("/d/n")), (Ok(IN_D), Ok(IN_E), ABSENT));
        }
        fillers.into_iter().for_each(|filler| filler.join().unwrap());
        world.end();
    });
}

/// Checks paths that differ in their last byte, their first, or their length; each has an entry.
#[test]
fn paths_are_told_from_each_other() {
    alone(|hash| {
        let long = "a/quite/long/way/down/to/a/file/";
        let world = World::built(
            (40, 8),
            hash,
            |builder| builder,
            |fs| {
                let mut dir = ROOT;
                for name in long.split('/').filter(|name| !name.is_empty()) {
                    dir = fs.plain(dir, name, DIRECTORY);
                }
                ["f", "g", "ff"].iter().for_each(|name| _ = fs.plain(dir, name, FILE));
            },
        );
        let user = world.user();
        for _ in 0..3 {
            for (at, name) in ["f", "g", "ff"].iter().enumerate() {
                assert_eq!(ino(&user, &format!("/{long}{name}")), Ok(10 + at as u64));
                assert_eq!(ino(&user, &format!("{long}{name}")), Ok(10 + at as u64));
                assert_eq!(ino(&user, &format!("/{long}x{name}")), ABSENT);
            }
        }
        drop(user);
        world.end();
    });
}
