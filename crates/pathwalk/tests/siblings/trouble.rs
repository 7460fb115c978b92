//! Failures between the engine and a file system that gives siblings. They harm neither lookups nor
//! what is held.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pathwalk::{Context, Errno, Handle, Name, SetAttributes, Siblings, internals};

use crate::fs::{BEFORE, Fault, ROOT, Tree, World};
use crate::{ABSENT, tree};

/// Gives so many names.
fn give_some(fs: &Tree, dir: u128, siblings: &mut Siblings<'_>, some: usize) {
    fs.give(dir, siblings, &fs.names(dir)[..some]);
}

#[test]
fn an_error_is_told_to_nobody() {
    let (fs, _) = tree(20);
    fs.tell(|fs, dir, siblings| {
        give_some(fs, dir, siblings, 10);
        Err(Errno::EIO)
    });
    let world = World::new(fs);
    assert_eq!(world.ask("/d", 0..4), 4);
    let given = world.who().vfs().stats().siblings;
    assert_eq!((world.ask("/d", 0..20), world.exists("/d/none")), (16 - given, (ABSENT, 1)));
}

#[test]
fn a_panic_unwinds_and_leaves_what_was_answered() {
    let (fs, _) = tree(20);
    fs.tell(|fs, dir, siblings| {
        give_some(fs, dir, siblings, 10);
        std::panic::resume_unwind(Box::new("as it was told to"))
    });
    let world = World::new(fs);
    world.ask("/d", 0..3);
    assert!(catch_unwind(AssertUnwindSafe(|| world.exists("/d/3"))).is_err());
    world.fs.tell(|_, _, _| Ok(()));
    let given = world.who().vfs().stats().siblings;
    assert_eq!(world.ask("/d", [3]), 0);
    // Takes its lock, exclusively.
    let dir = world.who().lookup("/d").unwrap();
    world.who().vfs().invalidate(&dir, Name::new(b"none").unwrap()).unwrap();
    assert_eq!((world.ask("/d", 0..20), world.exists("/d/none")), (16 - given, (ABSENT, 1)));
}

/// Holds files of the root until only `left` slots are free.
fn hold_all_but(world: &World, left: usize) -> Vec<Handle> {
    let mut held: Vec<_> = (0..).map_while(|number| world.who().lookup(format!("/{number}")).ok()).collect();
    held.truncate(held.len() - left);
    world.evict_all();
    held
}

#[test]
fn a_cache_full_of_what_is_pinned_takes_no_more_and_loses_nothing() {
    let (fs, dir) = tree(40);
    (0..100).for_each(|number| _ = fs.file(ROOT, &number.to_string()));
    let world = World::with_room(fs, 64);
    world.ask("/d", []);
    let _dir = world.who().lookup("/d").unwrap();
    let _three = [0, 1, 2].map(|number| world.who().lookup(format!("/d/{number}")).unwrap());
    let _rest = hold_all_but(&world, 3);
    world.fs.asked();
    let wanted = Arc::new(AtomicUsize::new(0));
    let seen = wanted.clone();
    world.fs.tell(move |fs, dir, siblings| {
        // More names than are entered together.
        let names = fs.names(dir);
        fs.give(dir, siblings, &names);
        siblings.are_all();
        seen.store(names.iter().filter(|name| siblings.wants(Name::new(name).unwrap())).count(), Ordering::Relaxed);
        Ok(())
    });
    assert_eq!((world.ask("/d", [3]), world.fs.asked().siblings), (1, vec![(dir, 8)]));
    assert_eq!((world.who().vfs().stats().siblings, wanted.load(Ordering::Relaxed)), (0, 0), "there is no room");
    assert_eq!((world.exists("/d/none").0, world.ask("/d", [3, 7])), (ABSENT, 1));
}

#[test]
fn names_that_are_too_long_for_what_is_left_take_no_slots() {
    let long = |number: usize| format!("#{number:060}");
    let (fs, dir) = tree(8);
    fs.file(dir, &long(0));
    (0..400).for_each(|number| _ = fs.file(ROOT, &long(number)));
    let world = World::with_room(fs, 600);
    let held: Vec<_> = (0..).map_while(|number| world.who().lookup(format!("/{}", long(number))).ok()).collect();
    assert!(held.len() < 400, "long names are pinned in all lines that there are");
    assert_eq!((world.ask("/d", 0..4), world.who().vfs().stats().siblings), (4, 0));
    // Names that were looked up may have been evicted for the others.
    assert!((4..=8).contains(&world.ask("/d", 0..8)));
    assert_eq!(world.exists("/d/none"), (ABSENT, 1));
}

