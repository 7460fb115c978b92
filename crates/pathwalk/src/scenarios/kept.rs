//! Tests of what is recorded of names and nodes beside the words that readers see.

use super::fs::ROOT;
use super::world::{DIRECTORY, FILE, Hash, World, part};
use crate::cache::Caches;
use crate::cache::budget::Split;
use crate::cache::dcache::children::NameIs;
use crate::cache::dcache::complete::Listing;
use crate::cache::dcache::dentry::{everyone, flags as dentry_flags};
use crate::cache::dcache::in_lookup::Missing;
use crate::cache::dcache::watch::Known;
use crate::cache::icache::inode::{WORD, flags};
use crate::memory::slot::{DentryId, InodeId};
use crate::memory::{pin, seqcount};
use crate::sync::Ordering;
use crate::{Access, Errno, Handle};

fn world() -> World {
    World::new(Hash::Spread, |fs| {
        fs.plain(ROOT, "d", DIRECTORY);
        fs.plain(ROOT, "f", FILE);
    })
}

fn caches(world: &World) -> &Caches {
    world.vfs.world().caches()
}

/// Returns the root's dentry.
fn top(world: &World) -> DentryId {
    world.vfs.world().root.dentry()
}

fn inode(world: &World, node: &Handle) -> InodeId {
    caches(world).dentries.inode(node.dentry())
}

fn word(world: &World, id: InodeId) -> u64 {
    caches(world).inodes.record(id)[WORD].load(Ordering::Relaxed)
}

/// Checks that only absent names are counted as absent, from the first to the last.
#[test]
fn absent_names_are_counted_as_they_come_and_go() {
    let world = world();
    let absent = || caches(&world).uses.absent_sampled();
    ["/f", "/d"].iter().for_each(|path| world.exists(path).unwrap());
    assert_eq!(absent(), 0);
    for path in ["/x", "/y", "/d/z"] {
        assert_eq!(world.exists(path), Err(Errno::ENOENT));
    }
    assert_eq!(absent(), 3);
    let root = world.root();
    drop(world.create(&root, "x").unwrap());
    assert_eq!(absent(), 2);
    world.unlink(&root, "f").unwrap();
    assert_eq!(absent(), 3);
    drop(root);
    world.evict(14);
    assert_eq!(absent(), 0);
    world.end();
}

/// Checks that new attributes do not change how a node's permission is checked, and what became of
/// its body.
#[test]
fn what_holds_for_the_life_of_an_inode_stays_when_its_attributes_come_anew() {
    let world = world();
    let file = world.handle("/f");
    let id = inode(&world, &file);
    let for_life = [flags::OWN_RULE, flags::GENERIC_SEARCH, flags::BODY, flags::BODY_LEFT_OUT, flags::MARKED];
    let passes = [flags::STALE, flags::UNKNOWN, flags::BIRTH, flags::ACL];
    let before = word(&world, id);
    for flag in for_life.into_iter().chain(passes) {
        let set = |flags: u64| {
            let held = caches(&world).lock_inode(id);
            seqcount::write_alone(&caches(&world).inodes.record(id)[WORD]).end(flags);
            drop(held);
        };
        set(before as u32 as u64 | flag);
        world.vfs.refresh(&file).unwrap();
        let kept = word(&world, id) & flag != 0;
        assert_eq!(kept, for_life.contains(&flag), "{flag:#x}");
        set(before as u32 as u64);
    }
    drop(file);
    world.end();
}

/// Checks that a second mark of an inode adds to the first.
#[test]
fn marks_add_up() {
    let world = world();
    let file = world.handle("/f");
    let id = inode(&world, &file);
    let marks = || word(&world, id) & (flags::STALE | flags::MARKED | flags::UNKNOWN);
    assert_eq!(marks(), 0);
    let caches = caches(&world);
    for _ in 0..2 {
        caches.mark_stale(id);
        assert_eq!(marks(), flags::STALE | flags::MARKED);
    }
    for _ in 0..2 {
        caches.mark_unknown(id);
        assert_eq!(marks(), flags::STALE | flags::MARKED | flags::UNKNOWN);
    }
    caches.mark_stale(id);
    assert_eq!(marks(), flags::STALE | flags::MARKED | flags::UNKNOWN);
    world.vfs.refresh(&file).unwrap();
    assert_eq!(marks(), flags::MARKED);
    drop(file);
    world.end();
}

