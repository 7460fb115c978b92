//! What is idle is not hidden from the hands, and what lies below a bit of the tree is.

use super::{race, words};
use crate::memory::parked::Parked;
use crate::memory::pin::{kill_held, pin, read, revive, unpin};
use crate::sync::AtomicU64;

/// Four slots: in models a word has two bits, so there are two levels.
const SLOTS: u32 = 4;

struct Pool {
    parked: Parked,
    lives: [AtomicU64; SLOTS as usize],
}

/// Slots that are held once each.
fn held() -> Pool {
    let pool = Pool { parked: Parked::new(SLOTS - 1).unwrap(), lives: words() };
    pool.lives.iter().for_each(revive);
    pool
}

/// The same, and those that share a word with the first are parked.
fn neighbour_parked() -> Pool {
    let pool = held();
    pool.park(1);
    pool
}

/// The same, and the first, too: its word is full.
fn word_parked() -> Pool {
    let pool = neighbour_parked();
    pool.park(0);
    pool
}

impl Pool {
    fn park(&self, slot: u32) {
        self.parked.park(slot, &self.lives[slot as usize]);
    }

    /// As `Dentries::unpin`.
    fn let_go(&self, slot: u32) {
        let life = &self.lives[slot as usize];
        if unpin(life).leaves_parked() {
            self.parked.unpark(slot, life);
        }
    }

    fn visit(&self, slot: u32) {
        let life = &self.lives[slot as usize];
        if read(life).is_some_and(|of| pin(life, of)) {
            self.let_go(slot);
        }
    }

    fn is_seen(&self, slot: u32) -> bool {
        self.parked.others_in(0..SLOTS).any(|other| other == slot)
    }
}

#[test]
fn a_hand_beside_the_last_holder() {
    race(held, [|pool: &Pool| pool.park(0), |pool: &Pool| pool.let_go(0)], |pool, _| assert!(pool.is_seen(0)));
}

/// One of them may have parked it already.
#[test]
fn two_hands_beside_the_last_holder() {
    let hand: fn(&Pool) = |pool| pool.park(0);
    race(held, [hand, hand, |pool| pool.let_go(0)], |pool, _| assert!(pool.is_seen(0)));
}

#[test]
fn a_hand_beside_holders_that_come_and_go() {
    let hand: fn(&Pool) = |pool| pool.park(0);
    race(word_parked, [hand, |pool| pool.let_go(0), |pool| pool.visit(0)], |pool, _| assert!(pool.is_seen(0)));
}

/// The count that parked it ends with its generation; the next one is let go.
#[test]
fn a_hand_beside_a_slot_that_dies_and_lives_again() {
    let again: fn(&Pool) = |pool| {
        if kill_held(&pool.lives[0]) {
            revive(&pool.lives[0]);
        }
        pool.let_go(0);
    };
    race(neighbour_parked, [|pool: &Pool| pool.park(0), again], |pool, _| assert!(pool.is_seen(0)));
}

/// The first word is parked, so hands go by the bits above to come to the second; of that, the last
/// slot is parked.
fn behind_a_full_word() -> Pool {
    let pool = word_parked();
    pool.park(3);
    pool
}

/// Both words are parked.
fn all_parked() -> Pool {
    let pool = behind_a_full_word();
    pool.park(2);
    pool
}

/// One fills a word, another takes a bit of it away: the bit above does not hide that.
#[test]
fn a_word_that_is_filled_and_emptied() {
    let check = |pool: &Pool, _: [(); 2]| assert!(pool.is_seen(3) && !pool.is_seen(2));
    race(behind_a_full_word, [|pool: &Pool| pool.park(2), |pool: &Pool| pool.let_go(3)], check);
}

#[test]
fn a_word_that_is_emptied_and_filled_again() {
    let check = |pool: &Pool, _: [(); 3]| assert!(pool.is_seen(3) && !pool.is_seen(2));
    let park: fn(&Pool) = |pool| pool.park(2);
    race(all_parked, [park, |pool| pool.let_go(3), |pool| pool.park(3)], check);
}
