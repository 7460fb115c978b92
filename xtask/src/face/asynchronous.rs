//! A face that carries out each operation as a future of the ring's async face, polled until it is
//! ready.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};
use std::thread::{self, Thread};

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{
    Access, At, AtFlags, Attributes, Context, EntryHandles, Errno, FallocateFlags, File, FileHandle, Handle, HandleFlags,
    InodeFlags, Lease, LinkFlags, ListedNode, LockKind, OpenHow, RenameFlags, RwFlags, Statx, StatxMask, SyncWhat, XattrFlags,
    XattrList,
};
use pathwalk_ring::{AsyncContext, Offset, Place};

use super::ring::copied;
use super::tally::Knew;
use super::{Face, Kind, Listed, POOL};

/// The number of directory entries that are read at once.
const BATCH: usize = 2;

pub(super) struct ByFuture {
    context: Context,
    /// The async face, made on first use from the context as it was then.
    face: Option<AsyncContext>,
}

/// A waker that unparks the waiting thread.
struct Unparks(Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits until a future is ready.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unparks(thread::current())));
    let mut task = std::task::Context::from_waker(&waker);
    let mut knew = Knew::Yes;
    loop {
        if let Poll::Ready(answer) = future.as_mut().poll(&mut task) {
            Kind::Async.count(knew);
            return answer;
        }
        knew = Knew::No;
        thread::park();
    }
}

impl ByFuture {
    pub(super) fn new(context: Context) -> ByFuture {
        ByFuture { context, face: None }
    }

    fn face(&mut self) -> &AsyncContext {
        let context = &self.context;
        self.face.get_or_insert_with(|| AsyncContext::new(context.clone().with_lock_owner(context.lock_owner()), POOL.clone()))
    }
}

impl Face for ByFuture {
    fn context(&self) -> &Context {
        &self.context
    }

    fn context_mut(&mut self) -> &mut Context {
        self.face = None;
        &mut self.context
    }

