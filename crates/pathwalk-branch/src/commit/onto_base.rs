//! The commit of a branch onto the base itself, which other programs may use meanwhile.
//!
//! 1. *Compare* (`plan`): what the branch changed, and whether the base has changed the same.
//! 2. *Stage* (`stage`): all that is new is written into a directory in the root of the base, or is
//!    moved there ([`Spares`](crate::Spares)). When it is on disk, a journal is renamed into its
//!    place there: the commit is decided.
//! 3. *Names* (`apply`): those that go are moved into the staging directory, then those that come
//!    are moved out of it. If a step fails, all are moved back.
//! 4. *Contents* (`apply`): data and attributes of nodes that stay are changed in place, so hard
//!    links and open files stay.
//! 5. The journal is renamed again: the commit is done. The second names of nodes that stay are
//!    removed, and that is synced. The rest of the staging directory is removed then, with all that
//!    the branch removed.
//!
//! # What always holds
//!
//! - After a crash at any point, [`recover`] finishes a commit that is decided, and undoes one that
//!   is not.
//! - What a commit has touched that is not made is not taken for changed: times of change alone are
//!   others, which is noted (`before`).
//! - When a commit is over, all times of change that it has moved are on disk. So what a branch
//!   copies afterwards is as it was after a loss of power, too.
//! - Nothing of the base is overwritten or lost by a move: a name is put only where there is none.
//!   If the old place of a name is taken when it is to be moved back, it gets another name beside.
//! - No link is followed, and each directory is held while it is worked in (`hand`).
//!
//! # What it does not do
//!
//! Other programs see the steps one by one. What they change while the commit runs is noticed as
//! far as it stands in the way of a name; of data, what they write into a file that the branch has
//! changed, too, may be lost. The root of the base has to be writable, and all that changes has to
//! be on its file system.

mod apply;
mod before;
mod hand;
mod journal;
mod owner;
mod plan;
mod rebase;
mod search;
mod since;
mod stage;
mod undo;

use std::cell::{Cell, OnceCell};

use pathwalk::{AtFlags, Attributes, Context, Errno, FileType, Handle, OpenFlags, StatxFlags, UnlinkFlags};

use self::apply::{Removed, Steps};
use self::hand::Hand;
use self::journal::Journal;
use self::owner::Running;
use self::plan::Plan;
pub(crate) use self::rebase::{over_committed, rebase};
use self::stage::Stage;
use super::Conflict;
use super::resolution::Resolution;
use crate::base::Base;
use crate::branch::Inner;
use crate::rows::Row;
use crate::spares::Spares;
use crate::tree::Tree;

/// The name of the staging directory, in the root of the base.
const STAGING: &str = ".pathwalk-commit";

/// The names of files in the staging directory.
const OWNER: &str = "owner";
/// The nodes that are touched, as they were before.
const BEFORE: &str = "before";
const NEW_JOURNAL: &str = "journal.new";
/// The journal of a commit that is decided.
const JOURNAL: &str = "journal";
/// There once all names are in their places.
const NAMED: &str = "named";
/// The journal of a commit that is being undone, and of one that is done.
const UNDO: &str = "undo";
const DONE: &str = "done";

/// A commit that failed.
pub(crate) struct Failure {
    pub(crate) action: &'static str,
    pub(crate) path: Box<[u8]>,
    pub(crate) errno: Errno,
    pub(crate) left: Left,
}

/// What a commit that failed leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Left {
    /// The base as it was.
    Nothing,
    /// A commit that is decided and not finished.
    Decided,
}

impl Failure {
    fn new(action: &'static str, path: &[u8], errno: Errno) -> Failure {
        Failure { action, path: path.into(), errno, left: Left::Nothing }
    }

    fn of_staging(action: &'static str) -> impl FnOnce(Errno) -> Failure {
        move |errno| Failure::new(action, STAGING.as_bytes(), errno)
    }

    fn decided(self) -> Failure {
        Failure { left: Left::Decided, ..self }
    }
}

/// The end of a commit.
pub(crate) enum Outcome {
    /// Nothing was done.
    Refused(Vec<Conflict>),
    Done(Box<Done>),
}

/// A commit that is done, and whose staging directory is there until it is cleaned. So a crash
/// before that does not lose who was committed.
pub(crate) struct Done {
    /// The number of the list of branches.
    pub(crate) list: u64,
    /// The name of the branch.
    pub(crate) branch: String,
    /// The number of the branch: another one may have its name by now.
    pub(crate) number: u64,
    left: Option<(Hand, Handle, Option<Running>)>,
}

