//! Files and directories of the host that are open: data and listings by descriptors.
//!
//! A descriptor is opened beneath the root, as [`opening`](crate::opening) does it, and is that of
//! the right node. If another node has its place by now, the result is `ESTALE`, and nothing is
//! read. From then on the kernel answers, as for any open file, even if names change. The
//! descriptors are those of a table that is bounded: see [`descriptors`](crate::descriptors).
//!
//! Invariant: nothing is read or written by a descriptor that was not verified.
//!
//! Locks: that of a descriptor's position is held over the calls for which it matters: listings,
//! searches for holes, and writes at the end.

use std::io::{IoSlice, IoSliceMut};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use pathwalk::{Entry, EntrySink, Errno, FallocateFlags, InodeFlags, NodeKey, OpenFile, OpenFor, SyncWhat, WriteAt, Written};
use rustix::fs::{self, SeekFrom};
use rustix::io::{self, ReadWriteFlags, retry_on_intr};

use crate::calls;
use crate::descriptors::{For, InUse, Slot};
use crate::listing::{self, LAST_COOKIE};
use crate::tree::Tree;

/// The time at which an open file gets its descriptor of the host.
///
/// [`HostFs`](crate::HostFs) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Descriptors {
    /// The time of the open. Errors of the host, such as a refusal or a lack of descriptors, are
    /// reported by `open`.
    #[default]
    AtOpen,
    /// The time of the first read or listing. Opening a cached node then makes no system call.
    /// Errors of the host, and `ESTALE` if another node has the place by now, are reported by the
    /// first read. For servers that open many files of which they read few.
    AtFirstUse,
}

/// The time that an open may take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// As long as necessary, including a wait for the holder of a lease.
    ForHost,
    /// No wait: the result is `EAGAIN` where the kernel does not have everything in its caches.
    /// Needs Linux 5.12; before that, the result is always `EAGAIN`.
    Never,
}

pub(crate) struct Open {
    pub(crate) tree: Arc<Tree>,
    pub(crate) node: NodeKey,
    purpose: For,
    /// The place of the descriptor, which is opened when one is needed: many files are opened and
    /// never read.
    slot: Arc<Slot>,
}

impl Open {
    /// Creates an open file without a descriptor.
    pub(crate) fn new(tree: &Arc<Tree>, node: NodeKey, what_for: OpenFor) -> Open {
        let purpose = For::of(what_for);
        Open { tree: Arc::clone(tree), node, purpose, slot: tree.open.begin(node, purpose) }
    }

    /// Creates an open file with a descriptor that was just opened and verified.
    pub(crate) fn by(tree: &Arc<Tree>, node: NodeKey, what_for: OpenFor, fd: OwnedFd) -> Open {
        let open = Open::new(tree, node, what_for);
        tree.open.give(&open.slot, fd);
        open
    }

    /// Opens the descriptor now. If another open file of the node has one, verifies that the node
    /// is still at its place, as an open does.
    pub(crate) fn at_once(self, wait: Wait) -> Result<Open, Errno> {
        if self.slot.is_open() {
            self.tree.is_there(self.node, wait)?;
        }
        self.fd(wait)?;
        Ok(self)
    }

