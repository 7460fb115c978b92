//! The verdicts of a walk: whether the place that it reached is acceptable, and how another walk
//! goes on where it cannot.
//!
//! Both walkers and the code that connects them share these types. Nothing here walks.

use arrayvec::ArrayVec;

use super::component::Text;
use super::{Arrived, Cursor, Stop, validated};
use crate::Errno;
use crate::cache::dcache::dentry::flags;
use crate::limits::MAX_LINKS;
use crate::memory::seqcount::ODD;
use crate::memory::slot::{DentryId, InodeId};
use crate::stats::HandOver;

/// The flags that keep a walk from passing through a dentry without a further look.
pub(crate) const OBSTACLES: u64 = ODD | flags::LINK | flags::NEGATIVE | flags::REVALIDATE | flags::IN_LOOKUP;

/// The outcome of a fast walk that has no place to return.
pub(crate) enum Stopped<'a> {
    /// The definite error.
    Errno(Errno),
    /// The locked walk has to go on.
    HandOver(Resume<'a>),
}

impl Stopped<'_> {
    /// Returns the errno for a caller that does not hand over to the locked walk: `EAGAIN`, unless
    /// there is a definite error.
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

/// The text that follows the last component.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Nothing,
    /// A slash: the last component has to be a directory.
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

/// The way in which the locked walk begins.
pub(crate) enum Resume<'a> {
    FromStart(HandOver),
    /// A start from the beginning, while another thread is looking this name up.
    Awaited(DentryId),
    At(Box<Kept<'a>>),
}

/// A place that the fast walk reached, and what it had left to walk.
pub(crate) struct Kept<'a> {
    pub(crate) reason: HandOver,
    /// The last directory that the walk validated.
    pub(crate) dir: Arrived<'a>,
    /// The texts. The current one's position is that of the next component.
    pub(crate) trail: Trail,
}

/// A text that the walk is in, or left for a link.
#[derive(Clone, Copy)]
pub(crate) struct Entered {
    /// The link whose body the text is, or `NONE` for the path.
    pub(crate) inode: InodeId,
    /// The inode's word when the body was entered.
    pub(crate) word: u64,
    /// The position of the next component.
    pub(crate) pos: usize,
    /// The ending that followed the link. It also follows the body's last component.
    pub(crate) behind: Ending,
}

const PATH: Entered = Entered { inode: InodeId::NONE, word: 0, pos: 0, behind: Ending::Nothing };

/// The texts of a walk.
pub(crate) struct Trail {
    pub(super) left: ArrayVec<Entered, MAX_LINKS>,
    pub(crate) current: Entered,
    /// The number of links entered so far.
    pub(crate) links: usize,
}

impl Trail {
    /// Creates a trail that is in the path, with no link entered.
    #[inline(always)]
    pub(crate) fn none() -> Trail {
        Trail { left: ArrayVec::new_const(), current: PATH, links: 0 }
    }

    /// Returns the texts that were left, outermost first.
    #[inline(always)]
    pub(crate) fn left(&self) -> &[Entered] {
        &self.left
    }

    /// Turns a stop within the current text into one of the walk.
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

    /// Makes the link's body the current text.
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

    /// Returns to the previous text, if there is one.
    #[inline(always)]
    pub(super) fn leave(&mut self) -> Option<()> {
        self.current = self.left.pop()?;
        Some(())
    }
}

/// The rest of a text behind a link in it.
#[derive(Clone, Copy)]
pub(super) enum Rest {
    /// A component, which starts at this position.
    At(usize),
    /// No component, but this ending.
    Over(Ending),
}

/// Checks that the dentry that the walk reached is there and up to date. `ENOENT` if it is known to
/// be absent. At position 0 the walk has not moved, so it used no name that could be out of date.
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

/// Checks that the walk may end at this dentry. The caller marks it.
pub(crate) fn arrive(cur: Cursor<'_>, pos: usize, ending: Ending) -> Result<Cursor<'_>, Stop<'_>> {
    usable(cur, pos)?;
    if ending == Ending::Slash && !cur.is(flags::DIRECTORY) {
        return Err(validated(cur, Errno::ENOTDIR));
    }
    Ok(cur)
}
