//! The descriptors of open files: shared by all open files of a node, bounded, and reopened.
//!
//! A [`Slot`] has the descriptor of a node for one purpose, or none yet, or none at the moment. The
//! number of descriptors in slots is bounded: before one more is opened, one that was not used for
//! the longest time is closed, as a clock finds it. It is opened again when it is needed. Those
//! that a call is using at that moment are not closed, so there may be some more.
//!
//! Locks: the descriptor of a slot is locked shared while a call uses it, and exclusively while it
//! is opened or closed. A copy within a file locks it twice, so a waiting writer is passed by. The
//! state is locked inside of that, and the descriptors of other slots are
//! only tried inside of the state.

use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{MappedRwLockReadGuard, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use pathwalk::{Errno, NodeKey, OpenFor};

use crate::ids::Clearing;
use crate::open_file::{Wait, host};

/// The number of descriptors that are kept by default.
pub(crate) const MOST: usize = 1024;

/// The number of files that were just made whose descriptors are kept until they are opened.
const MADE: usize = 16;

/// The purpose of a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum For {
    Reading,
    Writing,
    Both,
}

impl For {
    /// Returns the purpose of a descriptor of an open file.
    pub(crate) fn of(what_for: OpenFor) -> For {
        match (what_for.contains(OpenFor::READ), what_for.contains(OpenFor::WRITE)) {
            (true, true) => For::Both,
            (false, true) => For::Writing,
            (_, false) => For::Reading,
        }
    }
}

/// A descriptor that is counted while it is open.
struct Counted {
    fd: OwnedFd,
    open: Arc<AtomicUsize>,
}

impl Counted {
    fn new(fd: OwnedFd, open: &Arc<AtomicUsize>) -> Counted {
        // Relaxed: the number orders nothing.
        open.fetch_add(1, Ordering::Relaxed);
        Counted { fd, open: Arc::clone(open) }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The place of a descriptor's own position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Position {
    /// The start, where an open puts it.
    Start,
    Moved,
}

/// The descriptor of a node for one purpose.
pub(crate) struct Slot {
    purpose: For,
    fd: RwLock<Option<Counted>>,
    /// Whether it was used since the clock passed. Relaxed: a use that is missed costs a reopening.
    used: AtomicBool,
    /// Whether the descriptor writes at the end alone. Relaxed: it is set under the descriptor's
    /// lock.
    appends: AtomicBool,
    /// The group of the file plus one, if its suid and sgid bits are to be cleared by the next
    /// write; else 0. Relaxed: the thread that sets it is the one that writes.
    clears: AtomicU64,
    /// Where the descriptor's own position is. Locked while that matters.
    position: Mutex<Position>,
}

impl Slot {
    /// Creates one without a descriptor.
    pub(crate) fn new(purpose: For) -> Slot {
        let (fd, used, appends, clears) = (RwLock::default(), AtomicBool::default(), AtomicBool::default(), AtomicU64::default());
        Slot { purpose, fd, used, appends, clears, position: Mutex::new(Position::Moved) }
    }

    /// Locks the descriptor's own position. The holder notes where it leaves it.
    pub(crate) fn position(&self) -> MutexGuard<'_, Position> {
        self.position.lock()
    }

    /// Locks the descriptor's own position, which the holder moves.
    pub(crate) fn moving(&self) -> MutexGuard<'_, Position> {
        let mut position = self.position.lock();
        *position = Position::Moved;
        position
    }

    /// Returns a guard under which a write clears bits, if the next write is to do so.
    pub(crate) fn clearing(&self) -> Result<Option<Clearing>, Errno> {
        if self.clears.load(Ordering::Relaxed) == 0 {
            return Ok(None);
        }
        let group = self.clears.swap(0, Ordering::Relaxed).checked_sub(1);
        group.map(|group| Clearing::begin(group as u32)).transpose()
    }

    /// Closes a descriptor that writes at the end alone, as one of a file that was append-only
    /// does.
    pub(crate) fn close_if_appending(&self) {
        if self.appends.load(Ordering::Relaxed) {
            let closed = self.fd.write().take();
            self.appends.store(false, Ordering::Relaxed);
            drop(closed);
        }
    }

    /// Returns whether it has a descriptor at the moment.
    pub(crate) fn is_open(&self) -> bool {
        self.fd.try_read_recursive().is_some_and(|fd| fd.is_some())
    }
}

