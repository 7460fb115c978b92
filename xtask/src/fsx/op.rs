//! The operations, and how they are drawn.

use std::fmt;

use pathwalk::FallocateFlags;

/// The size of a page in bytes.
pub(super) const PAGE: u64 = 4096;

/// The greatest offset at which an operation begins, in bytes.
const FARTHEST: u64 = 48 * PAGE;

/// One operation on two files, which are numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
    Read {
        file: usize,
        offset: u64,
        length: u64,
    },
    /// A write of bytes that begin with this one and count up.
    Write {
        file: usize,
        offset: u64,
        length: u64,
        byte: u8,
    },
    Truncate {
        file: usize,
        size: u64,
    },
    Fallocate {
        file: usize,
        mode: FallocateFlags,
        offset: u64,
        length: u64,
    },
    SeekData {
        file: usize,
        offset: u64,
    },
    SeekHole {
        file: usize,
        offset: u64,
    },
    Copy {
        from: usize,
        start: u64,
        to: usize,
        at: u64,
        length: u64,
    },
    Clone {
        from: usize,
        start: u64,
        to: usize,
        at: u64,
        length: u64,
    },
}

/// Draws operations from a seed.
pub(super) fn drawn(seed: u64, count: usize) -> Vec<Op> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| one(&mut rng)).collect()
}

fn one(rng: &mut fastrand::Rng) -> Op {
    let (file, other) = (rng.usize(..2), rng.usize(..2));
    let (offset, at, length) = (place(rng), place(rng), length(rng));
    match rng.u8(..28) {
        0..4 => Op::Read { file, offset, length },
        4..11 => Op::Write { file, offset, length, byte: rng.u8(1..) },
        11..13 => Op::Truncate { file, size: if rng.u8(..6) == 0 { 0 } else { offset } },
        13..20 => Op::Fallocate { file, mode: mode(rng), offset, length },
        20..22 => Op::SeekData { file, offset },
        22..24 => Op::SeekHole { file, offset },
        24..27 => Op::Copy { from: file, start: offset, to: other, at, length },
        _ => Op::Clone { from: file, start: offset, to: other, at, length },
    }
}

/// Draws an offset: half of them are multiples of a page, and some are beside one.
fn place(rng: &mut fastrand::Rng) -> u64 {
    let page = rng.u64(..FARTHEST / PAGE) * PAGE;
    match rng.u8(..6) {
        0..3 => page,
        3 => page + 1,
        4 => (page + PAGE) - 1,
        _ => rng.u64(..FARTHEST),
    }
}

fn length(rng: &mut fastrand::Rng) -> u64 {
    match rng.u8(..6) {
        0..3 => rng.u64(1..9) * PAGE,
        3 => rng.u64(..PAGE),
        4 => rng.u64(..3) * PAGE + 1,
        _ => rng.u64(..10 * PAGE),
    }
}

fn mode(rng: &mut fastrand::Rng) -> FallocateFlags {
    let keep = if rng.bool() { FallocateFlags::KEEP_SIZE } else { FallocateFlags::empty() };
    match rng.u8(..12) {
        0 | 1 => keep,
        2..5 => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
        5 | 6 => FallocateFlags::ZERO_RANGE | keep,
        7 | 8 => FallocateFlags::COLLAPSE_RANGE,
        9 | 10 => FallocateFlags::INSERT_RANGE,
        _ if rng.bool() => FallocateFlags::UNSHARE_RANGE | keep,
        // Not `WRITE_ZEROES`, which ext4 may have.
        _ => FallocateFlags::from_bits_truncate(rng.u32(..0x80)),
    }
}

/// Returns the bytes of a write.
pub(super) fn bytes(first: u8, length: u64) -> Vec<u8> {
    (0..length).map(|index| first.wrapping_add((index % 251) as u8)).collect()
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Op::Read { file, offset, length } => write!(f, "read {file} at {offset}, {length} bytes"),
            Op::Write { file, offset, length, byte } => write!(f, "write {file} at {offset}, {length} bytes from {byte} on"),
            Op::Truncate { file, size } => write!(f, "truncate {file} to {size}"),
            Op::Fallocate { file, mode, offset, length } => write!(f, "fallocate {file} {mode:?} at {offset}, {length} bytes"),
            Op::SeekData { file, offset } => write!(f, "seekdata {file} from {offset}"),
            Op::SeekHole { file, offset } => write!(f, "seekhole {file} from {offset}"),
            Op::Copy { from, start, to, at, length } => write!(f, "copy {from} at {start} to {to} at {at}, {length} bytes"),
            Op::Clone { from, start, to, at, length } => write!(f, "clone {from} at {start} to {to} at {at}, {length} bytes"),
        }
    }
}
