//! The results of a program: of each step, and the tree at its end. What may differ between file
//! systems is left out.

use std::collections::BTreeMap;

use pathwalk::{Device, Errno, FileType, MountFlags, StatxFlags, StatxMask};

use crate::times::Time;
use crate::watch::Watched;
use crate::words::Whence;

/// The answer of one step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// The step was not carried out, since it cannot be compared: it needs a descriptor that is not
    /// open, or must not use one that this process has opened.
    NotCarriedOut,
    Failed(Errno),
    Done,
    Number(u64),
    Node(Node),
    /// The attributes that were returned, and the mask that names them.
    Some(StatxMask, Node),
    Bytes(Vec<u8>),
    Listing(BTreeMap<Vec<u8>, (FileType, u64)>),
    /// The attributes of each entry of a directory, or the error of its lookup.
    Nodes(BTreeMap<Vec<u8>, Result<Node, Errno>>),
    /// The operation would have had to wait: any other answer is as good.
    Again,
}

/// What of a `statx` is compared: ext4 also tells of direct I/O and of atomic writes.
pub(crate) const COMPARED: StatxMask =
    StatxMask::BASIC_STATS.union(StatxMask::BTIME).union(StatxMask::MNT_ID).union(StatxMask::MNT_ID_UNIQUE);

/// The byte that is appended to a name that a listing repeats.
pub(crate) const AGAIN: u8 = b'/';

/// The attributes of a node, without those that each file system chooses by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Node {
    pub(crate) kind: FileType,
    pub(crate) mode: u16,
    pub(crate) nlink: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) ino: u64,
    pub(crate) size: u64,
    pub(crate) blocks: u64,
    pub(crate) block_size: u32,
    pub(crate) device: Device,
    pub(crate) atime: Time,
    pub(crate) mtime: Time,
    pub(crate) ctime: Time,
    pub(crate) btime: Time,
    pub(crate) flags: StatxFlags,
    /// The flags that the file system supports: the others mean nothing.
    pub(crate) flags_mask: StatxFlags,
}

impl Node {
    pub(crate) fn times_mut(&mut self) -> impl Iterator<Item = &mut Time> {
        [&mut self.atime, &mut self.mtime, &mut self.ctime, &mut self.btime].into_iter()
    }

    /// Returns the number of the node's file system.
    pub(crate) fn file_system(&self) -> u64 {
        self.ino >> INO_BITS
    }

    /// Returns the node with the attributes that the mask names, and with the flags.
    pub(crate) fn only(self, mask: StatxMask) -> Node {
        const NEVER: Time = Time::Step(Some(0));
        let mut node = self;
        let keeps = |flag| mask.contains(flag);
        if !keeps(StatxMask::TYPE) {
            node.kind = FileType::Regular;
        }
        let number = |flag, number: &mut u64| {
            if !keeps(flag) {
                *number = 0;
            }
        };
        if !keeps(StatxMask::INO) {
            // No node has this number.
            node.ino = u64::MAX;
        }
        number(StatxMask::SIZE, &mut node.size);
        number(StatxMask::BLOCKS, &mut node.blocks);
        let number = |flag, number: &mut u32| {
            if !keeps(flag) {
                *number = 0;
            }
        };
        number(StatxMask::NLINK, &mut node.nlink);
        number(StatxMask::UID, &mut node.uid);
        number(StatxMask::GID, &mut node.gid);
        if !keeps(StatxMask::MODE) {
            node.mode = 0;
        }
        let flags = [StatxMask::ATIME, StatxMask::MTIME, StatxMask::CTIME, StatxMask::BTIME];
        for (flag, time) in flags.into_iter().zip(node.times_mut()) {
            if !keeps(flag) {
                *time = NEVER;
            }
        }
        node
    }
}

/// Returns one number for an inode of one of several file systems, which differ in the minor
/// numbers of their devices.
pub(crate) fn number(minor: u32, ino: u64) -> u64 {
    u64::from(minor) << INO_BITS | ino
}

/// The number of bits that hold the inode's own number.
const INO_BITS: u32 = 40;

/// The flags of a mount that concern the times of accesses. They follow from the settings of a
/// program.
pub(crate) const OF_ACCESSES: MountFlags =
    MountFlags::NOATIME.union(MountFlags::NODIRATIME).union(MountFlags::RELATIME).union(MountFlags::STRICTATIME);