/// A descriptor that is not closed as long as this is held.
pub(crate) struct InUse<'a>(MappedRwLockReadGuard<'a, OwnedFd>);

impl AsFd for InUse<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The open files of a node.
#[derive(Default)]
struct OfNode {
    files: u32,
    slots: [Option<Arc<Slot>>; 3],
}

#[derive(Default)]
struct State {
    nodes: HashMap<NodeKey, OfNode>,
    /// The slots whose descriptors were opened, in the order in which the clock looks at them.
    clock: VecDeque<Weak<Slot>>,
    /// The descriptors of files that were just made, for reading and writing.
    made: VecDeque<(NodeKey, OwnedFd)>,
}

/// Whether a descriptor may be closed while its file is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reopening {
    Possible,
    /// No: a node without a name could not be opened again.
    Impossible,
}

/// The descriptors of all open files.
pub(crate) struct OpenFiles {
    /// The bound. Relaxed: it is set before the file system is used.
    most: AtomicUsize,
    reopening: Reopening,
    open: Arc<AtomicUsize>,
    state: Mutex<State>,
}

impl OpenFiles {
    pub(crate) fn new(most: usize, reopening: Reopening) -> OpenFiles {
        OpenFiles { most: AtomicUsize::new(most), reopening, open: Arc::default(), state: Mutex::default() }
    }

