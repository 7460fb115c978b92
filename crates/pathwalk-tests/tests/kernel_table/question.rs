//! One question for the kernel, with an answer that can be compared.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use pathwalk::{Access, AtFlags, Attributes, Errno, FileType, Resolve};

/// A question about a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ask {
    Access(Access, AtFlags),
    Stat(AtFlags),
    /// `readlink` with a buffer of this many bytes.
    Readlink(usize),
    /// `open(O_PATH)`: the node of the handle.
    Lookup(AtFlags),
    /// `openat2` with these rules: the node of the handle.
    Resolved(Resolve, AtFlags),
}

/// The attributes that both sides must agree on. Inode numbers, times and sizes of directories may
/// differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    kind: FileType,
    mode: u16,
    /// The link count; `None` for a directory on a file system that does not count it.
    nlink: Option<u32>,
    uid: u32,
    gid: u32,
    size: Option<u64>,
}

/// The answer of either side.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Granted,
    Attributes(Seen),
    Body(Vec<u8>),
    /// The node of a handle, and its path from the root; `None` once removed.
    Place(Seen, Option<Vec<u8>>),
    Refused(Errno),
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let short = |bytes: &[u8]| match bytes {
            [start @ .., _, _, _] if bytes.len() > 80 => format!("{}… ({} bytes)", start[..40].escape_ascii(), bytes.len()),
            _ => bytes.escape_ascii().to_string(),
        };
        match self {
            Answer::Granted => write!(f, "granted"),
            Answer::Attributes(seen) => write!(f, "{seen:?}"),
            Answer::Body(body) => write!(f, "\"{}\"", short(body)),
            Answer::Place(seen, Some(path)) => write!(f, "\"{}\" {seen:?}", short(path)),
            Answer::Place(seen, None) => write!(f, "(removed) {seen:?}"),
            Answer::Refused(errno) => write!(f, "{errno:?}"),
        }
    }
}

impl Answer {
    /// Returns the answer without the link count of a directory, which not every file system counts
    /// as a tmpfs does.
    pub(crate) fn without_directory_links(mut self) -> Answer {
        if let Answer::Attributes(seen) | Answer::Place(seen, _) = &mut self
            && seen.kind == FileType::Directory
        {
            seen.nlink = None;
        }
        self
    }
}

/// Returns all questions about each path.
pub(crate) fn all() -> Vec<Ask> {
    const NO_FLAGS: AtFlags = AtFlags::empty();
    let (effective, nofollow, empty) = (AtFlags::EACCESS, AtFlags::SYMLINK_NOFOLLOW, AtFlags::EMPTY_PATH);
    let mut asks: Vec<Ask> = (0..8).map(|bits| Ask::Access(Access::from_bits_truncate(bits), NO_FLAGS)).collect();
    let few = [Access::empty(), Access::READ, Access::WRITE, Access::EXECUTE];
    asks.extend(few.map(|want| Ask::Access(want, effective)));
    asks.extend([
        Ask::Access(Access::all(), effective),
        Ask::Access(Access::empty(), nofollow),
        Ask::Access(Access::EXECUTE, nofollow),
        Ask::Access(Access::empty(), empty),
        Ask::Access(Access::READ, empty),
        Ask::Access(Access::WRITE, effective | nofollow | empty),
    ]);
    asks.extend([NO_FLAGS, nofollow, empty, nofollow | empty, effective].map(Ask::Stat));
    asks.extend([0, 1, 3, 4095, 4096].map(Ask::Readlink));
    asks.extend([NO_FLAGS, nofollow].map(Ask::Lookup));
    asks
}

/// Returns the questions about each path with rules for its resolution.
pub(crate) fn resolved() -> Vec<Ask> {
    let alone = [Resolve::NO_XDEV, Resolve::NO_MAGICLINKS, Resolve::NO_SYMLINKS, Resolve::BENEATH, Resolve::IN_ROOT];
    let no_links = Resolve::NO_SYMLINKS | Resolve::NO_MAGICLINKS;
    let mut rules = alone.to_vec();
    rules.extend([Resolve::BENEATH, Resolve::IN_ROOT].map(|scope| scope | no_links));
    rules.extend([Resolve::BENEATH, Resolve::IN_ROOT].map(|scope| scope | Resolve::NO_XDEV));
    // Invalid rules.
    rules.extend([Resolve::BENEATH | Resolve::IN_ROOT, Resolve::from_bits_retain(0x40)]);
    let follow = [AtFlags::empty(), AtFlags::SYMLINK_NOFOLLOW];
    rules.into_iter().flat_map(|rules| follow.map(|flags| Ask::Resolved(rules, flags))).collect()
}

/// The number of retries of a question that the kernel could not answer because of a change
/// elsewhere.
const TRIES: usize = 1000;

/// The kernel's side: a thread whose root is the place.
pub(crate) struct Kernel {
    /// The directory `/proc/self/fd`, opened before the thread's root was changed; `None` where
    /// paths are not compared.
    pub(crate) descriptors: Option<OwnedFd>,
}

