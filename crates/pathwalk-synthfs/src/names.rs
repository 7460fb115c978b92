//! The conversion of numbers to names and back: a letter for the level, then the number in decimal,
//! without leading zeros.

/// The letter before the number of a thread's directory.
pub(crate) const THREAD: u8 = b't';
/// The letter before the number of a directory in it.
pub(crate) const DIRECTORY: u8 = b'd';
/// The letter before the number of a file.
pub(crate) const FILE: u8 = b'f';

/// The number of digits of the greatest number.
const MOST_DIGITS: usize = 10;

/// Returns the number that follows this letter in `name`, if it is below `count`.
#[inline]
pub(crate) fn number(name: &[u8], letter: u8, count: u32) -> Option<u32> {
    let (first, digits) = name.split_first()?;
    let is_written_so = matches!(digits, [b'0'] | [b'1'..=b'9', ..]) && digits.len() <= MOST_DIGITS;
    if *first != letter || !is_written_so {
        return None;
    }
    // Ten digits do not overflow 64 bits.
    let number =
        digits.iter().try_fold(0, |sum: u64, digit| digit.is_ascii_digit().then(|| sum * 10 + u64::from(digit - b'0')))?;
    u32::try_from(number).ok().filter(|number| *number < count)
}

/// A buffer for a name.
pub(crate) type Buffer = [u8; 1 + MOST_DIGITS];

/// Writes the name of a number at the end of `buffer`.
pub(crate) fn write(letter: u8, number: u32, buffer: &mut Buffer) -> &[u8] {
    let (mut at, mut rest) = (buffer.len(), number);
    loop {
        at -= 1;
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    at -= 1;
    buffer[at] = letter;
    &buffer[at..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn odd_names_are_none() {
        let odd = ["", "t", "t00", "t07", "t-1", "t+1", "t 1", "t1 ", "1", "T1", "tt1", "t1.0", "t0x1", "t\u{661}"];
        let beyond =
            ["t4294967295", "t4294967296", "t9999999999", "t18446744073709551616", "t00000000001", "t99999999999999999999"];
        for name in odd.iter().chain(&beyond) {
            assert_eq!(number(name.as_bytes(), THREAD, u32::MAX), None, "{name:?}");
        }
        assert_eq!(number(b"t0", THREAD, 0), None, "of none there is none");
        assert_eq!(number(b"t4294967294", THREAD, u32::MAX), Some(u32::MAX - 1));
    }

    proptest! {
        #[test]
        fn there_and_back(number in any::<u32>(), count in any::<u32>()) {
            let mut buffer = Buffer::default();
            let name = write(FILE, number, &mut buffer);
            let naive = format!("f{number}");
            prop_assert_eq!(name, naive.as_bytes());
            prop_assert_eq!(super::number(name, FILE, count), (number < count).then_some(number));
            prop_assert_eq!(super::number(name, DIRECTORY, count), None);
        }

        #[test]
        fn what_is_a_name_is_written_so(text in "[tdf]?[0-9+ -]{0,12}", count in 0..5000_u32) {
            let naive = (0..count).find(|number| format!("d{number}") == text);
            prop_assert_eq!(number(text.as_bytes(), DIRECTORY, count), naive);
        }
    }
}
