//! What came of a program: of each step, and of the tree at its end. What may differ between file systems is left out.

use std::collections::BTreeMap;

use pathwalk::{Device, Errno, FileType};

use crate::words::Whence;

/// What one step answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// It was not carried out: it needs a descriptor that is not there, or one that this process has opened.
    NotCarriedOut,
    Failed(Errno),
    Done,
    Number(u64),
    Node(Node),
    Bytes(Vec<u8>),
    Listing(BTreeMap<Vec<u8>, (FileType, u64)>),
}

/// Behind a name in a listing: it came before.
pub(crate) const AGAIN: u8 = b'/';

/// Attributes, without what is a file system's own affair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Node {
    pub(crate) kind: FileType,
    pub(crate) mode: u16,
    pub(crate) nlink: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) ino: u64,
    /// 0 for directories.
    pub(crate) size: u64,
    pub(crate) device: Device,
    pub(crate) atime: Time,
    pub(crate) mtime: Time,
}

/// A time that was set, or one of a clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Time {
    Clock,
    Set { seconds: i64, nanoseconds: u32 },
}

/// The years 2020 to 2100, in which no program sets a time: it must be a clock's.
const CLOCK: std::ops::Range<i64> = 1_577_836_800..4_102_444_800;

impl Time {
    pub(crate) fn new(seconds: i64, nanoseconds: u32) -> Time {
        if CLOCK.contains(&seconds) { Time::Clock } else { Time::Set { seconds, nanoseconds } }
    }
}

/// What one step came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    pub(crate) answer: Answer,
    /// What it named, and the directories that those are in, after it.
    pub(crate) seen: Vec<Result<Node, Errno>>,
}

/// A node of the tree at the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Leaf {
    pub(crate) node: Node,
    /// The body of a link, or the data of a file: of a long one both ends.
    pub(crate) content: Vec<u8>,
}

/// What came of a whole program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transcript {
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) tree: BTreeMap<Vec<u8>, Leaf>,
}

/// How much of either end of a file is compared, in bytes.
pub(crate) const END: u64 = 20_000;

/// Who carries programs out.
pub(crate) trait Interpreter {
    /// What it is called in messages.
    fn name(&self) -> &'static str;

    /// Carries out a program on a fresh tree.
    fn run(&mut self, program: &crate::program::Program) -> anyhow::Result<Transcript>;
}

/// The directory of the last component: the path without it, so that a listing of the way stays as it was.
pub(crate) fn directory_of(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    let start = path[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    match &path[..start] {
        b"" if path.first() == Some(&b'/') => b"/",
        b"" => b".",
        way => way,
    }
}

/// Whether a seek can be compared. Where a listing stands is a file system's own affair, but for its beginning.
pub(crate) fn may_seek(kind: FileType, whence: Whence) -> bool {
    kind != FileType::Directory || whence == Whence::Start
}

/// Whether a truncate to `size` leaves the file as long as it was. Then the answer is the node: whether its times move is a file system's own
/// affair. (On a tmpfs they do if the file has a page.)
pub(crate) fn keeps_size(before: Option<&Node>, size: u64) -> bool {
    before.is_some_and(|node| node.kind == FileType::Regular && node.size == size)
}
