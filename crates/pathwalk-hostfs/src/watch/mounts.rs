//! The mounts below the root, and how they change.
//!
//! The kernel reports that something in the namespace was mounted, unmounted or mounted otherwise.
//! What that was is found by a comparison of the list with the last one. Mounts elsewhere do not
//! count.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::{SeekFrom, seek};

use crate::mountinfo::{self, Line};

/// The list of mounts of the namespace in which the watch began.
pub(super) struct MountList {
    file: Option<File>,
    /// For each mount below the root, its whole line.
    below: HashMap<u64, Vec<u8>>,
}

impl MountList {
    pub(super) fn new(root: BorrowedFd<'_>) -> MountList {
        let file = File::open("/proc/thread-self/mountinfo").ok();
        let mut list = MountList { file, below: HashMap::new() };
        list.below = list.read(root).unwrap_or_default();
        list
    }

    /// Returns the file that becomes readable with `POLLPRI` when mounts change.
    pub(super) fn file(&self) -> Option<File> {
        self.file.as_ref()?.try_clone().ok()
    }

    /// Returns the ids of the mounts below the root that came, went or changed since the last call.
    pub(super) fn changed(&mut self, root: BorrowedFd<'_>) -> HashSet<u64> {
        let Some(now) = self.read(root) else { return HashSet::new() };
        let before = std::mem::replace(&mut self.below, now);
        let differs = |(id, line): (&u64, &Vec<u8>), other: &HashMap<u64, Vec<u8>>| (other.get(id) != Some(line)).then_some(*id);
        let went = before.iter().filter_map(|entry| differs(entry, &self.below));
        let came = self.below.iter().filter_map(|entry| differs(entry, &before));
        went.chain(came).collect()
    }

    fn read(&mut self, root: BorrowedFd<'_>) -> Option<HashMap<u64, Vec<u8>>> {
        let file = self.file.as_mut()?;
        let before = path_of(root);
        seek(&*file, SeekFrom::Start(0)).ok()?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).ok()?;
        // While a directory above the root is moved, all mounts count.
        let top = before.filter(|path| path_of(root).as_ref() == Some(path));
        Some(below(&text, top.as_deref()))
    }
}

/// Returns the mounts at or below a path, or all.
fn below(text: &[u8], top: Option<&[u8]>) -> HashMap<u64, Vec<u8>> {
    let is_below = |line: &Line| {
        let Some(top) = top.map(|top| top.strip_suffix(b"/").unwrap_or(top)) else { return true };
        line.point.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    };
    let lines = text.split(|byte| *byte == b'\n');
    lines.flat_map(|raw| Some((mountinfo::parse(raw).pop().filter(is_below)?.id, raw.to_vec()))).collect()
}

/// Returns the path of a node below the root, as this process sees it at the moment: for messages.
pub(super) fn path_below(root: BorrowedFd<'_>, node: BorrowedFd<'_>) -> Option<Box<[u8]>> {
    let (root, node) = (path_of(root)?, path_of(node)?);
    let below = node.strip_prefix(root.strip_suffix(b"/").unwrap_or(&root))?;
    Some(below.strip_prefix(b"/").unwrap_or(below).into())
}

/// Returns the path of a directory, as this process sees it.
fn path_of(root: BorrowedFd<'_>) -> Option<Vec<u8>> {
    let link = format!("/proc/thread-self/fd/{}", root.as_raw_fd());
    let path = rustix::fs::readlink(link, Vec::new()).ok()?.into_bytes();
    path.starts_with(b"/").then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_elsewhere_do_not_count() {
        let text = b"1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:3 / /srv/www/a rw - tmpfs t rw\n\
            3 1 0:4 / /srv/www2 rw - tmpfs t rw\n4 1 0:5 / /srv/www rw - tmpfs t rw\n";
        let ids = |top: Option<&[u8]>| {
            let mut ids: Vec<u64> = below(text, top).into_keys().collect();
            ids.sort_unstable();
            ids
        };
        assert_eq!(ids(Some(b"/srv/www")), [2, 4]);
        assert_eq!(ids(Some(b"/")), [1, 2, 3, 4]);
        assert_eq!(ids(None), [1, 2, 3, 4]);
    }
}
