//! The second attempt of an operation that met something stale.
//!
//! `ESTALE` says that the file system no longer has a node that the caches have, and that it did
//! nothing. So the ways of the operation are walked once, and the file system is asked about every
//! entry on them. What is wrong leaves the caches. Then the operation is done once more, and its
//! result is final. Source: `retry_estale` and `LOOKUP_REVAL` of Linux.
//!
//! All operations on paths go through here, but for those that end in a question: these have the
//! same in [`slow`](super::slow), where a hit does not pay for it. Operations on handles and open
//! files have no way to revalidate.

use crate::Errno;
use crate::walk::asker::{Asker, Begin};
use crate::walk::locked::Walker;
use crate::walk::{Env, Follow, Whose, start};

/// Returns the result of an operation on the paths `ways`; on `ESTALE`, of a second attempt.
pub(crate) fn healed<T, const WAYS: usize>(
    asker: &Asker,
    ways: [(Begin, &[u8]); WAYS],
    operation: impl Fn() -> Result<T, Errno>,
) -> Result<T, Errno> {
    let result = operation();
    let has_way = ways.iter().any(|(_, path)| !path.is_empty());
    if result.as_ref().err() != Some(&Errno::ESTALE) || !has_way {
        return result;
    }
    ways.into_iter().for_each(|(at, path)| revalidate(asker, at, path));
    operation()
}

/// Asks the file system about every entry on a way, the last included. Errors are dropped: the
/// operation meets them, too.
#[cold]
fn revalidate(asker: &Asker, at: Begin, path: &[u8]) {
    let env = Env::of(asker, Whose::Effective, at);
    if !path.is_empty()
        && let Ok(start) = start::at(&env, at, path)
    {
        _ = Walker::start(&env, path, start, Follow::Links).distrusting().run();
    }
}
