//! An entry of the submission queue: what is to be done, how, and what its completion is known by.

use std::borrow::Cow;

use bitflags::bitflags;
use pathwalk::{AsPath, At, Handle};

use crate::Op;

bitflags! {
    /// How an entry is taken. Source: the `IOSQE_*` flags of `io_uring_enter(2)`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct EntryFlags: u8 {
        /// `IOSQE_IO_LINK`: the next entry of this submission starts when this one has succeeded. If it fails, or reads or writes less than it
        /// was to, all entries of the chain behind it complete with `ECANCELED`.
        const LINK = 4;
        /// `IOSQE_IO_HARDLINK`: the same, but the next entry starts also if this one fails.
        const HARDLINK = 8;
        /// `IOSQE_ASYNC`: it goes to a worker at once, and the caches are not tried.
        const ASYNC = 16;
    }
}

impl EntryFlags {
    pub(crate) fn links(self) -> bool {
        self.intersects(EntryFlags::LINK | EntryFlags::HARDLINK)
    }
}

/// One entry of a submission. Paths may be borrowed: they are copied only if a worker has to go on with them, as the kernel copies them.
#[derive(Clone, Debug)]
pub struct Entry<'p> {
    /// What is to be done.
    pub op: Op<'p>,
    /// How.
    pub flags: EntryFlags,
    /// Comes back with the completion; need not be unique.
    pub user_data: u64,
}

impl<'p> Entry<'p> {
    /// An entry without flags.
    pub fn new(user_data: u64, op: Op<'p>) -> Entry<'p> {
        Entry { op, flags: EntryFlags::empty(), user_data }
    }

    /// The same with these flags as well.
    #[must_use]
    pub fn with(mut self, flags: EntryFlags) -> Entry<'p> {
        self.flags |= flags;
        self
    }

    /// The same, borrowing nothing.
    pub fn into_owned(self) -> Entry<'static> {
        Entry { op: self.op.into_owned(), flags: self.flags, user_data: self.user_data }
    }
}

/// A path and where it starts: a descriptor and a path of the `*at` calls.
#[derive(Clone, Debug)]
pub struct Place<'p> {
    start: Option<Cow<'p, Handle>>,
    path: Cow<'p, [u8]>,
}

impl<'p> Place<'p> {
    /// A path from a starting point. From [`At::Cwd`]: the working directory of the ring's context.
    pub fn new<P: AsPath + ?Sized>(at: At<'p>, path: &'p P) -> Place<'p> {
        let start = match at {
            At::Cwd => None,
            At::Handle(handle) => Some(Cow::Borrowed(handle)),
        };
        Place { start, path: Cow::Borrowed(path.path_bytes()) }
    }

    /// Where it starts.
    pub fn at(&self) -> At<'_> {
        self.start.as_deref().map_or(At::Cwd, At::Handle)
    }

    /// The path.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// The handle that it starts from, if it owns that.
    pub(crate) fn into_start(self) -> Option<Handle> {
        match self.start {
            Some(Cow::Owned(handle)) => Some(handle),
            Some(Cow::Borrowed(_)) | None => None,
        }
    }

    /// The same, borrowing nothing. Cost: a copy of the path, and a pin on the handle.
    pub fn into_owned(self) -> Place<'static> {
        Place { start: self.start.map(|start| Cow::Owned(start.into_owned())), path: Cow::Owned(self.path.into_owned()) }
    }
}

/// From the working directory of the ring's context.
impl<'p, P: AsPath + ?Sized> From<&'p P> for Place<'p> {
    fn from(path: &'p P) -> Place<'p> {
        Place::new(At::Cwd, path)
    }
}
