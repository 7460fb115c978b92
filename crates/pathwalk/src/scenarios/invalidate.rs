//! Changes that the file system makes by itself and reports: once the report has returned, no walk
//! gives the old answer.

use super::explore;
use super::fs::ROOT;
use super::world::{DIRECTORY, FILE, Hash, World, part};
use crate::node::RenameFlags;
use crate::{Access, At, Credentials, Errno, OpenFlags};

fn world(hash: Hash) -> World {
    World::new(hash, |fs| {
        let dir = fs.plain(ROOT, "dir", DIRECTORY);
        fs.plain(dir, "file", FILE);
        fs.plain(ROOT, "file", FILE);
    })
}

#[test]
fn a_name_that_is_gone_and_comes_back() {
    explore(|hash| {
        let world = world(hash);
        let walkers = [(); 2].map(|()| world.spawn(|world| [(); 2].map(|()| world.exists("/file"))));
        let root = world.root();
        world.fs.take_name(ROOT, "file");
        world.vfs.invalidate(&root, part("file")).unwrap();
        assert_eq!(world.exists("/file"), Err(Errno::ENOENT));
        world.fs.plain(ROOT, "file", FILE);
        world.vfs.invalidate(&root, part("file")).unwrap();
        assert_eq!(world.exists("/file"), Ok(()));
        drop(root);
        for walker in walkers {
            assert!(walker.join().unwrap().iter().all(|answer| [Ok(()), Err(Errno::ENOENT)].contains(answer)));
        }
        assert_eq!(world.exists("/file"), Ok(()));
        world.end();
    });
}

#[test]
fn what_is_below_a_name() {
    explore(|hash| {
        let world = world(hash);
        let walker = world.spawn(|world| _ = world.exists("/dir/file"));
        // This thread pins the directory meanwhile, and goes on from it.
        let inside = world.spawn(|world| _ = world.user().lookup("/dir").map(|dir| dir.path()));
        world.fs.take_name(2, "file");
        world.vfs.invalidate(&world.root(), part("dir")).unwrap();
        assert_eq!(world.exists("/dir/file"), Err(Errno::ENOENT));
        walker.join().unwrap();
        inside.join().unwrap();
        assert_eq!(world.exists("/dir/file"), Err(Errno::ENOENT));
        world.end();
    });
}

#[test]
fn everything_twice_at_once() {
    explore(|hash| {
        let world = world(hash);
        let walker = world.spawn(|world| assert_eq!(world.exists("/dir/none"), Err(Errno::ENOENT)));
        let other = world.spawn(|world| world.vfs.invalidate_subtree(&world.root()).unwrap());
        world.fs.take_name(2, "file");
        world.vfs.invalidate_subtree(&world.root()).unwrap();
        assert_eq!(world.exists("/dir/file"), Err(Errno::ENOENT));
        walker.join().unwrap();
        other.join().unwrap();
        world.end();
    });
}

/// Checks a name that comes back by itself while it is unlinked through the `Vfs`: the negative
/// entry that the unlink leaves does not stay.
#[test]
fn beside_an_unlink() {
    explore(|hash| {
        let world = World::new(hash, |fs| _ = fs.plain(ROOT, "file", FILE));
        let unlinker = world.spawn(|world| world.unlink(&world.root(), "file").unwrap());
        let root = world.root();
        while world.fs.has(ROOT, "file") {
            crate::sync::yield_now();
        }
        world.fs.plain(ROOT, "file", FILE);
        world.vfs.invalidate(&root, part("file")).unwrap();
        drop(root);
        unlinker.join().unwrap();
        assert_eq!(world.exists("/file"), Ok(()));
        world.end();
    });
}

/// Checks a lookup that finds the inode by its key while its name is invalidated: it does not keep
/// the old mode.
#[test]
fn attributes_beside_a_lookup() {
    explore(|hash| {
        let world = world(hash);
        world.exists("/file").unwrap();
        let walker = world.spawn(|world| _ = world.exists("/file"));
        world.fs.set_mode(4, 0o600);
        world.vfs.invalidate(&world.root(), part("file")).unwrap();
        assert_eq!(world.user().access("/file", Access::READ), Err(Errno::EACCES));
        walker.join().unwrap();
        assert_eq!(world.user().access("/file", Access::READ), Err(Errno::EACCES));
        world.end();
    });
}

/// Checks a directory that is dropped while a walk has it pinned: it stays cached, but not under
/// its name, until a change or a walk looks the name up.
#[test]
fn beside_changes_of_a_directory() {
    explore(|hash| {
        let world = world(hash);
        let walker = world.spawn(|world| _ = world.user().lookup("/dir/file").map(|file| file.path()));
        let dropper = world.spawn(|world| world.vfs.invalidate(&world.root(), part("dir")).unwrap());
        let root = world.vfs.context(Credentials::root());
        assert_eq!(root.mkdir("/dir", 0o755), Err(Errno::EEXIST));
        assert_eq!(root.rmdir("/dir"), Err(Errno::ENOTEMPTY));
        assert_eq!(root.renameat(At::Cwd, "/dir", At::Cwd, "/moved", RenameFlags::empty()), Ok(()));
        assert_eq!((world.exists("/dir"), world.exists("/moved/file")), (Err(Errno::ENOENT), Ok(())));
        drop(root);
        walker.join().unwrap();
        dropper.join().unwrap();
        assert_eq!((world.exists("/dir"), world.exists("/moved/file")), (Err(Errno::ENOENT), Ok(())));
        world.end();
    });
}

/// Checks a listing that enters the name while the directory is cached, but not under that name.
#[test]
fn beside_a_listing_of_what_is_held() {
    explore(|hash| {
        let world = world(hash);
        let held = world.handle("/dir");
        let root = world.vfs.context(Credentials::root());
        let dropper = world.spawn(|world| world.vfs.invalidate(&world.root(), part("dir")).unwrap());
        let lister = world.spawn(|world| {
            let root = world.vfs.context(Credentials::root()).open("/", OpenFlags::READ).expect("a directory");
            root.getdents(usize::MAX).expect("it is there");
        });
        assert_eq!(world.exists("/dir/file"), Ok(()));
        assert_eq!(root.renameat(At::Cwd, "/dir", At::Cwd, "/moved", RenameFlags::empty()), Ok(()));
        lister.join().unwrap();
        dropper.join().unwrap();
        assert_eq!((world.exists("/dir"), world.exists("/moved/file")), (Err(Errno::ENOENT), Ok(())));
        assert_eq!(held.path().as_deref(), Ok(&b"/moved"[..]));
        drop((held, root));
        world.end();
    });
}
