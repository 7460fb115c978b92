//! An entry of the submission queue: the operation, its flags, and the value that identifies its
//! completion.

use std::borrow::Cow;

use bitflags::bitflags;
use pathwalk::{AsPath, At, Handle};

use crate::Op;

bitflags! {
    /// The treatment of an entry. Source: the `IOSQE_*` flags of `io_uring_enter(2)`.
    ///
    /// [`Entry`] has an example.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct EntryFlags: u8 {
        /// `IOSQE_IO_LINK`: the next entry of this submission starts when this one has succeeded.
        /// If this one fails, or reads or writes less than requested, all entries of the chain
        /// behind it complete with `ECANCELED`.
        const LINK = 4;
        /// `IOSQE_IO_HARDLINK`: the same, but the next entry starts also if this one fails.
        const HARDLINK = 8;
        /// `IOSQE_ASYNC`: the entry goes to a worker at once, and the caches are not tried.
        const ASYNC = 16;
    }
}

impl EntryFlags {
    pub(crate) fn links(self) -> bool {
        self.intersects(EntryFlags::LINK | EntryFlags::HARDLINK)
    }
}

/// One entry of a submission. Paths may be borrowed: they are copied only if the entry goes to a
/// worker, as the kernel copies them.
///
/// ```
/// use pathwalk::{At, Credentials, Errno, Vfs};
/// use pathwalk_ring::{Entry, EntryFlags, Op, Place, Ring};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.mkdir("/dir", 0o755)?;
/// let dir = context.lookup("/dir")?;
/// let place = Place::new(At::Handle(&dir), "sub");
/// assert!(matches!(place.at(), At::Handle(_)) && place.path() == b"sub");
///
/// // The second is made if the first was. An owned entry may outlive the paths.
/// let first = Entry::new(1, Op::Mkdirat { place: place.clone(), mode: 0o755 }).with(EntryFlags::LINK);
/// let second: Entry<'static> = Entry::new(2, Op::Mkdirat { place: "/dir/sub/below".into(), mode: 0o755 }).into_owned();
/// let mut ring = Ring::new(context);
/// let mut queue = ring.queue();
/// queue.push(first).map_err(Errno::from)?;
/// queue.push(second).map_err(Errno::from)?;
/// ring.submit(&mut queue)?;
/// ring.wait(2);
/// assert!(ring.reap().unwrap().result.is_ok() && ring.reap().unwrap().result.is_ok());
/// let owned: Place<'static> = place.into_owned();
/// assert!(matches!(Op::lookup(owned), Op::Lookup { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Entry<'p> {
    /// The operation.
    pub op: Op<'p>,
    /// The flags.
    pub flags: EntryFlags,
    /// A value that comes back with the completion. It need not be unique.
    pub user_data: u64,
}

impl<'p> Entry<'p> {
    /// Creates an entry without flags.
    pub fn new(user_data: u64, op: Op<'p>) -> Entry<'p> {
        Entry { op, flags: EntryFlags::empty(), user_data }
    }

    /// Returns this entry with these flags added.
    #[must_use]
    pub fn with(mut self, flags: EntryFlags) -> Entry<'p> {
        self.flags |= flags;
        self
    }

    /// Returns this entry, borrowing nothing.
    pub fn into_owned(self) -> Entry<'static> {
        Entry { op: self.op.into_owned(), flags: self.flags, user_data: self.user_data }
    }
}

/// A path and its starting point: the descriptor and the path of the `*at` calls.
///
/// [`Entry`] has an example.
#[derive(Clone, Debug)]
pub struct Place<'p> {
    start: Option<Cow<'p, Handle>>,
    path: Cow<'p, [u8]>,
}

impl<'p> Place<'p> {
    /// Creates a path from a starting point. [`At::Cwd`] is the working directory of the ring's
    /// context.
    ///
    /// [`Entry`] has an example.
    pub fn new<P: AsPath + ?Sized>(at: At<'p>, path: &'p P) -> Place<'p> {
        let start = match at {
            At::Cwd => None,
            At::Handle(handle) => Some(Cow::Borrowed(handle)),
        };
        Place { start, path: Cow::Borrowed(path.path_bytes()) }
    }

    /// Returns the starting point.
    ///
    /// [`Entry`] has an example.
    pub fn at(&self) -> At<'_> {
        self.start.as_deref().map_or(At::Cwd, At::Handle)
    }

    /// Returns the path.
    ///
    /// [`Entry`] has an example.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// Returns the handle of the starting point, if it is owned.
    pub(crate) fn into_start(self) -> Option<Handle> {
        match self.start {
            Some(Cow::Owned(handle)) => Some(handle),
            Some(Cow::Borrowed(_)) | None => None,
        }
    }

    /// Returns this place, borrowing nothing. Cost: a copy of the path, and a pin on the handle.
    ///
    /// [`Entry`] has an example.
    pub fn into_owned(self) -> Place<'static> {
        Place { start: self.start.map(|start| Cow::Owned(start.into_owned())), path: Cow::Owned(self.path.into_owned()) }
    }
}

/// Creates a path from the working directory of the ring's context.
impl<'p, P: AsPath + ?Sized> From<&'p P> for Place<'p> {
    fn from(path: &'p P) -> Place<'p> {
        Place::new(At::Cwd, path)
    }
}
