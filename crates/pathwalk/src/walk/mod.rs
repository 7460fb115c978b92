//! The walk from a path to a dentry. The modules, in the order in which a walk uses them:
//!
//! 1. [`asker`]: the caller and its rights; [`start`]: root, working directory or handle;
//! 2. [`scope`]: what the walk must not leave;
//! 3. [`component`]: the next name, split and hashed;
//! 4. [`fast`]: from a directory to its child without a lock, a store or a call; [`dotdot`] up,
//!    [`cross`] to other mounts, [`symlink`] through links ([`link_body`]), [`may`] where one bit
//!    does not decide about the right to search;
//! 5. [`whole`]: paths whose way is remembered are not walked; [`last`]: the end of the walk;
//!    [`verdict`]: whether that is acceptable, and how another walk goes on;
//! 6. [`hand_over`]: the place at which the fast walk gave up, pinned, or the start;
//! 7. [`locked`]: the same walk with pins, which asks the file system for what is missing;
//!    [`steps`] reports each of its steps; [`hooked`] asks the security hook whether a directory
//!    may be searched;
//! 8. [`ahead`]: reads the memory that several walks will need, for all of them at once.
//!
//! The two walkers are separate, and return verdicts. The fast one ends in an answer, or in a
//! reason and a place to go on from. It never ends in an errno that stands for something else.
//!
//! What is true of a walk: each step from a directory to a child was true at some instant during
//! the walk. A walk of many components is no snapshot.

pub(crate) mod ahead;
pub(crate) mod asker;
pub(crate) mod component;
pub(crate) mod cross;
pub(crate) mod dotdot;
pub(crate) mod fast;
pub(crate) mod hand_over;
pub(crate) mod hooked;
pub(crate) mod last;
pub(crate) mod link_body;
pub(crate) mod locked;
pub(crate) mod may;
pub(crate) mod scope;
pub(crate) mod start;
pub(crate) mod steps;
pub(crate) mod symlink;
pub(crate) mod verdict;
pub(crate) mod whole;

use crate::Errno;
use crate::abi::Resolve;
use crate::cache::Caches;
use crate::cache::dcache::dentry::{WORD, mark_hit};
use crate::memory::lines::Line;
use crate::memory::seqcount;
use crate::memory::slot::{DentryId, MountId};
use crate::memory::table::TableView;
use crate::mount::{Place, Standing, World};
use crate::permission::Subject;
use crate::stats::HandOver;
use crate::superblock::Trees;
use crate::text::hash::NameHash;
use asker::{Asker, Begin};
use scope::Scope;

/// The side of the credentials that counts, real or effective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whose {
    Real,
    Effective,
}

/// The treatment of a link in the last component, where no slash trails it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Follow {
    Links,
    Not,
    /// The link is followed, and is not the last of the whole path: more of the path follows,
    /// though this walk does not have it.
    OnTheWay,
}

/// The data that a walk reads all the time, gathered once. Read through the `Vfs`, it would be
/// loaded again after every acquire.
#[derive(Clone, Copy)]
pub(crate) struct Env<'a> {
    pub(crate) world: &'a World,
    pub(crate) asker: &'a Asker,
    pub(crate) hot: &'a [Line],
    pub(crate) table: TableView<'a>,
    pub(crate) keys: NameHash,
    pub(crate) whose: Whose,
    /// The scope that the walk must not leave; `None` for most walks.
    pub(crate) scope: Option<Scope<'a>>,
    /// The place where the walk begins, pinned by the asker or the caller.
    pub(crate) start: Place,
}

impl<'a> Env<'a> {
    #[inline(always)]
    pub(crate) fn new(asker: &'a Asker, whose: Whose) -> Env<'a> {
        let world = &*asker.world;
        let caches = world.caches();
        let (hot, table, keys) = (caches.dentries.hot(), caches.dentries.table(), caches.hash);
        Env { world, asker, hot, table, keys, whose, scope: None, start: Place::NONE }
    }

    /// Creates the environment of a walk that begins at `at`, by the asker's rules.
    pub(crate) fn of(asker: &'a Asker, whose: Whose, at: Begin) -> Env<'a> {
        Env::scoped(asker, whose, at, Resolve::empty())
    }

    /// Creates the environment of a walk with `more` rules.
    pub(crate) fn scoped(asker: &'a Asker, whose: Whose, at: Begin, more: Resolve) -> Env<'a> {
        Env { scope: Scope::of(asker, at, more), ..Env::new(asker, whose) }
    }

    /// Creates the environment of a walk that does not count as a use of the mounts on its way.
    pub(crate) fn looking_only(asker: &'a Asker, whose: Whose, at: Begin) -> Env<'a> {
        Env { scope: Some(Scope::looking_only(asker, at)), ..Env::new(asker, whose) }
    }

    #[inline(always)]
    pub(crate) fn trees(&self) -> &'a Trees {
        &self.world.trees
    }

    #[inline(always)]
    pub(crate) fn caches(&self) -> &'a Caches {
        self.world.caches()
    }

    #[inline(always)]
    pub(crate) fn root(&self) -> Place {
        match &self.scope {
            None => self.asker.root,
            Some(scope) => scope.root(self.asker.root),
        }
    }

    /// Returns whether the walk does not count as a use of the mounts on its way, so that they may
    /// expire.
    pub(crate) fn looks_only(&self) -> bool {
        self.scope.is_some_and(|scope| scope.looks_only())
    }

    /// Returns this environment for a walk that begins at a pinned place.
    #[inline(always)]
    pub(crate) fn from(self, start: Place) -> Env<'a> {
        Env { start, ..self }
    }

    /// Returns where its walk begins, sampled.
    #[inline(always)]
    pub(crate) fn begin(&self) -> Arrived<'a> {
        Arrived { cur: self.cursor(self.start.dentry()), mount: Standing::pinned(self.start.mount()) }
    }