    pub(crate) fn fd(&self, wait: Wait) -> Result<InUse<'_>, Errno> {
        self.tree.open.fd(&self.slot, wait, || self.tree.open_node(self.node, self.purpose, wait))
    }

    /// Returns the flags that users set: `ENOTTY` where the host's file system has none.
    pub(crate) fn inode_flags(&self) -> Result<InodeFlags, Errno> {
        let flags = fs::ioctl_getflags(self.fd(Wait::ForHost)?).map_err(host)?;
        Ok(InodeFlags::from_bits_retain(flags.bits()))
    }

    /// Sets these flags, and clears the others that have names. Those without belong to the host's
    /// file system: ext4, for example, would convert a file.
    pub(crate) fn set_inode_flags(&self, to: InodeFlags) -> Result<(), Errno> {
        let fd = self.fd(Wait::ForHost)?;
        let named = InodeFlags::all().iter_names().fold(0, |bits, (_, flag)| bits | flag.bits());
        let before = fs::ioctl_getflags(&fd).map_err(host)?.bits();
        fs::ioctl_setflags(fd, fs::IFlags::from_bits_retain(to.bits() | before & !named)).map_err(host)
    }

    pub(crate) fn generation(&self) -> Result<u32, Errno> {
        calls::generation(self.fd(Wait::ForHost)?.as_fd()).map_err(host)
    }

    /// Returns `EFBIG` if the host's file system has no files of this size. `EMFILE` or `ENFILE` if
    /// there is no descriptor for the question.
    pub(crate) fn check_size(&self, size: u64) -> Result<(), Errno> {
        match self.seek(SeekFrom::Start(size)) {
            Err(Errno::EINVAL) => Err(Errno::EFBIG),
            Err(errno @ (Errno::EMFILE | Errno::ENFILE)) => Err(errno),
            _ => Ok(()),
        }
    }

    /// Returns `EBADF` unless the file is open for writing.
    fn writable(&self) -> Result<(), Errno> {
        if self.purpose == For::Reading { Err(Errno::EBADF) } else { Ok(()) }
    }

    /// Asks the host where data or a hole is. This moves the descriptor's own position.
    fn seek(&self, to: SeekFrom) -> Result<u64, Errno> {
        let fd = self.fd(Wait::ForHost)?;
        let _position = self.slot.moving();
        fs::seek(fd, to).map_err(host)
    }

    /// Writes at the end. The kernel returns the end in the descriptor's position.
    fn append(&self, data: &[u8]) -> Result<Written, Errno> {
        /// The offset that stands for the position.
        const POSITION: u64 = u64::MAX;
        let fd = self.fd(Wait::ForHost)?;
        let _position = self.slot.moving();
        let _clearing = self.slot.clearing()?;
        let data = [IoSlice::new(data)];
        let append = || retry_on_intr(|| io::pwritev2(&fd, &data, POSITION, ReadWriteFlags::APPEND));
        let bytes = match append() {
            // The kernel adds the length to the position before it looks where the end is, and
            // refuses a sum past 2⁶³−1.
            Err(io::Errno::INVAL) => {
                fs::seek(&fd, SeekFrom::Start(0)).map_err(host)?;
                append()
            }
            written => written,
        };
        let bytes = bytes.map_err(host)?;
        Ok(Written { bytes, end: fs::tell(&fd).map_err(host)? })
    }

    /// Calls `call` with descriptors to read this file and to write another one, which the engine
    /// has open for writing.
    fn with_target<T>(&self, to: NodeKey, call: impl Fn(InUse<'_>, InUse<'_>) -> io::Result<T>) -> Result<T, Errno> {
        let (slot, purpose) = self.tree.open.writing(to).ok_or(Errno::EBADF)?;
        let target = self.tree.open.fd(&slot, Wait::ForHost, || self.tree.open_node(to, purpose, Wait::ForHost))?;
        let from = self.fd(Wait::ForHost)?;
        let _clearing = slot.clearing()?;
        let _changing = self.tree.changed.begin();
        call(from, target).map_err(host)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.tree.open.end(self.node);
    }
}

