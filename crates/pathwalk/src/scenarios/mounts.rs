//! Walks beside mounts that come, go and move.

use std::sync::Arc;

use super::explore;
use super::fs::{ROOT, TestFs};
use super::thread::JoinHandle;
use super::world::{DIRECTORY, FILE, World};
use crate::sync::{AtomicU64, Ordering};
use crate::{Access, AtFlags, Context, Credentials, Errno, MountFlags, OpenFlags, Recursion, UmountFlags};

const NONE: MountFlags = MountFlags::empty();

/// Creates `/a/p`, `/b/p`, and in `/a/p` the file `below`.
fn fill(fs: &TestFs) {
    let a = fs.plain(ROOT, "a", DIRECTORY);
    let p = fs.plain(a, "p", DIRECTORY);
    fs.plain(p, "below", FILE);
    let b = fs.plain(ROOT, "b", DIRECTORY);
    fs.plain(b, "p", DIRECTORY);
}

/// Creates a file system with the file `on`.
fn other() -> Arc<TestFs> {
    let fs = Arc::new(TestFs::new());
    fs.plain(ROOT, "on", FILE);
    fs
}

fn admin(world: &World) -> Context {
    world.vfs.context(Credentials::root())
}

fn beside(world: &World, act: impl FnOnce(&Context) + Send + 'static) -> JoinHandle<()> {
    world.spawn(move |world| act(&admin(world)))
}

fn is_there(context: &Context, path: &str) -> Result<(), Errno> {
    context.access(path, Access::empty())
}

/// Checks that the covered directory is seen until the mount is seen, and never both or neither.
#[test]
fn a_mount_beside_a_walk() {
    explore(|hash| {
        let world = World::with_room(20, hash, fill);
        let (fs, context) = (other(), admin(&world));
        is_there(&context, "/a/p/below").unwrap();
        let mounted = fs.clone();
        let mounter = beside(&world, move |context| context.mount(mounted, "/a/p", NONE).unwrap());
        let (on, below) = (is_there(&context, "/a/p/on"), is_there(&context, "/a/p/below"));
        assert!(on.is_err() || below == Err(Errno::ENOENT), "what was covered is seen after what covers it");
        mounter.join().unwrap();
        assert_eq!((is_there(&context, "/a/p/on"), is_there(&context, "/a/p/below")), (Ok(()), Err(Errno::ENOENT)));
        context.umount("/a/p", UmountFlags::empty()).unwrap();
        assert_eq!(fs.held(), [], "it was forgotten with its last mount");
        drop(context);
        world.end();
    });
}

/// Checks that held parts of an unmounted file system stay, and nothing else.
#[test]
fn an_unmount_beside_a_walk() {
    explore(|hash| {
        let world = World::with_room(20, hash, fill);
        let (fs, context) = (other(), admin(&world));
        context.mount(fs.clone(), "/a/p", NONE).unwrap();
        is_there(&context, "/a/p/on").unwrap();
        let unmounter = beside(&world, |context| {
            let done = context.umount("/a/p", UmountFlags::empty());
            assert!(matches!(done, Ok(()) | Err(Errno::EBUSY)), "{done:?}");
            if done.is_err() {
                context.umount("/a/p", UmountFlags::DETACH).unwrap();
            }
        });
        let file = context.open("/a/p/on", OpenFlags::PATH);
        assert!(matches!(file, Ok(_) | Err(Errno::ENOENT)), "{:?}", file.as_ref().err());
        let below = is_there(&context, "/a/p/below");
        assert!(matches!(below, Ok(()) | Err(Errno::ENOENT)));
        unmounter.join().unwrap();
        assert_eq!(is_there(&context, "/a/p/below"), Ok(()));
        if let Ok(file) = &file {
            assert_eq!(file.handle().attributes().map(|of| of.ino), Ok(2), "what is held is what it was");
        }
        drop(file);
        assert_eq!(fs.held(), []);
        drop(context);
        world.end();
    });
}

/// Checks that `..` from the root of a moved mount leads to one of the two places, and to nothing
/// between.
#[test]
fn a_move_beside_a_way_up() {
    explore(|hash| {
        let world = World::with_room(20, hash, fill);
        let (fs, context) = (other(), admin(&world));
        context.mount(fs.clone(), "/a/p", NONE).unwrap();
        let inside = context.lookup("/a/p").unwrap();
        let parents = ["/a", "/b"].map(|path| context.stat(path).unwrap().ino);
        let mover = beside(&world, |context| context.move_mount("/a/p", "/b/p").unwrap());
        for _ in 0..2 {
            let up = context.fstatat(&inside, "..", AtFlags::empty()).unwrap().ino;
            assert!(parents.contains(&up), "{up}");
            let two = context.fstatat(&inside, "../p/on", AtFlags::empty());
            assert!(matches!(two, Ok(_) | Err(Errno::ENOENT)));
        }
        mover.join().unwrap();
        assert_eq!(context.fstatat(&inside, "..", AtFlags::empty()).unwrap().ino, parents[1]);
        drop(inside);
        context.umount("/b/p", UmountFlags::empty()).unwrap();
        assert_eq!(fs.held(), []);
        drop(context);
        world.end();
    });
}

