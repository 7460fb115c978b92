//! From a path to a dentry, in the order in which a walk goes.
//!
//! 1. [`start`]: root, working directory or handle;
//! 2. [`component`]: the next name, split and hashed ([`swar`]: eight bytes at a time);
//! 3. [`fast`]: from a directory to its child without a lock, a store or a call; [`dotdot`] up, [`symlink`] through links ([`link_body`]),
//!    [`may`] where one bit does not say who may search;
//! 4. [`last`]: what the walk arrived at;
//! 5. [`hand_over`]: where the fast walk gave up, pinned, or from the start;
//! 6. [`locked`]: the same walk with pins, asking the file system; [`miss`] for a name that is not cached,
//!    [`siblings`] for those beside it; [`steps`] for whoever wants to be told.
//!
//! The two walkers are separate, and return verdicts: the fast one ends in an answer, or in a reason and a place to go on from; never in
//! an errno that means something else.
//!
//! What is true of a walk: each step from a directory to a child was true at some instant during the walk. A walk of many
//! components is no snapshot.

pub(crate) mod component;
pub(crate) mod dotdot;
pub(crate) mod fast;
pub(crate) mod hand_over;
pub(crate) mod last;
pub(crate) mod link_body;
pub(crate) mod locked;
pub(crate) mod may;
pub(crate) mod miss;
pub(crate) mod siblings;
pub(crate) mod start;
pub(crate) mod steps;
pub(crate) mod swar;
pub(crate) mod symlink;

use crate::Errno;
use crate::context::Context;
use crate::dcache::dentry::{DentryId, WORD};
use crate::memory::lines::Line;
use crate::memory::seqcount;
use crate::memory::table::TableView;
use crate::permission::Subject;
use crate::stats::HandOver;
use crate::vfs::Core;
use component::NameHash;

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
    pub(crate) core: &'a Core,
    pub(crate) context: &'a Context,
    pub(crate) hot: &'a [Line],
    pub(crate) table: TableView<'a>,
    pub(crate) keys: NameHash,
    pub(crate) whose: Whose,
}

impl<'a> Env<'a> {
    #[inline(always)]
    pub(crate) fn new(context: &'a Context, whose: Whose) -> Env<'a> {
        let core = context.vfs.core();
        Env { core, context, hot: core.dentries.hot(), table: core.dentries.table(), keys: core.hash, whose }
    }

    #[inline(always)]
    pub(crate) fn root(&self) -> DentryId {
        self.context.root.dentry()
    }

    pub(crate) fn who(&self) -> Subject<'a> {
        match self.whose {
            Whose::Real => self.context.credentials.real(),
            Whose::Effective => self.context.credentials.effective(),
        }
    }

    /// Where a walk stands that begins at a dentry.
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

/// Why the fast walk ended before the end.
#[derive(Clone, Copy)]
pub(crate) enum Stop<'a> {
    /// The answer, validated.
    Errno(Errno),
    /// Somebody else has to go on, from this directory and this position in the text.
    At(HandOver, Cursor<'a>, usize),
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
