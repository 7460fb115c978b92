//! The text of a path as the memo hashes, stores and compares it: its last 16 bytes, then 16 at a
//! time from the beginning. So no bytes after the end have to be masked out.
//!
//! A path of fewer than 16 bytes is padded with zeros. The length is compared, too.

use crate::sync::{AtomicU64, Ordering};
use crate::text::hash::fold;
use crate::text::swar::word_at;

/// The most bytes of a path that the memo stores.
pub(crate) const MOST: usize = TEXT_WORDS * 8;

/// The words of an entry's text.
pub(super) const TEXT_WORDS: usize = 12;

/// Sixteen bytes in two words.
type Chunk = (u64, u64);

#[inline(always)]
fn chunk(bytes: &[u8; 16]) -> Chunk {
    let (words, _) = bytes.as_chunks::<8>();
    (u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1]))
}

/// Calls `then` for each 16 bytes before the last 16, as far as an entry has room. The last call
/// may overlap the last 16. The number of turns is a constant, so that the loop is unrolled.
#[inline(always)]
fn before_last<T>(text: &[u8], first: T, then: impl Fn(T, usize, Chunk) -> T) -> T {
    let mut all = first;
    for at in 0..TEXT_WORDS / 2 - 1 {
        if text.len() <= 16 * (at + 1) {
            break;
        }
        let Some(bytes) = text[16 * at..].first_chunk() else { break };
        all = then(all, at, chunk(bytes));
    }
    all
}

/// Returns a text of fewer than 16 bytes. A call, since longer texts need the registers.
#[inline(never)]
fn short(text: &[u8]) -> Chunk {
    match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => {
            // The bytes of the first word are shifted out. For 8 bytes that is 64 bits: so in two
            // steps.
            let behind = (u64::from_le_bytes(*last) >> 8) >> (8 * (15 - text.len()));
            (u64::from_le_bytes(*first), behind)
        }
        _ => (word_at(text, 0), 0),
    }
}

/// Returns the hash of a text of at most [`MOST`] bytes, by two secret keys.
#[inline(always)]
pub(super) fn hash(text: &[u8], start: u64, multiplier: u64) -> u64 {
    let mix = |hash: u64, (low, high): Chunk| fold(hash ^ low, multiplier ^ high);
    let hash = start ^ text.len() as u64;
    match text.last_chunk() {
        Some(last) => before_last(text, mix(hash, chunk(last)), |hash, _, chunk| mix(hash, chunk)),
        None => mix(hash, short(text)),
    }
}

/// Returns whether the words hold this text. They hold a text of its length.
#[inline(always)]
pub(super) fn is(words: &[AtomicU64; TEXT_WORDS], text: &[u8]) -> bool {
    let differs = |at: usize, (low, high): Chunk| {
        let word = |at: usize| words[at % TEXT_WORDS].load(Ordering::Relaxed);
        (word(2 * at) ^ low) | (word(2 * at + 1) ^ high)
    };
    let difference = match text.last_chunk() {
        Some(last) => before_last(text, differs(0, chunk(last)), |all, at, chunk| all | differs(at + 1, chunk)),
        None => differs(0, short(text)),
    };
    difference == 0
}

/// Stores a text of at most [`MOST`] bytes.
pub(super) fn store(words: &[AtomicU64; TEXT_WORDS], text: &[u8]) {
    let store = |at: usize, (low, high): Chunk| {
        words[2 * at].store(low, Ordering::Relaxed);
        words[2 * at + 1].store(high, Ordering::Relaxed);
    };
    store(0, text.last_chunk().map_or_else(|| short(text), chunk));
    before_last(text, (), |(), at, chunk| store(at + 1, chunk));
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn text(length: usize) -> Vec<u8> {
        (0..length).map(|at| b'a' + (at * 7 % 26) as u8).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "one thread, and minutes there")]
    fn a_text_is_told_from_all_that_differ_in_a_byte() {
        let words: [AtomicU64; TEXT_WORDS] = Default::default();
        for length in 0..=MOST {
            let text = text(length);
            store(&words, &text);
            assert!(is(&words, &text), "{length}");
            for at in 0..length {
                let mut other = text.clone();
                other[at] ^= 1;
                assert!(!is(&words, &other), "{at} of {length}");
                assert_ne!(hash(&text, 1, 3 << 60 | 5), hash(&other, 1, 3 << 60 | 5), "{at} of {length}");
            }
        }
    }

    #[test]
    fn texts_that_are_padded_alike_have_different_hashes() {
        let (start, multiplier) = (0x1234_5678_9abc_def1, 0x9e37_79b9_7f4a_7c15);
        for length in 0..40 {
            let (one, other) = (vec![0; length], vec![0; length + 1]);
            assert_ne!(hash(&one, start, multiplier), hash(&other, start, multiplier), "{length}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "one thread, and minutes there")]
    fn hashes_of_paths_are_spread_evenly() {
        use super::super::question::Keys;
        use crate::text::hash::assert_even;
        let keys = Keys::new(7);
        let of = |path: &[u8], start| {
            let last_link = super::super::question::LastLink::Followed;
            super::super::question::Question { path, start, root: 0, last_link }.hash(&keys)
        };
        assert_even("short paths", |n| of(&n.to_le_bytes(), 1));
        assert_even("long paths", |n| of(format!("/a/path/of/several/words/in/a/directory/{n}").as_bytes(), 1));
        assert_even("starts", |n| of(b"a/b", n));
    }
}
