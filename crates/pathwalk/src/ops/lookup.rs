//! A handle on what a path leads to, as `open(O_PATH)` gives; and what `chdir(2)` and `chroot(2)` want of it.

use super::{Target, answer, follow, target};
use crate::Errno;
use crate::config::Shipped;
use crate::context::{At, AtFlags, Context};
use crate::dcache::dentry::flags;
use crate::handle::Handle;
use crate::permission::Access;
use crate::stats::HandOver;
use crate::vfs::Pinned;
use crate::walk::hand_over::Resume;
use crate::walk::last::{Stopped, to_end};
use crate::walk::{Cursor, Env, Follow, Whose};

pub(crate) fn lookupat(context: &Context, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<Handle, Errno> {
    let env = Env::new(context, Whose::Effective);
    let follow = follow(flags);
    let found = match target(&env, at, path, flags, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH)? {
        Target::Start(start) => start,
        Target::Path(from) => {
            let fast = fast(&env, path, from, follow);
            answer(&env, path, from.dentry(), follow, fast, Ok)?
        }
    };
    Ok(Handle::from_pinned(&context.vfs, found.into_id()))
}

fn fast<'a>(env: &Env<'a>, path: &'a [u8], from: Cursor<'a>, follow: Follow) -> Result<Pinned<'a>, Stopped<'a>> {
    let cur = to_end::<Shipped, _>(env, path, from, follow, Ok)?;
    let id = cur.dentry();
    if env.core.dentries.pin_sampled(id, cur.word) {
        Ok(Pinned::new(env.core, id))
    } else {
        Err(Stopped::HandOver(Resume::FromStart(HandOver::Changed)))
    }
}

/// A directory that the caller may search.
pub(crate) fn searchable_directory(context: &Context, path: &[u8]) -> Result<Handle, Errno> {
    let handle = lookupat(context, At::Cwd, path, AtFlags::empty())?;
    let core = context.vfs.core();
    if core.dentries.word(handle.dentry()) & flags::DIRECTORY == 0 {
        return Err(Errno::ENOTDIR);
    }
    core.may(core.dentries.inode(handle.dentry()), &context.credentials.effective(), Access::EXECUTE)?;
    Ok(handle)
}
