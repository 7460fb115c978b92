//! What a walk comes to: whether the place that it reached will do, and if it cannot go on, how
//! another walk does.
//!
//! Both walkers and what ties them together share these; none of it walks.

use arrayvec::ArrayVec;

use super::component::Text;
use super::{Arrived, Cursor, Stop, validated};
use crate::Errno;
use crate::cache::dcache::dentry::flags;
use crate::limits::MAX_LINKS;
use crate::memory::seqcount::ODD;
use crate::memory::slot::{DentryId, InodeId};
use crate::stats::HandOver;

/// Flags that keep a walk from passing through a dentry without a further look.
pub(crate) const OBSTACLES: u64 = ODD | flags::LINK | flags::NEGATIVE | flags::REVALIDATE | flags::IN_LOOKUP;

/// Why there is no answer from the fast walk.
pub(crate) enum Stopped<'a> {
    /// There is one: this.
    Errno(Errno),
    /// The locked walk goes on.
    HandOver(Resume<'a>),
}

impl Stopped<'_> {
    /// The errno of somebody for whom nobody shall go on: `EAGAIN`, unless there is an answer.
    pub(crate) fn or_again(self) -> Errno {
        match self {
            Stopped::Errno(errno) => errno,
            Stopped::HandOver(_) => Errno::EAGAIN,
        }
    }
}

impl From<Errno> for Stopped<'_> {
    fn from(errno: Errno) -> Self {
        Stopped::Errno(errno)
    }
}

/// What stands behind the last component.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Nothing,
    /// A slash: it has to be a directory.
    Slash,
}

impl Ending {
    pub(crate) fn of(text: impl Text) -> Ending {
        if text.ends_in_slash() { Ending::Slash } else { Ending::Nothing }
    }

    pub(crate) fn or(self, other: Ending) -> Ending {
        if self == Ending::Slash { self } else { other }
    }
}

/// How the locked walk begins.
pub(crate) enum Resume<'a> {
    FromStart(HandOver),
    /// From the start; this name is being looked up just now.
    Awaited(DentryId),
    At(Box<Kept<'a>>),
}

/// A place that the fast walk got to.
pub(crate) struct Kept<'a> {
    pub(crate) reason: HandOver,
    /// The last good directory.
    pub(crate) dir: Arrived<'a>,
    /// The texts; the current one's position is that of the next component.
    pub(crate) trail: Trail,
}

/// A text that the walk is in, or left for a link.
#[derive(Clone, Copy)]
pub(crate) struct Entered {
    /// The link whose body it is; none: the path.
    pub(crate) inode: InodeId,
    /// The inode's word when it was entered.
    pub(crate) word: u64,
    /// Where the next component starts.
    pub(crate) pos: usize,
    /// What stood behind the link: it is what stands behind the body's last component.
    pub(crate) behind: Ending,
}

const PATH: Entered = Entered { inode: InodeId::NONE, word: 0, pos: 0, behind: Ending::Nothing };

/// The texts of a walk.
pub(crate) struct Trail {
    pub(super) left: ArrayVec<Entered, MAX_LINKS>,
    pub(crate) current: Entered,
    /// Links entered so far.
    pub(crate) links: usize,
}

impl Trail {
    /// In the path, with no link entered.
    #[inline(always)]
    pub(crate) fn none() -> Trail {
        Trail { left: ArrayVec::new_const(), current: PATH, links: 0 }
    }

    /// The texts that were left, outermost first.
    #[inline(always)]
    pub(crate) fn left(&self) -> &[Entered] {
        &self.left
    }

    /// A stop within the current text, made into one of the walk.
    #[cold]
    pub(crate) fn stopped(mut self, stop: Stop<'_>) -> Stopped<'_> {
        match stop {
            Stop::Errno(errno) => Stopped::Errno(errno),
            Stop::FromStart(reason) => Stopped::HandOver(Resume::FromStart(reason)),
            Stop::Awaited(name) => Stopped::HandOver(Resume::Awaited(name)),
            Stop::At(reason, dir, pos) => {
                self.current.pos = pos;
                Stopped::HandOver(Resume::At(Box::new(Kept { reason, dir, trail: self })))
            }
        }
    }

    /// The link's body becomes the current text.
    #[inline(always)]
    pub(super) fn enter(&mut self, inode: InodeId, word: u64, rest: Rest) {
        let behind = match rest {
            Rest::At(pos) => {
                self.left.push(Entered { pos, ..self.current });
                Ending::Nothing
            }
            Rest::Over(behind) => behind,
        };
        self.current = Entered { inode, word, pos: 0, behind };
        self.links += 1;
    }

    /// Back to the text before, where there is one.
    #[inline(always)]
    pub(super) fn leave(&mut self) -> Option<()> {
        self.current = self.left.pop()?;
        Some(())
    }
}

/// What is left of a text behind a link in it.
#[derive(Clone, Copy)]
pub(super) enum Rest {
    /// A component, which starts here.
    At(usize),
    /// None; this stands behind the link.
    Over(Ending),
}

/// Whether what the walk arrived at is there, and up to date; `ENOENT` if it is known to be absent.
/// At position 0 the walk has not moved: no name was used that could be out of date.
pub(crate) fn usable<'a>(cur: Cursor<'a>, pos: usize) -> Result<(), Stop<'a>> {
    if cur.is(ODD) {
        return Err(Stop::CHANGED);
    }
    if cur.is(flags::IN_LOOKUP) {
        return Err(Stop::Awaited(cur.dentry()));
    }
    if cur.is(flags::REVALIDATE) && pos > 0 {
        return Err(Stop::FromStart(HandOver::Revalidate));
    }
    if cur.is(flags::NEGATIVE) {
        cur.mark();
        return Err(validated(cur, Errno::ENOENT));
    }
    Ok(())
}

/// Whether the place where everything ends will do. The caller marks it.
pub(crate) fn arrive(cur: Cursor<'_>, pos: usize, ending: Ending) -> Result<Cursor<'_>, Stop<'_>> {
    usable(cur, pos)?;
    if ending == Ending::Slash && !cur.is(flags::DIRECTORY) {
        return Err(validated(cur, Errno::ENOTDIR));
    }
    Ok(cur)
}
