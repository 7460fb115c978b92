//! The whole tree and all open files, looked at after a step. This finds at once what is stale, and
//! what a step changed without naming it.
//!
//! A look takes far longer than a step, so only some programs are watched
//! ([`Settings::WATCH`](crate::program::Settings)). Both sides look as root; the engine looks
//! through the caches that the step used. After a step of an actor that cannot become root for a
//! moment there is no look.
//!
//! The path of an open file is compared where it means the same on both sides. It is not compared
//! for an actor with another root, since the kernel's path begins there and the engine's at the
//! root of the `Vfs`. Nor is it where the engine drops names that are in use, since a handle keeps
//! its former path. A path that the kernel marks as deleted is `ENOENT`.

use std::collections::BTreeMap;

use pathwalk::Errno;

use crate::outcome::Node;
use crate::program::Settings;

/// The result of a look.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Watched {
    /// The nodes, by paths from the root.
    pub(crate) tree: BTreeMap<Vec<u8>, Node>,
    /// The open files, by descriptor.
    pub(crate) slots: BTreeMap<u8, Open>,
}

/// The node and the path of one descriptor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Open {
    pub(crate) node: Node,
    /// The path; `None` if it is not compared.
    pub(crate) path: Option<Result<Vec<u8>, Errno>>,
}

/// Returns whether the paths of open files mean the same on both sides.
pub(crate) fn paths_compare(settings: Settings) -> bool {
    !settings.contains(Settings::FORGETFUL)
}

/// The suffix that the kernel adds to the path of a file without a name.
const DELETED: &[u8] = b" (deleted)";

/// Returns the path in the engine's form, from the kernel's link in `/proc`.
pub(crate) fn told_by_kernel(body: Vec<u8>) -> Result<Vec<u8>, Errno> {
    if body.ends_with(DELETED) { Err(Errno::ENOENT) } else { Ok(body) }
}