impl Done {
    /// Removes what the commit has left. What cannot be removed is removed by the next one.
    pub(crate) fn clean(self) {
        if let Some((hand, staging, _running)) = self.left {
            _ = remove(&hand, &staging);
        }
    }
}

/// What gets the state of the base before a commit, as far as that changes it.
pub(crate) type Keep<'a> = &'a mut dyn FnMut(Tree<Row>) -> Result<(), Errno>;

/// Commits a branch onto the base. If there are conflicts with answers, what is committed is the
/// branch as a rebase would make it. `keep` is called before anything is changed, and only if there
/// are no conflicts.
pub(crate) fn commit(branch: &str, inner: &Inner, resolution: &Resolution, keep: Option<Keep<'_>>) -> Result<Outcome, Failure> {
    let (tree, base, rebased) = (inner.snapshot(), &inner.shared.base, OnceCell::new());
    let (list, number) = (inner.shared.identity(), inner.branch_number());
    let done = |left| Outcome::Done(Box::new(Done { list, branch: branch.to_owned(), number, left }));
    let hand = Hand::new(base.context()).map_err(Failure::of_staging("use"))?;
    let looked_at = |errno| Failure::new("look at", b"the base", errno);
    let mut plan = Plan::new(inner, &tree).map_err(looked_at)?;
    let mut conflicts = plan.conflicts();
    if !conflicts.is_empty() && *resolution != Resolution::default() {
        match rebase::tree_over_base(inner, &tree, resolution).map_err(looked_at)? {
            Ok(tree) => plan = Plan::new(inner, rebased.get_or_init(|| tree)).map_err(looked_at)?,
            Err(open) => return Ok(Outcome::Refused(open)),
        }
        conflicts = plan.conflicts();
    }
    if !conflicts.is_empty() {
        return Ok(Outcome::Refused(conflicts));
    }
    if let Some(keep) = keep {
        let kept = undo::of_base(&plan).and_then(keep);
        kept.map_err(|errno| Failure::new("keep what is to change of", b"the base", errno))?;
    }
    if plan.is_empty() {
        return Ok(done(None));
    }
    let running = Running::begin();
    let made = leave_root(&hand, || hand.context.mkdirat(&hand.root, STAGING, 0o700));
    // Another commit is under way.
    let made = made.map_err(|errno| if errno == Errno::EEXIST { Errno::EBUSY } else { errno });
    made.map_err(Failure::of_staging("make"))?;
    let staging = hand.directory(STAGING.as_bytes()).map_err(Failure::of_staging("open"))?;
    let journal = match decide(branch, &plan, &hand, &staging, &running) {
        Ok(journal) => journal,
        Err(failure) => {
            _ = leave(&hand, &staging, base);
            return Err(failure);
        }
    };
    let spares = inner.shared.spares.lock().clone();
    finish(&hand, &staging, &journal, base, spares.as_deref())?;
    Ok(done(Some((hand, staging, Some(running)))))
}

/// Returns whether there is a commit which is not finished, or has left something.
pub(crate) fn is_under_way(base: &Context) -> Result<bool, Errno> {
    let hand = Hand::new(base)?;
    let found = hand.find(&hand.root, STAGING.as_bytes())?;
    Ok(found.is_some_and(|found| found.kind() == FileType::Directory))
}

/// Finishes or undoes what a crash has left of a commit. Returns one that is done, whose branch is
/// to be dropped. `EBUSY` while another process, or another thread, is at work.
pub(crate) fn recover(base: &Base) -> Result<Option<Done>, Failure> {
    let hand = Hand::new(base.context()).map_err(Failure::of_staging("use"))?;
    let failed = Failure::of_staging;
    let Some(staging) = hand.find(&hand.root, STAGING.as_bytes()).map_err(failed("find"))? else { return Ok(None) };
    if staging.kind() != FileType::Directory {
        return Ok(None);
    }
    let has = |name: &str| hand.find(&staging, name.as_bytes()).map(|found| found.is_some());
    let owner = if has(OWNER).map_err(failed("read"))? { read(&hand, &staging, OWNER) } else { Ok(Vec::new()) };
    if owner::is_running(&String::from_utf8_lossy(&owner.map_err(failed("read"))?)) {
        return Err(failed("use")(Errno::EBUSY));
    }
    for name in [JOURNAL, UNDO, DONE] {
        if !has(name).map_err(failed("read"))? {
            continue;
        }
        let journal = read(&hand, &staging, name).and_then(|bytes| Journal::from_bytes(&bytes));
        let journal = journal.map_err(|errno| failed("read the journal in")(errno).decided())?;
        match name {
            JOURNAL => finish(&hand, &staging, &journal, base, None)?,
            UNDO => {
                undo(&hand, &staging, &journal, base)?;
                return Ok(None);
            }
            _ => end(&hand, &staging, &journal)?,
        }
        let Journal { list, branch, number, .. } = journal;
        return Ok(Some(Done { list, branch, number, left: Some((hand, staging, None)) }));
    }
    leave(&hand, &staging, base).map_err(failed("remove"))?;
    Ok(None)
}

