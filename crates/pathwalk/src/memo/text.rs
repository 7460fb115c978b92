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

/// The secret keys of the hash of a text.
#[derive(Clone, Copy)]
pub(super) struct Keys {
    /// The key of all second words.
    pub(super) multiplier: u64,
    /// The keys of the first words of the chunks before the last 16 bytes, one for each position:
    /// with equal keys, two texts whose chunks change places would have one hash.
    pub(super) before_last: [u64; TEXT_WORDS / 2 - 1],
}

/// Returns the hash of a text of at most [`MOST`] bytes, by secret keys, of which `start` is one.
///
/// The chunks are multiplied one beside the other, since a hit waits for the hash. (In a chain, in
/// which each chunk waits for the one before, a hit takes an eighth longer.)
#[inline(always)]
pub(super) fn hash(text: &[u8], start: u64, keys: &Keys) -> u64 {
    let mix = |key: u64, (low, high): Chunk| fold(key ^ low, keys.multiplier ^ high);
    let start = start ^ text.len() as u64;
    match text.last_chunk() {
        Some(last) => before_last(text, mix(start, chunk(last)), |hash, at, chunk| hash ^ mix(keys.before_last[at], chunk)),
        None => mix(start, short(text)),
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

    fn keys(multiplier: u64) -> Keys {
        Keys { multiplier, before_last: [3, 5, 7, 11, 13].map(|key: u64| key << 55 | key) }
    }

    fn text(length: usize) -> Vec<u8> {
        (0..length).map(|at| b'a' + (at * 7 % 26) as u8).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "one thread, and minutes there")]
    fn a_text_is_told_from_all_that_differ_in_a_byte() {
        let words: [AtomicU64; TEXT_WORDS] = Default::default();
        let keys = keys(3 << 60 | 5);
        for length in 0..=MOST {
            let text = text(length);
            store(&words, &text);
            assert!(is(&words, &text), "{length}");
            for at in 0..length {
                let mut other = text.clone();
                other[at] ^= 1;
                assert!(!is(&words, &other), "{at} of {length}");
                assert_ne!(hash(&text, 1, &keys), hash(&other, 1, &keys), "{at} of {length}");
            }
        }
    }

    #[test]
    fn texts_that_are_padded_alike_have_different_hashes() {
        let (start, keys) = (0x1234_5678_9abc_def1, keys(0x9e37_79b9_7f4a_7c15));
        for length in 0..40 {
            let (one, other) = (vec![0; length], vec![0; length + 1]);
            assert_ne!(hash(&one, start, &keys), hash(&other, start, &keys), "{length}");
        }
    }

    #[test]
    fn texts_whose_chunks_change_places_have_different_hashes() {
        let keys = keys(0x9e37_79b9_7f4a_7c15);
        let chunks = |order: [u8; 6]| order.map(|byte| [byte; 16]).concat();
        let all = chunks([1, 2, 3, 4, 5, 6]);
        for (one, other) in (0..6).flat_map(|one| (0..one).map(move |other| (one, other))) {
            let mut order = [1, 2, 3, 4, 5, 6];
            order.swap(one, other);
            assert_ne!(hash(&chunks(order), 1, &keys), hash(&all, 1, &keys), "{one} and {other}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "one thread, and minutes there")]
    fn hashes_of_paths_are_spread_evenly() {
        use super::super::question::{Keys, LastLink, Question};
        use crate::text::hash::assert_even;
        let keys = Keys::new(7);
        let of = |path: &[u8], start| Question { path, start, root: 0, last_link: LastLink::Followed }.hash(&keys);
        assert_even("short paths", |n| of(&n.to_le_bytes(), 1));
        assert_even("long paths", |n| of(format!("/a/path/of/several/words/in/a/directory/{n}").as_bytes(), 1));
        assert_even("starts", |n| of(b"a/b", n));
    }
}
