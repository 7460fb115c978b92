//! The conversions from and to the engine's types.

use pathwalk::{Attributes, NewKind, OpenFlags, StatxFlags};

use crate::outcome::{Node, number};
use crate::times::Time;
use crate::words::Kind;

pub(super) fn new_kind(kind: Kind) -> NewKind<'static> {
    match kind {
        Kind::File => NewKind::Regular,
        Kind::Directory => NewKind::Directory,
        Kind::Link => NewKind::Symlink(b"body"),
        Kind::Fifo => NewKind::Fifo,
        Kind::Socket => NewKind::Socket,
        Kind::Char(device) => NewKind::CharDevice(device),
        Kind::Block(device) => NewKind::BlockDevice(device),
    }
}

pub(super) fn node(of: &Attributes) -> Node {
    Node {
        kind: of.kind,
        mode: of.mode,
        nlink: of.nlink,
        uid: of.uid,
        gid: of.gid,
        ino: number(of.device.minor, of.ino),
        size: of.size,
        blocks: of.blocks,
        block_size: of.block_size,
        device: of.device_node,
        atime: Time::of_engine(of.atime),
        mtime: Time::of_engine(of.mtime),
        ctime: Time::of_engine(of.ctime),
        btime: Time::of_engine(of.btime.unwrap_or_default()),
        // The bit for a root describes a mount, and the model has no mounts.
        flags: of.flags - StatxFlags::MOUNT_ROOT,
        flags_mask: of.flags_mask - StatxFlags::MOUNT_ROOT,
    }
}

/// Returns the flags with which a pipe is opened without waiting for the other end.
pub(super) fn at_once(flags: OpenFlags) -> OpenFlags {
    if flags.contains(OpenFlags::PATH) { flags } else { flags | OpenFlags::NONBLOCK }
}
