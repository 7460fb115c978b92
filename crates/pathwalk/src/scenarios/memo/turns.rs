//! The pace of the memo: when it learns, what it never learns, and when it drops entries.

use super::super::fs::ROOT;
#[cfg(not(shuttle))]
use super::super::world::DIRECTORY;
use super::super::world::FILE;
#[cfg(not(shuttle))]
use super::D;
use super::{IN_D, alone, fill, filled, ino, is_known, learn};
use crate::internals;

/// Checks a link whose body is asked for each time, since side lines are used up.
#[test]
fn body_left_out() {
    alone(|hash| {
        let long = |n| format!("/a name that is too long for a dentry's own line, and has a side line: {n}");
        let world = filled(hash, |fs| {
            fill(fs);
            (0..4).for_each(|n| _ = fs.plain(ROOT, &long(n)[1..], FILE));
            fs.add_link(ROOT, "l", "d/f");
        });
        let user = world.user();
        let held: Vec<_> = (0..4).map(|n| world.handle(&long(n))).collect();
        let side = world.vfs.stats().side;
        assert_eq!(side.used, side.capacity, "the case that is meant");
        for _ in 0..3 {
            assert_eq!((ino(&user, "/l"), is_known(&user, "/l")), (Ok(IN_D), false));
        }
        drop(held);
        internals::evict_all(&world.vfs);
        learn(&user, "/l");
        assert_eq!(ino(&user, "/l"), Ok(IN_D));
        drop(user);
        world.end();
    });
}

/// Checks that a word whose count has wrapped around to an old value does not make an old entry
/// valid.
#[cfg(not(shuttle))]
#[test]
fn count_wraps() {
    use super::super::world::{Hash, part};
    use crate::Errno;
    use crate::cache::dcache::dentry::WORD;
    use crate::cache::dcache::remembered::remember;
    use crate::memory::seqcount;
    use crate::node::RenameFlags;

    let world = super::world(Hash::Spread);
    let (user, dir, file) = (world.user(), world.handle("/d"), world.handle("/d/f"));
    let word = &world.vfs.world().caches().dentries.line(file.dentry())[WORD];
    learn(&user, "/d/f");
    let before = seqcount::sample(word);
    assert_eq!(ino(&user, "/d/f"), Ok(IN_D));
    // It is moved once more than a count can tell.
    internals::rename((&dir, part("f")), (&dir, part("g")), RenameFlags::empty()).unwrap();
    let moved = seqcount::sample(word);
    assert_ne!(moved, before);
    seqcount::write_more(word, ((before >> 32) as u32).wrapping_sub((moved >> 32) as u32).wrapping_sub(1));
    assert!(remember(word, seqcount::sample(word)).is_some());
    assert_eq!(seqcount::sample(word), before, "the case that is meant");
    assert!(!is_known(&user, "/d/f"));
    for _ in 0..3 {
        assert_eq!((ino(&user, "/d/f"), ino(&user, "/d/g")), (Err(Errno::ENOENT), Ok(IN_D)));
    }
    learn(&user, "/d/g");
    drop((user, dir, file));
    world.end();
}

/// Checks that a walk of which the memo learns still answers: what is learned is remembered, which
/// moves the words of its dentries.
#[cfg(not(shuttle))]
#[test]
fn what_is_learned_is_answered() {
    for (path, wanted) in [("/d", D), ("/d/f", IN_D), ("/l", IN_D), ("/e/../d/f", IN_D)] {
        let world = filled(super::super::world::Hash::Spread, |fs| {
            fill(fs);
            fs.add_link(ROOT, "l", "d/f");
        });
        let user = world.user();
        assert_eq!(ino(&user, path), Ok(wanted));
        let was_known = is_known(&user, path);
        assert_eq!(user.cached().stat(path).map(|found| found.ino), Ok(wanted), "{path}");
        assert!(!was_known && is_known(&user, path), "{path}: the case that is meant");
        drop(user);
        world.end();
    }
}

/// Checks that a path that cannot be learned is not recorded each time that it is walked.
#[cfg(not(shuttle))]
#[test]
fn refused_path_is_not_learned_again() {
    use super::super::fs::TestFs;
    use crate::{Access, Credentials, Vfs};

    const TIMES: u64 = 6400;
    let fs = TestFs::new();
    let deepest = (0..20).fold(ROOT, |dir, _| fs.plain(dir, "d", DIRECTORY));
    fs.plain(deepest, "f", FILE);
    let context = Vfs::builder().build(fs).unwrap().context(Credentials::root());
    // The pace of learning belongs to the thread.
    let asker = std::thread::spawn(move || {
        let (through_many, short) = (format!("{}/f", "/d".repeat(20)), "/d/d");
        let ask = |path: &str| (0..TIMES).for_each(|_| context.access(path, Access::empty()).unwrap());
        ask(&through_many);
        let refused = context.vfs().stats().whole_paths;
        assert!(refused.refusals > 0 && refused.refusals <= TIMES / 64 + 1 && refused.fills == 0, "{refused:?}");
        ask(short);
        assert_eq!(context.vfs().stats().whole_paths.fills, 1);
    });
    asker.join().unwrap();
}
