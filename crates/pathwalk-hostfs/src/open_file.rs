//! Files and directories of the host that are open: data and listings by a descriptor of their own.
//!
//! A descriptor is opened beneath the root, along the path under which the node was last found by then, and asked whether it is that node: if not,
//! `ESTALE`, and nothing of it is read. From then on the kernel answers, as for any open file, whatever becomes of the names.
//!
//! Invariant: nothing is read by a descriptor that was not verified.
//!
//! Locks: one for a directory's position, held over the calls that list it; below it the table of nodes, shared, for the path.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};
use pathwalk::{Entry, Errno, FIRST_COOKIE, FileType, NodeKey, OpenFile, SyncWhat};
use rustix::fs::{self, OFlags, RawDir, RawDirEntry, ResolveFlags, SeekFrom};
use rustix::io::{self, ReadWriteFlags, retry_on_intr};

use crate::beneath::{Reached, Root, errno};
use crate::key;
use crate::nodes::Nodes;

/// When an open file gets its descriptor of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Descriptors {
    /// When it is opened: what the host forbids, or lacks descriptors for, `open` tells.
    #[default]
    AtOpen,
    /// When it is first read or listed. Opening a node that is cached then makes no system call; what the host has against it, and that another
    /// node has its place by now (`ESTALE`), the first reading tells. For servers that open much of which they read little.
    AtFirstUse,
}

/// How long it may take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// As long as it takes, for the holder of a lease, too.
    ForHost,
    /// `EAGAIN` where the kernel does not have it all in its caches. Linux 5.12; always `EAGAIN` before.
    Never,
}

/// Neither waits for the other end of a pipe, nor becomes the terminal of this process, should the
/// node be another by now. Nor does it wait for the holder of a lease: see [`Open::after_lease`].
pub(crate) const TO_READ: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Bytes of entries that are asked for at once.
const LISTED_AT_ONCE: usize = 1 << 15;

pub(crate) struct Open {
    root: Arc<Root>,
    /// Where it was last found. It is asked when a descriptor is needed: many files are opened and not read.
    nodes: Arc<RwLock<Nodes>>,
    node: NodeKey,
    /// Verified.
    fd: OnceLock<OwnedFd>,
    /// Held while the descriptor's own position matters.
    listing: Mutex<()>,
}

impl Open {
    /// Opens no descriptor yet.
    pub(crate) fn new(root: &Arc<Root>, nodes: &Arc<RwLock<Nodes>>, node: NodeKey) -> Open {
        let (root, nodes) = (Arc::clone(root), Arc::clone(nodes));
        Open { root, nodes, node, fd: OnceLock::new(), listing: Mutex::new(()) }
    }

    /// With its descriptor.
    pub(crate) fn at_once(self, wait: Wait) -> Result<Open, Errno> {
        let fd = self.verified(wait)?;
        Ok(Open { fd: fd.into(), ..self })
    }

    fn fd(&self, wait: Wait) -> Result<&OwnedFd, Errno> {
        if let Some(fd) = self.fd.get() {
            return Ok(fd);
        }
        // Two may open it at once: one is kept.
        let fd = self.verified(wait)?;
        Ok(self.fd.get_or_init(|| fd))
    }

    fn verified(&self, wait: Wait) -> Result<OwnedFd, Errno> {
        let resolve = if wait == Wait::Never { ResolveFlags::CACHED } else { ResolveFlags::empty() };
        let path = self.nodes.read().path_in(self.node, b"").ok_or(Errno::ESTALE)?;
        let opened = match self.root.open_below(&path, TO_READ, resolve) {
            Err(io::Errno::AGAIN) if wait == Wait::ForHost => self.after_lease(&path),
            opened => opened,
        };
        let fd = opened.map_err(|error| match error {
            // What does not know the flag takes it for a mistake.
            io::Errno::INVAL if wait == Wait::Never => Errno::EAGAIN,
            io::Errno::NOENT => Errno::ESTALE,
            other => errno(other),
        })?;
        let reached = Reached::itself(fd);
        let found = key::of(&reached.stat().map_err(host)?)?;
        if found == self.node { Ok(reached.into_fd()) } else { Err(Errno::ESTALE) }
    }

    /// Opens a file of which another process has a lease: waits until that gives it back. What is
    /// no regular file by now is not waited for.
    fn after_lease(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let place = self.root.reach(path)?;
        match FileType::from_mode(place.stat()?.stx_mode.into()) {
            Some(FileType::Regular) => place.open_again(TO_READ.difference(OFlags::NONBLOCK)),
            _ => Err(io::Errno::AGAIN),
        }
    }

    /// An entry of the host as the engine wants it. The kernel's own cookies lie behind those of `.` and `..`.
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
                // It has gone since.
                None => return Ok(ControlFlow::Continue(())),
            },
        };
        let (ino, cookie) = (host.ino(), host.next_entry_cookie().saturating_add(FIRST_COOKIE).min(LAST_COOKIE));
        Ok(each(Entry { name, key: key::beside(self.node, kind, ino), ino, kind, cookie }))
    }
}

/// The greatest there is: some file systems have it behind their last entry, and it leads to the end from wherever.
const LAST_COOKIE: u64 = i64::MAX as u64;

/// The type of a name whose file system does not list it.
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
            // A file system that cannot tell, or a kernel before 4.14, where there is no such flag.
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

    /// So it is on disks. The names of `/proc`, of what is mounted when it is asked for, and of what other machines keep are not all listed.
    fn lists_all_names(&self) -> bool {
        self.fd(Wait::ForHost).is_ok_and(|fd| lists_all_names(fd.as_fd()))
    }

    fn sync(&self, what: SyncWhat) -> Result<(), Errno> {
        let fd = self.fd(Wait::ForHost)?;
        retry_on_intr(|| if what == SyncWhat::Data { fs::fdatasync(fd) } else { fs::fsync(fd) }).map_err(host)
    }
}

/// Whether the file system that a directory is of lists every name that can be looked up there.
pub(crate) fn lists_all_names(dir: BorrowedFd<'_>) -> bool {
    let keeps = |told: fs::StatFs| KEEP_THEIR_NAMES.contains(&(told.f_type as u32));
    fs::fstatfs(dir).is_ok_and(keeps) && !folds_case(dir)
}

/// Whether names that differ in case are one there, so that more can be looked up than are listed.
fn folds_case(dir: BorrowedFd<'_>) -> bool {
    // What does not have the call has no such directories.
    fs::ioctl_getflags(dir).is_ok_and(|flags| flags.bits() & FS_CASEFOLD_FL != 0)
}

/// Source: `linux/fs.h`.
const FS_CASEFOLD_FL: u32 = 0x4000_0000;

/// Types of file systems that list every name that can be looked up: ext2 to ext4, Btrfs, F2FS, tmpfs, overlayfs, squashfs, EROFS. Not XFS,
/// which may fold case, and tells that by no common call. Source: `linux/magic.h`.
const KEEP_THEIR_NAMES: [u32; 7] = [0xef53, 0x9123_683e, 0xf2f5_2010, 0x0102_1994, 0x794c_7630, 0x7371_7368, 0xe0f5_e1e2];

/// An error that has nothing to do with the way there.
fn host(error: io::Errno) -> Errno {
    Errno::from_raw(error.raw_os_error())
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Open").field("node", &self.node).field("fd", &self.fd.get().map(AsFd::as_fd)).finish()
    }
}
