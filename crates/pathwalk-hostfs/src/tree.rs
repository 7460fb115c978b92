//! What the file system and its open files share: the root, the table of nodes, and the two locks
//! that keep a path from changing while it is gone.
//!
//! Nodes are reached by the path under which they were last found, and a thread of this process may
//! move a directory of that path at the same time. So where changes are carried out:
//!
//! - `moves` is held shared while a path is gone, and exclusively while a directory is moved and
//!   the table is told. Then a path leads where the table says.
//! - `changes` is held shared while a name is removed or moved and the table is told. The last name
//!   of a path may be one of these. Where a node is not found, it is searched once more with this
//!   lock held exclusively: then no change is half done.
//!
//! Order: `changes`, `moves`, the table of nodes. The table is never locked across a system call.
//! The two others are, and no code of the engine runs under them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use parking_lot::RwLock;
use pathwalk::{Attributes, Errno, FileType, Freshness, Name, NodeKey, Sweep};
use rustix::fs::{ResolveFlags, fstatfs};
use rustix::io;

use crate::attributes::from_statx;
use crate::beneath::{PLACE, Reached, Root, errno};
use crate::changed::{Changed, Changing};
use crate::descriptors::OpenFiles;
use crate::finding::{Found, Reach};
use crate::key::Keys;
use crate::magic;
use crate::mounts::Mounts;
use crate::nodes::{Nodes, Whereabouts};
use crate::ttl::{Stamp, Ttl};
use crate::watch::Watching;
use crate::watch::coverage::{Covering, Handing};
use crate::watch::fanotify::Begun;

/// Whether changes are carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Changes {
    /// Each is `EROFS`.
    Refused,
    CarriedOut,
}

/// When the host is asked about what the caches of a `Vfs` have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asks {
    /// When it was reported, or is not watched.
    IfReported,
    /// Before each use.
    EachTime,
}

/// The shared state.
pub(crate) struct Tree {
    pub(crate) root: Root,
    pub(crate) keys: Keys,
    pub(crate) nodes: RwLock<Nodes>,
    pub(crate) mounts: Mounts,
    pub(crate) open: OpenFiles,
    pub(crate) mode: Changes,
    pub(crate) changed: Changed,
    pub(crate) asks: Asks,
    /// A lock that is held exclusively while a directory is moved.
    pub(crate) moves: RwLock<()>,
    /// A lock that is held shared while a name is removed or moved.
    pub(crate) changes: RwLock<()>,
    /// The watch, in the mode [`Watch`](crate::Coherence::Watch) since caches were attached.
    pub(crate) watch: OnceLock<Watching>,
    /// The mode [`Ttl`](crate::Coherence::Ttl), once a `Vfs` is built.
    pub(crate) ttl: OnceLock<Ttl>,
}

impl Tree {
    /// Returns `EROFS` unless changes are carried out.
    pub(crate) fn writable(&self) -> Result<(), Errno> {
        if self.mode == Changes::CarriedOut { Ok(()) } else { Err(Errno::EROFS) }
    }

