//! From a path to a dentry, in the order in which a walk goes.
//!
//! 1. [`asker`]: for whom; [`start`]: root, working directory or handle;
//! 2. [`scope`]: what the walk must not leave;
//! 3. [`component`]: the next name, split and hashed;
//! 4. [`fast`]: from a directory to its child without a lock, a store or a call; [`dotdot`] up, [`cross`] to other mounts, [`symlink`] through links ([`link_body`]),
//!    [`may`] where one bit does not say who may search;
//! 5. [`whole`]: paths whose way is remembered are not walked; [`last`]: what the walk arrived at; [`verdict`]: whether that will do, and how else a walk goes on;
//! 6. [`hand_over`]: where the fast walk gave up, pinned, or from the start;
//! 7. [`locked`]: the same walk with pins, asking the file system for what is missing; [`steps`] tells each of its steps;
//! 8. [`ahead`]: before several walks, the memory that they will read is read for all of them at once.
//!
//! The two walkers are separate, and return verdicts: the fast one ends in an answer, or in a reason and a place to go on from; never in
//! an errno that means something else.
//!
//! What is true of a walk: each step from a directory to a child was true at some instant during the walk. A walk of many
//! components is no snapshot.

pub(crate) mod ahead;
pub(crate) mod asker;
pub(crate) mod component;
pub(crate) mod cross;
pub(crate) mod dotdot;
pub(crate) mod fast;
pub(crate) mod hand_over;
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

/// Which of the two sides of somebody's credentials counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whose {
    Real,
    Effective,
}

/// Whether a link in the last component is followed, where no slash trails it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Follow {
    Links,
    Not,
    /// It is followed, and is no link at the end: more of the path comes behind, though this walk does not see it.
    OnTheWay,
}

/// What a walk looks at all the time, gathered once: behind the `Vfs` it would be loaded again after every acquire.
#[derive(Clone, Copy)]
pub(crate) struct Env<'a> {
    pub(crate) world: &'a World,
    pub(crate) asker: &'a Asker,
    pub(crate) hot: &'a [Line],
    pub(crate) table: TableView<'a>,
    pub(crate) keys: NameHash,
    pub(crate) whose: Whose,
    /// What the walk must not leave; none for most.
    pub(crate) scope: Option<Scope<'a>>,
    /// Where the walk begins: pinned by the asker or the caller.
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

    /// Returns the same for a walk that begins there, by the asker's rules.
    pub(crate) fn of(asker: &'a Asker, whose: Whose, at: Begin) -> Env<'a> {
        Env::scoped(asker, whose, at, Resolve::empty())
    }

    /// Returns the same, by more rules.
    pub(crate) fn scoped(asker: &'a Asker, whose: Whose, at: Begin, more: Resolve) -> Env<'a> {
        Env { scope: Scope::of(asker, at, more), ..Env::new(asker, whose) }
    }

    /// Returns the same for a walk that is no use of the mounts on its way.
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

    /// Returns whether the walk is no use of the mounts on its way: they may expire.
    pub(crate) fn looks_only(&self) -> bool {
        self.scope.is_some_and(|scope| scope.looks_only())
    }

    /// Returns the same for a walk that begins at a place on which there is a pin.
    #[inline(always)]
    pub(crate) fn from(self, start: Place) -> Env<'a> {
        Env { start, ..self }
    }

    /// Returns where its walk begins, sampled.
    #[inline(always)]
    pub(crate) fn begin(&self) -> Arrived<'a> {
        Arrived { cur: self.cursor(self.start.dentry()), mount: Standing::pinned(self.start.mount()) }
    }

    /// Returns the asker, in whose name no node is looked at.
    pub(crate) fn who(&self) -> Subject<'a> {
        match self.whose {
            Whose::Real => self.asker.credentials.real(),
            Whose::Effective => self.asker.credentials.effective(),
        }
    }

    /// Returns the asker as it comes to what is seen through a mount, on which there is a pin.
    pub(crate) fn who_in(&self, mount: MountId) -> Subject<'a> {
        self.who().through(self.world.mounts.id_map(mount))
    }

    /// Returns the same of the mount that a walk stands in; none if that changed.
    pub(crate) fn who_at(&self, mount: Standing) -> Option<Subject<'a>> {
        self.world.mounts.id_map_at(mount).ok().map(|map| self.who().through(map))
    }

    /// Returns a dentry that was sampled.
    pub(crate) fn sampled(&self, dentry: DentryId, word: u64) -> Cursor<'a> {
        Cursor::new(dentry.0, &self.hot[dentry.0 as usize], word)
    }

    /// Returns a dentry, sampled.
    #[inline(always)]
    pub(crate) fn cursor(&self, dentry: DentryId) -> Cursor<'a> {
        let line = &self.hot[dentry.0 as usize];
        Cursor::new(dentry.0, line, seqcount::sample(&line[WORD]))
    }
}

/// A dentry as the fast walk holds it: not pinned, but sampled.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    /// Which one. (Where its line lies would tell, but the next step waits for it: four cycles of the twenty that a step takes.)
    slot: u64,
    pub(crate) line: &'a Line,
    /// May be odd: then nothing read of the dentry is to be believed.
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

    /// Whether all that was read of the dentry since the sample is true.
    #[inline(always)]
    pub(crate) fn unchanged(&self) -> bool {
        seqcount::unchanged(&self.line[WORD], self.word)
    }

    /// Leaves the one mark of a hit, once; returns whether it was there. If the slot is another dentry's by now, that one is kept a little longer.
    ///
    /// Marked is what was reached, and the links on the way. Directories on the way are not: their children keep them.
    #[inline(always)]
    pub(crate) fn mark(&self) -> bool {
        mark_hit(self.line)
    }

    /// Whether any of these flags is set.
    #[inline(always)]
    pub(crate) fn is(&self, flags: u64) -> bool {
        self.word as u32 & flags as u32 != 0
    }

    /// Whether of the flags in `mask`, exactly those in `set` are set.
    #[inline(always)]
    pub(crate) fn has(&self, mask: u64, set: u64) -> bool {
        self.word as u32 & mask as u32 == set as u32
    }
}

/// What the fast walk arrived at.
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

/// Why the fast walk ended before the end.
#[derive(Clone, Copy)]
pub(crate) enum Stop<'a> {
    /// The answer, validated.
    Errno(Errno),
    /// Somebody else has to go on, from this directory and this position in the text.
    At(HandOver, Arrived<'a>, usize),
    /// Somebody else has to walk, from the start.
    FromStart(HandOver),
    /// The same: this name is being looked up just now.
    Awaited(DentryId),
}

impl Stop<'_> {
    /// The walk saw something change.
    pub(crate) const CHANGED: Stop<'static> = Stop::FromStart(HandOver::Changed);
}

/// An errno, provided that what it was concluded from still holds.
pub(crate) fn validated(cur: Cursor<'_>, errno: Errno) -> Stop<'_> {
    if cur.unchanged() { Stop::Errno(errno) } else { Stop::CHANGED }
}
