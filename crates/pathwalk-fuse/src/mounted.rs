//! A tree that is mounted, as its owner holds it: what the kernel holds of it, and its end.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::device;
use crate::session::Session;

/// A mounted tree. It is unmounted when this is dropped.
///
/// [`mount`](crate::mount) has an example.
pub struct Mounted {
    pub(crate) session: Arc<Session>,
    pub(crate) at: PathBuf,
}

impl fmt::Debug for Mounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mounted").field("at", &self.at).field("pinned", &self.pinned()).finish_non_exhaustive()
    }
}

/// What the kernel holds of a mounted tree, and the engine with it.
///
/// [`mount`](crate::mount) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Pinned {
    /// The nodes that the kernel knows, without the root.
    pub nodes: u64,
    /// The lookups that it was answered with them, and has not forgotten.
    pub lookups: u64,
    /// The files and directories that are open. With [`Opens::Untold`](crate::Opens::Untold): those
    /// that are kept open for the next request.
    pub open_files: u64,
    /// The most nodes that it is to know: [`Options::pinned`](crate::Options::pinned).
    pub bound: u64,
    /// The number of times that it was asked to forget a node.
    pub asked_to_forget: u64,
}

impl Mounted {
    /// Returns the mount point, as an absolute path without links.
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// Returns what the kernel holds: nothing, once the mount has ended. The cost grows with the
    /// number of nodes.
    pub fn pinned(&self) -> Pinned {
        self.session.pinned()
    }

    /// Returns whether the kernel can be asked to forget nodes: since Linux 6.18.
    pub fn can_forget(&self) -> bool {
        self.session.notifier.can_forget()
    }

    /// Returns the number of notices that the kernel was sent: what changed by others, and what to
    /// forget.
    pub fn notices(&self) -> u64 {
        self.session.notifier.sent()
    }

    /// Waits until it is unmounted, by [`unmount`](Self::unmount) in another thread or by
    /// `umount(8)`.
    pub fn wait(&self) {
        self.session.wait();
    }

    /// Waits as long at most, and returns whether it is unmounted: for a program that has something
    /// else to do now and then.
    pub fn wait_for(&self, most: Duration) -> bool {
        self.session.wait_for(most)
    }

    /// Unmounts, and waits until all requests were answered. While programs use the mount, it goes
    /// from its place at once, and stays with them until they have finished.
    ///
    /// The errors are those of `umount2(2)`. It is none if it was unmounted before.
    pub fn unmount(self) -> std::io::Result<()> {
        self.detach()?;
        self.wait();
        Ok(())
    }

    /// Unmounts as [`unmount`](Self::unmount) does, and does not wait.
    ///
    /// ```no_run
    /// # let context = pathwalk::Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(pathwalk::Credentials::root());
    /// let mounted = pathwalk_fuse::mount(&context, "/mnt", &pathwalk_fuse::Options::default())?;
    /// mounted.detach()?;
    /// mounted.wait();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn detach(&self) -> std::io::Result<()> {
        if self.session.has_ended() {
            return Ok(());
        }
        Ok(device::detach(&self.at)?)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // What it fails with is told by `unmount`.
        let _ = self.detach();
    }
}