#[test]
fn a_small_cache_is_left_to_others() {
    let (fs, _) = tree(100);
    let world = World::with_room(fs, 1000);
    world.ask("/d", 0..64);
    let capacity = world.who().vfs().stats().dentries.capacity as usize;
    assert_eq!(world.fs.asked().siblings.iter().map(|(_, most)| *most).max(), Some(capacity / 16));
    assert_eq!(world.who().vfs().stats().siblings, 0);
}

#[test]
fn more_than_was_wanted_drives_itself_out() {
    let (fs, dir) = tree(500);
    fs.tell(|fs, dir, siblings| {
        fs.give(dir, siblings, &fs.names(dir));
        siblings.are_all();
        Ok(())
    });
    let world = World::with_room(fs, 64);
    assert_eq!(world.ask("/d", 0..4), 4);
    assert_eq!(world.fs.asked().siblings, [(dir, 8)]);
    assert_eq!(world.exists("/d/none"), (ABSENT, 1));
    world.ask("/d", 0..500);
}

#[test]
fn more_names_than_can_be_noted_are_not_all() {
    let (fs, _) = tree(20);
    fs.tell(|fs, dir, siblings| {
        fs.names(dir).iter().for_each(|name| siblings.note(Name::new(name).unwrap()));
        siblings.are_all();
        Ok(())
    });
    let world = World::with_room(fs, 64);
    assert_eq!((world.ask("/d", 0..4), world.exists("/d/none")), (4, (ABSENT, 1)));
    assert_eq!(world.ask("/d", 0..20), 16);
}

#[test]
fn two_names_of_one_node_are_given_together() {
    let (fs, dir) = tree(5);
    let file = fs.file(dir, "one");
    fs.name(dir, "two", file);
    let world = World::new(fs);
    world.ask("/d", 0..4);
    let stats = ["/d/one", "/d/two"].map(|path| world.who().stat(path).unwrap());
    assert_eq!(stats.map(|of| (of.ino, of.nlink)), [(file as u64, 2); 2]);
    assert_eq!((world.exists("/d/two").1, world.exists("/d/none")), (0, (ABSENT, 0)));
}

#[test]
fn one_name_is_given_twice() {
    let (fs, _) = tree(8);
    fs.tell(|fs, dir, siblings| {
        let names = [b"7", b"6", b"7"];
        let found = names.map(|name| (Name::new(name).unwrap(), fs.hand_out(dir, name).unwrap()));
        siblings.give(&found);
        siblings.give(&[]);
        fs.give_all(dir, siblings)
    });
    let world = World::new(fs);
    world.ask("/d", 0..4);
    assert_eq!((world.who().vfs().stats().siblings, world.ask("/d", 0..8)), (4, 0));
}

#[test]
fn a_directory_that_is_cached_elsewhere_is_moved_by_who_asks_for_it() {
    let (fs, dir) = tree(8);
    let other = fs.directory(ROOT, "e", 0);
    let sub = fs.directory(other, "sub", 3);
    let world = World::new(fs);
    assert_eq!(world.ask("/e/sub", 0..3), 3);
    let held = world.who().lookup("/e/sub").unwrap();
    world.fs.move_name((other, "sub"), (dir, "moved"));
    assert_eq!(world.ask("/d", 0..4), 4);
    assert_eq!((held.path().unwrap(), world.who().vfs().stats().siblings), (b"/e/sub".to_vec(), 4), "nothing moves");
    assert_eq!(world.exists("/d/none"), (ABSENT, 1), "what was left out may be anything");
    assert_eq!((world.exists("/d/moved").0, world.ask("/d/moved", 0..3)), (Ok(()), 0));
    assert_eq!((held.path().unwrap(), held.attributes().unwrap().ino), (b"/d/moved".to_vec(), sub as u64));
}

