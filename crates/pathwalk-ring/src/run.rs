//! The execution of an operation in a thread that may wait.

use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;

use pathwalk::limits::LINK_MAX;
use pathwalk::{Context, Errno, File, RwFlags};

use crate::foreign::caught;
use crate::inline::Tried;
use crate::op::Offset;
use crate::{Op, Place, Value};

/// The number of bytes that an operation has to read or write, if it does. Entries linked to it
/// start only if it reached that number.
#[derive(Clone, Copy)]
pub(crate) struct Wanted(usize);

impl Wanted {
    /// Returns whether the operation did all that was requested.
    pub(crate) fn is_complete(self, result: &Result<Value, Errno>) -> bool {
        result.as_ref().is_ok_and(|value| value.number() >= self.0)
    }
}

impl Op<'_> {
    pub(crate) fn wanted(&self) -> Wanted {
        Wanted(match self {
            Op::Read { buffer, .. } | Op::ReadWith { buffer, .. } => buffer.len(),
            Op::Write { data, .. } | Op::WriteWith { data, .. } => data.len(),
            _ => 0,
        })
    }

    /// Does the operation, and drops what it holds. A panic of the file system in either is `EIO`.
    pub(crate) fn run(mut self, context: &Context) -> Result<Value, Errno> {
        let done = caught(|| self.done(context));
        match (done, caught(|| drop(self))) {
            (Ok(result), Ok(())) => result,
            (done, _) => {
                _ = caught(|| drop(done));
                Err(Errno::EIO)
            }
        }
    }

    /// Does the operation. A buffer is taken; all else stays, so that a panic does not meet a
    /// second one in a drop.
    fn done(&mut self, context: &Context) -> Result<Value, Errno> {
        let context = &*self.by_rules(context)?;
        if self.is_cached_only(context) {
            return match self.try_cached(context) {
                Tried::Answered(answer) => answer,
                Tried::Punted(_) => Err(Errno::EAGAIN),
            };
        }
        let done = |()| Value::Done;
        match self {
            Op::Nop => Ok(Value::Done),
            Op::Openat2 { place, how } => context.openat(place.at(), place.path(), *how).map(|file| Value::File(Arc::new(file))),
            Op::Statx { place, flags, mask, .. } => context.statx_at(place.at(), place.path(), *flags, *mask).map(Value::Statx),
            Op::Access { place, want, flags, .. } => context.faccessat(place.at(), place.path(), *want, *flags).map(done),
            Op::Lookup { place, flags, .. } => context.lookup_at(place.at(), place.path(), *flags).map(Value::Handle),
            Op::Readlink { place, .. } => link(context, place).map(Value::Link),
            Op::Mkdirat { place, mode } => context.mkdirat(place.at(), place.path(), *mode).map(done),
            Op::Unlinkat { place, flags } => context.unlinkat(place.at(), place.path(), *flags).map(done),
            Op::Renameat { from, to, flags } => context.renameat(from.at(), from.path(), to.at(), to.path(), *flags).map(done),
            Op::Linkat { from, to, flags } => context.linkat(from.at(), from.path(), to.at(), to.path(), *flags).map(done),
            Op::Symlinkat { body, place } => context.symlinkat(body.path(), place.at(), place.path()).map(done),
            Op::Getxattrat { place, name, flags } => context.getxattrat(place.at(), place.path(), name, *flags).map(Value::Xattr),
            Op::Setxattrat { place, name, value, how, flags } => {
                context.setxattrat(place.at(), place.path(), name, value, *how, *flags).map(done)
            }
            Op::InodeFlagsAt { place, flags } => context.inode_flags_at(place.at(), place.path(), *flags).map(Value::InodeFlags),
            Op::SetInodeFlagsAt { place, to, flags } => {
                context.set_inode_flags_at(place.at(), place.path(), *to, *flags).map(done)
            }
            Op::Listxattrat { place, flags } => context.listxattrat(place.at(), place.path(), *flags).map(Value::XattrList),
            Op::Removexattrat { place, name, flags } => context.removexattrat(place.at(), place.path(), name, *flags).map(done),
            Op::GetAcl { place, kind, flags } => context.acl_at(place.at(), place.path(), *kind, *flags).map(Value::Acl),
            Op::SetAcl { place, kind, acl, flags } => {
                context.set_acl_at(place.at(), place.path(), *kind, acl.as_ref(), *flags).map(done)
            }
            Op::Getdents { file, at_most } => file.getdents(*at_most).map(Value::Listed),
            Op::Readdirplus { file, at_most, handles } => context.readdirplus(file, *at_most, *handles).map(Value::ListedNodes),
            Op::Read { file, buffer, offset } => read(file, std::mem::take(buffer), *offset).map(Value::Read),
            Op::Write { file, data, offset: Offset::Current } => file.write(data).map(Value::Written),
            Op::Write { file, data, offset: Offset::At(offset) } => file.write_at(data, *offset).map(Value::Written),
            Op::ReadWith { file, buffer, offset, flags } => {
                read_with(file, std::mem::take(buffer), *offset, *flags).map(Value::Read)
            }
            Op::WriteWith { file, data, offset, flags } => {
                file.pwritev2(&[IoSlice::new(data)], offset.number(), *flags).map(Value::Written)
            }
            Op::Details { place, flags, mask } => {
                context.details_at(place.at(), place.path(), *flags, *mask).map(|found| Value::Details(Box::new(found)))
            }
            Op::GenerationAt { place, flags } => context.generation_at(place.at(), place.path(), *flags).map(Value::Generation),
            Op::NameToHandleAt { place, flags } => {
                let found = context.name_to_handle_at(place.at(), place.path(), *flags);
                found.map(|(handle, mount)| Value::FileHandle(handle, mount))
            }
            Op::LookupByHandle { mount, handle } => context.lookup_by_handle(mount, handle).map(Value::Handle),
            Op::OpenByHandleAt { mount, handle, how } => {
                context.open_by_handle(mount, handle, *how).map(|file| Value::File(Arc::new(file)))
            }
            Op::Lease { file, kind } => file.lease(*kind).map(Value::Lease),
            Op::SetLease { lease, kind } => lease.set(*kind).map(done),
            Op::LeaseBreak { lease } => lease.wait().map(Value::Break),
            Op::Fsync { file, what } => file.sync(*what).map(done),
            Op::Lock { file, lock, kind, wait } => crate::lock::set(file, *lock, *kind, *wait),
            Op::PollEvents { subscription } => subscription.wait().map(done),
            Op::Fallocate { file, mode, offset, length } => file.fallocate(*mode, *offset, *length).map(done),
            Op::SyncFileRange { file, offset, length, flags } => file.sync_file_range(*offset, *length, *flags).map(done),
            // The file is closed when this is dropped.
            Op::Close { .. } => Ok(Value::Done),
            // A single one of these is handled by the ring itself. These are linked.
            Op::Timeout { .. } | Op::LinkTimeout { .. } | Op::Cancel { .. } => Err(Errno::EINVAL),
        }
    }
}

fn link(context: &Context, place: &Place<'_>) -> Result<Vec<u8>, Errno> {
    let mut body = vec![0; LINK_MAX];
    let length = context.readlinkat(place.at(), place.path(), &mut body)?;
    body.truncate(length);
    body.shrink_to_fit();
    Ok(body)
}

/// Reads with flags into a buffer, and truncates it.
pub(crate) fn read_with(file: &File, mut buffer: Vec<u8>, offset: Offset, flags: RwFlags) -> Result<Vec<u8>, Errno> {
    let length = file.preadv2(&mut [IoSliceMut::new(&mut buffer)], offset.number(), flags)?;
    buffer.truncate(length);
    Ok(buffer)
}

fn read(file: &File, mut buffer: Vec<u8>, offset: Offset) -> Result<Vec<u8>, Errno> {
    let length = match offset {
        Offset::Current => file.read(&mut buffer)?,
        Offset::At(offset) => file.read_at(&mut buffer, offset)?,
    };
    buffer.truncate(length);
    Ok(buffer)
}
