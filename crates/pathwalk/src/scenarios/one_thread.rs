//! Cases that would take many schedules to meet: one thread plays all threads, and what the others
//! do comes between its steps.
//!
//! All slots are pinned when one is needed; a negative dentry is held while its name is taken.

use std::cell::{Cell, RefCell};

use super::fs::ROOT;
use super::world::{DIRECTORY, FILE, Hash, World, part};
use crate::cache::Pinned;
use crate::cache::dcache::dentry::{everyone, flags};
use crate::cache::reclaim::Short;
use crate::node::RenameFlags;
use crate::{Access, At, AtFlags, Errno, Handle, internals};

/// Calls `take` with all slots pinned, where the `n`th try succeeds and `others` runs before each
/// try. Returns the result and the number of tries.
fn told(n: usize, others: impl Fn(&World, usize, &mut Vec<Handle>)) -> (Result<(), Errno>, usize) {
    let names = ["a", "b", "c", "d", "e", "f"].map(|name| format!("/{name}"));
    let world = World::with_room(6, Hash::Spread, |fs| names.iter().for_each(|name| _ = fs.plain(ROOT, &name[1..], FILE)));
    let held: RefCell<Vec<_>> = RefCell::new(names[..5].iter().map(|name| world.handle(name)).collect());
    let asked = Cell::new(0);
    let answer = world.vfs.world().caches().take(Short::Dentries, || {
        asked.set(asked.get() + 1);
        others(&world, asked.get(), &mut held.borrow_mut());
        (asked.get() == n).then_some(())
    });
    drop(held);
    world.end();
    (answer, asked.get())
}

/// Plays another thread: evicts a dentry, and holds the one that it puts into the slot.
fn evict_and_hold(world: &World, n: usize, held: &mut Vec<Handle>) {
    drop(held.pop());
    world.evict(1);
    held.push(world.handle(["/e", "/f"][n % 2]));
}

#[test]
fn all_is_pinned() {
    assert!(matches!(told(usize::MAX, |_, _, _| {}), (Err(Errno::ENFILE), 2..10)));
}

/// Checks that `take` does not fail while other threads evict idle dentries and fill their slots
/// anew, though every dentry that it looks at is pinned.
#[test]
fn others_evict_what_one_would() {
    assert_eq!(told(20, evict_and_hold), (Ok(()), 20));
}

#[test]
fn others_evict_for_ever() {
    assert!(matches!(told(usize::MAX, evict_and_hold), (Err(Errno::ENFILE), 20..100)));
}

/// Checks a dentry that is unpinned after it was looked at.
#[test]
fn others_let_go_late() {
    let others = |_: &World, n, held: &mut Vec<Handle>| held.truncate(if n == 2 { 4 } else { 5 });
    assert_eq!(told(3, others), (Ok(()), 3));
}

/// Checks pinned side lines, where dentries without side lines come anew as often as they are
/// evicted.
#[test]
fn others_fill_what_is_no_help() {
    let long = "/a name that is too long for a dentry's own line, and has a side line";
    let world = World::with_room(6, Hash::Spread, |fs| _ = fs.plain(ROOT, &long[1..], FILE));
    let held = world.handle(long);
    let asked = Cell::new(0);
    let answer: Result<(), _> = world.vfs.world().caches().take(Short::SideLines, || {
        asked.set(asked.get() + 1);
        assert_eq!(world.exists(&format!("/{}", asked.get())), Err(Errno::ENOENT));
        None
    });
    assert_eq!(answer, Err(Errno::ENFILE));
    drop(held);
    world.end();
}

/// Checks that a held negative dentry stays negative, since its holder may look at any time whether
/// it is.
#[test]
fn an_absence_that_somebody_holds_stays_one() {
    let world = World::new(Hash::Spread, |fs| _ = fs.plain(ROOT, "old", FILE));
    assert_eq!(world.exists("/gone"), Err(Errno::ENOENT));
    let caches = world.vfs.world().caches();
    let held = Pinned::new(caches, caches.find_pinned(world.vfs.world().root.dentry(), b"gone").unwrap());
    let root = world.root();
    internals::rename((&root, part("old")), (&root, part("gone")), RenameFlags::empty()).unwrap();
    drop((world.create(&root, "old").unwrap(), root));
    assert_ne!(caches.dentries.word(held.id()) & flags::NEGATIVE, 0);
    drop(held);
    world.end();
}

/// Checks a directory that is dropped before each attempt of a change that has to find it under its
/// name.
#[test]
fn a_directory_is_dropped_again_and_again() {
    let world = World::new(Hash::Spread, |fs| _ = fs.plain(ROOT, "d", DIRECTORY));
    let (root, held) = (world.root(), world.handle("/d"));
    let attempts = Cell::new(0);
    let locked = world.vfs.world().trees.lock_name_beside(world.vfs.world().root.dentry(), b"d", || {
        attempts.set(attempts.get() + 1);
        if attempts.get() <= 20 {
            world.vfs.invalidate(&root, part("d")).unwrap();
        }
    });
    assert_eq!((locked, attempts.get()), (Ok(()), 21));
    drop((root, held));
    world.end();
}

/// Checks that the bits of the mode are in the dentry, where the lock-free walk reads them.
#[test]
fn what_everyone_may_stands_in_the_dentry() {
    let world = World::new(Hash::Spread, |fs| {
        fs.plain(ROOT, "d", DIRECTORY);
        fs.plain(ROOT, "f", FILE);
    });
    let everyone_may = |handle: &Handle| world.vfs.world().caches().dentries.word(handle.dentry()) & flags::EVERYONE;
    let (dir, file) = (world.handle("/d"), world.handle("/f"));
    assert_eq!((everyone_may(&dir), everyone_may(&file)), (everyone(Access::READ | Access::EXECUTE), everyone(Access::READ)));
    world.chmod(&dir, 0o733);
    world.chmod(&file, 0o600);
    assert_eq!((everyone_may(&dir), everyone_may(&file)), (everyone(Access::WRITE | Access::EXECUTE), 0));
    drop((dir, file));
    world.end();
}

/// Checks a link whose body came with it and found no room. The body is looked up by the link's
/// name, as long as the name is the link's. Otherwise the file system is asked for it, and this
/// file system knows bodies by names only.
#[test]
fn a_body_without_room_is_looked_up() {
    let bodies = ["x", "y"].map(|letter| letter.repeat(1000));
    let world = World::with_room(6, Hash::Spread, |fs| {
        fs.add_link(ROOT, "first", &bodies[0]);
        fs.add_link(ROOT, "second", &bodies[1]);
    });
    let body = |path: &str| {
        let body = world.user().read_link(path).map_err(Errno::from)?;
        Ok(body.into_os_string().into_encoded_bytes())
    };
    let link = world.user().lookup_at(At::Cwd, "/first", AtFlags::SYMLINK_NOFOLLOW).unwrap();
    assert_eq!((body("/first"), world.vfs.stats().side.used), (Ok(bodies[0].clone().into()), 0));
    world.fs.take_name(ROOT, "first");
    world.fs.move_name((ROOT, "second"), (ROOT, "first"));
    assert_eq!(body("/first"), Err(Errno::EINVAL), "the name is another link's");
    drop(link);
    world.evict(6);
    assert_eq!(body("/first"), Ok(bodies[1].clone().into()));
    world.end();
}
