//! Walks that cross to mounts without a lock, while the slots that they read are reused.
//!
//! In each scenario the name `late` is below the slot's new content, and a walk by the old path
//! must never arrive there.

use std::sync::Arc;

use super::fs::{ROOT, TestFs};
use super::interrupt;
use super::world::{DIRECTORY, FILE, Hash, World};
use crate::{Access, At, Context, Credentials, Errno, MountFlags, Recursion, RenameFlags, UmountFlags, internals};

const CWD: At<'static> = At::Cwd;

/// Creates `/a/p`, `/b/p`, `/b/q`.
fn fill(fs: &TestFs) {
    let a = fs.plain(ROOT, "a", DIRECTORY);
    fs.plain(a, "p", DIRECTORY);
    let b = fs.plain(ROOT, "b", DIRECTORY);
    fs.plain(b, "p", DIRECTORY);
    fs.plain(b, "q", DIRECTORY);
}

/// Creates a file system with one file.
fn with_file(name: &str) -> Arc<TestFs> {
    let fs = Arc::new(TestFs::new());
    fs.plain(ROOT, name, FILE);
    fs
}

fn admin(world: &World) -> Context {
    world.vfs.context(Credentials::root())
}

fn is_there(context: &Context, path: &str) -> Result<(), Errno> {
    context.access(path, Access::empty())
}

/// Mounts `layers` file systems with the file `late` on top of each other, and walks to the last
/// one's file, so that all of it is cached. A walk that crosses more than one of them leaves its
/// loop.
fn mount_late(context: &Context, path: &str, layers: usize) {
    for _ in 0..layers {
        context.mount(with_file("late"), path, MountFlags::empty()).unwrap();
    }
    is_there(context, &format!("{path}/late")).unwrap();
}

/// Checks a mount that is unmounted while a walk reads its record, which is then reused for another
/// mount. The dentry that it covered is still covered in another namespace.
#[test]
fn a_record_is_used_again() {
    interrupt(|hash| {
        let world = World::with_room(28, hash, fill);
        let context = admin(&world);
        context.mount(with_file("on"), "/a/p", MountFlags::empty()).unwrap();
        let mut apart = context.clone();
        apart.unshare().unwrap();
        is_there(&context, "/a/p/on").unwrap();
        is_there(&context, "/b/p").unwrap();
        let other = world.spawn(|world| {
            let context = admin(world);
            context.umount("/a/p", UmountFlags::DETACH).unwrap();
            mount_late(&context, "/b/p", 1);
        });
        assert_eq!(is_there(&context, "/a/p/late"), Err(Errno::ENOENT));
        other.join().unwrap();
        context.umount("/b/p", UmountFlags::empty()).unwrap();
        drop((context, apart));
        world.end();
    });
}

/// Checks a walk that is some names below the root of a mount that is unmounted. The mount's slot
/// is then reused for another mount of the same file system, in which another mount covers the
/// directory that the walk goes to.
#[test]
fn a_mount_above_is_another() {
    interrupt(|hash| mount_above(hash, 1));
    interrupt(|hash| mount_above(hash, 2));
}

fn mount_above(hash: Hash, layers: usize) {
    let world = World::with_room(36, hash, fill);
    let context = admin(&world);
    let tree = Arc::new(TestFs::new());
    let e = tree.plain(ROOT, "e", DIRECTORY);
    tree.plain(e, "d", DIRECTORY);
    let kept = context.new_tree(tree, MountFlags::empty()).unwrap();
    let bind = |context: &Context, tree: &crate::Handle, to| context.bind_at(tree, "e/..", CWD, to, Recursion::Alone);
    bind(&context, kept.handle(), "/a/p").unwrap();
    is_there(&context, "/a/p/e/d").unwrap();
    is_there(&context, "/b/p").unwrap();
    let handle = kept.handle().clone();
    let other = world.spawn(move |world| {
        let context = admin(world);
        context.umount("/a/p", UmountFlags::DETACH).unwrap();
        bind(&context, &handle, "/b/p").unwrap();
        mount_late(&context, "/b/p/e/d", layers);
    });
    assert_eq!(is_there(&context, "/a/p/e/d/late"), Err(Errno::ENOENT));
    other.join().unwrap();
    context.umount("/b/p", UmountFlags::DETACH).unwrap();
    drop(kept);
    drop(context);
    world.end();
}

