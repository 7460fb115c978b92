//! Operations on extended attributes. As the kernel does, an empty path at a descriptor is taken as
//! the open file itself.

use std::sync::Arc;

use pathwalk::{At, AtFlags, Context, Errno, File, copy_xattr};

use super::data::Descriptors;
use super::{Process, done};
use crate::op::Op;
use crate::outcome::{Answer, Xattrs};
use crate::words::Place;

pub(super) fn carry_out(process: &mut Process, slots: &Descriptors, op: &Op) -> Result<Answer, Errno> {
    let Process { face, own, .. } = process;
    let file = |of: &Place, flags: AtFlags| -> Option<&Arc<File>> {
        let is_itself = of.path.0.is_empty() && flags.contains(AtFlags::EMPTY_PATH) && !flags.contains(AtFlags::EACCESS);
        of.at.filter(|_| is_itself).map(|slot| slots.file(slot))
    };
    match op {
        Op::GetXattr { at, name, size, flags } => {
            let value = match file(at, *flags) {
                Some(file) => file.by(own).getxattr(&name.0),
                None => face.getxattrat(slots.at(at.at), &at.path.0, &name.0, *flags),
            }?;
            let mut buffer = vec![0; *size as usize];
            let length = copy_xattr(&value, &mut buffer)?;
            Ok(if *size == 0 { Answer::Number(length as u64) } else { Answer::Bytes(value) })
        }
        Op::SetXattr { at, name, value, how, flags } => match file(at, *flags) {
            Some(file) => file.by(own).setxattr(&name.0, &value.0, *how),
            None => face.setxattrat(slots.at(at.at), &at.path.0, (&name.0, &value.0), *how, *flags),
        }
        .map(done),
        Op::ListXattr { at, flags } => match file(at, *flags) {
            Some(file) => file.by(own).listxattr(),
            None => face.listxattrat(slots.at(at.at), &at.path.0, *flags),
        }
        .map(|list| Answer::Bytes(list.as_bytes().to_vec())),
        Op::RemoveXattr { at, name, flags } => match file(at, *flags) {
            Some(file) => file.by(own).removexattr(&name.0),
            None => face.removexattrat(slots.at(at.at), &at.path.0, &name.0, *flags),
        }
        .map(done),
        other => unreachable!("{} is no operation on extended attributes", other.verb()),
    }
}

/// Returns all attributes of a name in a directory, without its access control lists. One that
/// cannot be read has an empty value.
pub(super) fn all(context: &Context, at: At<'_>, name: &[u8]) -> Result<Xattrs, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let list = context.listxattrat(at, name, flags)?;
    let value = |attribute: &[u8]| context.getxattrat(at, name, attribute, flags).unwrap_or_default();
    let others = list.iter().filter(|name| !name.starts_with(b"system.posix_acl_"));
    Ok(others.map(|attribute| (attribute.to_vec(), value(attribute))).collect())
}
