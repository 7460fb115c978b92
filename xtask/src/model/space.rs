//! Operations on the space of open files, copies between them, and reads and writes with flags.

use pathwalk_model::{FallocateFlags, RwFlags, Sparse};

use super::{Answered, World, counted, done, number};
use crate::op::Op;
use crate::outcome::Answer;

impl World {
    pub(super) fn space(&mut self, op: &Op) -> Answered<Answer> {
        let Self { model, process, .. } = self;
        match *op {
            Op::Fallocate { slot, mode, offset, length } => {
                let mode = FallocateFlags::from_bits_retain(mode.bits());
                model.fallocate(process, number(slot), mode, offset as i64, length as i64).map(done)
            }
            Op::SeekData { slot, offset } => {
                model.seek_sparse(process, number(slot), offset as i64, Sparse::Data).map(Answer::Number)
            }
            Op::SeekHole { slot, offset } => {
                model.seek_sparse(process, number(slot), offset as i64, Sparse::Hole).map(Answer::Number)
            }
            Op::CopyRange { from, start, to, at, length } => {
                let (from, to) = ((number(from), signed(start.0)), (number(to), signed(at.0)));
                model.copy_file_range(process, from, to, length as usize).map(counted)
            }
            Op::ReadWith { slot, size, offset, flags } => {
                let flags = RwFlags::from_bits_retain(flags.bits());
                model.preadv2(process, number(slot), size as usize, signed(offset.0), flags).map(Answer::Bytes)
            }
            Op::WriteWith { slot, byte, size, offset, flags } => {
                let flags = RwFlags::from_bits_retain(flags.bits());
                model.pwritev2(process, number(slot), &vec![byte; size as usize], signed(offset.0), flags).map(counted)
            }
            Op::SyncFs { slot } => model.syncfs(process, number(slot)).map(done),
            ref other => unreachable!("{} is no operation on space", other.verb()),
        }
    }
}

fn signed(offset: Option<u64>) -> Option<i64> {
    offset.map(|offset| offset as i64)
}
