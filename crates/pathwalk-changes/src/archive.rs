//! Archives of tar: what [`tar`](crate::tar) and [`oci`](crate::oci) have in common.
//!
//! What always holds: a file with several names is in an archive with all of its names, the first
//! of them with the data. A directory comes before what is in it, and each whose names changed is
//! there with its attributes.

mod body;
mod entries;
mod entry;
mod pax;
mod read;
mod write;

pub(crate) use entries::Entries;
pub(crate) use read::apply;
pub(crate) use write::write;

/// The way in which an archive says what goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Removals {
    /// A header at its beginning.
    Header,
    /// Files with names that mean it.
    Whiteouts,
}

/// The key of the header that says what goes.
const REMOVED: &[u8] = b"PATHWALK.removed";
/// How the name of a file begins that says that the rest of the name goes.
const WHITEOUT: &[u8] = b".wh.";
/// The name of a file that says that all that was in the directory goes.
const OPAQUE: &[u8] = b".wh..wh..opq";
/// How the keys of extended attributes begin.
const XATTR: &[u8] = b"SCHILY.xattr.";
/// The size of a block.
const BLOCK: u64 = 512;
