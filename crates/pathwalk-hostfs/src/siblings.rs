//! Reads a directory of the host as a whole, or a stretch of it: lists it, and calls `statx` on
//! each name below the directory's descriptor, one call for a name.
//!
//! The descriptor is opened beneath the root and has to be that of the right directory. After the
//! last call, the directory still has to be at its place; otherwise nothing is handed out. Files on
//! the directory's own mount are handed out. Directories and links take more calls, and something
//! else may be mounted on a name. Of these, only the presence is noted.
//!
//! What it does not do: change an access time. The kernel accepts `O_NOATIME` only from a
//! directory's owner or with `CAP_FOWNER`. Where this process has neither, or may not read the
//! directory, the directory is not read as a whole. (NFS may ignore the flag. A process that
//! watches the directory sees that it is opened.)

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};

use pathwalk::{Attributes, EntrySink, Errno, FileType, Freshness, Name, Node, NodeKey, OpenFile, Siblings};
use rustix::fs::{OFlags, RawDir, ResolveFlags};
use rustix::io;

use crate::attributes::from_statx;
use crate::beneath::{Reached, errno, stat_in};
use crate::host_fs::HostFs;
use crate::key;
use crate::listing::folds_case;
use crate::open_file::{Open, Wait};
use crate::opening::TO_READ;
use crate::tree::Tree;
use crate::watch::fanotify::Begun;

const TO_LIST: OFlags = TO_READ.union(OFlags::DIRECTORY).union(OFlags::NOATIME);

/// The number of bytes of entries that are read at once: some hundred entries.
const LISTED_AT_ONCE: usize = 1 << 13;

/// The names of a directory, in one piece of memory, each followed by a NUL.
#[derive(Default)]
struct Names {
    bytes: Vec<u8>,
    /// For each name: inode number, the start of the name in `bytes`, and whether it is a directory
    /// or a link. It is sorted by inode number, because inodes lie on the disk in that order.
    order: Vec<(u64, u32, Takes)>,
}

impl Names {
    fn push(&mut self, ino: u64, name: &[u8], takes: Takes) {
        self.order.push((ino, self.bytes.len() as u32, takes));
        self.bytes.extend_from_slice(name);
        self.bytes.push(0);
    }

    fn iter(&self) -> impl Iterator<Item = (&CStr, Takes)> {
        let name = |at: u32| CStr::from_bytes_until_nul(&self.bytes[at as usize..]).expect("each was pushed with a NUL");
        self.order.iter().map(move |(_, at, takes)| (name(*at), *takes))
    }
}

/// The number of calls that it takes to load a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Takes {
    /// One call, for its attributes.
    OneCall,
    /// More calls: for a link's body or a directory's list, too.
    More,
}

impl Takes {
    fn of(kind: FileType) -> Takes {
        if matches!(kind, FileType::Directory | FileType::Symlink) { Takes::More } else { Takes::OneCall }
    }
}

/// The result of looking at the names.
#[derive(Default)]
struct Found<'a> {
    /// The files on the directory's mount.
    files: Vec<(Name<'a>, Node)>,
    /// All other names that are present.
    others: Vec<Name<'a>>,
}

impl HostFs {
    pub(crate) fn give_siblings(&self, dir: NodeKey, siblings: &mut Siblings<'_>) -> Result<(), Errno> {
        if self.tree.freshness(dir) != Freshness::Stable {
            return Ok(());
        }
        let path = self.tree.nodes.read().path_in(dir, b"").ok_or(Errno::ESTALE)?;
        let fd = self.tree.root.open_below(&path, TO_LIST, ResolveFlags::empty()).map_err(errno)?;
        let opened = Reached::itself(fd);
        let stat = opened.stat().map_err(errno)?;
        if opened.key(&self.tree.keys, &stat)? != dir {
            return Err(Errno::ESTALE);
        }
        if seems_larger(stat.stx_size, siblings.most()) {
            return Ok(());
        }
        let Some(names) = names_of(&opened, siblings.most()).map_err(errno)? else { return Ok(()) };
        let begun = self.tree.begun();
        let mut found = look_at(dir, opened.fd(), &self.tree, &names, |name| siblings.wants(name))?;
        self.tree.verified(dir, self.tree.root.reach(&path))?;
        self.tree.nodes.write().hold_all(dir, &found.files).ok_or(Errno::ESTALE)?;
        self.tree.read_again(opened.fd(), begun.as_ref(), &mut found.files);
        siblings.give(&found.files);
        found.others.iter().for_each(|name| siblings.note(*name));
        if self.tree.mounts.of(dir).keeps_names && !folds_case(opened.fd()) {
            siblings.are_all();
        }
        Ok(())
    }
}

