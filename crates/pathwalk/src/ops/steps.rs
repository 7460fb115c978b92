//! A lookup, told step by step.

use std::cell::RefCell;

use super::{Target, follow, target};
use crate::Errno;
use crate::context::{At, AtFlags, Context};
use crate::handle::Handle;
use crate::vfs::Pinned;
use crate::walk::locked::Walker;
use crate::walk::steps::{Step, Steps, Teller, What, handle};
use crate::walk::{Env, Whose};

pub(crate) fn steps(context: &Context, at: At<'_>, path: &[u8], flags: AtFlags) -> Steps {
    let env = Env::new(context, Whose::Effective);
    let told = RefCell::new(Vec::new());
    let answer = walk(&env, at, path, flags, &told);
    Steps { steps: told.into_inner(), answer }
}

fn walk(env: &Env<'_>, at: At<'_>, path: &[u8], flags: AtFlags, told: &RefCell<Vec<Step>>) -> Result<Handle, Errno> {
    let start = match target(env, at, path, flags, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH)? {
        Target::Path(from) => Pinned::again(env.core, from.dentry()),
        // The path is empty: it ends where it starts, be that a link.
        Target::Start(start) => {
            Teller::to(told).tell(0, || What::Start(handle(env, &start)));
            return Ok(handle(env, &start));
        }
    };
    let walker = || Walker::start(env, path, start.id(), follow(flags)).telling(Teller::to(told));
    let found = walker().run().or_else(|errno| {
        if errno != Errno::ESTALE {
            return Err(errno);
        }
        told.borrow_mut().clear();
        walker().distrusting().run()
    });
    Ok(handle(env, &found?))
}