/// Checks a covered dentry that is evicted. Its slot is reused for another directory, which is
/// covered as well.
#[test]
fn a_covered_dentry_is_another() {
    interrupt(|hash| covered_dentry(hash, 1));
    interrupt(|hash| covered_dentry(hash, 2));
}

fn covered_dentry(hash: Hash, layers: usize) {
    let world = World::with_room(28, hash, fill);
    let context = admin(&world);
    let pins = ["/a", "/b"].map(|path| context.lookup(path).unwrap());
    context.mount(with_file("on"), "/a/p", MountFlags::empty()).unwrap();
    is_there(&context, "/a/p/on").unwrap();
    let other = world.spawn(move |world| {
        let context = admin(world);
        context.umount("/a/p", UmountFlags::DETACH).unwrap();
        internals::evict_all(context.vfs());
        mount_late(&context, "/b/q", layers);
    });
    assert_eq!(is_there(&context, "/a/p/late"), Err(Errno::ENOENT));
    other.join().unwrap();
    (0..layers).for_each(|_| context.umount("/b/q", UmountFlags::empty()).unwrap());
    drop((pins, context));
    world.end();
}

/// Checks `..` from the root of a mount to the directory of the dentry that it covers. Meanwhile
/// the mount is unmounted, the covered dentry is evicted, and its slot is reused for a name
/// elsewhere.
#[test]
fn a_covered_dentry_is_another_on_the_way_up() {
    interrupt(|hash| {
        let world = World::with_room(28, hash, |fs| {
            let a = fs.plain(ROOT, "a", DIRECTORY);
            fs.plain(a, "p", DIRECTORY);
            let b = fs.plain(ROOT, "b", DIRECTORY);
            fs.plain(b, "late", FILE);
        });
        let context = admin(&world);
        let pins = ["/a", "/b"].map(|path| context.lookup(path).unwrap());
        context.mount(with_file("on"), "/a/p", MountFlags::empty()).unwrap();
        let mut inside = context.clone();
        inside.chdir("/a/p").unwrap();
        assert_eq!(is_there(&inside, "../late"), Err(Errno::ENOENT));
        let other = world.spawn(move |world| {
            let context = admin(world);
            context.umount("/a/p", UmountFlags::DETACH).unwrap();
            internals::evict_all(context.vfs());
            is_there(&context, "/b/late").unwrap();
        });
        assert_eq!(is_there(&inside, "../late"), Err(Errno::ENOENT));
        other.join().unwrap();
        drop((pins, inside, context));
        world.end();
    });
}

/// Checks a mount on another mount that is unmounted while a walk crosses it; its root's slot is
/// reused for a directory. The place that it covered is still covered in another namespace.
#[test]
fn a_root_is_another() {
    interrupt(|hash| {
        let world = World::with_room(24, hash, |fs| {
            fill(fs);
            let c = fs.plain(ROOT, "c", DIRECTORY);
            fs.plain(c, "late", FILE);
        });
        let context = admin(&world);
        let mount = |context: &Context, name| context.mount(with_file(name), "/a/p", MountFlags::empty()).unwrap();
        mount(&context, "below");
        let mut apart = context.clone();
        apart.unshare().unwrap();
        mount(&apart, "apart");
        mount(&context, "on");
        is_there(&context, "/a/p/on").unwrap();
        let gone = context.clone();
        let other = world.spawn(move |_| {
            gone.umount("/a/p", UmountFlags::DETACH).unwrap();
            is_there(&gone, "/c/late").unwrap();
        });
        assert_eq!(is_there(&context, "/a/p/late"), Err(Errno::ENOENT));
        other.join().unwrap();
        drop(apart);
        context.umount("/a/p", UmountFlags::empty()).unwrap();
        drop(context);
        world.end();
    });
}

