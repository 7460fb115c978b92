//! Files and directories of the host that are open: data and listings by a descriptor of their own.
//!
//! A descriptor is opened beneath the root, along the path under which the node was last found.
//! Then its key is compared with that of the node. If the keys differ, the result is `ESTALE`, and
//! nothing is read. From then on the kernel answers, as for any open file, even if names change.
//!
//! Invariant: nothing is read by a descriptor that was not verified.
//!
//! Locks: one for a directory's position, held over the calls that list it. Below it in the lock
//! order is the table of nodes, locked shared to read the path.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};
use pathwalk::{Entry, EntrySink, Errno, FIRST_COOKIE, FileType, InodeFlags, NodeKey, OpenFile, SyncWhat};
use rustix::fs::{self, OFlags, RawDir, RawDirEntry, ResolveFlags, SeekFrom};
use rustix::io::{self, ReadWriteFlags, retry_on_intr};

use crate::beneath::{Reached, Root, errno};
use crate::host_fs::HostFs;
use crate::key;
use crate::mounts::Mounts;
use crate::nodes::Nodes;

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

/// The flags for reading. In case the place has another node by now, an open with them neither
/// waits for the other end of a pipe nor makes a terminal the controlling terminal of this process.
/// It also does not wait for the holder of a lease: see [`Open::after_lease`].
pub(crate) const TO_READ: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// The number of bytes of entries that are read at once.
const LISTED_AT_ONCE: usize = 1 << 15;

pub(crate) struct Open {
    pub(crate) root: Arc<Root>,
    /// The table of nodes, which has the place where the node was last found. It is used only when
    /// a descriptor is needed, because many files are opened and never read.
    pub(crate) nodes: Arc<RwLock<Nodes>>,
    pub(crate) mounts: Arc<Mounts>,
    pub(crate) node: NodeKey,
    /// The descriptor, which has been verified.
    fd: OnceLock<OwnedFd>,
    /// A lock that is held while the descriptor's own position matters.
    listing: Mutex<()>,
}

impl Open {
    /// Creates an open file without a descriptor.
    pub(crate) fn new(of: &HostFs, node: NodeKey) -> Open {
        let (root, nodes, mounts) = (Arc::clone(&of.root), Arc::clone(&of.nodes), Arc::clone(&of.mounts));
        Open { root, nodes, mounts, node, fd: OnceLock::new(), listing: Mutex::new(()) }
    }

    /// Opens the descriptor now.
    pub(crate) fn at_once(self, wait: Wait) -> Result<Open, Errno> {
        let fd = self.verified(wait)?;
        Ok(Open { fd: fd.into(), ..self })
    }

    pub(crate) fn fd(&self, wait: Wait) -> Result<&OwnedFd, Errno> {
        if let Some(fd) = self.fd.get() {
            return Ok(fd);
        }
        // Two threads may open the file at once. One descriptor is kept.
        let fd = self.verified(wait)?;
        Ok(self.fd.get_or_init(|| fd))
    }

    /// Returns the flags that users set: `ENOTTY` where the host's file system has none.
    pub(crate) fn inode_flags(&self) -> Result<InodeFlags, Errno> {
        let flags = rustix::fs::ioctl_getflags(self.fd(Wait::ForHost)?).map_err(errno)?;
        Ok(InodeFlags::from_bits_retain(flags.bits()))
    }

    fn verified(&self, wait: Wait) -> Result<OwnedFd, Errno> {
        let resolve = if wait == Wait::Never { ResolveFlags::CACHED } else { ResolveFlags::empty() };
        let path = self.nodes.read().path_in(self.node, b"").ok_or(Errno::ESTALE)?;
        let opened = match self.root.open_below(&path, TO_READ, resolve) {
            Err(io::Errno::AGAIN) if wait == Wait::ForHost => self.after_lease(&path),
            opened => opened,
        };
        let fd = opened.map_err(|error| match error {
            // A kernel that does not support `RESOLVE_CACHED` reports it as `EINVAL`.
            io::Errno::INVAL if wait == Wait::Never => Errno::EAGAIN,
            io::Errno::NOENT => Errno::ESTALE,
            other => errno(other),
        })?;
        let reached = Reached::itself(fd);
        let found = key::of(&reached.stat().map_err(host)?)?;
        if found == self.node { Ok(reached.into_fd()) } else { Err(Errno::ESTALE) }
    }

    /// Opens a file on which another process has a lease: waits until the holder gives the lease
    /// back. If the node at this path is no regular file, fails with `EAGAIN` instead of waiting.
    fn after_lease(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let place = self.root.reach(path)?;
        match FileType::from_mode(place.stat()?.stx_mode.into()) {
            Some(FileType::Regular) => place.open_again(TO_READ.difference(OFlags::NONBLOCK)),
            _ => Err(io::Errno::AGAIN),
        }
    }

    /// Asks the host where data or a hole is. This moves the descriptor's own position, which
    /// matters to no read of a file.
    fn seek(&self, to: SeekFrom) -> Result<u64, Errno> {
        let fd = self.fd(Wait::ForHost)?;
        fs::seek(fd, to).map_err(host)
    }

