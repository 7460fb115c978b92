//! Listings with attributes, beside threads that change, evict, move, drop and look up names. A
//! name that is there all the time is listed once, with its own attributes; one that was removed
//! before the listing began is not found; and nothing that a listing enters makes an absent name
//! appear, or an existing one disappear.

use std::io::SeekFrom;

use super::explore;
use super::fs::ROOT;
use super::world::{DIRECTORY, FILE, Hash, World, part};
use crate::node::RenameFlags;
use crate::{At, Context, Credentials, EntryHandles, Errno, File, ListedNode, OpenFlags};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const ABSENT: Result<(), Errno> = Err(Errno::ENOENT);

/// Creates six files, whose numbers are 2 to 7, and a directory with a file `g`.
fn world(hash: Hash) -> World {
    World::with_room(40, hash, |fs| {
        NAMES.iter().for_each(|name| _ = fs.plain(ROOT, name, FILE));
        let dir = fs.plain(ROOT, "dir", DIRECTORY);
        fs.plain(dir, "g", FILE);
    })
}

fn exists(world: &World, name: &str) -> Result<(), Errno> {
    world.exists(&format!("/{name}"))
}

fn root(world: &World) -> Context {
    world.vfs.context(Credentials::root())
}

fn rename(world: &World, from: &str, to: &str) {
    root(world).renameat(At::Cwd, from, At::Cwd, to, RenameFlags::empty()).expect("both directories are there");
}

/// Lists the rest of a directory in pieces.
fn list(who: &Context, dir: &File, at_most: usize) -> Vec<ListedNode> {
    let mut all = Vec::new();
    loop {
        let piece = who.readdirplus(dir, at_most, EntryHandles::With).expect("it is there");
        if piece.is_empty() {
            return all;
        }
        all.extend(piece);
    }
}

/// Lists the root, and checks that each of these names is there once, with its node.
fn listed(world: &World, at_most: usize, there: &[&str]) -> Vec<ListedNode> {
    let who = root(world);
    let dir = who.open("/", OpenFlags::READ).expect("a directory");
    let all = list(&who, &dir, at_most);
    for name in there {
        let number = NAMES.iter().position(|of| of == name).expect("one of the files") as u64 + 2;
        let found: Vec<_> = all.iter().filter(|of| *of.entry.name == *name.as_bytes()).collect();
        assert_eq!(found.len(), 1, "{name}");
        assert_eq!(found[0].attributes.map(|of| of.ino), Ok(number), "{name}");
        let handle = found[0].handle.as_ref().expect("it was found");
        assert_eq!(handle.attributes().map(|of| of.ino), Ok(number));
    }
    all
}

fn found(all: &[ListedNode], name: &str) -> bool {
    all.iter().any(|of| *of.entry.name == *name.as_bytes() && of.attributes.is_ok())
}

/// Checks, when all threads have ended, that these names exist and no others: by the cache first,
/// and then by the file system.
fn check(world: World, there: &[&str], absent: &[&str]) {
    for _ in 0..2 {
        there.iter().for_each(|name| assert_eq!(exists(&world, name), Ok(()), "{name}"));
        absent.iter().chain(&["none"]).for_each(|name| assert_eq!(exists(&world, name), ABSENT, "{name}"));
        world.evict(50);
    }
    world.end();
}

#[test]
fn beside_one_who_makes_and_unlinks() {
    explore(|hash| {
        let world = world(hash);
        let lister = world.spawn(|world| drop(listed(world, 3, &["a", "b", "c", "d", "f"])));
        let maker = world.spawn(|world| {
            drop(world.create(&world.root(), "new").unwrap());
            assert!(found(&listed(world, 4, &["a", "f"]), "new"));
        });
        world.unlink(&world.root(), "e").unwrap();
        assert_eq!(exists(&world, "e"), ABSENT);
        assert!(!found(&listed(&world, 5, &["a", "f"]), "e"));
        lister.join().unwrap();
        maker.join().unwrap();
        check(world, &["a", "b", "c", "d", "f", "new", "dir/g"], &["e"]);
    });
}

#[test]
fn beside_one_who_moves() {
    explore(|hash| {
        let world = world(hash);
        let lister = world.spawn(|world| drop(listed(world, 4, &["a", "b", "c", "d"])));
        let mover = world.spawn(|world| {
            rename(world, "/dir/g", "/g");
            assert!(found(&listed(world, 9, &["a"]), "g"));
        });
        rename(&world, "/e", "/dir/e");
        rename(&world, "/f", "/h");
        let all = listed(&world, 3, &["a", "b"]);
        assert!(!found(&all, "e") && !found(&all, "f") && found(&all, "h"));
        drop(all);
        lister.join().unwrap();
        mover.join().unwrap();
        check(world, &["a", "d", "dir/e", "g", "h"], &["e", "f", "dir/g"]);
    });
}

