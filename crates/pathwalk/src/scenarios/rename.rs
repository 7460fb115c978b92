//! Renames beside walks: a replaced name is never absent, and a moved name is in one place or the
//! other.

use super::fs::{ROOT, TestFs};
use super::world::{DIRECTORY, FILE, Hash, World, part};
use super::{explore, interrupt};
use crate::node::RenameFlags;
use crate::{Access, At, Credentials, Errno, LinkFlags, internals};

const OLD: u64 = 2;
const NEW: u64 = 3;

fn two_files(fs: &TestFs) {
    assert_eq!(fs.plain(ROOT, "old", FILE), OLD.into());
    assert_eq!(fs.plain(ROOT, "new", FILE), NEW.into());
}

#[test]
fn a_name_that_is_replaced_is_never_absent() {
    explore(|hash| {
        let world = World::new(hash, two_files);
        // Everything may be cached by then, or nothing.
        let walker = world.spawn(|world| {
            let seen = [(); 3].map(|()| world.ino("/old").expect("it is there all the time"));
            assert!(seen.is_sorted(), "back to what was replaced: {seen:?}");
        });
        let evictor = world.spawn(|world| world.evict(2));
        let root = world.root();
        internals::rename((&root, part("new")), (&root, part("old")), RenameFlags::empty()).unwrap();
        assert_eq!(world.ino("/old"), Ok(NEW));
        assert_eq!(world.ino("/new"), Err(Errno::ENOENT));
        drop(root);
        walker.join().unwrap();
        evictor.join().unwrap();
        world.end();
    });
}

#[test]
fn what_is_moved_between_directories_is_in_one_of_them() {
    explore(|hash| {
        let world = World::new(hash, |fs| {
            let from = fs.plain(ROOT, "from", DIRECTORY);
            fs.plain(ROOT, "to", DIRECTORY);
            fs.plain(from, "file", FILE);
        });
        let walker = world.spawn(|world| {
            // A walk that looks at the old place and then the new one finds it in at least one; in
            // the other order, it does not find it in both.
            let (gone, come) = (world.exists("/from/file"), world.exists("/to/file"));
            assert!(gone.is_ok() || come.is_ok(), "{gone:?}, {come:?}");
            let (come, gone) = (world.exists("/to/file"), world.exists("/from/file"));
            assert!(come.is_err() || gone.is_err());
        });
        let (from, to) = (world.handle("/from"), world.handle("/to"));
        internals::rename((&from, part("file")), (&to, part("file")), RenameFlags::empty()).unwrap();
        assert_eq!((world.exists("/from/file"), world.exists("/to/file")), (Err(Errno::ENOENT), Ok(())));
        drop((from, to));
        walker.join().unwrap();
        world.end();
    });
}

#[test]
fn names_that_are_exchanged_are_both_there() {
    explore(|hash| {
        let world = World::new(hash, two_files);
        let walker = world.spawn(|world| {
            for path in ["/old", "/new", "/old"] {
                let ino = world.ino(path).expect("it is there all the time");
                assert!([OLD, NEW].contains(&ino));
            }
        });
        let root = world.root();
        internals::rename((&root, part("old")), (&root, part("new")), RenameFlags::EXCHANGE).unwrap();
        assert_eq!((world.ino("/old"), world.ino("/new")), (Ok(NEW), Ok(OLD)));
        drop(root);
        walker.join().unwrap();
        world.end();
    });
}

/// Checks a directory that is moved between the read-ahead and the walks: each walk finds it where
/// it is by then.
#[test]
fn a_directory_that_is_moved_behind_the_look_ahead() {
    interrupt(|hash| {
        let world = World::new(hash, |fs| {
            let [one, _] = ["one", "two"].map(|name| fs.plain(ROOT, name, DIRECTORY));
            let moved = fs.plain(one, "moved", DIRECTORY);
            fs.plain(moved, "file", FILE);
        });
        let walker = world.spawn(|world| {
            let context = world.vfs.context(Credentials::root());
            // From the old place to the new one: the directory is met in one at least, and then
            // stays there.
            let paths = ["/one/moved/file", "/two/moved/file", "/one/moved/file", "/two/moved/file"];
            let found: Vec<_> = context.access_many(&paths, Access::empty()).collect();
            assert!(found[0].is_ok() || found[1].is_ok(), "{found:?}");
            assert!(found[0].is_ok() || found[2].is_err() && found[3].is_ok(), "{found:?}");
        });
        let (one, two) = (world.handle("/one"), world.handle("/two"));
        internals::rename((&one, part("moved")), (&two, part("moved")), RenameFlags::empty()).unwrap();
        drop((one, two));
        walker.join().unwrap();
        world.end();
    });
}

/// Checks a name over 32 bytes, whose side lines pass to another dentry in a rename.
#[test]
fn a_long_name_is_whole() {
    fn long(last: char) -> String {
        format!("a name that does not fit into one line of memory {last}")
    }
    fn check(hash: Hash) {
        let world = World::with_room(64, hash, |fs| _ = fs.plain(ROOT, &long('a'), FILE));
        let walker = world.spawn(|world| {
            let (gone, come) = (world.exists(&long('a')), world.exists(&long('b')));
            assert!(gone.is_ok() || come.is_ok());
            assert_eq!(world.exists(&long('c')), Err(Errno::ENOENT));
        });
        let root = world.root();
        internals::rename((&root, part(&long('a'))), (&root, part(&long('b'))), RenameFlags::empty()).unwrap();
        drop(root);
        walker.join().unwrap();
        world.end();
    }
    explore(check);
}

/// Checks a negative dentry that a rename moves to the old name, where it is filled anew: a walk to
/// its former name never ends at the new node.
#[test]
fn an_absence_that_is_moved_and_filled() {
    explore(|hash| {
        let world = World::new(hash, two_files);
        // The walk pins the dentry, and looks afterwards at whether it is negative.
        let walker = world.spawn(|world| world.ino("/gone"));
        let root = world.root();
        internals::rename((&root, part("old")), (&root, part("gone")), RenameFlags::empty()).unwrap();
        drop((world.create(&root, "old").unwrap(), root));
        let found = walker.join().unwrap();
        assert!(matches!(found, Err(Errno::ENOENT) | Ok(OLD)), "{found:?} never had that name");
        world.end();
    });
}

/// Checks that a file that loses its last name does not get another one in another directory.
#[test]
fn what_is_replaced_gets_no_name_again() {
    interrupt(|hash| {
        let world = World::new(hash, |fs| {
            let dir = fs.plain(ROOT, "d", DIRECTORY);
            ["old", "new"].iter().for_each(|name| _ = fs.plain(dir, name, FILE));
        });
        let root = world.vfs.context(Credentials::root());
        let (old, ino) = (world.handle("/d/old"), world.ino("/d/old").unwrap());
        let linker = world.spawn({
            let (root, old) = (root.clone(), old.clone());
            move |_| root.linkat(&old, "", At::Cwd, "/again", LinkFlags::EMPTY_PATH)
        });
        root.renameat(At::Cwd, "/d/new", At::Cwd, "/d/old", RenameFlags::empty()).unwrap();
        let linked = linker.join().unwrap();
        assert!(matches!(linked, Ok(()) | Err(Errno::ENOENT)), "{linked:?}");
        assert_eq!(world.ino("/again").ok(), linked.ok().map(|()| ino));
        drop((root, old));
        world.end();
    });
}
