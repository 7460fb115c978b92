//! Models of `Parked`: an idle slot is not hidden from the hands, and slots below a set bit of the
//! tree are.

use super::{race, words};
use crate::memory::parked::Parked;
use crate::memory::pin::{kill_held, pin, read, revive, unpin};
use crate::sync::AtomicU64;

/// The number of slots: in models a word has two bits, so four slots make two levels.
const SLOTS: u32 = 4;

struct Pool {
    parked: Parked,
    lives: [AtomicU64; SLOTS as usize],
}

/// Creates slots that are pinned once each.
fn held() -> Pool {
    let pool = Pool { parked: Parked::new(SLOTS - 1).unwrap(), lives: words() };
    pool.lives.iter().for_each(revive);
    pool
}

/// Creates the same, with the slot parked that shares a word with the first.
fn neighbour_parked() -> Pool {
    let pool = held();
    pool.park(1);
    pool
}

/// Creates the same, with the first slot parked, too: its word is full.
fn word_parked() -> Pool {
    let pool = neighbour_parked();
    pool.park(0);
    pool
}

impl Pool {
    fn park(&self, slot: u32) {
        self.parked.park(slot, &self.lives[slot as usize]);
    }

    /// Gives a pin back, as `Dentries::unpin` does.
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

/// Checks two hands, one of which may have parked the slot already.
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

/// Checks a generation that ends while it is parked, without its pin being given back; the next
/// generation's pin is given back.
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

/// Creates slots whose first word is parked, so that hands use the bits above to reach the second
/// word, of which the last slot is parked.
fn behind_a_full_word() -> Pool {
    let pool = word_parked();
    pool.park(3);
    pool
}

/// Creates slots of which both words are parked.
fn all_parked() -> Pool {
    let pool = behind_a_full_word();
    pool.park(2);
    pool
}

/// Checks a thread that fills a word beside one that clears a bit of it: the bit above does not
/// hide the cleared one.
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
