//! The running kernel, asked the same questions.
//!
//! The calls are made as cheaply as a C program could make them: rustix issues the system call
//! itself and writes no `errno`, and the strings with their NUL are made beforehand.

use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;

use pathwalk::{Access, AtFlags, Errno};
use rustix::fs::{Stat, Statx, StatxFlags};

use pathwalk_trace::trace::Question;

/// A question with its path in the form that the kernel takes.
#[derive(Clone, Debug)]
pub struct KernelQuestion {
    path: CString,
    want: rustix::fs::Access,
}

impl KernelQuestion {
    /// Asks with `access(2)`, by the real ids of this process.
    #[inline(always)]
    pub fn ask(&self) -> Result<(), Errno> {
        access(&self.path, self.want)
    }

    /// Returns the path.
    pub fn path(&self) -> &CStr {
        &self.path
    }
}

impl From<&Question> for KernelQuestion {
    /// Converts a question. Cuts the path at a NUL, which no [`Trace`](pathwalk_trace::trace::Trace)
    /// contains.
    fn from(question: &Question) -> Self {
        let end = question.path.iter().position(|byte| *byte == 0).unwrap_or(question.path.len());
        let path = CString::new(&question.path[..end]).expect("no NUL is left");
        KernelQuestion { path, want: mode(question.want) }
    }
}

/// Returns the access that the kernel grants this process to `path`, or the error of reaching it.
/// It is for maps of whole paths.
pub fn everything(path: &CStr) -> Result<Access, Errno> {
    access(path, rustix::fs::Access::EXISTS)?;
    let may = |want: &Access| access(path, mode(*want)).is_ok();
    Ok(Access::all().iter().filter(may).collect())
}

/// Returns the mode in the form that the kernel takes.
#[inline(always)]
pub fn mode(want: Access) -> rustix::fs::Access {
    rustix::fs::Access::from_bits_retain(u32::from(want.bits()))
}

/// Calls `access(2)`: by the real ids, from the working directory.
#[inline(always)]
pub fn access(path: &CStr, want: rustix::fs::Access) -> Result<(), Errno> {
    rustix::fs::access(path, want).map_err(errno)
}

/// Calls `readlink(2)` into a buffer.
#[inline(always)]
pub fn readlink(path: &CStr, buffer: &mut [u8]) -> Result<usize, Errno> {
    rustix::fs::readlinkat_raw(rustix::fs::CWD, path, buffer).map_err(errno)
}

/// Calls `faccessat2(2)`, or `faccessat(2)` without flags.
#[inline(always)]
pub fn faccessat(at: BorrowedFd<'_>, path: &CStr, want: rustix::fs::Access, flags: AtFlags) -> Result<(), Errno> {
    rustix::fs::accessat(at, path, want, at_flags(flags)).map_err(errno)
}

/// Calls `fstatat(2)`.
#[inline(always)]
pub fn fstatat(at: BorrowedFd<'_>, path: &CStr, flags: AtFlags) -> Result<Stat, Errno> {
    rustix::fs::statat(at, path, at_flags(flags)).map_err(errno)
}

/// Calls `statx(2)` for everything that `stat(2)` reports and the time of creation. Like `stat(2)`,
/// it triggers no automount.
#[inline(always)]
pub fn statx(at: BorrowedFd<'_>, path: &CStr, flags: AtFlags) -> Result<Statx, Errno> {
    let flags = at_flags(flags) | rustix::fs::AtFlags::NO_AUTOMOUNT;
    rustix::fs::statx(at, path, flags, StatxFlags::BASIC_STATS | StatxFlags::BTIME).map_err(errno)
}

/// Calls `readlinkat(2)` into a buffer.
#[inline(always)]
pub fn readlinkat(at: BorrowedFd<'_>, path: &CStr, buffer: &mut [u8]) -> Result<usize, Errno> {
    rustix::fs::readlinkat_raw(at, path, buffer).map_err(errno)
}

#[inline(always)]
fn at_flags(flags: AtFlags) -> rustix::fs::AtFlags {
    rustix::fs::AtFlags::from_bits_retain(flags.bits())
}

/// Converts an error of the kernel to the engine's type.
pub fn errno(errno: rustix::io::Errno) -> Errno {
    Errno::from_raw(errno.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_the_kernels_bits() {
        let pairs = [
            (Access::READ, rustix::fs::Access::READ_OK),
            (Access::WRITE, rustix::fs::Access::WRITE_OK),
            (Access::EXECUTE, rustix::fs::Access::EXEC_OK),
            (Access::empty(), rustix::fs::Access::EXISTS),
        ];
        for (ours, kernels) in pairs {
            assert_eq!(u32::from(ours.bits()), kernels.bits());
        }
    }

    #[test]
    fn flags_have_the_kernels_bits() {
        let pairs = [
            (AtFlags::SYMLINK_NOFOLLOW, rustix::fs::AtFlags::SYMLINK_NOFOLLOW),
            (AtFlags::EACCESS, rustix::fs::AtFlags::EACCESS),
            (AtFlags::EMPTY_PATH, rustix::fs::AtFlags::EMPTY_PATH),
        ];
        assert!(pairs.iter().all(|(ours, kernels)| at_flags(*ours) == *kernels));
    }

    #[test]
    fn it_answers_from_a_descriptor() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("link")).unwrap();
        let dir = std::fs::File::open(dir.path()).unwrap();
        let at = std::os::fd::AsFd::as_fd(&dir);
        let (follow, stay) = (AtFlags::empty(), AtFlags::SYMLINK_NOFOLLOW);
        assert_eq!(faccessat(at, c"link", mode(Access::empty()), follow), Err(Errno::ENOENT));
        assert_eq!(faccessat(at, c"link", mode(Access::READ), stay | AtFlags::EACCESS), Ok(()));
        assert_eq!(fstatat(at, c"link", follow).map(|stat| stat.st_size), Err(Errno::ENOENT));
        assert_eq!(fstatat(at, c"link", stay).map(|stat| stat.st_size), Ok(7));
        assert_eq!(statx(at, c"link", stay).map(|stat| stat.stx_size), Ok(7));
        let mut buffer = [0; 16];
        assert_eq!(readlinkat(at, c"link", &mut buffer), Ok(7));
        assert_eq!(&buffer[..7], b"nowhere");
    }

    #[test]
    fn it_answers() {
        let ask = |path: &[u8], want| KernelQuestion::from(&Question { line: 1, path: path.into(), want }).ask();
        assert_eq!(ask(b"/", Access::READ), Ok(()));
        assert_eq!(ask(b"", Access::empty()), Err(Errno::ENOENT));
        assert_eq!(ask(&[b'a'; 5000], Access::empty()), Err(Errno::ENAMETOOLONG));
        assert!(everything(c"/").unwrap().contains(Access::EXECUTE));
    }
}
