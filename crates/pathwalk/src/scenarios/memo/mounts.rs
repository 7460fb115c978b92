//! `mount_on_the_way`: mounts that come, go, move and change, beside the memo.

use std::sync::Arc;

use super::super::explore;
use super::super::fs::{ROOT, TestFs};
use super::super::world::{DIRECTORY, FILE, Hash, World, part};
use super::{ABSENT, admin, alone, changed, ino, is_known, learn};
use crate::node::RenameFlags;
use crate::{
    Access, At, Context, DetachedTree, Errno, MountAttributes, MountFlags, MoveFlags, Recursion, UmountFlags, internals,
};

pub(super) const CWD: At<'static> = At::Cwd;
pub(super) const NONE: MountFlags = MountFlags::empty();

/// The inode numbers of `/a`, `/a/p/f` and `/b`.
const A: u64 = 2;
const BELOW: u64 = 4;
pub(super) const B: u64 = 5;
const TOP: u64 = 1;

fn fill(fs: &TestFs) {
    let a = fs.plain(ROOT, "a", DIRECTORY);
    let p = fs.plain(a, "p", DIRECTORY);
    assert_eq!(fs.plain(p, "f", FILE), BELOW.into());
    let b = fs.plain(ROOT, "b", DIRECTORY);
    fs.plain(b, "p", DIRECTORY);
    fs.add_link(a, "l", "/b");
    fs.plain(p, "x", DIRECTORY);
    fs.plain(8, "y", DIRECTORY);
    fs.plain(9, "z", DIRECTORY);
}

pub(super) fn world(hash: Hash) -> World {
    World::built((40, 16), hash, |builder| builder, fill)
}

/// Creates a file system with the file `f`, which gets this inode number, and the directory `in`.
pub(super) fn other(number: u64) -> Arc<TestFs> {
    let fs = Arc::new(TestFs::new());
    fs.plain(ROOT, "in", DIRECTORY);
    (3..number).for_each(|at| _ = fs.plain(ROOT, &at.to_string(), FILE));
    assert_eq!(fs.plain(ROOT, "f", FILE), number.into());
    fs
}

pub(super) fn mount(context: &Context, number: u64, at: &str) {
    context.mount(other(number), at, NONE).unwrap();
}

pub(super) fn umount(context: &Context, at: &str) {
    context.umount(at, UmountFlags::DETACH).unwrap();
}

/// Mounts a tree on `/a/p`.
fn attach(world: &World, tree: &DetachedTree) {
    admin(world).move_mount_at(tree.handle(), "", CWD, "/a/p", MoveFlags::FROM_EMPTY_PATH).unwrap();
}

pub(super) fn set(context: &Context, at: &str, flags: MountFlags) {
    let attributes = MountAttributes { set: flags, ..MountAttributes::default() };
    context.mount_setattr(at, &attributes, Recursion::Alone).unwrap();
}

#[test]
fn it_comes_and_goes() {
    explore(|hash| {
        let world = world(hash);
        let root = admin(&world);
        learn(&root, "/a/p/f");
        changed(&world, &root, "/a/p/f", (Ok(BELOW), Ok(10)), |world| mount(&admin(world), 10, "/a/p"));
        learn(&root, "/a/p/f");
        changed(&world, &root, "/a/p/f", (Ok(10), Ok(20)), |world| mount(&admin(world), 20, "/a/p"));
        learn(&root, "/a/p/f");
        changed(&world, &root, "/a/p/f", (Ok(20), Ok(10)), |world| umount(&admin(world), "/a/p"));
        changed(&world, &root, "/a/p/f", (Ok(10), Ok(BELOW)), |world| umount(&admin(world), "/a/p"));
        drop(root);
        world.end();
    });
}

#[test]
fn it_is_moved() {
    explore(|hash| {
        let world = world(hash);
        let root = admin(&world);
        mount(&root, 10, "/a/p");
        let mut inside = admin(&world);
        inside.chdir("/a/p").unwrap();
        learn(&root, "/a/p/f");
        learn(&inside, "..");
        changed(&world, &root, "/a/p/f", (Ok(10), Ok(BELOW)), |world| {
            admin(world).move_mount("/a/p", "/b/p").unwrap();
        });
        assert_eq!((ino(&inside, ".."), ino(&root, "/b/p/f")), (Ok(B), Ok(10)));
        changed(&world, &inside, "..", (Ok(B), Ok(A)), |world| {
            admin(world).move_mount("/b/p", "/a/p").unwrap();
        });
        learn(&inside, "../../b");
        learn(&inside, "in/../..");
        drop(inside);
        umount(&root, "/a/p");
        drop(root);
        world.end();
    });
}

