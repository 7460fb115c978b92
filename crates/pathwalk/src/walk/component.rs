//! Splitting and hashing, eight bytes at a time, from text as it comes: unpadded and unaligned.
//!
//! A component is found and hashed in one pass of words. Names and link bodies are read through [`Text`], which hides where they
//! lie. Rare shapes (empty components, dots, over-long names) are not tested for here: see `fast.rs`.

use crate::memory::side::word_at;

/// Bytes to split, read by words.
pub(crate) trait Text {
    /// Length in bytes.
    fn len(&self) -> usize;

    /// The eight bytes from `at`, little-endian, zeros past the end. `at` is at most the length.
    fn word(&self, at: usize) -> u64;

    /// Whether what was read so far is what the text really said.
    fn still_there(&self) -> bool;

    /// Whether a NUL is in the text from `at`.
    fn has_nul(&self, at: usize) -> bool;

    /// Whether a slash ends it.
    fn ends_in_slash(&self) -> bool {
        self.len() > 0 && self.word(self.len() - 1) as u8 == b'/'
    }
}

/// A path, borrowed from the caller.
#[derive(Clone, Copy)]
pub(crate) struct Path<'a>(pub(crate) &'a [u8]);

impl Text for Path<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        match self.0.get(at..).and_then(|rest| rest.first_chunk()) {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => last_word(self.0, at),
        }
    }

    #[inline(always)]
    fn still_there(&self) -> bool {
        true
    }

    fn has_nul(&self, at: usize) -> bool {
        self.0.get(at..).is_some_and(|rest| rest.contains(&0))
    }

    #[inline(always)]
    fn ends_in_slash(&self) -> bool {
        self.0.last() == Some(&b'/')
    }
}

/// A word of which some bytes are past the end: the last eight bytes, shifted.
#[inline(always)]
fn last_word(path: &[u8], at: usize) -> u64 {
    match path.last_chunk() {
        Some(bytes) => {
            let past = at + 8 - path.len();
            // In two steps, since all eight bytes may be past the end.
            (u64::from_le_bytes(*bytes) >> 8) >> (8 * (past - 1))
        }
        None => word_at(path, at),
    }
}

/// The keys of a hash of names, secret to one `Vfs`.
///
/// The seed enters by folded multiplication. With xor-multiply-rotate, two chosen names collide under every seed.
#[derive(Clone, Copy)]
pub(crate) struct NameHash {
    start: u64,
    multiplier: u64,
    parent: u64,
}

impl NameHash {
    pub(crate) fn new(seed: u64) -> NameHash {
        let key = |salt: u64| fold(seed ^ salt, 0x9e37_79b9_7f4a_7c15) | 1;
        NameHash { start: key(0x243f_6a88_85a3_08d3), multiplier: key(0x1319_8a2e_0370_7344), parent: key(0xa409_3822_299f_31d0) }
    }

    #[inline(always)]
    fn mix(&self, hash: u64, word: u64) -> u64 {
        fold(hash ^ word, self.multiplier)
    }

    /// The hash of a name in a directory, which goes into the table.
    #[inline(always)]
    pub(crate) fn in_directory(&self, name: u64, directory: u32) -> u64 {
        name ^ u64::from(directory).wrapping_mul(self.parent)
    }

    /// The hash of a whole name.
    pub(crate) fn name(&self, name: &[u8]) -> u64 {
        (0..name.len()).step_by(8).fold(self.start, |hash, at| self.mix(hash, word_at(name, at)))
    }
}

#[inline(always)]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// A component within its text.
#[derive(Clone, Copy)]
pub(crate) struct Component {
    pub(crate) start: usize,
    /// One past the last byte: a slash, or the end of the text.
    pub(crate) end: usize,
    /// The first eight bytes, zeros past its end.
    pub(crate) first: u64,
    /// Hash of the name alone; meaningless for an empty one.
    pub(crate) hash: u64,
}

const DOT: u64 = b'.' as u64;
const DOT_DOT: u64 = DOT << 8 | DOT;

impl Component {
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether it may be empty or dots: a test of one byte that few names pass.
    #[inline(always)]
    pub(crate) fn may_be_special(&self) -> bool {
        self.first as u8 <= b'.'
    }