/// Returns the kernel's answer; a negative return value becomes the error in `errno`.
fn checked(result: libc::c_long) -> Result<usize, Errno> {
    usize::try_from(result).map_err(|_| Errno::from_raw(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)))
}

impl Kernel {
    /// Asks the kernel, relative to `at` (`AT_FDCWD` included).
    pub(crate) fn ask(&self, ask: Ask, at: RawFd, path: &CStr) -> Answer {
        let answer = match ask {
            Ask::Access(want, flags) => access(at, path, want, flags).map(|()| Answer::Granted),
            Ask::Stat(flags) => stat(at, path, flags.bits()).map(Answer::Attributes),
            Ask::Readlink(size) => readlink(at, path, size).map(Answer::Body),
            Ask::Lookup(flags) => self.lookup(at, path, flags, Resolve::empty()),
            Ask::Resolved(resolve, flags) => self.lookup(at, path, flags, resolve),
        };
        answer.unwrap_or_else(Answer::Refused)
    }

    fn lookup(&self, at: RawFd, path: &CStr, flags: AtFlags, resolve: Resolve) -> Result<Answer, Errno> {
        let nofollow = if flags.contains(AtFlags::SYMLINK_NOFOLLOW) { libc::O_NOFOLLOW } else { 0 };
        // The fields of `struct open_how`: flags, mode, resolve.
        let how = [(libc::O_PATH | libc::O_CLOEXEC | nofollow) as u64, 0, resolve.bits().into()];
        let open = || {
            // SAFETY: `path` ends in a NUL and outlives the call, as does `how`, whose length is
            // given.
            checked(unsafe { libc::syscall(libc::SYS_openat2, at, path.as_ptr(), how.as_ptr(), size_of_val(&how)) })
        };
        // A scoped walk over a `..` is `EAGAIN` if a rename or mount anywhere on the machine is
        // concurrent.
        let opened = std::iter::repeat_with(open).take(TRIES).find(|opened| *opened != Err(Errno::EAGAIN));
        let fd = opened.unwrap_or(Err(Errno::EAGAIN))? as RawFd;
        // SAFETY: the descriptor was just opened and has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let seen = stat(fd.as_raw_fd(), c"", libc::AT_EMPTY_PATH as u32)?;
        let Some(descriptors) = &self.descriptors else { return Ok(Answer::Place(seen, None)) };
        let name = std::ffi::CString::new(fd.as_raw_fd().to_string()).map_err(|_| Errno::EINVAL)?;
        let path = readlink(descriptors.as_raw_fd(), &name, 8192)?;
        Ok(Answer::Place(seen, Some(path).filter(|path| !path.ends_with(b" (deleted)"))))
    }
}

fn access(at: RawFd, path: &CStr, want: Access, flags: AtFlags) -> Result<(), Errno> {
    let (want, flags) = (libc::c_int::from(want.bits()), flags.bits());
    // SAFETY: `path` ends in a NUL and outlives the call.
    checked(unsafe { libc::syscall(libc::SYS_faccessat2, at, path.as_ptr(), want, flags) }).map(drop)
}

fn readlink(at: RawFd, path: &CStr, size: usize) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0xee; size];
    // SAFETY: `path` ends in a NUL; the kernel writes at most `size` bytes into the buffer, which
    // has as many.
    let len = checked(unsafe { libc::syscall(libc::SYS_readlinkat, at, path.as_ptr(), buffer.as_mut_ptr(), size) })?;
    buffer.truncate(len);
    Ok(buffer)
}

fn stat(at: RawFd, path: &CStr, flags: u32) -> Result<Seen, Errno> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `path` ends in a NUL; the kernel fills `stat` if it succeeds.
    checked(unsafe { libc::fstatat(at, path.as_ptr(), stat.as_mut_ptr(), flags as libc::c_int) }.into())?;
    // SAFETY: the call succeeded.
    let stat = unsafe { stat.assume_init() };
    let kind = FileType::from_mode(stat.st_mode).ok_or(Errno::EINVAL)?;
    Ok(seen(kind, stat.st_mode as u16 & 0o7777, stat.st_nlink as u32, (stat.st_uid, stat.st_gid), stat.st_size as u64))
}

fn seen(kind: FileType, mode: u16, nlink: u32, (uid, gid): (u32, u32), size: u64) -> Seen {
    Seen { kind, mode, nlink: Some(nlink), uid, gid, size: (kind != FileType::Directory).then_some(size) }
}

impl From<Attributes> for Seen {
    fn from(it: Attributes) -> Seen {
        seen(it.kind, it.mode, it.nlink, (it.uid, it.gid), it.size)
    }
}

/// Returns a raw descriptor for [`Kernel::ask`].
pub(crate) fn raw(fd: Option<BorrowedFd<'_>>) -> RawFd {
    fd.map_or(libc::AT_FDCWD, |fd| fd.as_raw_fd())
}
