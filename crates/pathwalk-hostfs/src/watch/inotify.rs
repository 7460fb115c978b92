//! The watches of inotify: one for each cached directory, and for each file that has further names,
//! since a change through another name is not reported to the directory.
//!
//! Locks: the table of watches, which is locked over the calls that add and remove a watch. So the
//! thread that has read an event finds the watch that it belongs to. The table of nodes may be
//! locked inside of it.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use pathwalk::{FileType, NodeKey};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io;

use super::event::Uncovered;
use crate::key;

/// The events that are watched for.
const EVENTS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF);

/// Whether a node has a watch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Watched(i32),
    /// The kernel has removed the watch: the node is gone, or its file system.
    Gone,
    Not(Uncovered),
}

/// A node that has a watch, or should have one.
struct Entry {
    state: State,
    /// The number of threads that are about to hand the node out. It keeps the watch until then.
    pending: u32,
}

/// What became of a watch that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Added {
    /// The node has a watch now, and had none before.
    New,
    /// It had one before.
    Before,
    /// It has none, and had none before.
    Not(Uncovered),
    /// It has none, and had one before, or this was known.
    StillNot,
}

/// The watches.
pub(super) struct Inotify {
    queue: OnceLock<OwnedFd>,
    table: Mutex<Table>,
    most: usize,
    /// The number of nodes in state [`State::Not`]. `SeqCst`; changed under the table's lock.
    lacking: AtomicUsize,
}

#[derive(Default)]
struct Table {
    nodes: HashMap<NodeKey, Entry>,
    /// The nodes of each watch: several, if one directory is reached through several mounts.
    watches: HashMap<i32, Vec<NodeKey>>,
    /// The number of nodes in state [`State::Not`].
    uncovered: usize,
}

impl Inotify {
    /// Creates the table. `most` is the largest number of watches.
    pub(super) fn new(most: usize) -> Inotify {
        let inotify = Inotify { queue: OnceLock::new(), table: Mutex::default(), most, lacking: AtomicUsize::new(0) };
        // If it fails, it is tried again when the first watch is needed.
        _ = inotify.queue();
        inotify
    }

    /// Returns the queue, which is made if there was none yet.
    pub(super) fn queue(&self) -> Result<&OwnedFd, Uncovered> {
        if let Some(queue) = self.queue.get() {
            return Ok(queue);
        }
        let made = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(|error| match error {
            io::Errno::MFILE | io::Errno::NFILE | io::Errno::NOMEM => Uncovered::NoInstanceLeft,
            _ => Uncovered::Impossible,
        })?;
        Ok(self.queue.get_or_init(|| made))
    }

    /// Returns the queue, if there is one.
    pub(super) fn made_queue(&self) -> Option<&OwnedFd> {
        self.queue.get()
    }

    /// Puts a watch on a node that is about to be handed out, which `path` leads to. The caller
    /// calls [`settle`](Self::settle) afterwards.
    pub(super) fn add(&self, node: NodeKey, path: Option<&str>) -> Added {
        let mut table = self.table.lock();
        let is_new = table.nodes.get(&node).is_none_or(|entry| !matches!(entry.state, State::Watched(_)));
        let made = if is_new && table.watches.len() >= self.most { Err(Uncovered::BoundReached) } else { self.call(node, path) };
        let state = match made {
            Ok(watch) => State::Watched(watch),
            Err(why) => State::Not(why),
        };
        let before = table.set(node, state);
        self.lacking.store(table.uncovered, Ordering::SeqCst);
        table.nodes.entry(node).and_modify(|entry| entry.pending += 1);
        match (state, before) {
            (State::Watched(now), Some(State::Watched(then))) if now == then => Added::Before,
            (State::Watched(_), _) => Added::New,
            (State::Not(why), None | Some(State::Gone)) => Added::Not(why),
            _ => Added::StillNot,
        }
    }

    fn call(&self, node: NodeKey, path: Option<&str>) -> Result<i32, Uncovered> {
        let path = path.ok_or(Uncovered::Impossible)?;
        let only = if key::kind_of(node) == Some(FileType::Directory) { WatchFlags::ONLYDIR } else { WatchFlags::empty() };
        inotify::add_watch(self.queue()?, path, EVENTS | only).map_err(|error| match error {
            io::Errno::NOSPC | io::Errno::NOMEM => Uncovered::NoWatchLeft,
            io::Errno::ACCESS | io::Errno::PERM => Uncovered::NotReadable,
            _ => Uncovered::Impossible,
        })
    }

    /// Ends the time in which a node is about to be handed out. `is_held` says whether it was.
    pub(super) fn settle(&self, node: NodeKey, is_held: impl Fn() -> bool) {
        let mut table = self.table.lock();
        let Some(entry) = table.nodes.get_mut(&node) else { return };
        entry.pending -= 1;
        self.remove_unless(table, node, is_held);
    }

