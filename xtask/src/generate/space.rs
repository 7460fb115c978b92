//! The drawing of operations on the space of open files.

use pathwalk::{FallocateFlags, OpenFlags, RwFlags};

use super::Draw;
use crate::op::Op;
use crate::program::Step;
use crate::words::{Mode, Offset, Place, Slot};

/// The modes that a tmpfs has; each twice as often as an illegal one.
const MODES: [FallocateFlags; 3] =
    [FallocateFlags::empty(), FallocateFlags::KEEP_SIZE, FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE)];

/// Modes that a tmpfs does not have and the file systems of the engine do.
const NOT_OF_TMPFS: FallocateFlags = FallocateFlags::COLLAPSE_RANGE
    .union(FallocateFlags::INSERT_RANGE)
    .union(FallocateFlags::ZERO_RANGE)
    .union(FallocateFlags::UNSHARE_RANGE);

/// The lengths of ranges, in bytes.
const LENGTHS: [u64; 9] = [0, 1, 100, 4095, 4096, 4097, 8192, 20_000, 40_000];

/// Offsets near the begin of a file, in bytes.
const NEAR: [u64; 8] = [0, 1, 100, 4095, 4096, 4097, 8192, 12_288];

impl Draw {
    /// Draws an operation on this descriptor.
    pub(super) fn space(&mut self, slot: Slot) -> Op {
        let (size, byte) = (self.length(), self.byte());
        match self.rng.u8(..12) {
            0..4 => self.fallocate(slot),
            4 => Op::SeekData { slot, offset: self.begin() },
            5 => Op::SeekHole { slot, offset: self.begin() },
            6..9 => {
                let (start, at) = (self.offset(), self.offset());
                let length = if self.one_in(8) { self.among(&[i64::MAX as u64, u64::MAX]) } else { self.among(&LENGTHS) };
                Op::CopyRange { from: slot, start, to: self.file_slot(), at, length }
            }
            9 => Op::ReadWith { slot, size, offset: self.offset(), flags: self.rw_flags() },
            10 => Op::WriteWith { slot, byte, size, offset: self.offset(), flags: self.rw_flags() },
            _ => Op::SyncFs { slot },
        }
    }

    fn fallocate(&mut self, slot: Slot) -> Op {
        let mode = if self.one_in(4) { self.odd_mode() } else { self.among(&MODES) };
        let length = if self.one_in(12) { self.among(&[i64::MAX as u64, 1 << 63]) } else { self.among(&LENGTHS) };
        let offset = if self.one_in(12) { self.among(&[i64::MAX as u64, 1 << 63, u64::MAX]) } else { self.among(&NEAR) };
        Op::Fallocate { slot, mode, offset, length }
    }

    /// Draws a mode that every file system refuses.
    fn odd_mode(&mut self) -> FallocateFlags {
        let mode: FallocateFlags = self.flags(3);
        let is_possible = (mode - FallocateFlags::KEEP_SIZE).bits().count_ones() == 1 && mode.intersects(NOT_OF_TMPFS);
        if is_possible { mode | FallocateFlags::PUNCH_HOLE } else { mode }
    }

    fn begin(&mut self) -> u64 {
        if self.one_in(4) { self.size() } else { self.among(&NEAR) }
    }

    fn offset(&mut self) -> Offset {
        Offset(if self.one_in(3) { None } else { Some(self.begin()) })
    }

    /// Draws flags without `NOWAIT`, which a tmpfs refuses and the engine's file systems do not.
    fn rw_flags(&mut self) -> RwFlags {
        let flags: RwFlags = self.flags(5);
        let refused = RwFlags::ATOMIC | RwFlags::DONTCACHE;
        if self.one_in(8) { flags - RwFlags::NOWAIT } else { flags - RwFlags::NOWAIT - refused }
    }

    /// Reserves, writes, punches and copies, and looks for holes.
    pub(super) fn sparse(&mut self, at: Place, own: Slot, by: impl Fn(Op) -> Step) -> Vec<Step> {
        let flags = OpenFlags::CREATE | OpenFlags::READ | OpenFlags::WRITE;
        let mut steps = vec![by(Op::Open { slot: own, at, flags, mode: Mode(0o6777) })];
        for _ in 0..8 {
            let byte = self.byte();
            let (offset, size) = (self.among(&NEAR), self.among(&[1, 100, 4096, 9000]));
            let op = match self.rng.u8(..4) {
                0 => Op::WriteAt { slot: own, byte, size, offset },
                1 => Op::SetLen { slot: own, size: offset },
                _ => match self.space(own) {
                    Op::CopyRange { from, start, at, length, .. } => Op::CopyRange { from, start, to: own, at, length },
                    other => other,
                },
            };
            steps.push(by(op));
        }
        steps
    }
}
