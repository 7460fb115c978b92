//! Tests of the tree of parked slots against a set, by one thread and by several. The models of
//! `loom_tests` check the orderings.

use super::*;

/// A pool of lives, some of which are pinned.
struct Pool {
    parked: Parked,
    lives: Vec<AtomicU64>,
}

impl Pool {
    fn new(slots: u32) -> Pool {
        let lives = (0..slots).map(|_| AtomicU64::new(0)).collect();
        Pool { parked: Parked::new(slots - 1).unwrap(), lives }
    }

    fn hold(&self, slot: u32) {
        pin::revive(&self.lives[slot as usize]);
    }

    fn park(&self, slot: u32) {
        self.parked.park(slot, &self.lives[slot as usize]);
    }

    fn let_go(&self, slot: u32) {
        let life = &self.lives[slot as usize];
        if pin::unpin(life).leaves_parked() {
            self.parked.unpark(slot, life);
        }
    }

    fn others(&self) -> Vec<u32> {
        self.parked.others_in(0..self.lives.len() as u32).collect()
    }
}

/// Compares the tree with a set, at sizes where the tree gets another level.
#[test]
fn the_tree_skips_what_is_parked_and_nothing_else() {
    let sizes: &[u32] = if cfg!(miri) { &[1, 64, 130] } else { &[1, 63, 64, 65, 4095, 4096, 4097, 300_000] };
    for slots in sizes.iter().copied() {
        let pool = Pool::new(slots);
        (0..slots).for_each(|slot| pool.hold(slot));
        (0..slots).for_each(|slot| pool.park(slot));
        assert_eq!((pool.others(), pool.parked.others()), (vec![], 0), "{slots}");
        let wanted: Vec<u32> = (0..slots).filter(|slot| slot % 997 == 63 || *slot == slots - 1).collect();
        wanted.iter().for_each(|slot| pool.let_go(*slot));
        assert_eq!(pool.others(), wanted, "{slots}");
        let mut looks = 0;
        let piece = pool.parked.piece(0, 3, slots, &mut looks);
        let some: Vec<u32> = wanted.iter().copied().take(3).collect();
        assert_eq!(pool.parked.others_in(piece.clone()).collect::<Vec<_>>(), some, "{slots}: {piece:?}");
        assert!(looks <= 40, "{slots}: {looks} looks");
    }
}

#[test]
fn what_is_idle_or_dead_is_not_parked() {
    let pool = Pool::new(100);
    pool.park(7);
    pool.hold(8);
    pool.let_go(8);
    pool.park(8);
    assert_eq!(pool.others().len(), 100);
    assert_eq!(pool.parked.settled(), Some(2));
}

/// Checks that the note passes to the slot's next generation if the last pin of the one before was
/// never given back.
#[test]
fn a_slot_that_was_killed_while_parked_comes_back() {
    let pool = Pool::new(100);
    pool.hold(9);
    pool.park(9);
    assert!(pin::kill_held(&pool.lives[9]));
    pool.hold(9);
    assert_eq!(pool.others().len(), 99);
    pool.let_go(9);
    assert_eq!(pool.others().len(), 100);
}

#[test]
fn one_that_is_parked_twice_comes_back_once() {
    let pool = Pool::new(100);
    pool.hold(9);
    (0..2).for_each(|_| pool.park(9));
    assert_eq!((pool.others().len(), pool.parked.others()), (99, 98));
    pool.let_go(9);
    assert_eq!((pool.others().len(), pool.parked.others()), (100, 99));
}

/// Checks that no idle slot stays parked when hands park slots while holders come and go.
#[test]
fn nothing_idle_stays_parked() {
    const SLOTS: u32 = 130;
    let rounds = if cfg!(miri) { 20 } else { 20_000 };
    let pool = Pool::new(SLOTS);
    std::thread::scope(|scope| {
        for holder in 0..3 {
            let pool = &pool;
            scope.spawn(move || {
                for round in 0..rounds {
                    let slot = (holder + 3 * round) % SLOTS;
                    let life = &pool.lives[slot as usize];
                    if holder == slot % 3 && pin::read(life).is_none() {
                        pool.hold(slot);
                        pool.let_go(slot);
                    } else if pin::read(life).is_some_and(|of| pin::pin(life, of)) {
                        pool.let_go(slot);
                    }
                }
            });
        }
        for hand in 0..2 {
            let pool = &pool;
            scope.spawn(move || (0..rounds).for_each(|round| pool.park((hand * 7 + round) % SLOTS)));
        }
    });
    assert!(pool.others().into_iter().eq(0..SLOTS));
    assert_eq!(pool.parked.count.load(Ordering::Relaxed), 0);
}

#[test]
fn its_bytes_are_counted() {
    for capacity in [0, 63, 64, 4095, 4096, 1_000_000] {
        let parked = Parked::new(capacity).unwrap();
        let bytes: usize = parked.levels.iter().map(|level| level.len() * 8).sum();
        assert_eq!(Parked::bytes(capacity.into()), bytes as u64, "{capacity}");
    }
}
