//! Directories that the memo has, from which a walk goes on, beside changes of where their paths
//! lead.

use super::super::explore;
use super::super::fs::{ROOT, TestFs};
use super::super::world::{DIRECTORY, FILE, Hash, World, part};
use super::{ABSENT, D, IN_D, IN_E, NEXT, admin, alone, changed, fill, ino, is_known};
use crate::internals::{self, directories_learned_at_once};
use crate::node::RenameFlags;
use crate::walk::component::Path;
use crate::walk::{Env, Whose, start, whole};
use crate::{Context, Errno, Resolve, UmountFlags};

/// Creates a world in which the paths of directories are learned, and no others.
fn world(hash: Hash, fill: impl FnOnce(&TestFs)) -> World {
    World::built((24, 1), hash, directories_learned_at_once, fill)
}

/// Makes the memo learn the directory of a path.
fn learn(context: &Context, path: &str) {
    let (dir, _) = path.rsplit_once('/').unwrap();
    // Repeated, since a lap of any count in the process clears the memo.
    let is_learned = (0..8).any(|_| {
        _ = ino(context, path);
        super::find(context, dir, crate::memo::question::LastLink::FollowedOnTheWay)
    });
    assert!(is_learned && !is_known(context, path), "{dir} is not learned, or {path} is");
}

/// Returns whether a walk of this path begins at its directory.
fn begins_at_directory(context: &Context, path: &str) -> bool {
    let env = Env::new(context.asker(), Whose::Effective);
    let env = env.from(start::at_cwd(&env, path.as_bytes()).unwrap());
    whole::directory(&env, Path(path.as_bytes())).is_some()
}

#[test]
fn a_walk_begins_at_the_directory_that_was_learned() {
    alone(|hash| {
        let world = world(hash, fill);
        let user = world.user();
        assert!(!begins_at_directory(&user, "/d/f"));
        learn(&user, "/d/f");
        assert!(begins_at_directory(&user, "/d/f") && begins_at_directory(&user, "/d/other"));
        assert!(!begins_at_directory(&user, "/d") && !begins_at_directory(&user, "/d/"));
        drop(user);
        world.end();
    });
}

fn rename(world: &World, from: &str, to: &str, how: RenameFlags) {
    let root = world.root();
    internals::rename((&root, part(from)), (&root, part(to)), how).unwrap();
}

#[test]
fn directory_moved() {
    explore(|hash| {
        let world = world(hash, fill);
        let user = world.user();
        learn(&user, "/d/f");
        changed(&world, &user, "/d/f", (Ok(IN_D), Ok(IN_E)), |world| rename(world, "d", "e", RenameFlags::EXCHANGE));
        changed(&world, &user, "/d/f", (Ok(IN_E), ABSENT), |world| rename(world, "d", "g", RenameFlags::empty()));
        drop(user);
        world.end();
    });
}

/// Checks that the directory that the walk goes on from is searched, like any other directory.
#[test]
fn directory_closed() {
    explore(|hash| {
        let world = world(hash, fill);
        let user = world.user();
        learn(&user, "/d/f");
        let chmod = |world: &World, mode| world.chmod(&admin(world).lookup("/d").unwrap(), mode);
        changed(&world, &user, "/d/f", (Ok(IN_D), Err(Errno::EACCES)), |world| chmod(world, 0o700));
        changed(&world, &user, "/d/f", (Err(Errno::EACCES), Ok(IN_D)), |world| chmod(world, 0o711));
        drop(user);
        world.end();
    });
}

/// Checks that changes in the directory do not affect its entry in the memo.
#[test]
fn names_in_a_directory() {
    explore(|hash| {
        let world = world(hash, fill);
        let user = world.user();
        let dir = world.handle("/d");
        learn(&user, "/d/f");
        changed(&world, &user, "/d/f", (Ok(IN_D), ABSENT), |world| world.unlink(&dir, "f").unwrap());
        changed(&world, &user, "/d/new", (ABSENT, Ok(NEXT)), |world| drop(world.create(&dir, "new").unwrap()));
        drop((user, dir));
        world.end();
    });
}

