//! Binary content in a patch: zlib, in lines of git's base 85; and differences of bytes, which git
//! writes, and which are only read here.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::{ZlibDecoder, ZlibEncoder};

/// The digits of git's base 85.
const DIGITS: &[u8; 85] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
/// The most bytes of a line.
const LINE: usize = 52;

/// Writes the lines of some content, and the empty one behind them.
pub(super) fn write(content: impl Read, out: &mut impl Write) -> io::Result<()> {
    let mut packed = ZlibEncoder::new(content, Compression::default());
    let mut buffer = [0; LINE];
    loop {
        let mut length = 0;
        while length < LINE {
            match packed.read(&mut buffer[length..])? {
                0 => break,
                more => length += more,
            }
        }
        if length == 0 {
            return out.write_all(b"\n");
        }
        out.write_all(&encoded(&buffer[..length]))?;
    }
}

/// Returns a line of at most [`LINE`] bytes.
fn encoded(bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u8;
    let mut line = vec![if length <= 26 { b'A' + length - 1 } else { b'a' + length - 27 }];
    for group in bytes.chunks(4) {
        let mut word = [0; 4];
        word[..group.len()].copy_from_slice(group);
        let mut number = u32::from_be_bytes(word);
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS[(number % 85) as usize];
            number /= 85;
        }
        line.extend(digits);
    }
    line.push(b'\n');
    line
}

/// Appends the bytes of a line, without its end, to others. `None` if it is none.
pub(super) fn decode(line: &[u8], to: &mut Vec<u8>) -> Option<()> {
    let (first, digits) = line.split_first()?;
    let length = match first {
        b'A'..=b'Z' => first - b'A' + 1,
        b'a'..=b'z' => first - b'a' + 27,
        _ => return None,
    };
    let length = usize::from(length);
    if digits.len() != length.div_ceil(4) * 5 {
        return None;
    }
    let end = to.len() + length;
    for group in digits.chunks(5) {
        let mut number: u64 = 0;
        for digit in group {
            number = number * 85 + DIGITS.iter().position(|of| of == digit)? as u64;
        }
        to.extend(u32::try_from(number).ok()?.to_be_bytes());
    }
    to.truncate(end);
    Some(())
}

/// Returns what was packed, a part at a time.
pub(super) fn unpacked(packed: &[u8]) -> impl Read {
    ZlibDecoder::new(packed)
}

/// A step by which a file is made of another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step<'a> {
    /// Bytes of the other file: where they begin, and how many.
    Copy(u64, u64),
    Insert(&'a [u8]),
}

/// Parses differences of bytes: the size of the one file and of the other, and the steps. `None` if
/// they are none, or do not lead to that size.
pub(super) fn differences(bytes: &[u8]) -> Option<(u64, u64, Vec<Step<'_>>)> {
    let mut rest = bytes;
    let (from, to) = (size(&mut rest)?, size(&mut rest)?);
    let (mut steps, mut made) = (Vec::new(), 0_u64);
    while let Some((&op, behind)) = rest.split_first() {
        rest = behind;
        if op & 0x80 == 0 {
            let (inserted, behind) = rest.split_at_checked(usize::from(op)).filter(|(inserted, _)| !inserted.is_empty())?;
            steps.push(Step::Insert(inserted));
            made += inserted.len() as u64;
            rest = behind;
            continue;
        }
        let mut field = |bits: std::ops::Range<u32>| {
            let mut number = 0;
            for (at, bit) in bits.enumerate() {
                if op & 1 << bit != 0 {
                    let (byte, behind) = rest.split_first()?;
                    number |= u64::from(*byte) << (8 * at);
                    rest = behind;
                }
            }
            Some(number)
        };
        let (begin, length) = (field(0..4)?, field(4..7)?);
        let length = if length == 0 { 0x1_0000 } else { length };
        if begin + length > from {
            return None;
        }
        steps.push(Step::Copy(begin, length));
        made += length;
    }
    (made == to).then_some((from, to, steps))
}

/// Parses a size: seven bits a byte, the lowest first.
fn size(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for at in 0..9 {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_there_and_back() {
        for length in 0..200_usize {
            let content: Vec<u8> = (0..length).map(|at| (at * 77 + length) as u8).collect();
            let mut out = Vec::new();
            write(&content[..], &mut out).expect("there is room");
            let mut packed = Vec::new();
            let lines: Vec<_> = out.split(|byte| *byte == b'\n').collect();
            lines[..lines.len() - 2].iter().for_each(|line| decode(line, &mut packed).expect("it is a line"));
            let mut read = Vec::new();
            unpacked(&packed).read_to_end(&mut read).expect("it is whole");
            assert_eq!(read, content);
        }
    }

    #[test]
    fn an_empty_file_of_git_is_read() {
        let (mut packed, mut read) = (Vec::new(), Vec::new());
        decode(b"HcmV?d00001", &mut packed).expect("it is a line");
        assert_eq!(unpacked(&packed).read_to_end(&mut read).expect("it is whole"), 0);
    }

    #[test]
    fn what_is_no_line_is_refused() {
        for line in [&b""[..], b"0", b"A", b"A0000", b"A000000", b"A\"0000", b"A~~~~~", b"E00000"] {
            assert_eq!(decode(line, &mut Vec::new()), None, "{}", line.escape_ascii());
        }
    }
}
