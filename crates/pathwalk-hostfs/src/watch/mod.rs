//! The mode [`Watch`](crate::Coherence::Watch): the kernel reports what other processes change, and
//! what is cached of it is asked for again.
//!
//! - [`event`]: what programs are told: events, counts, reasons;
//! - [`coverage`]: what is watched, and by which means;
//! - [`inotify`], [`fanotify`] with [`records`]: the two means;
//! - [`mounts`]: the mounts below the root, and how they change;
//! - [`drain`]: the queues are read, and events become reports to the caches;
//! - [`thread`]: the thread that waits for events.
//!
//! What always holds:
//! - A directory is watched before a name in it can be asked for, and its attributes are read after
//!   that. So a change is in the answer, or its event comes later.
//! - Events only invalidate: the kernel merges them, and they come late. None is taken for the
//!   state of the tree.
//! - Reports are made by one thread at a time, and under no lock that a method of the file system
//!   takes.
//! - Nothing is stored for a file that has one name.
//!
//! What it does not do: watch anything outside the root by inotify. Fanotify reports all that
//! happens in a file system; what is not known to the table of nodes is dropped.

pub(crate) mod coverage;
pub(crate) mod drain;
pub(crate) mod event;
pub(crate) mod fanotify;
mod inotify;
mod mounts;
mod records;
mod thread;

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use pathwalk::{Attributes, FileType, Freshness, Name, NodeKey, Notifier};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io;

use crate::beneath::Reached;
use crate::key;
use crate::tree::Tree;
use coverage::{Coverage, Covering, Handing};
use event::{WatchBy, WatchEvent, WatchStats};
use fanotify::{Begun, Fanotify};
use mounts::MountList;

/// The function that is called for each event.
pub(crate) type Observer = Arc<dyn Fn(&WatchEvent) + Send + Sync>;

/// What was chosen before the watch begins.
#[derive(Clone)]
pub(crate) struct Choice {
    pub(crate) by: WatchBy,
    /// The largest number of inotify watches.
    pub(crate) most: usize,
    pub(crate) observer: Option<Observer>,
}

impl Default for Choice {
    fn default() -> Choice {
        Choice { by: WatchBy::default(), most: usize::MAX, observer: None }
    }
}

/// A report to the caches.
#[derive(Clone, Copy)]
enum Report<'a> {
    Name(NodeKey, &'a [u8]),
    Attributes(NodeKey),
    Node(NodeKey),
    All,
}

/// The numbers of [`WatchStats`] that are counted here. Relaxed: they order nothing.
#[derive(Default)]
struct Counters {
    events: AtomicU64,
    reports: AtomicU64,
    overflows: AtomicU64,
    mount_changes: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// The watch of one tree.
pub(crate) struct Watch {
    coverage: Coverage,
    /// The caches that are told. A report is made with a copy, and without the lock.
    notifiers: RwLock<Arc<Vec<Notifier>>>,
    observer: Option<Observer>,
    counters: Counters,
    /// A lock that is held while events are read and reported. It has what only its holder needs.
    draining: Mutex<Draining>,
    /// The eventfd that wakes the thread, if there is one.
    wake: Option<OwnedFd>,
    /// Whether the thread runs. Without it, nothing counts as watched. `SeqCst`, as it is cleared
    /// before the last report.
    runs: AtomicBool,
    /// Whether the thread is to end. `SeqCst`, as it is set before `wake` is written to.
    ends: AtomicBool,
}

/// The state of the reader of events.
struct Draining {
    mounts: MountList,
    /// Whether it was told that the root is gone.
    root_gone: bool,
    /// The place for events of fanotify.
    buffer: Box<[u8]>,
}

/// The part of a tree that ends the watch with the tree.
pub(crate) struct Watching(Arc<Watch>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.ends.store(true, Ordering::SeqCst);
        self.0.wake();
    }
}

impl std::ops::Deref for Watching {
    type Target = Watch;
    fn deref(&self) -> &Watch {
        &self.0
    }
}

impl Watch {
    /// Begins to watch a tree, and starts the thread. Where there is no thread to be had, nothing
    /// counts as watched.
    pub(crate) fn begin(tree: &Arc<Tree>, root: NodeKey, choice: &Choice) -> Watching {
        let at_root = tree.root.reach(b"").ok();
        let coverage = Coverage::new(choice.by, choice.most, (root, at_root.as_ref()));
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok();
        let buffer = vec![0; if coverage.fanotify.is_some() { drain::AT_ONCE } else { 0 }].into_boxed_slice();
        let draining = Draining { mounts: MountList::new(tree.root.as_fd()), root_gone: false, buffer };
        let watch = Arc::new(Watch {
            coverage,
            notifiers: RwLock::default(),
            observer: choice.observer.clone(),
            counters: Counters::default(),
            draining: Mutex::new(draining),
            runs: AtomicBool::new(wake.is_some()),
            wake,
            ends: AtomicBool::new(false),
        });
        thread::start(&watch, Arc::downgrade(tree));
        Watching(watch)
    }

