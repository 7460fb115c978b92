//! The running kernel, asked the same questions.
//!
//! The calls are made as cheaply as a C program could make them: rustix issues the system call itself and writes no
//! `errno`, and the strings with their NUL are made beforehand.

use std::ffi::{CStr, CString};

use pathwalk::{Access, Errno};

use crate::trace::Question;

/// A question with its path as the kernel takes it.
#[derive(Clone, Debug)]
pub struct KernelQuestion {
    path: CString,
    want: rustix::fs::Access,
}

impl KernelQuestion {
    /// Asks with `access(2)`: by the real ids of this process.
    #[inline(always)]
    pub fn ask(&self) -> Result<(), Errno> {
        access(&self.path, self.want)
    }

    /// The path.
    pub fn path(&self) -> &CStr {
        &self.path
    }
}

impl From<&Question> for KernelQuestion {
    /// Cuts the path at a NUL, of which a [`Trace`](crate::trace::Trace) has none.
    fn from(question: &Question) -> Self {
        let end = question.path.iter().position(|byte| *byte == 0).unwrap_or(question.path.len());
        let path = CString::new(&question.path[..end]).expect("no NUL is left");
        KernelQuestion { path, want: rustix::fs::Access::from_bits_retain(u32::from(question.want.bits())) }
    }
}

/// What the kernel lets this process do with `path`, or why it does not get there. For maps of whole paths.
pub fn everything(path: &CStr) -> Result<Access, Errno> {
    access(path, rustix::fs::Access::EXISTS)?;
    let may = |want: &Access| access(path, rustix::fs::Access::from_bits_retain(u32::from(want.bits()))).is_ok();
    Ok(Access::all().iter().filter(may).collect())
}

#[inline(always)]
fn access(path: &CStr, want: rustix::fs::Access) -> Result<(), Errno> {
    rustix::fs::access(path, want).map_err(errno)
}

/// `readlink(2)` into a buffer.
#[inline(always)]
pub fn readlink(path: &CStr, buffer: &mut [u8]) -> Result<usize, Errno> {
    rustix::fs::readlinkat_raw(rustix::fs::CWD, path, buffer).map_err(errno)
}

/// The engine's type of an error of the kernel's.
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
    fn it_answers() {
        let ask = |path: &[u8], want| KernelQuestion::from(&Question { line: 1, path: path.into(), want }).ask();
        assert_eq!(ask(b"/", Access::READ), Ok(()));
        assert_eq!(ask(b"", Access::empty()), Err(Errno::ENOENT));
        assert_eq!(ask(&[b'a'; 5000], Access::empty()), Err(Errno::ENAMETOOLONG));
        assert!(everything(c"/").unwrap().contains(Access::EXECUTE));
    }
}
