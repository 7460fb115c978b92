//! The queues are read, and events become reports to the caches.

use std::collections::{HashMap, HashSet};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use pathwalk::{FileType, NodeKey};
use rustix::fs::fstat;
use rustix::fs::inotify::{ReadFlags, Reader};
use rustix::io;

use super::coverage::Handing;
use super::event::{Change, Drops, WatchEvent};
use super::fanotify::Fanotify;
use super::inotify::Added;
use super::records::{Handle, Record, records};
use super::{Draining, Report, Watch, count};
use crate::attributes::from_statx;
use crate::beneath::{PLACE, Reached, open_beneath};
use crate::key;
use crate::tree::Tree;

/// The number of bytes that are read at once.
pub(super) const AT_ONCE: usize = 1 << 16;

/// The bytes of an event of inotify without its name. The name is filled up to a multiple.
const INOTIFY_EVENT: usize = 16;

/// The bytes for which the queue of fanotify counts an event.
const FANOTIFY_EVENT: u64 = 24;

/// What is to be looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    AtEvents,
    /// Also at the list of mounts.
    AtMountsToo,
}

/// Whether there was something to report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Drained {
    Some,
    /// All events were about what is not known here: fanotify reports what happens in a whole file
    /// system.
    Nothing,
}

/// The events of one name, or of a watched node itself, in what was read at once.
type Noted = (i32, Box<[u8]>, ReadFlags);

impl Watch {
    /// Handles all that is queued when this is called: when it returns, the caches have been told
    /// of it. Waits for another thread that is handling events. Returns whether there was something
    /// to report.
    pub(crate) fn drain(&self, tree: &Tree, look: Look) -> Drained {
        let mut draining = self.draining.lock();
        let before = self.counters.reports.load(Ordering::Relaxed);
        if look == Look::AtMountsToo {
            self.look_at_mounts(tree, &mut draining);
        }
        self.drain_fanotify(tree, &mut draining.buffer);
        self.drain_inotify(tree);
        self.look_at_root(tree, &mut draining);
        if self.counters.reports.load(Ordering::Relaxed) == before { Drained::Nothing } else { Drained::Some }
    }

    /// Puts watches on the directories that have none, if that is possible by now.
    pub(super) fn try_again(&self, tree: &Tree) {
        for node in self.coverage.inotify.lacking() {
            let Ok((reached, _)) = tree.reach(node) else { continue };
            let added = self.coverage.inotify.add(node, reached.through_proc().ok().as_deref());
            self.coverage.inotify.settle(node, || tree.nodes.read().is_held(node));
            if added == Added::New {
                self.report(Report::Node(node));
                self.observe(|| WatchEvent::Covered { path: path_of(tree, node, b"") });
            }
        }
    }

    fn look_at_mounts(&self, tree: &Tree, draining: &mut Draining) {
        let mut changed = draining.mounts.changed(tree.root.as_fd());
        if changed.is_empty() {
            return;
        }
        // The root's own key stays what it is.
        let root = tree.nodes.read().root_key();
        if let Some(mount) = tree.keys.mount_of(root) {
            changed.remove(&mount);
        }
        // What is found on these mounts are other nodes from now on: their ids may be those of
        // mounts that are gone, and their flags others.
        tree.keys.retire(&changed);
        count(&self.counters.mount_changes);
        self.report(Report::All);
        self.observe(|| WatchEvent::Mounts);
    }

    fn look_at_root(&self, tree: &Tree, draining: &mut Draining) {
        if draining.root_gone || fstat(tree.root.as_fd()).is_ok_and(|root| root.st_nlink > 0) {
            return;
        }
        draining.root_gone = true;
        self.report(Report::All);
        self.observe(|| WatchEvent::RootGone);
    }

    fn overflowed(&self) {
        count(&self.counters.overflows);
        self.report(Report::All);
        self.observe(|| WatchEvent::Overflow);
    }

