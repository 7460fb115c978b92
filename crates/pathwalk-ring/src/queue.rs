//! The submission queue: entries that are prepared and not submitted.

use std::collections::VecDeque;

use pathwalk::{Context, Errno};

use crate::{Entry, EntryFlags};

/// Entries to be submitted together. Made by [`Ring::queue`](crate::Ring::queue), with the size for
/// which the ring was configured. It belongs to the caller, so entries may borrow their paths until
/// they are submitted. Source: the submission queue of `io_uring_setup(2)`.
///
/// [`Ring`](crate::Ring) has an example.
#[derive(Debug)]
pub struct SubmissionQueue<'p> {
    entries: VecDeque<Entry<'p>>,
    places: usize,
}

/// An entry for which there was no place: submit, and push it again.
///
/// ```
/// use pathwalk::{Credentials, Errno, Vfs};
/// use pathwalk_ring::{Entry, Op, Ring};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let ring = Ring::builder(context).entries(1).build();
/// let mut queue = ring.queue();
/// queue.push(Entry::new(1, Op::Nop)).map_err(Errno::from)?;
/// let full = queue.push(Entry::new(2, Op::Nop)).unwrap_err();
/// assert_eq!(full.0.user_data, 2, "the entry comes back");
/// assert_eq!(Errno::from(full), Errno::EBUSY);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Full<'p>(pub Entry<'p>);

impl std::fmt::Display for Full<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "entry {} does not fit into the submission queue, which is full: submit first", self.0.user_data)
    }
}

impl std::error::Error for Full<'_> {}

/// Converts to `EBUSY`.
impl From<Full<'_>> for Errno {
    fn from(_: Full<'_>) -> Errno {
        Errno::EBUSY
    }
}

impl<'p> SubmissionQueue<'p> {
    pub(crate) fn new(places: usize) -> SubmissionQueue<'p> {
        SubmissionQueue { entries: VecDeque::with_capacity(places.min(64)), places }
    }

    /// Adds an entry behind the others, or returns it if there is no place.
    ///
    /// [`Ring`](crate::Ring) has an example.
    #[allow(
        clippy::result_large_err,
        reason = "the entry is the caller's, and a box would be an allocation where there is no room"
    )]
    pub fn push(&mut self, entry: Entry<'p>) -> Result<(), Full<'p>> {
        if self.entries.len() == self.places {
            return Err(Full(entry));
        }
        self.entries.push_back(entry);
        Ok(())
    }

    /// Returns the number of entries that wait to be submitted.
    ///
    /// [`Ring`](crate::Ring) has an example.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether no entry waits.
    ///
    /// [`Ring`](crate::Ring) has an example.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the number of linked entries at the front. The end of the queue ends a chain.
    pub(crate) fn chain(&self) -> usize {
        let links = self.entries.iter().take_while(|entry| entry.flags.links()).count();
        (links + 1).min(self.entries.len())
    }

    /// Reads the cache entries of the paths of at most `room` entries. Returns the number of
    /// entries considered. A single path has nothing to overlap with.
    pub(crate) fn read_ahead(&self, context: &Context, room: usize) -> usize {
        let entries = || self.entries.iter().take(room.min(Context::PREFETCHED));
        let places = || entries().filter_map(|entry| (!entry.flags.contains(EntryFlags::ASYNC)).then(|| entry.op.looked_up())?);
        if places().nth(1).is_some() {
            context.prefetch_at(places().map(|place| (place.at(), place.path())));
        }
        entries().len()
    }

    pub(crate) fn take(&mut self, entries: usize) -> impl Iterator<Item = Entry<'p>> {
        self.entries.drain(..entries)
    }
}