    fn lookupat(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<Handle, Errno> {
        wait(self.face().lookup(Place::new(at, path), flags))
    }

    fn open(&mut self, at: At<'_>, path: &[u8], how: &OpenHow) -> Result<Arc<File>, Errno> {
        wait(self.face().open(Place::new(at, path), *how))
    }

    fn statx(&mut self, at: At<'_>, path: &[u8], flags: AtFlags, mask: StatxMask) -> Result<Statx, Errno> {
        wait(self.face().statx(Place::new(at, path), flags, mask))
    }

    /// Returns the attributes: through a handle if there are flags, else by `stat`.
    fn fstatat(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<Attributes, Errno> {
        if flags.is_empty() {
            return wait(self.face().stat(Place::new(at, path)));
        }
        if flags.intersects(AtFlags::FORCE_SYNC | AtFlags::DONT_SYNC | AtFlags::NO_AUTOMOUNT) {
            return self.context.fstatat(at, path, flags);
        }
        self.lookupat(at, path, flags)?.attributes()
    }

    fn faccessat(&mut self, at: At<'_>, path: &[u8], want: Access, flags: AtFlags) -> Result<(), Errno> {
        wait(self.face().access(Place::new(at, path), want, flags))
    }

    fn readlinkat(&mut self, at: At<'_>, path: &[u8], buffer: &mut [u8]) -> Result<usize, Errno> {
        if buffer.is_empty() {
            return self.context.readlinkat(at, path, buffer);
        }
        let body = wait(self.face().read_link(Place::new(at, path)))?;
        Ok(copied(&body[..body.len().min(buffer.len())], buffer))
    }

    fn acl(&mut self, at: At<'_>, path: &[u8], kind: AclKind, flags: AtFlags) -> Result<Option<Acl>, Errno> {
        wait(self.face().acl(Place::new(at, path), kind, flags))
    }

    fn set_acl(&mut self, at: At<'_>, path: &[u8], kind: AclKind, acl: Option<Acl>, flags: AtFlags) -> Result<(), Errno> {
        wait(self.face().set_acl(Place::new(at, path), kind, acl, flags))
    }

    fn inode_flags(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<InodeFlags, Errno> {
        wait(self.face().inode_flags(Place::new(at, path), flags))
    }

    fn set_inode_flags(&mut self, at: At<'_>, path: &[u8], to: InodeFlags, flags: AtFlags) -> Result<(), Errno> {
        wait(self.face().set_inode_flags(Place::new(at, path), to, flags))
    }

    fn mkdir(&mut self, at: At<'_>, path: &[u8], mode: u16) -> Result<(), Errno> {
        wait(self.face().mkdir(Place::new(at, path), mode))
    }

    fn symlink(&mut self, body: &[u8], at: At<'_>, path: &[u8]) -> Result<(), Errno> {
        wait(self.face().symlink(Place::new(At::Cwd, body), Place::new(at, path)))
    }

    fn link(&mut self, from: At<'_>, old: &[u8], to: At<'_>, new: &[u8], flags: LinkFlags) -> Result<(), Errno> {
        wait(self.face().link(Place::new(from, old), Place::new(to, new), flags))
    }

    fn unlink(&mut self, at: At<'_>, path: &[u8]) -> Result<(), Errno> {
        wait(self.face().unlink(Place::new(at, path)))
    }

    fn rmdir(&mut self, at: At<'_>, path: &[u8]) -> Result<(), Errno> {
        wait(self.face().rmdir(Place::new(at, path)))
    }

    fn rename(&mut self, from: At<'_>, old: &[u8], to: At<'_>, new: &[u8], flags: RenameFlags) -> Result<(), Errno> {
        wait(self.face().rename(Place::new(from, old), Place::new(to, new), flags))
    }

    fn getxattrat(&mut self, at: At<'_>, path: &[u8], name: &[u8], flags: AtFlags) -> Result<Vec<u8>, Errno> {
        wait(self.face().getxattr(Place::new(at, path), name, flags))
    }

    fn setxattrat(&mut self, at: At<'_>, path: &[u8], new: (&[u8], &[u8]), how: XattrFlags, flags: AtFlags) -> Result<(), Errno> {
        wait(self.face().setxattr(Place::new(at, path), new.0, new.1, how, flags))
    }

    fn listxattrat(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<XattrList, Errno> {
        wait(self.face().listxattr(Place::new(at, path), flags))
    }

    fn removexattrat(&mut self, at: At<'_>, path: &[u8], name: &[u8], flags: AtFlags) -> Result<(), Errno> {
        wait(self.face().removexattr(Place::new(at, path), name, flags))
    }

    fn read(&mut self, file: &Arc<File>, buffer: &mut [u8]) -> Result<usize, Errno> {
        let data = wait(self.face().read(file, vec![0; buffer.len()], Offset::Current))?;
        Ok(copied(&data, buffer))
    }

    fn read_at(&mut self, file: &Arc<File>, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let data = wait(self.face().read(file, vec![0; buffer.len()], Offset::At(offset)))?;
        Ok(copied(&data, buffer))
    }

    fn write(&mut self, file: &Arc<File>, data: &[u8]) -> Result<usize, Errno> {
        wait(self.face().write(file, data.to_vec(), Offset::Current))
    }

    fn write_at(&mut self, file: &Arc<File>, data: &[u8], offset: u64) -> Result<usize, Errno> {
        wait(self.face().write(file, data.to_vec(), Offset::At(offset)))
    }

    fn read_with(&mut self, file: &Arc<File>, buffer: &mut [u8], offset: Option<u64>, flags: RwFlags) -> Result<usize, Errno> {
        let offset = offset.map_or(Offset::Current, Offset::At);
        let data = wait(self.face().read_with(file, vec![0; buffer.len()], offset, flags))?;
        Ok(copied(&data, buffer))
    }

    fn write_with(&mut self, file: &Arc<File>, data: &[u8], offset: Option<u64>, flags: RwFlags) -> Result<usize, Errno> {
        let offset = offset.map_or(Offset::Current, Offset::At);
        wait(self.face().write_with(file, data.to_vec(), offset, flags))
    }

    fn lease(&mut self, file: &Arc<File>, kind: LockKind) -> Result<Lease, Errno> {
        wait(self.face().lease(file, kind))
    }

    fn set_lease(&mut self, lease: &Lease, kind: LockKind) -> Result<(), Errno> {
        wait(self.face().set_lease(lease, kind))
    }

    fn name_to_handle(&mut self, at: At<'_>, path: &[u8], flags: HandleFlags) -> Result<(FileHandle, u64), Errno> {
        wait(self.face().name_to_handle(Place::new(at, path), flags))
    }

    fn open_by_handle(&mut self, mount: &Handle, handle: &FileHandle, how: &OpenHow) -> Result<Arc<File>, Errno> {
        wait(self.face().open_by_handle(mount, handle, *how))
    }

    fn fallocate(&mut self, file: &Arc<File>, mode: FallocateFlags, offset: u64, length: u64) -> Result<(), Errno> {
        wait(self.face().fallocate(file, mode, offset, length))
    }

    fn sync(&mut self, file: &Arc<File>, what: SyncWhat) -> Result<(), Errno> {
        wait(self.face().sync(file, what))
    }

    fn list(&mut self, file: &Arc<File>, each: &mut dyn FnMut(Listed)) -> Result<(), Errno> {
        loop {
            let listed = wait(self.face().read_dir(file, BATCH))?;
            if listed.is_empty() {
                return Ok(());
            }
            listed.into_iter().for_each(|entry| each((entry.name.into_vec(), entry.kind, entry.ino)));
        }
    }

    fn list_nodes(&mut self, file: &Arc<File>, at_most: usize) -> Result<Vec<ListedNode>, Errno> {
        wait(self.face().readdirplus(file, at_most, EntryHandles::Without))
    }

    fn close(&mut self, file: Arc<File>) -> Result<(), Errno> {
        wait(self.face().close(file))
    }
}
