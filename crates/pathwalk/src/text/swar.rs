//! Searches for bytes, eight at a time: SWAR, "SIMD within a register".
//!
//! This is for names and short paths, where a search that is made for long text has a slow start.
//! The walk itself finds slashes while it hashes: see `walk/component.rs`.

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;
const SLASHES: u64 = LOW * b'/' as u64;

/// Returns the eight bytes from `at` on, little-endian, with zeros past the end.
pub(crate) fn word_at(text: &[u8], at: usize) -> u64 {
    let rest = text.get(at..).unwrap_or(&[]);
    match rest.first_chunk::<8>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// Returns a word with a mark in the top bit of the first byte that is zero, and in no byte before
/// it; 0 if no byte is zero. Marks above the first one may be false.
///
/// A byte is zero if subtracting one from it borrows (Mycroft 1987). A borrow makes false marks
/// only above a true one.
#[inline(always)]
pub(crate) fn zeros(word: u64) -> u64 {
    word.wrapping_sub(LOW) & !word & HIGH
}

/// Returns the same for bytes that are slashes.
#[inline(always)]
pub(crate) fn slashes(word: u64) -> u64 {
    zeros(word ^ SLASHES)
}

/// Returns a word with a mark in the top bit of every byte that is a slash, and of no other.
fn every_slash(word: u64) -> u64 {
    let word = word ^ SLASHES;
    !((word & !HIGH).wrapping_add(!HIGH) | word | !HIGH)
}

/// Returns whether a byte is 0 or a slash.
pub(crate) fn has_nul_or_slash(bytes: &[u8]) -> bool {
    let found = |word: u64| zeros(word) | slashes(word) != 0;
    let (words, rest) = bytes.as_chunks();
    let last = match bytes.last_chunk() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => word_at(rest, 0) | u64::MAX.unbounded_shl(8 * rest.len() as u32),
    };
    words.iter().any(|word| found(u64::from_le_bytes(*word))) || found(last)
}

/// Returns the position of the last slash.
pub(crate) fn last_slash(bytes: &[u8]) -> Option<usize> {
    let mut left = bytes;
    while let Some((rest, word)) = left.split_last_chunk() {
        let marks = every_slash(u64::from_le_bytes(*word));
        if marks != 0 {
            return Some(rest.len() + 7 - marks.leading_zeros() as usize / 8);
        }
        left = rest;
    }
    left.iter().rposition(|byte| *byte == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_byte_by_byte() {
        for length in 0..20 {
            for at in 0..length {
                for byte in [0, 1, b'/' - 1, b'/', b'/' + 1, 0x80, b'/' | 0x80, 0xff] {
                    for other in [b'a', 1, b'.', 0x81, 0xff, b'/' + 1] {
                        let mut bytes = vec![other; length];
                        bytes[at] = byte;
                        assert_eq!(has_nul_or_slash(&bytes), bytes.iter().any(|byte| matches!(byte, 0 | b'/')), "{bytes:?}");
                        assert_eq!(last_slash(&bytes), bytes.iter().rposition(|byte| *byte == b'/'), "{bytes:?}");
                    }
                }
            }
        }
        assert_eq!((has_nul_or_slash(b""), last_slash(b"")), (false, None));
        assert_eq!(last_slash(b"/a/bcdefgh/ijklmno"), Some(10));
    }
}
