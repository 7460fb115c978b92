//! Times of access of links, beside walks through them: once a change of a link has returned, and
//! the clock has moved, the next walk stores the time of its access, also where the path is
//! remembered.

use super::super::explore;
use super::*;
use crate::{At, AtFlags};

/// The number of the link that [`world_of_links`] makes.
const LINK: u128 = 6;

/// Creates `/l`, which leads to `/d`. The engine keeps times of access.
fn world_of_links(hash: Hash) -> World {
    filled(hash, |fs| {
        fs.set_clock(10);
        fill(fs);
        assert_eq!(fs.add_link(ROOT, "l", "d"), LINK);
    })
}

fn chown(context: &Context, path: &str) {
    context.fchownat(At::Cwd, path, Some(5), None, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

/// Checks that a walk stores the time of an access to the link that changed before.
fn is_stored(world: &World, context: &Context, path: &str, now: i64) {
    world.fs.set_clock(now);
    assert_eq!(ino(context, path), Ok(IN_D));
    assert_eq!(world.fs.accessed_at(LINK), now, "{path}");
    // The cache has the same time, or asks for it.
    assert_eq!(context.lstat("/l").unwrap().atime.seconds, now);
}

fn walk(context: &Context, path: &'static str) -> impl FnOnce(&World) + use<> {
    let context = context.clone();
    move |_| (0..3).for_each(|_| assert_eq!(ino(&context, path), Ok(IN_D)))
}

#[test]
fn a_link_that_changes_beside_walks() {
    explore(|hash| {
        let world = world_of_links(hash);
        let user = world.user();
        is_stored(&world, &user, "/l/f", 20);
        learn(&user, "/l/f");
        let walkers = [(); 2].map(|()| world.spawn(walk(&user, "/l/f")));
        world.fs.set_clock(30);
        chown(&admin(&world), "/l");
        is_stored(&world, &user, "/l/f", 40);
        walkers.into_iter().for_each(|walker| walker.join().unwrap());
        chown(&admin(&world), "/l");
        is_stored(&world, &user, "/l/f", 50);
        drop(user);
        world.end();
    });
}

#[test]
fn a_second_name_of_a_link_comes_and_goes() {
    explore(|hash| {
        let world = world_of_links(hash);
        world.fs.add_name(ROOT, "m", LINK);
        let user = world.user();
        is_stored(&world, &user, "/l/f", 20);
        learn(&user, "/d/f");
        let walkers = ["/m/f", "/l/f"].map(|path| world.spawn(walk(&user, path)));
        world.fs.set_clock(30);
        chown(&admin(&world), "/m");
        is_stored(&world, &user, "/l/f", 40);
        chown(&admin(&world), "/l");
        is_stored(&world, &user, "/m/f", 50);
        walkers.into_iter().for_each(|walker| walker.join().unwrap());
        chown(&admin(&world), "/l");
        is_stored(&world, &user, "/m/f", 60);
        drop(user);
        world.end();
    });
}

#[test]
fn a_link_that_is_evicted_beside_walks() {
    explore(|hash| {
        let world = world_of_links(hash);
        let user = world.user();
        let walker = world.spawn(walk(&user, "/l/f"));
        let evictor = world.spawn(|world| world.evict(4));
        world.fs.set_clock(30);
        chown(&admin(&world), "/l");
        is_stored(&world, &user, "/l/f", 40);
        [walker, evictor].into_iter().for_each(|thread| thread.join().unwrap());
        chown(&admin(&world), "/l");
        is_stored(&world, &user, "/l/f", 50);
        drop(user);
        world.end();
    });
}