/// Checks that a name that is out of the table stays out, however often it is taken out; and the
/// same for a removed one.
#[test]
fn what_is_out_of_the_table_stays_out() {
    let world = world();
    let file = world.handle("/f");
    let caches = caches(&world);
    let flags = || caches.dentries.word(file.dentry()) & u64::from(u32::MAX);
    let shown = flags();
    for _ in 0..2 {
        let held = caches.dentries.children_lock(top(&world));
        caches.unhash(top(&world), file.dentry(), NameIs::Gone, &held);
        assert_eq!(flags(), shown | dentry_flags::UNHASHED);
    }
    for _ in 0..2 {
        world.vfs.world().trees.mark_removed(file.dentry());
        assert_eq!(flags(), shown | dentry_flags::UNHASHED | dentry_flags::REMOVED);
    }
    drop(file);
    world.end();
}

/// Checks that the list of a directory's children is in the order in which the names came, the
/// newest first.
#[test]
fn the_list_of_children_is_the_newest_first() {
    let names = ["e", "d", "c", "b", "a"];
    let world = World::new(Hash::Spread, |fs| {
        names.iter().for_each(|name| _ = fs.plain(ROOT, name, FILE));
    });
    let caches = caches(&world);
    let of = |name: &str| caches.find_pinned(top(&world), name.as_bytes()).map(|id| (caches.dentries.unpin(id), id).1);
    names.iter().rev().for_each(|name| world.exists(&format!("/{name}")).unwrap());
    let ids = names.map(|name| of(name).unwrap());
    let children = || -> Vec<DentryId> {
        let held = caches.dentries.children_lock(top(&world));
        caches.children(top(&world), &held).collect()
    };
    assert_eq!(children(), ids);
    // The first, the last, and one between.
    let mut left = ids.to_vec();
    for at in [0, 3, 1] {
        let held = caches.dentries.children_lock(top(&world));
        caches.unhash(top(&world), left[at], NameIs::Unknown, &held);
        drop(held);
        left.remove(at);
        assert_eq!(children(), left);
    }
    assert_eq!(caches.any_child(top(&world)), Some(left[0]));
    caches.dentries.unpin(left[0]);
    world.end();
}

/// Checks the sizes of pools and tables. Six of the eight entries of a line are meant to be used.
#[test]
#[cfg_attr(miri, ignore = "one thread, and minutes there")]
fn pools_and_tables_are_as_large_as_they_say() {
    for dentries in [14, 100, 1000] {
        let world = World::with_room(dentries, Hash::Spread, |_| {});
        let stats = world.vfs.stats();
        for pool in [stats.dentries, stats.inodes] {
            assert_eq!((pool.capacity, pool.used), (dentries, 1));
            let lines = pool.table_bytes / 64;
            assert_eq!((lines, pool.table_bytes % 64), (dentries.div_ceil(6), 0));
        }
        let side = stats.side.capacity;
        assert_eq!((side, stats.side.used, stats.side.table_bytes), (dentries.div_ceil(7), 0, 0));
        assert_eq!(stats.budget, Split::bytes(dentries));
        assert_eq!((stats.dentries.slot_bytes, stats.inodes.slot_bytes), (95, 130));
        world.end();
    }
}

