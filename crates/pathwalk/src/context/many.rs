//! Operations on many paths at once. Each result is that of a single operation, and the waits for
//! memory overlap.

use std::iter::FusedIterator;

use super::{AsPath, At, Cached, Context};
use crate::Errno;
use crate::attr::Attributes;
use crate::handle::Handle;
use crate::permission::Access;
use crate::walk::ahead::{self, Purpose};
use crate::walk::asker::Begin;
use crate::walk::{Env, Whose};

/// # Many paths at once
///
/// A lookup in a cache that is larger than the processor's waits for memory most of its time, and
/// single lookups wait one after the other. These operations take any number of paths, and read the
/// cache entries of the next 32 together, so that the waits overlap.
///
/// Each returns an iterator over the results, in the order of the paths. Each result is what the
/// single operation of the same name returns, with its errors, as of the moment at which it is
/// taken from the iterator. The path is looked up then, which blocks if the file system has to be
/// asked. Paths whose results are not taken are not looked up.
///
/// Cost in addition to that of the single operations: some 160 instructions for each component.
/// Nothing is allocated, locked or stored, and no file system is asked. As long as there were never
/// more than 131,072 names in the caches, nothing is read ahead, because they fit into a
/// processor's cache. In a larger cache of which little is used, these take up to twice as long as
/// single operations.
impl Context {
    /// Returns the results of [`access`](Self::access) for many paths. See [many paths at
    /// once](#many-paths-at-once).
    ///
    /// ```
    /// use pathwalk::{Access, Credentials, Errno, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.file("/motd", 0o644)?;
    /// let context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let paths = ["/motd", "/issue"];
    /// let found: Vec<_> = context.access_many(&paths, Access::READ).collect();
    /// assert_eq!(found, [Ok(()), Err(Errno::ENOENT)]);
    /// let answers = paths.iter().zip(context.access_many(&paths, Access::READ));
    /// assert_eq!(answers.filter(|(_, found)| found.is_ok()).count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn access_many<'a, P: AsPath>(
        &'a self,
        paths: &'a [P],
        want: Access,
    ) -> impl ExactSizeIterator<Item = Result<(), Errno>> + FusedIterator {
        Many::new(self, Purpose::Rights(want), paths, move |path| self.access(path, want))
    }

    /// Returns the results of [`stat`](Self::stat) for many paths. See [many paths at
    /// once](#many-paths-at-once).
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.file("/motd", 0o644)?;
    /// # fs.file("/hosts", 0o644)?;
    /// let context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let found = context.stat_many(&["/motd", "/hosts", "/issue"]).flatten();
    /// let bytes: u64 = found.map(|found| found.size).sum();
    /// assert_eq!(bytes, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stat_many<'a, P: AsPath>(
        &'a self,
        paths: &'a [P],
    ) -> impl ExactSizeIterator<Item = Result<Attributes, Errno>> + FusedIterator {
        Many::new(self, Purpose::Attributes, paths, |path| self.stat(path))
    }

    /// Returns the results of [`lookup`](Self::lookup) for many paths. See
    /// [many paths at once](#many-paths-at-once).
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.file("/motd", 0o644)?;
    /// # fs.file("/hosts", 0o644)?;
    /// let context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let handles = context.lookup_many(&["/motd", "/hosts"]).collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(handles.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lookup_many<'a, P: AsPath>(
        &'a self,
        paths: &'a [P],
    ) -> impl ExactSizeIterator<Item = Result<Handle, Errno>> + FusedIterator {
        Many::new(self, Purpose::Pin, paths, |path| self.lookup(path))
    }

    /// The maximum number of paths that [`prefetch`](Self::prefetch) reads ahead of: 32.
    pub const PREFETCHED: usize = ahead::MOST;

    /// Reads the cache entries of up to 32 paths, with attributes, so that operations on these
    /// paths that follow at once find them in the processor's own caches. Paths after the 32nd are
    /// ignored.
    ///
    /// A hint, for operations that have no form for [many paths](#many-paths-at-once): its cost,
    /// and when it does nothing, are described there. It returns nothing, never blocks, asks no
    /// file system, and stores nothing. Paths that would be refused are skipped.
    ///
    /// ```
    /// use pathwalk::{Credentials, OpenFlags, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.file("/motd", 0o644)?;
    /// # fs.file("/hosts", 0o644)?;
    /// let context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let paths = ["/motd", "/hosts"];
    /// context.prefetch(paths);
    /// for path in paths {
    ///     context.open(path, OpenFlags::READ)?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefetch<'p, P: AsPath + ?Sized + 'p>(&self, paths: impl IntoIterator<Item = &'p P>) {
        self.prefetch_at(paths.into_iter().map(|path| (At::Cwd, path)));
    }

    /// Does the same as [`prefetch`](Self::prefetch) for paths with starting points.
    pub fn prefetch_at<'p, P: AsPath + ?Sized + 'p>(&self, paths: impl IntoIterator<Item = (At<'p>, &'p P)>) {
        self.read_ahead(Purpose::Attributes, paths.into_iter().map(|(at, path)| (at, path.path_bytes())));
    }

    fn read_ahead<'p>(&self, purpose: Purpose, paths: impl Iterator<Item = (At<'p>, &'p [u8])>) {
        let env = Env::of(&self.asker, Whose::Effective, Begin::Cwd);
        if !ahead::pays(&env) {
            return;
        }
        let places = paths.filter_map(|(at, path)| match self.begin(at) {
            Begin::Cwd => Some((self.asker.cwd, path)),
            Begin::At(place) => Some((place, path)),
            Begin::Elsewhere => None,
        });
        ahead::read(&env, purpose, places);
    }
}

