//! What `std::fs` has, on a [`Context`](crate::Context): whole files, whole trees, and directories
//! as iterators.
//!
//! A layer on top: all of it consists of public operations of a context, so it can do nothing that
//! those cannot, and has their cost. Two things are known beside: the iterator over a directory
//! knows how a [`File`](crate::File) lists, and what changes a file's attributes knows its opener.
//!
//! # What always holds
//!
//! - An operation on a tree holds the directories that it is in, and goes from each by a name: what
//!   other threads rename or put in its place does not lead it elsewhere.
//! - No recursion, and few directories that are open: a tree of any depth will do.
//! - An [`Error`] names the operation and the path.

mod ahead;
mod create_all;
mod levels;
mod locks;
mod mode;
mod names;
mod open;
mod open_file;
mod place;
mod read_dir;
mod remove_all;
mod walk;
mod whole;

use crate::context::Context;
use crate::errno::Errno;
use crate::error::Error;
use crate::handle::Handle;

pub use locks::TryLockError;
pub use mode::AsMode;
pub use open::OpenOptions;
pub use read_dir::{DirEntry, ReadDir};
pub use walk::Walk;

/// Permission bits of a new directory, before the umask.
const NEW_DIRECTORY: u16 = 0o777;

/// Returns what makes an error of an errno: for `map_err`.
fn failed(operation: &'static str, path: &[u8]) -> impl FnOnce(Errno) -> Error {
    move |errno| Error::new(operation, path, errno)
}

/// Returns the directory that the beginning of a path leads to. A link at its end is on the way to
/// what follows, and not the last of the path: `protected_symlinks` does not apply to it.
fn way(context: &Context, path: &[u8]) -> Result<Handle, Errno> {
    match path {
        b"" => context.lookup("."),
        path => context.lookup([without_slashes(path), b"/."].concat()),
    }
}

/// Returns a path without the slashes behind its last component; as that, a link is not followed.
fn without_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    &path[..end]
}