    fn drain_fanotify(&self, tree: &Tree, buffer: &mut [u8]) {
        let Some(fanotify) = &self.coverage.fanotify else { return };
        let mut left = io::ioctl_fionread(fanotify.queue()).unwrap_or(0) / FANOTIFY_EVENT;
        while left > 0 {
            let length = match io::read(fanotify.queue(), &mut *buffer) {
                Ok(0) | Err(io::Errno::AGAIN) => return,
                Ok(length) => length,
                Err(io::Errno::INTR) => continue,
                // Nothing can be known of what it was.
                Err(_) => return self.overflowed(),
            };
            let mut seen = HashSet::new();
            for record in records(&buffer[..length]) {
                count(&self.counters.events);
                left = left.saturating_sub(1);
                if record.mask & libc::FAN_Q_OVERFLOW != 0 {
                    self.overflowed();
                } else if self.observer.is_some() || seen.insert((record.mask & NAMES, record.at, record.node)) {
                    self.fanotify_event(tree, fanotify, record);
                }
            }
        }
    }

    fn fanotify_event(&self, tree: &Tree, fanotify: &Fanotify, record: Record<'_>) {
        let nodes = |handle: Option<Handle<'_>>| handle.map_or(Vec::new(), |handle| fanotify.nodes_of(tree, handle));
        let changes = || fanotify_changes(record.mask);
        let mut of_node = nodes(record.node);
        if let Some((dir, name)) = record.at {
            let is_name = record.mask & NAMES != 0 && name != b".";
            let is_directory = |node: &NodeKey| key::kind_of(*node) == Some(FileType::Directory);
            for dir in fanotify.nodes_of(tree, dir).into_iter().filter(is_directory) {
                if is_name {
                    if record.mask & libc::FAN_MOVED_TO != 0 {
                        of_node.iter().for_each(|node| tree.moved_by_others(*node, (dir, name)));
                    }
                    self.report(Report::Name(dir, name));
                    self.observe(|| changed(path_of(tree, dir, name), changes(), Drops::Name));
                } else if record.node.is_none() {
                    of_node.push(dir);
                }
            }
        }
        for node in of_node {
            self.report(Report::Attributes(node));
            if record.mask & NAMES == 0 {
                self.observe(|| changed(path_of(tree, node, b""), changes(), Drops::Attributes));
            }
        }
    }

    fn drain_inotify(&self, tree: &Tree) {
        let Some(queue) = self.coverage.inotify.made_queue() else { return };
        let mut left = io::ioctl_fionread(queue).unwrap_or(0) as usize;
        let mut buffer = [MaybeUninit::uninit(); AT_ONCE];
        let mut reader = Reader::new(queue.as_fd(), &mut buffer);
        let (mut noted, mut places) = (Vec::<Noted>::new(), HashMap::<(i32, Box<[u8]>), usize>::new());
        while left > 0 || !reader.is_buffer_empty() {
            match reader.next() {
                Err(io::Errno::INTR) => continue,
                Err(io::Errno::AGAIN) => break,
                Err(_) => {
                    self.overflowed();
                    break;
                }
                Ok(event) => {
                    count(&self.counters.events);
                    let name: Box<[u8]> = event.file_name().map_or(Box::default(), |name| name.to_bytes().into());
                    let padded = if name.is_empty() { 0 } else { (name.len() + 1).next_multiple_of(INOTIFY_EVENT) };
                    left = left.saturating_sub(INOTIFY_EVENT + padded);
                    let (watch, flags) = (event.wd(), event.events());
                    match places.get(&(watch, name.clone())).filter(|_| self.observer.is_none()) {
                        Some(at) => noted[*at].2 |= flags,
                        None => {
                            places.insert((watch, name.clone()), noted.len());
                            noted.push((watch, name, flags));
                        }
                    }
                }
            }
            if reader.is_buffer_empty() {
                noted.drain(..).for_each(|noted| self.inotify_event(tree, &noted));
                places.clear();
            }
        }
        noted.iter().for_each(|noted| self.inotify_event(tree, noted));
    }

