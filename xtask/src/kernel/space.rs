//! Operations on the space of open files, copies between them, and reads and writes with flags.

use std::io::{IoSlice, IoSliceMut};

use rustix::fs;
use rustix::io::{self, ReadWriteFlags};

use super::Stage;
use super::calls::{done, number, read};
use crate::op::Op;
use crate::outcome::{Answer, has_last_page};
use crate::words::Offset;

impl Stage<'_> {
    pub(super) fn space(&self, op: &Op) -> io::Result<Answer> {
        match *op {
            Op::Fallocate { slot, mode, offset, length } => {
                let mode = fs::FallocateFlags::from_bits_retain(mode.bits());
                fs::fallocate(self.fd(slot), mode, offset, length).map(done)
            }
            Op::SeekData { slot, .. } | Op::SeekHole { slot, .. } if has_last_page(fs::fstat(self.fd(slot))?.st_size as u64) => {
                Ok(Answer::Done)
            }
            Op::SeekData { slot, offset } => fs::seek(self.fd(slot), fs::SeekFrom::Data(offset)).map(Answer::Number),
            Op::SeekHole { slot, offset } => fs::seek(self.fd(slot), fs::SeekFrom::Hole(offset)).map(Answer::Number),
            Op::CopyRange { from, start, to, at, length } => {
                let (Offset(mut start), Offset(mut at)) = (start, at);
                let copied = fs::copy_file_range(self.fd(from), start.as_mut(), self.fd(to), at.as_mut(), length as usize);
                copied.map(number)
            }
            Op::ReadWith { slot, size, offset, flags } => read(size, |buffer| {
                let flags = ReadWriteFlags::from_bits_retain(flags.bits());
                io::preadv2(self.fd(slot), &mut [IoSliceMut::new(buffer)], raw(offset), flags)
            }),
            Op::WriteWith { slot, byte, size, offset, flags } => {
                let flags = ReadWriteFlags::from_bits_retain(flags.bits());
                io::pwritev2(self.fd(slot), &[IoSlice::new(&vec![byte; size as usize])], raw(offset), flags).map(number)
            }
            Op::SyncFs { slot } => fs::syncfs(self.fd(slot)).map(done),
            ref other => unreachable!("{} is no operation on space", other.verb()),
        }
    }
}

/// Returns the kernel's form of an offset: −1 is the position, and no other negative one.
fn raw(offset: Offset) -> u64 {
    offset.0.map_or(u64::MAX, |offset| offset.min(u64::MAX - 1))
}
