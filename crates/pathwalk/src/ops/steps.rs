//! A lookup that is reported step by step.

use super::{Target, follow, target};
use crate::Errno;
use crate::abi::AtFlags;
use crate::mount::PinnedPlace;
use crate::walk::asker::{Asker, Begin};
use crate::walk::locked::Walker;
use crate::walk::steps::{Listener, Teller, What};
use crate::walk::{Env, Whose};

/// Walks a path and reports each step. Returns the place that the path leads to.
pub(crate) fn steps<'a>(
    asker: &'a Asker,
    at: Begin,
    path: &'a [u8],
    flags: AtFlags,
    listener: &'a dyn Listener,
) -> Result<PinnedPlace<'a>, Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let teller = Teller::to(listener);
    let start = match target(&env, at, path, flags, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH)? {
        Target::Path(from) => PinnedPlace::again(env.world, from),
        // An empty path ends at its starting point, even if that is a link.
        Target::Start(start) => {
            teller.tell(0, || What::Start(start.clone()));
            return Ok(start);
        }
    };
    let walker = || Walker::start(&env, path, start.place(), follow(flags)).telling(teller);
    walker().run().or_else(|errno| {
        if errno != Errno::ESTALE {
            return Err(errno);
        }
        listener.begin_anew();
        walker().distrusting().run()
    })
}
