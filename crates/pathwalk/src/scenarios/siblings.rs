//! Siblings, the other names of a directory, that are read and entered beside threads that change,
//! evict, list, drop and look up names. An existing name is never reported as absent, and an absent
//! one is never found.

use super::explore;
use super::fs::{Fault, ROOT};
use super::thread::JoinHandle;
use super::world::{DIRECTORY, FILE, Hash, World, part};
use crate::node::RenameFlags;
use crate::{At, Context, Credentials, Errno, OpenFlags};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const ABSENT: Result<(), Errno> = Err(Errno::ENOENT);

/// Creates six files and a directory with a file `g`. Three names were looked up, so the lookup of
/// the fourth reads all.
fn world(hash: Hash) -> World {
    let world = World::with_room(30, hash, |fs| {
        NAMES.iter().for_each(|name| _ = fs.plain(ROOT, name, FILE));
        let dir = fs.plain(ROOT, "dir", DIRECTORY);
        fs.plain(dir, "g", FILE);
        fs.tell_siblings();
    });
    NAMES[..3].iter().for_each(|name| assert_eq!(exists(&world, name), Ok(())));
    world
}

fn exists(world: &World, name: &str) -> Result<(), Errno> {
    world.exists(&format!("/{name}"))
}

fn root(world: &World) -> Context {
    world.vfs.context(Credentials::root())
}

/// Spawns a thread that looks the fourth name up.
fn reader(world: &World) -> JoinHandle<()> {
    world.spawn(|world| assert_eq!(exists(world, "d"), Ok(())))
}

/// Checks, when all threads have ended, that these names exist and no others: by the cache first,
/// and then by the file system.
fn check(world: World, there: &[&str], absent: &[&str]) {
    for _ in 0..2 {
        there.iter().for_each(|name| assert_eq!(exists(&world, name), Ok(()), "{name}"));
        absent.iter().chain(&["none"]).for_each(|name| assert_eq!(exists(&world, name), ABSENT, "{name}"));
        world.evict(40);
    }
    world.end();
}

#[test]
fn beside_one_who_makes_and_unlinks() {
    explore(|hash| {
        let world = world(hash);
        let reader = reader(&world);
        let maker = world.spawn(|world| {
            drop(world.create(&world.root(), "new").unwrap());
            assert_eq!(exists(world, "new"), Ok(()));
        });
        world.unlink(&world.root(), "e").unwrap();
        assert_eq!(exists(&world, "e"), ABSENT);
        reader.join().unwrap();
        maker.join().unwrap();
        check(world, &["a", "b", "c", "d", "f", "new", "dir/g"], &["e"]);
    });
}

#[test]
fn beside_one_who_moves() {
    explore(|hash| {
        let world = world(hash);
        let reader = reader(&world);
        let mover = world.spawn(|world| {
            let rename = |from, to| root(world).renameat(At::Cwd, from, At::Cwd, to, RenameFlags::empty()).unwrap();
            rename("/dir/g", "/g");
            assert_eq!((exists(world, "g"), exists(world, "dir/g")), (Ok(()), ABSENT));
        });
        root(&world).renameat(At::Cwd, "/e", At::Cwd, "/dir/e", RenameFlags::empty()).unwrap();
        root(&world).renameat(At::Cwd, "/f", At::Cwd, "/h", RenameFlags::empty()).unwrap();
        assert_eq!([exists(&world, "e"), exists(&world, "f"), exists(&world, "h")], [ABSENT, ABSENT, Ok(())]);
        reader.join().unwrap();
        mover.join().unwrap();
        check(world, &["a", "d", "dir/e", "g", "h"], &["e", "f", "dir/g"]);
    });
}

#[test]
fn beside_one_who_evicts() {
    explore(|hash| {
        let world = world(hash);
        let reader = reader(&world);
        let evictor = world.spawn(|world| world.evict(8));
        assert_eq!((exists(&world, "f"), exists(&world, "none")), (Ok(()), ABSENT));
        reader.join().unwrap();
        assert_eq!((exists(&world, "e"), exists(&world, "other")), (Ok(()), ABSENT));
        evictor.join().unwrap();
        check(world, &NAMES, &[]);
    });
}

