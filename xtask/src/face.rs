//! The ways in which the engine can be called: by a [`Context`], by its caches alone, by a ring,
//! and by futures.
//!
//! A face carries out single operations; its callers are the same for all faces. An operation that
//! a face does not have is carried out by the [`Context`]. An answer must not depend on the face
//! that gave it.

mod asynchronous;
mod cached;
mod plain;
mod ring;
mod tally;

use std::io::{IoSlice, IoSliceMut};
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{
    Access, At, AtFlags, Attributes, Context, EntryHandles, Errno, FallocateFlags, File, FileHandle, FileType, Handle,
    HandleFlags, InodeFlags, Lease, LinkFlags, ListedNode, LockKind, OpenHow, RenameFlags, Resolve, RwFlags, Statx, StatxMask,
    SyncWhat, UnlinkFlags, XattrFlags, XattrList,
};
use pathwalk_ring::Pool;

use crate::generate::Dice;
use crate::program::Settings;
pub use tally::Tally;
pub(crate) use tally::told;

/// The number of faces.
const FACES: usize = 4;

/// The kind of a face.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A context.
    Engine,
    /// The caches alone; a context where they answer `EAGAIN`.
    Cached,
    /// Entries of a ring.
    Ring,
    /// Futures.
    Async,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; FACES] = [Kind::Engine, Kind::Cached, Kind::Ring, Kind::Async];

    /// Returns a face of this kind over a context.
    pub fn face(self, context: Context, company: Company) -> Box<dyn Face> {
        match self {
            Kind::Engine => Box::new(plain::Plain::new(context)),
            Kind::Cached => Box::new(cached::Caches::new(context, company)),
            Kind::Ring => Box::new(ring::ByRing::new(context)),
            Kind::Async => Box::new(asynchronous::ByFuture::new(context)),
        }
    }

    /// Returns the setting that selects this face in a program.
    pub(crate) fn settings(self) -> Settings {
        match self {
            Kind::Engine => Settings::empty(),
            Kind::Cached => Settings::BY_CACHED,
            Kind::Ring => Settings::BY_RING,
            Kind::Async => Settings::BY_ASYNC,
        }
    }

    /// Returns the face that a program's settings select. Of several the first counts.
    pub(crate) fn of(settings: Settings) -> Kind {
        let asked = Kind::ALL.into_iter().skip(1).find(|kind| settings.contains(kind.settings()));
        asked.unwrap_or(Kind::Engine)
    }

    pub(crate) fn drawn(rng: &mut Dice) -> Kind {
        Kind::ALL[rng.usize(..FACES)]
    }

    /// Returns the name of the face.
    pub fn name(self) -> &'static str {
        ["engine", "cached", "ring", "async"][self as usize]
    }
}

/// The presence of other threads that use the same `Vfs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Company {
    /// No other threads.
    Alone,
    /// Possibly other threads.
    Others,
}

/// An entry of a listing: the name, its type and inode number.
pub type Listed = (Vec<u8>, FileType, u64);

/// The calls of one process.
///
/// Each operation is that of its namesake in [`Context`] or [`File`]. Operations that no face has
/// are reached through the face as a [`Context`].
pub trait Face: Send {
    /// Returns the context of the process.
    fn context(&self) -> &Context;

    /// Returns the context, for changes of the process itself.
    fn context_mut(&mut self) -> &mut Context;

    /// Sets the rules by which `lookupat`, `statx`, `fstatat`, `faccessat` and `readlinkat` resolve
    /// their paths from now on. Invalid rules are `EINVAL`, here or in each operation.
    fn set_rules(&mut self, rules: Resolve) -> Result<(), Errno> {
        let context = self.context().clone().with_resolve(rules)?;
        *self.context_mut() = context;
        Ok(())
    }

