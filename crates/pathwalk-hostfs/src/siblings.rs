//! A directory of the host as a whole: listed, and each name looked at by the directory's descriptor, one call a name.
//!
//! The descriptor is opened beneath the root, and the directory has to be the one that was meant; and still has to be at its place when all was asked,
//! else nothing of it is told. Files of the directory's own mount are told of; of directories and links, which take more calls, and of what is mounted there
//! it is only noted that they are there.
//!
//! What it does not do: change a time of access. It takes a directory's owner or `CAP_FOWNER` to ask the kernel not to; where this process is neither, or may
//! not read the directory, that is left alone. (NFS may not obey; and whoever watches the directory sees that it is opened.)

use std::ffi::CStr;
use std::mem::MaybeUninit;

use pathwalk::{Errno, FileType, Name, Node, NodeKey, Siblings};
use rustix::fs::{OFlags, RawDir, ResolveFlags};
use rustix::io;

use crate::attributes::from_statx;
use crate::beneath::{Reached, errno, stat_in};
use crate::host_fs::{HostFs, verified};
use crate::key;
use crate::open_file::{TO_READ, lists_all_names};

const TO_LIST: OFlags = TO_READ.union(OFlags::DIRECTORY).union(OFlags::NOATIME);

/// Bytes of entries that are asked for at once: some hundred.
const LISTED_AT_ONCE: usize = 1 << 13;

/// The names of a directory, in one piece of memory, each with a NUL behind it.
struct Names {
    bytes: Vec<u8>,
    /// By inode number, since so they lie on the disk: where each begins, and whether it is a directory or a link.
    order: Vec<(u64, u32, Takes)>,
}

impl Names {
    fn push(&mut self, ino: u64, name: &CStr, takes: Takes) {
        self.order.push((ino, self.bytes.len() as u32, takes));
        self.bytes.extend_from_slice(name.to_bytes_with_nul());
    }

    fn iter(&self) -> impl Iterator<Item = (&CStr, Takes)> {
        let name = |at: u32| CStr::from_bytes_until_nul(&self.bytes[at as usize..]).expect("each was pushed with a NUL");
        self.order.iter().map(move |(_, at, takes)| (name(*at), *takes))
    }
}

/// What it takes to tell of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Takes {
    /// Its attributes.
    OneCall,
    /// A link's body or a directory's list, too.
    More,
}

impl Takes {
    fn of(kind: FileType) -> Takes {
        if matches!(kind, FileType::Directory | FileType::Symlink) { Takes::More } else { Takes::OneCall }
    }
}

/// What was found out.
#[derive(Default)]
struct Found<'a> {
    /// Files of the directory's mount.
    files: Vec<(Name<'a>, Node)>,
    /// Whatever else is there.
    others: Vec<Name<'a>>,
}

impl HostFs {
    pub(crate) fn give_siblings(&self, dir: NodeKey, siblings: &mut Siblings<'_>) -> Result<(), Errno> {
        let path = self.nodes.read().path_in(dir, b"").ok_or(Errno::ESTALE)?;
        let fd = self.root.open_below(&path, TO_LIST, ResolveFlags::empty()).map_err(errno)?;
        let opened = Reached::itself(fd);
        let stat = opened.stat().map_err(errno)?;
        if key::of(&stat)? != dir {
            return Err(Errno::ESTALE);
        }
        if seems_larger(stat.stx_size, siblings.most()) {
            return Ok(());
        }
        let Some(names) = names_of(&opened, siblings.most()).map_err(errno)? else { return Ok(()) };
        let found = self.look_at(dir, &opened, &names, siblings)?;
        verified(dir, self.root.reach(&path))?;
        self.nodes.write().hold_all(dir, &found.files).ok_or(Errno::ESTALE)?;
        siblings.give(&found.files);
        found.others.iter().for_each(|name| siblings.note(*name));
        if lists_all_names(opened.fd()) {
            siblings.are_all();
        }
        Ok(())
    }

    /// What is behind those names that are wanted.
    fn look_at<'a>(&self, dir: NodeKey, opened: &Reached, names: &'a Names, siblings: &Siblings<'_>) -> Result<Found<'a>, Errno> {
        let of_mount = self.mounts.of(dir);
        let mut found = Found::default();
        found.files.reserve(names.order.len());
        for (cstr, takes) in names.iter() {
            let name = Name::new(cstr.to_bytes())?;
            if !siblings.wants(name) {
                continue;
            }
            if takes == Takes::More {
                found.others.push(name);
                continue;
            }
            let stat = match stat_in(opened.fd(), cstr) {
                Ok(stat) => stat,
                // It has gone since.
                Err(io::Errno::NOENT) => continue,
                Err(error) => return Err(errno(error)),
            };
            let (key, attributes) = (key::of(&stat)?, from_statx(&stat)?);
            if Takes::of(attributes.kind) == Takes::More || key::mount_of(key) != key::mount_of(dir) {
                found.others.push(name);
            } else {
                found.files.push((name, Node::new(key, attributes).with_rule(self.mounts.rule_under(of_mount, attributes.kind))));
            }
        }
        Ok(found)
    }
}

/// Whether a directory of this size in bytes has probably many more names than `most`: so that large ones need not be read to find that out.
fn seems_larger(size: u64, most: usize) -> bool {
    // What a short name takes on a disk, where a directory is half empty. (Elsewhere a size is less, or says nothing.)
    const A_NAME: u64 = 64;
    size > most as u64 * A_NAME
}

/// The names in a directory but `.` and `..`, if they are at most so many.
fn names_of(dir: &Reached, most: usize) -> io::Result<Option<Names>> {
    let mut buffer = [MaybeUninit::uninit(); LISTED_AT_ONCE];
    let mut entries = RawDir::new(dir.fd(), &mut buffer);
    let mut names = Names { bytes: Vec::with_capacity(LISTED_AT_ONCE / 4), order: Vec::with_capacity(LISTED_AT_ONCE / 64) };
    while let Some(entry) = entries.next() {
        let entry = match entry {
            Err(io::Errno::INTR) => continue,
            other => other?,
        };
        if matches!(entry.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        if names.order.len() == most {
            return Ok(None);
        }
        // Of an unknown type: it is asked.
        let takes = FileType::from_mode(entry.file_type().as_raw_mode()).map_or(Takes::OneCall, Takes::of);
        names.push(entry.ino(), entry.file_name(), takes);
    }
    names.order.sort_unstable();
    Ok(Some(names))
}