impl Open {
    /// Lists a stretch of the directory, and hands out the nodes that the engine needs: those of
    /// files on the directory's mount. If the directory is not at its place any more, none is.
    pub(crate) fn list_with_nodes(&self, from: u64, sink: &mut EntrySink<'_>) -> Result<(), Errno> {
        let mut names = Names::default();
        self.read_dir(from, &mut |entry| {
            let flow = sink.push(entry);
            if Takes::of(entry.kind) == Takes::OneCall && Name::new(entry.name).is_ok_and(|name| sink.wants(name)) {
                names.push(entry.ino, entry.name, Takes::OneCall);
            }
            flow
        })?;
        names.order.sort_unstable();
        // The engine looks up what is not given, and reports the error of that.
        _ = self.give_nodes(&names, sink);
        Ok(())
    }

    fn give_nodes(&self, names: &Names, sink: &mut EntrySink<'_>) -> Result<(), Errno> {
        if names.order.is_empty() || self.tree.freshness(self.node) != Freshness::Stable {
            return Ok(());
        }
        let path = self.tree.nodes.read().path_in(self.node, b"").ok_or(Errno::ESTALE)?;
        let begun = self.tree.begun();
        let fd = self.fd(Wait::ForHost)?;
        let mut found = look_at(self.node, fd.as_fd(), &self.tree, names, |_| true)?;
        self.tree.verified(self.node, self.tree.root.reach(&path))?;
        self.tree.nodes.write().hold_all(self.node, &found.files).ok_or(Errno::ESTALE)?;
        self.tree.read_again(fd.as_fd(), begun.as_ref(), &mut found.files);
        sink.give(&found.files);
        Ok(())
    }
}

impl Tree {
    /// Reads the attributes once more of files that were just handed out, where they may be older
    /// than an event that was dropped. Where that fails, the engine is to ask.
    fn read_again(&self, dir: BorrowedFd<'_>, since: Option<&Begun>, files: &mut [(Name<'_>, Node)]) {
        for (name, node) in files.iter_mut().filter(|(_, node)| self.may_be_older(since, node.key)) {
            match self.attributes_in(dir, *name, node.key) {
                Ok(attributes) => node.attributes = attributes,
                Err(_) => self.report_attributes(node.key),
            }
        }
    }

    /// Returns the attributes of the node that has this name in a directory: `ESTALE` if that is
    /// not the one with this key.
    fn attributes_in(&self, dir: BorrowedFd<'_>, name: Name<'_>, key: NodeKey) -> Result<Attributes, Errno> {
        let name = CString::new(name.bytes()).map_err(|_| Errno::EINVAL)?;
        let stat = stat_in(dir, &name).map_err(errno)?;
        if self.keys.of(dir, &name, &stat)? == key { from_statx(&stat) } else { Err(Errno::ESTALE) }
    }
}

/// Loads the nodes of those names that the engine needs.
fn look_at<'a>(
    dir: NodeKey,
    opened: BorrowedFd<'_>,
    tree: &Tree,
    names: &'a Names,
    wants: impl Fn(Name<'_>) -> bool,
) -> Result<Found<'a>, Errno> {
    let of_mount = tree.mounts.of(dir);
    let mut found = Found::default();
    found.files.reserve(names.order.len());
    let mut last = None;
    for (cstr, takes) in names.iter() {
        let name = Name::new(cstr.to_bytes())?;
        if !wants(name) {
            continue;
        }
        if takes == Takes::More {
            found.others.push(name);
            continue;
        }
        let stat = match stat_in(opened, cstr) {
            Ok(stat) => stat,
            // The name was removed after it was listed.
            Err(io::Errno::NOENT) => continue,
            Err(error) => return Err(errno(error)),
        };
        let key = match tree.keys.of_one(opened, cstr, &stat, &mut last) {
            Err(Errno::ENOENT) => continue,
            key => key?,
        };
        let attributes = from_statx(&stat)?;
        if Takes::of(attributes.kind) == Takes::More
            || key::place_of(key) != key::place_of(dir)
            || !tree.is_ready(dir, &attributes)
        {
            found.others.push(name);
        } else {
            found.files.push((name, Node::new(key, attributes).with_rule(tree.mounts.rule_under(of_mount, attributes.kind))));
        }
    }
    Ok(found)
}

/// Returns whether a directory of this size in bytes probably has many more names than `most`. This
/// avoids reading large directories only to find that out.
fn seems_larger(size: u64, most: usize) -> bool {
    // The size that a short name takes on a disk in a half-empty directory. (On some file systems
    // the size is less, or unrelated to the number of names.)
    const A_NAME: u64 = 64;
    size > most as u64 * A_NAME
}

/// Returns the names in a directory except `.` and `..`, or `None` if there are more than `most`.
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
        // A name of unknown type is looked at, and its type is then known.
        let takes = FileType::from_mode(entry.file_type().as_raw_mode()).map_or(Takes::OneCall, Takes::of);
        names.push(entry.ino(), entry.file_name().to_bytes(), takes);
    }
    names.order.sort_unstable();
    Ok(Some(names))
}