#[test]
fn in_a_cache_with_no_room_for_them() {
    explore(|hash| {
        let world = World::with_room(9, hash, |fs| {
            NAMES.iter().for_each(|name| _ = fs.plain(ROOT, name, FILE));
            fs.tell_siblings();
        });
        let held = ["a", "b", "c"].map(|name| world.handle(&format!("/{name}")));
        let others = ["e", "f"].map(|name| world.spawn(move |world| exists(world, name)));
        let answers = [exists(&world, "d"), exists(&world, "none")];
        let said = others.map(|other| other.join().unwrap());
        // Slots that are taken to be filled are pinned, too.
        assert!(said.iter().all(|answer| matches!(answer, Ok(()) | Err(Errno::ENFILE))), "{said:?}");
        assert!(
            matches!(answers[0], Ok(()) | Err(Errno::ENFILE)) && matches!(answers[1], ABSENT | Err(Errno::ENFILE)),
            "{answers:?}"
        );
        drop(held);
        check(world, &NAMES, &[]);
    });
}

#[test]
fn beside_those_who_ask_for_one_of_them() {
    explore(|hash| {
        let world = world(hash);
        let reader = reader(&world);
        let askers = [(); 2].map(|()| world.spawn(|world| world.ino("/e").unwrap()));
        assert_eq!(world.ino("/f"), Ok(7));
        reader.join().unwrap();
        assert_eq!(askers.map(|asker| asker.join().unwrap()), [6; 2]);
        assert!(["d", "e", "f"].iter().all(|name| world.fs.asked(name) <= 1));
        check(world, &NAMES, &[]);
    });
}

#[test]
fn beside_one_who_is_told_of_an_error() {
    explore(|hash| {
        let world = world(hash);
        world.fs.fail_next("e", Fault::Error);
        let reader = reader(&world);
        let askers = [(); 2].map(|()| world.spawn(|world| exists(world, "e")));
        reader.join().unwrap();
        let answers = askers.map(|asker| asker.join().unwrap());
        assert!(answers.iter().all(|answer| matches!(answer, Ok(()) | Err(Errno::EIO))), "{answers:?}");
        // For the case that no lookup has met the fault yet.
        _ = exists(&world, "e");
        world.evict(40);
        _ = exists(&world, "e");
        check(world, &NAMES, &[]);
    });
}

#[test]
fn beside_a_listing() {
    explore(|hash| {
        let world = world(hash);
        let reader = reader(&world);
        let lister = world.spawn(|world| {
            let dir = root(world).open("/", OpenFlags::READ).expect("a directory");
            dir.getdents(usize::MAX).expect("it is there");
        });
        assert_eq!((exists(&world, "e"), exists(&world, "none")), (Ok(()), ABSENT));
        reader.join().unwrap();
        lister.join().unwrap();
        assert_eq!((exists(&world, "f"), exists(&world, "other")), (Ok(()), ABSENT));
        assert_eq!(world.fs.asked("other"), 0, "who listed and who read left nothing to ask");
        check(world, &NAMES, &[]);
    });
}

#[test]
fn beside_what_came_and_went_by_itself() {
    explore(|hash| {
        let world = world(hash);
        let reader = reader(&world);
        world.fs.plain(ROOT, "new", FILE);
        world.vfs.invalidate(&world.root(), part("new")).unwrap();
        assert_eq!(exists(&world, "new"), Ok(()));
        world.fs.take_name(ROOT, "e");
        world.vfs.invalidate(&world.root(), part("e")).unwrap();
        assert_eq!(exists(&world, "e"), ABSENT);
        reader.join().unwrap();
        check(world, &["a", "d", "f", "new"], &["e"]);
    });
}

#[test]
fn beside_one_who_sets_attributes() {
    explore(|hash| {
        let world = world(hash);
        let (dir, e) = (world.ino("/dir").unwrap(), 6);
        world.fs.add_name(dir.into(), "e", e);
        let held = world.handle("/dir/e");
        let reader = reader(&world);
        let setter = world.spawn(move |world| {
            world.chmod(&held, 0o600);
            drop(held);
            world.evict(8);
        });
        reader.join().unwrap();
        setter.join().unwrap();
        assert_eq!(root(&world).stat("/e").unwrap().mode, 0o600);
        check(world, &["a", "d", "f"], &[]);
    });
}