#[test]
fn a_node_of_another_type_is_left_out() {
    let (fs, dir) = tree(8);
    let world = World::new(fs);
    let _held = world.who().lookup("/d/0").unwrap();
    world.fs.tell(|fs, dir, siblings| {
        // The node that it gives for 7 is the one that is cached as the file 0.
        fs.give(dir, siblings, &[b"6".to_vec()]);
        let mut node = fs.hand_out(dir, b"0").unwrap();
        node.attributes.kind = pathwalk::FileType::Fifo;
        siblings.give(&[(Name::new(b"7").unwrap(), node)]);
        fs.give(dir, siblings, &[b"5".to_vec(), b"4".to_vec()]);
        siblings.are_all();
        Ok(())
    });
    assert_eq!(world.ask("/d", 1..4), 3);
    assert_eq!((world.exists("/d/none"), world.ask("/d", 0..8), world.fs.names(dir).len()), ((ABSENT, 1), 1, 8 + BEFORE));
}

/// Changes the mode of a node by another name of it, and evicts all entries.
fn chmod_and_evict(who: &Context, path: &str) {
    let set = SetAttributes::default().with_mode(0o600);
    internals::set_attributes(&who.lookup(path).unwrap(), &set).unwrap();
    while internals::evict(who.vfs(), 1) > 0 {}
}

#[test]
fn attributes_that_were_set_meanwhile_are_not_undone() {
    let (fs, dir) = tree(8);
    let file = fs.file(dir, "file");
    let other = fs.directory(ROOT, "e", 0);
    fs.name(other, "name", file);
    let world = World::new(fs);
    assert_eq!(world.exists("/e/name").0, Ok(()));
    // Taken out when it is used. Otherwise the tree would keep the cache that keeps the tree.
    let who = Mutex::new(Some(world.who().clone()));
    world.fs.tell(move |fs, dir, siblings| {
        let old = fs.hand_out(dir, b"file").unwrap();
        let who = who.lock().unwrap().take().unwrap();
        std::thread::scope(|scope| scope.spawn(|| chmod_and_evict(&who, "/e/name")).join().unwrap());
        siblings.give(&[(Name::new(b"file").unwrap(), old)]);
        Ok(())
    });
    world.ask("/d", 0..4);
    assert_eq!((world.exists("/d/file"), world.who().stat("/d/file").unwrap().mode), ((Ok(()), 0), 0o600));
}

#[test]
fn asking_for_attributes_goes_wrong_in_the_middle() {
    for fault in [Fault::Error, Fault::Panic] {
        let (fs, _) = tree(30);
        let other = fs.directory(ROOT, "e", 0);
        fs.file(other, "name");
        let world = World::new(fs);
        let who = Mutex::new(Some(world.who().clone()));
        world.fs.tell(move |fs, dir, siblings| {
            let Some(who) = who.lock().unwrap().take() else { return Ok(()) };
            let names = fs.names(dir);
            let found = names.iter().map(|name| (Name::new(name).unwrap(), fs.hand_out(dir, name).unwrap()));
            let found: Vec<_> = found.collect();
            // From here on, attributes are requested once more.
            std::thread::scope(|scope| scope.spawn(|| chmod_and_evict(&who, "/e/name")).join().unwrap());
            fs.attributes_fail(fault);
            siblings.give(&found);
            siblings.are_all();
            Ok(())
        });
        world.ask("/d", 0..3);
        let answer = catch_unwind(AssertUnwindSafe(|| world.exists("/d/3").0));
        assert_eq!(answer.ok(), (fault == Fault::Error).then_some(Ok(())));
        assert_eq!((world.exists("/d/none"), world.ask("/d", 0..30) > 0), ((ABSENT, 1), true));
    }
}

#[test]
fn who_says_that_there_are_no_others_is_believed() {
    let (fs, _) = tree(8);
    fs.tell(|fs, dir, siblings| {
        siblings.are_all();
        // Given after it declared that there are no others.
        fs.give_all(dir, siblings)
    });
    let world = World::new(fs);
    world.ask("/d", 0..4);
    assert_eq!((world.exists("/d/none"), world.exists("/d/7")), ((ABSENT, 0), (ABSENT, 0)));
    world.evict_all();
    assert_eq!(world.exists("/d/7").0, Ok(()));
}

#[test]
fn a_listing_in_pieces_stays_one_where_nothing_is_told() {
    let (fs, _) = tree(20);
    fs.tell(|_, _, _| Ok(()));
    let world = World::new(fs);
    let dir = world.open("/d");
    (0..10).for_each(|_| drop(dir.getdents(1).unwrap()));
    assert_eq!(world.ask("/d", 0..8), 8);
    dir.getdents(usize::MAX).unwrap();
    assert_eq!(world.exists("/d/none"), (ABSENT, 0));
}
