//! The data of an entry: of a file with holes a map, and the parts that it says.

use std::io::Read;

use super::BLOCK;
use super::entry::{Entry, What};
use crate::data::PART;
use crate::error::Error;
use crate::node::Kind;

/// The most bytes of the map of a file with holes.
const LONGEST_MAP: u64 = 64 << 20;

/// What takes the parts of a file's data, each with its offset.
type Parts<'p> = dyn FnMut(u64, &[u8]) -> Result<(), Error> + 'p;

/// Passes the data of a file to a function, by its map if it has one.
pub(super) fn drain(entry: &Entry, map: Option<u64>, size: u64, body: &mut dyn Read, to: &mut Parts<'_>) -> Result<(), Error> {
    let is_file = matches!(&entry.what, What::Node(node, _) if node.kind == Kind::File);
    let ranges = match map {
        _ if !is_file => vec![(0, 0)],
        None => vec![(0, size)],
        Some(_) => ranges(entry, size, body)?,
    };
    let mut buffer = vec![0; PART];
    for (start, length) in ranges {
        let mut done = 0;
        while done < length {
            let wanted = (PART as u64).min(length - done) as usize;
            let read = body.read(&mut buffer[..wanted]).map_err(|_| entry.malformed("the data is cut off"))?;
            if read == 0 {
                return Err(entry.malformed("the data is cut off"));
            }
            to(start + done, &buffer[..read])?;
            done += read as u64;
        }
    }
    let more = body.read(&mut buffer[..1]).map_err(|_| entry.malformed("the data is cut off"))?;
    if more == 0 || !is_file { Ok(()) } else { Err(entry.malformed("there is more data than the map has")) }
}

/// Reads the map of a file with holes: a count, and the offset and length of each part of the data.
fn ranges(entry: &Entry, size: u64, body: &mut dyn Read) -> Result<Vec<(u64, u64)>, Error> {
    let malformed = || entry.malformed("the map of a file with holes is none");
    let (mut numbers, mut number, mut has_digit, mut wanted, mut read) = (Vec::new(), 0_u64, false, None, 0);
    while wanted != Some(numbers.len() as u64) {
        let mut block = [0; BLOCK as usize];
        body.read_exact(&mut block).map_err(|_| malformed())?;
        read += BLOCK;
        if read > LONGEST_MAP {
            return Err(malformed());
        }
        for byte in block {
            if wanted == Some(numbers.len() as u64) {
                break;
            }
            match byte {
                b'0'..=b'9' => {
                    has_digit = true;
                    let more = number.checked_mul(10).and_then(|number| number.checked_add(u64::from(byte - b'0')));
                    number = more.ok_or_else(malformed)?;
                }
                b'\n' if has_digit && wanted.is_none() => {
                    wanted = Some(number.checked_mul(2).ok_or_else(malformed)?);
                    (number, has_digit) = (0, false);
                }
                b'\n' if has_digit => {
                    numbers.push(number);
                    (number, has_digit) = (0, false);
                }
                _ => return Err(malformed()),
            }
        }
    }
    let (mut ranges, mut done) = (Vec::new(), 0);
    for pair in numbers.chunks(2) {
        let end = pair[0].checked_add(pair[1]).filter(|end| pair[0] >= done && *end <= size);
        done = end.ok_or_else(malformed)?;
        ranges.push((pair[0], pair[1]));
    }
    Ok(ranges)
}
