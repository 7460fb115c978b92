//! The conversions from the language of programs to the model's types, and back.

use pathwalk::permission::{Acl, AclEntry, AclKind, AclTag};
use pathwalk::{AtFlags, Device, FileType, LinkFlags, OpenFlags, SetTime, StatxFlags};
use pathwalk_model::{
    Access, AclEntry as ModelEntry, AclKind as ModelKind, AclTag as ModelTag, AtFlags as ModelAtFlags, DumpEntry, Id, NewTime,
    NodeFlags, OpenFlags as ModelOpenFlags, Stamp, Status,
};

use crate::outcome::{END, Leaf, Node};
use crate::times::Time;
use crate::words::Kind;

pub(super) fn at_flags(flags: AtFlags) -> ModelAtFlags {
    ModelAtFlags::from_bits_retain(flags.bits() as i32)
}

pub(super) fn link_flags(flags: LinkFlags) -> ModelAtFlags {
    ModelAtFlags::from_bits_retain(flags.bits() as i32)
}

/// The attribute bits that both sides have.
const BITS: [(StatxFlags, NodeFlags); 3] = [
    (StatxFlags::IMMUTABLE, NodeFlags::IMMUTABLE),
    (StatxFlags::APPEND, NodeFlags::APPEND),
    (StatxFlags::NODUMP, NodeFlags::NODUMP),
];

fn statx_flags(flags: NodeFlags) -> StatxFlags {
    BITS.iter().filter(|(_, theirs)| flags.contains(*theirs)).map(|(ours, _)| *ours).collect()
}

pub(super) fn acl_kind(kind: AclKind) -> ModelKind {
    match kind {
        AclKind::Access => ModelKind::Access,
        AclKind::Default => ModelKind::Default,
    }
}

/// Returns the value of a list; an empty one for a list without entries.
pub(super) fn list_value(list: &[ModelEntry]) -> Vec<u8> {
    let entry = |entry: &ModelEntry| {
        let tag = match entry.tag {
            ModelTag::Owner => AclTag::Owner,
            ModelTag::User(uid) => AclTag::User(uid),
            ModelTag::Group => AclTag::Group,
            ModelTag::NamedGroup(gid) => AclTag::NamedGroup(gid),
            ModelTag::Mask => AclTag::Mask,
            ModelTag::Other => AclTag::Other,
        };
        AclEntry { tag, grants: pathwalk::Access::from_bits_retain(entry.grants.bits() as u8) }
    };
    if list.is_empty() { Vec::new() } else { Acl::new(list.iter().map(entry).collect()).to_xattr() }
}

pub(super) fn acl(list: &[AclEntry]) -> Vec<ModelEntry> {
    let entry = |entry: &AclEntry| {
        let tag = match entry.tag {
            AclTag::Owner => ModelTag::Owner,
            AclTag::User(uid) => ModelTag::User(uid),
            AclTag::Group => ModelTag::Group,
            AclTag::NamedGroup(gid) => ModelTag::NamedGroup(gid),
            AclTag::Mask => ModelTag::Mask,
            AclTag::Other => ModelTag::Other,
        };
        ModelEntry { tag, grants: Access::from_bits_retain(entry.grants.bits().into()) }
    };
    list.iter().map(entry).collect()
}

pub(super) fn open_flags(flags: OpenFlags) -> ModelOpenFlags {
    let pairs = [
        (OpenFlags::CREATE, ModelOpenFlags::CREAT),
        (OpenFlags::EXCLUSIVE, ModelOpenFlags::EXCL),
        (OpenFlags::TRUNCATE, ModelOpenFlags::TRUNC),
        (OpenFlags::APPEND, ModelOpenFlags::APPEND),
        (OpenFlags::DIRECTORY, ModelOpenFlags::DIRECTORY),
        (OpenFlags::NOFOLLOW, ModelOpenFlags::NOFOLLOW),
        (OpenFlags::PATH, ModelOpenFlags::PATH),
        (OpenFlags::TMPFILE, ModelOpenFlags::TMPFILE),
        (OpenFlags::DIRECT, ModelOpenFlags::DIRECT),
        (OpenFlags::NOATIME, ModelOpenFlags::NOATIME),
    ];
    let rights = match (flags.contains(OpenFlags::READ), flags.contains(OpenFlags::WRITE)) {
        (true, true) => ModelOpenFlags::RDWR,
        (false, true) => ModelOpenFlags::WRONLY,
        _ => ModelOpenFlags::empty(),
    };
    let set = pairs.iter().filter(|(ours, _)| flags.contains(*ours)).map(|(_, theirs)| *theirs);
    // A pipe is opened without waiting for the other end.
    let waiting = if flags.contains(OpenFlags::PATH) { ModelOpenFlags::empty() } else { ModelOpenFlags::NONBLOCK };
    set.fold(rights | waiting, ModelOpenFlags::union)
}

