//! Operations on extended attributes.

use pathwalk_model::{AT_FDCWD, Errno, XattrFlags};

use super::convert::at_flags;
use super::{Answered, World, done, number};
use crate::op::Op;
use crate::outcome::Answer;
use crate::words::Place;

impl World {
    pub(super) fn xattr(&mut self, op: &Op) -> Answered<Answer> {
        let Self { model, process, .. } = self;
        let at = |place: &Place| place.at.map_or(AT_FDCWD, number);
        match op {
            Op::GetXattr { at: of, name, size, flags } => {
                let value = model.getxattr(process, at(of), &of.path.0, &name.0, at_flags(*flags))?;
                match *size {
                    0 => Ok(Answer::Number(value.len() as u64)),
                    size if size < value.len() as u64 => Err(Errno::ERANGE),
                    _ => Ok(Answer::Bytes(value)),
                }
            }
            Op::SetXattr { at: of, name, value, how, flags } => {
                let how = XattrFlags::from_bits_retain(how.bits() as i32);
                model.setxattr(process, at(of), &of.path.0, &name.0, &value.0, how, at_flags(*flags)).map(done)
            }
            Op::ListXattr { at: of, flags } => {
                let names = model.listxattr(process, at(of), &of.path.0, at_flags(*flags))?;
                Ok(Answer::Bytes(names.into_iter().flat_map(|name| name.into_iter().chain([0])).collect()))
            }
            Op::RemoveXattr { at: of, name, flags } => {
                model.removexattr(process, at(of), &of.path.0, &name.0, at_flags(*flags)).map(done)
            }
            other => unreachable!("{} is no operation on extended attributes", other.verb()),
        }
    }
}