impl OpenFile for Open {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let fd = self.fd(Wait::ForHost)?;
        retry_on_intr(|| io::pread(&fd, &mut *buffer, offset)).map_err(host)
    }

    fn try_read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let fd = self.fd(Wait::Never)?;
        let mut buffer = [IoSliceMut::new(buffer)];
        retry_on_intr(|| io::preadv2(&fd, &mut buffer, offset, ReadWriteFlags::NOWAIT)).map_err(|error| match error {
            // Either the file system does not support the flag, or the kernel is older than 4.14
            // and does not have it.
            io::Errno::OPNOTSUPP | io::Errno::NOSYS => Errno::EAGAIN,
            other => host(other),
        })
    }

    fn write_at(&self, data: &[u8], at: WriteAt) -> Result<Written, Errno> {
        self.writable()?;
        let _changing = self.tree.changed.begin();
        match at {
            WriteAt::End => self.append(data),
            WriteAt::Offset(offset) => {
                self.slot.close_if_appending();
                let fd = self.fd(Wait::ForHost)?;
                let _clearing = self.slot.clearing()?;
                let bytes = retry_on_intr(|| io::pwrite(&fd, data, offset)).map_err(host)?;
                Ok(Written { bytes, end: offset.saturating_add(bytes as u64) })
            }
        }
    }

    /// Asks the host whether there is a position behind the first byte: there is none behind the
    /// greatest size of a file. A write of nothing is carried out: ext4 refuses it for a file that
    /// became immutable.
    fn check_write(&self, length: usize, at: WriteAt) -> Result<(), Errno> {
        if length == 0 {
            self.writable()?;
            let fd = self.fd(Wait::ForHost)?;
            return retry_on_intr(|| io::pwrite(&fd, &[], 0)).map(drop).map_err(host);
        }
        match at {
            WriteAt::Offset(offset @ FAR..) => match self.seek(SeekFrom::Start(offset.saturating_add(1))) {
                Err(Errno::EINVAL) => Err(Errno::EFBIG),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Returns whether the host lets the file be opened so, where changes are carried out. Data
    /// goes through the host's caches in any case.
    fn allows_direct(&self) -> bool {
        self.tree.writable().is_ok() && self.tree.allows_direct(self.node)
    }

    fn fallocate(&self, mode: FallocateFlags, offset: u64, length: u64) -> Result<(), Errno> {
        self.writable()?;
        let _changing = self.tree.changed.begin();
        let mode = fs::FallocateFlags::from_bits_retain(mode.bits());
        let fd = self.fd(Wait::ForHost)?;
        let _clearing = self.slot.clearing()?;
        retry_on_intr(|| fs::fallocate(&fd, mode, offset, length)).map_err(host)
    }

    fn copy_range(&self, offset: u64, to: NodeKey, at: u64, length: usize) -> Result<usize, Errno> {
        let copied = self
            .with_target(to, |from, to| fs::copy_file_range(from, Some(&mut offset.clone()), to, Some(&mut at.clone()), length));
        match copied {
            // The files are on different mounts or of different file systems of the host.
            Err(Errno::EXDEV | Errno::ENOSYS) => Err(Errno::EOPNOTSUPP),
            copied => copied,
        }
    }

    /// Returns true where changes are carried out: a file system that shares no data refuses each
    /// call.
    fn can_clone(&self) -> bool {
        self.tree.writable().is_ok()
    }

    fn clone_range(&self, offset: u64, to: NodeKey, at: u64, length: u64) -> Result<(), Errno> {
        self.with_target(to, |from, to| calls::clone_range((from.as_fd(), offset), (to.as_fd(), at), length))
    }

    fn read_dir(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        if from >= LAST_COOKIE {
            return Ok(());
        }
        let fd = self.fd(Wait::ForHost)?;
        let mut position = self.slot.position();
        listing::list((fd.as_fd(), self.node), &mut position, from, each)
    }

    /// Lists a stretch, and asks for the attributes of each name below the same descriptor.
    fn read_dir_with_nodes(&self, from: u64, sink: &mut EntrySink<'_>) -> Result<(), Errno> {
        self.list_with_nodes(from, sink)
    }

    /// Returns where the host has the next data.
    fn seek_data(&self, offset: u64, _size: u64) -> Result<u64, Errno> {
        self.seek(SeekFrom::Data(offset))
    }

    /// Returns where the host has the next hole.
    fn seek_hole(&self, offset: u64, _size: u64) -> Result<u64, Errno> {
        self.seek(SeekFrom::Hole(offset))
    }

    /// Returns whether every name that can be looked up is listed, as on most disk file systems.
    /// `/proc`, automounted directories and network file systems do not list all names.
    fn lists_all_names(&self) -> bool {
        let keeps_names = self.tree.mounts.of(self.node).keeps_names;
        keeps_names && self.fd(Wait::ForHost).is_ok_and(|fd| !listing::folds_case(fd.as_fd()))
    }

    fn sync(&self, what: SyncWhat) -> Result<(), Errno> {
        let fd = self.fd(Wait::ForHost)?;
        retry_on_intr(|| if what == SyncWhat::Data { fs::fdatasync(&fd) } else { fs::fsync(&fd) }).map_err(host)
    }
}

/// An offset that is within the greatest size of a file of any file system, in bytes.
const FAR: u64 = 1 << 31;

/// Converts an error that does not concern the path.
pub(crate) fn host(error: io::Errno) -> Errno {
    Errno::from_raw(error.raw_os_error())
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Open").field("node", &self.node).field("purpose", &self.purpose).finish_non_exhaustive()
    }
}
