//! Changes as a tar archive: all that was added, changed or renamed, as a whole, and what goes.
//!
//! The archive is one of POSIX (`pax`), which GNU tar unpacks: times with nanoseconds, names of any
//! length, extended attributes and access control lists (`SCHILY.xattr.`), hard links, and files
//! with holes in version 1.0 of GNU tar's form. What goes is in a global header at the beginning,
//! the record `PATHWALK.removed`: each path is followed by a NUL. Other programs pass over it (GNU
//! tar says so), and so do not remove anything.
//!
//! What is renamed goes and comes, with all that is below it. Of a file with several names, all of
//! them are in the archive. Applied again, it gives an equal tree, but for inode numbers, flags and
//! sockets; a changed file is a new node. [`left_out`](crate::left_out) says of which paths
//! something is missing.
//!
//! ```
//! use pathwalk::{Credentials, Vfs};
//! use pathwalk_branch::Branches;
//! use pathwalk_changes::tar;
//!
//! # let context = |branch| Ok::<_, pathwalk::BuildError>(Vfs::builder().build(branch)?.context(Credentials::root()));
//! let base = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
//! base.write("/draft", "some text")?;
//! let branches = Branches::new(base.clone())?;
//! let new = context(branches.fork(None, "work")?)?;
//! new.rename("/draft", "/final")?;
//! let old = context(branches.before("work")?)?;
//! let mut out = Vec::new();
//! tar::write(&branches.diff("work")?, &old, &new, &mut out)?;
//!
//! tar::apply(std::io::Cursor::new(out), &base)?;
//! assert!(base.stat("/draft").is_err());
//! assert_eq!(base.read_to_string("/final")?, "some text");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io::{Read, Seek, Write};

use pathwalk::Context;
use pathwalk_branch::Change;

use crate::archive::{self, Removals};
use crate::error::Error;

/// Writes changes between two trees as a tar archive.
///
/// [`tar`](crate::tar) has an example.
pub fn write(changes: &[Change], old: &Context, new: &Context, out: impl Write) -> Result<(), Error> {
    archive::write(changes, old, new, Removals::Header, out)
}

/// Applies a tar archive to the tree below the root of a context. No link is followed, and nothing
/// outside is touched. An archive of another program removes nothing.
///
/// All of the input is read before the first change, and checked beside the tree.
///
/// [`tar`](crate::tar) has an example.
pub fn apply(input: impl Read + Seek, onto: &Context) -> Result<(), Error> {
    archive::apply(input, onto, Removals::Header)
}
