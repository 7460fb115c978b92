//! Rights that change, and rights of other users, beside the memo.

use super::super::explore;
use super::super::fs::{ROOT, TestFs};
use super::super::world::{DIRECTORY, FILE, World, part};
use super::{Answer, D, IN_D, IN_E, NEXT, admin, alone, changed, fill, filled, ino, is_known, learn, protecting, world};
use crate::attr::{AclState, FileType};
use crate::cache::dcache::dentry::everyone;
use crate::cache::dcache::dentry::flags::EVERYONE;
use crate::node::{Freshness, SetAttributes};
use crate::{Access, Capabilities, Context, Credentials, Errno, internals};

const REFUSED: Answer = Err(Errno::EACCES);

fn chmod(world: &World, path: &str, mode: u16) {
    let held = admin(world).lookup(path).unwrap();
    world.chmod(&held, mode);
}

#[test]
fn fill_beside_chmod_of_ancestor() {
    explore(|hash| {
        let world = world(hash);
        let user = world.user();
        changed(&world, &user, "/d/f", (Ok(IN_D), REFUSED), |world| chmod(world, "/d", 0o700));
        changed(&world, &user, "/d/f", (REFUSED, Ok(IN_D)), |world| chmod(world, "/d", 0o711));
        changed(&world, &user, "/d/../e/f", (Ok(IN_E), REFUSED), |world| chmod(world, "/d", 0o644));
        drop(user);
        world.end();
    });
}

/// Checks a path that ends in a directory that it also went through.
#[test]
fn end_searched_on_the_way() {
    explore(|hash| {
        let world = filled(hash, |fs| {
            fill(fs);
            fs.plain(D.into(), "down", DIRECTORY);
        });
        let (root, user) = (admin(&world), world.user());
        learn(&user, "/d/down/..");
        changed(&world, &user, "/d/down/..", (Ok(D), REFUSED), |world| chmod(world, "/d", 0o700));
        learn(&root, "/d/down/..");
        assert_eq!((ino(&root, "/d/down/.."), ino(&user, "/d/down/.."), ino(&user, "/d")), (Ok(D), REFUSED, Ok(D)));
        drop((root, user));
        world.end();
    });
}

/// Checks that the directory where a walk begins, and the one where a link makes it begin anew, are
/// searched as well.
#[test]
fn where_a_walk_begins_is_searched() {
    explore(|hash| {
        let world = filled(hash, |fs| {
            fill(fs);
            fs.add_link(D.into(), "l", "/e/f");
        });
        let mut inside = world.user();
        inside.chdir("/d").unwrap();
        learn(&inside, "f");
        changed(&world, &inside, "f", (Ok(IN_D), REFUSED), |world| chmod(world, "/d", 0o700));
        changed(&world, &inside, "f", (REFUSED, Ok(IN_D)), |world| chmod(world, "/d", 0o755));
        learn(&inside, "l");
        changed(&world, &inside, "l", (Ok(IN_E), REFUSED), |world| chmod(world, "/", 0o700));
        drop(inside);
        world.end();
    });
}

