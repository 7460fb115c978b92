//! The second attempt of an operation that met something stale.
//!
//! `ESTALE` says that the file system no longer has a node that the caches have, and that it did
//! nothing. So the ways of the operation are walked once, and the file system is asked about every
//! entry on them. What is wrong leaves the caches. Then the operation is done once more, and its
//! result is final. Source: `retry_estale` and `LOOKUP_REVAL` of Linux, which has them for most
//! operations on paths; here all have the same, also `bind`, `connect` and `name_to_handle_at`.
//!
//! All operations on paths go through here, but for those that end in a question: these have the
//! same in [`slow`](super::slow), where a hit does not pay for it. Operations on mounts repeat only
//! their walks, as on Linux. Operations on handles and open files have no way to revalidate.

use super::follow;
use crate::Errno;
use crate::abi::{AtFlags, Resolve};
use crate::walk::asker::{Asker, Begin};
use crate::walk::locked::Walker;
use crate::walk::{Env, Follow, Whose, start};

/// A path of an operation, and the rules by which the operation goes along it.
pub(crate) struct Way<'a> {
    at: Begin,
    path: &'a [u8],
    follow: Follow,
    more: Resolve,
}

impl<'a> Way<'a> {
    /// Creates the way to the node at the end of a path, which may be a link with
    /// `SYMLINK_NOFOLLOW`.
    pub(crate) fn new(at: Begin, path: &'a [u8], flags: AtFlags) -> Way<'a> {
        Way { at, path, follow: follow(flags), more: Resolve::empty() }
    }

    /// Creates the way to a name, which may be that of a link.
    pub(crate) fn to_name(at: Begin, path: &'a [u8]) -> Way<'a> {
        Way::new(at, path, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Returns the same way with more rules.
    pub(crate) fn with(self, more: Resolve) -> Way<'a> {
        Way { more, ..self }
    }

    /// Asks the file system about every entry on the way, the last included. Errors are dropped:
    /// the operation meets them, too.
    pub(super) fn revalidate(&self, asker: &Asker) {
        let env = Env::scoped(asker, Whose::Effective, self.at, self.more);
        if !self.path.is_empty()
            && let Ok(start) = start::at(&env, self.at, self.path)
        {
            _ = Walker::start(&env, self.path, start, self.follow).distrusting().run();
        }
    }
}

/// Returns the result of an operation on the paths `ways`; on `ESTALE`, of a second attempt.
pub(crate) fn healed<T, const WAYS: usize>(
    asker: &Asker,
    ways: [Way<'_>; WAYS],
    operation: impl Fn() -> Result<T, Errno>,
) -> Result<T, Errno> {
    match operation() {
        Err(Errno::ESTALE) if ways.iter().any(|way| !way.path.is_empty()) => {
            ways.iter().for_each(|way| way.revalidate(asker));
            operation()
        }
        result => result,
    }
}