/// Checks `..` where the slot of the covered dentry holds another dentry by the time that the walk
/// comes to it.
#[test]
fn a_lazy_unmount_beside_a_way_up() {
    explore(|hash| {
        let world = World::with_room(20, hash, fill);
        let (fs, context) = (other(), admin(&world));
        context.mount(fs.clone(), "/a/p", NONE).unwrap();
        let inside = context.lookup("/a/p").unwrap();
        let (above, own) = (context.stat("/a").unwrap().ino, inside.attributes().unwrap().ino);
        let unmounter = beside(&world, |context| {
            context.umount("/a/p", UmountFlags::DETACH).unwrap();
            crate::internals::evict_all(context.vfs());
            // The slots are reused elsewhere.
            for path in ["/b/p/x", "/b/p/y", "/b/x", "/a/p/below"] {
                _ = is_there(context, path);
            }
        });
        let up = context.fstatat(&inside, "..", AtFlags::empty()).map(|of| of.ino);
        assert!(up == Ok(above) || up == Ok(own), "{up:?}");
        unmounter.join().unwrap();
        drop(inside);
        assert_eq!(fs.held(), []);
        drop(context);
        world.end();
    });
}

/// Checks that a moved mount is at one of the two places: it leaves the first only once it is at
/// the second.
#[test]
fn a_move_beside_walks_down() {
    explore(|hash| {
        let world = World::with_room(20, hash, fill);
        let (fs, context) = (other(), admin(&world));
        // Negative dentries are cached, so that walks take few steps.
        for path in ["/a/p/on", "/b/p/on"] {
            assert_eq!(is_there(&context, path), Err(Errno::ENOENT));
        }
        context.mount(fs.clone(), "/a/p", NONE).unwrap();
        is_there(&context, "/a/p/on").unwrap();
        let mover = beside(&world, |context| context.move_mount("/a/p", "/b/p").unwrap());
        if is_there(&context, "/a/p/on").is_err() {
            assert_eq!(is_there(&context, "/b/p/on"), Ok(()), "it is nowhere");
        }
        mover.join().unwrap();
        context.umount("/b/p", UmountFlags::empty()).unwrap();
        assert_eq!(fs.held(), []);
        drop(context);
        world.end();
    });
}

/// Checks a namespace that ends while a walk in another one passes the same directories.
#[test]
fn a_namespace_goes_beside_a_walk() {
    explore(|hash| {
        let world = World::with_room(20, hash, fill);
        let (fs, context) = (other(), admin(&world));
        let mut second = admin(&world);
        second.unshare().unwrap();
        second.mount(fs.clone(), "/a/p", NONE).unwrap();
        is_there(&context, "/a/p/below").unwrap();
        let dropper = world.spawn(move |_| drop(second));
        for _ in 0..2 {
            assert_eq!(is_there(&context, "/a/p/below"), Ok(()), "it is covered in the other namespace only");
        }
        dropper.join().unwrap();
        assert_eq!(fs.held(), []);
        drop(context);
        world.end();
    });
}

/// Checks a directory that is removed while a file system is being mounted on it.
#[test]
fn a_mount_point_is_removed() {
    explore(|hash| {
        let world = World::with_room(20, hash, fill);
        let (fs, context) = (other(), admin(&world));
        let mut apart = admin(&world);
        apart.unshare().unwrap();
        let (mounted, there) = (fs.clone(), apart.clone());
        let mounter = beside(&world, move |_| {
            let done = there.mount(mounted, "/b/p", NONE);
            assert!(matches!(done, Ok(()) | Err(Errno::ENOENT)), "{done:?}");
        });
        context.rmdir("/b/p").unwrap();
        mounter.join().unwrap();
        assert_eq!((apart.mountinfo().len(), fs.held()), (1, vec![]), "it went with its mount point");
        assert_eq!(is_there(&context, "/b/p"), Err(Errno::ENOENT));
        drop((context, apart));
        world.end();
    });
}