/// Checks that access to a directory that not all users may search depends on ids, groups and
/// capabilities.
#[test]
fn credentials_of_another_class() {
    explore(|hash| {
        let world = World::built(
            (24, 4),
            hash,
            |builder| builder,
            |fs| {
                fill(fs);
                fs.set_mode(D.into(), 0o750);
                fs.alter(D.into(), |dir| dir.uid = 1000);
            },
        );
        let of = |credentials| world.vfs.context(credentials);
        let able = Credentials::user(3000, 3000, &[]).with_capabilities(Capabilities::DAC_READ_SEARCH);
        let may = [of(Credentials::user(1000, 1000, &[])), of(Credentials::user(2000, 2000, &[0])), of(able), admin(&world)];
        let may_not = [of(Credentials::user(2000, 2000, &[])), of(Credentials::user(3000, 3000, &[]))];
        learn(&may[1], "/d/f");
        let asker = world.spawn(|world| assert_eq!(ino(&world.vfs.context(Credentials::user(4000, 0, &[])), "/d/f"), Ok(IN_D)));
        for _ in 0..2 {
            for context in &may {
                assert_eq!((ino(context, "/d/f"), ino(context, "/d/f")), (Ok(IN_D), Ok(IN_D)));
                assert!(may_not.iter().all(|context| !is_known(context, "/d/f") && ino(context, "/d/f") == REFUSED));
            }
        }
        asker.join().unwrap();
        let [owner, others @ ..] = may;
        let turned: Context = owner.with_credentials(Credentials::user(2000, 2000, &[]));
        assert!(!is_known(&turned, "/d/f"));
        assert_eq!(ino(&turned, "/d/f"), REFUSED);
        drop((turned, others, may_not));
        world.end();
    });
}

/// Checks that the effective and the real ids are two classes.
#[test]
fn real_and_effective_credentials() {
    alone(|hash| {
        let world = filled(hash, |fs| {
            fill(fs);
            fs.set_mode(D.into(), 0o700);
        });
        let real = crate::permission::Ids { uid: 1000, gid: 1000 };
        let context = world.vfs.context(Credentials::root().with_real(real));
        for _ in 0..3 {
            assert_eq!(ino(&context, "/d/f"), Ok(IN_D));
            assert_eq!(super::is_there(&context, "/d/f"), Err(Errno::EACCES));
        }
        drop(context);
        world.end();
    });
}

/// Creates `/t`, which all users may write to, with the link `l` to `/d/f`, which another user
/// owns.
fn fill_with_link(fs: &TestFs) {
    fill(fs);
    let dir = fs.add(ROOT, "t", FileType::Directory, 0o777);
    let link = fs.add_link(dir, "l", "/d/f");
    fs.alter(link, |link| link.uid = 2000);
}

#[test]
fn sticky_set_on_a_links_directory() {
    explore(|hash| {
        let world = protecting(hash, fill_with_link);
        let user = world.user();
        learn(&user, "/t/l");
        changed(&world, &user, "/t/l", (Ok(IN_D), REFUSED), |world| chmod(world, "/t", 0o1777));
        changed(&world, &user, "/t/l", (REFUSED, Ok(IN_D)), |world| chmod(world, "/t", 0o1775));
        learn(&user, "/t/l");
        drop(user);
        world.end();
    });
}

/// Checks a link whose owner changes, which does not write to the link's dentry.
#[test]
fn lchown_of_a_link() {
    explore(|hash| {
        let world = protecting(hash, |fs| {
            fill_with_link(fs);
            fs.set_mode(NEXT.into(), 0o1777);
            fs.alter(u128::from(NEXT + 1), |link| link.uid = 1000);
        });
        let user = world.user();
        let link = user.lookup_at(crate::At::Cwd, "/t/l", crate::AtFlags::SYMLINK_NOFOLLOW).unwrap();
        changed(&world, &user, "/t/l", (Ok(IN_D), REFUSED), |_| {
            let to_another = SetAttributes { uid: Some(2000), ..SetAttributes::default() };
            internals::set_attributes(&link, &to_another).unwrap();
        });
        // By this path, in which it is not the last component, the link is followed.
        assert_eq!(ino(&user, "/t/l/"), REFUSED);
        drop((user, link));
        world.end();
    });
}

/// Checks a directory that gets an ACL, so that the file system decides about searches.
#[test]
fn acl_appears() {
    explore(|hash| {
        let world = world(hash);
        let user = world.user();
        changed(&world, &user, "/d/f", (Ok(IN_D), REFUSED), |world| {
            world.fs.alter(D.into(), |dir| dir.acl = AclState::Present);
            world.vfs.refresh(&world.handle("/d")).unwrap();
        });
        assert!(!is_known(&user, "/d/f"));
        changed(&world, &user, "/d/f", (REFUSED, Ok(IN_D)), |world| {
            world.fs.alter(D.into(), |dir| dir.acl = AclState::Absent);
            world.vfs.refresh(&world.handle("/d")).unwrap();
        });
        drop(user);
        world.end();
    });
}

