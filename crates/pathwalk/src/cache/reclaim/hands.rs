//! The hands, which choose the dentries to evict: S3-FIFO (Yang et al., SOSP 2023) without its
//! lists, over slots.
//!
//! A new dentry is on probation. While more than a sixth of the dentries are new, a hand over the
//! new ones evicts those that were not hit since they came, and promotes those that were hit or are
//! pinned. Otherwise a hand over the promoted ones evicts each that was idle for as many turns of
//! this hand as it was hit in before, up to three. A name that was evicted while it was new, and
//! comes again soon, is promoted at once. So names that are asked for once pass through a sixth of
//! the cache, and the rest stays.
//!
//! Absent names may have half of the slots while other names need slots. Beyond that, an absent
//! name goes first, chosen in the same way among absent names alone. So a storm of absent names
//! cannot push out present ones.
//!
//! Several threads may evict at once: each takes a piece of the slots from the common hand and goes
//! through it alone. `docs/eviction.md` says which policy this is, and why.
//!
//! A pinned dentry is looked at once and parked: the hands skip it until its last pin is given
//! back, and the shares above are shares of the rest. So the cost of an eviction does not depend on
//! how much is pinned. A turn that meets no dentry that could ever be evicted is the last.
//!
//! What it does not do: nothing is exact. Marks may be set while they are cleared, and counts are
//! read while they change.

use arrayvec::ArrayVec;

use super::Short;
use super::uses::{Half, Kind, Piece};
use crate::cache::Caches;
use crate::cache::dcache::dentry::{WORD, flags, forget_hit, inode_of, parent_of, was_hit};
use crate::memory::pin;
use crate::memory::slot::DentryId;
use crate::sync::Ordering;

/// The largest number of slots that a thread takes at once.
const PIECE: u32 = 64;

type Going = ArrayVec<DentryId, { PIECE as usize }>;
type Hashes = ArrayVec<u64, { PIECE as usize }>;

/// The number of turns of the hand over promoted dentries in which every dentry loses its mark and
/// its count, plus one.
const TURNS: u32 = 6;

/// The result of one piece of a hand's turn.
struct Pass {
    /// The number of slots that the hand passed.
    passed: u32,
    found: Found,
}

/// The kind of dentries that a hand met in a piece.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// No dentry that will ever be evicted if it stays as it is.
    Nothing,
    /// Some dentries that will be evicted in a later turn.
    Later,
    /// Some dentries that were evicted.
    Evicted,
}

impl Caches {
    /// Evicts one dentry that frees what is short. Returns false if there is none.
    pub(crate) fn evict_one(&self, short: Short) -> bool {
        self.evict(short, 1)
    }

    /// Evicts a few dentries.
    pub(super) fn evict_some(&self, short: Short) -> bool {
        // If there are few slots, few are evicted at once: each choice should be among nearly all
        // slots.
        self.evict(short, (self.dentries.parked().others() / (4 * PIECE)).clamp(1, PIECE))
    }

    fn evict(&self, short: Short, piece: u32) -> bool {
        let absent_first = short == Short::Dentries && self.uses.too_many_absent(self.dentries.parked());
        absent_first && self.evict_of(Kind::Absent, short, piece)
            || self.evict_of(Kind::Any, short, piece)
            || self.evict_any(short, piece)
    }

    fn evict_of(&self, kind: Kind, short: Short, piece: u32) -> bool {
        let slots = self.dentries.free().touched();
        let too_many = || self.uses.too_many_new(kind, self.dentries.parked());
        self.turn(slots, too_many, || self.pass_over_new(kind, short, piece)) == Found::Evicted
            || (0..TURNS)
                .map(|_| self.turn(slots, || true, || self.pass_over_main(kind, short, piece)))
                .find(|found| *found != Found::Later)
                .is_some_and(|found| found == Found::Evicted)
    }

    /// Makes a turn of a hand until a dentry was evicted. Ends early once `goes_on` returns false.
    fn turn(&self, slots: u32, goes_on: impl Fn() -> bool, pass: impl Fn() -> Pass) -> Found {
        let (mut passed, mut found) = (0, Found::Nothing);
        while passed < slots && found != Found::Evicted && goes_on() {
            let pass = pass();
            passed = passed.saturating_add(pass.passed);
            found = if pass.found == Found::Nothing { found } else { pass.found };
        }
        found
    }

