//! The parts of a thread's operation, between which parts of other operations come: each step of a
//! walk, and the operation itself at the end.
//!
//! A walk is no snapshot: each component led to the next node at some instant during the walk, one
//! after the other. The last component belongs to the operation where the operation changes it,
//! since its directory is locked then. Where the operation only reads a node's attributes, or opens
//! a place, finding the node is one part and reading it another. A listing lasts over several
//! parts.

use pathwalk::{AtFlags, Errno, FileType, LinkFlags, OpenFlags};

use crate::model::crowd::{Crowd, Links, Stepped, walking_slots};
use crate::op::Op;
use crate::outcome::Answer;
use crate::words::{Place, Slot, Text};

use super::listing::Span;

/// The extent to which a path is walked before the operation itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reach {
    /// The way to the directory of the last component.
    Directory,
    /// The way to the directory of the last component. The check of the search permission there is
    /// a part of its own, since another path is walked before the directory is used.
    SearchedDirectory,
    /// The way to the directory of the last component. A link as the last component is followed to
    /// the directory of its own last component.
    DirectoryThroughLinks,
    /// The way to the node, even if it is a link.
    Link,
    /// The way to the node, following links.
    Node,
}

/// The most links that a walk follows.
const MOST_LINKS: u8 = 40;

/// The progress of a thread in its operation.
#[derive(Clone, Hash, Default)]
pub(super) struct Progress {
    /// The path that is being walked.
    walk: Option<Walk>,
    /// The ends of the paths that were walked.
    ends: Vec<Place>,
    pub(super) listing: Option<Span>,
    /// The opened file that is still to be truncated.
    cut: Option<Slot>,
    /// The number of parts so far.
    pub(super) parts: u8,
}

/// A walk in progress.
#[derive(Clone, Hash)]
struct Walk {
    at: Option<Slot>,
    /// The rest of the path; from the root if it begins with a slash.
    rest: Vec<u8>,
    links: u8,
}

/// The result of a part.
#[derive(Debug)]
pub(super) enum Came {
    /// An operation with more parts to come.
    On,
    Answered(Answer),
    /// The end of a listing.
    Listed(Span),
}

/// Carries out the next part of an operation.
pub(super) fn advance(crowd: &mut Crowd, thread: usize, op: &Op, progress: &mut Progress) -> Came {
    progress.parts = progress.parts.saturating_add(1);
    part(crowd, thread, op, progress)
}

fn part(crowd: &mut Crowd, thread: usize, op: &Op, progress: &mut Progress) -> Came {
    if let Some(slot) = progress.cut {
        return Came::Answered(crowd.carry_out(thread, &Op::SetLen { slot, size: 0 }));
    }
    if let Some(span) = progress.listing.take() {
        return Came::Listed(span);
    }
    if progress.ends.is_empty() && progress.walk.is_none() && !crowd.counts(thread, op) {
        return Came::Answered(Answer::NotCarriedOut);
    }
    if let Some((place, reach)) = paths(op).into_iter().nth(progress.ends.len()) {
        let path = progress.ends.len();
        let walk = progress.walk.get_or_insert_with(|| Walk { at: place.at, rest: place.path.0.clone(), links: 0 });
        match walk.advance(crowd, thread, path, reach) {
            Err(errno) => return Came::Answered(Answer::Failed(errno)),
            Ok(None) => return Came::On,
            Ok(Some(end)) => {
                progress.ends.push(end);
                progress.walk = None;
                // Going on to the next path is no part of its own.
                return part(crowd, thread, op, progress);
            }
        }
    }
    act(crowd, thread, op, progress)
}

