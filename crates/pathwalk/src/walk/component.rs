//! The splitter and hasher of components. It reads eight bytes at a time from unpadded and
//! unaligned text.
//!
//! A component is found and hashed in one pass of words. Paths and link bodies are read through
//! [`Text`], which hides where they lie. Rare shapes (empty components, dots, names that are too
//! long) are not tested for here: see `fast.rs`.

use crate::text::hash::NameHash;
use crate::text::swar::{slashes, word_at, zeros};

/// A text of components, read by words.
pub(crate) trait Text: Copy {
    /// The rest of the text, from some position on.
    type Rest: Copy;

    /// Returns the length in bytes.
    fn len(self) -> usize;

    /// Returns the rest at a position, which is at most the length.
    fn from(self, pos: usize) -> Self::Rest;

    /// Returns the number of bytes left.
    fn left(self, rest: Self::Rest) -> usize;

    /// Returns the eight bytes at an offset into the rest, little-endian, zeros past the end. The
    /// offset is at most what is left.
    fn word(self, rest: Self::Rest, at: usize) -> u64;

    /// Returns the rest behind that many bytes and the slash that follows them; `None` if no slash
    /// follows.
    fn behind(self, rest: Self::Rest, bytes: usize) -> Option<Self::Rest>;

    /// Returns whether all that was read so far is what the text really contained.
    fn still_there(self) -> bool;

    /// Returns whether a NUL is in the rest.
    fn has_nul(self, rest: Self::Rest) -> bool;

    /// Returns the position in the text at which the rest starts.
    fn pos(self, rest: Self::Rest) -> usize {
        self.len() - self.left(rest)
    }

    /// Returns the whole text, without the first slash of an absolute one: its walk begins at the
    /// root.
    #[inline(always)]
    fn beginning(self) -> Self::Rest {
        let rest = self.from(0);
        if self.is_absolute() { self.behind(rest, 0).unwrap_or(rest) } else { rest }
    }

    /// Returns whether the text begins with a slash.
    fn is_absolute(self) -> bool;

    /// Returns whether a walk of the text has left its starting place when it comes to a position
    /// between two components: whether a component other than `.` lies before that position.
    #[inline(never)]
    fn moves_before(self, pos: usize) -> bool {
        let byte = |at: usize| self.word(self.from(at), 0) as u8;
        let is_dot = |at: usize| byte(at) == b'.' && (at == 0 || byte(at - 1) == b'/') && (at + 1 == pos || byte(at + 1) == b'/');
        (0..pos).any(|at| byte(at) != b'/' && !is_dot(at))
    }

    /// Returns whether the text ends in a slash.
    fn ends_in_slash(self) -> bool;
}

/// A path, borrowed from the caller.
#[derive(Clone, Copy)]
pub(crate) struct Path<'a>(pub(crate) &'a [u8]);

impl<'a> Text for Path<'a> {
    type Rest = &'a [u8];

    #[inline(always)]
    fn len(self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn from(self, pos: usize) -> &'a [u8] {
        self.0.get(pos..).unwrap_or(&[])
    }

    #[inline(always)]
    fn left(self, rest: &'a [u8]) -> usize {
        rest.len()
    }

    #[inline(always)]
    fn word(self, rest: &'a [u8], at: usize) -> u64 {
        match rest.get(at..).and_then(|rest| rest.first_chunk()) {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => last_word(self.0, rest.len() - at),
        }
    }

    #[inline(always)]
    fn behind(self, rest: &'a [u8], bytes: usize) -> Option<&'a [u8]> {
        rest.get(bytes + 1..)
    }

    #[inline(always)]
    fn still_there(self) -> bool {
        true
    }

    /// Searches by words: what is left is short, and a search made for long text starts slowly.
    fn has_nul(self, rest: &'a [u8]) -> bool {
        let (words, _) = rest.as_chunks();
        let last = last_word(self.0, rest.len() % 8) | u64::MAX.unbounded_shl(8 * (rest.len() % 8) as u32);
        words.iter().map(|word| u64::from_le_bytes(*word)).chain([last]).any(|word| zeros(word) != 0)
    }

    #[inline(always)]
    fn is_absolute(self) -> bool {
        self.0.first() == Some(&b'/')
    }

    #[inline(always)]
    fn ends_in_slash(self) -> bool {
        self.0.last() == Some(&b'/')
    }
}

/// Returns the last `left` bytes, fewer than eight, as a word: the last eight bytes, shifted.
#[inline(always)]
fn last_word(path: &[u8], left: usize) -> u64 {
    match path.last_chunk() {
        // In two steps, because no byte may be left.
        Some(bytes) => (u64::from_le_bytes(*bytes) >> 8) >> (8 * (7 - left)),
        None => word_at(path, path.len() - left),
    }
}

/// A component at the beginning of a rest.
#[derive(Clone, Copy)]
pub(crate) struct Component {
    /// The number of bytes up to the next slash or the end.
    pub(crate) length: usize,
    /// The first eight bytes, zeros past the component's end.
    pub(crate) first: u64,
    /// The hash of the name alone; meaningless for an empty one.
    pub(crate) hash: u64,
}

const DOT: u64 = b'.' as u64;
const DOT_DOT: u64 = DOT << 8 | DOT;

impl Component {
    /// Returns whether the component may be empty or dots: a test of one byte that few names pass.
    #[inline(always)]
    pub(crate) fn may_be_special(&self) -> bool {
        self.first as u8 <= b'.'
    }