/// Checks a covered directory that is moved; the mount on it goes along.
#[test]
fn what_is_covered_is_moved() {
    explore(|hash| {
        let world = world(hash);
        let root = admin(&world);
        mount(&root, 10, "/a/p");
        let mut inside = admin(&world);
        inside.chdir("/a/p").unwrap();
        learn(&inside, "..");
        changed(&world, &inside, "..", (Ok(A), Ok(B)), |world| {
            let dirs = (world.handle("/a"), world.handle("/b"));
            internals::rename((&dirs.0, part("p")), (&dirs.1, part("q")), RenameFlags::empty()).unwrap();
        });
        drop(inside);
        umount(&root, "/b/q");
        drop(root);
        world.end();
    });
}

/// Checks a detached tree that is attached: for a walk in it, `..` from its root leads out.
#[test]
fn a_tree_is_attached() {
    explore(|hash| {
        let world = world(hash);
        let root = admin(&world);
        let tree = root.new_tree(other(10), NONE).unwrap();
        let mut inside = admin(&world);
        inside.fchdir(tree.handle()).unwrap();
        learn(&inside, "..");
        assert_eq!(ino(&inside, "../f"), Ok(10));
        changed(&world, &inside, "..", (Ok(TOP), Ok(A)), |world| attach(world, &tree));
        assert_eq!(ino(&inside, "../p/f"), Ok(10));
        drop((inside, tree));
        umount(&root, "/a/p");
        drop(root);
        world.end();
    });
}

/// Checks the same for a walk down to the place where the tree is attached. In another namespace
/// the directory is covered already, so a mount that comes to cover it does not write to its
/// dentry.
#[test]
fn a_tree_is_attached_on_the_way() {
    explore(|hash| {
        let world = world(hash);
        let root = admin(&world);
        let mut apart = admin(&world);
        apart.unshare().unwrap();
        mount(&apart, 20, "/a/p");
        let tree = root.new_tree(other(10), NONE).unwrap();
        changed(&world, &root, "/a/p/f", (Ok(BELOW), Ok(10)), |world| attach(world, &tree));
        assert_eq!(ino(&apart, "/a/p/f"), Ok(20));
        drop((apart, tree));
        umount(&root, "/a/p");
        drop(root);
        world.end();
    });
}

/// Checks one directory in two mounts: a mount that covers it in one does not cover it in the
/// other.
#[test]
fn a_directory_is_covered_in_one_of_two_mounts() {
    explore(|hash| {
        let world = world(hash);
        let root = admin(&world);
        root.bind("/a", "/b", Recursion::Alone).unwrap();
        changed(&world, &root, "/b/p/f", (Ok(BELOW), Ok(10)), |world| mount(&admin(world), 10, "/b/p"));
        assert_eq!((ino(&root, "/a/p/f"), ino(&root, "/a/p/f")), (Ok(BELOW), Ok(BELOW)));
        // The directory is covered already, in the other mount.
        changed(&world, &root, "/a/p/f", (Ok(BELOW), Ok(20)), |world| mount(&admin(world), 20, "/a/p"));
        learn(&root, "/a/p/f");
        changed(&world, &root, "/b/p/f", (Ok(10), Ok(BELOW)), |world| umount(&admin(world), "/b/p"));
        // It is still covered.
        mount(&root, 10, "/b/p");
        learn(&root, "/b/p/f");
        changed(&world, &root, "/a/p/f", (Ok(20), Ok(BELOW)), |world| umount(&admin(world), "/a/p"));
        assert_eq!(ino(&root, "/b/p/f"), Ok(10));
        umount(&root, "/b/p");
        umount(&root, "/b");
        drop(root);
        world.end();
    });
}

