//! Forks that are begun: the caller goes on while the disk is waited for.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;

use super::{Branch, Branches, check_name};
use crate::error::Error;

/// A fork that is begun. Dropping it waits for its end.
///
/// [`Branches::begin_fork`] has an example.
#[derive(Debug)]
pub struct Fork(State);

#[derive(Debug)]
enum State {
    /// It was made at once.
    Made(Branch),
    /// `None` once it was waited for.
    Begun(Option<JoinHandle<Result<Branch, Error>>>),
}

impl Branches {
    /// Begins to [`fork`](Self::fork) a branch: returns once it is sure that the name is that of the
    /// new branch, and leaves the wait for the disk to a thread. After a crash until its end, there
    /// is a branch or none.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::{Branches, DiskStore, Error, Options};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # let dir = tempfile::tempdir()?;
    /// # let dir = dir.path();
    /// let base = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let branches = Branches::open(base, Options::default(), DiskStore::open(dir)?)?;
    /// let fork = branches.begin_fork(None, "work")?;
    /// // Something else, and then:
    /// let work = fork.wait()?;
    /// assert!(matches!(branches.begin_fork(None, "work"), Err(Error::Exists(_))));
    /// # drop(work);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin_fork(&self, parent: Option<&str>, name: &str) -> Result<Fork, Error> {
        let Some(stored) = &self.shared.stored else { return self.fork(parent, name).map(Fork::from) };
        check_name(name)?;
        // Without a thread, where it is easily seen.
        if stored.has(name)? {
            return Err(Error::Exists(name.to_owned()));
        }
        let (stored, shared) = (Arc::clone(stored), Arc::clone(&self.shared));
        let (parent, name) = (parent.map(str::to_owned), name.to_owned());
        let (tell, told) = mpsc::channel();
        let fork = move || {
            let mut decided = || _ = tell.send(());
            stored.fork_and_tell(&shared, parent.as_deref(), &name, &mut decided)?;
            stored.get(&shared, &name)
        };
        let thread = std::thread::Builder::new().name("fork".into()).spawn(fork);
        let begun = Fork(State::Begun(Some(
            thread.map_err(|_| Error::Store { action: "store the fork", errno: pathwalk::Errno::EAGAIN })?,
        )));
        // Without a word, it has failed or is over.
        if told.recv().is_ok() { Ok(begun) } else { begun.wait().map(Fork::from) }
    }
}

impl From<Branch> for Fork {
    /// Returns one that has ended.
    fn from(branch: Branch) -> Fork {
        Fork(State::Made(branch))
    }
}

impl Fork {
    /// Waits until the fork is durable, and returns it.
    ///
    /// [`Branches::begin_fork`] has an example.
    pub fn wait(mut self) -> Result<Branch, Error> {
        match &mut self.0 {
            State::Made(branch) => Ok(branch.clone()),
            State::Begun(thread) => match thread.take().map(JoinHandle::join) {
                Some(Ok(result)) => result,
                // A panic there was printed.
                _ => Err(Error::Store { action: "store the fork", errno: pathwalk::Errno::EIO }),
            },
        }
    }
}

impl Drop for Fork {
    fn drop(&mut self) {
        if let State::Begun(thread) = &mut self.0 {
            _ = thread.take().map(JoinHandle::join);
        }
    }
}