    /// Returns whether the component is a name: neither empty nor dots.
    #[inline(always)]
    pub(crate) fn is_name(&self) -> bool {
        !(self.length == 0 || self.first == DOT && self.length == 1 || self.is_dot_dot())
    }

    #[inline(always)]
    pub(crate) fn is_dot_dot(&self) -> bool {
        self.first == DOT_DOT && self.length == 2
    }
}

/// Returns the component at the beginning of a rest.
#[inline(always)]
pub(crate) fn next<T: Text>(text: T, rest: T::Rest, keys: &NameHash) -> Component {
    let first = text.word(rest, 0);
    let slashes = slashes(first);
    if slashes != 0 {
        let first = first & before(slashes);
        return Component { length: offset(slashes), first, hash: keys.mix(keys.start, first) };
    }
    let mut hash = keys.mix(keys.start, first);
    let mut at = 8;
    while at < text.left(rest) {
        let word = text.word(rest, at);
        let slashes = self::slashes(word);
        if slashes != 0 {
            if offset(slashes) != 0 {
                hash = keys.mix(hash, word & before(slashes));
            }
            return Component { length: at + offset(slashes), first, hash };
        }
        hash = keys.mix(hash, word);
        at += 8;
    }
    Component { length: text.left(rest), first, hash }
}

/// Returns the number of bytes before the first mark.
#[inline(always)]
fn offset(marks: u64) -> usize {
    marks.trailing_zeros() as usize / 8
}

/// Returns a mask of the bytes before the first mark.
#[inline(always)]
fn before(marks: u64) -> u64 {
    (marks ^ marks.wrapping_sub(1)) >> 8
}

/// Returns the last word of a name of at least eight bytes, zeros past its end. It is read as the
/// name's last eight bytes, so that nothing behind the name has to be masked out.
#[inline(always)]
pub(crate) fn last_word_of<T: Text>(text: T, rest: T::Rest, length: usize) -> u64 {
    text.word(rest, length - 8) >> (8 * (length.wrapping_neg() % 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(path: &[u8]) -> Vec<(&[u8], Component)> {
        let (keys, text) = (NameHash::new(1), Path(path));
        let (mut all, mut rest) = (Vec::new(), Some(path));
        while let Some(now) = rest {
            let component = next(text, now, &keys);
            all.push((now, component));
            rest = text.behind(now, component.length);
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
                for ((rest, component), bytes) in found.into_iter().zip(wanted) {
                    assert_eq!(&rest[..component.length], bytes);
                    assert_eq!(component.first, word_at(bytes, 0));
                    if bytes.len() >= 8 {
                        assert_eq!(last_word_of(Path(&path), rest, bytes.len()), word_at(bytes, (bytes.len() - 1) / 8 * 8));
                    }
                    if !bytes.is_empty() {
                        assert_eq!(component.hash, keys.name(bytes), "{}", bytes.escape_ascii());
                    }
                }
            }
        }
    }

    #[test]
    fn a_nul_is_found_wherever_it_is() {
        for length in 0..40 {
            let mut path = vec![0xff; length];
            for start in 0..=length {
                assert!(!Path(&path).has_nul(&path[start..]));
            }
            for nul in 0..length {
                path[nul] = 0;
                for start in 0..=length {
                    assert_eq!(Path(&path).has_nul(&path[start..]), start <= nul, "{nul} from {start} of {length}");
                }
                path[nul] = 1;
            }
        }
    }

    #[test]
    fn only_a_component_other_than_a_dot_moves_a_walk() {
        for stays in ["", "/", "//", ".", "./", "/.", "././/.", "//./"] {
            assert!(!Path(stays.as_bytes()).moves_before(stays.len()), "{stays}");
        }
        for moves in ["a", "/a", "./a", "..", "./..", "...", ".a", "a.", "/.a/", ".//a.", "././..", "/a/."] {
            assert!(Path(moves.as_bytes()).moves_before(moves.len()), "{moves}");
        }
        let before: Vec<_> = [0, 2, 4, 5].map(|pos| Path(b"././a/.").moves_before(pos)).into();
        assert_eq!(before, [false, false, false, true]);
    }

    #[test]
    fn dots_are_told_from_names_that_start_with_dots() {
        let kinds: Vec<_> = split(b"./../.../.a/..b").iter().map(|(_, c)| (c.is_name(), c.is_dot_dot())).collect();
        assert_eq!(kinds, [(false, false), (false, true), (true, false), (true, false), (true, false)]);
    }
}