    /// Changes the bound.
    pub(crate) fn set_most(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// Counts one more open file of a node, and returns the slot of its descriptor.
    pub(crate) fn begin(&self, node: NodeKey, purpose: For) -> Arc<Slot> {
        let mut state = self.state.lock();
        let of = state.nodes.entry(node).or_default();
        of.files += 1;
        Arc::clone(of.slots[purpose as usize].get_or_insert_with(|| Arc::new(Slot::new(purpose))))
    }

    /// Counts one less. Closes the descriptors after the last.
    pub(crate) fn end(&self, node: NodeKey) {
        let mut state = self.state.lock();
        let Some(of) = state.nodes.get_mut(&node) else { return };
        of.files -= 1;
        if of.files == 0 {
            let gone = state.nodes.remove(&node);
            let made = state.take_made(node);
            drop(state);
            drop((gone, made));
        }
    }

    /// Returns a slot through which a node is open for writing, if there is one, with its purpose.
    pub(crate) fn writing(&self, node: NodeKey) -> Option<(Arc<Slot>, For)> {
        let state = self.state.lock();
        let slots = &state.nodes.get(&node)?.slots;
        let slot = |purpose| slots[purpose as usize].clone().map(|slot| (slot, purpose));
        slot(For::Both).or_else(|| slot(For::Writing))
    }

    /// Returns a copy of a descriptor that the open files of a node have at the moment.
    pub(crate) fn copy(&self, node: NodeKey) -> Option<OwnedFd> {
        let slots = self.state.lock().nodes.get(&node)?.slots.clone();
        slots.iter().flatten().find_map(|slot| slot.fd.read().as_ref()?.fd.try_clone().ok())
    }

    /// Has the next write to a node clear suid and sgid bits. Returns whether the node is open for
    /// writing.
    pub(crate) fn clear_at_next_write(&self, node: NodeKey, group: u32) -> bool {
        let state = self.state.lock();
        let slots = state.nodes.get(&node).map(|of| &of.slots[..]).unwrap_or_default();
        let writing = [For::Writing, For::Both].map(|purpose| slots.get(purpose as usize).and_then(Option::as_ref));
        for slot in writing.iter().flatten() {
            slot.clears.store(u64::from(group) + 1, Ordering::Relaxed);
        }
        writing.iter().any(Option::is_some)
    }

    /// Keeps the descriptor of a regular file that was just made, for the open that follows: the
    /// mode of the file may not permit it.
    pub(crate) fn keep_made(&self, node: NodeKey, fd: OwnedFd) {
        let mut state = self.state.lock();
        state.made.push_back((node, fd));
        let old = if state.made.len() > MADE { state.made.pop_front() } else { None };
        drop(state);
        drop(old);
    }

    /// Closes the descriptor of a file that was just made and is removed: its space is to be free.
    pub(crate) fn drop_made(&self, node: NodeKey) {
        let made = self.state.lock().take_made(node);
        drop(made);
    }

    /// Returns the number of bytes that the tables hold.
    pub(crate) fn memory(&self) -> u64 {
        /// The bytes of a slot on the heap, with its counts.
        const SLOT: usize = size_of::<Slot>() + 16;
        let state = self.state.lock();
        let nodes = state.nodes.capacity() * (size_of::<(NodeKey, OfNode)>() + 1) + state.nodes.len() * SLOT;
        (nodes + state.clock.capacity() * size_of::<Weak<Slot>>()) as u64
    }

    /// Returns one more descriptor of a file that was just made.
    pub(crate) fn made(&self, node: NodeKey) -> Option<OwnedFd> {
        let state = self.state.lock();
        let (_, fd) = state.made.iter().find(|(made, _)| *made == node)?;
        fd.try_clone().ok()
    }

    /// Returns the descriptor of a slot. If it has none, `open` opens it.
    pub(crate) fn fd<'a>(
        &self,
        slot: &'a Arc<Slot>,
        wait: Wait,
        open: impl Fn() -> Result<OwnedFd, Errno>,
    ) -> Result<InUse<'a>, Errno> {
        slot.used.store(true, Ordering::Relaxed);
        let (there, mut empty) = match wait {
            Wait::ForHost => (slot.fd.read_recursive(), None),
            Wait::Never => (slot.fd.try_read_recursive().ok_or(Errno::EAGAIN)?, Some(())),
        };
        if there.is_some() {
            return Ok(in_use(there));
        }
        drop(there);
        let mut there = match empty.take() {
            None => slot.fd.write(),
            Some(()) => slot.fd.try_write().ok_or(Errno::EAGAIN)?,
        };
        if there.is_none() {
            self.close_unused(|open| open < self.most.load(Ordering::Relaxed));
            let fd = match open() {
                // The process has no room for as many as the bound says.
                Err(Errno::EMFILE | Errno::ENFILE) if self.closes_half() => open()?,
                opened => opened?,
            };
            if slot.purpose != For::Reading {
                let flags = rustix::fs::fcntl_getfl(&fd).map_err(host)?;
                slot.appends.store(flags.contains(rustix::fs::OFlags::APPEND), Ordering::Relaxed);
            }
            self.fill(slot, &mut there, fd);
        }
        Ok(in_use(RwLockWriteGuard::downgrade(there)))
    }

    /// Gives a slot for reading a descriptor, unless the slot has one or is in use.
    pub(crate) fn give(&self, slot: &Arc<Slot>, fd: OwnedFd) {
        let Some(mut there) = slot.fd.try_write() else { return };
        if there.is_none() {
            self.close_unused(|open| open < self.most.load(Ordering::Relaxed));
            self.fill(slot, &mut there, fd);
        }
    }

    fn fill(&self, slot: &Arc<Slot>, there: &mut Option<Counted>, fd: OwnedFd) {
        slot.used.store(true, Ordering::Relaxed);
        *slot.position.lock() = Position::Start;
        *there = Some(Counted::new(fd, &self.open));
        self.watch(slot);
    }

    /// Returns the number of descriptors that are open.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Adds a slot to those that the clock looks at.
    fn watch(&self, slot: &Arc<Slot>) {
        let mut state = self.state.lock();
        state.clock.push_back(Arc::downgrade(slot));
        if state.clock.len() > 2 * self.open.load(Ordering::Relaxed) + MADE {
            state.clock.retain(|slot| slot.strong_count() > 0);
        }
    }

    /// Closes half of the descriptors. Returns whether one was closed.
    pub(crate) fn closes_half(&self) -> bool {
        let before = self.open.load(Ordering::Relaxed);
        self.close_unused(|open| open <= before / 2);
        let made = std::mem::take(&mut self.state.lock().made);
        self.open.load(Ordering::Relaxed) < before || !made.is_empty()
    }

    /// Closes descriptors until so few are open, or the clock has passed all twice.
    fn close_unused(&self, is_enough: impl Fn(usize) -> bool) {
        if self.reopening == Reopening::Impossible || is_enough(self.open.load(Ordering::Relaxed)) {
            return;
        }
        let mut state = self.state.lock();
        for _ in 0..2 * state.clock.len() {
            if is_enough(self.open.load(Ordering::Relaxed)) {
                return;
            }
            let Some(first) = state.clock.pop_front() else { return };
            let Some(slot) = first.upgrade() else { continue };
            let was_used = slot.used.swap(false, Ordering::Relaxed);
            match slot.fd.try_write() {
                Some(mut fd) if !was_used => *fd = None,
                _ => state.clock.push_back(first),
            }
        }
    }
}

