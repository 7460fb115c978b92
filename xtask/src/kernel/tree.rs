//! The tmpfs: reads its whole tree, and removes it. Works by descriptors, since paths may be longer
//! than `PATH_MAX`.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use pathwalk::{AtFlags, FileType};
use rustix::fs::{self, Gid, Mode, OFlags, RawDir, Uid};
use rustix::io;

use super::acl;
use super::administer::{clear_flags, reset};
use super::calls::look as attributes;
use super::xattr;
use crate::outcome::{Contents, END, Leaf, Xattrs};

/// One entry of a listing.
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) kind: FileType,
    pub(super) ino: u64,
}

/// Returns the type of an entry.
pub(super) fn file_type(kind: fs::FileType) -> io::Result<FileType> {
    Ok(match kind {
        fs::FileType::RegularFile => FileType::Regular,
        fs::FileType::Directory => FileType::Directory,
        fs::FileType::Symlink => FileType::Symlink,
        fs::FileType::Fifo => FileType::Fifo,
        fs::FileType::Socket => FileType::Socket,
        fs::FileType::CharacterDevice => FileType::CharDevice,
        fs::FileType::BlockDevice => FileType::BlockDevice,
        fs::FileType::Unknown => return Err(io::Errno::IO),
    })
}

/// Returns the entries from the descriptor's position to the end.
pub(super) fn entries(fd: BorrowedFd<'_>) -> io::Result<Vec<Entry>> {
    let mut buffer = Vec::with_capacity(8192);
    let mut listing = RawDir::new(fd, buffer.spare_capacity_mut());
    let mut entries = Vec::new();
    while let Some(entry) = listing.next() {
        let entry = entry?;
        let kind = file_type(entry.file_type())?;
        entries.push(Entry { name: entry.file_name().to_bytes().to_vec(), kind, ino: entry.ino() });
    }
    Ok(entries)
}

/// Returns all entries without `.` and `..`, from the beginning.
fn names(fd: &OwnedFd) -> io::Result<Vec<Entry>> {
    fs::seek(fd, fs::SeekFrom::Start(0))?;
    let mut entries = entries(fd.as_fd())?;
    entries.retain(|entry| !matches!(entry.name.as_slice(), b"." | b".."));
    Ok(entries)
}

fn open(at: &OwnedFd, name: &[u8]) -> io::Result<OwnedFd> {
    fs::openat(at, name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Returns the whole tree, by paths from its root.
pub(super) fn look(root: &OwnedFd, contents: Contents) -> io::Result<BTreeMap<Vec<u8>, Leaf>> {
    let mut tree = BTreeMap::new();
    let top = open(root, b".")?;
    let node = attributes(root, b"", AtFlags::EMPTY_PATH)?;
    let (lists_of_root, xattrs) = (lists(&top, b".")?, xattr::all(root.as_fd(), b".")?);
    tree.insert(b"/".to_vec(), Leaf { node, content: Vec::new(), lists: lists_of_root, xattrs });
    let mut waiting = vec![(Vec::new(), top)];
    while let Some((path, dir)) = waiting.pop() {
        let names = match names(&dir) {
            // The directory was removed; a mount still shows it.
            Err(io::Errno::NOENT) => continue,
            names => names?,
        };
        for Entry { name, .. } in names {
            let path = [&path, &b"/"[..], &name].concat();
            let node = match attributes(&dir, &name, AtFlags::SYMLINK_NOFOLLOW) {
                // The directory's owner has no id in the map of its mount: not even root may search
                // it.
                Err(io::Errno::ACCESS) => continue,
                found => found?,
            };
            let content = match node.kind {
                FileType::Directory => {
                    match open(&dir, &name) {
                        // This directory's own owner has no id in the map.
                        Err(io::Errno::ACCESS) => {}
                        opened => waiting.push((path.clone(), opened?)),
                    }
                    Vec::new()
                }
                _ if contents == Contents::LeftOut => Vec::new(),
                FileType::Symlink => fs::readlinkat(&dir, &name, Vec::new())?.into_bytes(),
                FileType::Regular => ends(&open(&dir, &name)?, node.size)?,
                _ => Vec::new(),
            };
            let xattrs = match contents {
                Contents::Ends => xattr::all(dir.as_fd(), &name)?,
                Contents::LeftOut => Xattrs::new(),
            };
            tree.insert(path, Leaf { node, content, lists: lists(&dir, &name)?, xattrs });
        }
    }
    Ok(tree)
}

/// Returns both lists of a node. A link is not followed.
fn lists(dir: &OwnedFd, name: &[u8]) -> io::Result<[Vec<u8>; 2]> {
    acl::both(dir.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW)
}

/// Returns the beginning and the end of a file.
fn ends(file: &OwnedFd, size: u64) -> io::Result<Vec<u8>> {
    let mut data = vec![0; END as usize];
    let head = io::pread(file, &mut data, 0)?;
    data.truncate(head);
    let from = size.saturating_sub(END);
    if from > 0 {
        let mut tail = vec![0; END as usize];
        let length = io::pread(file, &mut tail, from)?;
        data.extend_from_slice(&tail[..length]);
    }
    Ok(data)
}

/// Clears the attribute bits that prevent the removal of a name and its node.
fn unlock(dir: &OwnedFd, name: &[u8], kind: FileType) -> io::Result<()> {
    clear_flags(dir)?;
    if matches!(kind, FileType::Regular | FileType::Directory) {
        clear_flags(&open(dir, name)?)?;
    }
    Ok(())
}

/// Removes all nodes, and restores the attributes of the root.
pub(crate) fn sweep(root: &OwnedFd) -> io::Result<()> {
    let mut open_dirs = vec![(open(root, b".")?, Vec::new())];
    while let Some((dir, _)) = open_dirs.last() {
        let mut below = None;
        for Entry { name, kind, .. } in names(dir)? {
            let flags = if kind == FileType::Directory { fs::AtFlags::REMOVEDIR } else { fs::AtFlags::empty() };
            let mut removed = fs::unlinkat(dir, &name, flags);
            if removed == Err(io::Errno::PERM) {
                unlock(dir, &name, kind)?;
                removed = fs::unlinkat(dir, &name, flags);
            }
            if kind != FileType::Directory {
                removed?;
            } else if removed.is_err() {
                below = Some((open(dir, &name)?, name));
                break;
            }
        }
        match below {
            Some(below) => open_dirs.push(below),
            None => {
                let emptied = open_dirs.pop();
                if let (Some((_, name)), Some((parent, _))) = (emptied, open_dirs.last()) {
                    fs::unlinkat(parent, &name, fs::AtFlags::REMOVEDIR)?;
                }
            }
        }
    }
    reset(&open(root, b".")?)?;
    fs::chownat(root, "", Some(Uid::ROOT), Some(Gid::ROOT), fs::AtFlags::EMPTY_PATH)?;
    fs::fchmod(open(root, b".")?, Mode::from_raw_mode(0o755))?;
    let now = fs::Timespec { tv_sec: 0, tv_nsec: fs::UTIME_NOW };
    fs::futimens(open(root, b".")?, &fs::Timestamps { last_access: now, last_modification: now })
}
