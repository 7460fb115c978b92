//! The kernel's error numbers as plain numbers, so that an answer can be compared with a system
//! call's.

use std::fmt;

/// The cause of a failure: the number that a system call would leave in `errno`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Errno(pub i32);

/// The answer of an operation.
pub type Result<T> = std::result::Result<T, Errno>;

macro_rules! numbers {
    ($($name:ident)*) => {
        impl Errno {
            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                pub const $name: Errno = Errno(libc::$name);
            )*

            /// Returns the number's name, if an operation of this crate can return it.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Errno::$name => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

numbers! {
    E2BIG EACCES EADDRINUSE EAGAIN EBADF EBUSY ECONNREFUSED EEXIST EFBIG EINVAL EISDIR ELOOP ENAMETOOLONG ENODATA ENOENT ENOSPC ENOTDIR ENOTEMPTY ENXIO EOPNOTSUPP EOVERFLOW EPERM EPIPE EPROTOTYPE ERANGE ESPIPE ESTALE EXDEV
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "errno {}", self.0),
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for Errno {}
