//! Reports by a file system's notifier, beside each way in which an answer gets into the caches:
//! once a report has returned, no walk that begins gives an answer that was asked for before.
//!
//! The reporting thread takes no directory's lock, so a change or a lookup may be at any point.

use super::explore;
use super::fs::ROOT;
use super::world::{DIRECTORY, FILE, Hash, World, part};
use crate::cache::icache::store::OfNode;
use crate::fs_api::Report;
use crate::node::NodeKey;
use crate::{At, Credentials, Errno, OpenFlags, RenameFlags};

pub(super) const ABSENT: Result<(), Errno> = Err(Errno::ENOENT);
/// The key of `/dir`.
pub(super) const DIR: u128 = 2;

pub(super) fn world(hash: Hash) -> World {
    World::new(hash, |fs| {
        let dir = fs.plain(ROOT, "dir", DIRECTORY);
        assert_eq!(dir, DIR);
        fs.plain(dir, "file", FILE);
    })
}

/// Reports as the file system does.
pub(super) fn report(world: &World, report: Report<'_>) {
    let world = world.vfs.world();
    let superblock = world.trees.superblock_at(world.root.dentry()).reporter();
    world.trees.report(superblock, report);
}

fn name(name: &str) -> Report<'_> {
    Report::Name(NodeKey(DIR), part(name))
}

/// Makes `/dir/new` behind the engine, reports it, and checks that it is seen from then on.
fn appears(world: &World, reported: Report<'_>) {
    world.fs.plain(DIR, "new", FILE);
    report(world, reported);
    assert_eq!(world.exists("/dir/new"), Ok(()));
}

#[test]
fn a_name_beside_its_lookup() {
    explore(|hash| {
        let world = world(hash);
        let walkers = [(); 2].map(|()| world.spawn(|world| _ = world.exists("/dir/new")));
        appears(&world, name("new"));
        walkers.into_iter().for_each(|walker| walker.join().unwrap());
        assert_eq!(world.exists("/dir/new"), Ok(()));
        world.end();
    });
}

#[test]
fn a_name_beside_a_change_that_asks_for_it() {
    explore(|hash| {
        let world = world(hash);
        // The name is looked up with the lock held exclusively, and perhaps found to be absent.
        let changer = world.spawn(|world| {
            let root = world.vfs.context(Credentials::root());
            let changed = root.renameat(At::Cwd, "/dir/file", At::Cwd, "/dir/new", RenameFlags::EXCHANGE);
            assert!([Ok(()), ABSENT].contains(&changed), "{changed:?}");
        });
        appears(&world, name("new"));
        changer.join().unwrap();
        assert_eq!((world.exists("/dir/new"), world.exists("/dir/file")), (Ok(()), Ok(())));
        world.end();
    });
}

/// The change that takes a name away.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Unlink,
    Rename,
}

/// Checks that the absence that a removal leaves does not stay if the name comes back meanwhile.
#[test]
fn a_name_beside_its_removal() {
    explore(|hash| comes_back(hash, By::Unlink));
}

#[test]
fn a_name_beside_its_rename() {
    explore(|hash| comes_back(hash, By::Rename));
}

fn comes_back(hash: Hash, by: By) {
    let world = world(hash);
    // It is held, so its entry does not turn negative in its place.
    let held = world.handle("/dir/file");
    let changer = world.spawn(move |world| match by {
        By::Unlink => world.unlink(&world.handle("/dir"), "file").unwrap(),
        By::Rename => {
            let root = world.vfs.context(Credentials::root());
            root.renameat(At::Cwd, "/dir/file", At::Cwd, "/dir/moved", RenameFlags::empty()).unwrap();
        }
    });
    while world.fs.has(DIR, "file") {
        crate::sync::yield_now();
    }
    world.fs.plain(DIR, "file", FILE);
    report(&world, name("file"));
    assert_eq!(world.exists("/dir/file"), Ok(()));
    changer.join().unwrap();
    assert_eq!(world.exists("/dir/file"), Ok(()));
    drop(held);
    world.end();
}

/// Checks the name that a rename gives, where the file system gives it to another node.
#[test]
fn a_name_beside_the_rename_that_makes_it() {
    explore(|hash| {
        let world = world(hash);
        world.exists("/dir/file").unwrap();
        world.fs.plain(DIR, "target", FILE);
        let held = world.handle("/dir/target");
        let renamer = world.spawn(|world| {
            let root = world.vfs.context(Credentials::root());
            root.renameat(At::Cwd, "/dir/file", At::Cwd, "/dir/target", RenameFlags::empty()).unwrap();
        });
        while world.fs.has(DIR, "file") {
            crate::sync::yield_now();
        }
        world.fs.take_name(DIR, "target");
        report(&world, name("target"));
        assert_eq!(world.exists("/dir/target"), ABSENT);
        renamer.join().unwrap();
        assert_eq!(world.exists("/dir/target"), ABSENT);
        drop(held);
        world.end();
    });
}

