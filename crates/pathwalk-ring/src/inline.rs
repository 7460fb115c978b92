//! The answers of the caches at the submission of an entry, without any waiting.
//!
//! Only this decides whether an entry goes to a worker: neither the kind of file system nor the
//! result matters.

use std::borrow::Cow;
use std::sync::Arc;

use pathwalk::limits::{LINK_MAX, RW_MAX};
use pathwalk::{Cached, Context, Errno, File, LockKind, LockWait, MissingName, Resolve, RwFlags};

use crate::foreign::caught;
use crate::run::read_with;
use crate::{Offset, Op, Place, Value};

/// The result of a try.
pub(crate) enum Tried {
    Answered(Result<Value, Errno>),
    /// A worker has to go on. The missing name, if the try stopped at a name.
    Punted(Option<MissingName>),
}

impl Op<'_> {
    /// Tries the caches. An operation that is answered may be used up.
    pub(crate) fn try_cached(&mut self, context: &Context) -> Tried {
        let context = match self.by_rules(context) {
            Ok(context) => context,
            Err(errno) => return Tried::Answered(Err(errno)),
        };
        let cached = context.cached();
        match self.ask(&cached) {
            None => Tried::Punted(None),
            Some(Err(Errno::EAGAIN)) if !self.is_cached_only(&context) && !self.is_at_once() => Tried::Punted(cached.missing()),
            Some(answer) => Tried::Answered(answer),
        }
    }

    /// Returns the context with the rules that the operation adds to its own. `EINVAL` if they
    /// contradict each other.
    pub(crate) fn by_rules<'c>(&self, context: &'c Context) -> Result<Cow<'c, Context>, Errno> {
        let more = self.resolve() - Resolve::CACHED;
        if more.is_empty() {
            return Ok(Cow::Borrowed(context));
        }
        let same_owner = context.clone().with_lock_owner(context.lock_owner());
        same_owner.with_resolve(context.resolve() | more).map(Cow::Owned)
    }

    /// Returns the caches' result; `None` for an operation that caches cannot answer.
    #[inline]
    fn ask(&mut self, cached: &Cached<'_>) -> Option<Result<Value, Errno>> {
        Some(match self {
            Op::Nop => Ok(Value::Done),
            Op::Statx { place, flags, mask, .. } => cached.statx_at(place.at(), place.path(), *flags, *mask).map(Value::Statx),
            Op::Access { place, want, flags, .. } => {
                cached.faccessat(place.at(), place.path(), *want, *flags).map(|()| Value::Done)
            }
            Op::Lookup { place, flags, .. } => cached.lookup_at(place.at(), place.path(), *flags).map(Value::Handle),
            Op::Readlink { place, .. } => link(cached, place).map(Value::Link),
            Op::Openat2 { place, how } => caught(|| cached.openat(place.at(), place.path(), *how))
                .unwrap_or(Err(Errno::EIO))
                .map(|file| Value::File(Arc::new(file))),
            Op::Read { file, buffer, offset: Offset::At(offset) } => {
                caught(|| read(file, buffer, *offset)).unwrap_or(Err(Errno::EIO)).map(Value::Read)
            }
            Op::ReadWith { file, buffer, offset: offset @ Offset::At(_), flags } if flags.contains(RwFlags::NOWAIT) => {
                let buffer = std::mem::take(buffer);
                caught(|| read_with(file, buffer, *offset, *flags)).unwrap_or(Err(Errno::EIO)).map(Value::Read)
            }
            Op::SetLease { lease, kind } => lease.set(*kind).map(|()| Value::Done),
            Op::LeaseBreak { lease } => match (lease.kind(), lease.broken()) {
                (LockKind::Unlock, _) => Ok(Value::Break(LockKind::Unlock)),
                (_, broken) => broken.map(Value::Break).ok_or(Errno::EAGAIN),
            },
            Op::Lock { file, lock, kind, .. } => {
                caught(|| crate::lock::set(file, *lock, *kind, LockWait::No)).unwrap_or(Err(Errno::EIO))
            }
            Op::PollEvents { subscription } => {
                if subscription.is_ready() {
                    Ok(Value::Done)
                } else {
                    Err(Errno::EAGAIN)
                }
            }
            // A single one of these is handled by the ring itself. These are linked.
            Op::Timeout { .. } | Op::LinkTimeout { .. } | Op::Cancel { .. } => Err(Errno::EINVAL),
            _ => return None,
        })
    }

    /// Returns whether an `EAGAIN` is its own answer: it is a request that is not to wait.
    fn is_at_once(&self) -> bool {
        match self {
            Op::Lock { wait, .. } => *wait == LockWait::No,
            Op::ReadWith { flags, .. } => flags.contains(RwFlags::NOWAIT),
            Op::SetLease { .. } => true,
            _ => false,
        }
    }

    /// Returns the path that is looked up in the caches, if the operation is a lookup of one.
    pub(crate) fn looked_up(&self) -> Option<&Place<'_>> {
        match self {
            Op::Statx { place, .. }
            | Op::Access { place, .. }
            | Op::Lookup { place, .. }
            | Op::Readlink { place, .. }
            | Op::Openat2 { place, .. } => Some(place),
            _ => None,
        }
    }

    /// Returns whether the operation accepts only the caches' answer.
    pub(crate) fn is_cached_only(&self, context: &Context) -> bool {
        let own = if let Op::Openat2 { how, .. } = self { how.resolve } else { self.resolve() };
        (own | context.resolve()).contains(Resolve::CACHED)
    }

    /// Returns the rules for the path of an operation. Opens have their own.
    fn resolve(&self) -> Resolve {
        match self {
            Op::Statx { resolve, .. }
            | Op::Access { resolve, .. }
            | Op::Readlink { resolve, .. }
            | Op::Lookup { resolve, .. } => *resolve,
            _ => Resolve::empty(),
        }
    }
}

/// Fills the buffer, and takes it. `EAGAIN` if not all of the available data is at hand.
fn read(file: &File, buffer: &mut Vec<u8>, offset: u64) -> Result<Vec<u8>, Errno> {
    let (mut length, most) = (0, buffer.len().min(RW_MAX));
    loop {
        // The first call gets the whole buffer, because it checks the range.
        let end = if length == 0 { buffer.len() } else { most };
        match file.try_read_at(&mut buffer[length..end], offset + length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            // Ends as a single call would.
            Err(errno) if errno != Errno::EAGAIN && length > 0 => break,
            Err(errno) => return Err(errno),
        }
        if length == most {
            break;
        }
    }
    let mut buffer = std::mem::take(buffer);
    buffer.truncate(length);
    Ok(buffer)
}

/// Returns the body of a link. Most bodies are short, and clearing a long buffer takes long.
fn link(cached: &Cached<'_>, place: &Place<'_>) -> Result<Vec<u8>, Errno> {
    let mut short = [0; 256];
    let length = cached.readlinkat(place.at(), place.path(), &mut short)?;
    if length < short.len() {
        return Ok(short[..length].to_vec());
    }
    let mut long = vec![0; LINK_MAX];
    let length = cached.readlinkat(place.at(), place.path(), &mut long)?;
    long.truncate(length);
    Ok(long)
}