impl State {
    fn take_made(&mut self, node: NodeKey) -> Option<(NodeKey, OwnedFd)> {
        let at = self.made.iter().position(|(made, _)| *made == node)?;
        self.made.remove(at)
    }
}

fn in_use(there: RwLockReadGuard<'_, Option<Counted>>) -> InUse<'_> {
    InUse(RwLockReadGuard::map(there, |fd| &fd.as_ref().expect("it was looked for").fd))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn null() -> Result<OwnedFd, Errno> {
        Ok(File::open("/dev/null").expect("it is there").into())
    }

    #[test]
    fn no_more_are_open_than_the_bound_and_each_is_reopened() {
        let files = OpenFiles::new(4, Reopening::Possible);
        let slots: Vec<_> = (0..10).map(|i| files.begin(NodeKey(i), For::Reading)).collect();
        for slot in slots.iter().chain(&slots) {
            files.fd(slot, Wait::ForHost, null).unwrap();
            assert!(files.count() <= 4);
        }
        let used = files.fd(&slots[0], Wait::ForHost, null).unwrap();
        for slot in &slots[1..] {
            files.fd(slot, Wait::ForHost, null).unwrap();
        }
        files.fd(&slots[0], Wait::Never, || panic!("it is in use, and not closed")).unwrap();
        drop(used);
    }

    #[test]
    fn the_last_open_file_of_a_node_closes_its_descriptors() {
        let files = OpenFiles::new(4, Reopening::Possible);
        let slots = [For::Both; 2].map(|purpose| files.begin(NodeKey(1), purpose));
        files.keep_made(NodeKey(1), null().unwrap());
        files.fd(&slots[0], Wait::ForHost, || Ok(files.made(NodeKey(1)).expect("it was just made"))).unwrap();
        assert!(files.writing(NodeKey(1)).is_some());
        drop(slots);
        files.end(NodeKey(1));
        assert_eq!(files.count(), 1);
        files.end(NodeKey(1));
        assert_eq!((files.count(), files.made(NodeKey(1)).is_none()), (0, true));
    }

    #[test]
    fn where_there_is_no_room_half_are_closed() {
        let files = OpenFiles::new(100, Reopening::Possible);
        let slots: Vec<_> = (0..10).map(|i| files.begin(NodeKey(i), For::Reading)).collect();
        slots[..9].iter().for_each(|slot| drop(files.fd(slot, Wait::ForHost, null).unwrap()));
        let full = || if files.count() > 5 { Err(Errno::EMFILE) } else { null() };
        files.fd(&slots[9], Wait::ForHost, full).unwrap();
        assert_eq!(files.count(), 5);
        let never = files.fd(&files.begin(NodeKey(99), For::Reading), Wait::ForHost, || Err(Errno::EMFILE)).map(drop);
        assert_eq!(never, Err(Errno::EMFILE));
    }

    #[test]
    fn what_cannot_be_reopened_is_not_closed() {
        let files = OpenFiles::new(1, Reopening::Impossible);
        let slots: Vec<_> = (0..3).map(|i| files.begin(NodeKey(i), For::Reading)).collect();
        slots.iter().for_each(|slot| drop(files.fd(slot, Wait::ForHost, null).unwrap()));
        assert_eq!(files.count(), 3);
    }
}