/// Stages all, and puts the journal into its place.
fn decide(branch: &str, plan: &Plan<'_>, hand: &Hand, staging: &Handle, running: &Running) -> Result<Journal, Failure> {
    write(hand, staging, OWNER, running.describe().as_bytes()).map_err(Failure::of_staging("write into"))?;
    // What is made in it has the lists and flags that the branch has given it.
    hand.inherit_nothing(staging).map_err(Failure::of_staging("change"))?;
    let journal = Stage { hand, staging, plan, are_states_synced: Cell::new(false) }.fill(branch)?;
    let bytes = journal.to_bytes().map_err(Failure::of_staging("write the journal in"))?;
    let decided = || {
        write(hand, staging, NEW_JOURNAL, &bytes)?;
        sync(hand, staging)?;
        move_journal(hand, staging, NEW_JOURNAL, JOURNAL)
    };
    decided().map_err(Failure::of_staging("write the journal in"))?;
    Ok(journal)
}

/// Does what the journal says, of which some may be done already.
fn finish(hand: &Hand, staging: &Handle, journal: &Journal, base: &Base, spares: Option<&dyn Spares>) -> Result<(), Failure> {
    let steps = Steps { hand, staging, journal };
    let decided = |action| move |errno| Failure::of_staging(action)(errno).decided();
    if hand.find(staging, NAMED.as_bytes()).map_err(decided("read"))?.is_none() {
        if let Err(failure) = steps.reserve().and_then(|()| steps.move_names()) {
            let undone = move_journal(hand, staging, JOURNAL, UNDO).map_err(Failure::of_staging("write into"));
            return match undone.and_then(|()| undo(hand, staging, journal, base)) {
                Ok(()) => Err(failure),
                Err(_) => Err(failure.decided()),
            };
        }
        let named = || {
            sync(hand, staging)?;
            write(hand, staging, NAMED, b"")?;
            sync(hand, staging)
        };
        named().map_err(decided("write into"))?;
    }
    if let Some(spares) = spares {
        spares.leave();
    }
    steps.change_nodes().map_err(Failure::decided)?;
    let done = || {
        sync(hand, staging)?;
        hand.rename((staging, JOURNAL.as_bytes()), (staging, DONE.as_bytes()))?;
        steps.remove_seconds()?;
        sync(hand, staging)
    };
    done().map_err(decided("write into"))
}

/// Removes the second names that a commit which is done has left, on disk.
fn end(hand: &Hand, staging: &Handle, journal: &Journal) -> Result<(), Failure> {
    let ended = || match (Steps { hand, staging, journal }).remove_seconds()? {
        Removed::Some => sync(hand, staging),
        Removed::Nothing => Ok(()),
    };
    ended().map_err(|errno| Failure::of_staging("write into")(errno).decided())
}

/// Moves all names back, and removes the staging directory.
fn undo(hand: &Hand, staging: &Handle, journal: &Journal, base: &Base) -> Result<(), Failure> {
    Steps { hand, staging, journal }.undo()?;
    let gone = || {
        sync(hand, staging)?;
        leave(hand, staging, base)
    };
    gone().map_err(Failure::of_staging("remove"))
}

/// Writes a file in the staging directory. It is on disk with the next [`sync`].
fn write(hand: &Hand, staging: &Handle, name: &str, bytes: &[u8]) -> Result<(), Errno> {
    // A commit that was cut off may have left one.
    match hand.context.unlinkat(staging, name, UnlinkFlags::empty()) {
        Ok(()) | Err(Errno::ENOENT) => {}
        Err(errno) => return Err(errno),
    }
    let file = hand.make_file(staging, name.as_bytes(), 0o600)?;
    file.write_all(bytes)
}

