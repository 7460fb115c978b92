//! The reasons for which a node lives: its names and its holds.
//!
//! Both counts are in one word. So exactly one of the threads that remove something sees that
//! nothing is left, and frees the node; and a hold is given back in one step without a lock.
//! Invariants: a word that is zero stays zero until the slot has another node, since a hold is
//! added only to a node that lives; a name is added and removed while the lock of its directory is
//! held.
//!
//! The thread that frees a node sees all that the node's last user did to it: every step is a
//! Release, and the last one is also an Acquire.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use pathwalk::Errno;

/// The counts: `names << 32 | holds`.
#[derive(Default)]
pub(crate) struct Life(AtomicU64);

const NAME: u64 = 1 << 32;

/// The remainder after a removal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Left {
    /// Holds. After the removal of a hold: holds or names.
    Something,
    /// A name other than the removed one.
    Names,
    /// No thread can reach the node any more: the caller frees it.
    Nothing,
}

/// The possibility that a node without a name gets one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FirstName {
    /// The node has or had a name; once the last is removed, none follows.
    Given,
    /// The node was created without a name.
    ToCome,
}

impl Life {
    /// Begins the life of a new node, in an unused slot: held once.
    pub(super) fn begin(&self, first_name: FirstName) {
        let names = if first_name == FirstName::Given { NAME } else { 0 };
        self.0.store(names | 1, Release);
    }

    /// Begins the life of the root, which is not held.
    pub(super) fn begin_root(&self) {
        self.0.store(NAME, Release);
    }

    pub(crate) fn names(&self) -> u32 {
        (self.0.load(Relaxed) >> 32) as u32
    }

    /// Returns the number of holds: handed out and not yet forgotten, and open files.
    pub(crate) fn holds(&self) -> u32 {
        self.0.load(Relaxed) as u32
    }

    /// Adds a hold: `ESTALE` if the node is gone, `ENFILE` if it has 2³² − 1 holds.
    pub(crate) fn hold(&self) -> Result<(), Errno> {
        let more = |word| (word != 0 && word as u32 != u32::MAX).then(|| word + 1);
        let refused = |word| if word == 0 { Errno::ESTALE } else { Errno::ENFILE };
        self.0.fetch_update(AcqRel, Acquire, more).map(drop).map_err(refused)
    }

    /// Removes a hold: `EINVAL` if there is none.
    pub(crate) fn release(&self) -> Result<Left, Errno> {
        let less = |word| (word as u32 != 0).then(|| word - 1);
        let before = self.0.fetch_update(AcqRel, Relaxed, less).map_err(|_| Errno::EINVAL)?;
        Ok(if before == 1 { Left::Nothing } else { Left::Something })
    }

    /// Adds a name and a hold: `ENOENT` if the node lost its last name or is gone, `EMLINK` if it
    /// has `max` names, `ENFILE`.
    pub(crate) fn link(&self, first_name: FirstName, max: u32) -> Result<(), Errno> {
        let mut word = self.0.load(Acquire);
        loop {
            match (word >> 32) as u32 {
                0 if word == 0 || first_name == FirstName::Given => return Err(Errno::ENOENT),
                names if names >= max => return Err(Errno::EMLINK),
                _ if word as u32 == u32::MAX => return Err(Errno::ENFILE),
                _ => {}
            }
            match self.0.compare_exchange_weak(word, word + NAME + 1, AcqRel, Acquire) {
                Ok(_) => return Ok(()),
                Err(other) => word = other,
            }
        }
    }

    /// Removes a name. The node must have one.
    pub(crate) fn unlink(&self) -> Left {
        let before = self.0.fetch_sub(NAME, AcqRel);
        debug_assert!(before >= NAME, "a name led to a node that counted none");
        match before {
            NAME => Left::Nothing,
            _ if before >> 32 > 1 => Left::Names,
            _ => Left::Something,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_holds_end_a_life_together() {
        let life = Life::default();
        assert_eq!((life.hold(), life.release()), (Err(Errno::ESTALE), Err(Errno::EINVAL)));
        life.begin(FirstName::Given);
        assert_eq!((life.names(), life.holds(), life.hold()), (1, 1, Ok(())));
        assert_eq!((life.unlink(), life.link(FirstName::Given, 9)), (Left::Something, Err(Errno::ENOENT)));
        assert_eq!(
            (life.release(), life.release(), life.release()),
            (Ok(Left::Something), Ok(Left::Nothing), Err(Errno::EINVAL))
        );
        life.begin(FirstName::ToCome);
        assert_eq!(
            (life.names(), life.link(FirstName::ToCome, 1), life.link(FirstName::Given, 1)),
            (0, Ok(()), Err(Errno::EMLINK))
        );
        assert_eq!((life.release(), life.release(), life.unlink()), (Ok(Left::Something), Ok(Left::Something), Left::Nothing));
        assert_eq!(life.link(FirstName::ToCome, 1), Err(Errno::ENOENT));
    }

    #[test]
    fn counts_do_not_run_over() {
        let life = Life(AtomicU64::new(NAME | u64::from(u32::MAX)));
        assert_eq!((life.hold(), life.link(FirstName::Given, 9)), (Err(Errno::ENFILE), Err(Errno::ENFILE)));
        assert_eq!((life.names(), life.holds()), (1, u32::MAX));
    }
}
