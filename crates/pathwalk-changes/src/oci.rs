//! Changes as a layer of an OCI image: a tar archive in which whiteouts say what goes.
//!
//! It is uncompressed (`application/vnd.oci.image.layer.v1.tar`), and as [`tar`](crate::tar) has it,
//! but for two things. A file `.wh.NAME` says that `NAME` goes, and `.wh..wh..opq` that all goes
//! that was in its directory, which is a new one in the place of an old one. Files with holes are
//! written whole, as the specification recommends. Names that begin with `.wh.` cannot be written,
//! and are an error. Source: `layer.md` of the OCI image specification.
//!
//! ```
//! use pathwalk::{Credentials, Vfs};
//! use pathwalk_branch::Branches;
//! use pathwalk_changes::oci;
//!
//! # let context = |branch| Ok::<_, pathwalk::BuildError>(Vfs::builder().build(branch)?.context(Credentials::root()));
//! let base = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
//! base.write("/cache", "old")?;
//! let branches = Branches::new(base.clone())?;
//! let new = context(branches.fork(None, "work")?)?;
//! new.remove_file("/cache")?;
//! let old = context(branches.before("work")?)?;
//! let mut out = Vec::new();
//! oci::write(&branches.diff("work")?, &old, &new, &mut out)?;
//! assert!(out.windows(9).any(|name| name == b".wh.cache"));
//!
//! oci::apply(std::io::Cursor::new(out), &base)?;
//! assert!(base.stat("/cache").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io::{Read, Seek, Write};

use pathwalk::Context;
use pathwalk_branch::Change;

use crate::archive::{self, Removals};
use crate::error::Error;

/// Writes changes between two trees as a layer.
///
/// [`oci`](crate::oci) has an example.
pub fn write(changes: &[Change], old: &Context, new: &Context, out: impl Write) -> Result<(), Error> {
    archive::write(changes, old, new, Removals::Whiteouts, out)
}

/// Applies a layer to the tree below the root of a context: first all that goes, and then what
/// comes. No link is followed, and nothing outside is touched. A whiteout of what is not there is
/// no error.
///
/// All of the input is read before the first change, and checked beside the tree.
///
/// [`oci`](crate::oci) has an example.
pub fn apply(input: impl Read + Seek, onto: &Context) -> Result<(), Error> {
    archive::apply(input, onto, Removals::Whiteouts)
}