    /// Removes the watch of a node that the engine holds no more.
    pub(super) fn forget(&self, node: NodeKey, is_held: impl Fn() -> bool) {
        self.remove_unless(self.table.lock(), node, is_held);
    }

    fn remove_unless(&self, mut table: parking_lot::MutexGuard<'_, Table>, node: NodeKey, is_held: impl Fn() -> bool) {
        if table.nodes.get(&node).is_none_or(|entry| entry.pending > 0) || is_held() {
            return;
        }
        if let (Some(watch), Some(queue)) = (table.remove(node), self.queue.get()) {
            // The kernel may have removed it meanwhile.
            _ = inotify::remove_watch(queue, watch);
        }
        self.lacking.store(table.uncovered, Ordering::SeqCst);
    }

    /// Returns the nodes of a watch.
    pub(super) fn nodes_of(&self, watch: i32) -> Vec<NodeKey> {
        self.table.lock().watches.get(&watch).cloned().unwrap_or_default()
    }

    /// Records that the kernel has removed a watch.
    pub(super) fn removed(&self, watch: i32) {
        let mut table = self.table.lock();
        for node in table.watches.remove(&watch).unwrap_or_default() {
            if let Some(entry) = table.nodes.get_mut(&node).filter(|entry| entry.state == State::Watched(watch)) {
                entry.state = State::Gone;
            }
        }
    }

    /// Returns whether a node has a watch.
    pub(super) fn has(&self, node: NodeKey) -> bool {
        self.table.lock().nodes.get(&node).is_some_and(|entry| matches!(entry.state, State::Watched(_)))
    }

    /// Returns whether some node should have a watch and has none. Takes no lock.
    pub(super) fn lacks_any(&self) -> bool {
        self.lacking.load(Ordering::SeqCst) > 0
    }

    /// Returns whether a node should have a watch and has none.
    pub(super) fn lacks(&self, node: NodeKey) -> bool {
        self.table.lock().nodes.get(&node).is_some_and(|entry| matches!(entry.state, State::Not(_)))
    }

    /// Returns the nodes that should have a watch and have none.
    pub(super) fn lacking(&self) -> Vec<NodeKey> {
        if !self.lacks_any() {
            return Vec::new();
        }
        let table = self.table.lock();
        let lacks = |(node, entry): (&NodeKey, &Entry)| matches!(entry.state, State::Not(_)).then_some(*node);
        table.nodes.iter().filter_map(lacks).collect()
    }

    /// Returns the reason why a node has no watch.
    pub(super) fn why(&self) -> Option<Uncovered> {
        let table = self.table.lock();
        if table.uncovered == 0 {
            return None;
        }
        table.nodes.values().find_map(|entry| if let State::Not(why) = entry.state { Some(why) } else { None })
    }

    /// Returns the number of watches, and of nodes that should have one and have none.
    pub(super) fn counts(&self) -> (usize, usize) {
        let table = self.table.lock();
        (table.watches.len(), table.uncovered)
    }

    /// Returns the number of bytes that the tables hold.
    pub(super) fn memory(&self) -> u64 {
        let table = self.table.lock();
        let nodes = table.nodes.capacity() * (size_of::<(NodeKey, Entry)>() + 1);
        let watches = table.watches.capacity() * (size_of::<(i32, Vec<NodeKey>)>() + 1);
        (nodes + watches + table.watches.len() * size_of::<NodeKey>()) as u64
    }
}

impl Table {
    /// Sets the state of a node, and returns the state before.
    fn set(&mut self, node: NodeKey, state: State) -> Option<State> {
        let before = self.nodes.get(&node).map(|entry| entry.state);
        if before == Some(state) {
            return before;
        }
        self.unset(node, before);
        match state {
            State::Watched(watch) => self.watches.entry(watch).or_default().push(node),
            State::Not(_) => self.uncovered += 1,
            State::Gone => {}
        }
        self.nodes.entry(node).or_insert(Entry { state, pending: 0 }).state = state;
        before
    }

    /// Takes a node's state out of the counts. Returns the watch if it has no node any more.
    fn unset(&mut self, node: NodeKey, state: Option<State>) -> Option<i32> {
        match state {
            Some(State::Not(_)) => self.uncovered -= 1,
            Some(State::Watched(watch)) => {
                let nodes = self.watches.get_mut(&watch)?;
                nodes.retain(|other| *other != node);
                if nodes.is_empty() {
                    self.watches.remove(&watch);
                    return Some(watch);
                }
            }
            Some(State::Gone) | None => {}
        }
        None
    }

    fn remove(&mut self, node: NodeKey) -> Option<i32> {
        let entry = self.nodes.remove(&node)?;
        self.unset(node, Some(entry.state))
    }
}
