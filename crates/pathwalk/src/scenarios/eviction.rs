//! Eviction beside walks: slots are reused while walks read them, and no answer changes.

use super::explore;
use super::fs::ROOT;
use super::world::{DIRECTORY, FILE, Hash, World};
use crate::{Credentials, Errno};

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

/// Checks slots of evicted names that are filled with others.
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

/// Checks a link's body, which lies in side lines, that a walk reads while its inode is freed.
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

/// Checks handles that are taken and dropped while two hands pass: what they held can be evicted in
/// the end.
#[test]
fn what_is_let_go_beside_the_hands() {
    explore(|hash| {
        let world = world(hash);
        let holders = ["/dir/one", "/dir/two"].map(|path| {
            world.spawn(move |world| {
                let held = world.handle(path);
                drop(held.clone());
                drop(held);
                drop(world.handle(path));
            })
        });
        let hand = world.spawn(|world| world.evict(4));
        world.evict(4);
        holders.into_iter().for_each(|holder| holder.join().unwrap());
        hand.join().unwrap();
        world.end();
    });
}

/// Checks a budget that is full: walks evict for each other.
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

/// Checks a cache with hardly more slots than are pinned at once: no thread gets `ENFILE`, though
/// others turn the hands and take the slots that one thread frees.
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

/// Checks dentries that are read ahead and evicted before the walks come to them, with slots that
/// are filled with others.
#[test]
fn what_was_read_ahead_of() {
    explore(|hash| {
        let world = world(hash);
        let walker = world.spawn(|world| {
            let context = world.vfs.context(Credentials::root());
            let paths = ["/dir/one", "/dir/../dir/two", "/link", "/dir/none", "/dir/one/below"];
            let wanted = [Ok(3), Ok(4), Ok(3), Err(Errno::ENOENT), Err(Errno::ENOTDIR)];
            for _ in ["cold", "warm"] {
                let found = context.stat_many(&paths).map(|found| found.map(|found| found.ino));
                assert!(found.eq(wanted), "{wanted:?}");
            }
        });
        let others = world.spawn(|world| {
            for path in ["/a", "/dir/c"] {
                world.evict(2);
                assert_eq!(world.exists(path), Err(Errno::ENOENT));
            }
        });
        world.evict(4);
        walker.join().unwrap();
        others.join().unwrap();
        world.end();
    });
}