    /// Adds caches that are told of changes.
    pub(crate) fn attach(&self, notifier: Notifier) {
        let mut notifiers = self.notifiers.write();
        let all = notifiers.iter().cloned().chain([notifier]).collect();
        *notifiers = Arc::new(all);
    }

    /// Covers a node that is about to be handed out.
    pub(crate) fn cover<'a>(&'a self, tree: &'a Tree, node: (NodeKey, &Reached, &Attributes), handing: Handing) -> Covering<'a> {
        let covering = self.coverage.cover(tree, node, handing, |event| {
            self.observe(|| event.clone());
            // The thread tries it again after some time.
            self.wake();
        });
        if covering.was_held {
            self.report(Report::Attributes(node.0));
        }
        covering
    }

    /// Returns the counts of events, before the attributes of nodes are read that are not known
    /// yet.
    pub(crate) fn begun(&self) -> Option<Begun> {
        self.coverage.fanotify.as_ref().map(Fanotify::begun)
    }

    /// Returns whether events about a node may have been dropped since the counts were read. It is
    /// in the table now.
    pub(crate) fn may_have_dropped(&self, since: &Begun, node: NodeKey) -> bool {
        self.coverage.fanotify.as_ref().is_some_and(|fanotify| fanotify.may_have_dropped(node, since))
    }

    pub(crate) fn report_attributes(&self, node: NodeKey) {
        self.report(Report::Attributes(node));
    }

    /// Takes note that the engine holds a node no more.
    pub(crate) fn forget(&self, tree: &Tree, node: NodeKey) {
        self.coverage.inotify.forget(node, || tree.nodes.read().is_held(node));
    }

    /// Returns whether a file with several names needs a watch of its own.
    pub(crate) fn watches_each(&self, node: NodeKey) -> bool {
        self.coverage.watches_each(node)
    }

    /// Returns how long names in a directory are valid.
    pub(crate) fn of_names(&self, dir: NodeKey) -> Freshness {
        self.promised(self.coverage.covers(dir))
    }

    /// Returns how long attributes of a node are valid. Those of a file are reported to its
    /// directory, too.
    pub(crate) fn of_attributes(&self, tree: &Tree, node: NodeKey) -> Freshness {
        let is_covered = || {
            let dir = tree.nodes.read().directory_of(node);
            self.coverage.covers(node)
                && (key::kind_of(node) == Some(FileType::Directory) || dir.is_none_or(|dir| self.coverage.covers(dir)))
        };
        self.promised(self.coverage.covers_all() || is_covered())
    }

    fn promised(&self, is_covered: bool) -> Freshness {
        if is_covered && self.runs.load(Ordering::SeqCst) { Freshness::Stable } else { Freshness::AskEachTime }
    }

    /// Reports to all caches.
    fn report(&self, report: Report<'_>) {
        count(&self.counters.reports);
        let notifiers = Arc::clone(&self.notifiers.read());
        for notifier in notifiers.iter() {
            match report {
                Report::Name(dir, name) => match Name::new(name) {
                    Ok(name) => notifier.invalidate_name(dir, name),
                    Err(_) => notifier.invalidate_node(dir),
                },
                Report::Attributes(node) => notifier.invalidate_attributes(node),
                Report::Node(node) => notifier.invalidate_node(node),
                Report::All => notifier.invalidate_all(),
            }
        }
    }

    /// Calls the observer, if there is one.
    fn observe(&self, event: impl FnOnce() -> WatchEvent) {
        if let Some(observer) = &self.observer {
            observer(&event());
        }
    }

    fn wake(&self) {
        // A full counter wakes as well.
        _ = self.wake.as_ref().map(|wake| io::write(wake, &1_u64.to_ne_bytes()));
    }

    pub(crate) fn stats(&self) -> WatchStats {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (watches, uncovered) = self.coverage.inotify.counts();
        let (whole, nothing) = self.coverage.counts();
        WatchStats {
            whole_mounts: whole as u64,
            watches: watches as u64,
            uncovered: uncovered as u64,
            uncovered_mounts: nothing as u64,
            why_uncovered: self.coverage.why(),
            events: of(&self.counters.events),
            reports: of(&self.counters.reports),
            overflows: of(&self.counters.overflows),
            mount_changes: of(&self.counters.mount_changes),
        }
    }

    pub(crate) fn memory(&self) -> u64 {
        size_of::<Watch>() as u64 + self.coverage.memory()
    }
}
