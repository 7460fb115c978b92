//! `access(2)`, `faccessat2(2)`: the check whether a caller has some rights to a node.
//!
//! Order of the checks, as Linux has it: noexec mount (`EACCES`), read-only superblock (`EROFS`),
//! immutable (`EPERM`), the file system's own check or the generic one (`EACCES`), the security
//! hook about the search of a directory (`EACCES`), read-only mount (`EROFS`).

use super::{Target, answer, follow, target};
use crate::Errno;
use crate::abi::{AtFlags, MountFlags};
use crate::attr::FileType;
use crate::cache::dcache::dentry::everyone;
use crate::cache::icache::inode;
use crate::cache::icache::snapshot::{Decision, Snapshot};
use crate::cache::search::is_promised;
use crate::config::{Config, Crossing, Learning, Shipped, Unruled};
use crate::memo::question::{LastLink, Question};
use crate::memo::{Found, OfMount};
use crate::memory::slot::DentryId;
use crate::mount::{PinnedPlace, Standing, Switches, World};
use crate::permission::Access;
use crate::stats::HandOver;
use crate::walk::asker::{Asker, Begin};
use crate::walk::verdict::{Resume, Stopped};
use crate::walk::{Arrived, Env, Follow, Whose, hooked, last, may, start, whole};

/// Checks access for an asker without rules. The whole hit path is one call, of the fast walk.
#[inline(always)]
pub(crate) fn access(asker: &Asker, path: &[u8], want: Access) -> Result<(), Errno> {
    let world = &*asker.world;
    if !world.memo.is_off() {
        remembered_from_cwd(asker, path, want)
    } else if world.mounts.some_cover() {
        access_with::<Crossing<Unruled>>(asker, path, want)
    } else {
        access_with::<Unruled>(asker, path, want)
    }
}

/// Walks, and lets the memo learn. It is a function apart from its caller, because the two keep
/// different values in registers.
#[cold]
#[inline(never)]
fn learning_from_cwd(asker: &Asker, path: &[u8], want: Access) -> Result<(), Errno> {
    if asker.world.mounts.some_cover() {
        access_with::<Crossing<Learning<Unruled>>>(asker, path, want)
    } else {
        access_with::<Learning<Unruled>>(asker, path, want)
    }
}

/// Answers from the memo of whole paths, or walks.
#[inline(never)]
fn remembered_from_cwd(asker: &Asker, path: &[u8], want: Access) -> Result<(), Errno> {
    let world = &*asker.world;
    let begin = if path.first() == Some(&b'/') { asker.root } else { asker.cwd };
    let question = Question { path, start: begin.bits(), root: asker.root.bits(), last_link: LastLink::Followed };
    let mut of_end = OfMount::default();
    match whole::find(world, &question, || asker.real_class.known(), &mut of_end) {
        Some(found) if found.what.is_absent() => Err(Errno::ENOENT),
        Some(found) if is_granted(world, found.word, want) => Ok(()),
        Some(found) => closer_at_remembered(asker, path, (found, of_end), want),
        None => learning_from_cwd(asker, path, want),
    }
}

#[cold]
#[inline(never)]
fn closer_at_remembered(asker: &Asker, path: &[u8], (found, of_end): (Found, OfMount), want: Access) -> Result<(), Errno> {
    let env = Env::new(asker, Whose::Real);
    let env = env.from(start::at_cwd(&env, path)?);
    let at = whole::arrived(&env, found, of_end);
    let fast = closer(&env, at.cur.dentry(), at.cur.word, at.mount, want);
    if fast.is_ok() && may::snapshot(&env, at.cur).is_some_and(|node| node.leaves_acl_open()) {
        // A path that is checked often is to be granted by its dentry's word.
        env.trees().learn_acl(at.cur.dentry(), at.cur.word);
    }
    answer(&env, path, Follow::Links, fast, |found| check(&env, &found, want))
}

/// Does the same in a variant of the walk.
#[inline(always)]
pub(crate) fn access_with<C: Config>(asker: &Asker, path: &[u8], want: Access) -> Result<(), Errno> {
    from_cwd::<C>(asker, path, want)
}

#[inline(never)]
fn from_cwd<C: Config>(asker: &Asker, path: &[u8], want: Access) -> Result<(), Errno> {
    let env = Env::new(asker, Whose::Real);
    let env = env.from(start::at_cwd(&env, path)?);
    match walked::<C>(&env, path, want) {
        Ok(()) => Ok(()),
        Err(Stopped::Errno(errno)) => Err(errno),
        Err(stopped) => slow_from_cwd(&env, path, want, stopped),
    }
}

#[inline(always)]
fn walked<'a, C: Config>(env: &Env<'a>, path: &'a [u8], want: Access) -> Result<(), Stopped<'a>> {
    last::to_end::<C, _>(env, path, Follow::Links, move |at| at_end(env, at, want))
}

#[cold]
#[inline(never)]
fn slow_from_cwd<'a>(env: &Env<'a>, path: &'a [u8], want: Access, stopped: Stopped<'a>) -> Result<(), Errno> {
    answer(env, path, Follow::Links, Err(stopped), |found| check(env, &found, want))
}

