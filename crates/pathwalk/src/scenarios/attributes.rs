//! Permission checks beside walks: once a change has returned, no walk answers by the mode before.

use super::fs::ROOT;
use super::world::{DIRECTORY, FILE, Hash, World};
use super::{explore, interrupt};
use crate::{Access, Credentials, Errno};

fn world(hash: Hash) -> World {
    World::new(hash, |fs| {
        let dir = fs.plain(ROOT, "dir", DIRECTORY);
        let file = fs.plain(dir, "file", FILE);
        fs.add_name(ROOT, "other", file);
    })
}

/// Returns two answers of a walk: by the cached state, and by the file system.
fn twice(world: &World, path: &str) -> [Result<(), Errno>; 2] {
    let ask = || world.user().access(path, Access::READ);
    let cached = ask();
    world.evict(4);
    [cached, ask()]
}

#[test]
fn search_is_refused_once_it_is() {
    explore(|hash| {
        let world = world(hash);
        let walkers = [(); 2].map(|()| world.spawn(|world| _ = world.exists("/dir/file")));
        let evictor = world.spawn(|world| world.evict(3));
        world.chmod(&world.handle("/dir"), 0o700);
        assert_eq!(world.exists("/dir/file"), Err(Errno::EACCES));
        walkers.into_iter().chain([evictor]).for_each(|thread| thread.join().unwrap());
        assert_eq!(twice(&world, "/dir/file"), [Err(Errno::EACCES); 2]);
        world.chmod(&world.handle("/dir"), 0o711);
        assert_eq!(twice(&world, "/dir/file"), [Ok(()); 2]);
        world.end();
    });
}

#[test]
fn search_goes_with_the_owner() {
    explore(|hash| {
        let world = world(hash);
        let root = world.vfs.context(Credentials::root());
        root.chmod("/dir", 0o700).unwrap();
        root.chown("/dir", Some(1000), None).unwrap();
        let walkers = [(); 2].map(|()| world.spawn(|world| _ = world.exists("/dir/file")));
        let evictor = world.spawn(|world| world.evict(3));
        root.chown("/dir", Some(0), None).unwrap();
        assert_eq!(world.exists("/dir/file"), Err(Errno::EACCES));
        walkers.into_iter().chain([evictor]).for_each(|thread| thread.join().unwrap());
        assert_eq!(twice(&world, "/dir/file"), [Err(Errno::EACCES); 2]);
        drop(root);
        world.end();
    });
}

#[test]
fn two_changes_and_a_walk() {
    explore(|hash| {
        let world = world(hash);
        let walker = world.spawn(|world| _ = world.exists("/dir/file"));
        let other = world.spawn(|world| world.chmod(&world.handle("/dir"), 0o700));
        world.chmod(&world.handle("/dir"), 0o711);
        walker.join().unwrap();
        other.join().unwrap();
        // Whichever change came last, the cache says what the file system says.
        let said = twice(&world, "/dir/file");
        assert_eq!(said[0], said[1]);
        world.end();
    });
}

/// Checks a file with two names: one is instantiated while the mode is set through the other, and
/// is evicted at once.
#[test]
fn the_other_name_of_a_file() {
    explore(|hash| {
        let world = world(hash);
        let walker = world.spawn(|world| _ = world.user().access("/other", Access::READ));
        let second = world.spawn(|world| _ = world.user().access("/other", Access::READ));
        world.chmod(&world.handle("/dir/file"), 0o600);
        world.evict(2);
        let read = |path: &str| world.user().access(path, Access::READ);
        assert_eq!((read("/other"), read("/dir/file")), (Err(Errno::EACCES), Err(Errno::EACCES)));
        walker.join().unwrap();
        second.join().unwrap();
        assert_eq!((twice(&world, "/other"), twice(&world, "/dir/file")), ([Err(Errno::EACCES); 2], [Err(Errno::EACCES); 2]));
        world.end();
    });
}

