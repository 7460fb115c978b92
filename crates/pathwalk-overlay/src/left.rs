//! The new files of a layer that was taken, which a commit onto the base uses up.
//!
//! What always holds: a file is given only if it is still as the branch has it. It keeps its name
//! in the layer until the commit is sure to be made. No link is followed, and nothing outside the
//! layer and the base is reached.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pathwalk::{Attributes, Handle};
use pathwalk_branch::Spares;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, linkat, openat, openat2, unlinkat};
use rustix::io;

use crate::error::Error;
use crate::layer::UPPER;
use crate::upper;

/// The new files of a layer, which a branch has copied.
///
/// [`LeftFiles`] has an example.
#[derive(Debug, Default)]
pub struct Left {
    /// The directories, by their paths from the root of the layer.
    dirs: Vec<Box<[u8]>>,
    /// The directory and the name of each, by its number in the branch.
    files: HashMap<u64, (usize, Box<[u8]>)>,
}

impl Left {
    /// Adds a file in a directory.
    pub(crate) fn add(&mut self, dir: &[u8], name: &[u8], number: u64) {
        let dir = dir.strip_prefix(b"/").unwrap_or(dir);
        if self.dirs.last().is_none_or(|last| **last != *dir) {
            self.dirs.push(dir.into());
        }
        self.files.insert(number, (self.dirs.len() - 1, name.into()));
    }

    /// Opens the directory of the layer, where that is by now, and the base.
    pub fn open(self, layer: &Path, base: &Path) -> Result<LeftFiles, Error> {
        let open = |path: &Path| {
            let opened = openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
            opened.map_err(Error::host("open", path))
        };
        let (from, to) = (Place::new(open(&layer.join(UPPER))?), Place::new(open(base)?));
        Ok(LeftFiles { left: self, from, to, given: Mutex::default(), is_elsewhere: AtomicBool::new(false) })
    }
}

/// The new files of a layer, which a commit gives names in the base.
///
/// ```
/// use std::path::Path;
/// use std::sync::Arc;
/// use pathwalk_branch::Branches;
/// use pathwalk_overlay::{Error, Layer, Taking};
///
/// /// Takes a layer of which nothing is needed afterwards.
/// fn take(taking: Taking, layer: &Layer, dir: &Path, base: &Path, branches: &Branches) -> Result<(), Error> {
///     let left = taking.take()?;
///     layer.rename(dir)?;
///     branches.use_up(Arc::new(left.open(dir, base)?));
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct LeftFiles {
    left: Left,
    from: Place,
    to: Place,
    /// The numbers in the branch of those that were given.
    given: Mutex<Vec<u64>>,
    /// Set once a link was refused since the layer is not on the base's file system.
    is_elsewhere: AtomicBool,
}

impl Spares for LeftFiles {
    fn give(&self, node: u64, attributes: &Attributes, directory: &Handle, name: &[u8]) -> bool {
        let Some((dir, file)) = self.left.files.get(&node) else { return false };
        // Relaxed: a link that is tried in vain does no harm.
        if self.is_elsewhere.load(Relaxed) {
            return false;
        }
        let Ok(path) = directory.path() else { return false };
        let linked = self.from.within(&self.left.dirs[*dir], |from| {
            upper::check_still(from, file, attributes).map_err(|_| io::Errno::STALE)?;
            let path = path.strip_prefix(b"/").unwrap_or(&path);
            self.to.within(path, |to| linkat(from, &**file, to, name, AtFlags::empty()))
        });
        if linked == Err(io::Errno::XDEV) {
            self.is_elsewhere.store(true, Relaxed);
        }
        lock(&self.given).extend(linked.is_ok().then_some(node));
        linked.is_ok()
    }

    fn leave(&self) {
        for node in std::mem::take(&mut *lock(&self.given)) {
            let (dir, file) = &self.left.files[&node];
            // It goes with the layer else.
            _ = self.from.within(&self.left.dirs[*dir], |from| unlinkat(from, &**file, AtFlags::empty()));
        }
    }
}

/// Locks a mutex, also after a panic under it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A directory, and the one below it that was opened last.
#[derive(Debug)]
pub(crate) struct Place {
    root: OwnedFd,
    last: Mutex<Option<(Box<[u8]>, OwnedFd)>>,
}

impl Place {
    pub(crate) fn new(root: OwnedFd) -> Place {
        Place { root, last: Mutex::new(None) }
    }

    /// Passes the directory at a path below to `each`.
    pub(crate) fn within<T>(&self, path: &[u8], each: impl FnOnce(&OwnedFd) -> io::Result<T>) -> io::Result<T> {
        let mut last = lock(&self.last);
        let opened = match last.take().filter(|(of, _)| **of == *path) {
            Some((_, opened)) => opened,
            None => {
                let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let path = if path.is_empty() { b"." } else { path };
                openat2(&self.root, path, flags, Mode::empty(), beneath)?
            }
        };
        each(&last.insert((path.into(), opened)).1)
    }
}
