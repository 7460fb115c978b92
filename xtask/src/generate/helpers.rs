//! The drawing of the functions of `std::fs`.

use super::Draw;
use super::paths::Wish;
use crate::op::Op;
use crate::words::{Mode, Options};

/// The usual sets of options. Other sets are drawn option by option; most of those are invalid.
const USUAL: [Options; 8] = [
    Options::READ,
    Options::WRITE,
    Options::READ.union(Options::WRITE),
    Options::APPEND.union(Options::CREATE),
    Options::READ.union(Options::APPEND),
    Options::WRITE.union(Options::CREATE).union(Options::TRUNCATE),
    Options::WRITE.union(Options::CREATE_NEW),
    Options::READ.union(Options::WRITE).union(Options::CREATE),
];

impl Draw {
    /// Draws a function of `std::fs`.
    pub(super) fn helper(&mut self) -> Op {
        match self.rng.u8(..40) {
            0..5 => Op::WriteFile { path: self.path(Wish::File), byte: self.byte(), size: self.length() },
            5..11 => Op::Copy { from: self.path(Wish::File), to: self.path(Wish::File) },
            11..13 => Op::CreateDir { path: self.path(Wish::Directory) },
            13..19 => Op::CreateDirAll { path: self.path(Wish::Directory) },
            19 => Op::RemoveFile { path: self.path(Wish::File) },
            20 => Op::RemoveDir { path: self.path(Wish::Directory) },
            21..26 => Op::RemoveDirAll { path: self.path(Wish::Directory) },
            26 | 27 => Op::RenameFile { from: self.path(Wish::Any), to: self.path(Wish::Any) },
            28 => Op::HardLink { from: self.path(Wish::File), to: self.path(Wish::Any) },
            29 | 30 => Op::SetPermissions { path: self.path(Wish::Any), mode: self.mode() },
            _ => self.open_with(),
        }
    }

    fn open_with(&mut self) -> Op {
        let options = if self.one_in(3) { self.flags(2) } else { self.among(&USUAL) };
        // The two flags are seldom set with the usual options.
        let options = if self.one_in(6) { options | self.flags::<Options>(2) } else { options };
        let mode = if self.one_in(4) { self.mode() } else { Mode(0o666) };
        Op::OpenWith { slot: self.file_slot(), path: self.path(Wish::File), options, mode }
    }
}
