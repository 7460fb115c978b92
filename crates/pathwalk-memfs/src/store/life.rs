//! Why a node lives: the names that lead to it, and those who hold it.
//!
//! Both counts lie in one word, so that exactly one of those who take something away sees that nothing is left, and frees the node; and
//! giving a hold back is one step without a lock. Invariants: a word that is zero stays so until the slot has another node, since holds are
//! only added to what lives; a name is added and taken while the lock of its directory is held.
//!
//! What a node's last user did to it is seen by whoever frees it: every step is Release, and so is Acquire the last.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use pathwalk::Errno;

/// `names << 32 | holds`.
#[derive(Default)]
pub(crate) struct Life(AtomicU64);

const NAME: u64 = 1 << 32;

/// What is left when something was taken away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Left {
    /// Holds, or names that were not asked about.
    Something,
    /// Another name than the one that was taken away.
    Names,
    /// Nobody can ask about the node any more: free it.
    Nothing,
}

/// Whether a node that has no name may get one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FirstName {
    /// It has or had one; once the last is lost, none follows.
    Given,
    /// It was made without.
    ToCome,
}

impl Life {
    /// Of a new node, in a slot that nobody uses: held once.
    pub(super) fn begin(&self, first_name: FirstName) {
        let names = if first_name == FirstName::Given { NAME } else { 0 };
        self.0.store(names | 1, Release);
    }

    /// Of the root, which nobody holds.
    pub(super) fn begin_root(&self) {
        self.0.store(NAME, Release);
    }

    pub(crate) fn names(&self) -> u32 {
        (self.0.load(Relaxed) >> 32) as u32
    }

    /// How often the node was handed out and not yet forgotten, and how often it is open.
    pub(crate) fn holds(&self) -> u32 {
        self.0.load(Relaxed) as u32
    }

    /// One more hold: `ESTALE` if the node is gone, `ENFILE` if it has 2³² − 1.
    pub(crate) fn hold(&self) -> Result<(), Errno> {
        let more = |word| (word != 0 && word as u32 != u32::MAX).then(|| word + 1);
        let refused = |word| if word == 0 { Errno::ESTALE } else { Errno::ENFILE };
        self.0.fetch_update(AcqRel, Acquire, more).map(drop).map_err(refused)
    }

    /// One hold less: `EINVAL` if there is none.
    pub(crate) fn release(&self) -> Result<Left, Errno> {
        let less = |word| (word as u32 != 0).then(|| word - 1);
        let before = self.0.fetch_update(AcqRel, Relaxed, less).map_err(|_| Errno::EINVAL)?;
        Ok(if before == 1 { Left::Nothing } else { Left::Something })
    }

    /// One more name, and one more hold: `ENOENT` if the node lost its last name or is gone, `EMLINK` if it has `max` names, `ENFILE`.
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

    /// One name less, of those that it has.
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
