//! Requests for the other names of a directory as a whole: when they happen, what becomes of the
//! names that are given, and failures.

mod fs;
mod trouble;

use fs::{ROOT, Tree, World};
use pathwalk::{Errno, FileType, Freshness, Name};

const ABSENT: Result<(), Errno> = Err(Errno::ENOENT);

/// Creates a tree with a directory `/d` with so many files. Returns it and the directory's key.
fn tree(files: usize) -> (Tree, u128) {
    let tree = Tree::new();
    let dir = tree.directory(ROOT, "d", files);
    tree.add_before(dir);
    (tree, dir)
}

#[test]
fn the_rest_is_asked_for_when_enough_were_there() {
    let (fs, dir) = tree(20);
    let world = World::new(fs);
    for name in 0..6 {
        assert_eq!(world.exists(&format!("/d/none{name}")).0, ABSENT);
    }
    assert_eq!(world.ask("/d", 0..3), 3);
    assert_eq!(world.fs.asked().siblings, []);
    assert_eq!(world.ask("/d", [3]), 1);
    assert_eq!(world.fs.asked().siblings, [(dir, 64)]);
    assert_eq!(world.who().vfs().stats().siblings, 16);
    assert_eq!(world.ask("/d", 0..20), 0);
}

#[test]
fn of_a_large_directory_it_is_when_more_were() {
    let (fs, dir) = tree(200);
    let world = World::new(fs);
    assert_eq!(world.ask("/d", 0..52), 52);
    let mosts = [64, 128, 256].map(|most| (dir, most));
    assert_eq!((world.fs.asked().siblings, world.ask("/d", 0..200)), (mosts.to_vec(), 0));
}

#[test]
fn of_one_that_has_too_many_it_is_never() {
    let (fs, dir) = tree(5000);
    let world = World::with_room(fs, 100_000);
    assert_eq!(world.ask("/d", 0..1020), 1020);
    let mosts = [64, 128, 256, 512, 1024, 2048, 4096];
    assert_eq!(world.fs.asked().siblings, mosts.map(|most| (dir, most)));
}

#[test]
fn what_was_given_is_as_if_it_was_looked_up() {
    let (fs, dir) = tree(3);
    let long = "a-file-with-a-name-of-over-32-bytes-in-all";
    fs.directory(dir, "sub", 1);
    fs.link(dir, "link", "sub");
    let file = fs.file(dir, long);
    let world = World::new(fs);
    assert_eq!(world.ask("/d", 0..3) + world.exists("/d/sub").1, 4);
    world.fs.asked();
    let attributes = world.who().stat(format!("/d/{long}")).unwrap();
    assert_eq!((attributes.ino, attributes.kind, attributes.mode, attributes.nlink), (file as u64, FileType::Regular, 0o640, 1));
    assert_eq!(
        (world.who().lstat("/d/link").unwrap().kind, world.who().read_link("/d/link").unwrap()),
        (FileType::Symlink, "sub".into())
    );
    let asked = world.fs.asked();
    assert_eq!((asked.lookups, asked.attributes), (0, 0));
    assert_eq!(world.exists("/d/link/0"), (Ok(()), 1));
}

#[test]
fn who_said_that_these_are_all_is_not_asked_for_others() {
    let world = World::new(tree(20).0);
    world.ask("/d", 0..4);
    assert_eq!([world.exists("/d/none"), world.exists("/d/none")], [(ABSENT, 0); 2]);
    assert_eq!(world.who().vfs().stats().known_absent, 1);
    world.evict_all();
    assert_eq!(world.exists("/d/none"), (ABSENT, 2), "what was known went with the names");
}

#[test]
fn who_did_not_is() {
    let (fs, _) = tree(20);
    fs.tell(|fs, dir, siblings| {
        fs.give(dir, siblings, &fs.names(dir));
        Ok(())
    });
    let world = World::new(fs);
    world.ask("/d", 0..4);
    assert_eq!([world.exists("/d/none"), world.exists("/d/none")], [(ABSENT, 1), (ABSENT, 0)]);
    assert_eq!((world.ask("/d", 0..20), world.who().vfs().stats().known_absent), (0, 0));
}

#[test]
fn where_absences_are_asked_about_nothing_is_complete() {
    let fs = Tree::with_absence(Freshness::AskEachTime);
    fs.add_before(fs.directory(ROOT, "d", 20));
    let world = World::new(fs);
    world.ask("/d", 0..4);
    assert_eq!((world.exists("/d/none"), world.ask("/d", 0..20)), ((ABSENT, 1), 0));
}

#[test]
fn a_name_that_was_only_noted_is_asked_about_once() {
    let (fs, _) = tree(20);
    fs.tell(|fs, dir, siblings| {
        let names = fs.names(dir);
        fs.give(dir, siblings, &names[..10]);
        names[10..].iter().for_each(|name| siblings.note(Name::new(name).unwrap()));
        siblings.are_all();
        Ok(())
    });
    let world = World::new(fs);
    world.ask("/d", 0..4);
    let given = world.who().vfs().stats().siblings;
    assert_eq!(world.exists("/d/none"), (ABSENT, 0));
    assert_eq!([world.ask("/d", 0..20), world.ask("/d", 0..20)], [16 - given, 0]);
}