pub(super) fn new_time(time: SetTime) -> NewTime {
    match time {
        SetTime::Now => NewTime::Now,
        SetTime::Keep => NewTime::Omit,
        SetTime::To(time) => NewTime::At { seconds: time.seconds, nanoseconds: time.nanoseconds },
    }
}

pub(super) fn kind_and_device(kind: Kind) -> (u32, u32) {
    let number = |device: Device| (device.minor & 0xff) | (device.major << 8) | ((device.minor & !0xff) << 12);
    match kind {
        Kind::File => (libc::S_IFREG, 0),
        Kind::Directory => (libc::S_IFDIR, 0),
        Kind::Link => (libc::S_IFLNK, 0),
        Kind::Fifo => (libc::S_IFIFO, 0),
        Kind::Socket => (libc::S_IFSOCK, 0),
        Kind::Char(device) => (libc::S_IFCHR, number(device)),
        Kind::Block(device) => (libc::S_IFBLK, number(device)),
    }
}

pub(super) fn device(number: u32) -> Device {
    Device { major: (number >> 8) & 0xfff, minor: (number & 0xff) | ((number >> 12) & 0xf_ff00) }
}

pub(super) fn file_type(mode: u32) -> FileType {
    FileType::from_mode(mode).expect("the model makes nodes of a type")
}

/// Returns a number that is unique among the nodes of all processes.
pub(super) fn ino(id: Id) -> u64 {
    u64::from(id.process) << 32 | u64::from(id.number)
}

pub(super) fn time(stamp: Stamp) -> Time {
    match stamp {
        Stamp::Clock(step) => Time::Step(Some(step)),
        Stamp::Set { seconds, nanoseconds } => Time::set(seconds, nanoseconds),
    }
}

pub(super) fn node(of: &Status) -> Node {
    let kind = file_type(of.mode);
    Node {
        kind,
        mode: (of.mode & 0o7777) as u16,
        nlink: of.nlink,
        uid: of.uid,
        gid: of.gid,
        ino: ino(of.node),
        size: of.size,
        blocks: of.blocks,
        block_size: 4096,
        device: device(of.device),
        atime: time(of.accessed),
        mtime: time(of.modified),
        ctime: time(of.changed),
        btime: time(of.born),
        flags: statx_flags(of.flags),
        flags_mask: StatxFlags::all(),
    }
}

pub(super) fn leaf(entry: DumpEntry) -> (Vec<u8>, Leaf) {
    let kind = file_type(entry.mode);
    let node = Node {
        kind,
        mode: (entry.mode & 0o7777) as u16,
        nlink: entry.nlink,
        uid: entry.uid,
        gid: entry.gid,
        ino: ino(entry.node),
        size: entry.size,
        blocks: entry.blocks,
        block_size: 4096,
        device: device(entry.device),
        atime: time(entry.accessed),
        mtime: time(entry.modified),
        ctime: time(entry.changed),
        btime: time(entry.born),
        flags: statx_flags(entry.flags),
        flags_mask: StatxFlags::all(),
    };
    let lists = [list_value(&entry.acl), list_value(&entry.default_acl)];
    let mut content = entry.contents;
    if kind == FileType::Regular && content.len() as u64 > END {
        let tail = content[content.len() - END as usize..].to_vec();
        content.truncate(END as usize);
        content.extend(tail);
    }
    (entry.path, Leaf { node, content, lists, xattrs: entry.xattrs })
}