/// Checks a directory that moves while its place among its siblings is read, which happens when its
/// first name is looked up.
#[test]
fn in_a_directory_that_moves() {
    explore(|hash| {
        let world = world(hash);
        assert_eq!((exists(&world, "dir"), exists(&world, "none")), (Ok(()), ABSENT));
        let asker = world.spawn(|world| exists(world, "dir/g"));
        let evictor = world.spawn(|world| world.evict(8));
        root(&world).renameat(At::Cwd, "/dir", At::Cwd, "/moved", RenameFlags::empty()).unwrap();
        assert!(matches!(asker.join().unwrap(), Ok(()) | ABSENT));
        evictor.join().unwrap();
        check(world, &["moved", "moved/g"], &["dir"]);
    });
}

#[test]
fn in_a_directory_that_is_dropped() {
    explore(|hash| {
        let world = world(hash);
        assert_eq!((exists(&world, "dir"), exists(&world, "none")), (Ok(()), ABSENT));
        let asker = world.spawn(|world| exists(world, "dir/g"));
        let evictor = world.spawn(|world| world.evict(8));
        world.vfs.invalidate(&world.root(), part("dir")).unwrap();
        assert_eq!(asker.join().unwrap(), Ok(()));
        evictor.join().unwrap();
        check(world, &["dir", "dir/g"], &[]);
    });
}

/// Checks a sibling directory that is removed: its dentry turns negative in place, and that does
/// not need the lock of the directory above.
#[test]
fn beside_a_directory_that_is_removed() {
    explore(|hash| {
        let world = World::with_room(16, hash, |fs| {
            fs.plain(ROOT, "elder", DIRECTORY);
            let dir = fs.plain(ROOT, "dir", DIRECTORY);
            fs.plain(dir, "g", FILE);
            fs.tell_siblings();
        });
        assert_eq!(["elder", "dir"].map(|name| exists(&world, name)), [Ok(()); 2]);
        let asker = world.spawn(|world| exists(world, "dir/g"));
        root(&world).rmdir("/elder").unwrap();
        assert_eq!(asker.join().unwrap(), Ok(()));
        check(world, &["dir", "dir/g"], &["elder"]);
    });
}

/// Checks two threads in a directory beside one for which reading all names paid: the first miss is
/// enough, and both threads read all names.
#[test]
fn two_read_one_directory() {
    explore(|hash| {
        const PAID: usize = 16;
        let world = World::with_room(16 * PAID as u64, hash, |fs| {
            let elder = fs.plain(ROOT, "elder", DIRECTORY);
            (0..PAID).for_each(|name| _ = fs.plain(elder, &name.to_string(), FILE));
            let dir = fs.plain(ROOT, "dir", DIRECTORY);
            NAMES[..3].iter().for_each(|name| _ = fs.plain(dir, name, FILE));
            fs.tell_siblings();
        });
        (0..PAID).for_each(|name| assert_eq!(exists(&world, &format!("elder/{name}")), Ok(())));
        assert_eq!(exists(&world, "dir"), Ok(()));
        let others = ["a", "b"].map(|name| world.spawn(move |world| exists(world, &format!("dir/{name}"))));
        assert_eq!((exists(&world, "dir/c"), exists(&world, "dir/none")), (Ok(()), ABSENT));
        assert_eq!(others.map(|other| other.join().unwrap()), [Ok(()); 2]);
        assert_eq!(["a", "b", "c", "none"].map(|name| exists(&world, &format!("dir/{name}"))), [Ok(()), Ok(()), Ok(()), ABSENT]);
        // The counts are by name; the elder directory has other names.
        assert!(["a", "b", "c", "none"].iter().all(|name| world.fs.asked(name) <= 1));
        assert!(world.vfs.stats().siblings >= 13);
        world.end();
    });
}
