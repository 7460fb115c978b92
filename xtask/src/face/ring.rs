//! A face that carries out each operation as an entry of a ring: alone, by a worker, in a chain, or
//! beside other entries.

use std::sync::Arc;
use std::time::Duration;

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{
    Access, At, AtFlags, Attributes, Context, EntryHandles, Errno, FallocateFlags, File, FileHandle, Handle, HandleFlags,
    InodeFlags, Lease, LinkFlags, ListedNode, LockKind, OpenHow, RenameFlags, Resolve, RwFlags, Statx, StatxMask, SyncWhat,
    UnlinkFlags, XattrFlags, XattrList,
};
use pathwalk_ring::{Entry, EntryFlags, Offset, Op, Place, Ring, Value};

use super::tally::Knew;
use super::{Face, Kind, Listed, POOL, at_odds};

/// The number of directory entries that are read at once.
const BATCH: usize = 3;

/// A time longer than any operation takes.
const LONG: Duration = Duration::from_secs(600);

pub(super) struct ByRing {
    context: Context,
    /// The ring, made on first use from the context as it was then.
    ring: Option<Ring>,
    /// The rules that entries add to those of the context.
    rules: Resolve,
    /// The number of operations so far. It selects the way of the next operation.
    count: u64,
}

/// An entry beside the one that counts: its `user_data` and its expected result.
type Beside = (u64, Result<(), Errno>);

impl ByRing {
    pub(super) fn new(context: Context) -> ByRing {
        ByRing { context, ring: None, rules: Resolve::empty(), count: 0 }
    }

    /// Carries out one operation, in one of several ways.
    fn perform(&mut self, op: Op<'_>) -> Result<Value, Errno> {
        self.count += 1;
        let number = self.count << 8;
        let context = &self.context;
        let ring = self.ring.get_or_insert_with(|| {
            Ring::builder(context.clone().with_lock_owner(context.lock_owner())).pool(POOL.clone()).entries(4).build()
        });
        let entry = Entry::new(number, op);
        let nop = |at: u64| Entry::new(number + at, Op::Nop);
        let link = EntryFlags::LINK;
        let (entries, beside): (Vec<Entry<'_>>, Vec<Beside>) = match self.count % 5 {
            0 => (vec![entry.with(EntryFlags::ASYNC)], Vec::new()),
            1 => {
                let limit = Entry::new(number + 2, Op::LinkTimeout { after: LONG });
                (vec![nop(1).with(link), entry.with(link), limit], vec![(1, Ok(())), (2, Err(Errno::ECANCELED))])
            }
            2 => {
                let absent = Entry::new(number + 1, Op::Cancel { user_data: u64::MAX });
                let over = Entry::new(number + 2, Op::Timeout { after: Duration::ZERO });
                (vec![absent, entry, over], vec![(1, Err(Errno::ENOENT)), (2, Err(Errno::ETIME))])
            }
            3 => (vec![entry.with(EntryFlags::HARDLINK), nop(1)], vec![(1, Ok(()))]),
            _ => (vec![entry], Vec::new()),
        };
        let answer = submitted(ring, entries, number)?;
        let as_known = answer.beside.len() == beside.len() && beside.iter().all(|known| answer.beside.contains(known));
        if as_known { answer.result } else { Err(at_odds()) }
    }

    fn done(&mut self, op: Op<'_>) -> Result<(), Errno> {
        match self.perform(op)? {
            Value::Done => Ok(()),
            _ => Err(at_odds()),
        }
    }
}

struct Completed {
    result: Result<Value, Errno>,
    beside: Vec<Beside>,
}

/// Submits entries and reaps their completions. `number` is the `user_data` of the entry that
/// counts.
fn submitted(ring: &mut Ring, entries: Vec<Entry<'_>>, number: u64) -> Result<Completed, Errno> {
    let all = entries.len();
    let mut queue = ring.queue();
    for entry in entries {
        queue.push(entry)?;
    }
    if ring.submit(&mut queue)? != all {
        return Err(at_odds());
    }
    let (mut result, mut beside, mut knew) = (None, Vec::new(), Knew::Yes);
    for _ in 0..all {
        let completion = match ring.reap() {
            Some(completion) => completion,
            None => {
                knew = Knew::No;
                ring.wait(1);
                ring.reap().ok_or_else(at_odds)?
            }
        };
        if completion.user_data == number {
            if result.replace(completion.result).is_some() {
                return Err(at_odds());
            }
        } else {
            beside.push((completion.user_data.wrapping_sub(number), completion.result.map(drop)));
        }
    }
    Kind::Ring.count(knew);
    if ring.outstanding() != 0 || ring.reap().is_some() {
        return Err(at_odds());
    }
    Ok(Completed { result: result.ok_or_else(at_odds)?, beside })
}

/// The extraction of the only kind of value that an operation returns.
macro_rules! value {
    ($answer:expr, $kind:ident) => {
        match $answer {
            Ok(Value::$kind(value)) => Ok(value),
            Ok(_) => Err(at_odds()),
            Err(errno) => Err(errno),
        }
    };
}