#[test]
fn what_is_cached_stays_and_what_is_listed_is_filled() {
    let (fs, dir) = tree(8);
    let world = World::new(fs);
    assert_eq!(world.exists("/d/late"), (ABSENT, 2));
    // The name came to exist without the engine, and without a notification.
    world.fs.file(dir, "late");
    world.open("/d").getdents(usize::MAX).unwrap();
    let held = world.who().lookup("/d/0").unwrap();
    let wanted = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = wanted.clone();
    world.fs.tell(move |fs, dir, siblings| {
        let wants = |name: &Vec<u8>| siblings.wants(Name::new(name).unwrap());
        seen.lock().unwrap().extend(fs.names(dir).into_iter().filter(wants));
        // All of them, wanted or not.
        let names = fs.names(dir);
        let found = names.iter().map(|name| (Name::new(name).unwrap(), fs.hand_out(dir, name).unwrap()));
        siblings.give(&found.collect::<Vec<_>>());
        Ok(())
    });
    assert_eq!(world.ask("/d", 0..4), 3);
    assert_eq!(*wanted.lock().unwrap(), ["4", "5", "6", "7"].map(Vec::from));
    assert_eq!((world.ask("/d", 0..8), world.who().vfs().stats().siblings), (0, 4));
    assert_eq!((held.path().unwrap(), world.exists("/d/late")), (b"/d/0".to_vec(), (ABSENT, 0)));
    let root = world.who().lookup("/d").unwrap();
    world.who().vfs().invalidate(&root, Name::new(b"late").unwrap()).unwrap();
    assert_eq!(world.exists("/d/late").0, Ok(()));
}

/// Creates a tree of neighbouring directories, each of 20 files.
fn beside_each_other(names: &[&str]) -> (Tree, Vec<u128>) {
    let fs = Tree::new();
    let dirs: Vec<_> = names.iter().map(|name| fs.directory(ROOT, name, 20)).collect();
    dirs.iter().for_each(|dir| fs.add_before(*dir));
    (fs, dirs)
}

#[test]
fn beside_a_directory_that_paid_it_is_at_the_first_name() {
    let (fs, dirs) = beside_each_other(&["a", "b", "c"]);
    let world = World::new(fs);
    assert_eq!((world.ask("/a", 0..20), world.fs.asked().siblings), (4, vec![(dirs[0], 64)]));
    assert_eq!((world.ask("/b", 0..20), world.fs.asked().siblings), (0, vec![(dirs[1], 64)]));
    // Also at a name that does not exist.
    assert_eq!((world.exists("/c/none"), world.fs.asked().siblings), ((ABSENT, 1), vec![(dirs[2], 64)]));
}

#[test]
fn beside_one_that_did_not_it_is_not() {
    let (fs, dirs) = beside_each_other(&["a", "b", "c"]);
    let world = World::new(fs);
    assert_eq!((world.ask("/a", 0..4), world.fs.asked().siblings), (4, vec![(dirs[0], 64)]));
    assert_eq!((world.ask("/b", 0..3), world.fs.asked().siblings), (3, vec![]), "no lookup asked for what was given");
    assert_eq!((world.ask("/c", 0..3), world.fs.asked().siblings), (3, vec![]), "it is not complete");
}

#[test]
fn beside_one_that_is_not_complete_it_is_not() {
    let (fs, _) = beside_each_other(&["a", "b"]);
    fs.tell(|_, _, _| Ok(()));
    let world = World::new(fs);
    (0..2).for_each(|_| _ = world.ask("/a", 0..20));
    world.fs.asked();
    assert_eq!((world.ask("/b", 0..3), world.fs.asked().siblings), (3, vec![]));
}

#[test]
fn beside_one_with_few_names_it_is_not() {
    let fs = Tree::new();
    fs.directory(ROOT, "d", 7);
    fs.directory(ROOT, "e", 20);
    let world = World::new(fs);
    world.open("/d").getdents(usize::MAX).unwrap();
    assert_eq!([(); 2].map(|()| world.ask("/d", 0..7)), [7, 0]);
    assert_eq!(world.exists("/d/none"), (ABSENT, 0), "all are known, and all were hit");
    assert_eq!((world.ask("/e", 0..3), world.fs.asked().siblings), (3, vec![]));
}

/// Checks a directory that left the list of children, though it still has its link to the neighbour
/// that paid.
#[test]
fn one_that_was_dropped_has_no_neighbour() {
    let (fs, _) = beside_each_other(&["a", "b"]);
    let world = World::new(fs);
    world.ask("/a", 0..20);
    let (root, b) = (world.who().lookup("/").unwrap(), world.who().lookup("/b").unwrap());
    world.who().vfs().invalidate(&root, Name::new(b"b").unwrap()).unwrap();
    world.fs.asked();
    assert_eq!(world.who().faccessat(&b, "3", pathwalk::Access::empty(), pathwalk::AtFlags::empty()), Ok(()));
    let asked = world.fs.asked();
    assert_eq!((asked.siblings, asked.lookups), (vec![], 1));
}

#[test]
fn beside_one_that_was_dropped_it_is_not() {
    let (fs, _) = beside_each_other(&["a", "b"]);
    let world = World::new(fs);
    world.ask("/a", 0..20);
    let (root, b) = (world.who().lookup("/").unwrap(), world.who().lookup("/b").unwrap());
    // The directory is out of the list of children, while its neighbour leaves the cache.
    world.who().vfs().invalidate(&root, Name::new(b"b").unwrap()).unwrap();
    world.evict_all();
    let exists = |name| world.who().faccessat(&b, name, pathwalk::Access::empty(), pathwalk::AtFlags::empty());
    assert_eq!((exists("3"), exists("none")), (Ok(()), ABSENT));
}
