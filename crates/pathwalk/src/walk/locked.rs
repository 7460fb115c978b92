//! The locked walk (Linux: ref-walk): the same steps as the fast one, with pins and calls of the
//! file system.
//!
//! It holds two pins, on the place where it is and on the directory that led there, and no lock
//! between steps. It runs after the fast walk has handed over, so it may allocate: bodies of links
//! are copied when they are entered.

use std::borrow::Cow;

use super::hooked::{self, NoSearch};
use super::scope::Look;
use super::steps::{Teller, What, Why};
use super::symlink::is_protected;
use super::verdict::Ending;
use super::{Env, Follow, cross};
use crate::Errno;
use crate::abi::MountFlags;
use crate::abi::Resolve;
use crate::cache::dcache::dentry::flags;
use crate::cache::icache::snapshot::Snapshot;
use crate::limits::MAX_LINKS;
use crate::mount::{PinnedPlace, Place, Standing};
use crate::superblock::early::Early;
use crate::superblock::miss::Trust;

/// A path or a link's body, and the position of the next component.
pub(crate) struct Text<'a> {
    bytes: Cow<'a, [u8]>,
    pos: usize,
    /// The ending that follows the last component, outside this text.
    behind: Ending,
    /// The number of links' bodies around this text; only for the report of steps.
    depth: usize,
}

impl<'a> Text<'a> {
    pub(crate) fn new(bytes: Cow<'a, [u8]>, pos: usize, behind: Ending) -> Self {
        Text { bytes, pos, behind, depth: 0 }
    }

    /// Returns the start and end of the next component; `None` if only slashes are left.
    fn peek(&self) -> Option<(usize, usize)> {
        let start = self.pos + self.bytes.get(self.pos..)?.iter().position(|byte| *byte != b'/')?;
        let length = self.bytes[start..].iter().position(|byte| *byte == b'/');
        Some((start, length.map_or(self.bytes.len(), |length| start + length)))
    }

    /// Returns the next component.
    pub(crate) fn next(&self) -> Option<&[u8]> {
        self.peek().map(|(start, end)| &self.bytes[start..end])
    }

    /// Returns the component that the walk tried last.
    fn previous(&self) -> Option<Box<[u8]>> {
        self.bytes[..self.pos].rsplit(|byte| *byte == b'/').next().map(Box::from)
    }

    fn ending(&self) -> Ending {
        if self.bytes.last() == Some(&b'/') { Ending::Slash } else { self.behind }
    }
}

/// The place at which [`Walker::up_to_last`] stopped.
pub(crate) enum LastOf {
    /// A name, perhaps `.` or `..`, and what follows it.
    Name(Box<[u8]>, Ending),
    /// No last component: the walk is at the root, or where a link with an empty body leads.
    Nothing,
}

/// A locked walk under way.
pub(crate) struct Walker<'a> {
    env: Env<'a>,
    /// The texts, outermost first. The last is the current one.
    texts: Vec<Text<'a>>,
    links: usize,
    cur: PinnedPlace<'a>,
    /// The directory in which `cur` was found.
    dir: PinnedPlace<'a>,
    follow: Follow,
    trust: Trust,
    /// What the open asks of the lookup of the last name.
    early: Option<Early>,
    /// Whether the root was looked up: see [`Scope::knows_root`](super::scope::Scope::knows_root).
    knows_root: bool,
    teller: Teller<'a>,
}

impl<'a> Walker<'a> {
    /// Creates a walk from the beginning of a path. The caller has a pin on `start`.
    pub(crate) fn start(env: &Env<'a>, path: &'a [u8], start: Place, follow: Follow) -> Self {
        Walker::resume(env, PinnedPlace::again(env.world, start), vec![Text::new(path.into(), 0, Ending::Nothing)], 0, follow)
    }

    /// Creates a walk from a place that the fast walk reached.
    pub(crate) fn resume(env: &Env<'a>, cur: PinnedPlace<'a>, texts: Vec<Text<'a>>, links: usize, follow: Follow) -> Self {
        let dir = cur.clone();
        let knows_root = env.scope.is_none_or(|scope| texts.first().is_none_or(|path| scope.knows_root(&path.bytes)));
        Walker { env: *env, texts, links, cur, dir, follow, trust: Trust::Cache, early: None, knows_root, teller: Teller::SILENT }
    }

