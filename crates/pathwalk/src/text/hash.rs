//! The hash of names: of a name alone, a word at a time, and of a name in its directory.
//!
//! What always holds: equal names hash alike whether their words are read from a path or from a
//! record. An attacker that does not know the seed cannot choose names that collide.

use super::swar::word_at;

/// The keys of a hash of names, secret to one `Vfs`.
///
/// The seed enters by folded multiplication. With xor-multiply-rotate, two chosen names collide
/// under every seed.
#[derive(Clone, Copy)]
pub(crate) struct NameHash {
    pub(crate) start: u64,
    multiplier: u64,
    parent: u64,
}

/// The seed under which all names have one hash, for tests.
#[cfg(test)]
pub(crate) const COLLIDE: u64 = 0xc011_1de5;

impl NameHash {
    pub(crate) fn new(seed: u64) -> NameHash {
        #[cfg(test)]
        if seed == COLLIDE {
            return NameHash { start: 0, multiplier: 0, parent: 0 };
        }
        let key = |salt: u64| fold(seed ^ salt, 0x9e37_79b9_7f4a_7c15) | 1;
        NameHash { start: key(0x243f_6a88_85a3_08d3), multiplier: key(0x1319_8a2e_0370_7344), parent: key(0xa409_3822_299f_31d0) }
    }

    #[inline(always)]
    pub(crate) fn mix(&self, hash: u64, word: u64) -> u64 {
        fold(hash ^ word, self.multiplier)
    }

    /// Returns the hash of a name in a directory, which is used in the table.
    #[inline(always)]
    pub(crate) fn in_directory(&self, name: u64, directory: u32) -> u64 {
        name ^ u64::from(directory).wrapping_mul(self.parent)
    }

    /// Returns the hash of a whole name.
    pub(crate) fn name(&self, name: &[u8]) -> u64 {
        self.of_words((0..name.len()).step_by(8).map(|at| word_at(name, at)))
    }

    /// Returns the hash of a name that is given in words, padded with zeros.
    pub(crate) fn of_words(&self, words: impl Iterator<Item = u64>) -> u64 {
        words.fold(self.start, |hash, word| self.mix(hash, word))
    }
}

#[inline(always)]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Checks that the hashes of many numbers differ, and that each bit is set in about half of them.
#[cfg(test)]
pub(crate) fn assert_even(what: &str, hash: impl Fn(u64) -> u64) {
    const ALL: u64 = 4096;
    let all: std::collections::HashSet<u64> = (1..=ALL).map(hash).collect();
    assert_eq!(all.len() as u64, ALL, "{what} that differ");
    for bit in 0..64 {
        let set = all.iter().filter(|hash| *hash >> bit & 1 == 1).count() as u64;
        assert!(set.abs_diff(ALL / 2) < ALL / 10, "bit {bit} of {what}: {set}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "one thread, and minutes there")]
    fn hashes_of_names_are_spread_evenly() {
        for seed in [1, 2, 0x1234_5678_9abc_def0] {
            let keys = NameHash::new(seed);
            assert_even("short names", |n| keys.name(&n.to_le_bytes()));
            assert_even("long names", |n| keys.name(format!("a name of several words, {n}").as_bytes()));
            assert_even("directories", |n| keys.in_directory(keys.name(b"name"), n as u32));
        }
    }
}