    /// Evicts any dentries that can be evicted, if the hands found none. It looks at every slot
    /// itself, since other threads may have taken the relevant pieces of a hand.
    pub(crate) fn evict_any(&self, short: Short, piece: u32) -> bool {
        let mut evicted = 0;
        let rounds = self.uses.round(self.dentries.free().touched());
        let slots = rounds.into_iter().flat_map(|range| self.dentries.parked().others_in(range));
        let mut looks = 0;
        for id in slots.map(DentryId) {
            looks += 1;
            if self.could_go(id, short) && self.evicted(id) {
                evicted += 1;
            } else {
                self.dentries.park(id);
            }
            if evicted == piece {
                break;
            }
        }
        self.counters.looks(looks);
        evicted > 0
    }

    /// Takes the next dentries of a half for its hand, up to `most` that are not parked. Also
    /// returns how many slots the hand passed.
    fn next(&self, kind: Kind, half: Half, most: u32) -> (u32, impl Iterator<Item = DentryId>) {
        let parked = self.dentries.parked();
        let Piece { slots, passed, looks } = self.uses.next(kind, half, most, self.dentries.free().touched(), parked);
        self.counters.looks(looks);
        // More slots may be unparked by now.
        let slots = parked.others_in(slots).take(most as usize).map(DentryId);
        (passed, slots.filter(move |id| self.uses.is_in(*id, half) && self.is_of(kind, *id)))
    }

    fn pass_over_new(&self, kind: Kind, short: Short, piece: u32) -> Pass {
        let mut going = Going::new();
        let (passed, slots) = self.next(kind, Half::New, piece);
        for id in slots {
            let is_idle = pin::is_idle(self.dentries.life(id));
            if !is_idle {
                self.dentries.park(id);
            }
            if !is_idle || self.was_hit(id) {
                self.uses.promote(id);
            } else if self.could_go(id, short) {
                going.push(id);
            }
        }
        self.evict_all(passed, &going, Found::Nothing)
    }

    fn pass_over_main(&self, kind: Kind, short: Short, piece: u32) -> Pass {
        let (mut going, mut found) = (Going::new(), Found::Nothing);
        let (passed, slots) = self.next(kind, Half::Main, piece);
        for id in slots {
            if !self.could_go(id, short) {
                self.dentries.park(id);
                continue;
            }
            found = Found::Later;
            if self.was_hit(id) {
                self.uses.count_up(id);
            } else if !self.uses.count_down(id) {
                going.push(id);
            }
        }
        self.evict_all(passed, &going, found)
    }

    /// Evicts the chosen dentries of a piece. `found` is the result if none of them could be
    /// evicted.
    fn evict_all(&self, passed: u32, going: &[DentryId], found: Found) -> Pass {
        if going.len() > 1 {
            self.fetch(going);
        }
        let evicted = going.iter().filter(|id| self.evicted(**id)).count();
        Pass { passed, found: if evicted > 0 { Found::Evicted } else { found } }
    }

    /// Reads the table lines that the eviction of these dentries will read, all at once, since one
    /// after the other each would have to be waited for. The values are guesses and are not used.
    fn fetch(&self, going: &[DentryId]) {
        let (mut names, mut keys) = (Hashes::new(), Hashes::new());
        for id in going {
            let line = self.dentries.line(*id);
            names.push(self.hash_of(parent_of(line), *id));
            keys.push(self.hash_of_inode(inode_of(line)));
        }
        let of_names = names.iter().map(|hash| self.dentries.table().peek(*hash));
        let of_keys = keys.iter().map(|hash| self.inodes.table().peek(*hash));
        std::hint::black_box(of_names.chain(of_keys).fold(0, |all, word| all ^ word));
    }

    /// Returns whether a dentry has its mark, and clears it. An unhashed dentry counts as not hit,
    /// since it is never asked for again.
    fn was_hit(&self, id: DentryId) -> bool {
        let line = self.dentries.line(id);
        let was_hit = was_hit(line);
        if was_hit {
            forget_hit(line);
        }
        was_hit && line[WORD].load(Ordering::Relaxed) & flags::UNHASHED == 0
    }

    /// Returns whether a dentry is of this kind. The result is a guess.
    fn is_of(&self, kind: Kind, id: DentryId) -> bool {
        kind == Kind::Any || self.dentries.word(id) & flags::NEGATIVE != 0
    }

    fn could_go(&self, id: DentryId, short: Short) -> bool {
        pin::is_idle(self.dentries.life(id)) && (short == Short::Dentries || self.has_side_lines(self.dentries.line(id)))
    }

    fn evicted(&self, id: DentryId) -> bool {
        let evicted = self.try_evict(id);
        if evicted {
            self.counters.eviction();
        }
        evicted
    }
}
