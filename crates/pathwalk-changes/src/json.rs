//! Changes as JSON, complete: applied again, they give an equal tree.
//!
//! The format is one JSON object on each line, so that a file of any size is written and read a
//! part at a time, and a tool that takes lines can look at it. In this order:
//!
//! | line | what it says |
//! |---|---|
//! | `format` | `name` and `version` of the format |
//! | `removed` | a `path` that goes, with what is below it |
//! | `renamed` | a name that moves, `from` an old path `to` a new one |
//! | `new` | a `node` to be made at a `path`; a directory comes before what is in it |
//! | `link` | a further name, `path`, of the node at the new path `to` |
//! | `changed` | a `node` that is at `path` now, `was` at an old one, and of which `what` changed |
//! | `directory` | the `mtime` that a directory has, in which names changed |
//! | `end` | the number of `lines` before it, so that a document that is cut off is none |
//!
//! `data` lines follow the file to which they belong, each with the offset `at` and the `bytes`;
//! where there are none, the file has a hole. Old paths are those before all changes, new ones
//! those after them. Bytes are text where they are UTF-8, and else `{"base64": …}`.
//!
//! What is kept: names, data with holes, bodies of links, hard links, mode, owner, times of all but
//! directories, times of change of directories, extended attributes, access control lists, flags,
//! device numbers. What is not: the time of change of attributes, inode numbers, and the time of
//! access of a directory that was there. Of a file whose data changed all of the data is written.
//!
//! ```
//! use pathwalk::{Credentials, Vfs};
//! use pathwalk_branch::Branches;
//! use pathwalk_changes::json;
//! use pathwalk_memfs::MemFs;
//!
//! let base = || Ok::<_, Box<dyn std::error::Error>>(Vfs::builder().build(MemFs::new())?.context(Credentials::root()));
//! let branches = Branches::new(base()?)?;
//! let context = |branch| Ok::<_, Box<dyn std::error::Error>>(Vfs::builder().build(branch)?.context(Credentials::root()));
//! let new = context(branches.fork(None, "work")?)?;
//! new.write("/notes", "text")?;
//! let old = context(branches.before("work")?)?;
//! let mut out = Vec::new();
//! json::write(&branches.diff("work")?, &old, &new, &mut out)?;
//!
//! let other = base()?;
//! json::apply(std::io::Cursor::new(&out), &other)?;
//! assert_eq!(other.read_to_string("/notes")?, "text");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod read;
mod write;

use pathwalk_branch::Aspects;
use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;
use crate::node::{Kind, Node, Time};

pub use read::apply;
pub use write::write;

/// The name of the format.
const NAME: &str = "pathwalk changes";
/// Its version. A reader refuses others.
const VERSION: u32 = 1;

/// A line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Record {
    Format { name: String, version: u32 },
    Removed { path: Bytes, kind: Kind },
    Renamed { from: Bytes, to: Bytes, kind: Kind },
    New { path: Bytes, node: Node },
    Link { path: Bytes, to: Bytes },
    Changed { path: Bytes, was: Bytes, what: Vec<What>, node: Node },
    Data { at: u64, bytes: Bytes },
    Directory { path: Bytes, mtime: Time },
    End { lines: u64 },
}

/// A part of a node that changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum What {
    Data,
    Attributes,
    Xattrs,
}

impl What {
    const ALL: [(What, Aspects); 3] =
        [(What::Data, Aspects::DATA), (What::Attributes, Aspects::ATTRIBUTES), (What::Xattrs, Aspects::XATTRS)];

    fn of(aspects: Aspects) -> Vec<What> {
        What::ALL.into_iter().filter(|(_, aspect)| aspects.contains(*aspect)).map(|(what, _)| what).collect()
    }

    fn aspects(all: &[What]) -> Aspects {
        What::ALL.into_iter().filter(|(what, _)| all.contains(what)).map(|(_, aspect)| aspect).collect()
    }
}