/// The switches of a mount that are compared. Those that concern times are not.
pub(crate) const SWITCHES: MountFlags = MountFlags::READ_ONLY
    .union(MountFlags::NOEXEC)
    .union(MountFlags::NOSYMFOLLOW)
    .union(MountFlags::NOSUID)
    .union(MountFlags::NODEV);

/// Returns the longest name and the switches of the mount as one answer.
pub(crate) fn told_of_file_system(name_max: u64, switches: MountFlags) -> Answer {
    Answer::Number(name_max | u64::from((switches & SWITCHES).bits()) << 32)
}

/// The result of one step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    pub(crate) answer: Answer,
    /// The named nodes and their directories, after the step.
    pub(crate) seen: Vec<Result<Node, Errno>>,
    /// The whole tree and all open files, after the step.
    pub(crate) watched: Option<Box<Watched>>,
}

impl Outcome {
    /// Returns the outcome of a step that was not carried out.
    pub(crate) fn not_carried_out() -> Outcome {
        Outcome { answer: Answer::NotCarriedOut, seen: Vec::new(), watched: None }
    }
}

/// The extended attributes of a node, by name.
pub(crate) type Xattrs = BTreeMap<Vec<u8>, Vec<u8>>;

/// A node of the tree at the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Leaf {
    pub(crate) node: Node,
    /// The body of a link, or the data of a file; both ends of a long one.
    pub(crate) content: Vec<u8>,
    /// The values of the access list and of the default list; empty if there is none.
    pub(crate) lists: [Vec<u8>; 2],
    pub(crate) xattrs: Xattrs,
}

/// The results of a whole program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transcript {
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) tree: BTreeMap<Vec<u8>, Leaf>,
}

impl Transcript {
    /// Returns the transcript without the steps at which times were written: concurrent operations
    /// have no order.
    pub(crate) fn without_steps(mut self) -> Transcript {
        self.nodes_mut(|node| node.times_mut().for_each(Time::forget_step));
        self
    }

    /// Changes each node in the transcript.
    pub(crate) fn nodes_mut(&mut self, mut change: impl FnMut(&mut Node)) {
        for Outcome { answer, seen, watched } in &mut self.outcomes {
            match answer {
                Answer::Node(node) | Answer::Some(_, node) => change(node),
                Answer::Nodes(nodes) => nodes.values_mut().flatten().for_each(&mut change),
                _ => {}
            }
            seen.iter_mut().flatten().for_each(&mut change);
            if let Some(watched) = watched {
                watched.tree.values_mut().for_each(&mut change);
                watched.slots.values_mut().for_each(|open| change(&mut open.node));
            }
        }
        self.tree.values_mut().for_each(|leaf| change(&mut leaf.node));
    }
}

/// The part of the contents of links and files that is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Contents {
    /// Bodies of links, and both ends of files.
    Ends,
    LeftOut,
}

/// The number of bytes that are compared at either end of a file.
pub(crate) const END: u64 = 20_000;

/// A side that carries programs out.
pub(crate) trait Interpreter {
    /// Returns the name of the interpreter in messages.
    fn name(&self) -> &'static str;

    /// Carries out a program on a fresh tree.
    fn run(&mut self, program: &crate::program::Program) -> anyhow::Result<Transcript>;
}

/// Returns the directory of the last component: the path without that component, so that the rest
/// of the path is unchanged.
pub(crate) fn directory_of(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    let start = path[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    match &path[..start] {
        b"" if path.first() == Some(&b'/') => b"/",
        b"" => b".",
        way => way,
    }
}

/// Returns whether a seek can be compared. In a directory, file systems choose all positions but
/// the beginning by themselves.
pub(crate) fn may_seek(kind: FileType, whence: Whence) -> bool {
    kind != FileType::Directory || whence == Whence::Start
}

/// Returns whether a truncate to `size` keeps the length of the file. Then the answer is the node,
/// since file systems differ in whether its times change. (On a tmpfs they do if the file has a
/// page.)
pub(crate) fn keeps_size(before: Option<&Node>, size: u64) -> bool {
    before.is_some_and(|node| node.kind == FileType::Regular && node.size == size)
}

/// Returns whether a file of this size has the last page that there can be. A tmpfs does not find
/// it: its search goes beyond the greatest offset, so `SEEK_DATA` is `ENXIO` there, and `SEEK_HOLE`
/// a negative number.
pub(crate) fn has_last_page(size: u64) -> bool {
    size > i64::MAX as u64 - 4095
}