/// Checks that one directory, seen through two mounts, is two starts.
#[test]
fn a_start_in_one_of_two_mounts() {
    alone(|hash| {
        let world = world(hash);
        let root = admin(&world);
        root.bind("/a", "/b", Recursion::Alone).unwrap();
        let within = |path| {
            let mut context = admin(&world);
            context.chdir(path).unwrap();
            context
        };
        let (one, two) = (within("/a"), within("/b"));
        mount(&root, 10, "/b/p");
        for _ in 0..3 {
            assert_eq!((ino(&one, "p/f"), ino(&two, "p/f")), (Ok(BELOW), Ok(10)));
            assert_eq!((ino(&one, "../b/p/f"), ino(&two, "../a/p/f")), (Ok(10), Ok(BELOW)));
        }
        // The mount through which a directory is seen decides whether it can be written to.
        let read_only = set_on_b(&root);
        let may = |context: &Context, path: &str| context.access(path, Access::WRITE);
        for _ in 0..3 {
            assert_eq!([may(&one, "p"), may(&two, "p"), may(&one, "."), may(&two, ".")], [Ok(()), Ok(()), Ok(()), read_only]);
        }
        drop((one, two));
        umount(&root, "/b/p");
        umount(&root, "/b");
        drop(root);
        world.end();
    });
}

/// Makes the mount on `/b` read-only; returns the result that a writer gets.
fn set_on_b(context: &Context) -> Result<(), Errno> {
    set(context, "/b", MountFlags::READ_ONLY);
    Err(Errno::EROFS)
}

/// Checks a link that leads from the mount where the walk begins to the mount of its root.
#[test]
fn a_link_leads_to_another_mount() {
    alone(|hash| {
        let world = world(hash);
        let root = admin(&world);
        root.bind("/a", "/b/p", Recursion::Alone).unwrap();
        set(&root, "/b/p", MountFlags::READ_ONLY);
        let mut inside = admin(&world);
        inside.chdir("/b/p").unwrap();
        ["l", "/b/p/l"].iter().for_each(|path| learn(&inside, path));
        for _ in 0..3 {
            let of = |path| (ino(&inside, path), inside.access(path, Access::WRITE));
            assert_eq!([of("l"), of("/b/p/l")], [(Ok(B), Ok(())); 2]);
            assert_eq!([of("p").1, of("/b/p").1], [Err(Errno::EROFS); 2]);
            let [found, there] = ["l", "/b/p/l"].map(|path| inside.lookup(path).unwrap().place().mount());
            assert_eq!([found, there], [inside.root().place().mount(); 2]);
        }
        drop(inside);
        umount(&root, "/b/p");
        drop(root);
        world.end();
    });
}

/// Checks a directory that is moved out from under the root of a mount that shows a part of its
/// file system. The path from the walk's start to its end stays the same.
#[test]
fn the_way_up_is_shown_no_more() {
    explore(|hash| {
        let world = world(hash);
        let root = admin(&world);
        root.bind("/a/p", "/b/p", Recursion::Alone).unwrap();
        let mut inside = admin(&world);
        inside.chdir("/b/p/x/y/z").unwrap();
        ["..", "../z"].iter().for_each(|path| learn(&inside, path));
        changed(&world, &inside, "..", (Ok(9), ABSENT), |world| {
            let dirs = (world.handle("/a/p"), world.handle("/a"));
            internals::rename((&dirs.0, part("x")), (&dirs.1, part("x")), RenameFlags::empty()).unwrap();
        });
        assert!(!is_known(&inside, "..") && !is_known(&inside, "../z"));
        assert_eq!((ino(&inside, "../z"), ino(&inside, ".")), (ABSENT, Ok(10)));
        drop(inside);
        umount(&root, "/b/p");
        drop(root);
        world.end();
    });
}

/// Checks a walk up from a mount to one in which the walk did not begin, and which is not that of
/// its root.
#[test]
fn up_to_a_third_mount() {
    alone(|hash| {
        let world = world(hash);
        let root = admin(&world);
        mount(&root, 10, "/a/p");
        mount(&root, 20, "/a/p/in");
        let mut inside = admin(&world);
        inside.chdir("/a/p/in").unwrap();
        ["../f", "../../p/f"].iter().for_each(|path| learn(&inside, path));
        let may = |path: &str| inside.access(path, Access::WRITE);
        assert_eq!([may("../f"), may("f"), may("../../p/f")], [Ok(()); 3]);
        set(&root, "/a/p", MountFlags::READ_ONLY);
        assert_eq!([may("../f"), may("f"), may("../../p/f")], [Err(Errno::EROFS), Ok(()), Err(Errno::EROFS)]);
        drop(inside);
        umount(&root, "/a/p/in");
        umount(&root, "/a/p");
        drop(root);
        world.end();
    });
}