    fn inotify_event(&self, tree: &Tree, (watch, name, flags): &Noted) {
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            self.overflowed();
        }
        let changes = || inotify_changes(*flags);
        for node in self.coverage.inotify.nodes_of(*watch) {
            if name.is_empty() {
                self.report(Report::Attributes(node));
                if !changes().is_empty() {
                    self.observe(|| changed(path_of(tree, node, b""), changes(), Drops::Attributes));
                }
                continue;
            }
            let came = flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
            if came && (flags.contains(ReadFlags::MOVED_TO) || !flags.contains(ReadFlags::ISDIR)) {
                self.name_came(tree, (node, name));
            }
            self.report(Report::Name(node, name));
            self.observe(|| changed(path_of(tree, node, name), changes(), Drops::Name));
        }
        if flags.contains(ReadFlags::IGNORED) {
            self.coverage.inotify.removed(*watch);
        }
    }

    /// Looks at the node that has a new name. If it is known, its place is recorded, and its number
    /// of links is another one. A file with further names gets a watch of its own.
    fn name_came(&self, tree: &Tree, (dir, name): (NodeKey, &[u8])) {
        let Ok((above, _)) = tree.reach(dir) else {
            // The directory was moved or removed meanwhile. Which node got the name is not known.
            if self.coverage.inotify.has(dir) {
                self.report(Report::All);
            }
            return;
        };
        let Ok(reached) = open_beneath(above.fd(), name, PLACE).map(Reached::itself) else { return };
        let Ok(stat) = reached.stat() else { return };
        let Ok(node) = reached.key(&tree.keys, &stat) else { return };
        if !tree.nodes.read().is_held(node) {
            return;
        }
        if let Ok(attributes) = from_statx(&stat) {
            drop(self.cover(tree, (node, &reached, &attributes), Handing::Out));
        }
        tree.moved_by_others(node, (dir, name));
        self.report(Report::Attributes(node));
    }
}

/// The events of fanotify about names.
const NAMES: u64 = libc::FAN_CREATE | libc::FAN_DELETE | libc::FAN_MOVED_FROM | libc::FAN_MOVED_TO;

fn changed(path: Option<Box<[u8]>>, changes: Box<[Change]>, drops: Drops) -> WatchEvent {
    WatchEvent::Changed { path, changes, drops }
}

/// Returns the path of a name in a directory, or of a node, as far as it is known.
fn path_of(tree: &Tree, node: NodeKey, name: &[u8]) -> Option<Box<[u8]>> {
    tree.nodes.read().path_in(node, name).map(Into::into)
}

fn fanotify_changes(mask: u64) -> Box<[Change]> {
    let all = [
        (libc::FAN_CREATE, Change::Created),
        (libc::FAN_DELETE, Change::Removed),
        (libc::FAN_MOVED_FROM, Change::MovedFrom),
        (libc::FAN_MOVED_TO, Change::MovedTo),
        (libc::FAN_ATTRIB, Change::Attributes),
        (libc::FAN_MODIFY, Change::Data),
        (libc::FAN_CLOSE_WRITE, Change::Closed),
        (libc::FAN_DELETE_SELF, Change::Gone),
        (libc::FAN_MOVE_SELF, Change::Moved),
    ];
    all.into_iter().filter(|(flag, _)| mask & flag != 0).map(|(_, change)| change).collect()
}

fn inotify_changes(flags: ReadFlags) -> Box<[Change]> {
    let all = [
        (ReadFlags::CREATE, Change::Created),
        (ReadFlags::DELETE, Change::Removed),
        (ReadFlags::MOVED_FROM, Change::MovedFrom),
        (ReadFlags::MOVED_TO, Change::MovedTo),
        (ReadFlags::ATTRIB, Change::Attributes),
        (ReadFlags::MODIFY, Change::Data),
        (ReadFlags::CLOSE_WRITE, Change::Closed),
        (ReadFlags::DELETE_SELF, Change::Gone),
        (ReadFlags::MOVE_SELF, Change::Moved),
    ];
    all.into_iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, change)| change).collect()
}
