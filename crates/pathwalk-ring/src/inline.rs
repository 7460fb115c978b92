//! What the caches can answer where the entry is submitted, without waiting for anything.
//!
//! Nobody else decides whether an entry goes to a worker: not the kind of file system, and not what the answer would be.

use std::borrow::Cow;
use std::sync::Arc;

use pathwalk::limits::{LINK_MAX, RW_MAX};
use pathwalk::{Cached, Context, Errno, File, MissingName, Resolve};

use crate::foreign::caught;
use crate::{Offset, Op, Place, Value};

/// What became of a try.
pub(crate) enum Tried {
    Answered(Result<Value, Errno>),
    /// A worker has to go on; the name that is missing, if it is a name.
    Punted(Option<MissingName>),
}

impl Op<'_> {
    /// Tries the caches. What is answered may be used up.
    pub(crate) fn try_cached(&mut self, context: &Context) -> Tried {
        let context = match self.by_rules(context) {
            Ok(context) => context,
            Err(errno) => return Tried::Answered(Err(errno)),
        };
        let cached = context.cached();
        match self.ask(&cached) {
            None => Tried::Punted(None),
            Some(Err(Errno::EAGAIN)) if !self.is_cached_only(&context) => Tried::Punted(cached.missing()),
            Some(answer) => Tried::Answered(answer),
        }
    }

    /// Returns the context with the rules that the operation adds to its own. `EINVAL` if they make no sense.
    pub(crate) fn by_rules<'c>(&self, context: &'c Context) -> Result<Cow<'c, Context>, Errno> {
        let more = self.resolve() - Resolve::CACHED;
        if more.is_empty() {
            return Ok(Cow::Borrowed(context));
        }
        context.clone().with_resolve(context.resolve() | more).map(Cow::Owned)
    }

    /// `None`: nothing that caches could answer.
    #[inline]
    fn ask(&mut self, cached: &Cached<'_>) -> Option<Result<Value, Errno>> {
        Some(match self {
            Op::Nop => Ok(Value::Done),
            Op::Statx { place, flags, mask, .. } => cached.statx(place.at(), place.path(), *flags, *mask).map(Value::Statx),
            Op::Access { place, want, flags, .. } => cached.access(place.at(), place.path(), *want, *flags).map(|()| Value::Done),
            Op::Lookup { place, flags, .. } => cached.lookup(place.at(), place.path(), *flags).map(Value::Handle),
            Op::Readlink { place, .. } => link(cached, place).map(Value::Link),
            Op::Openat2 { place, how } => caught(|| cached.open(place.at(), place.path(), how))
                .unwrap_or(Err(Errno::EIO))
                .map(|file| Value::File(Arc::new(file))),
            Op::Read { file, buffer, offset: Offset::At(offset) } => {
                caught(|| read(file, buffer, *offset)).unwrap_or(Err(Errno::EIO)).map(Value::Read)
            }
            // Alone they are the ring's own; these are linked.
            Op::Timeout { .. } | Op::LinkTimeout { .. } | Op::Cancel { .. } => Err(Errno::EINVAL),
            _ => return None,
        })
    }

    /// Returns the path that the caches are asked about, if it is a lookup of one.
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

    /// Returns whether the caches' answer is wanted, or none.
    pub(crate) fn is_cached_only(&self, context: &Context) -> bool {
        let own = if let Op::Openat2 { how, .. } = self { how.resolve } else { self.resolve() };
        (own | context.resolve()).contains(Resolve::CACHED)
    }

    /// Returns the rules for the path of an operation that is none of opening, which has its own.
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

/// Fills the buffer, and takes it, or `EAGAIN` if not all of what there is for it is at hand.
fn read(file: &File, buffer: &mut Vec<u8>, offset: u64) -> Result<Vec<u8>, Errno> {
    let (mut length, most) = (0, buffer.len().min(RW_MAX));
    loop {
        // The first call is told of all of the buffer: it says whether the range is one.
        let end = if length == 0 { buffer.len() } else { most };
        match file.try_read_at(&mut buffer[length..end], offset + length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            // As a single call would end.
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

/// The body of a link. Most are short, and a long buffer is long to clear.
fn link(cached: &Cached<'_>, place: &Place<'_>) -> Result<Vec<u8>, Errno> {
    let mut short = [0; 256];
    let length = cached.readlink(place.at(), place.path(), &mut short)?;
    if length < short.len() {
        return Ok(short[..length].to_vec());
    }
    let mut long = vec![0; LINK_MAX];
    let length = cached.readlink(place.at(), place.path(), &mut long)?;
    long.truncate(length);
    Ok(long)
}
