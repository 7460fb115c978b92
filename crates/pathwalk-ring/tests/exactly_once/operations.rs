//! Random operations, of every kind.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use pathwalk::{
    Access, AtFlags, EntryHandles, FallocateFlags, File, HandleFlags, InodeFlags, LinkFlags, LockKind, OpenFlags, OpenHow,
    RenameFlags, Resolve, RwFlags, StatxMask, SyncFileRange, SyncWhat, UnlinkFlags, XattrFlags,
};
use pathwalk_ring::{Offset, Op, Place};

const PATHS: [&str; 12] = ["/a", "/b", "/c", "/d", "/d/a", "/d/b", "/d/c", "/d/d", "/l/a", "/l/b", "/none", "/d/none"];

fn path(random: &mut Rng) -> &'static str {
    PATHS[random.usize(..PATHS.len())]
}

/// The open files of an owner. An operation that takes one may be the last to hold it.
pub(crate) type Files = Vec<Arc<File>>;

fn file(random: &mut Rng, files: &mut Files) -> Option<Arc<File>> {
    let at = random.usize(..files.len().max(1));
    if random.u32(..4) == 0 && at < files.len() { Some(files.swap_remove(at)) } else { files.get(at).cloned() }
}

fn open(random: &mut Rng) -> Op<'static> {
    let makes = OpenFlags::CREATE | OpenFlags::READ | OpenFlags::WRITE;
    let (path, flags, mode) = match random.u32(..10) {
        0..3 => (path(random), OpenFlags::READ, 0),
        3..5 => ("/d", OpenFlags::READ, 0),
        5 => (path(random), OpenFlags::WRITE | OpenFlags::TRUNCATE, 0),
        6 => ("/l", OpenFlags::WRITE | OpenFlags::TMPFILE, 0o600),
        7 => (path(random), OpenFlags::PATH, 0),
        _ => (path(random), makes, 0o600),
    };
    let resolve = if random.u32(..16) == 0 { Resolve::CACHED } else { Resolve::empty() };
    Op::Openat2 { place: path.into(), how: OpenHow { flags, mode, resolve } }
}

fn offset(random: &mut Rng) -> Offset {
    if random.bool() { Offset::Current } else { Offset::At(random.u64(..9)) }
}

fn of_file(random: &mut Rng, files: &mut Files) -> Op<'static> {
    let Some(file) = file(random, files) else { return open(random) };
    match random.u32(..15) {
        12 => {
            let flags = if random.bool() { RwFlags::NOWAIT } else { RwFlags::HIPRI };
            Op::ReadWith { file, buffer: vec![0; random.usize(..9)], offset: offset(random), flags }
        }
        13 => Op::WriteWith { file, data: vec![1; random.usize(..9)], offset: offset(random), flags: RwFlags::APPEND },
        14 => Op::Lease { file, kind: LockKind::Shared },
        0..3 => Op::Read { file, buffer: vec![0; random.usize(..9)], offset: offset(random) },
        3..5 => Op::Write { file, data: vec![1; random.usize(..9)], offset: offset(random) },
        5..6 => Op::Getdents { file, at_most: random.usize(..5) },
        6..7 => Op::Readdirplus { file, at_most: random.usize(..5), handles: EntryHandles::With },
        7..9 => Op::Fsync { file, what: if random.bool() { SyncWhat::All } else { SyncWhat::Data } },
        9 => Op::Fallocate { file, mode: FallocateFlags::KEEP_SIZE, offset: 0, length: random.u64(..9) },
        10 => Op::SyncFileRange { file, offset: 0, length: 0, flags: SyncFileRange::all() },
        _ => Op::Close { file },
    }
}

/// Returns an operation on extended attributes, on flags of users, or on what servers ask for.
fn xattr(random: &mut Rng, place: Place<'static>) -> Op<'static> {
    let (name, flags) = (b"user.a".to_vec(), AtFlags::empty());
    match random.u32(..9) {
        6 => Op::Details { place, flags, mask: StatxMask::CHANGE_COOKIE },
        7 => Op::GenerationAt { place, flags },
        8 => Op::NameToHandleAt { place, flags: HandleFlags::empty() },
        0 => Op::Getxattrat { place, name, flags },
        1 => Op::Setxattrat { place, name, value: vec![0; random.usize(..9)], how: XattrFlags::empty(), flags },
        2 => Op::Listxattrat { place, flags },
        3 => Op::InodeFlagsAt { place, flags },
        4 => Op::SetInodeFlagsAt { place, to: InodeFlags::NODUMP, flags },
        _ => Op::Removexattrat { place, name, flags },
    }
}

/// Returns an operation for a future or an entry.
pub(crate) fn operation(random: &mut Rng, files: &mut Files) -> Op<'static> {
    let place = path(random).into();
    let resolve = if random.u32(..16) == 0 { Resolve::CACHED } else { Resolve::empty() };
    match random.u32(..100) {
        0..3 => Op::Nop,
        3..24 => Op::stat(path(random)),
        24..30 => Op::Access { place, want: Access::READ, flags: Default::default(), resolve },
        30..36 => Op::Lookup { place, flags: Default::default(), resolve },
        36..41 => Op::Readlink { place: "/l".into(), resolve },
        41..54 => open(random),
        54..58 => Op::Mkdirat { place, mode: 0o700 },
        58..62 => Op::Unlinkat { place, flags: if random.bool() { UnlinkFlags::empty() } else { UnlinkFlags::REMOVEDIR } },
        62..66 => Op::Renameat { from: place, to: path(random).into(), flags: RenameFlags::empty() },
        66..69 => Op::Renameat { from: place, to: path(random).into(), flags: RenameFlags::EXCHANGE },
        69..72 => Op::Linkat { from: place, to: path(random).into(), flags: LinkFlags::empty() },
        72..74 => Op::Symlinkat { body: "/d".into(), place },
        74..78 => xattr(random, place),
        _ => of_file(random, files),
    }
}

/// Returns an operation for an entry: also those of the ring's own. Entries that wait were numbered
/// just below `next`.
pub(crate) fn entry(random: &mut Rng, files: &mut Files, next: u64) -> Op<'static> {
    match random.u32(..100) {
        0..12 => Op::Cancel { user_data: next.saturating_sub(random.u64(..16)) },
        12..16 => Op::Timeout { after: Duration::from_micros(random.u64(..200)) },
        _ => operation(random, files),
    }
}