    /// Returns the asker as a subject without the id map of a mount.
    pub(crate) fn who(&self) -> Subject<'a> {
        match self.whose {
            Whose::Real => self.asker.credentials.real(),
            Whose::Effective => self.asker.credentials.effective(),
        }
    }

    /// Returns the asker as a subject for nodes seen through a pinned mount.
    pub(crate) fn who_in(&self, mount: MountId) -> Subject<'a> {
        self.who().through(self.world.mounts.id_map(mount))
    }

    /// Returns the asker as a subject for nodes seen through the mount that a walk stands in;
    /// `None` if that mount changed.
    pub(crate) fn who_at(&self, mount: Standing) -> Option<Subject<'a>> {
        self.world.mounts.id_map_at(mount).ok().map(|map| self.who().through(map))
    }

    /// Returns the cursor of a dentry whose word was sampled before.
    pub(crate) fn sampled(&self, dentry: DentryId, word: u64) -> Cursor<'a> {
        Cursor::new(dentry.0, &self.hot[dentry.0 as usize], word)
    }

    /// Samples a dentry and returns its cursor.
    #[inline(always)]
    pub(crate) fn cursor(&self, dentry: DentryId) -> Cursor<'a> {
        let line = &self.hot[dentry.0 as usize];
        Cursor::new(dentry.0, line, seqcount::sample(&line[WORD]))
    }
}

/// A dentry as the fast walk holds it: not pinned, but sampled.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    /// The slot of the dentry. (It could be computed from the address of the line. But the next
    /// step waits for it, and that would add four cycles to the twenty that a step takes.)
    slot: u64,
    pub(crate) line: &'a Line,
    /// The sampled word. If it is odd, nothing that was read of the dentry is valid.
    pub(crate) word: u64,
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    pub(crate) fn new(slot: u32, line: &'a Line, word: u64) -> Self {
        Cursor { slot: slot.into(), line, word }
    }

    #[inline(always)]
    pub(crate) fn dentry(&self) -> DentryId {
        DentryId(self.slot as u32)
    }

    /// Returns whether all that was read of the dentry since the sample is valid.
    #[inline(always)]
    pub(crate) fn unchanged(&self) -> bool {
        seqcount::unchanged(&self.line[WORD], self.word)
    }

    /// Sets the hit mark, once. Returns whether it was set before. If the slot has passed to
    /// another dentry, that dentry is kept a little longer.
    ///
    /// The dentry that was reached is marked, and the links on the way. Directories on the way are
    /// not: their children pin them.
    #[inline(always)]
    pub(crate) fn mark(&self) -> bool {
        mark_hit(self.line)
    }

    /// Returns whether any of these flags is set.
    #[inline(always)]
    pub(crate) fn is(&self, flags: u64) -> bool {
        self.word as u32 & flags as u32 != 0
    }

    /// Returns whether exactly the flags in `set` are set, of those in `mask`.
    #[inline(always)]
    pub(crate) fn has(&self, mask: u64, set: u64) -> bool {
        self.word as u32 & mask as u32 == set as u32
    }
}

/// The dentry that the fast walk reached, and its mount.
#[derive(Clone, Copy)]
pub(crate) struct Arrived<'a> {
    pub(crate) cur: Cursor<'a>,
    /// The mount through which it is seen.
    pub(crate) mount: Standing,
}

impl Arrived<'_> {
    pub(crate) fn place(&self) -> Place {
        Place::new(self.mount.mount, self.cur.dentry())
    }
}

/// The reason why the fast walk ended early.
#[derive(Clone, Copy)]
pub(crate) enum Stop<'a> {
    /// A definite error, validated.
    Errno(Errno),
    /// The locked walk has to go on, from this directory and this position in the text.
    At(HandOver, Arrived<'a>, usize),
    /// The locked walk has to start from the beginning.
    FromStart(HandOver),
    /// The locked walk has to start from the beginning. Another thread is looking this name up.
    Awaited(DentryId),
}

impl Stop<'_> {
    /// The stop of a walk that saw something change.
    pub(crate) const CHANGED: Stop<'static> = Stop::FromStart(HandOver::Changed);
}

/// Returns an errno if the dentry that it was concluded from is unchanged, and `CHANGED` otherwise.
pub(crate) fn validated(cur: Cursor<'_>, errno: Errno) -> Stop<'_> {
    if cur.unchanged() { Stop::Errno(errno) } else { Stop::CHANGED }
}
