//! A security hook that cares about search, whose rules change beside walks: a walk that begins
//! after the change was made known goes by the new rule, whatever promise another walk was about to
//! note.

use std::sync::Arc;

use super::explore;
use super::fs::ROOT;
use super::world::{DIRECTORY, FILE, Hash, World};
use crate::security::{Caller, Object, Rights, Search, SecurityHook};
use crate::sync::{AtomicU64, Ordering, yield_now};
use crate::{Context, Errno, NodeKey};

/// Closes the directory with this key while the word is not 0. Otherwise it promises.
struct Hook(Arc<AtomicU64>, NodeKey);

impl SecurityHook for Hook {
    fn granted(&self, _: &Caller<'_>, _: &Object<'_>, rights: Rights) -> Rights {
        rights
    }

    fn cares_about_search(&self) -> bool {
        true
    }

    fn may_search(&self, _: &Caller<'_>, directory: &Object<'_>) -> Search {
        let is_closed = directory.node().key() == self.1 && self.0.load(Ordering::SeqCst) != 0;
        // The answer may be late.
        yield_now();
        if is_closed { Search::Refused } else { Search::GrantedToAll }
    }
}

const REFUSED: Result<(), Errno> = Err(Errno::EACCES);

/// Creates `/d/f`, and `/d/e/f`; the rule is that of `/d`.
fn world(hash: Hash) -> (World, Arc<AtomicU64>) {
    let rule = Arc::new(AtomicU64::new(0));
    let hook = Hook(rule.clone(), NodeKey(2));
    let world = World::built(
        (20, 4),
        hash,
        |builder| builder.security(hook),
        |fs| {
            let dir = fs.plain(ROOT, "d", DIRECTORY);
            assert_eq!(dir, 2);
            fs.plain(dir, "f", FILE);
            let below = fs.plain(dir, "e", DIRECTORY);
            fs.plain(below, "f", FILE);
        },
    );
    (world, rule)
}

fn set(world: &World, rule: &AtomicU64, to: u64) {
    rule.store(to, Ordering::SeqCst);
    world.vfs.search_rules_changed();
}

fn either(answer: Result<(), Errno>) {
    assert!(matches!(answer, Ok(()) | Err(Errno::EACCES)), "{answer:?}");
}

#[test]
fn a_change_of_the_rule_beside_first_walks() {
    explore(|hash| {
        let (world, rule) = world(hash);
        let walkers = ["/d/f", "/d/e/f"].map(|path| world.spawn(move |world| either(world.exists(path))));
        set(&world, &rule, 1);
        assert_eq!([world.exists("/d/f"), world.exists("/d/e/f")], [REFUSED; 2]);
        walkers.into_iter().for_each(|walker| walker.join().unwrap());
        assert_eq!([world.exists("/d/f"), world.exists("/d/e/f")], [REFUSED; 2]);
        set(&world, &rule, 0);
        assert_eq!([world.exists("/d/f"), world.exists("/d/e/f")], [Ok(()); 2]);
        world.end();
    });
}

#[test]
fn a_change_of_the_rule_beside_remembered_paths() {
    explore(|hash| {
        let (world, rule) = world(hash);
        (0..3).for_each(|_| assert_eq!(world.exists("/d/e/f"), Ok(())));
        let walker = world.spawn(|world| (0..2).for_each(|_| either(world.exists("/d/e/f"))));
        let caches_alone = world.spawn(|world| {
            let user: Context = world.user();
            let answer = user.cached().stat("/d/e/f").map(drop);
            assert!(matches!(answer, Ok(()) | Err(Errno::EAGAIN)), "{answer:?}");
        });
        set(&world, &rule, 1);
        assert_eq!(world.exists("/d/e/f"), REFUSED);
        [walker, caches_alone].into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(world.exists("/d/e/f"), REFUSED);
        world.end();
    });
}

#[test]
fn a_change_of_the_rule_beside_evictions_and_chmod() {
    explore(|hash| {
        let (world, rule) = world(hash);
        assert_eq!(world.exists("/d/e/f"), Ok(()));
        let evictor = world.spawn(|world| world.evict(6));
        let walker = world.spawn(|world| either(world.exists("/d/e/f")));
        let changer = world.spawn(|world| {
            let dir = world.handle("/d");
            world.chmod(&dir, 0o711);
        });
        set(&world, &rule, 1);
        assert_eq!(world.exists("/d/f"), REFUSED);
        [evictor, walker, changer].into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(world.exists("/d/f"), REFUSED);
        world.end();
    });
}

#[test]
fn one_directory_s_rule_changes() {
    explore(|hash| {
        let (world, rule) = world(hash);
        let dir = world.handle("/d");
        let walker = world.spawn(|world| either(world.exists("/d/f")));
        rule.store(1, Ordering::SeqCst);
        world.vfs.search_rule_changed(&dir).expect("a directory");
        assert_eq!(world.exists("/d/f"), REFUSED);
        walker.join().unwrap();
        assert_eq!(world.exists("/d/f"), REFUSED);
        drop(dir);
        world.end();
    });
}