#[test]
fn a_directory_that_is_made_and_filled_at_once() {
    explore(|hash| {
        let world = world(hash);
        let maker = world.spawn(|world| {
            world.vfs.context(Credentials::root()).mkdir("/dir/made", 0o755).unwrap();
            _ = world.exists("/dir/made/file");
        });
        while !world.fs.has(DIR, "made") {
            crate::sync::yield_now();
        }
        // The engine may not know the directory yet.
        let made = world.fs.plain(4, "file", FILE) - 1;
        assert_eq!(made, 4);
        report(&world, Report::Name(NodeKey(made), part("file")));
        world.fs.set_mode(made, 0o711);
        report(&world, Report::Attributes(NodeKey(made)));
        // Until `mkdir` has returned, the directory may be absent: its absence was true before.
        let found = (world.user().stat("/dir/made").map(|of| of.mode), world.exists("/dir/made/file"));
        assert!([Ok(0o711), Err(Errno::ENOENT)].contains(&found.0), "{found:?}");
        assert!([Ok(()), ABSENT].contains(&found.1), "{found:?}");
        maker.join().unwrap();
        assert_eq!(world.exists("/dir/made/file"), Ok(()));
        assert_eq!(world.user().stat("/dir/made").map(|of| of.mode), Ok(0o711));
        world.end();
    });
}

#[test]
fn a_name_beside_a_listing_and_beside_siblings() {
    explore(|hash| {
        let world = world(hash);
        let lister = world.spawn(|world| {
            let dir = world.vfs.context(Credentials::root()).open("/dir", OpenFlags::READ).unwrap();
            dir.getdents(usize::MAX).unwrap();
            _ = world.exists("/dir/new");
        });
        appears(&world, name("new"));
        lister.join().unwrap();
        assert_eq!(world.exists("/dir/new"), Ok(()));
        world.end();
    });
    explore(|hash| {
        let world = World::new(hash, |fs| {
            fs.tell_siblings();
            let dir = fs.plain(ROOT, "dir", DIRECTORY);
            ["a", "b", "c", "d"].iter().for_each(|name| _ = fs.plain(dir, name, FILE));
        });
        let walker = world.spawn(|world| ["a", "b", "c", "d"].iter().for_each(|name| _ = world.exists(&format!("/dir/{name}"))));
        world.fs.take_name(DIR, "d");
        report(&world, name("d"));
        assert_eq!(world.exists("/dir/d"), ABSENT);
        walker.join().unwrap();
        assert_eq!(world.exists("/dir/d"), ABSENT);
        world.end();
    });
}

#[test]
fn attributes_beside_a_lookup_of_the_node() {
    explore(|hash| {
        let world = world(hash);
        let walker = world.spawn(|world| _ = world.user().stat("/dir/file"));
        world.fs.set_mode(3, 0o600);
        report(&world, Report::Attributes(NodeKey(3)));
        assert_eq!(world.user().stat("/dir/file").map(|of| of.mode), Ok(0o600));
        walker.join().unwrap();
        assert_eq!(world.user().stat("/dir/file").map(|of| of.mode), Ok(0o600));
        world.end();
    });
}

/// Checks a file that is renamed from a directory that a sweep has not come to into one that it has
/// left, with attributes that changed before.
#[test]
fn a_sweep_beside_a_rename() {
    explore(|hash| {
        let world = World::with_room(20, hash, |fs| {
            let dir = fs.plain(ROOT, "dir", DIRECTORY);
            fs.plain(dir, "file", FILE);
            fs.plain(ROOT, "other", DIRECTORY);
        });
        let held = world.handle("/dir/file");
        held.attributes().unwrap();
        world.handle("/other");
        world.fs.set_mode(3, 0o600);
        let renamer = world.spawn(|world| {
            let root = world.vfs.context(Credentials::root());
            root.renameat(At::Cwd, "/dir/file", At::Cwd, "/other/file", RenameFlags::empty()).unwrap();
        });
        report(&world, Report::Subtree(NodeKey(ROOT)));
        assert_eq!(held.attributes().map(|of| of.mode), Ok(0o600));
        renamer.join().unwrap();
        assert_eq!(world.user().stat("/other/file").map(|of| of.mode), Ok(0o600));
        drop(held);
        world.end();
    });
}