/// Checks two threads that mount and unmount in peers of each other.
#[test]
fn peers_mount_for_each_other() {
    explore(|hash| {
        let world = World::with_room(24, hash, fill);
        let context = admin(&world);
        context.bind("/a", "/a", Recursion::Alone).unwrap();
        let shared = crate::MountAttributes { propagation: Some(crate::Propagation::Shared), ..Default::default() };
        context.mount_setattr("/a", &shared, Recursion::Alone).unwrap();
        context.bind("/a", "/b", Recursion::Alone).unwrap();
        let (one, two) = (other(), other());
        let first = one.clone();
        let mounter = beside(&world, move |context| {
            context.mount(first, "/b/p", NONE).unwrap();
        });
        context.mount(two.clone(), "/a/p", NONE).unwrap();
        mounter.join().unwrap();
        assert_eq!(context.mountinfo().len(), 7);
        assert_eq!((is_there(&context, "/a/p/on"), is_there(&context, "/b/p/on")), (Ok(()), Ok(())));
        for path in ["/a/p", "/a/p", "/b", "/a"] {
            context.umount(path, UmountFlags::DETACH).unwrap();
        }
        assert_eq!((one.held(), two.held()), (vec![], vec![]));
        drop(context);
        world.end();
    });
}

/// Checks a writer beside a remount. If the writer comes first, the remount is refused or comes
/// after it; else the writer is refused. Once the remount is done, nothing is written.
#[test]
fn a_remount_beside_a_writer() {
    explore(|hash| {
        let world = World::with_room(20, hash, fill);
        let (fs, context) = (other(), admin(&world));
        context.mount(fs.clone(), "/a/p", NONE).unwrap();
        context.bind("/a/p", "/b/p", Recursion::Alone).unwrap();
        let is_read_only = Arc::new(AtomicU64::new(0));
        let (below, told) = (fs.clone(), is_read_only.clone());
        let remounter = beside(&world, move |context| {
            match context.remount("/a/p", MountFlags::READ_ONLY) {
                Ok(()) => told.store(1, Ordering::SeqCst),
                Err(errno) => assert_eq!(errno, Errno::EBUSY),
            }
            // From here on the remount's result does not change.
            let before = below.has(ROOT, "made");
            crate::sync::yield_now();
            assert!(told.load(Ordering::SeqCst) == 0 || before == below.has(ROOT, "made"), "written to when it was read-only");
        });
        // Through the other mount.
        let file = context.open("/b/p/on", OpenFlags::WRITE);
        let was_read_only = is_read_only.load(Ordering::SeqCst) == 1;
        match &file {
            Ok(_) => assert!(!was_read_only, "opened to be written to when it was read-only"),
            Err(errno) => assert_eq!(*errno, Errno::EROFS),
        }
        let made = context.mkdir("/b/p/made", 0o755);
        assert!(matches!(made, Ok(()) | Err(Errno::EROFS)), "{made:?}");
        remounter.join().unwrap();
        let is_read_only = is_read_only.load(Ordering::SeqCst) == 1;
        assert!(file.is_err() || !is_read_only, "a file is open to be written to");
        assert_eq!(fs.has(ROOT, "made"), made.is_ok());
        let again = context.mkdir("/a/p/again", 0o755);
        assert_eq!(again, if is_read_only { Err(Errno::EROFS) } else { Ok(()) });
        drop(file);
        context.umount("/b/p", UmountFlags::empty()).unwrap();
        context.umount("/a/p", UmountFlags::empty()).unwrap();
        assert_eq!(fs.held(), []);
        drop(context);
        world.end();
    });
}

/// Checks mounts of a file system that come and go while it becomes read-only: those that stay are
/// read-only.
#[test]
fn a_remount_beside_mounts_that_come_and_go() {
    explore(|hash| {
        let world = World::with_room(20, hash, fill);
        let (fs, context) = (other(), admin(&world));
        context.mount(fs.clone(), "/a/p", NONE).unwrap();
        context.bind("/a/p", "/b/p", Recursion::Alone).unwrap();
        let held = context.lookup("/b/p").unwrap();
        context.umount("/b/p", UmountFlags::DETACH).unwrap();
        context.bind("/a/p", "/b/p", Recursion::Alone).unwrap();
        let (remounter, binder) = (
            beside(&world, |context| context.remount("/a/p", MountFlags::READ_ONLY).unwrap()),
            // A copy of a mount that is not read-only itself, on top of it.
            beside(&world, |context| context.bind("/b/p", "/b/p", Recursion::Alone).unwrap()),
        );
        // A mount that was unmounted ends.
        drop(held);
        remounter.join().unwrap();
        binder.join().unwrap();
        for path in ["/a/p", "/b/p"] {
            assert_eq!(context.access(path, Access::WRITE), Err(Errno::EROFS));
            assert_eq!(context.mkdir(format!("{path}/new"), 0o755), Err(Errno::EROFS));
        }
        context.remount("/a/p", NONE).unwrap();
        context.mkdir("/a/p/new", 0o755).unwrap();
        for path in ["/a/p", "/b/p", "/b/p"] {
            context.umount(path, UmountFlags::empty()).unwrap();
        }
        assert_eq!(fs.held(), []);
        drop(context);
        world.end();
    });
}