    /// Passes an entry of the host to `each`, in the engine's form. The kernel's cookies are
    /// shifted, so that they follow those of `.` and `..`.
    fn each(
        &self,
        fd: &OwnedFd,
        host: &RawDirEntry<'_>,
        each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Errno> {
        let name = host.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            return Ok(ControlFlow::Continue(()));
        }
        let kind = match FileType::from_mode(host.file_type().as_raw_mode()) {
            Some(kind) => kind,
            None => match kind_of(fd, name)? {
                Some(kind) => kind,
                // The name was removed after it was listed.
                None => return Ok(ControlFlow::Continue(())),
            },
        };
        let (ino, cookie) = (host.ino(), host.next_entry_cookie().saturating_add(FIRST_COOKIE).min(LAST_COOKIE));
        Ok(each(Entry { name, key: key::beside(self.node, kind, ino), ino, kind, cookie }))
    }
}

/// The greatest possible cookie. Some file systems have it after their last entry. It always leads
/// to the end of the listing.
const LAST_COOKIE: u64 = i64::MAX as u64;

/// Returns the type of a name whose file system does not list types, or `None` if the name is gone.
fn kind_of(dir: &OwnedFd, name: &[u8]) -> Result<Option<FileType>, Errno> {
    match retry_on_intr(|| fs::statat(dir, name, fs::AtFlags::SYMLINK_NOFOLLOW)) {
        Ok(stat) => FileType::from_mode(stat.st_mode).map(Some).ok_or(Errno::EIO),
        Err(io::Errno::NOENT) => Ok(None),
        Err(error) => Err(host(error)),
    }
}

impl OpenFile for Open {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let fd = self.fd(Wait::ForHost)?;
        retry_on_intr(|| io::pread(fd, &mut *buffer, offset)).map_err(host)
    }

    fn try_read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let fd = self.fd(Wait::Never)?;
        let mut buffer = [IoSliceMut::new(buffer)];
        retry_on_intr(|| io::preadv2(fd, &mut buffer, offset, ReadWriteFlags::NOWAIT)).map_err(|error| match error {
            // Either the file system does not support the flag, or the kernel is older than 4.14
            // and does not have it.
            io::Errno::OPNOTSUPP | io::Errno::NOSYS => Errno::EAGAIN,
            other => host(other),
        })
    }

    fn read_dir(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        if from >= LAST_COOKIE {
            return Ok(());
        }
        let fd = self.fd(Wait::ForHost)?;
        let mut buffer = vec![MaybeUninit::uninit(); LISTED_AT_ONCE];
        let _listing = self.listing.lock();
        fs::seek(fd, SeekFrom::Start(from.saturating_sub(FIRST_COOKIE))).map_err(host)?;
        let mut entries = RawDir::new(fd, &mut buffer);
        while let Some(entry) = entries.next() {
            match entry {
                Err(io::Errno::INTR) => {}
                Err(error) => return Err(host(error)),
                Ok(entry) if self.each(fd, &entry, each)?.is_break() => break,
                Ok(_) => {}
            }
        }
        Ok(())
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
        self.fd(Wait::ForHost).is_ok_and(|fd| lists_all_names(fd.as_fd()))
    }

    fn sync(&self, what: SyncWhat) -> Result<(), Errno> {
        let fd = self.fd(Wait::ForHost)?;
        retry_on_intr(|| if what == SyncWhat::Data { fs::fdatasync(fd) } else { fs::fsync(fd) }).map_err(host)
    }
}

/// Returns whether the file system of a directory lists every name that can be looked up there.
pub(crate) fn lists_all_names(dir: BorrowedFd<'_>) -> bool {
    let keeps = |told: fs::StatFs| KEEP_THEIR_NAMES.contains(&(told.f_type as u32));
    fs::fstatfs(dir).is_ok_and(keeps) && !folds_case(dir)
}

/// Returns whether names that differ only in case are the same name there, so that more names can
/// be looked up than are listed.
fn folds_case(dir: BorrowedFd<'_>) -> bool {
    // A file system without this call has no such directories.
    fs::ioctl_getflags(dir).is_ok_and(|flags| flags.bits() & FS_CASEFOLD_FL != 0)
}

/// The flag of a case-folding directory. Source: `linux/fs.h`.
const FS_CASEFOLD_FL: u32 = 0x4000_0000;

/// The types of file systems that list every name that can be looked up: ext2 to ext4, Btrfs, F2FS,
/// tmpfs, overlayfs, squashfs, EROFS. XFS is missing because it may fold case and reports that by
/// no common call. Source: `linux/magic.h`.
const KEEP_THEIR_NAMES: [u32; 7] = [0xef53, 0x9123_683e, 0xf2f5_2010, 0x0102_1994, 0x794c_7630, 0x7371_7368, 0xe0f5_e1e2];

/// Converts an error that does not concern the path.
pub(crate) fn host(error: io::Errno) -> Errno {
    Errno::from_raw(error.raw_os_error())
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Open").field("node", &self.node).field("fd", &self.fd.get().map(AsFd::as_fd)).finish()
    }
}
