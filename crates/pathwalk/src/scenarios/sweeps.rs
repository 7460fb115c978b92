//! Sweeps by kind, beside changes that make an absence of a name or the other way round, and beside
//! walks.

use super::doubts::{ABSENT, DIR, report, world};
use super::explore;
use super::world::{FILE, Hash};
use crate::fs_api::Report;
use crate::node::Sweep;
use crate::{At, Credentials, OpenFlags, RenameFlags};

/// Checks a name that the engine makes where it had cached an absence: a sweep of names alone does
/// not pass over it while it still is an absence.
#[test]
fn a_sweep_of_names_beside_a_change_that_makes_one() {
    explore(|hash| {
        let world = world(hash);
        assert_eq!(world.exists("/dir/new"), ABSENT);
        let maker = world.spawn(|world| world.vfs.context(Credentials::root()).mkdir("/dir/new", 0o755).unwrap());
        while !world.fs.has(DIR, "new") {
            crate::sync::yield_now();
        }
        world.fs.take_name(DIR, "new");
        report(&world, Report::Kinds(Sweep::NAMES));
        assert_eq!(world.exists("/dir/new"), ABSENT);
        maker.join().unwrap();
        assert_eq!(world.exists("/dir/new"), ABSENT);
        world.end();
    });
}

/// Checks the same for the absence that a removal makes, in place of the entry or beside it, and
/// for the one that a rename leaves.
#[test]
fn a_sweep_of_absences_beside_a_change_that_makes_one() {
    explore(|hash| absence(hash, By::Unlink, false));
    explore(|hash| absence(hash, By::Unlink, true));
    explore(|hash| absence(hash, By::Rename, false));
    explore(|hash| absence(hash, By::Rename, true));
}

/// The change that takes a name away.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Unlink,
    Rename,
}

fn absence(hash: Hash, by: By, is_held: bool) {
    let world = world(hash);
    world.exists("/dir/file").unwrap();
    assert_eq!(world.exists("/dir/moved"), ABSENT);
    let held = is_held.then(|| world.handle("/dir/file"));
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
    report(&world, Report::Kinds(Sweep::ABSENCES));
    assert_eq!(world.exists("/dir/file"), Ok(()));
    changer.join().unwrap();
    assert_eq!(world.exists("/dir/file"), Ok(()));
    drop(held);
    world.end();
}

/// Checks sweeps beside lookups, listings and the memo.
#[test]
fn sweeps_of_one_kind_beside_walks() {
    explore(|hash| {
        let world = world(hash);
        world.exists("/dir/file").unwrap();
        let walker = world.spawn(|world| {
            let dir = world.vfs.context(Credentials::root()).open("/dir", OpenFlags::READ).unwrap();
            dir.getdents(usize::MAX).unwrap();
            _ = (world.exists("/dir/new"), world.exists("/dir/file"));
        });
        world.fs.take_name(DIR, "file");
        report(&world, Report::Kinds(Sweep::NAMES));
        assert_eq!(world.exists("/dir/file"), ABSENT);
        world.fs.plain(DIR, "new", FILE);
        report(&world, Report::Kinds(Sweep::ABSENCES));
        assert_eq!(world.exists("/dir/new"), Ok(()));
        world.fs.set_mode(DIR, 0o711);
        report(&world, Report::Kinds(Sweep::ATTRIBUTES));
        assert_eq!(world.user().stat("/dir").map(|of| of.mode), Ok(0o711));
        walker.join().unwrap();
        assert_eq!((world.exists("/dir/file"), world.exists("/dir/new")), (ABSENT, Ok(())));
        assert_eq!(world.user().stat("/dir").map(|of| of.mode), Ok(0o711));
        world.end();
    });
}