/// Checks that the bytes besides slots and tables, those of locks and counters, do not depend on
/// their size. A table of so few pages has one word of bits for them. An even number of dentries
/// takes two bytes more than it counts for, since a ghost is shared by two and one is spare.
#[test]
#[cfg_attr(miri, ignore = "one thread, and minutes there")]
fn a_budget_is_what_is_allocated() {
    use crate::cache::reclaim::uses;
    use crate::memory::parked::Parked;
    let besides: Vec<u64> = [14, 100, 5000, 20_000]
        .map(|dentries| {
            let world = World::with_room(dentries, Hash::Spread, |_| {});
            let ranges = crate::internals::memory_ranges(&world.vfs);
            let bytes: usize = ranges.iter().map(|(start, end)| end - start).sum();
            let besides = Split::bytes(dentries) - bytes as u64 - Parked::bytes(dentries) - uses::bytes(dentries);
            world.end();
            besides
        })
        .into();
    assert_eq!(besides, [(118 << 10) + 2 * 8 - 2; 4]);
}

#[test]
fn each_flag_of_a_dentry_has_a_bit_of_its_own() {
    use dentry_flags::*;
    let one_bit = [DIRECTORY, LINK, NEGATIVE, REVALIDATE, IN_LOOKUP, UNHASHED, LISTED, REMOVED, MOUNTED, ROOTED];
    let all = [1, EVERYONE].into_iter().chain(one_bit);
    assert_eq!(all.clone().map(u64::count_ones).sum::<u32>(), 14, "three of everyone's, one of each other");
    assert_eq!(all.fold(0, |all, flag| all | flag), (1 << 14) - 1);
    assert_eq!((EVERYONE >> EVERYONE_SHIFT, EVERYONE_SEARCH), (7, 1 << EVERYONE_SHIFT));
    assert_eq!(OF_INODE, DIRECTORY + LINK + NEGATIVE + EVERYONE + REVALIDATE);
}

/// Checks that neighbours have stripes of their own, and that distant directories share one.
#[test]
#[cfg_attr(miri, ignore = "one thread, and minutes there")]
fn directories_share_locks_evenly() {
    use crate::cache::dcache::dentry::children_stripe;
    let stripes = (1..).take_while(|id| children_stripe(DentryId(*id)) != children_stripe(DentryId(0))).count() + 1;
    assert_eq!(stripes, crate::sync::stripes(256));
    let of = |first: u32| (first..first + stripes as u32).map(|id| children_stripe(DentryId(id)));
    for first in [0, 1000] {
        assert_eq!(of(first).collect::<std::collections::BTreeSet<_>>().len(), stripes);
    }
}

/// Returns which of two directories is locked first: while its lock is held, the other is not
/// taken.
#[cfg(not(miri))]
fn locked_first(world: &World, one: DentryId, other: DentryId) -> DentryId {
    use crate::memory::dir_lock;
    const WAITED_FOR: u32 = 3 << 30;
    let caches = caches(world);
    let word = |dir| caches.dentries.lock(dir).load(Ordering::Relaxed);
    let is_first = |dir, beside| {
        let held = dir_lock::exclusive(caches.dentries.lock(dir));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let moves = caches.moves.lock();
                drop(caches.lock_both(one, other, Some(&moves)));
            });
            while word(dir) & WAITED_FOR == 0 {
                std::thread::yield_now();
            }
            let is_free = word(beside) == 0;
            drop(held);
            is_free
        })
    };
    let [one_is, other_is] = [is_first(one, other), is_first(other, one)];
    assert!(one_is != other_is);
    if one_is { one } else { other }
}

/// Checks that the directory above is locked first, or else the one with the lower slot.
#[test]
#[cfg(not(miri))]
fn directories_are_locked_from_above() {
    let world = World::new(Hash::Spread, |fs| {
        ["x", "y"].iter().for_each(|name| _ = fs.plain(ROOT, name, DIRECTORY));
    });
    let (root, x, y) = (world.root(), world.handle("/x"), world.handle("/y"));
    let ids = [root.dentry(), x.dentry(), y.dentry()];
    assert!(ids[0] < ids[1] && ids[1] < ids[2]);
    let firsts = || [(0, 1), (1, 0), (1, 2), (2, 1)].map(|(a, b)| locked_first(&world, ids[a], ids[b]));
    assert_eq!(firsts(), [ids[0], ids[0], ids[1], ids[1]]);
    let none = crate::RenameFlags::empty();
    crate::internals::rename((&root, part("x")), (&y, part("x")), none).unwrap();
    assert_eq!(firsts(), [ids[0], ids[0], ids[2], ids[2]]);
    drop((root, x, y));
    world.end();
}