    #[inline(always)]
    pub(crate) fn is_dot(&self) -> bool {
        self.first == DOT && self.len() == 1
    }

    #[inline(always)]
    pub(crate) fn is_dot_dot(&self) -> bool {
        self.first == DOT_DOT && self.len() == 2
    }
}

/// The component that starts at `start`, which is at most the length.
#[inline(always)]
pub(crate) fn next<T: Text>(text: &T, start: usize, keys: &NameHash) -> Component {
    let first = text.word(start);
    let slash = slashes(first);
    if slash != 0 {
        let first = first & before(slash);
        return Component { start, end: start + offset(slash), first, hash: keys.mix(keys.start, first) };
    }
    let mut hash = keys.mix(keys.start, first);
    let mut at = start + 8;
    while at < text.len() {
        let word = text.word(at);
        let slash = slashes(word);
        if slash != 0 {
            if slash != FIRST_BYTE {
                hash = keys.mix(hash, word & before(slash));
            }
            return Component { start, end: at + offset(slash), first, hash };
        }
        hash = keys.mix(hash, word);
        at += 8;
    }
    Component { start, end: text.len(), first, hash }
}

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;
/// What [`slashes`] gives at least for a slash in the first byte, when cut to its lowest bit.
const FIRST_BYTE: u64 = 0x80;

/// A mark in the top bit of the first byte that is a slash, and of no byte before it; 0 if none is.
///
/// A byte is zero if taking one from it borrows (Mycroft 1987); borrows make false marks only above a true one.
#[inline(always)]
fn slashes(word: u64) -> u64 {
    let zero_where_slash = word ^ (LOW * b'/' as u64);
    let marks = zero_where_slash.wrapping_sub(LOW) & !zero_where_slash & HIGH;
    marks & marks.wrapping_neg()
}

#[inline(always)]
fn offset(slash: u64) -> usize {
    slash.trailing_zeros() as usize / 8
}

/// The bytes before the marked one.
#[inline(always)]
fn before(slash: u64) -> u64 {
    (slash - 1) >> 7
}

/// The word of a name that starts at `at` in its text, without what is behind the name's end.
#[inline(always)]
pub(crate) fn name_word<T: Text>(text: &T, at: usize, end: usize) -> u64 {
    let word = text.word(at);
    if end - at >= 8 { word } else { word & ((1 << (8 * (end - at))) - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(path: &[u8]) -> Vec<Component> {
        let keys = NameHash::new(1);
        let (mut all, mut at) = (Vec::new(), 0);
        while at <= path.len() {
            let component = next(&Path(path), at, &keys);
            all.push(component);
            at = component.end + 1;
        }
        all
    }

    #[test]
    fn components_are_those_of_split_and_hash_alike_everywhere() {
        let keys = NameHash::new(1);
        let name = |length: usize, salt: usize| -> Vec<u8> { (0..length).map(|i| b"abc.\xff-/"[(i * 5 + salt) % 6]).collect() };
        for first in 0..40 {
            for second in 0..40 {
                let path = [name(first, 1), name(second, 2), name(3, 0)].join(&b'/');
                let wanted: Vec<&[u8]> = path.split(|b| *b == b'/').collect();
                let found = split(&path);
                assert_eq!(found.len(), wanted.len());
                for (component, bytes) in found.iter().zip(wanted) {
                    assert_eq!(&path[component.start..component.end], bytes);
                    assert_eq!(component.first, word_at(bytes, 0));
                    if !bytes.is_empty() {
                        assert_eq!(component.hash, keys.name(bytes), "{}", bytes.escape_ascii());
                    }
                    for at in (0..bytes.len()).step_by(8) {
                        assert_eq!(name_word(&Path(&path), component.start + at, component.end), word_at(bytes, at));
                    }
                }
            }
        }
    }

    #[test]
    fn dots_are_told_from_names_that_start_with_dots() {
        let kinds: Vec<_> = split(b"./../.../.a/..b").iter().map(|c| (c.is_dot(), c.is_dot_dot())).collect();
        assert_eq!(kinds, [(true, false), (false, true), (false, false), (false, false), (false, false)]);
    }
}
