//! The calls of users to the engine.

use pathwalk::permission::Capabilities;
use pathwalk::{
    Access, At, AtFlags, Attributes, Context, Errno, NewKind, OpenFlags, OpenHow, RenameFlags, SetTime, StatxMask, Timestamp,
};

use super::{Call, Owner};

const CWD: At<'static> = At::Cwd;

/// Makes a call as a context.
pub(crate) fn call(context: &Context, call: &Call) -> Result<Option<Owner>, Errno> {
    match call {
        Call::Stat(path) => return stat(context, path).map(Some),
        Call::Access(path, want) => access(context, path, Access::from_bits_truncate(*want)),
        Call::Create { path, mode, exclusive } => {
            let mut flags = OpenFlags::CREATE | OpenFlags::WRITE | OpenFlags::NONBLOCK;
            flags.set(OpenFlags::EXCLUSIVE, *exclusive);
            context.open(path, OpenHow { flags, mode: *mode, ..OpenHow::default() }).map(drop)
        }
        Call::Write { path, truncate } => {
            let mut flags = OpenFlags::WRITE | OpenFlags::NONBLOCK;
            flags.set(OpenFlags::TRUNCATE, *truncate);
            context.open(path, flags)?.write(b"x").map(drop)
        }
        Call::Read(path) => context.open(path, OpenFlags::READ | OpenFlags::NONBLOCK).map(drop),
        Call::Mkdir(path, mode) => context.mkdir(path, *mode),
        Call::Pipe(path, mode) => context.mknod(path, NewKind::Fifo, *mode),
        Call::Symlink(path) => context.symlink("f", path),
        Call::Unnamed(path, mode) => {
            let flags = OpenFlags::TMPFILE | OpenFlags::WRITE;
            let file = context.open(path, OpenHow { flags, mode: *mode, ..OpenHow::default() })?;
            return Ok(Some(owner(&file.handle().attributes()?)));
        }
        Call::Link(from, to) => context.link(from, to),
        Call::Rename(from, to) => context.renameat(CWD, from, CWD, to, RenameFlags::empty()),
        Call::Unlink(path) => context.unlink(path),
        Call::Rmdir(path) => context.rmdir(path),
        Call::Chmod(path, mode) => context.chmod(path, *mode),
        Call::Chown(path, uid, gid) => context.fchownat(CWD, path, *uid, *gid, AtFlags::SYMLINK_NOFOLLOW),
        Call::Truncate(path) => context.truncate(path, 0),
        Call::Touch(path) => context.utimensat(CWD, path, SetTime::Now, SetTime::Now, AtFlags::SYMLINK_NOFOLLOW),
        Call::SetTimes(path) => {
            let time = SetTime::To(Timestamp { seconds: 86_400, nanoseconds: 0 });
            context.utimensat(CWD, path, time, time, AtFlags::SYMLINK_NOFOLLOW)
        }
    }
    .map(|()| None)
}

fn owner(of: &Attributes) -> Owner {
    [of.uid, of.gid, of.st_mode()]
}

/// Returns the attributes of a file, read in three ways. The last one uses the caches alone, which
/// may lack them.
fn stat(context: &Context, path: &str) -> Result<Owner, Errno> {
    let found = context.lstat(path).map(|found| owner(&found));
    let (flags, mask) = (AtFlags::SYMLINK_NOFOLLOW, StatxMask::BASIC_STATS);
    let again = context.statx_at(CWD, path, flags, mask).map(|found| owner(&found.attributes));
    assert_eq!(again, found, "statx of {path}");
    let cached = context.cached().statx_at(CWD, path, flags, mask).map(|found| owner(&found.attributes));
    assert!(cached == found || cached == Err(Errno::EAGAIN), "of {path}, cached: {cached:?}, else {found:?}");
    if let Ok(handle) = context.lookup_at(CWD, path, flags) {
        assert_eq!(handle.attributes().map(|found| owner(&found)), found, "by a handle on {path}");
    }
    found
}

fn access(context: &Context, path: &str, want: Access) -> Result<(), Errno> {
    let found = context.faccessat(CWD, path, want, AtFlags::EACCESS);
    if !Capabilities::all().iter().any(|capability| context.credentials().effective().has(capability)) {
        assert_eq!(context.access(path, want), found, "by the real ids, which are the same: {path}");
    }
    let cached = context.cached().faccessat(CWD, path, want, AtFlags::EACCESS);
    assert!(cached == found || cached == Err(Errno::EAGAIN), "of {path}, cached: {cached:?}, else {found:?}");
    found
}