    /// Begins a change: `EROFS` unless changes are carried out.
    pub(crate) fn changing(&self) -> Result<Changing<'_>, Errno> {
        self.writable().map(|()| self.changed.begin())
    }

    /// Calls `go` with paths that no thread of this process moves meanwhile. A second time, if the
    /// first one found no node or another one, since the last name of a path may have been changed
    /// before the table was told.
    pub(crate) fn settled<T>(&self, go: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
        if self.mode == Changes::Refused {
            return go();
        }
        let first = {
            let _still = self.moves.read();
            go()
        };
        match first {
            Err(Errno::ESTALE | Errno::ENOENT) => {
                let _done = self.changes.write();
                let _still = self.moves.read();
                go()
            }
            answer => answer,
        }
    }

    /// Calls `go`, and once more if this process had no descriptor left and open files had some. A
    /// call that fails for want of a descriptor has changed nothing.
    pub(crate) fn with_room<T>(&self, go: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
        match go() {
            Err(Errno::EMFILE | Errno::ENFILE) if self.open.closes_half() => go(),
            answer => answer,
        }
    }

    /// Reaches a node that was handed out, by a descriptor of its own.
    pub(crate) fn reach(&self, key: NodeKey) -> Result<(Reached, Attributes), Errno> {
        self.reach_how(key, ResolveFlags::empty())
    }

    /// Does the same for attributes alone. A node that others removed or moved, and that is open,
    /// still shows its attributes, as by `fstat(2)`.
    pub(crate) fn reach_or_open(&self, key: NodeKey) -> Result<(Reached, Attributes), Errno> {
        match self.reach(key) {
            Err(Errno::ESTALE) if self.is_changed_by_others() => {
                let fd = self.open.copy(key).ok_or(Errno::ESTALE)?;
                self.verified(key, Ok(Reached::itself(fd)))
            }
            found => found,
        }
    }

    /// Does the same as [`reach`](Self::reach). `resolve` is added to the usual restrictions.
    pub(crate) fn reach_how(&self, key: NodeKey, resolve: ResolveFlags) -> Result<(Reached, Attributes), Errno> {
        self.settled(|| match self.whereabouts(key)? {
            Whereabouts::Path(path) => self.verified(key, self.root.open_below(&path, PLACE, resolve).map(Reached::itself)),
            Whereabouts::Kept(fd) => self.verified(key, again(&fd)),
        })
    }

    /// Reaches a node by its name in its directory. That way its attributes are readable without
    /// any permission on the node itself.
    pub(crate) fn reach_by_name(&self, key: NodeKey) -> Result<(Reached, Attributes), Errno> {
        self.settled(|| {
            let place = self.nodes.read().place(key);
            match place {
                Some((dir, name)) => self.verified(key, self.root.reach_in(&dir, name.bytes())),
                None => match self.whereabouts(key)? {
                    Whereabouts::Kept(fd) => self.verified(key, again(&fd)),
                    Whereabouts::Path(_) => Err(Errno::ESTALE),
                },
            }
        })
    }

    /// Reaches a directory in which a name is to be changed. The directory itself may not be moved
    /// or removed by this process meanwhile, which the engine's lock of the directory ensures only
    /// for its removal; but a descriptor stays with the directory.
    pub(crate) fn reach_directory(&self, key: NodeKey) -> Result<Reached, Errno> {
        self.reach(key).map(|(reached, _)| reached)
    }

    /// Reaches a directory in which a name is looked up. `ENOENT` if it was removed: a removed one
    /// has no names, not even absent ones.
    pub(crate) fn reach_alive(&self, dir: NodeKey) -> Result<Reached, Errno> {
        let (reached, attributes) = self.reach(dir)?;
        if attributes.nlink == 0 { Err(Errno::ENOENT) } else { Ok(reached) }
    }

    /// Returns whether the paths of nodes may be those of others by now, so that a name is looked
    /// up by a descriptor of its directory.
    pub(crate) fn is_changed_by_others(&self) -> bool {
        self.asks == Asks::EachTime || self.watch.get().is_some() || self.ttl.get().is_some()
    }

    /// Returns when a directory changed last; `None` if it is not there.
    pub(crate) fn stamp(&self, dir: NodeKey) -> Option<Stamp> {
        let now = SystemTime::now();
        let (reached, attributes) = self.reach(dir).ok().filter(|(_, attributes)| attributes.nlink > 0)?;
        let stamp = Stamp::new(&attributes, now);
        Some(if stamps_each_change(reached.fd()) { stamp } else { stamp.untrusted() })
    }

    /// Takes note that a node is handed out, whose attributes were read after `now`.
    pub(crate) fn is_handed_out(&self, (key, attributes): (NodeKey, &Attributes), now: SystemTime, nodes: &Nodes) {
        if let Some(ttl) = self.ttl.get()
            && attributes.kind == FileType::Directory
            && !nodes.is_held(key)
        {
            ttl.is_new(key, Stamp::new(attributes, now));
        }
    }

    /// Covers a node whose attributes were just read.
    pub(crate) fn cover(&self, node: (NodeKey, &Reached, &Attributes), handing: Handing) -> Covering<'_> {
        self.watch.get().map_or(Covering::none(), |watch| watch.cover(self, node, handing))
    }

    /// Returns the counts of events, before the attributes of nodes are read that are not known
    /// yet.
    pub(crate) fn begun(&self) -> Option<Begun> {
        self.watch.get()?.begun()
    }

    /// Has attributes asked for again that may be older than an event: see
    /// [`may_be_older`](Self::may_be_older).
    pub(crate) fn handed_out(&self, since: Option<&Begun>, nodes: impl IntoIterator<Item = NodeKey>) {
        nodes.into_iter().filter(|node| self.may_be_older(since, *node)).for_each(|node| self.report_attributes(node));
    }

    /// Returns whether the attributes of a node, which were read behind `since`, may be older than
    /// an event that was dropped, since the node was not in the table. It is now, so attributes
    /// that are read from now on are not. The table is not locked.
    pub(crate) fn may_be_older(&self, since: Option<&Begun>, node: NodeKey) -> bool {
        let (Some(watch), Some(since)) = (self.watch.get(), since) else { return false };
        watch.may_have_dropped(since, node)
    }

    /// Has the attributes of a node asked for again, where the tree is watched.
    pub(crate) fn report_attributes(&self, node: NodeKey) {
        if let Some(watch) = self.watch.get() {
            watch.report_attributes(node);
        }
    }

    /// Returns how long names in a directory are valid.
    pub(crate) fn freshness(&self, dir: NodeKey) -> Freshness {
        if self.asks == Asks::EachTime {
            return Freshness::AskEachTime;
        }
        let watched = || self.watch.get().map_or(Freshness::Stable, |watch| watch.of_names(dir));
        self.ttl.get().map_or_else(watched, |ttl| ttl.freshness(Sweep::NAMES))
    }

    /// Returns how long attributes of a node are valid.
    pub(crate) fn attributes_freshness(&self, node: NodeKey) -> Freshness {
        if self.asks == Asks::EachTime {
            return Freshness::AskEachTime;
        }
        let watched = || self.watch.get().map_or(Freshness::Stable, |watch| watch.of_attributes(self, node));
        self.ttl.get().map_or_else(watched, |ttl| ttl.freshness(Sweep::ATTRIBUTES))
    }

    /// Returns whether a name in a directory still leads to a node, or to none.
    pub(crate) fn still_leads(&self, dir: NodeKey, name: Name<'_>, node: Option<NodeKey>) -> Result<bool, Errno> {
        let Some(Found { reached, stat, .. }) = self.find(dir, name, Reach::Place)? else { return Ok(node.is_none()) };
        Ok(Some(reached.key(&self.keys, &stat)?) == node)
    }

    /// Returns whether a node found in a directory may be handed out as it is: a file with several
    /// names may need a watch first.
    pub(crate) fn is_ready(&self, dir: NodeKey, attributes: &Attributes) -> bool {
        attributes.nlink < 2 || !self.watch.get().is_some_and(|watch| watch.watches_each(dir))
    }

    /// Records that another process has moved a node to this name, if it is not where it was found
    /// last. Events come late, so it may have been moved again meanwhile: each use verifies that.
    pub(crate) fn moved_by_others(&self, node: NodeKey, to: (NodeKey, &[u8])) {
        // No change of this process is half done.
        let _done = self.changes.write();
        let home = self.nodes.read().home(node);
        let Some((dir, name, path)) = home else { return };
        let is_there = || {
            let place = self.root.reach_in(&path, name.bytes());
            self.verified(node, place).is_ok()
        };
        if (dir, name.bytes()) == to || is_there() {
            return;
        }
        let mut nodes = self.nodes.write();
        nodes.moved(node, (dir, name.bytes()), to);
        let done_with = nodes.take_done_with();
        drop((nodes, done_with));
    }

    fn whereabouts(&self, key: NodeKey) -> Result<Whereabouts, Errno> {
        self.nodes.read().whereabouts(key).ok_or(Errno::ESTALE)
    }

    /// Verifies that the reached node has this key, and returns it with its attributes. Fails with
    /// `ESTALE` if it has another key.
    pub(crate) fn verified(&self, key: NodeKey, reached: io::Result<Reached>) -> Result<(Reached, Attributes), Errno> {
        let node = reached.map_err(|error| if error == io::Errno::NOENT { Errno::ESTALE } else { errno(error) })?;
        let stat = node.stat().map_err(|error| if error == io::Errno::NOENT { Errno::ESTALE } else { errno(error) })?;
        if node.key(&self.keys, &stat)? != key {
            return Err(Errno::ESTALE);
        }
        Ok((node, from_statx(&stat)?))
    }
}

/// Returns whether the file system of a descriptor gives a directory another time of the last
/// change when a name in it changes. (That of `/proc`, for example, does not.)
fn stamps_each_change(fd: BorrowedFd<'_>) -> bool {
    const DO: [u32; 5] = [magic::EXT, magic::TMPFS, magic::XFS, magic::BTRFS, magic::F2FS];
    fstatfs(fd).is_ok_and(|found| DO.contains(&magic::of(&found)))
}

/// Returns one more descriptor of a node that is kept.
fn again(kept: &Arc<OwnedFd>) -> io::Result<Reached> {
    rustix::io::fcntl_dupfd_cloexec(kept.as_fd(), 0).map(Reached::itself)
}