/// Checks a mode that changes without the engine, which is then told: a refresh that began before
/// does not undo the change.
#[test]
fn a_refresh_beside_another() {
    explore(|hash| {
        let world = world(hash);
        let dir = world.handle("/dir");
        let early = world.spawn({
            let dir = dir.clone();
            move |world| _ = world.vfs.refresh(&dir)
        });
        let walker = world.spawn(|world| _ = world.exists("/dir/file"));
        world.fs.set_mode(2, 0o700);
        world.vfs.refresh(&dir).unwrap();
        assert_eq!(world.exists("/dir/file"), Err(Errno::EACCES));
        early.join().unwrap();
        walker.join().unwrap();
        assert_eq!(world.exists("/dir/file"), Err(Errno::EACCES));
        drop(dir);
        world.end();
    });
}

/// Checks that a check of rights takes owner and mode as of one instant. Neither the old ones nor
/// the new ones let the user read, but the old mode would with the new owner, and the new mode with
/// the old owner.
#[test]
fn an_owner_and_a_mode_that_change_together() {
    interrupt(|hash| {
        const FILE_KEY: u128 = 2;
        let world = World::new(hash, |fs| {
            assert_eq!(fs.plain(ROOT, "file", FILE), FILE_KEY);
            fs.alter(FILE_KEY, |file| (file.uid, file.mode) = (1000, 0o044));
        });
        let file = world.handle("/file");
        let walker = world.spawn(|world| {
            let read = [(); 2].map(|()| world.user().access("/file", Access::READ));
            assert_eq!(read, [Err(Errno::EACCES); 2]);
        });
        world.fs.alter(FILE_KEY, |file| (file.uid, file.mode) = (0, 0o400));
        world.vfs.refresh(&file).unwrap();
        assert_eq!(twice(&world, "/file"), [Err(Errno::EACCES); 2]);
        walker.join().unwrap();
        drop(file);
        world.end();
    });
}

/// Checks a file with two names that loses one, whose entry was its only cached one, while the
/// other name is looked up.
#[test]
fn links_are_counted_anew_when_a_name_goes() {
    explore(|hash| {
        let world = world(hash);
        let dir = world.handle("/dir");
        let looker = world.spawn(|world| _ = world.user().stat("/other"));
        world.unlink(&dir, "file").unwrap();
        looker.join().unwrap();
        assert_eq!(world.user().stat("/other").map(|other| other.nlink), Ok(1));
        drop(dir);
        world.end();
    });
}

/// Checks the same with one name more: when the looking thread's answer arrives, the inode was
/// marked, refreshed and evicted.
#[test]
fn links_are_counted_anew_of_what_is_gone_again() {
    explore(|hash| {
        let world = world(hash);
        world.fs.add_name(ROOT, "third", 3);
        let looker = world.spawn(|world| _ = world.user().stat("/other"));
        world.unlink(&world.root(), "third").unwrap();
        assert_eq!(world.user().stat("/dir/file").map(|file| file.nlink), Ok(2));
        world.evict(3);
        looker.join().unwrap();
        assert_eq!(world.user().stat("/other").map(|other| other.nlink), Ok(2));
        world.end();
    });
}

/// Checks that a path leads to a node that has a name, or to none.
#[test]
fn of_what_is_being_unlinked() {
    explore(|hash| {
        let world = World::new(hash, |fs| {
            fs.plain(ROOT, "dir", DIRECTORY);
            fs.plain(ROOT, "file", FILE);
        });
        let askers =
            [(); 2].map(|()| world.spawn(|world| ["/file", "/dir"].map(|path| world.user().stat(path).map(|found| found.nlink))));
        let root = world.root();
        world.chmod(&world.handle("/file"), 0o600);
        world.unlink(&root, "file").unwrap();
        world.unlink(&root, "dir").unwrap();
        drop(root);
        for asker in askers {
            let answers = asker.join().unwrap();
            assert!(answers.iter().all(|answer| matches!(answer, Ok(1) | Err(Errno::ENOENT))), "{answers:?}");
        }
        world.end();
    });
}