impl Face for ByRing {
    fn context(&self) -> &Context {
        &self.context
    }

    fn context_mut(&mut self) -> &mut Context {
        self.ring = None;
        &mut self.context
    }

    fn set_rules(&mut self, rules: Resolve) -> Result<(), Errno> {
        self.rules = rules;
        Ok(())
    }

    fn lookupat(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<Handle, Errno> {
        value!(self.perform(Op::Lookup { place: Place::new(at, path), flags, resolve: self.rules }), Handle)
    }

    fn open(&mut self, at: At<'_>, path: &[u8], how: &OpenHow) -> Result<Arc<File>, Errno> {
        value!(self.perform(Op::Openat2 { place: Place::new(at, path), how: *how }), File)
    }

    fn statx(&mut self, at: At<'_>, path: &[u8], flags: AtFlags, mask: StatxMask) -> Result<Statx, Errno> {
        let op = Op::Statx { place: Place::new(at, path), flags, mask, resolve: self.rules };
        value!(self.perform(op), Statx)
    }

    /// Returns the attributes: by `statx`, or through a handle.
    fn fstatat(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<Attributes, Errno> {
        let both = AtFlags::FORCE_SYNC | AtFlags::DONT_SYNC;
        let flags = if flags.contains(both) { flags - AtFlags::DONT_SYNC } else { flags };
        let only_of_stat = flags.intersects(both | AtFlags::NO_AUTOMOUNT);
        if only_of_stat || !self.count.is_multiple_of(3) {
            return self.statx(at, path, flags, StatxMask::BASIC_STATS).map(|found| found.attributes);
        }
        self.lookupat(at, path, flags)?.attributes()
    }

    fn faccessat(&mut self, at: At<'_>, path: &[u8], want: Access, flags: AtFlags) -> Result<(), Errno> {
        self.done(Op::Access { place: Place::new(at, path), want, flags, resolve: self.rules })
    }

    /// Reads the body of a link. The ring returns the whole body and takes no buffer, so an empty
    /// buffer is left to the context.
    fn readlinkat(&mut self, at: At<'_>, path: &[u8], buffer: &mut [u8]) -> Result<usize, Errno> {
        if buffer.is_empty() {
            return self.context.readlinkat(at, path, buffer);
        }
        let body = value!(self.perform(Op::Readlink { place: Place::new(at, path), resolve: self.rules }), Link)?;
        let length = body.len().min(buffer.len());
        buffer[..length].copy_from_slice(&body[..length]);
        Ok(length)
    }

    fn acl(&mut self, at: At<'_>, path: &[u8], kind: AclKind, flags: AtFlags) -> Result<Option<Acl>, Errno> {
        value!(self.perform(Op::GetAcl { place: Place::new(at, path), kind, flags }), Acl)
    }

    fn set_acl(&mut self, at: At<'_>, path: &[u8], kind: AclKind, acl: Option<Acl>, flags: AtFlags) -> Result<(), Errno> {
        self.done(Op::SetAcl { place: Place::new(at, path), kind, acl, flags })
    }

    fn inode_flags(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<InodeFlags, Errno> {
        value!(self.perform(Op::InodeFlagsAt { place: Place::new(at, path), flags }), InodeFlags)
    }

    fn set_inode_flags(&mut self, at: At<'_>, path: &[u8], to: InodeFlags, flags: AtFlags) -> Result<(), Errno> {
        self.done(Op::SetInodeFlagsAt { place: Place::new(at, path), to, flags })
    }

    fn mkdir(&mut self, at: At<'_>, path: &[u8], mode: u16) -> Result<(), Errno> {
        self.done(Op::Mkdirat { place: Place::new(at, path), mode })
    }

    fn symlink(&mut self, body: &[u8], at: At<'_>, path: &[u8]) -> Result<(), Errno> {
        self.done(Op::Symlinkat { body: Place::new(At::Cwd, body), place: Place::new(at, path) })
    }

    fn link(&mut self, from: At<'_>, old: &[u8], to: At<'_>, new: &[u8], flags: LinkFlags) -> Result<(), Errno> {
        self.done(Op::Linkat { from: Place::new(from, old), to: Place::new(to, new), flags })
    }

    fn unlink(&mut self, at: At<'_>, path: &[u8]) -> Result<(), Errno> {
        self.done(Op::Unlinkat { place: Place::new(at, path), flags: UnlinkFlags::empty() })
    }

    fn rmdir(&mut self, at: At<'_>, path: &[u8]) -> Result<(), Errno> {
        self.done(Op::Unlinkat { place: Place::new(at, path), flags: UnlinkFlags::REMOVEDIR })
    }

    fn rename(&mut self, from: At<'_>, old: &[u8], to: At<'_>, new: &[u8], flags: RenameFlags) -> Result<(), Errno> {
        self.done(Op::Renameat { from: Place::new(from, old), to: Place::new(to, new), flags })
    }

    fn getxattrat(&mut self, at: At<'_>, path: &[u8], name: &[u8], flags: AtFlags) -> Result<Vec<u8>, Errno> {
        value!(self.perform(Op::Getxattrat { place: Place::new(at, path), name: name.into(), flags }), Xattr)
    }

    fn setxattrat(&mut self, at: At<'_>, path: &[u8], new: (&[u8], &[u8]), how: XattrFlags, flags: AtFlags) -> Result<(), Errno> {
        let (name, value) = (new.0.into(), new.1.into());
        self.done(Op::Setxattrat { place: Place::new(at, path), name, value, how, flags })
    }

    fn listxattrat(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<XattrList, Errno> {
        value!(self.perform(Op::Listxattrat { place: Place::new(at, path), flags }), XattrList)
    }

    fn removexattrat(&mut self, at: At<'_>, path: &[u8], name: &[u8], flags: AtFlags) -> Result<(), Errno> {
        self.done(Op::Removexattrat { place: Place::new(at, path), name: name.into(), flags })
    }

    fn read(&mut self, file: &Arc<File>, buffer: &mut [u8]) -> Result<usize, Errno> {
        let op = Op::Read { file: file.clone(), buffer: vec![0; buffer.len()], offset: Offset::Current };
        value!(self.perform(op), Read).map(|data| copied(&data, buffer))
    }

    fn read_at(&mut self, file: &Arc<File>, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let op = Op::Read { file: file.clone(), buffer: vec![0; buffer.len()], offset: Offset::At(offset) };
        value!(self.perform(op), Read).map(|data| copied(&data, buffer))
    }

    fn write(&mut self, file: &Arc<File>, data: &[u8]) -> Result<usize, Errno> {
        value!(self.perform(Op::Write { file: file.clone(), data: data.to_vec(), offset: Offset::Current }), Written)
    }

    fn write_at(&mut self, file: &Arc<File>, data: &[u8], offset: u64) -> Result<usize, Errno> {
        value!(self.perform(Op::Write { file: file.clone(), data: data.to_vec(), offset: Offset::At(offset) }), Written)
    }

    fn read_with(&mut self, file: &Arc<File>, buffer: &mut [u8], offset: Option<u64>, flags: RwFlags) -> Result<usize, Errno> {
        let offset = offset.map_or(Offset::Current, Offset::At);
        let op = Op::ReadWith { file: file.clone(), buffer: vec![0; buffer.len()], offset, flags };
        value!(self.perform(op), Read).map(|data| copied(&data, buffer))
    }

    fn write_with(&mut self, file: &Arc<File>, data: &[u8], offset: Option<u64>, flags: RwFlags) -> Result<usize, Errno> {
        let offset = offset.map_or(Offset::Current, Offset::At);
        value!(self.perform(Op::WriteWith { file: file.clone(), data: data.to_vec(), offset, flags }), Written)
    }

    fn lease(&mut self, file: &Arc<File>, kind: LockKind) -> Result<Lease, Errno> {
        value!(self.perform(Op::Lease { file: file.clone(), kind }), Lease)
    }

    fn set_lease(&mut self, lease: &Lease, kind: LockKind) -> Result<(), Errno> {
        self.done(Op::SetLease { lease: lease.clone(), kind })
    }

    fn name_to_handle(&mut self, at: At<'_>, path: &[u8], flags: HandleFlags) -> Result<(FileHandle, u64), Errno> {
        match self.perform(Op::NameToHandleAt { place: Place::new(at, path), flags })? {
            Value::FileHandle(handle, mount) => Ok((handle, mount)),
            _ => Err(at_odds()),
        }
    }

    fn open_by_handle(&mut self, mount: &Handle, handle: &FileHandle, how: &OpenHow) -> Result<Arc<File>, Errno> {
        value!(self.perform(Op::OpenByHandleAt { mount: mount.clone(), handle: handle.clone(), how: *how }), File)
    }

    fn fallocate(&mut self, file: &Arc<File>, mode: FallocateFlags, offset: u64, length: u64) -> Result<(), Errno> {
        self.done(Op::Fallocate { file: file.clone(), mode, offset, length })
    }

    fn sync(&mut self, file: &Arc<File>, what: SyncWhat) -> Result<(), Errno> {
        self.done(Op::Fsync { file: file.clone(), what })
    }

    fn list(&mut self, file: &Arc<File>, each: &mut dyn FnMut(Listed)) -> Result<(), Errno> {
        loop {
            let listed = value!(self.perform(Op::Getdents { file: file.clone(), at_most: BATCH }), Listed)?;
            if listed.is_empty() {
                return Ok(());
            }
            listed.into_iter().for_each(|entry| each((entry.name.into_vec(), entry.kind, entry.ino)));
        }
    }

    fn list_nodes(&mut self, file: &Arc<File>, at_most: usize) -> Result<Vec<ListedNode>, Errno> {
        value!(self.perform(Op::Readdirplus { file: file.clone(), at_most, handles: EntryHandles::Without }), ListedNodes)
    }

    fn close(&mut self, file: Arc<File>) -> Result<(), Errno> {
        self.done(Op::Close { file })
    }
}

/// Copies the data that was read into the caller's buffer; returns its length.
pub(super) fn copied(data: &[u8], buffer: &mut [u8]) -> usize {
    buffer[..data.len()].copy_from_slice(data);
    data.len()
}