/// Checks that the ACL of a file is not needed for its owner's rights. It is asked for when the
/// owner's access is checked again, and then the dentry's word says what all users may do.
#[test]
fn acl_of_an_own_file_is_learned() {
    alone(|hash| {
        let world = filled(hash, |fs| {
            fill(fs);
            fs.alter(IN_D.into(), |file| (file.uid, file.acl) = (1000, AclState::Unknown));
        });
        let user = world.user();
        learn(&user, "/d/f");
        let held = world.handle("/d/f");
        let granted = || world.vfs.world().caches().dentries.word(held.dentry()) & EVERYONE;
        assert_eq!(granted(), 0);
        // By a walk, then by the memo.
        (0..2).for_each(|_| user.access("/d/f", Access::READ).unwrap());
        assert_eq!(granted(), everyone(Access::READ));
        drop((user, held));
        world.end();
    });
}

/// Checks that attributes that the file system changed by itself are asked for before the next use.
#[test]
fn unknown_marked_then_refreshed() {
    explore(|hash| {
        let world = world(hash);
        let user = world.user();
        let held = world.handle("/d");
        changed(&world, &user, "/d/f", (Ok(IN_D), REFUSED), |world| {
            world.fs.set_mode(D.into(), 0o700);
            let caches = world.vfs.world().caches();
            caches.mark_unknown(caches.dentries.inode(held.dentry()));
        });
        changed(&world, &user, "/d/f", (REFUSED, Ok(IN_D)), |world| {
            world.fs.set_mode(D.into(), 0o755);
            world.vfs.refresh(&held).unwrap();
        });
        learn(&user, "/d/f");
        world.fs.set_mode(D.into(), 0o700);
        world.vfs.invalidate_subtree(&world.root()).unwrap();
        assert_eq!(ino(&user, "/d/f"), REFUSED);
        drop((user, held));
        world.end();
    });
}

/// Checks a name that was cached as stable and comes back as one that is revalidated before each
/// use.
#[test]
fn freshness_turns_ask_each_time() {
    alone(|hash| {
        let world = world(hash);
        let user = world.user();
        learn(&user, "/d/f");
        for key in [D, IN_D] {
            world.fs.alter(key.into(), |node| node.freshness = Freshness::AskEachTime);
        }
        world.vfs.invalidate(&world.root(), part("d")).unwrap();
        for _ in 0..3 {
            let asked = ["d", "f"].map(|name| world.fs.asked(name));
            assert_eq!((ino(&user, "/d/f"), is_known(&user, "/d/f")), (Ok(IN_D), false));
            assert!(["d", "f"].map(|name| world.fs.asked(name)).iter().zip(asked).all(|(now, before)| *now > before));
        }
        world.fs.take_name(D.into(), "f");
        assert_eq!(ino(&user, "/d/f"), super::ABSENT);
        drop(user);
        world.end();
    });
}

/// Checks that a path whose file no longer grants access to all users is not answered by its old
/// entry.
#[test]
fn a_file_that_is_not_for_everyone() {
    alone(|hash| {
        let world = filled(hash, |fs| {
            fill(fs);
            fs.plain(ROOT, "p", FILE);
        });
        let user = world.user();
        learn(&user, "/p");
        let read = || user.access("/p", crate::Access::READ);
        assert_eq!(read(), Ok(()));
        chmod(&world, "/p", 0o600);
        learn(&user, "/p");
        assert_eq!((read(), admin(&world).access("/p", crate::Access::READ)), (Err(Errno::EACCES), Ok(())));
        drop(user);
        world.end();
    });
}
