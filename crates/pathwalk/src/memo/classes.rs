//! Classes of credentials: those that have the same ids, groups and capabilities.
//!
//! All credentials of a class may search the same directories. So an entry whose walk went through
//! a directory that not all users may search holds the class of its caller, and answers that class
//! only.
//!
//! What always holds: a number stands for one class, and is never reused. 0 stands for all users.
//!
//! What it does not do: it keeps no class for ever. Where there are too many, all are dropped, and
//! equal credentials get a new number.

use std::collections::HashMap;

use crate::permission::{Capabilities, Ids, Subject};
use crate::sync::{AtomicU32, Mutex, Ordering};

/// The most classes with a number at one time.
const MOST: usize = 1024;

/// The rights that make a class.
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
    /// The last number given; 0 where none was.
    last: u32,
}

impl Classes {
    /// Returns the number of a subject's class; 0 where no number is left. The subject has the ids
    /// of its credentials: where a mount maps them, the mount's word stands for the mapping.
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

/// The number of a caller's class, once looked up.
#[derive(Default)]
pub(crate) struct ClassNumber(
    /// 0 before it is looked up. The number publishes nothing else: so `Relaxed`.
    AtomicU32,
);

impl ClassNumber {
    /// Returns the number; 0 where it was not looked up.
    #[inline(always)]
    pub(crate) fn known(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns the number, looked up if necessary; 0 where none is left.
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