fn read(hand: &Hand, staging: &Handle, name: &str) -> Result<Vec<u8>, Errno> {
    let file = hand.context.openat(staging, name, OpenFlags::READ)?;
    let mut bytes = vec![0; usize::try_from(file.handle().attributes()?.size).map_err(|_| Errno::EFBIG)?];
    let (mut filled, mut last) = (0, usize::MAX);
    while filled < bytes.len() && last > 0 {
        last = file.read_at(&mut bytes[filled..], filled as u64)?;
        filled += last;
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Moves the journal to its next state, on disk.
fn move_journal(hand: &Hand, staging: &Handle, from: &str, to: &str) -> Result<(), Errno> {
    hand.rename((staging, from.as_bytes()), (staging, to.as_bytes()))?;
    sync(hand, staging)
}

/// Writes all that was changed in the file system to disk.
fn sync(hand: &Hand, staging: &Handle) -> Result<(), Errno> {
    hand.context.reopen(staging, OpenFlags::READ)?.syncfs()
}

/// Leaves the base as it was: removes the staging directory, with the second names of nodes, and
/// notes that these are as before.
fn leave(hand: &Hand, staging: &Handle, base: &Base) -> Result<(), Errno> {
    remove_names(hand, staging, |name| name != BEFORE.as_bytes() && !is_last(name))?;
    before::note_restored(hand, staging, base)?;
    remove(hand, staging)
}

/// Removes the staging directory. What says in which state it is goes last.
fn remove(hand: &Hand, staging: &Handle) -> Result<(), Errno> {
    remove_names(hand, staging, |name| !is_last(name))?;
    remove_names(hand, staging, |_| true)?;
    leave_root(hand, || hand.context.unlinkat(&hand.root, STAGING, UnlinkFlags::REMOVEDIR))
}

/// Returns whether a name in the staging directory says in which state it is.
fn is_last(name: &[u8]) -> bool {
    [OWNER, UNDO, DONE].iter().any(|last| name == last.as_bytes())
}

/// Removes names in the staging directory.
fn remove_names(hand: &Hand, staging: &Handle, goes: impl Fn(&[u8]) -> bool) -> Result<(), Errno> {
    let dir = hand.context.reopen(staging, OpenFlags::READ)?;
    let mut names = Vec::new();
    loop {
        let batch = dir.getdents(1024)?;
        if batch.is_empty() {
            break;
        }
        let names_here = batch.into_iter().map(|listed| listed.name);
        names.extend(names_here.filter(|name| !matches!(&**name, b"." | b"..") && goes(name)));
    }
    names.iter().try_for_each(|name| remove_all(hand, staging, name))
}

/// Changes a name in the root of the base, and leaves its time, as far as that may be set, and its
/// flags as they were.
fn leave_root(hand: &Hand, change: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
    let before = hand.root.attributes()?;
    let flags = match has_forbidding_flags(&before) {
        true => Some(hand.context.inode_flags_at(&hand.root, "", AtFlags::EMPTY_PATH)?),
        false => None,
    };
    hand.allow_changes(&hand.root)?;
    let changed = change();
    match hand.set_mtime(&hand.root, before.mtime) {
        Err(Errno::EPERM | Errno::EACCES) => {}
        set => set?,
    }
    if let Some(flags) = flags {
        hand.context.set_inode_flags_at(&hand.root, "", flags, AtFlags::EMPTY_PATH)?;
    }
    changed
}

/// Removes a node with all that is in it, also where flags of the base forbid it, since the branch
/// had cleared them.
fn remove_all(hand: &Hand, dir: &Handle, name: &[u8]) -> Result<(), Errno> {
    let mut open = vec![(dir.clone(), Box::<[u8]>::from(name))];
    while let Some((dir, name)) = open.last().cloned() {
        let Some(node) = hand.find(&dir, &name)? else {
            open.pop();
            continue;
        };
        let is_directory = node.kind() == FileType::Directory;
        let how = if is_directory { UnlinkFlags::REMOVEDIR } else { UnlinkFlags::empty() };
        match hand.context.unlinkat(&dir, &name, how) {
            Ok(()) => _ = open.pop(),
            Err(Errno::EPERM) if has_forbidding_flags(&node.attributes()?) => hand.allow_changes(&node)?,
            Err(Errno::EPERM) if has_forbidding_flags(&dir.attributes()?) => hand.allow_changes(&dir)?,
            Err(Errno::ENOTEMPTY) => {
                let listed = hand.context.reopen(&node, OpenFlags::READ)?.getdents(usize::MAX)?;
                let names = listed.into_iter().map(|listed| listed.name).filter(|name| !matches!(&**name, b"." | b".."));
                open.extend(names.map(|name| (node.clone(), name)));
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Returns whether a node is immutable or append-only.
fn has_forbidding_flags(attributes: &Attributes) -> bool {
    attributes.flags.intersects(StatxFlags::IMMUTABLE | StatxFlags::APPEND)
}