#[test]
fn directory_covered() {
    explore(|hash| {
        let world = world(hash, fill);
        let context = admin(&world);
        learn(&context, "/d/f");
        let other = || {
            let fs = std::sync::Arc::new(TestFs::new());
            (0..7).for_each(|name| _ = fs.plain(ROOT, &name.to_string(), FILE));
            assert_eq!(fs.plain(ROOT, "f", FILE), 9);
            fs
        };
        changed(&world, &context, "/d/f", (Ok(IN_D), Ok(9)), |world| {
            admin(world).mount(other(), "/d", crate::MountFlags::empty()).unwrap();
        });
        changed(&world, &context, "/d/f", (Ok(9), Ok(IN_D)), |world| {
            admin(world).umount("/d", UmountFlags::DETACH).unwrap();
        });
        drop(context);
        world.end();
    });
}

/// Checks that links are counted from the beginning of the path: a walk does not begin at a
/// directory behind a link, even if the path to that directory was learned.
#[test]
fn links_are_counted_from_the_beginning() {
    alone(|hash| {
        let body = |name: &str, at: usize, last: &str| if at == 0 { last.to_owned() } else { format!("{name}{}", at - 1) };
        let world = World::built((100, 4), hash, directories_learned_at_once, |fs| {
            fill(fs);
            (0..5).for_each(|at| _ = fs.add_link(ROOT, &format!("l{at}"), &body("l", at, "d")));
            (0..37).for_each(|at| _ = fs.add_link(D.into(), &format!("c{at}"), &body("c", at, "f")));
        });
        let user = world.user();
        learn(&user, "/d/x");
        (0..4).for_each(|_| assert_eq!(ino(&user, "/l4/x"), ABSENT));
        for path in ["/d/c36", "/l4/c34"] {
            (0..2).for_each(|_| assert_eq!(ino(&user, path), Ok(IN_D), "{path}"));
        }
        // Found, handed over since the name is not cached, and found again.
        internals::evict_all(&world.vfs);
        (0..4).for_each(|_| assert_eq!(ino(&user, "/l4/f"), Ok(IN_D)));
        (0..3).for_each(|_| assert_eq!(ino(&user, "/l4/c35"), Err(Errno::ELOOP)));
        drop(user);
        world.end();
    });
}

/// Checks names behind a directory that the memo has: `..`, none, one that is too long, and one
/// behind a file that is no directory.
#[test]
fn names_of_all_kinds() {
    alone(|hash| {
        let world = world(hash, |fs| {
            fill(fs);
            fs.plain(D.into(), "down", DIRECTORY);
        });
        let user = world.user();
        learn(&user, "/d/down/x");
        let long = format!("/d/down/{}", "n".repeat(256));
        for _ in 0..2 {
            assert_eq!(ino(&user, "/d/down/.."), Ok(D));
            assert_eq!(ino(&user, "/d/down/."), Ok(NEXT));
            assert_eq!(ino(&user, "/d/down/"), Ok(NEXT));
            assert_eq!(ino(&user, "/d/f/"), Err(Errno::ENOTDIR));
            assert_eq!(ino(&user, "/d/f/x"), Err(Errno::ENOTDIR));
            assert_eq!(ino(&user, "/d/none/x"), ABSENT);
            assert_eq!(ino(&user, "/d/down/\0"), Err(Errno::EINVAL));
            assert_eq!(ino(&user, "/d/none/\0"), Err(Errno::EINVAL));
            assert_eq!(ino(&user, &long), Err(Errno::ENAMETOOLONG));
            let beneath = user.clone().with_resolve(Resolve::BENEATH).unwrap();
            assert_eq!(ino(&beneath, "d/down/.."), Ok(D));
        }
        drop(user);
        world.end();
    });
}
