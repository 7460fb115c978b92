//! The files and directories that the kernel opens without a message: see [`Opens::Untold`].
//!
//! A request then names a node and no open file. The file is opened when a request needs it, and
//! kept for the next one. It is closed when it was not used for some time, when there are too many
//! that were used later, or when the kernel has forgotten the node.
//!
//! What always holds: a file that is kept is of a node that the kernel knows, or is about to be
//! told of. A file that a request uses stays open until the request is served.
//!
//! What it does not do: check rights. The kernel has checked them when a program opened the file.
//!
//! [`Opens::Untold`]: crate::Opens::Untold

use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use pathwalk::OpenFlags;
use rustix::fs::{Mode, OFlags, open, openat};

use crate::opened::Opened;

/// Has the kernel learn that opens need no message, which it does by its first one. Until then it
/// tells of each file that was created when that is closed.
pub(crate) fn teach(root: impl AsFd) -> std::io::Result<()> {
    // The file has no name. What fails here is left to the first open by a program.
    let made = openat(root, ".", OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR)?;
    open(format!("/proc/self/fd/{}", made.as_raw_fd()), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(())
}

/// Does the same on a mount point.
pub(crate) fn teach_at(at: &Path) -> std::io::Result<()> {
    teach(open(at, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

/// The number of parts, each behind a lock of its own, which is held for one search.
const SHARDS: u64 = 16;

/// The most files that one part keeps.
const MOST: usize = 16;

/// How long a file is kept at least that is not used, and half of how long at most.
const UNUSED: Duration = Duration::from_secs(1);

/// A file that is kept, with what it was opened for.
struct Kept {
    node: u64,
    flags: OpenFlags,
    opened: Arc<Opened>,
    /// Whether a request used it since the last time that unused ones were closed.
    is_used: bool,
}

/// The files and directories that are kept.
#[derive(Default)]
pub(crate) struct Untold {
    /// Those of each part, the one that was used last at the front.
    shards: [Mutex<VecDeque<Kept>>; SHARDS as usize],
    /// Whether the thread that closes looks around without being rung for. `SeqCst`: cleared before
    /// the thread counts the files, and set behind a file that is kept.
    looks: AtomicBool,
    /// Whether nothing is mounted any more.
    ends: Mutex<bool>,
    /// Told when `ends` is set, or when there is a file while the thread sleeps.
    bell: Condvar,
}

impl Untold {
    /// Returns the file of a node that was opened with these flags, if it is kept.
    pub(crate) fn get(&self, node: u64, flags: OpenFlags) -> Option<Arc<Opened>> {
        let mut shard = self.shard(node).lock();
        let place = shard.iter().position(|kept| kept.node == node && kept.flags == flags)?;
        if place > 0 {
            let kept = shard.remove(place)?;
            shard.push_front(kept);
        }
        let kept = shard.front_mut()?;
        kept.is_used = true;
        Some(Arc::clone(&kept.opened))
    }

    /// Keeps a file, in the place of an earlier one that was opened for the same.
    pub(crate) fn keep(&self, node: u64, flags: OpenFlags, opened: Arc<Opened>) {
        let mut shard = self.shard(node).lock();
        let same = shard.iter().position(|kept| kept.node == node && kept.flags == flags);
        let gone = match same {
            Some(place) => shard.remove(place),
            None if shard.len() == MOST => shard.pop_back(),
            None => None,
        };
        shard.push_front(Kept { node, flags, opened, is_used: true });
        drop(shard);
        // What a close does takes time.
        drop(gone);
        if !self.looks.swap(true, Ordering::SeqCst) {
            // The thread has the lock from its look to its sleep.
            let _ends = self.ends.lock();
            self.bell.notify_one();
        }
    }

    /// Closes the files of a node that the kernel has forgotten.
    pub(crate) fn forget(&self, node: u64) {
        let mut gone = Vec::new();
        let mut shard = self.shard(node).lock();
        while let Some(place) = shard.iter().position(|kept| kept.node == node) {
            gone.extend(shard.remove(place));
        }
        drop(shard);
        drop(gone);
    }

    /// Starts the thread that closes what is not used.
    pub(crate) fn start(untold: &Arc<Untold>) -> std::io::Result<()> {
        let own = Arc::clone(untold);
        thread::Builder::new().name("pathwalk-close".into()).spawn(move || own.run()).map(drop)
    }

    fn run(&self) {
        let mut ends = self.ends.lock();
        while !*ends {
            self.looks.store(false, Ordering::SeqCst);
            if self.count() == 0 {
                self.bell.wait(&mut ends);
            } else {
                self.looks.store(true, Ordering::SeqCst);
                self.bell.wait_for(&mut ends, UNUSED);
            }
            MutexGuard::unlocked(&mut ends, || self.close_unused());
        }
    }

    fn close_unused(&self) {
        for shard in &self.shards {
            let mut unused = Vec::new();
            let mut shard = shard.lock();
            shard.retain_mut(|kept| {
                let is_used = std::mem::take(&mut kept.is_used);
                if !is_used {
                    unused.push(Arc::clone(&kept.opened));
                }
                is_used
            });
            drop(shard);
            drop(unused);
        }
    }

    /// Closes all, and ends the thread: nothing is mounted any more.
    pub(crate) fn clear(&self) {
        *self.ends.lock() = true;
        self.bell.notify_one();
        for shard in &self.shards {
            let all = std::mem::take(&mut *shard.lock());
            drop(all);
        }
    }

    /// Returns the number of files that are kept.
    pub(crate) fn count(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().len() as u64).sum()
    }

    fn shard(&self, node: u64) -> &Mutex<VecDeque<Kept>> {
        // The numbers of nodes are spread by their lower bits.
        &self.shards[(node % SHARDS) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathwalk::{Context, Credentials, Vfs};

    fn open(context: &Context, flags: OpenFlags) -> Arc<Opened> {
        Arc::new(Opened::new(context.open("/a", flags).unwrap()).unwrap())
    }

    #[test]
    fn what_was_not_used_for_longest_is_closed() {
        let context = Vfs::builder().build(pathwalk_memfs::MemFs::new()).unwrap().context(Credentials::root());
        context.write("/a", "").unwrap();
        let (untold, read, write) = (Untold::default(), OpenFlags::READ, OpenFlags::WRITE);
        let first = open(&context, read);
        untold.keep(1, read, Arc::clone(&first));
        untold.keep(1, write, open(&context, write));
        assert!(Arc::ptr_eq(&untold.get(1, read).unwrap(), &first) && untold.get(1, read | OpenFlags::NOATIME).is_none());
        // The other nodes of the same part; the file that is read is used in between.
        for node in 1..MOST as u64 {
            untold.keep(1 + node * SHARDS, read, open(&context, read));
            assert!(untold.get(1, read).is_some());
        }
        assert_eq!((untold.get(1, write).is_none(), untold.count()), (true, MOST as u64));
        untold.keep(1, read, open(&context, read));
        assert_eq!((Arc::ptr_eq(&untold.get(1, read).unwrap(), &first), untold.count()), (false, MOST as u64));
        untold.forget(1);
        assert_eq!((untold.get(1, read).is_none(), untold.count()), (true, MOST as u64 - 1));
        untold.clear();
        assert_eq!((untold.count(), Arc::strong_count(&first)), (0, 1));
    }

    #[test]
    fn what_is_not_used_is_closed() {
        let context = Vfs::builder().build(pathwalk_memfs::MemFs::new()).unwrap().context(Credentials::root());
        context.write("/a", "").unwrap();
        let (untold, read) = (Arc::<Untold>::default(), OpenFlags::READ);
        Untold::start(&untold).unwrap();
        for _ in 0..2 {
            untold.keep(1, read, open(&context, read));
            let begun = std::time::Instant::now();
            while untold.count() > 0 {
                assert!(begun.elapsed() < Duration::from_secs(30));
                thread::sleep(Duration::from_millis(10));
            }
        }
        untold.clear();
        while Arc::strong_count(&untold) > 1 {
            thread::sleep(Duration::from_millis(10));
        }
    }
}
