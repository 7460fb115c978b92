//! Read-ahead for several walks, so that their waits for memory overlap.
//!
//! A walk waits for one line of memory after the other, because each leads to the next. So the
//! lines of up to [`MOST`] walks are read before the walks begin, one component of all paths at a
//! time: first the table's lines for all of them, then the dentries' lines. These reads do not
//! depend on each other, so a processor waits for them together. The walks then find what they read
//! in a near cache.
//!
//! What always holds: the lines are a guess of what a walk will read, and no result depends on it.
//! Nothing is validated, stored, pinned, marked or requested. Each slot is bounds-checked where it
//! is used.
//!
//! What it does not do: it follows no links, searches no line of the table but the first, and reads
//! no name behind its first eight bytes. It stops reading ahead of a path where a walk does more
//! than that.

use std::hint::black_box;

use arrayvec::ArrayVec;

use super::Env;
use super::component::{self, Path, Text};
use crate::cache::dcache::dentry::{NAME, WORD, everyone, flags, guessed_cover, has_parent_and_length, inode_of, parent_of};
use crate::memo::question::{LastLink, Question};
use crate::memory::lines::Line;
use crate::memory::slot::DentryId;
use crate::mount::{MountsView, Place};
use crate::permission::Access;
use crate::sync::Ordering;

/// The maximum number of paths that are read ahead of together. Their lines fit into the nearest
/// caches of a processor.
pub(crate) const MOST: usize = 32;

/// The number of names that fit into a processor's last-level cache with what belongs to them, some
/// 200 bytes each. With fewer, there is little to wait for, and reading ahead takes longer than it
/// saves. Builds with debug assertions read ahead of any number, so that tests cover it.
const FEWEST: u32 = if cfg!(any(debug_assertions, shuttle)) { 0 } else { 1 << 17 };

/// Returns whether so many names are or were cached that reading ahead pays.
pub(crate) fn pays(env: &Env<'_>) -> bool {
    env.caches().dentries.free().touched() > FEWEST
}

/// The operation at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// A read of attributes.
    Attributes,
    /// A check of rights.
    Rights(Access),
    /// A pin on the place.
    Pin,
}

/// Reads ahead of walks from places along paths. Of more than [`MOST`] paths, it takes the first.
pub(crate) fn read<'p>(env: &Env<'_>, purpose: Purpose, paths: impl IntoIterator<Item = (Place, &'p [u8])>) {
    let begun = paths.into_iter().take(MOST).filter_map(|(place, path)| Way::begin(env, place, path));
    let mut ways: ArrayVec<Way<'_>, MOST> = begun.collect();
    let mut ends = ArrayVec::<DentryId, MOST>::new();
    let mounts = env.world.mounts.view();
    keep(&mut ways, |way| way.goes_on(env, &mut ends));
    while !ways.is_empty() {
        // Short loops let a processor overlap many of their iterations.
        black_box(ways.iter().fold(0, |all, way| all ^ env.table.peek(way.hash)));
        ways.iter_mut().for_each(|way| way.child = env.table.guess(way.hash));
        black_box(ways.iter().fold(0, |all, way| all ^ word(env.hot.get(way.child as usize))));
        keep(&mut ways, |way| way.enters_child(env, mounts) && way.goes_on(env, &mut ends));
    }
    black_box(ends.iter().fold(0, |all, end| all ^ behind(env, purpose, *end)));
}

/// Keeps the ways for which `goes_on` returns true, in any order.
#[inline(always)]
fn keep<'p>(ways: &mut ArrayVec<Way<'p>, MOST>, mut goes_on: impl FnMut(&mut Way<'p>) -> bool) {
    let mut at = 0;
    while let Some(way) = ways.get_mut(at) {
        if goes_on(way) {
            at += 1;
        } else {
            ways.swap_remove(at);
        }
    }
}

