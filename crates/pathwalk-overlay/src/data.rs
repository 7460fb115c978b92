//! The data of a file, copied as far as it differs, in blocks.
//!
//! What always holds: afterwards both files read the same. Of a block that was the same, nothing is
//! written.
//!
//! What it does not do: make holes where the file that is written has zeros.

use std::ops::Range;

use pathwalk::{Errno, FallocateFlags, File};
use pathwalk_branch::{BlobId, Branch};

use crate::settings::Target;
use crate::upper::Node;

/// The number of bytes that are compared, and written, as one.
const BLOCK: usize = 4096;

/// The most bytes that are read at once.
const PART: usize = 64 * BLOCK;

/// Copies the data of a file of a layer.
pub(crate) fn copy(from: &Node, to: &File, is: Target) -> Result<(), Errno> {
    match is {
        Target::New => copy_to_empty(from, ranges_of(from)?, to),
        Target::OfBase => copy_what_differs(from, to, |at, data| to.write_all_at(data, at)),
    }
}

/// Shows the data of a file of a layer, which is a blob, in one of a held branch: of the base, if
/// it is opened.
pub(crate) fn show(from: &Node, blob: BlobId, branch: &Branch, number: u64, of_base: Option<&File>) -> Result<(), Errno> {
    from.may_be_read()?;
    let mut ranges: Vec<Range<u64>> = Vec::new();
    match of_base {
        None => ranges = ranges_of(from)?,
        Some(to) => copy_what_differs(from, to, |at, data| {
            let end = at + data.len() as u64;
            match ranges.last_mut() {
                Some(last) if last.end == at => last.end = end,
                _ => ranges.push(at..end),
            }
            Ok(())
        })?,
    }
    let is_equal = of_base.is_some() && ranges.is_empty();
    if is_equal { Ok(()) } else { branch.show(number, blob, &ranges, from.attributes().size) }
}

/// Returns the ranges of a file of a layer that are no holes.
fn ranges_of(from: &Node) -> Result<Vec<Range<u64>>, Errno> {
    let size = from.attributes().size;
    match from.may_have_holes() {
        true => ranges(|at| from.seek_data(at), |at| from.seek_hole(at), 0..size),
        false => Ok(std::iter::once(0..size).collect()),
    }
}

/// Copies ranges to a file without data, and sets its size.
fn copy_to_empty(from: &Node, ranges: Vec<Range<u64>>, to: &File) -> Result<(), Errno> {
    let size = from.attributes().size;
    let mut buffer = vec![0; (size as usize).min(PART)];
    if ranges.last().is_none_or(|last| last.end < size) {
        to.set_len(size)?;
    }
    for data in ranges {
        let mut at = data.start;
        while at < data.end {
            let part = (data.end - at).min(PART as u64);
            from.read(&mut buffer[..part as usize], at)?;
            to.write_all_at(&buffer[..part as usize], at)?;
            at += part;
        }
    }
    Ok(())
}

/// Passes what differs from another file to `put`, with its offset there, and clears what is a
/// hole.
fn copy_what_differs(from: &Node, to: &File, mut put: impl FnMut(u64, &[u8]) -> Result<(), Errno>) -> Result<(), Errno> {
    let ranges = ranges_of(from)?;
    let size = from.attributes().size;
    if to.handle().attributes()?.size != size {
        to.set_len(size)?;
    }
    let length = (size as usize).min(PART);
    let (mut wanted, mut there) = (vec![0; length], vec![0; length]);
    let mut end_of_last = 0;
    for data in ranges {
        clear(to, end_of_last..data.start, &mut there)?;
        let mut at = data.start;
        while at < data.end {
            // Parts end where blocks do.
            let end = data.end.min((at / PART as u64 + 1) * PART as u64);
            let length = (end - at) as usize;
            from.read(&mut wanted[..length], at)?;
            read(to, &mut there[..length], at)?;
            for differing in differences(&wanted[..length], &there[..length], at) {
                put(at + differing.start as u64, &wanted[differing])?;
            }
            at = end;
        }
        end_of_last = data.end;
    }
    clear(to, end_of_last..size, &mut there)
}

/// Returns the ranges of a file that are no holes, by what finds the next data, and the next hole.
fn ranges(
    seek_data: impl Fn(u64) -> Result<u64, Errno>,
    seek_hole: impl Fn(u64) -> Result<u64, Errno>,
    within: Range<u64>,
) -> Result<Vec<Range<u64>>, Errno> {
    let (mut found, mut at) = (Vec::new(), within.start);
    while at < within.end {
        let start = match seek_data(at) {
            Ok(start) if start < within.end => start,
            Ok(_) | Err(Errno::ENXIO) => break,
            // One range, where the file system does not tell.
            Err(Errno::EINVAL | Errno::EOPNOTSUPP) => {
                found.push(at..within.end);
                break;
            }
            Err(errno) => return Err(errno),
        };
        let end = seek_hole(start)?.min(within.end);
        if end <= start {
            break;
        }
        found.push(start..end);
        at = end;
    }
    Ok(found)
}

/// Makes a range read as zeros.
fn clear(file: &File, range: Range<u64>, buffer: &mut [u8]) -> Result<(), Errno> {
    for data in ranges(|at| file.seek_data(at), |at| file.seek_hole(at), range)? {
        let mut at = data.start;
        while at < data.end {
            let length = buffer.len().min((data.end - at) as usize);
            read(file, &mut buffer[..length], at)?;
            if buffer[..length].iter().any(|byte| *byte != 0) {
                file.fallocate(FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, length as u64)?;
            }
            at += length as u64;
        }
    }
    Ok(())
}

/// Fills a buffer: with zeros where the file became shorter.
fn read(file: &File, buffer: &mut [u8], offset: u64) -> Result<(), Errno> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64)? {
            0 => {
                buffer[done..].fill(0);
                return Ok(());
            }
            length => done += length,
        }
    }
    Ok(())
}

/// Returns the runs of blocks that differ, as ranges of the buffers, which are at an offset.
fn differences(wanted: &[u8], there: &[u8], offset: u64) -> Vec<Range<usize>> {
    let (mut found, mut at): (Vec<Range<usize>>, _) = (Vec::new(), 0);
    while at < wanted.len() {
        let to_end_of_block = BLOCK - ((offset + at as u64) % BLOCK as u64) as usize;
        let end = wanted.len().min(at + to_end_of_block);
        if wanted[at..end] != there[at..end] {
            match found.last_mut() {
                Some(last) if last.end == at => last.end = end,
                _ => found.push(at..end),
            }
        }
        at = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_differ_are_joined() {
        let mut changed = vec![0; 4 * BLOCK + 7];
        changed[BLOCK] = 1;
        changed[2 * BLOCK + 5] = 1;
        changed[4 * BLOCK + 6] = 1;
        let old = vec![0; changed.len()];
        assert_eq!(differences(&changed, &old, 0), [BLOCK..3 * BLOCK, 4 * BLOCK..4 * BLOCK + 7]);
        let across = &changed[BLOCK - 1..=2 * BLOCK + 5];
        let found = differences(across, &old[..across.len()], BLOCK as u64 - 1);
        assert!(matches!(&found[..], [run] if *run == (1..across.len())), "{found:?}");
        assert_eq!(differences(&old, &old, 0), []);
    }
}
