//! The open of a node that is neither a file nor a directory: a named pipe, a device, a socket.
//!
//! The right to open it was checked. Source: `init_special_inode` of Linux, and the `open` of the
//! operations that it sets.

use super::open::Asks;
use crate::Errno;
use crate::abi::OpenFlags;
use crate::attr::FileType;
use crate::cache::icache::inode::key_of;
use crate::fs_api::{OpenFile, OpenFor, SpecialFiles};
use crate::memory::slot::InodeId;
use crate::special::pipes::Pipes;
use crate::special::words::Patience;
use crate::walk::Env;

/// Opens a node of such a type, on which the caller has a pin for as long as the file is open.
/// `ENXIO` for a socket, and for a device that no driver has; errors of [`Pipes::open`]; `EAGAIN`
/// if the caller must not wait, and the open may.
pub(super) fn open_special(
    env: &Env<'_>,
    (inode, kind): (InodeId, FileType),
    (flags, mut what_for): (OpenFlags, OpenFor),
    asks: Asks,
) -> Result<Box<dyn OpenFile>, Errno> {
    what_for.set(OpenFor::NONBLOCK, flags.contains(OpenFlags::NONBLOCK));
    let key = key_of(env.caches().inodes.record(inode));
    let superblock = env.trees().superblock(inode);
    match superblock.fs.special_files() {
        SpecialFiles::OfEngine => {}
        SpecialFiles::OfFileSystem if asks == Asks::CachesOnly => return superblock.fs.try_open(key, what_for),
        SpecialFiles::OfFileSystem => return superblock.fs.open(key, what_for),
        SpecialFiles::Refused => return Err(Errno::ENXIO),
    }
    let node = (superblock.id, key);
    // The open may wait for long.
    drop(superblock);
    let special = &env.world.special;
    match kind {
        FileType::Fifo => Pipes::open(&special.pipes, node, what_for, patience(flags, asks)),
        FileType::CharDevice | FileType::BlockDevice if special.drivers.are_none() => Err(Errno::ENXIO),
        FileType::CharDevice | FileType::BlockDevice if asks == Asks::CachesOnly => Err(Errno::EAGAIN),
        FileType::CharDevice | FileType::BlockDevice => {
            special.drivers.open(env.trees().stat(inode)?.device_node, kind, what_for)
        }
        _ => Err(Errno::ENXIO),
    }
}

fn patience(flags: OpenFlags, asks: Asks) -> Patience {
    match asks {
        _ if flags.contains(OpenFlags::NONBLOCK) => Patience::Nonblocking,
        Asks::CachesOnly => Patience::OpensAtOnce,
        Asks::FileSystem => Patience::Waits,
    }
}