/// Checks that the bits of a second name are kept up by the inode while the first name is dying,
/// which needs its bits no more.
#[test]
fn the_name_of_a_file_whose_other_name_is_dying_says_what_everyone_may() {
    let world = World::new(Hash::Spread, |fs| {
        let file = fs.plain(ROOT, "f", FILE);
        fs.add_name(ROOT, "g", file);
    });
    let caches = caches(&world);
    world.exists("/f").unwrap();
    let dying = caches.find_pinned(top(&world), b"f").unwrap();
    caches.dentries.unpin(dying);
    // As an eviction does, which takes the inode's lock later.
    assert!(pin::kill(caches.dentries.life(dying)));
    let other = world.handle("/g");
    let everyone_may = |id| caches.dentries.word(id) & dentry_flags::EVERYONE;
    assert_eq!(everyone_may(other.dentry()), everyone(Access::READ));
    pin::revive(caches.dentries.life(dying));
    caches.dentries.unpin(dying);
    world.chmod(&other, 0o622);
    assert_eq!(everyone_may(other.dentry()), everyone(Access::WRITE));
    drop(other);
    world.end();
}

/// Checks that a name is left alone that a listing gives after it can no longer make the directory
/// complete.
#[test]
fn a_listing_that_is_over_enters_nothing() {
    let world = world();
    let caches = caches(&world);
    let mut listing = caches.begin_listing(top(&world)).unwrap();
    let note = |listing: &mut Listing, name| caches.note_name(top(&world), listing, part(name));
    assert!(note(&mut listing, "f"));
    caches.no_longer_complete(top(&world));
    assert!(note(&mut listing, "f"), "it is cached");
    assert!(!note(&mut listing, "d"));
    let is_cached = |name: &[u8]| caches.probe(top(&world), name).is_some();
    assert_eq!([is_cached(b"f"), is_cached(b"d")], [true, false]);
    caches.end_listing(top(&world), &listing);
    assert_eq!(caches.known(top(&world), &caches.dentries.children_lock(top(&world))), Known::Nothing);
    world.end();
}

/// Checks that a question about a listed name belongs to one thread until it is answered or given
/// up.
#[test]
fn a_listed_name_is_asked_about_once_at_a_time() {
    let world = world();
    let caches = caches(&world);
    let mut listing = caches.begin_listing(top(&world)).unwrap();
    assert!(caches.note_name(top(&world), &mut listing, part("f")));
    let (id, _) = caches.probe(top(&world), b"f").unwrap();
    let marks = || caches.dentries.word(id) & (dentry_flags::IN_LOOKUP | dentry_flags::LISTED);
    assert_eq!(marks(), dentry_flags::IN_LOOKUP | dentry_flags::LISTED);
    let Ok(Missing::Ask(asking)) = caches.begin_lookup(top(&world), b"f", crate::Freshness::Stable) else {
        panic!("it is asked about already")
    };
    assert_eq!((asking.dentry(), marks()), (id, dentry_flags::IN_LOOKUP));
    let Ok(Missing::Found(found)) = caches.begin_lookup(top(&world), b"f", crate::Freshness::Stable) else {
        panic!("it is not asked about")
    };
    assert_eq!((found, marks()), (id, dentry_flags::IN_LOOKUP));
    caches.dentries.unpin(found);
    drop(asking);
    assert_eq!(marks(), dentry_flags::IN_LOOKUP | dentry_flags::LISTED);
    world.exists("/f").unwrap();
    assert_eq!(marks(), 0);
    world.end();
}
