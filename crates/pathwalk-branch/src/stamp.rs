//! Stamps of nodes of the base: what tells whether one was changed.
//!
//! A stamp is a hash of 128 bits. It is the same in each process, so it can be stored. What always
//! holds: a change of a node's data, names or attributes moves its stamp, as far as it moves the
//! size, a time, or the change cookie. Stamps are added, in any order, to those of sets.
//!
//! What it does not do: its key is known, so it is no protection against equal stamps that are made
//! on purpose.

use std::hash::Hasher;

use pathwalk::{Attributes, ChangeCookie, Timestamp};
use siphasher::sip128::{Hasher128, SipHasher24};

/// The stamp of a node, of a name, or of a set of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Stamp(pub(crate) u128);

impl Stamp {
    /// Returns the stamp of a node with these attributes.
    pub(crate) fn of(attributes: &Attributes, cookie: Option<ChangeCookie>) -> Stamp {
        let mut hash = SipHasher24::new();
        hash.write_u64(attributes.ino);
        hash.write_u64(attributes.size);
        for Timestamp { seconds, nanoseconds } in [attributes.mtime, attributes.ctime] {
            hash.write_i64(seconds);
            hash.write_u32(nanoseconds);
        }
        hash.write_u64(cookie.map_or(0, ChangeCookie::number));
        Stamp(hash.finish128().as_u128())
    }

    /// Returns the stamp of a name in a directory, without the node to which it leads.
    pub(crate) fn of_name(dir: u64, name: &[u8], number: u64) -> Stamp {
        let mut hash = SipHasher24::new();
        hash.write_u64(dir);
        hash.write_u64(number);
        hash.write(name);
        Stamp(hash.finish128().as_u128())
    }

    /// Returns the stamp of two sets together.
    pub(crate) fn with(self, other: Stamp) -> Stamp {
        Stamp(self.0.wrapping_add(other.0))
    }
}
