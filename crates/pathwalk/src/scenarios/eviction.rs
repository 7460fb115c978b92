//! Eviction beside walks: slots are reused under their feet, and no answer changes.

use std::cell::{Cell, RefCell};

use super::explore;
use super::fs::ROOT;
use super::world::{DIRECTORY, FILE, Hash, World};
use crate::memory::reclaim::Short;
use crate::{Errno, Handle};

fn world(hash: Hash) -> World {
    World::new(hash, |fs| {
        let dir = fs.plain(ROOT, "dir", DIRECTORY);
        assert_eq!(fs.plain(dir, "one", FILE), 3);
        assert_eq!(fs.plain(dir, "two", FILE), 4);
        let long = "dir/./././././././././././././././././././././././././one";
        fs.add_link(ROOT, "link", long);
    })
}

#[test]
fn answers_stay_the_same() {
    explore(|hash| {
        let world = world(hash);
        let walkers = [["/dir/one", "/dir/two"], ["/dir/two", "/dir/../dir/one"]].map(|paths| {
            world.spawn(move |world| {
                for path in paths {
                    let wanted = if path.ends_with("one") { 3 } else { 4 };
                    assert_eq!(world.ino(path), Ok(wanted), "{path}");
                }
                assert_eq!(world.exists("/dir/none"), Err(Errno::ENOENT));
                assert_eq!(world.exists("/dir/one/below"), Err(Errno::ENOTDIR));
            })
        });
        world.evict(6);
        walkers.into_iter().for_each(|walker| walker.join().unwrap());
        world.end();
    });
}

/// The slots of evicted names are filled with others.
#[test]
fn slots_that_are_reused() {
    explore(|hash| {
        let world = world(hash);
        assert_eq!(world.ino("/dir/one"), Ok(3));
        let walker = world.spawn(|world| {
            assert_eq!(world.ino("/dir/one"), Ok(3));
            assert_eq!(world.ino("/dir/one"), Ok(3));
        });
        let others = world.spawn(|world| {
            for path in ["/a", "/b", "/dir/c"] {
                world.evict(1);
                assert_eq!(world.exists(path), Err(Errno::ENOENT));
            }
            assert_eq!(world.ino("/dir/two"), Ok(4));
        });
        walker.join().unwrap();
        others.join().unwrap();
        world.end();
    });
}

/// The body of a link lies in side lines, and a walk reads it while its inode is freed.
#[test]
fn links_are_followed_to_where_they_lead() {
    explore(|hash| {
        let world = world(hash);
        let walkers = [(); 2].map(|()| {
            world.spawn(|world| {
                assert_eq!(world.ino("/link"), Ok(3));
                let mut body = [0; 64];
                let length = world.user().readlink("/link", &mut body).unwrap();
                assert_eq!((&body[..8], &body[length - 4..length]), (&b"dir/././"[..], &b"/one"[..]));
            })
        });
        world.evict(5);
        walkers.into_iter().for_each(|walker| walker.join().unwrap());
        world.end();
    });
}

/// A budget that is full: walks evict for each other.
#[test]
fn more_names_than_slots() {
    explore(|hash| {
        let world = world(hash);
        let walkers = [0, 10].map(|from| {
            world.spawn(move |world| {
                for name in from..from + 10 {
                    assert_eq!(world.exists(&format!("/dir/{name}")), Err(Errno::ENOENT));
                }
            })
        });
        walkers.into_iter().for_each(|walker| walker.join().unwrap());
        assert_eq!(world.ino("/link"), Ok(3));
        world.end();
    });
}

/// Hardly more slots than are pinned at once: nobody is told that all are, though others turn the hands and take what one evicts.
#[test]
fn hardly_more_slots_than_pins() {
    explore(|hash| {
        let world = World::with_room(6, hash, |_| {});
        let walkers = [0, 10, 20].map(|from| {
            world.spawn(move |world| {
                for name in from..from + 6 {
                    assert_eq!(world.exists(&format!("/{name}")), Err(Errno::ENOENT));
                }
            })
        });
        walkers.into_iter().for_each(|walker| walker.join().unwrap());
        world.end();
    });
}

/// What somebody is told who looks for a slot and whose `n`th question is answered; all slots are pinned, and before each question `others` do something.
/// With how many he asked.
fn told(hash: Hash, n: usize, others: impl Fn(&World, usize, &mut Vec<Handle>)) -> (Result<(), Errno>, usize) {
    let names = ["a", "b", "c", "d", "e", "f"].map(|name| format!("/{name}"));
    let world = World::with_room(6, hash, |fs| names.iter().for_each(|name| _ = fs.plain(ROOT, &name[1..], FILE)));
    let held: RefCell<Vec<_>> = RefCell::new(names[..5].iter().map(|name| world.handle(name)).collect());
    let asked = Cell::new(0);
    let answer = world.vfs.core().take(Short::Dentries, || {
        asked.set(asked.get() + 1);
        others(&world, asked.get(), &mut held.borrow_mut());
        (asked.get() == n).then_some(())
    });
    drop(held);
    world.end();
    (answer, asked.get())
}

/// Another one evicts, and holds what he puts into the slot.
fn evict_and_hold(world: &World, n: usize, held: &mut Vec<Handle>) {
    drop(held.pop());
    world.evict(1);
    held.push(world.handle(["/e", "/f"][n % 2]));
}

#[test]
fn all_is_pinned() {
    explore(|hash| assert!(matches!(told(hash, usize::MAX, |_, _, _| {}), (Err(Errno::ENFILE), 2..10))));
}

/// All that one looks at is pinned, since others evict what is not, and fill it anew: it is not said that all is.
#[test]
fn others_evict_what_one_would() {
    explore(|hash| assert_eq!(told(hash, 20, evict_and_hold), (Ok(()), 20)));
}

#[test]
fn others_evict_for_ever() {
    explore(|hash| assert!(matches!(told(hash, usize::MAX, evict_and_hold), (Err(Errno::ENFILE), 20..100))));
}

/// One is pinned no more after it was looked at.
#[test]
fn others_let_go_late() {
    explore(|hash| {
        let others = |_: &World, n, held: &mut Vec<Handle>| held.truncate(if n == 2 { 4 } else { 5 });
        assert_eq!(told(hash, 3, others), (Ok(()), 3));
    });
}

/// Side lines are pinned, and dentries that have none come anew as often as one evicts them.
#[test]
fn others_fill_what_is_no_help() {
    explore(|hash| {
        let long = "/a name that is too long for a dentry's own line, and has a side line";
        let world = World::with_room(6, hash, |fs| _ = fs.plain(ROOT, &long[1..], FILE));
        let held = world.handle(long);
        let asked = Cell::new(0);
        let answer: Result<(), _> = world.vfs.core().take(Short::SideLines, || {
            asked.set(asked.get() + 1);
            assert_eq!(world.exists(&format!("/{}", asked.get())), Err(Errno::ENOENT));
            None
        });
        assert_eq!(answer, Err(Errno::ENFILE));
        drop(held);
        world.end();
    });
}