#[test]
fn beside_one_who_replaces_a_name() {
    explore(|hash| {
        let world = world(hash);
        let lister = world.spawn(|world| {
            let all = listed(world, 3, &["a", "b", "c", "d"]);
            // The name is there all the time; its node is one or the other.
            let f: Vec<_> = all.iter().filter(|of| *of.entry.name == *b"f").collect();
            assert!(f.len() == 1 && matches!(f[0].attributes.map(|of| of.ino), Ok(6 | 7)), "{f:?}");
        });
        rename(&world, "/e", "/f");
        assert_eq!(world.ino("/f"), Ok(6));
        lister.join().unwrap();
        assert_eq!(world.ino("/f"), Ok(6));
        check(world, &["a", "f"], &["e"]);
    });
}

#[test]
fn beside_one_who_evicts_and_one_who_asks() {
    explore(|hash| {
        let world = world(hash);
        let lister = world.spawn(|world| drop(listed(world, 3, &NAMES)));
        let evictor = world.spawn(|world| world.evict(8));
        let asker = world.spawn(|world| assert_eq!((world.ino("/d"), exists(world, "none")), (Ok(5), ABSENT)));
        drop(listed(&world, 100, &NAMES));
        assert_eq!((exists(&world, "e"), exists(&world, "other")), (Ok(()), ABSENT));
        [lister, evictor, asker].into_iter().for_each(|thread| thread.join().unwrap());
        check(world, &NAMES, &[]);
    });
}

/// Two threads that list one open directory share its position: together they list each name once.
#[test]
fn of_one_open_directory() {
    explore(|hash| {
        let world = world(hash);
        let dir = std::sync::Arc::new(root(&world).open("/", OpenFlags::READ).expect("a directory"));
        let other = dir.clone();
        let lister = world.spawn(move |world| list(&root(world), &other, 2));
        let mut all = list(&root(&world), &dir, 3);
        all.extend(lister.join().unwrap());
        let mut names: Vec<_> = all.iter().map(|of| String::from_utf8_lossy(&of.entry.name).into_owned()).collect();
        names.sort();
        assert_eq!(names, [".", "..", "a", "b", "c", "d", "dir", "e", "f"]);
        assert!(all.iter().all(|of| of.attributes.is_ok()));
        dir.seek(SeekFrom::Start(0)).expect("a position");
        drop((all, dir));
        check(world, &NAMES, &[]);
    });
}

#[test]
fn beside_what_came_and_went_by_itself() {
    explore(|hash| {
        let world = world(hash);
        let lister = world.spawn(|world| drop(listed(world, 3, &["a", "b", "c", "d"])));
        world.fs.plain(ROOT, "new", FILE);
        world.vfs.invalidate(&world.root(), part("new")).unwrap();
        assert!(found(&listed(&world, 4, &["a"]), "new"));
        world.fs.take_name(ROOT, "e");
        world.vfs.invalidate(&world.root(), part("e")).unwrap();
        assert!(!found(&listed(&world, 4, &["a"]), "e"));
        lister.join().unwrap();
        check(world, &["a", "d", "f", "new"], &["e"]);
    });
}

#[test]
fn beside_one_who_sets_attributes() {
    explore(|hash| {
        let world = world(hash);
        let lister = world.spawn(|world| {
            let all = listed(world, 3, &NAMES);
            let mode = all.iter().find(|of| *of.entry.name == *b"e").map(|of| of.attributes.map(|of| of.mode));
            assert!(matches!(mode, Some(Ok(0o644 | 0o600))), "{mode:?}");
        });
        let held = world.handle("/e");
        world.chmod(&held, 0o600);
        drop(held);
        let all = listed(&world, 9, &NAMES);
        assert!(all.iter().any(|of| *of.entry.name == *b"e" && of.attributes.is_ok_and(|of| of.mode == 0o600)));
        drop(all);
        lister.join().unwrap();
        check(world, &NAMES, &[]);
    });
}

/// Once the right to search was taken, a listing that begins shows names alone.
#[test]
fn beside_one_who_takes_the_right_to_search() {
    explore(|hash| {
        let world = world(hash);
        let user = |world: &World| {
            let who = world.user();
            let dir = who.open("/", OpenFlags::READ).expect("a directory");
            list(&who, &dir, 3)
        };
        let lister = world.spawn(move |world| drop(user(world)));
        world.chmod(&world.root(), 0o744);
        assert!(user(&world).iter().all(|of| matches!(of.attributes, Err(Errno::EACCES)) && of.handle.is_none()));
        world.chmod(&world.root(), 0o755);
        assert!(user(&world).iter().all(|of| of.attributes.is_ok()));
        lister.join().unwrap();
        check(world, &NAMES, &[]);
    });
}
