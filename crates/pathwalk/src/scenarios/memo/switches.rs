//! `mount_on_the_way`: what a mount forbids, and how it shows owners, beside the memo.

use super::super::explore;
use super::super::world::FILE;
use super::mounts::{B, NONE, mount, other, set, umount, world};
use super::{admin, changed, ino, is_there, learn};
use crate::{Access, At, AtFlags, Capabilities, Credentials, Errno, IdExtent, IdMap, MountAttributes, MountFlags, Recursion};

/// Checks that links are followed until a mount follows none.
#[test]
fn links_are_followed_no_more() {
    explore(|hash| {
        let world = world(hash);
        let root = admin(&world);
        root.bind("/a", "/b/p", Recursion::Alone).unwrap();
        let mut inside = admin(&world);
        inside.chdir("/b/p").unwrap();
        ["l", "l/p", "/b/p/l"].iter().for_each(|path| learn(&inside, path));
        changed(&world, &inside, "l", (Ok(B), Err(Errno::ELOOP)), |world| set(&admin(world), "/b/p", MountFlags::NOSYMFOLLOW));
        assert_eq!((ino(&inside, "l/p"), ino(&inside, "/b/p/l")), (Err(Errno::ELOOP), Err(Errno::ELOOP)));
        drop(inside);
        umount(&root, "/b/p");
        drop(root);
        world.end();
    });
}

/// Checks that a walk goes through the root of a mount, and that the root's own rights count.
#[test]
fn the_root_of_a_mount_is_searched() {
    explore(|hash| {
        let world = world(hash);
        let (root, user) = (admin(&world), world.user());
        mount(&root, 10, "/a/p");
        learn(&user, "/a/p/f");
        let top = root.lookup("/a/p").unwrap();
        changed(&world, &user, "/a/p/f", (Ok(10), Err(Errno::EACCES)), |world| world.chmod(&top, 0o700));
        drop(top);
        umount(&root, "/a/p");
        drop((root, user));
        world.end();
    });
}

/// Checks owners that are seen through the map of the mount where the walk begins, which gets the
/// map later.
#[test]
fn a_start_gets_a_map() {
    explore(|hash| {
        let world = world(hash);
        let root = admin(&world);
        let fs = other(10);
        fs.set_mode(2, 0o700);
        fs.plain(2, "deep", FILE);
        let tree = root.new_tree(fs, NONE).unwrap();
        let plain = Credentials::root().with_capabilities(Capabilities::empty());
        let mut owner = admin(&world);
        owner.fchdir(tree.handle()).unwrap();
        let owner = owner.with_credentials(plain);
        learn(&owner, "in/deep");
        changed(&world, &owner, "in/deep", (Ok(11), Err(Errno::EACCES)), |world| {
            let ids = |outside| [IdExtent { inside: 0, outside, length: 1 }];
            let id_map = Some(IdMap::new(&ids(100), &ids(100)).unwrap());
            let attributes = MountAttributes { id_map, ..MountAttributes::default() };
            let at = At::Handle(tree.handle());
            admin(world).mount_setattr_at(at, "", AtFlags::EMPTY_PATH, &attributes, Recursion::Alone).unwrap();
        });
        drop((owner, tree, root));
        world.end();
    });
}

/// Checks that the switches of the mount at the path's end are read when the memo is asked.
#[test]
fn flags_of_the_last_mount() {
    explore(|hash| {
        let world = world(hash);
        let root = admin(&world);
        mount(&root, 10, "/a/p");
        let may = || root.access("/a/p/f", Access::WRITE);
        learn(&root, "/a/p/f");
        assert_eq!((may(), may()), (Ok(()), Ok(())));
        let asker = world.spawn(|world| {
            let found = admin(world).access("/a/p/f", Access::WRITE);
            assert!(matches!(found, Ok(()) | Err(Errno::EROFS)), "{found:?}");
        });
        set(&root, "/a/p", MountFlags::READ_ONLY);
        assert_eq!((may(), may()), (Err(Errno::EROFS), Err(Errno::EROFS)));
        asker.join().unwrap();
        learn(&root, "/a/p/f");
        assert_eq!((may(), is_there(&root, "/a/p/f")), (Err(Errno::EROFS), Ok(())));
        umount(&root, "/a/p");
        drop(root);
        world.end();
    });
}
