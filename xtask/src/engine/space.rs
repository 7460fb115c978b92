//! Operations on the space of open files, copies between them, and reads and writes with flags.

use std::io::IoSlice;

use pathwalk::Errno;

use super::data::{Descriptors, number, read};
use super::{Process, done};
use crate::cast::Actor;
use crate::op::Op;
use crate::outcome::{Answer, has_last_page};

/// Carries out an operation with the rights of this actor.
pub(super) fn space(process: &mut Process, slots: &Descriptors, actor: Actor, op: &Op) -> Result<Answer, Errno> {
    let Process { face, own, .. } = process;
    match *op {
        Op::Fallocate { slot, mode, offset, length } => {
            let (file, is_own) = (slots.file(slot), slots.opener(slot) == Some(actor));
            let changed =
                if is_own { face.fallocate(file, mode, offset, length) } else { file.by(own).fallocate(mode, offset, length) };
            changed.map(done)
        }
        Op::SeekData { slot, .. } | Op::SeekHole { slot, .. } if has_last_page(slots.file(slot).handle().attributes()?.size) => {
            Ok(Answer::Done)
        }
        Op::SeekData { slot, offset } => slots.file(slot).seek_data(offset).map(Answer::Number),
        Op::SeekHole { slot, offset } => slots.file(slot).seek_hole(offset).map(Answer::Number),
        Op::CopyRange { from, start, to, at, length } => {
            slots.file(from).by(own).copy_file_range(start.0, slots.file(to), at.0, length as usize).map(number)
        }
        Op::ReadWith { slot, size, offset, flags } => {
            read(size, |buffer| face.read_with(slots.file(slot), buffer, offset.0, flags))
        }
        Op::WriteWith { slot, byte, size, offset, flags } => {
            let data = vec![byte; size as usize];
            let (file, is_own) = (slots.file(slot), slots.opener(slot) == Some(actor));
            let written = match is_own {
                true => face.write_with(file, &data, offset.0, flags),
                false => file.by(own).pwritev2(&[IoSlice::new(&data)], offset.0, flags),
            };
            written.map(number)
        }
        Op::SyncFs { slot } => slots.file(slot).syncfs().map(done),
        ref other => unreachable!("{} is no operation on space", other.verb()),
    }
}
