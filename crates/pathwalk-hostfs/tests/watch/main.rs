//! Tests of the mode `Watch`: another process changes the tree, and a `Vfs` in this one answers as
//! the kernel does once it has caught up.
//!
//! `PATHWALK_WATCH_ROUNDS=1000` has the fuzzer run more rounds, `PATHWALK_WATCH_CHANGES=100000`
//! measures the latency of more changes, `PATHWALK_WATCH_SEED=7` chooses the first seed.

#[path = "../common/mod.rs"]
mod common;

mod child;
mod compare;
mod fuzz;
mod kinds;
mod limits;
mod mounts;
mod outside;
mod promises;

use std::path::Path;
use std::sync::{Arc, Mutex};

use pathwalk::{Context, Credentials, Vfs};
use pathwalk_hostfs::{Coherence, HostFs, WatchBy, WatchEvent};

/// A tree that is watched.
pub(crate) struct Watched {
    pub(crate) fs: Arc<HostFs>,
    pub(crate) context: Context,
    /// The events that were observed.
    pub(crate) log: Arc<Mutex<Vec<WatchEvent>>>,
    /// The reader of events waits for this lock after each.
    pub(crate) gate: Arc<Mutex<()>>,
}

impl Watched {
    /// Returns what a failed comparison shows.
    pub(crate) fn state(&self) -> String {
        format!("{:?}, events {:#?}", self.fs.watch_stats(), self.log.lock().unwrap())
    }
}

/// Watches a tree by these means, with caches of this size.
pub(crate) fn watched(fs: HostFs, by: WatchBy, budget: u64) -> Watched {
    let (log, gate) = (Arc::<Mutex<Vec<WatchEvent>>>::default(), Arc::<Mutex<()>>::default());
    let (keep, wait) = (Arc::clone(&log), Arc::clone(&gate));
    let fs = fs.with_coherence(Coherence::Watch).with_watch_by(by).on_watch_event(move |event| {
        drop(wait.lock());
        keep.lock().unwrap().push(event.clone());
    });
    let fs = Arc::new(fs);
    let vfs = Vfs::builder().budget(budget).build(Arc::clone(&fs)).unwrap();
    let context = vfs.context(Credentials::root());
    Watched { fs, context, log, gate }
}

/// Runs a test by both means, each on a tree of its own, with a process that changes the tree.
pub(crate) fn by_both(test: &str, body: impl Fn(&Path, &Watched, &mut child::Child)) {
    for by in [WatchBy::Any, WatchBy::Inotify] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = child::Child::start(dir.path());
        let watched = watched(HostFs::open(dir.path()).unwrap(), by, 16 << 20);
        if by == WatchBy::Any && watched.fs.watch_stats().whole_mounts == 0 {
            pathwalk_tests::skipped(test, "fanotify watches no file system for this process");
            continue;
        }
        body(dir.path(), &watched, &mut child);
    }
}

/// Returns a number from the environment.
pub(crate) fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}
