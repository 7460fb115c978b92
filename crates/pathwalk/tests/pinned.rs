//! The cost of a search for evictable entries when many are pinned: nothing. The test counts the
//! slots that are examined, and measures no time.

use pathwalk::{Access, Context, Credentials, Errno, File, Handle, NewKind, OpenFlags, OpenHow, Vfs};
use pathwalk_memfs::MemFs;

/// The maximum mean number of slots that are examined for each eviction.
const MOST_LOOKS: u64 = 12;

const SHARES: [u64; 5] = [0, 50, 90, 95, 99];

/// Creates a cache of so many slots, of which a share in percent is held.
fn world(slots: u64, share: u64) -> (Context, Vec<Handle>) {
    let fs = MemFs::new();
    fs.mkdir("/held", 0o755).unwrap();
    fs.mkdir("/new", 0o755).unwrap();
    let held = slots * share / 100;
    (0..held).for_each(|i| fs.file(format!("/held/{i}"), 0o644).unwrap());
    let vfs = Vfs::builder().budget(Vfs::budget_for(slots)).one_by_one().seed(1).build(fs).unwrap();
    let who = vfs.context(Credentials::root());
    let mut handles = vec![who.lookup("/new").unwrap()];
    handles.extend((0..held - held.min(3)).map(|i| who.lookup(format!("/held/{i}")).unwrap()));
    (who, handles)
}

/// Calls `each` with many names, once so that the hands have met all that is held, and once more to
/// count. Returns looks and evictions.
fn counted(who: &Context, slots: u64, held: u64, each: impl Fn(&str)) -> (u64, u64) {
    let names = 2 * (slots - held) + 500;
    let run = |from: u64| (0..names).for_each(|i| each(&format!("/new/{}", from + i)));
    run(0);
    let before = who.vfs().stats();
    run(names);
    let after = who.vfs().stats();
    (after.looks - before.looks, after.evictions - before.evictions)
}

fn looks_are_few(what: &str, each: impl Fn(&Context, &str)) {
    for slots in [1000, 17_000] {
        for share in SHARES {
            let (who, held) = world(slots, share);
            let (looks, evictions) = counted(&who, slots, slots * share / 100, |name| each(&who, name));
            println!("{what}: {slots} slots, {share} % held: {looks} looks for {evictions} evictions");
            assert!(evictions >= 500 && looks <= MOST_LOOKS * evictions, "{what}, {slots} slots, {share} % held");
            drop(held);
        }
    }
}

#[test]
fn for_absent_names() {
    looks_are_few("access", |who, name| assert_eq!(who.access(name, Access::empty()), Err(Errno::ENOENT)));
}

#[test]
fn for_files_that_are_made() {
    looks_are_few("mknod", |who, name| who.mknod(name, NewKind::Regular, 0o644).unwrap());
}

#[test]
fn for_names_of_open_files_that_are_taken_away() {
    let how = OpenHow { flags: OpenFlags::CREATE | OpenFlags::WRITE, mode: 0o644, ..OpenHow::default() };
    looks_are_few("unlink", |who, name| {
        let file: File = who.open(name, how).unwrap();
        who.unlink(name).unwrap();
        drop(file);
    });
}

/// Hits names now and then, so that they are promoted and counted.
#[test]
fn for_names_that_are_hit() {
    looks_are_few("access twice", |who, name| {
        (0..2).for_each(|_| assert_eq!(who.access(name, Access::empty()), Err(Errno::ENOENT)));
    });
}

/// Checks that all that was held can be evicted once it is released.
#[test]
fn what_is_let_go_can_be_evicted() {
    let (who, held) = world(1000, 99);
    counted(&who, 1000, 990, |name| assert_eq!(who.access(name, Access::empty()), Err(Errno::ENOENT)));
    drop(held);
    // All but the root, which the context holds as root and working directory.
    assert_eq!(pathwalk::internals::evict(who.vfs(), 2000) as u64, who.vfs().stats().dentries.capacity - 1);
    assert_eq!(who.vfs().stats().dentries.used, 1);
}

/// Checks that an error is returned when all slots are held. One slot that is released is found
/// among all of them.
#[test]
fn one_slot_among_all() {
    let (who, mut held) = world(1000, 100);
    let mut more = 0;
    while who.mknod(format!("/new/{more}"), NewKind::Regular, 0o644).is_ok() {
        held.push(who.lookup(format!("/new/{more}")).unwrap());
        more += 1;
    }
    for _ in 0..1000 {
        assert_eq!(who.access("/new/none", Access::empty()), Err(Errno::ENFILE));
        let at = held.len() / 2;
        let let_go = held.swap_remove(at);
        let path = let_go.path().unwrap();
        drop(let_go);
        assert_eq!(who.access("/new/none", Access::empty()), Err(Errno::ENOENT));
        held.push(who.lookup(path.as_slice()).unwrap());
    }
}
