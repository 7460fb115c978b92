//! Whether something was changed on the host since it was last put on stable storage.
//!
//! What always holds: a change that has ended is on stable storage, or it is noted here. A sync
//! takes the note away before it begins, so that a change which ends meanwhile is noted again.

use std::sync::atomic::{AtomicBool, Ordering};

use pathwalk::Errno;

/// Whether the whole file system of the root is synced when nothing of a [`HostFs`](crate::HostFs)
/// is mounted any more.
///
/// ```
/// use pathwalk::Vfs;
/// use pathwalk_hostfs::{HostFs, SyncAtEnd, credentials};
/// let scratch = tempfile::tempdir()?;
/// let fs = HostFs::open_writable(scratch.path())?.with_sync_at_end(SyncAtEnd::Never);
/// let context = Vfs::builder().build(fs)?.context(credentials()?);
/// context.write("/file", "of no use after a loss of power")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SyncAtEnd {
    /// It is, if something was changed through this since it was synced last.
    #[default]
    IfChanged,
    /// It is not, as of overlayfs with the option `volatile`.
    Never,
}

/// The note that something was changed.
#[derive(Debug, Default)]
pub(crate) struct Changed(AtomicBool);

/// A change that is under way. It is noted when this is dropped, whether it was made or not.
pub(crate) struct Changing<'a>(&'a Changed);

impl Changed {
    pub(crate) fn begin(&self) -> Changing<'_> {
        Changing(self)
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Calls `sync`, which puts all that was changed on stable storage.
    pub(crate) fn synced(&self, sync: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
        let was_set = self.0.swap(false, Ordering::AcqRel);
        let done = sync();
        if done.is_err() && was_set {
            self.set();
        }
        done
    }

    fn set(&self) {
        // A look first could see what a sync is about to take away.
        self.0.store(true, Ordering::Release);
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_noted_until_it_is_synced() {
        let changed = Changed::default();
        assert!(!changed.is_set());
        drop(changed.begin());
        assert!(changed.is_set());
        assert_eq!(changed.synced(|| Err(Errno::EIO)), Err(Errno::EIO));
        assert!(changed.is_set(), "it is not on the disk");
        assert_eq!(changed.synced(|| Ok(())), Ok(()));
        assert!(!changed.is_set());
    }

    #[test]
    fn a_change_that_ends_during_a_sync_is_noted() {
        let changed = Changed::default();
        let change = changed.begin();
        let ended = changed.synced(|| {
            drop(change);
            Ok(())
        });
        assert_eq!(ended, Ok(()));
        assert!(changed.is_set());
    }
}
