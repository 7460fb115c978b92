//! The journal of a commit onto the base: what is to be done, once all of it is staged.
//!
//! It is a file in the staging directory, in the binary format of `postcard`. What always holds:
//! each step names what it works on so that it can tell whether it was done already, after any
//! crash and however often it is repeated. All paths are relative to the root of the base, without
//! a slash at either end; the root's own is empty.

use pathwalk::{Attributes, Errno, FileType, Timestamp};
use serde::{Deserialize, Serialize};

use crate::births::Births;

/// The version of the format.
const VERSION: u8 = 2;

/// What is to be done, in this order.
#[derive(Serialize, Deserialize, Default, Debug)]
pub(super) struct Journal {
    /// The number of the list of branches.
    pub(super) list: u64,
    /// The name of the branch.
    pub(super) branch: String,
    /// The number of the branch, which no other one of the list ever has.
    pub(super) number: u64,
    /// The names of nodes that get second ones in the staging directory, which could not be given
    /// before their flags are cleared.
    pub(super) links: Vec<Take>,
    /// The names that go, those in the deepest directories first.
    pub(super) takes: Vec<Take>,
    /// The names that come, those in the highest directories first.
    pub(super) puts: Vec<Put>,
    /// Names in the staging directory that go before flags are set: those of nodes that live on, or
    /// all.
    pub(super) surplus: Vec<String>,
    /// The nodes that get other contents or attributes.
    pub(super) nodes: Vec<NodeChange>,
    /// What nodes have that moves of names change, to be put back if all is undone.
    pub(super) before: Vec<Before>,
}

/// The time and the flags of a node before all steps.
#[derive(Serialize, Deserialize, Debug)]
pub(super) struct Before {
    /// Its path then.
    pub(super) path: Vec<u8>,
    pub(super) node: Identity,
    pub(super) mtime: Time,
    /// Its flags, if they forbid changes, so that they are cleared.
    pub(super) flags: Option<u32>,
}

/// A name that moves into the staging directory, or whose node gets a second one there.
#[derive(Serialize, Deserialize, Debug)]
pub(super) struct Take {
    pub(super) dir: Vec<u8>,
    pub(super) name: Vec<u8>,
    pub(super) node: Identity,
    /// Its name in the staging directory.
    pub(super) staged: String,
}

/// A name that moves out of the staging directory.
#[derive(Serialize, Deserialize, Debug)]
pub(super) struct Put {
    /// Its name in the staging directory.
    pub(super) staged: String,
    pub(super) node: Identity,
    pub(super) dir: Vec<u8>,
    /// The directory.
    pub(super) into: Identity,
    pub(super) name: Vec<u8>,
}

/// A node that gets other contents or attributes.
#[derive(Serialize, Deserialize, Debug)]
pub(super) struct NodeChange {
    pub(super) at: Where,
    pub(super) node: Identity,
    pub(super) data: Option<NewData>,
    pub(super) setting: Setting,
}

/// A way to a node, after all names are in their places.
#[derive(Serialize, Deserialize, Debug)]
pub(super) enum Where {
    /// A second name in the staging directory.
    Staged(String),
    Path(Vec<u8>),
}

/// The new data of a file that keeps its inode.
#[derive(Serialize, Deserialize, Debug)]
pub(super) struct NewData {
    pub(super) size: u64,
    /// The ranges that change, in order.
    pub(super) ranges: Vec<(u64, u64, Fill)>,
    /// The file in the staging directory that has the data, at the same offsets.
    pub(super) staged: String,
}

/// The new content of a range.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fill {
    Data,
    Hole,
    /// Space that is reserved and reads as zeroes.
    Reserved,
}

/// The attributes that a node gets. What is absent stays.
#[derive(Serialize, Deserialize, Default, Debug)]
pub(super) struct Setting {
    pub(super) owner: Option<(u32, u32)>,
    pub(super) mode: Option<u16>,
    pub(super) access: Option<NewList>,
    pub(super) default: Option<NewList>,
    /// Extended attributes, each with its value, or removed.
    pub(super) xattrs: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// The flags that users set.
    pub(super) flags: Option<u32>,
    pub(super) atime: Option<Time>,
    pub(super) mtime: Option<Time>,
}

/// An access control list in the kernel's format; `None` to remove it.
pub(super) type NewList = Option<Vec<u8>>;

/// A time: seconds and nanoseconds.
pub(super) type Time = (i64, u32);

/// What tells a node of the base from all others.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Identity {
    inode: u64,
    born: Option<Time>,
    is_directory: bool,
}

impl Identity {
    pub(super) fn of(attributes: &Attributes, births: Births) -> Identity {
        let is_directory = attributes.kind == FileType::Directory;
        Identity { inode: attributes.ino, born: births.of(attributes).map(time), is_directory }
    }

    pub(super) fn is_directory(self) -> bool {
        self.is_directory
    }
}

pub(super) fn time(time: Timestamp) -> Time {
    (time.seconds, time.nanoseconds)
}

pub(super) fn timestamp((seconds, nanoseconds): Time) -> Timestamp {
    Timestamp { seconds, nanoseconds }
}

impl Journal {
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, Errno> {
        postcard::to_stdvec(&(VERSION, self)).map_err(|_| Errno::EIO)
    }

    /// Reads a journal: `EINVAL` if it is of another version, or damaged.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Journal, Errno> {
        match postcard::from_bytes::<(u8, Journal)>(bytes) {
            Ok((VERSION, journal)) if journal.is_sound() => Ok(journal),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Returns whether no path in it leads out of the base.
    fn is_sound(&self) -> bool {
        let mut takes = self.links.iter().chain(&self.takes);
        takes.all(|take| is_path(&take.dir) && is_name(&take.name) && is_name(take.staged.as_bytes()))
            && self.puts.iter().all(|put| is_path(&put.dir) && is_name(&put.name) && is_name(put.staged.as_bytes()))
            && self.surplus.iter().all(|name| is_name(name.as_bytes()))
            && self.nodes.iter().all(|node| match &node.at {
                Where::Staged(name) => is_name(name.as_bytes()),
                Where::Path(path) => is_path(path),
            })
            && self.before.iter().all(|before| is_path(&before.path))
    }
}

/// Returns whether this is one name in a directory.
fn is_name(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !name.contains(&b'/')
}

/// Returns whether a path leads nowhere but into the base.
pub(super) fn is_path(path: &[u8]) -> bool {
    path.is_empty() || path.split(|byte| *byte == b'/').all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_that_leads_out_of_the_base_is_refused() {
        let node = Identity { inode: 7, born: None, is_directory: false };
        let put =
            |dir: &[u8], name: &[u8]| Put { staged: "n7".to_owned(), node, into: node, dir: dir.to_vec(), name: name.to_vec() };
        let read = |put: Put| Journal::from_bytes(&Journal { puts: vec![put], ..Journal::default() }.to_bytes()?);
        assert!(read(put(b"a/b", b"c")).is_ok() && read(put(b"", b"c")).is_ok());
        for (dir, name) in [(&b"a/../.."[..], &b"c"[..]), (b"/etc", b"c"), (b"a", b".."), (b"a", b"c/d"), (b"a", b"")] {
            assert_eq!(read(put(dir, name)).map(drop), Err(Errno::EINVAL));
        }
        let bytes = Journal::default().to_bytes().expect("it is small");
        assert_eq!(Journal::from_bytes(&bytes[..bytes.len() - 1]).map(drop), Err(Errno::EINVAL));
        assert_eq!(Journal::from_bytes(&[&[VERSION + 1], &bytes[1..]].concat()).map(drop), Err(Errno::EINVAL));
    }
}