/// A path that is read ahead of, and the position reached in it.
#[derive(Clone, Copy)]
struct Way<'p> {
    path: Path<'p>,
    /// The rest of the path; `None` at the end.
    rest: Option<&'p [u8]>,
    at: Place,
    /// The name that is looked for at `at`: its first eight bytes, its length, its hash in the
    /// directory.
    first: u64,
    length: usize,
    hash: u64,
    /// The slot that is probably its dentry's.
    child: u32,
}

impl<'p> Way<'p> {
    /// Begins a path, unless the path is refused or the memo of whole paths seems to have it.
    #[inline(always)]
    fn begin(env: &Env<'_>, place: Place, path: &'p [u8]) -> Option<Way<'p>> {
        if path.is_empty() || path.len() > crate::limits::PATH_MAX {
            return None;
        }
        let text = Path(path);
        let at = if text.is_absolute() { env.root() } else { place };
        let question = Question { path, start: at.bits(), root: env.root().bits(), last_link: LastLink::Followed };
        let way = Way { path: text, rest: Some(text.beginning()), at, first: 0, length: 0, hash: 0, child: 0 };
        (!env.world.memo.seems_to_have(&question)).then_some(way)
    }

    /// Splits the next name off, or records the end of the path in `ends`. Returns whether there is
    /// a name.
    #[inline(always)]
    fn goes_on(&mut self, env: &Env<'_>, ends: &mut ArrayVec<DentryId, MOST>) -> bool {
        while let Some(rest) = self.rest {
            let name = component::next(self.path, rest, &env.keys);
            self.rest = self.path.behind(rest, name.length);
            if !name.may_be_special() || name.is_name() {
                self.hash = env.keys.in_directory(name.hash, self.at.dentry().0);
                (self.first, self.length) = (name.first, name.length);
                return true;
            }
            if name.is_dot_dot() {
                self.goes_up(env);
            }
        }
        ends.push(self.at.dentry());
        false
    }

    /// Goes to the directory above. At the root of a mount or of the walk, that guess is wrong.
    #[cold]
    #[inline(never)]
    fn goes_up(&mut self, env: &Env<'_>) {
        if let Some(line) = env.hot.get(self.at.dentry().0 as usize) {
            self.at = Place::new(self.at.mount(), parent_of(line));
        }
    }

    /// Goes to the child that was looked for, and to the root of a mount on it. Returns whether the
    /// slot seems to be that child's.
    #[inline(always)]
    fn enters_child(&mut self, env: &Env<'_>, mounts: MountsView<'_>) -> bool {
        let Some(line) = env.hot.get(self.child as usize) else { return false };
        if !has_parent_and_length(line, self.at.dentry(), self.length) || line[NAME].load(Ordering::Relaxed) != self.first {
            return false;
        }
        self.at = Place::new(self.at.mount(), DentryId(self.child));
        if word(Some(line)) & flags::MOUNTED != 0 {
            self.crosses(mounts, line);
        }
        true
    }

    /// Goes to the root of the mount on a dentry.
    #[cold]
    #[inline(never)]
    fn crosses(&mut self, mounts: MountsView<'_>, line: &Line) {
        if let Some((seen, root)) = mounts.covers(guessed_cover(line), self.at) {
            self.at = Place::new(seen.standing.mount, root);
        }
    }
}

/// Returns the word of a dentry.
#[inline(always)]
fn word(line: Option<&Line>) -> u64 {
    line.map_or(0, |line| line[WORD].load(Ordering::Relaxed))
}

/// Reads the memory behind a dentry that the purpose needs.
#[inline(always)]
fn behind(env: &Env<'_>, purpose: Purpose, end: DentryId) -> u64 {
    let Some(line) = env.hot.get(end.0 as usize) else { return 0 };
    match purpose {
        Purpose::Rights(want) if word(Some(line)) & everyone(want) == everyone(want) => 0,
        Purpose::Rights(_) | Purpose::Attributes => env.caches().inodes.peek(inode_of(line)),
        Purpose::Pin => env.caches().dentries.peek_life(end),
    }
}