/// # Many paths at once
///
/// As [those of a context](Context#many-paths-at-once), answered by the caches alone. Where a
/// result is `EAGAIN`, [`missing`](Self::missing) returns its name until the next result is taken.
impl Cached<'_> {
    /// Returns the results of [`access`](Self::access) for many paths.
    pub fn access_many<'a, P: AsPath>(
        &'a self,
        paths: &'a [P],
        want: Access,
    ) -> impl ExactSizeIterator<Item = Result<(), Errno>> + FusedIterator {
        Many::new(self.context, Purpose::Rights(want), paths, move |path| self.access(path, want))
    }

    /// Returns the results of [`stat`](Self::stat) for many paths.
    pub fn stat_many<'a, P: AsPath>(
        &'a self,
        paths: &'a [P],
    ) -> impl ExactSizeIterator<Item = Result<Attributes, Errno>> + FusedIterator {
        Many::new(self.context, Purpose::Attributes, paths, |path| self.stat(path))
    }

    /// Returns the results of [`lookup`](Self::lookup) for many paths.
    pub fn lookup_many<'a, P: AsPath>(
        &'a self,
        paths: &'a [P],
    ) -> impl ExactSizeIterator<Item = Result<Handle, Errno>> + FusedIterator {
        Many::new(self.context, Purpose::Pin, paths, |path| self.lookup(path))
    }
}

/// The results of an operation on many paths. Each is computed when it is taken.
struct Many<'a, P, F> {
    context: &'a Context,
    purpose: Purpose,
    paths: std::slice::Iter<'a, P>,
    /// The number of paths left at which more are read ahead.
    left_at_next: usize,
    ask: F,
}

impl<'a, P: AsPath, T, F: FnMut(&'a P) -> T> Many<'a, P, F> {
    fn new(context: &'a Context, purpose: Purpose, paths: &'a [P], ask: F) -> Many<'a, P, F> {
        Many { context, purpose, paths: paths.iter(), left_at_next: paths.len(), ask }
    }

    /// Reads ahead of the next paths. A single path has nothing to overlap with.
    #[inline(never)]
    fn read_ahead(&mut self) {
        let paths = self.paths.as_slice();
        self.left_at_next = paths.len().saturating_sub(ahead::MOST);
        if paths.len() > 1 {
            self.context.read_ahead(self.purpose, paths.iter().map(|path| (At::Cwd, path.path_bytes())));
        }
    }
}

impl<'a, P: AsPath, T, F: FnMut(&'a P) -> T> Iterator for Many<'a, P, F> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.paths.len() == self.left_at_next {
            self.read_ahead();
        }
        self.paths.next().map(&mut self.ask)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.paths.size_hint()
    }
}

impl<'a, P: AsPath, T, F: FnMut(&'a P) -> T> ExactSizeIterator for Many<'a, P, F> {}

impl<'a, P: AsPath, T, F: FnMut(&'a P) -> T> FusedIterator for Many<'a, P, F> {}