    /// Returns a handle on the node that a path leads to.
    fn lookupat(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<Handle, Errno> {
        self.context().lookup_at(at, path, flags)
    }

    /// Opens a file.
    fn open(&mut self, at: At<'_>, path: &[u8], how: &OpenHow) -> Result<Arc<File>, Errno> {
        self.context().openat(at, path, how).map(Arc::new)
    }

    /// Returns the wanted attributes.
    fn statx(&mut self, at: At<'_>, path: &[u8], flags: AtFlags, mask: StatxMask) -> Result<Statx, Errno> {
        self.context().statx_at(at, path, flags, mask)
    }

    /// Returns all attributes that `stat(2)` gives.
    fn fstatat(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<Attributes, Errno> {
        self.context().fstatat(at, path, flags)
    }

    /// Checks whether a node may be accessed in this way.
    fn faccessat(&mut self, at: At<'_>, path: &[u8], want: Access, flags: AtFlags) -> Result<(), Errno> {
        self.context().faccessat(at, path, want, flags)
    }

    /// Reads the body of a link; returns its length.
    fn readlinkat(&mut self, at: At<'_>, path: &[u8], buffer: &mut [u8]) -> Result<usize, Errno> {
        self.context().readlinkat(at, path, buffer)
    }

    /// Returns an access control list.
    fn acl(&mut self, at: At<'_>, path: &[u8], kind: AclKind, flags: AtFlags) -> Result<Option<Acl>, Errno> {
        self.context().acl_at(at, path, kind, flags)
    }

    /// Sets an access control list, or removes it.
    fn set_acl(&mut self, at: At<'_>, path: &[u8], kind: AclKind, acl: Option<Acl>, flags: AtFlags) -> Result<(), Errno> {
        self.context().set_acl_at(at, path, kind, acl.as_ref(), flags)
    }

    /// Returns the flags that users set.
    fn inode_flags(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<InodeFlags, Errno> {
        self.context().inode_flags_at(at, path, flags)
    }

    /// Sets the flags that users set.
    fn set_inode_flags(&mut self, at: At<'_>, path: &[u8], to: InodeFlags, flags: AtFlags) -> Result<(), Errno> {
        self.context().set_inode_flags_at(at, path, to, flags)
    }

    /// Creates a directory.
    fn mkdir(&mut self, at: At<'_>, path: &[u8], mode: u16) -> Result<(), Errno> {
        self.context().mkdirat(at, path, mode)
    }

    /// Creates a symbolic link.
    fn symlink(&mut self, body: &[u8], at: At<'_>, path: &[u8]) -> Result<(), Errno> {
        self.context().symlinkat(body, at, path)
    }

    /// Gives a node one more name.
    fn link(&mut self, from: At<'_>, old: &[u8], to: At<'_>, new: &[u8], flags: LinkFlags) -> Result<(), Errno> {
        self.context().linkat(from, old, to, new, flags)
    }

    /// Removes a name.
    fn unlink(&mut self, at: At<'_>, path: &[u8]) -> Result<(), Errno> {
        self.context().unlinkat(at, path, UnlinkFlags::empty())
    }

    /// Removes an empty directory.
    fn rmdir(&mut self, at: At<'_>, path: &[u8]) -> Result<(), Errno> {
        self.context().unlinkat(at, path, UnlinkFlags::REMOVEDIR)
    }

    /// Gives a node another name.
    fn rename(&mut self, from: At<'_>, old: &[u8], to: At<'_>, new: &[u8], flags: RenameFlags) -> Result<(), Errno> {
        self.context().renameat(from, old, to, new, flags)
    }

    /// Returns an extended attribute.
    fn getxattrat(&mut self, at: At<'_>, path: &[u8], name: &[u8], flags: AtFlags) -> Result<Vec<u8>, Errno> {
        self.context().getxattrat(at, path, name, flags)
    }

    /// Sets an extended attribute: its name, and its value.
    fn setxattrat(&mut self, at: At<'_>, path: &[u8], new: (&[u8], &[u8]), how: XattrFlags, flags: AtFlags) -> Result<(), Errno> {
        self.context().setxattrat(at, path, new.0, new.1, how, flags)
    }

    /// Returns the names of the extended attributes.
    fn listxattrat(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<XattrList, Errno> {
        self.context().listxattrat(at, path, flags)
    }

    /// Removes an extended attribute.
    fn removexattrat(&mut self, at: At<'_>, path: &[u8], name: &[u8], flags: AtFlags) -> Result<(), Errno> {
        self.context().removexattrat(at, path, name, flags)
    }

    /// Reads at the file's position.
    fn read(&mut self, file: &Arc<File>, buffer: &mut [u8]) -> Result<usize, Errno> {
        file.read(buffer)
    }

    /// Reads at an offset.
    fn read_at(&mut self, file: &Arc<File>, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        file.read_at(buffer, offset)
    }

    /// Writes at the file's position.
    fn write(&mut self, file: &Arc<File>, data: &[u8]) -> Result<usize, Errno> {
        file.write(data)
    }

    /// Writes at an offset.
    fn write_at(&mut self, file: &Arc<File>, data: &[u8], offset: u64) -> Result<usize, Errno> {
        file.write_at(data, offset)
    }

    /// Reads with flags, at an offset or at the position.
    fn read_with(&mut self, file: &Arc<File>, buffer: &mut [u8], offset: Option<u64>, flags: RwFlags) -> Result<usize, Errno> {
        file.preadv2(&mut [IoSliceMut::new(buffer)], offset, flags)
    }

    /// Writes with flags, at an offset or at the position.
    fn write_with(&mut self, file: &Arc<File>, data: &[u8], offset: Option<u64>, flags: RwFlags) -> Result<usize, Errno> {
        file.pwritev2(&[IoSlice::new(data)], offset, flags)
    }

    /// Leases a file by the rights of its opener.
    fn lease(&mut self, file: &Arc<File>, kind: LockKind) -> Result<Lease, Errno> {
        file.lease(kind)
    }

    /// Changes or releases a lease.
    fn set_lease(&mut self, lease: &Lease, kind: LockKind) -> Result<(), Errno> {
        lease.set(kind)
    }

    /// Returns the handle of a node.
    fn name_to_handle(&mut self, at: At<'_>, path: &[u8], flags: HandleFlags) -> Result<(FileHandle, u64), Errno> {
        self.context().name_to_handle_at(at, path, flags)
    }

    /// Opens a handle's node.
    fn open_by_handle(&mut self, mount: &Handle, handle: &FileHandle, how: &OpenHow) -> Result<Arc<File>, Errno> {
        self.context().open_by_handle(mount, handle, *how).map(Arc::new)
    }

    /// Changes the space of a file.
    fn fallocate(&mut self, file: &Arc<File>, mode: FallocateFlags, offset: u64, length: u64) -> Result<(), Errno> {
        file.fallocate(mode, offset, length)
    }

    /// Writes a file to stable storage.
    fn sync(&mut self, file: &Arc<File>, what: SyncWhat) -> Result<(), Errno> {
        file.sync(what)
    }

    /// Lists a directory from the position to the end.
    fn list(&mut self, file: &Arc<File>, each: &mut dyn FnMut(Listed)) -> Result<(), Errno> {
        list(file, each)
    }

    /// Returns the next entries of a directory with their attributes and handles.
    fn list_nodes(&mut self, file: &Arc<File>, at_most: usize) -> Result<Vec<ListedNode>, Errno> {
        self.context().readdirplus(file, at_most, EntryHandles::With)
    }

    /// Closes a file that has no other holder.
    fn close(&mut self, file: Arc<File>) -> Result<(), Errno> {
        drop(file);
        Ok(())
    }
}

/// Gives access to the operations that no face has.
impl Deref for dyn Face {
    type Target = Context;

    fn deref(&self) -> &Context {
        self.context()
    }
}

/// Lists a directory without a face.
pub(crate) fn list(file: &File, each: &mut dyn FnMut(Listed)) -> Result<(), Errno> {
    file.getdents(usize::MAX)?.into_iter().for_each(|entry| each((entry.name.into(), entry.kind, entry.ino)));
    Ok(())
}

/// The workers of all rings and futures.
static POOL: LazyLock<Pool> = LazyLock::new(|| Pool::builder().workers(2).build());

/// Returns the error for two answers that contradict each other, and for a completion that is
/// missing or superfluous. No oracle answers with it.
pub(crate) fn at_odds() -> Errno {
    Errno::from_raw(4000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::first_mismatch;
    use crate::engine::Engine;
    use crate::generate::{self, Files};
    use crate::outcome::Interpreter as _;
    use crate::program::Program;

    fn by(kind: Kind, program: &Program) -> Program {
        Program { settings: (program.settings - Settings::FACES) | kind.settings(), ..program.clone() }
    }

    #[test]
    fn all_faces_answer_the_same() {
        for seed in 0..40 {
            let program = generate::program(seed, 200, Files::Short);
            let plain = Engine::in_memory().run(&by(Kind::Engine, &program)).expect("a context carries it out");
            for kind in [Kind::Cached, Kind::Ring, Kind::Async] {
                let program = by(kind, &program);
                let other = Engine::in_memory().run(&program).expect("a face carries it out");
                let differs = first_mismatch(&program, ["engine", kind.name()], &plain, &other);
                assert!(differs.is_none(), "seed {seed}: {}\n{program}", differs.map(|found| found.text).unwrap_or_default());
            }
        }
    }

    #[test]
    fn the_caches_answer_what_was_just_answered() {
        for seed in 0..40 {
            let program = by(Kind::Cached, &generate::program(seed, 200, Files::Short));
            let slow = Settings::ASK_NAMES | Settings::ASK_ABSENCE | Settings::OWN_RULE | Settings::FORGETFUL;
            let program = Program { settings: program.settings - slow, ..program };
            Engine::in_memory().run(&program).expect("the caches carry it out");
        }
        let Tally { asked, answered, asked_again, answered_again } = Kind::Cached.tally();
        assert!(answered * 4 > asked, "{:?}", told());
        assert!(answered_again * 4 > asked_again, "{:?}", told());
    }
}
