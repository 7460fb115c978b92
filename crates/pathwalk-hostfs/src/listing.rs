//! Lists directories of the host, in the engine's form.

use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;

use pathwalk::{Entry, Errno, FIRST_COOKIE, FileType, NodeKey};
use rustix::fs::{self, RawDir, RawDirEntry, SeekFrom};
use rustix::io::{self, retry_on_intr};

use crate::descriptors::Position;
use crate::key;
use crate::magic;
use crate::open_file::host;

/// The number of bytes of entries that are read at once.
const LISTED_AT_ONCE: usize = 1 << 15;

/// The greatest possible cookie. Some file systems have it after their last entry. It always leads
/// to the end of the listing.
pub(crate) const LAST_COOKIE: u64 = i64::MAX as u64;

/// Passes the entries of the directory `of` behind a cookie to `each`. The caller holds the lock of
/// the descriptor's position.
pub(crate) fn list(
    (fd, of): (BorrowedFd<'_>, NodeKey),
    position: &mut Position,
    from: u64,
    each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
) -> Result<(), Errno> {
    // Not on the heap: glibc would clean up its heap at each release of so much.
    let mut buffer = [MaybeUninit::uninit(); LISTED_AT_ONCE];
    let from = from.saturating_sub(FIRST_COOKIE);
    if from != 0 || *position != Position::Start {
        fs::seek(fd, SeekFrom::Start(from)).map_err(host)?;
    }
    *position = Position::Moved;
    let mut entries = RawDir::new(fd, &mut buffer);
    while let Some(entry) = entries.next() {
        match entry {
            Err(io::Errno::INTR) => {}
            Err(error) => return Err(host(error)),
            Ok(entry) if pass((fd, of), &entry, each)?.is_break() => break,
            Ok(_) => {}
        }
    }
    Ok(())
}

/// Passes an entry of the host to `each`, in the engine's form. The kernel's cookies are shifted,
/// so that they follow those of `.` and `..`.
fn pass(
    (fd, of): (BorrowedFd<'_>, NodeKey),
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
    Ok(each(Entry { name, key: key::beside(of, kind, ino), ino, kind, cookie }))
}

/// Returns the type of a name whose file system does not list types, or `None` if the name is gone.
fn kind_of(dir: BorrowedFd<'_>, name: &[u8]) -> Result<Option<FileType>, Errno> {
    match retry_on_intr(|| fs::statat(dir, name, fs::AtFlags::SYMLINK_NOFOLLOW)) {
        Ok(stat) => FileType::from_mode(stat.st_mode).map(Some).ok_or(Errno::EIO),
        Err(io::Errno::NOENT) => Ok(None),
        Err(error) => Err(host(error)),
    }
}

/// Returns whether a file system of this type lists every name that can be looked up, but where
/// [it folds case](folds_case).
pub(crate) fn keeps_names(of: &fs::StatFs) -> bool {
    KEEP_THEIR_NAMES.contains(&magic::of(of))
}

/// Returns whether names that differ only in case are the same name in this directory, so that more
/// names can be looked up than are listed.
pub(crate) fn folds_case(dir: BorrowedFd<'_>) -> bool {
    // A file system without this call has no such directories.
    fs::ioctl_getflags(dir).is_ok_and(|flags| flags.bits() & FS_CASEFOLD_FL != 0)
}

/// The flag of a case-folding directory. Source: `linux/fs.h`.
const FS_CASEFOLD_FL: u32 = 0x4000_0000;

/// The types of file systems that list every name that can be looked up: ext2 to ext4, Btrfs, F2FS,
/// tmpfs, overlayfs, squashfs, EROFS. XFS is missing because it may fold case and reports that by
/// no common call.
const KEEP_THEIR_NAMES: [u32; 7] =
    [magic::EXT, magic::BTRFS, magic::F2FS, magic::TMPFS, magic::OVERLAYFS, magic::SQUASHFS, magic::EROFS];