/// Checks `/d/e/g`, which is seen through a bind of `/d/e` and is moved out of it, beside a way
/// down to it and up again: `..` does not lead out of what the bind shows (Linux:
/// `path_connected`).
#[test]
fn a_directory_is_moved_out_of_a_bind() {
    fn fill(fs: &TestFs) {
        let d = fs.plain(ROOT, "d", DIRECTORY);
        let e = fs.plain(d, "e", DIRECTORY);
        fs.plain(e, "g", DIRECTORY);
        let out = fs.plain(ROOT, "out", DIRECTORY);
        fs.plain(out, "late", FILE);
        fs.plain(ROOT, "x", DIRECTORY);
    }
    interrupt(|hash| {
        let world = World::with_room(28, hash, fill);
        let context = admin(&world);
        context.bind("/d/e", "/x", Recursion::Alone).unwrap();
        ["/x/g", "/out/late"].iter().for_each(|path| is_there(&context, path).unwrap());
        assert_eq!(is_there(&context, "/x/late"), Err(Errno::ENOENT));
        let mut inside = context.clone();
        inside.chdir("/x/g").unwrap();
        let other = world.spawn(|world| {
            let context = admin(world);
            context.renameat(CWD, "/d/e/g", CWD, "/out/g", RenameFlags::empty()).unwrap();
        });
        for (context, path) in [(&context, "/x/g/../late"), (&inside, "../late")] {
            assert_eq!(is_there(context, path), Err(Errno::ENOENT), "{path}");
        }
        other.join().unwrap();
        assert_eq!((is_there(&inside, ".."), is_there(&inside, ".")), (Err(Errno::ENOENT), Ok(())));
        drop(inside);
        context.umount("/x", UmountFlags::empty()).unwrap();
        drop(context);
        world.end();
    });
}

/// Checks the same with the bind unmounted: its slot is reused for a bind of the directory to which
/// `g` was moved.
#[test]
fn a_bind_is_another_when_a_directory_was_moved_out() {
    fn fill(fs: &TestFs) {
        let d = fs.plain(ROOT, "d", DIRECTORY);
        let e = fs.plain(d, "e", DIRECTORY);
        let g = fs.plain(e, "g", DIRECTORY);
        fs.plain(g, "h", DIRECTORY);
        let out = fs.plain(ROOT, "out", DIRECTORY);
        fs.plain(out, "late", FILE);
        fs.plain(ROOT, "x", DIRECTORY);
    }
    interrupt(|hash| {
        let world = World::with_room(32, hash, fill);
        let context = admin(&world);
        context.bind("/d/e", "/x", Recursion::Alone).unwrap();
        ["/x/g/h", "/out/late"].iter().for_each(|path| is_there(&context, path).unwrap());
        let other = world.spawn(|world| {
            let context = admin(world);
            context.renameat(CWD, "/d/e/g", CWD, "/out/g", RenameFlags::empty()).unwrap();
            context.umount("/x", UmountFlags::DETACH).unwrap();
            context.bind("/out", "/d", Recursion::Alone).unwrap();
        });
        assert_eq!(is_there(&context, "/x/g/h/../../late"), Err(Errno::ENOENT));
        other.join().unwrap();
        context.umount("/d", UmountFlags::empty()).unwrap();
        drop(context);
        world.end();
    });
}

/// Checks a walk that began before anything was mounted. While it is in a link's body, or behind a
/// link, a directory on its way is covered in another mount. The walk goes on, and does not repeat
/// the same step for ever.
#[test]
fn a_directory_behind_a_link_is_covered_in_another_mount() {
    fn fill(fs: &TestFs) {
        let d = fs.plain(ROOT, "d", DIRECTORY);
        let e = fs.plain(d, "e", DIRECTORY);
        fs.plain(e, "f", FILE);
        fs.add_link(ROOT, "through", "d/e");
        fs.add_link(ROOT, "before", ".");
    }
    fn walk(hash: Hash, path: &str) {
        let world = World::with_room(28, hash, fill);
        let context = admin(&world);
        let mut apart = context.clone();
        apart.unshare().unwrap();
        // Everything is cached, and the path is not in the memo.
        ["/d/e/f", "/through", "/before"].iter().for_each(|path| is_there(&context, path).unwrap());
        let there = apart.clone();
        let other = world.spawn(move |_| there.mount(with_file("late"), "/d", MountFlags::empty()).unwrap());
        assert_eq!(is_there(&context, path), Ok(()));
        other.join().unwrap();
        assert_eq!(is_there(&apart, path), Err(Errno::ENOENT));
        drop((apart, context));
        world.end();
    }
    interrupt(|hash| walk(hash, "/through/f"));
    interrupt(|hash| walk(hash, "/before/d/e/f"));
}