/// Checks that a directory that is moved meanwhile is marked with all that is below it.
#[test]
fn a_sweep_beside_a_move_of_a_directory() {
    explore(|hash| {
        let world = World::with_room(20, hash, |fs| {
            let dir = fs.plain(ROOT, "dir", DIRECTORY);
            fs.plain(dir, "file", FILE);
            let top = fs.plain(ROOT, "top", DIRECTORY);
            let sub = fs.plain(top, "sub", DIRECTORY);
            fs.plain(sub, "file", FILE);
        });
        world.exists("/top/sub/file").unwrap();
        world.handle("/dir");
        world.fs.take_name(5, "file");
        let mover = world.spawn(|world| {
            let root = world.vfs.context(Credentials::root());
            root.renameat(At::Cwd, "/top/sub", At::Cwd, "/dir/sub", RenameFlags::empty()).unwrap();
        });
        report(&world, Report::Subtree(NodeKey(ROOT)));
        let found = [world.exists("/top/sub/file"), world.exists("/dir/sub/file")];
        assert!(found.iter().all(|answer| *answer == ABSENT), "{found:?}");
        mover.join().unwrap();
        assert_eq!(world.exists("/dir/sub/file"), ABSENT);
        world.end();
    });
}

#[test]
fn everything_beside_walks_and_the_memo() {
    explore(|hash| {
        let world = World::built(
            (14, 2),
            hash,
            |builder| builder,
            |fs| {
                let dir = fs.plain(ROOT, "dir", DIRECTORY);
                fs.plain(dir, "file", FILE);
            },
        );
        (0..3).for_each(|_| world.exists("/dir/file").unwrap());
        let walker = world.spawn(|world| (0..3).for_each(|_| _ = world.exists("/dir/file")));
        world.fs.take_name(DIR, "file");
        report(&world, Report::All);
        assert_eq!(world.exists("/dir/file"), ABSENT);
        walker.join().unwrap();
        assert_eq!(world.exists("/dir/file"), ABSENT);
        world.end();
    });
}

/// Checks that two threads that meet a doubtful name ask once, and that a report meanwhile is not
/// lost.
#[test]
fn a_question_about_a_doubtful_name() {
    explore(|hash| {
        let world = world(hash);
        world.exists("/dir/file").unwrap();
        let before = world.fs.asked("dir");
        report(&world, Report::Name(NodeKey(ROOT), part("dir")));
        let walker = world.spawn(|world| world.exists("/dir/file").unwrap());
        world.exists("/dir/file").unwrap();
        walker.join().unwrap();
        assert_eq!(world.fs.asked("dir") - before, 1);
        let walker = world.spawn(|world| _ = world.exists("/dir"));
        report(&world, Report::Name(NodeKey(ROOT), part("dir")));
        world.fs.take_name(ROOT, "dir");
        report(&world, Report::Name(NodeKey(ROOT), part("dir")));
        assert_eq!(world.exists("/dir"), ABSENT);
        walker.join().unwrap();
        assert_eq!(world.exists("/dir"), ABSENT);
        world.end();
    });
}

/// Checks a node that is found by its key while it is dropped.
#[test]
fn a_key_beside_an_eviction() {
    explore(|hash| {
        let world = world(hash);
        world.exists("/dir/file").unwrap();
        let evicter = world.spawn(|world| world.evict(3));
        world.vfs.world().trees.node_reported(
            world.vfs.world().trees.superblock_at(world.vfs.world().root.dentry()).id,
            NodeKey(3),
            OfNode::All,
        );
        report(&world, Report::Node(NodeKey(DIR)));
        assert_eq!(world.exists("/dir/file"), Ok(()));
        evicter.join().unwrap();
        world.end();
    });
}

/// Checks that a path through a link is not remembered beyond a report that the link has another
/// body.
#[test]
fn a_link_with_another_body_beside_the_memo() {
    explore(|hash| {
        let world = World::built(
            (14, 2),
            hash,
            |builder| builder,
            |fs| {
                let dir = fs.plain(ROOT, "dir", DIRECTORY);
                fs.plain(dir, "file", FILE);
                fs.add_link(ROOT, "link", "dir");
            },
        );
        (0..4).for_each(|_| world.exists("/link/file").unwrap());
        let walker = world.spawn(|world| _ = world.exists("/link/file"));
        world.fs.alter(4, |link| link.body = Some(b"none"[..].into()));
        report(&world, Report::Node(NodeKey(4)));
        assert_eq!(world.exists("/link/file"), ABSENT);
        walker.join().unwrap();
        assert_eq!(world.exists("/link/file"), ABSENT);
        world.end();
    });
}
