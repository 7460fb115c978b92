//! The whole tree and all that is open, looked at after a step: what is stale, and what a step
//! changed that it did not name, is seen at once.
//!
//! It takes far longer than a step, so only some programs are watched
//! ([`Settings::WATCH`](crate::program::Settings)). Both sides look as root does, the engine
//! through the caches that the step went through. After a step of an actor that cannot become root
//! for a moment there is no look.
//!
//! The path of what is open is compared where it means the same on both sides: not for an actor
//! with another root, since the kernel's is seen from there and the engine's from the root of the
//! `Vfs`; and not where the engine drops names that are in use, since what is held keeps the path
//! that it had. What the kernel calls deleted is `ENOENT`.

use std::collections::BTreeMap;

use pathwalk::Errno;

use crate::outcome::Node;
use crate::program::Settings;

/// What was seen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Watched {
    /// By paths from the root.
    pub(crate) tree: BTreeMap<Vec<u8>, Node>,
    /// By number.
    pub(crate) slots: BTreeMap<u8, Open>,
}

/// What one descriptor is on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Open {
    pub(crate) node: Node,
    /// `None`: it is not to be compared.
    pub(crate) path: Option<Result<Vec<u8>, Errno>>,
}

/// Tells whether paths of what is open mean the same on both sides.
pub(crate) fn paths_compare(settings: Settings) -> bool {
    !settings.contains(Settings::FORGETFUL)
}

/// What the kernel adds to the path of what has lost its name.
const DELETED: &[u8] = b" (deleted)";

/// Returns the path as the engine tells it, from what the kernel's link in `/proc` says.
pub(crate) fn told_by_kernel(body: Vec<u8>) -> Result<Vec<u8>, Errno> {
    if body.ends_with(DELETED) { Err(Errno::ENOENT) } else { Ok(body) }
}