/// Returns the paths that are walked first.
fn paths(op: &Op) -> Vec<(Place, Reach)> {
    let node = |nofollow: bool| if nofollow { Reach::Link } else { Reach::Node };
    let place = |place: &Place, reach| vec![(place.clone(), reach)];
    match op {
        Op::Stat { at, flags } | Op::Access { at, flags, .. } | Op::Chmod { at, flags, .. } => {
            place(at, node(flags.contains(AtFlags::SYMLINK_NOFOLLOW)))
        }
        Op::Open { at, flags, .. } if flags.intersects(OpenFlags::PATH | OpenFlags::TMPFILE) => {
            place(at, node(flags.contains(OpenFlags::NOFOLLOW)))
        }
        Op::Open { at, flags, .. } => {
            let follows = !flags.intersects(OpenFlags::NOFOLLOW | OpenFlags::EXCLUSIVE);
            place(at, if follows { Reach::DirectoryThroughLinks } else { Reach::Directory })
        }
        Op::Link { from, to, flags } => {
            vec![(from.clone(), node(!flags.contains(LinkFlags::SYMLINK_FOLLOW))), (to.clone(), Reach::Directory)]
        }
        Op::Rename { from, to, .. } => vec![(from.clone(), Reach::SearchedDirectory), (to.clone(), Reach::Directory)],
        Op::Mkdir { at, .. }
        | Op::Mknod { at, .. }
        | Op::Symlink { at, .. }
        | Op::Unlink { at }
        | Op::Rmdir { at }
        | Op::Readlink { at, .. } => place(at, Reach::Directory),
        Op::Chdir { path } => vec![(Place { at: None, path: path.clone() }, Reach::Node)],
        _ => Vec::new(),
    }
}

/// Carries out the operation itself at the ends of the paths.
fn act(crowd: &mut Crowd, thread: usize, op: &Op, progress: &mut Progress) -> Came {
    let mut ends = progress.ends.iter().cloned();
    let mut end = || ends.next().expect("a path was walked");
    let (empty, cut_off) = (AtFlags::EMPTY_PATH, OpenFlags::TRUNCATE);
    let at_end = match op.clone() {
        Op::Stat { flags, .. } => Op::Stat { at: end(), flags: flags | empty },
        Op::Access { want, flags, .. } => Op::Access { at: end(), want, flags: flags | empty },
        Op::Chmod { mode, flags, .. } => Op::Chmod { at: end(), mode, flags: flags | empty },
        Op::Mkdir { mode, .. } => Op::Mkdir { at: end(), mode },
        Op::Mknod { kind, mode, .. } => Op::Mknod { at: end(), kind, mode },
        Op::Symlink { body, .. } => Op::Symlink { body, at: end() },
        Op::Unlink { .. } => Op::Unlink { at: end() },
        Op::Rmdir { .. } => Op::Rmdir { at: end() },
        Op::Readlink { size, .. } => Op::Readlink { at: end(), size },
        Op::Rename { flags, .. } => Op::Rename { from: end(), to: end(), flags },
        Op::Link { .. } => Op::Link { from: end(), to: end(), flags: LinkFlags::EMPTY_PATH },
        Op::Chdir { .. } => match end() {
            Place { at: Some(slot), path } if path.0.is_empty() => return Came::Answered(crowd.enter(thread, slot)),
            Place { path, .. } => Op::Chdir { path },
        },
        Op::Open { slot, flags, .. } if flags.contains(OpenFlags::PATH) => match end() {
            Place { at: Some(found), path } if path.0.is_empty() => return Came::Answered(crowd.adopt(thread, found, slot)),
            at => Op::Open { slot, at, flags, mode: crate::words::Mode(0) },
        },
        Op::Open { slot, flags, mode, .. } if flags.contains(OpenFlags::TMPFILE) => {
            let Place { at, path } = end();
            let path = if path.0.is_empty() { Text(b".".to_vec()) } else { path };
            Op::Open { slot, at: Place { at, path }, flags, mode }
        }
        Op::Open { slot, flags, mode, .. } => Op::Open { slot, at: end(), flags: (flags | OpenFlags::NOFOLLOW) - cut_off, mode },
        other => other,
    };
    let answer = crowd.carry_out(thread, &at_end);
    match (&at_end, answer) {
        (Op::List { slot }, Answer::Listing(names)) => {
            progress.listing = Some(Span::new(*slot, names));
            Came::On
        }
        (Op::Open { slot, .. }, Answer::Node(_)) if op.has(cut_off) => {
            progress.cut = Some(*slot);
            Came::On
        }
        (_, answer) => Came::Answered(answer),
    }
}

