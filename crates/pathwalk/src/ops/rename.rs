//! `rename(2)`, `renameat2(2)`.

use super::may_change::{Victim, may_create, may_delete, may_write, writing};
use super::parent::{Last, parent};
use super::remove::{not_covered, uncover};
use super::security;
use crate::Errno;
use crate::cache::Pinned;
use crate::cache::dcache::dentry::flags;
use crate::node::RenameFlags;
use crate::permission::Access;
use crate::security::MoveKind;
use crate::walk::asker::{Asker, Begin};
use crate::walk::verdict::Ending;
use crate::walk::{Env, Whose};

pub(crate) fn rename(
    asker: &Asker,
    (from, old): (Begin, &[u8]),
    (to, new): (Begin, &[u8]),
    how: RenameFlags,
) -> Result<(), Errno> {
    let exchange = how.contains(RenameFlags::EXCHANGE);
    if !RenameFlags::all().contains(how) || how == RenameFlags::all() {
        return Err(Errno::EINVAL);
    }
    let env = Env::of(asker, Whose::Effective, from);
    let from = parent(&env, from, old)?;
    let to = parent(&Env::of(asker, Whose::Effective, to), to, new)?;
    if from.dir.mount() != to.dir.mount() {
        return Err(Errno::EXDEV);
    }
    let Last::Name(old) = from.last else { return Err(Errno::EBUSY) };
    let Last::Name(new) = to.last else {
        return Err(if how.contains(RenameFlags::NOREPLACE) { Errno::EEXIST } else { Errno::EBUSY });
    };
    let _writing = writing(&env, from.dir.mount())?;

    let is_directory = |entry: &Pinned<'_>| env.caches().dentries.word(entry.id()) & flags::DIRECTORY != 0;
    let trailing = |source: &Pinned<'_>, target: &Pinned<'_>| {
        let slash_behind_target = to.ending == Ending::Slash;
        let wrong = if exchange { slash_behind_target && !is_directory(target) } else { false };
        let of_file = !is_directory(source) && (from.ending == Ending::Slash || slash_behind_target && !exchange);
        if wrong || of_file { Err(Errno::ENOTDIR) } else { Ok(()) }
    };
    let kind = if exchange { MoveKind::Exchange } else { MoveKind::Rename };
    let permitted = |source: &Pinned<'_>, target: &Pinned<'_>| {
        let target = (env.caches().dentries.word(target.id()) & flags::NEGATIVE == 0).then_some(target.id());
        security::may_rename(&env, (from.dir.place(), to.dir.place()), (source.id(), target), kind)
    };
    let check = |source: &Pinned<'_>, target: &Pinned<'_>| {
        let of = |entry| if is_directory(entry) { Victim::Directory } else { Victim::Other };
        let who = env.who_in(from.dir.mount());
        may_delete(&env, &who, from.dir.id(), source, of(source))?;
        let absent = env.caches().dentries.word(target.id()) & flags::NEGATIVE != 0;
        if absent {
            may_create(&env, &who, to.dir.id())?;
        } else {
            may_delete(&env, &who, to.dir.id(), target, if exchange { of(target) } else { of(source) })?;
        }
        // A directory that gets another parent changes its `..`.
        if from.dir.id() != to.dir.id() {
            let moved = [Some(source), exchange.then_some(target)];
            for entry in moved.into_iter().flatten().filter(|entry| is_directory(entry)) {
                may_write(&env, &who, entry.id(), Access::WRITE)?;
            }
        }
        not_covered(&env, source)?;
        not_covered(&env, target)
    };
    let replaced = env.trees().rename((from.dir.id(), old), (to.dir.id(), new), how, trailing, permitted, check)?;
    uncover(&env, replaced);
    Ok(())
}
