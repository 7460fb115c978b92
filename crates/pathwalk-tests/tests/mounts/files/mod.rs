//! The calls of users on files that are seen through mounts, and the users.
//!
//! - [`maps`]: the id maps of mounts;
//! - [`calls_kernel`], [`calls_engine`]: the same calls, on both systems;
//! - [`table`]: rights to files of all owners, through all maps.

pub(crate) mod calls_engine;
pub(crate) mod calls_kernel;
pub(crate) mod table;

use pathwalk::Credentials;
use pathwalk::permission::Capabilities;

/// A user, with these capabilities and no others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) groups: &'static [u32],
    pub(crate) caps: Capabilities,
}

const NONE: Capabilities = Capabilities::empty();
const READ_ALL: Capabilities = Capabilities::DAC_READ_SEARCH;
const ALL: Capabilities = Capabilities::all();

const fn user(uid: u32, gid: u32, groups: &'static [u32], caps: Capabilities) -> User {
    User { uid, gid, groups, caps }
}

/// The users; the first is the one that mounts.
pub(crate) const USERS: [User; 11] = [
    user(0, 0, &[], ALL),
    user(0, 0, &[], NONE),
    user(1000, 1000, &[], NONE),
    user(1001, 2000, &[1000, 100_000], NONE),
    user(101_000, 101_000, &[], NONE),
    user(1000, 1000, &[], Capabilities::FOWNER),
    user(5000, 5000, &[], Capabilities::DAC_OVERRIDE),
    user(5000, 1000, &[], READ_ALL),
    user(1000, 100_000, &[2000], Capabilities::CHOWN),
    user(100_000, 100_000, &[2000], ALL),
    user(2000, 1000, &[5000], Capabilities::FSETID),
];

/// The users that have the rights of each file's owner.
pub(crate) const FILE_OWNERS: [usize; 3] = [0, 5, 9];

impl User {
    /// Returns the engine's form of the user.
    pub(crate) fn credentials(&self) -> Credentials {
        Credentials::user(self.uid, self.gid, self.groups).with_capabilities(self.caps)
    }
}

/// A call of a user. Modes are as in `chmod(2)`, and no umask clears bits.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    Stat(String),
    /// `faccessat2(2)` with `AT_EACCESS`, for these of `R_OK` 4, `W_OK` 2, `X_OK` 1.
    Access(String, u8),
    /// `open(2)` with `O_CREAT` for writing; also with `O_EXCL`.
    Create {
        path: String,
        mode: u16,
        exclusive: bool,
    },
    /// `open(2)` for writing, with `O_TRUNC` on request, and a write of one byte.
    Write {
        path: String,
        truncate: bool,
    },
    Read(String),
    Mkdir(String, u16),
    /// `mknod(2)` of a pipe.
    Pipe(String, u16),
    Symlink(String),
    /// `open(2)` with `O_TMPFILE`; returns the file's attributes.
    Unnamed(String, u16),
    Link(String, String),
    Rename(String, String),
    Unlink(String),
    Rmdir(String),
    Chmod(String, u16),
    Chown(String, Option<u32>, Option<u32>),
    Truncate(String),
    /// A change of both times to the current time.
    Touch(String),
    /// A change of both times to those of a fixed day.
    SetTimes(String),
}

/// The owner, group and mode of a file.
pub(crate) type Owner = [u32; 3];

impl Call {
    /// Returns the paths of the files that the call may change.
    pub(crate) fn paths(&self) -> Vec<&str> {
        match self {
            Call::Link(from, to) | Call::Rename(from, to) => vec![from, to],
            Call::Stat(path)
            | Call::Access(path, _)
            | Call::Create { path, .. }
            | Call::Write { path, .. }
            | Call::Read(path)
            | Call::Mkdir(path, _)
            | Call::Pipe(path, _)
            | Call::Symlink(path)
            | Call::Unnamed(path, _)
            | Call::Unlink(path)
            | Call::Rmdir(path)
            | Call::Chmod(path, _)
            | Call::Chown(path, ..)
            | Call::Truncate(path)
            | Call::Touch(path)
            | Call::SetTimes(path) => vec![path],
        }
    }
}
