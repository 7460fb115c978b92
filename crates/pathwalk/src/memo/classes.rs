//! Classes of credentials: those that have the same ids, groups and capabilities.
//!
//! What one of a class may search, all of it may. So an entry whose walk went through a directory
//! that not everyone may search has the class for which it did, and answers that class only.
//!
//! What always holds: a number stands for one class, and is never given to another. 0 stands for
//! everyone.
//!
//! What it does not do: it keeps no class for ever. Where there are too many, all are forgotten, and
//! equal credentials get another number.

use std::collections::HashMap;

use crate::permission::{Capabilities, Ids, Subject};
use crate::sync::{AtomicU32, Mutex, Ordering};

/// The most classes that are known at once.
const MOST: usize = 1024;

/// What makes a class.
#[derive(PartialEq, Eq, Hash)]
struct Rights {
    ids: Ids,
    groups: Box<[u32]>,
    capabilities: Capabilities,
}

/// The classes of a `Vfs`.
#[derive(Default)]
pub(crate) struct Classes(Mutex<Known>);

#[derive(Default)]
struct Known {
    numbers: HashMap<Rights, u32>,
    /// The last number that was given; 0 where none was.
    last: u32,
}

impl Classes {
    /// Returns the number of a subject's class; 0 where no number is left. The subject comes through
    /// no mount: what a mount maps its ids to, the mount's word stands for.
    #[cold]
    pub(crate) fn number(&self, subject: &Subject<'_>) -> u32 {
        let rights = Rights {
            ids: Ids { uid: subject.uid(), gid: subject.gid() },
            groups: subject.groups().into(),
            capabilities: subject.capabilities(),
        };
        let mut known = self.0.lock();
        if let Some(number) = known.numbers.get(&rights) {
            return *number;
        }
        if known.last == u32::MAX {
            return 0;
        }
        if known.numbers.len() == MOST {
            known.numbers.clear();
        }
        known.last += 1;
        let number = known.last;
        known.numbers.insert(rights, number);
        number
    }
}

/// The class of the one that asks, once it was looked up.
#[derive(Default)]
pub(crate) struct ClassNumber(
    /// 0: not yet. Only ever that or the class's number, which stands for itself: so `Relaxed`.
    AtomicU32,
);

impl ClassNumber {
    /// Returns its number; 0 where it was not looked up.
    #[inline(always)]
    pub(crate) fn known(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns its number, looked up if it has to be; 0 where there is none.
    pub(crate) fn number(&self, classes: &Classes, subject: &Subject<'_>) -> u32 {
        if self.known() == 0 {
            self.0.store(classes.number(subject), Ordering::Relaxed);
        }
        self.known()
    }
}

impl Clone for ClassNumber {
    fn clone(&self) -> ClassNumber {
        ClassNumber(AtomicU32::new(self.known()))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::permission::Credentials;

    #[test]
    fn equal_rights_are_one_class_and_others_are_not() {
        let classes = Classes::default();
        let number = |credentials: &Credentials| classes.number(&credentials.effective());
        let user = Credentials::user(1, 2, &[3, 4]);
        let one = number(&user);
        assert_ne!(one, 0);
        assert_eq!(number(&Credentials::user(1, 2, &[4, 3])), one);
        assert_eq!(classes.number(&user.real()), one);
        let others = [
            Credentials::user(5, 2, &[3, 4]),
            Credentials::user(1, 5, &[3, 4]),
            Credentials::user(1, 2, &[3]),
            user.clone().with_capabilities(Capabilities::FOWNER),
        ];
        for other in others {
            assert_ne!(number(&other), one, "{other:?}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "one thread, and minutes there")]
    fn a_number_is_not_given_twice() {
        let classes = Classes::default();
        let numbers: std::collections::HashSet<_> =
            (0..3 * MOST as u32).map(|uid| classes.number(&Credentials::user(uid, 0, &[]).effective())).collect();
        assert_eq!(numbers.len(), 3 * MOST);
    }
}