    /// Returns this walk, which asks the file system about every entry on the way, whether it still
    /// holds.
    pub(crate) fn distrusting(mut self) -> Self {
        self.trust = Trust::AskAlways;
        self
    }

    /// Returns this walk for an open, which may get the open file with the last lookup.
    pub(crate) fn for_reading(mut self, early: Early) -> Self {
        self.early = Some(early);
        self
    }

    /// Returns this walk, which reports its steps.
    pub(crate) fn telling(mut self, teller: Teller<'a>) -> Self {
        self.teller = teller;
        self.tell(|walker| What::Start(walker.cur.clone()));
        self
    }

    fn tell(&self, what: impl FnOnce(&Self) -> What<PinnedPlace<'a>>) {
        self.teller.tell(self.texts.last().map_or(0, |text| text.depth), || what(self));
    }

    /// Reports that the walk ends with an error, at the node where it is.
    #[cold]
    fn refused(&self, errno: Errno, why: Why, name: &[u8]) -> Errno {
        self.tell(|walker| What::Refused { errno, why, node: walker.cur.clone(), name: name.into() });
        errno
    }

    /// Walks to the end of the path. The result exists, and is a directory where it has to be.
    ///
    /// The mount in which the walk ends counts as used, and does not expire; one that it passes
    /// through does not. A walk that only looks uses none, unless it fails. Source: Linux, where a
    /// mount's mark is cleared when a place on it is given back (`mntput`), which the lock-free
    /// walk does not take.
    pub(crate) fn run(self) -> Result<PinnedPlace<'a>, Errno> {
        self.run_to_read().map(|(place, _)| place)
    }

    /// Does the same as [`run`](Self::run), and returns what the last lookup brought.
    pub(crate) fn run_to_read(mut self) -> Result<(PinnedPlace<'a>, Option<Early>), Errno> {
        let (world, looks_only) = (self.env.world, self.env.looks_only());
        let end = self.run_to_end();
        match &end {
            Ok(place) if !looks_only => world.mounts.used(place.mount.id()),
            Ok(_) => {}
            Err(_) => world.mounts.used(self.cur.mount.id()),
        }
        end.map(|place| (place, self.early))
    }

    fn run_to_end(&mut self) -> Result<PinnedPlace<'a>, Errno> {
        loop {
            let text = self.texts.last().expect("a walk has a text until it ends");
            let (component, ending) = (text.peek(), text.ending());
            let is_link = self.cur_is(flags::LINK);
            let is_last = component.is_none() && self.texts.len() == 1;
            let stays = is_last && self.follow == Follow::Not && ending == Ending::Nothing;
            match component {
                _ if is_link && !stays => self.enter(is_last)?,
                Some((start, end)) => self.step(start, end)?,
                None if is_last => return self.arrive(ending),
                None => _ = self.texts.pop(),
            }
        }
    }

    /// Walks to the last component of the path and stops before it, in a directory that may be
    /// searched. For an open that may create.
    pub(crate) fn up_to_last(&mut self) -> Result<LastOf, Errno> {
        loop {
            let text = self.texts.last().expect("a walk has a text until it ends");
            let (component, ending) = (text.peek(), text.ending());
            let is_innermost = self.texts.len() == 1;
            match component {
                _ if self.cur_is(flags::LINK) => self.enter(false)?,
                Some((start, end)) => {
                    let text = self.texts.last().expect("there is one");
                    let is_last = is_innermost && text.bytes[end..].iter().all(|byte| *byte == b'/');
                    if !is_last {
                        self.step(start, end)?;
                        continue;
                    }
                    let name = text.bytes[start..end].into();
                    self.searchable(&text.bytes[start..end])?;
                    self.within()?;
                    self.texts[0].pos = end;
                    return Ok(LastOf::Name(name, ending));
                }
                None if is_innermost => return Ok(LastOf::Nothing),
                None => _ = self.texts.pop(),
            }
        }
    }

    /// Walks in the caches alone, to the last component, and stops before it or before a component
    /// that the caches do not lead through. Returns the place and the component; the place is no
    /// directory if the walk cannot go on because of that. Rights are not checked.
    pub(crate) fn in_the_caches(mut self) -> (PinnedPlace<'a>, Option<Box<[u8]>>) {
        self.trust = Trust::CacheOnly;
        let name = match self.up_to_last() {
            Ok(LastOf::Name(name, _)) => Some(name),
            Ok(LastOf::Nothing) => None,
            Err(_) => self.texts.last().and_then(Text::previous),
        };
        (self.cur, name)
    }

    /// Returns the directory that the walk is in.
    pub(crate) fn here(&self) -> &PinnedPlace<'a> {
        &self.cur
    }

    /// Goes on through a link that was found as the last component.
    pub(crate) fn through(&mut self, link: PinnedPlace<'a>) -> Result<(), Errno> {
        self.dir = std::mem::replace(&mut self.cur, link);
        self.enter(true)
    }

    /// Checks whether the walk is in a directory in which the asker may look for `name`.
    fn searchable(&self, name: &[u8]) -> Result<(), Errno> {
        if !self.cur_is(flags::DIRECTORY) {
            return Err(self.refused(Errno::ENOTDIR, Why::NotADirectory, name));
        }
        if self.trust == Trust::CacheOnly {
            return Ok(());
        }
        hooked::may_search(&self.env, self.cur.place()).map_err(|why| {
            let reason = if matches!(why, NoSearch::Hook(_)) { Why::SecurityHook } else { Why::Search };
            self.refused(why.errno(), reason, name)
        })
    }

    fn arrive(&self, ending: Ending) -> Result<PinnedPlace<'a>, Errno> {
        if ending == Ending::Slash && !self.cur_is(flags::DIRECTORY) {
            return Err(self.refused(Errno::ENOTDIR, Why::NotADirectory, b""));
        }
        self.within()?;
        Ok(self.cur.clone())
    }

    /// Checks whether the walk is where it may end.
    fn within(&self) -> Result<(), Errno> {
        let Some(scope) = &self.env.scope else { return Ok(()) };
        let may = scope.holds(pinned(&self.cur), Look::AtLast(self.env.world));
        may.map_err(|refused| self.refused(refused.errno(), Why::Scope, b""))
    }

    fn cur_is(&self, flag: u64) -> bool {
        self.env.caches().dentries.word(self.cur.id()) & flag != 0
    }

    /// Takes one component, which lies at these positions of the current text.
    fn step(&mut self, start: usize, end: usize) -> Result<(), Errno> {
        let caches = self.env.caches();
        let text = self.texts.last_mut().expect("a component lies in a text");
        text.pos = end;
        // Nothing follows in any text.
        let is_last = self.early.is_some() && self.texts.iter().all(|text| text.peek().is_none());
        let name = &self.texts.last().expect("it still does").bytes[start..end];
        self.searchable(name)?;
        match name {
            b"." => self.tell(|_| What::Dot),
            b".." => {
                let from = self.cur.place();
                if let Some(above) = self.env.world.above(&self.cur, self.env.root()) {
                    self.go_to_mount(&above, b"..")?;
                    if !self.env.world.is_shown_at_last(above.place()) {
                        return Err(self.refused(Errno::ENOENT, Why::Lookup, b".."));
                    }
                    self.cur = above;
                    self.dir = self.cur.clone();
                }
                if let Some(scope) = &self.env.scope {
                    let may = scope.after_dot_dot(from, pinned(&self.cur), Look::AtLast(self.env.world));
                    may.map_err(|refused| self.refused(refused.errno(), Why::Scope, b".."))?;
                    self.knows_root = true;
                }
                self.tell(|walker| What::Up(walker.cur.clone()));
                self.cross(b"..")?;
            }
            name => {
                let early = self.early.as_mut().filter(|_| is_last);
                let child = self.env.trees().child_to_read(self.cur.id(), name, self.trust, early);
                self.env.world.unmount_dropped();
                let child = child.map_err(|errno| self.refused(errno, Why::Lookup, name))?;
                let is_absent = caches.dentries.word(child.id()) & flags::NEGATIVE != 0;
                self.tell(|walker| {
                    let name = name.into();
                    if is_absent {
                        What::Absent { name, dir: walker.cur.clone() }
                    } else {
                        What::Name { name, node: walker.cur.with(child.clone()) }
                    }
                });
                if is_absent {
                    return Err(Errno::ENOENT);
                }
                let child = self.cur.with(child);
                self.dir = std::mem::replace(&mut self.cur, child);
                let name = Box::<[u8]>::from(name);
                self.cross(&name)?;
            }
        }
        Ok(())
    }

    /// Goes on to the root of the topmost mount on the place that the walk reached by this name. If
    /// that root is a link, it is followed from the directory where it is mounted.
    fn cross(&mut self, name: &[u8]) -> Result<(), Errno> {
        while let Some(root) = cross::next_down(&self.env, &self.cur).map_err(|errno| self.refused(errno, Why::Scope, name))? {
            self.tell(|_| What::Mount(root.clone()));
            self.cur = root;
        }
        Ok(())
    }

    /// Checks whether the walk may go to a place; `EXDEV` in another mount, where that is
    /// forbidden.
    fn go_to_mount(&self, to: &PinnedPlace<'_>, name: &[u8]) -> Result<(), Errno> {
        let forbids = self.env.scope.is_some_and(|scope| scope.has(Resolve::NO_XDEV));
        if forbids && to.mount.id() != self.cur.mount.id() {
            return Err(self.refused(Errno::EXDEV, Why::Scope, name));
        }
        Ok(())
    }

    /// Returns whether the link at which the walk is must not be followed at the end of a path.
    fn is_at_protected_link(&self) -> Result<bool, Errno> {
        let inode = |of: &PinnedPlace<'_>| self.env.caches().dentries.inode(of.id());
        let snapshot = |of| match self.trust {
            Trust::CacheOnly => Ok(Snapshot::of_pinned(self.env.caches(), inode(of))),
            _ => self.env.trees().known_snapshot(inode(of)),
        };
        let (of_link, of_dir) = (snapshot(&self.cur)?, snapshot(&self.dir)?);
        Ok(is_protected(&self.env.who_in(self.cur.mount.id()), &of_link, &of_dir))
    }

    /// Enters the link at which the walk is. With `is_last`, nothing follows the link in any text.
    fn enter(&mut self, is_last: bool) -> Result<(), Errno> {
        let world = self.env.world;
        let of_mount = world.mounts.switches(self.cur.mount.id());
        if self.links == MAX_LINKS {
            return Err(self.refused(Errno::ELOOP, Why::TooManyLinks, b""));
        }
        self.links += 1;
        if is_last && self.follow != Follow::OnTheWay && world.protects_symlinks() && self.is_at_protected_link()? {
            return Err(self.refused(Errno::EACCES, Why::ProtectedLink, b""));
        }
        let forbids = |flag| self.env.scope.is_some_and(|scope| scope.has(flag));
        if forbids(Resolve::NO_SYMLINKS) || of_mount.contains(MountFlags::NOSYMFOLLOW) {
            return Err(self.refused(Errno::ELOOP, Why::NoLinks, b""));
        }
        if self.trust != Trust::CacheOnly {
            world.accessed(self.cur.place());
        }
        let body = self.env.trees().link_body(self.cur.id(), self.trust).map_err(|errno| self.refused(errno, Why::Body, b""))?;
        let to_unknown = forbids(Resolve::NO_XDEV) && !self.knows_root;
        if body.first() == Some(&b'/') && (forbids(Resolve::BENEATH) || to_unknown) {
            return Err(self.refused(Errno::EXDEV, Why::Scope, b""));
        }
        let is_absolute = body.first() == Some(&b'/');
        let from = if is_absolute { PinnedPlace::again(world, self.env.root()) } else { self.dir.clone() };
        // Linux: `nd_jump_root`.
        if is_absolute {
            self.go_to_mount(&from, b"")?;
        }
        self.tell(|_| What::Link { body: (&body[..]).into(), from: from.clone() });
        let depth = self.texts.last().map_or(0, |text| text.depth) + 1;
        // A text that has ended is not returned to. What followed it also follows the body.
        let over = self.texts.pop_if(|text| text.peek().is_none());
        // An empty body leads nowhere: the walk goes on in the link's directory.
        let behind = over.map_or(Ending::Nothing, |text| text.ending());
        self.texts.push(Text { depth, ..Text::new(body.into(), 0, behind) });
        self.dir = from.clone();
        self.cur = from;
        Ok(())
    }
}

/// Returns a place together with its mount's standing, as pinned.
fn pinned(place: &PinnedPlace<'_>) -> (Place, Standing) {
    (place.place(), Standing::pinned(place.mount.id()))
}