impl Op {
    /// Returns whether the operation is an open with these flags.
    fn has(&self, wanted: OpenFlags) -> bool {
        matches!(self, Op::Open { flags, .. } if flags.contains(wanted))
    }
}

impl Walk {
    /// Takes the next step; returns the end of the walk, if it is reached. A path that has no
    /// steps, or none left but the last, ends at once.
    fn advance(&mut self, crowd: &mut Crowd, thread: usize, path: usize, reach: Reach) -> Result<Option<Place>, Errno> {
        let [even, odd] = walking_slots(path);
        let into = if self.at == Some(even) { odd } else { even };
        if self.is_at_end(reach) {
            if reach == Reach::DirectoryThroughLinks && self.follows_last(crowd, thread, into)? {
                return Ok(None);
            }
            if reach == Reach::SearchedDirectory {
                self.search_here(crowd, thread, into)?;
            }
            return Ok(Some(Place { at: self.at, path: Text(self.rest.clone()) }));
        }
        let (component, tail) = self.split();
        let place = Place { at: self.at, path: Text(component) };
        let is_end = tail.is_empty();
        let links = if is_end && reach == Reach::Link { Links::Keep } else { Links::Read };
        match crowd.step(thread, &place, into, links)? {
            Stepped::Link(body) => self.follow(&body, &tail)?,
            Stepped::Node(kind) if !is_end && kind != FileType::Directory => return Err(Errno::ENOTDIR),
            Stepped::Node(_) => {
                let behind = tail.iter().position(|byte| *byte != b'/').unwrap_or(tail.len());
                (self.at, self.rest) = (Some(into), tail[behind..].to_vec());
            }
        }
        // Reading the node is a part of its own, and so is an operation in a directory.
        Ok(None)
    }

    /// Checks that the directory may be searched, if a component is left to be searched for.
    fn search_here(&self, crowd: &mut Crowd, thread: usize, into: Slot) -> Result<(), Errno> {
        let start = self.rest.iter().position(|byte| *byte != b'/');
        let Some(start) = start else { return Ok(()) };
        let here = if start > 0 { &b"/."[..] } else { b"." };
        crowd.step(thread, &Place { at: self.at, path: Text(here.to_vec()) }, into, Links::Read).map(drop)
    }

    /// Follows the last component, if it is a link. Returns whether it was one.
    fn follows_last(&mut self, crowd: &mut Crowd, thread: usize, into: Slot) -> Result<bool, Errno> {
        let (component, tail) = self.split();
        if component.iter().all(|byte| *byte == b'/') {
            return Ok(false);
        }
        match crowd.step(thread, &Place { at: self.at, path: Text(component) }, into, Links::Read) {
            Ok(Stepped::Link(body)) => self.follow(&body, &tail).map(|()| true),
            // The operation itself reports the error.
            _ => Ok(false),
        }
    }

    fn follow(&mut self, body: &[u8], tail: &[u8]) -> Result<(), Errno> {
        if self.links >= MOST_LINKS {
            return Err(Errno::ELOOP);
        }
        self.links += 1;
        // A link in the root directory starts there.
        let from = if self.rest.first() == Some(&b'/') { &b"/"[..] } else { b"" };
        if body.first() == Some(&b'/') {
            self.at = None;
        }
        self.rest = [from, body, tail].concat();
        Ok(())
    }

    /// Returns the next component, with the slashes before it, and the rest behind it.
    fn split(&self) -> (Vec<u8>, Vec<u8>) {
        let start = self.rest.iter().position(|byte| *byte != b'/').unwrap_or(self.rest.len());
        let length = self.rest[start..].iter().position(|byte| *byte == b'/');
        let end = length.map_or(self.rest.len(), |length| start + length);
        (self.rest[..end].to_vec(), self.rest[end..].to_vec())
    }

    fn is_at_end(&self, reach: Reach) -> bool {
        let (component, tail) = self.split();
        match reach {
            Reach::Node | Reach::Link => component.iter().all(|byte| *byte == b'/'),
            Reach::Directory | Reach::SearchedDirectory | Reach::DirectoryThroughLinks => tail.iter().all(|byte| *byte == b'/'),
        }
    }
}