pub(crate) fn faccessat(asker: &Asker, at: Begin, path: &[u8], want: Access, flags: AtFlags) -> Result<(), Errno> {
    let whose = if flags.contains(AtFlags::EACCESS) { Whose::Effective } else { Whose::Real };
    let env = Env::of(asker, whose, at);
    let follow = follow(flags);
    match target(&env, at, path, flags, AtFlags::OF_ACCESS)? {
        Target::Start(start) => check(&env, &start, want),
        Target::Path(from) => {
            let env = env.from(from);
            let fast = fast::<Shipped>(&env, path, follow, want);
            answer(&env, path, follow, fast, |found| check(&env, &found, want))
        }
    }
}

#[inline(always)]
pub(super) fn fast<'a, C: Config>(env: &Env<'a>, path: &'a [u8], follow: Follow, want: Access) -> Result<(), Stopped<'a>> {
    whole::to_end::<C, _>(env, path, follow, move |at| at_end(env, at, want))
}

#[inline(always)]
pub(super) fn at_end<'a>(env: &Env<'a>, at: Arrived<'a>, want: Access) -> Result<(), Stopped<'a>> {
    let cur = at.cur;
    if is_granted(env.world, cur.word, want) && cur.unchanged() {
        Ok(())
    } else {
        closer(env, cur.dentry(), cur.word, at.mount, want)
    }
}

/// Returns whether all users have these rights to the node of this word, in any mount.
#[inline(always)]
fn is_granted(world: &World, word: u64, want: Access) -> bool {
    word as u32 & everyone(want) as u32 == everyone(want) as u32 && !world.mounts.some_ask(want)
}

/// Checks the inode, where the dentry's word does not grant the rights to all users. Its arguments
/// are the parts of an [`Arrived`], because these are in registers.
#[cold]
#[inline(never)]
fn closer<'a>(env: &Env<'a>, dentry: DentryId, word: u64, mount: Standing, want: Access) -> Result<(), Stopped<'a>> {
    let at = Arrived { cur: env.sampled(dentry, word), mount };
    let hand_over = |reason| Err(Stopped::HandOver(Resume::FromStart(reason)));
    let Some(snapshot) = may::snapshot(env, at.cur) else { return hand_over(HandOver::Changed) };
    let Some(of_mount) = env.world.mounts.switches_at(at.mount) else { return hand_over(HandOver::Changed) };
    if !want.is_empty() && snapshot.if_known().is_err() {
        return hand_over(HandOver::Permission);
    }
    if let Err(errno) = forbidden(of_mount, &snapshot, want) {
        return Err(Stopped::Errno(errno));
    }
    let Some(who) = env.who_at(at.mount) else { return hand_over(HandOver::Changed) };
    match snapshot.decide(&who, want) {
        _ if want.is_empty() => Ok(()),
        Decision::Granted if asks_hook(env, &snapshot, want) => hand_over(HandOver::Permission),
        Decision::Granted => writable_mount(of_mount, &snapshot, want).map_err(Stopped::Errno),
        Decision::Refused => Err(Stopped::Errno(Errno::EACCES)),
        Decision::AskFileSystem | Decision::AskForAcl | Decision::AskForAttributes => hand_over(HandOver::Permission),
    }
}

/// Returns whether the security hook may have to be asked: about the search of a directory.
fn asks_hook(env: &Env<'_>, node: &Snapshot, want: Access) -> bool {
    let is_search = || want.contains(Access::EXECUTE) && node.kind() == FileType::Directory;
    env.caches().search.asks() && is_search() && !is_promised(node.word)
}

/// Does the same check at the end of a locked walk.
fn check(env: &Env<'_>, found: &PinnedPlace<'_>, want: Access) -> Result<(), Errno> {
    let id = env.caches().dentries.inode(found.id());
    let of_mount = env.world.mounts.switches(found.mount.id());
    let snapshot = if want.is_empty() { Snapshot::of_pinned(env.caches(), id) } else { env.trees().known_snapshot(id)? };
    forbidden(of_mount, &snapshot, want)?;
    if !want.is_empty() {
        env.trees().may_by(&snapshot, id, &env.who_in(found.mount.id()), want)?;
    }
    if asks_hook(env, &snapshot, want) {
        hooked::hook_lets_search(env, found.place())?;
    }
    writable_mount(of_mount, &snapshot, want)
}

fn forbidden(of_mount: Switches, node: &Snapshot, want: Access) -> Result<(), Errno> {
    // Undefined bits are possible by `Access::from_bits_retain`. The fast check never grants them,
    // so they are refused here.
    if !Access::all().contains(want) {
        return Err(Errno::EINVAL);
    }
    let is_file = inode::kind_of(node.word) == FileType::Regular;
    if is_file && want.contains(Access::EXECUTE) && of_mount.contains(MountFlags::NOEXEC) {
        return Err(Errno::EACCES);
    }
    if want.contains(Access::WRITE) && of_mount.refuse_writing_to(inode::kind_of(node.word)) {
        return Err(Errno::EROFS);
    }
    if want.contains(Access::WRITE) && node.is_immutable() {
        return Err(Errno::EPERM);
    }
    Ok(())
}

fn writable_mount(of_mount: Switches, node: &Snapshot, want: Access) -> Result<(), Errno> {
    let needed = want.contains(Access::WRITE) && !inode::kind_of(node.word).is_special();
    if needed && of_mount.is_read_only() { Err(Errno::EROFS) } else { Ok(()) }
}
