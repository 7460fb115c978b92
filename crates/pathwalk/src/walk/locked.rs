//! The locked walk (Linux: ref-walk): the same steps as the fast one, holding pins and asking the file system.
//!
//! It holds two pins, on where it is and on the directory that led there, and no lock between steps. It is run when the fast one has handed over,
//! so it may allocate: bodies of links are copied when they are entered.

use std::borrow::Cow;

use super::last::Ending;
use super::may::Snapshot;
use super::miss::Trust;
use super::steps::{Teller, What, Why, handle};
use super::symlink::is_protected;
use super::{Env, Follow};
use crate::Errno;
use crate::dcache::dentry::{DentryId, flags};
use crate::fs_api::{Directory, Name, NodeKey};
use crate::icache::inode;
use crate::limits::MAX_LINKS;
use crate::memory::dir_lock;
use crate::mount::MountFlags;
use crate::permission::Access;
use crate::vfs::Pinned;

/// A path or a link's body, and where the next component starts.
pub(crate) struct Text<'a> {
    bytes: Cow<'a, [u8]>,
    pos: usize,
    /// What stands behind the last component, outside this text.
    behind: Ending,
    /// In how many links' bodies it stands; only for telling.
    depth: usize,
}

impl<'a> Text<'a> {
    pub(crate) fn new(bytes: Cow<'a, [u8]>, pos: usize, behind: Ending) -> Self {
        Text { bytes, pos, behind, depth: 0 }
    }

    /// The next component, and where it ends; `None` if only slashes are left.
    fn peek(&self) -> Option<(usize, usize)> {
        let start = self.pos + self.bytes.get(self.pos..)?.iter().position(|byte| *byte != b'/')?;
        let length = self.bytes[start..].iter().position(|byte| *byte == b'/');
        Some((start, length.map_or(self.bytes.len(), |length| start + length)))
    }

    /// The next component.
    pub(crate) fn next(&self) -> Option<&[u8]> {
        self.peek().map(|(start, end)| &self.bytes[start..end])
    }

    fn ending(&self) -> Ending {
        if self.bytes.last() == Some(&b'/') { Ending::Slash } else { self.behind }
    }
}

/// What [`Walker::up_to_last`] stopped at.
pub(crate) enum LastOf {
    /// A name, perhaps `.` or `..`, and what is behind it.
    Name(Box<[u8]>, Ending),
    /// There is no last component: the walk is at the root, or where a link without a body leads.
    Nothing,
}

/// A locked walk under way.
pub(crate) struct Walker<'a> {
    env: Env<'a>,
    /// Outermost first; the last is the current one.
    texts: Vec<Text<'a>>,
    links: usize,
    cur: Pinned<'a>,
    /// The directory in which `cur` was found.
    dir: Pinned<'a>,
    follow: Follow,
    trust: Trust,
    teller: Teller<'a>,
}

impl<'a> Walker<'a> {
    /// From the beginning; somebody has a pin on `start`.
    pub(crate) fn start(env: &Env<'a>, path: &'a [u8], start: DentryId, follow: Follow) -> Self {
        Walker::resume(env, Pinned::again(env.core, start), vec![Text::new(path.into(), 0, Ending::Nothing)], 0, follow)
    }

    /// From a place that the fast walk got to.
    pub(crate) fn resume(env: &Env<'a>, cur: Pinned<'a>, texts: Vec<Text<'a>>, links: usize, follow: Follow) -> Self {
        let dir = cur.clone();
        Walker { env: *env, texts, links, cur, dir, follow, trust: Trust::Cache, teller: Teller::SILENT }
    }

    /// The same, asking about every entry on the way whether it still holds.
    pub(crate) fn distrusting(mut self) -> Self {
        self.trust = Trust::AskAlways;
        self
    }

    /// The same, telling its steps.
    pub(crate) fn telling(mut self, teller: Teller<'a>) -> Self {
        self.teller = teller;
        self.tell(|walker| What::Start(handle(&walker.env, &walker.cur)));
        self
    }

    fn tell(&self, what: impl FnOnce(&Self) -> What) {
        self.teller.tell(self.texts.last().map_or(0, |text| text.depth), || what(self));
    }

    /// The walk ends, at the node where it is.
    #[cold]
    fn refused(&self, errno: Errno, why: Why, name: &[u8]) -> Errno {
        self.tell(|walker| What::Refused { errno, why, node: handle(&walker.env, &walker.cur), name: name.into() });
        errno
    }

    /// Walks to the end of everything. What is returned is there, and is a directory where it has to be.
    pub(crate) fn run(mut self) -> Result<Pinned<'a>, Errno> {
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

    /// Walks to the last component of everything and stops before it, in a directory that may be searched. For an open that may create.
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
                    self.texts[0].pos = end;
                    return Ok(LastOf::Name(name, ending));
                }
                None if is_innermost => return Ok(LastOf::Nothing),
                None => _ = self.texts.pop(),
            }
        }
    }

    /// The directory that the walk is in.
    pub(crate) fn dir(&self) -> DentryId {
        self.cur.id()
    }

    /// Goes on through a link that was found as the last component.
    pub(crate) fn through(&mut self, link: Pinned<'a>) -> Result<(), Errno> {
        self.dir = std::mem::replace(&mut self.cur, link);
        self.enter(true)
    }

    /// Whether the walk is in a directory in which the asker may look for `name`.
    fn searchable(&self, name: &[u8]) -> Result<(), Errno> {
        if !self.cur_is(flags::DIRECTORY) {
            return Err(self.refused(Errno::ENOTDIR, Why::NotADirectory, name));
        }
        let core = self.env.core;
        let may = core.may(core.dentries.inode(self.cur.id()), &self.env.who(), Access::EXECUTE);
        may.map_err(|errno| self.refused(errno, Why::Search, name))
    }

    fn arrive(self, ending: Ending) -> Result<Pinned<'a>, Errno> {
        if ending == Ending::Slash && !self.cur_is(flags::DIRECTORY) {
            return Err(self.refused(Errno::ENOTDIR, Why::NotADirectory, b""));
        }
        Ok(self.cur)
    }

    fn cur_is(&self, flag: u64) -> bool {
        self.env.core.dentries.word(self.cur.id()) & flag != 0
    }

    /// Takes one component, which lies at these positions of the current text.
    fn step(&mut self, start: usize, end: usize) -> Result<(), Errno> {
        let core = self.env.core;
        let text = self.texts.last_mut().expect("a component lies in a text");
        text.pos = end;
        let name = &self.texts.last().expect("it still does").bytes[start..end];
        self.searchable(name)?;
        match name {
            b"." => self.tell(|_| What::Dot),
            b".." => {
                if self.cur.id() != self.env.root() {
                    self.cur = Pinned::new(core, core.pin_parent(self.cur.id()));
                    self.dir = self.cur.clone();
                }
                self.tell(|walker| What::Up(handle(&walker.env, &walker.cur)));
            }
            name => {
                let child =
                    core.child(self.cur.id(), name, self.trust).map_err(|errno| self.refused(errno, Why::Lookup, name))?;
                let is_absent = core.dentries.word(child.id()) & flags::NEGATIVE != 0;
                self.tell(|walker| {
                    let name = name.into();
                    if is_absent {
                        What::Absent { name, dir: handle(&walker.env, &walker.cur) }
                    } else {
                        What::Name { name, node: handle(&walker.env, &child) }
                    }
                });
                if is_absent {
                    return Err(Errno::ENOENT);
                }
                self.dir = std::mem::replace(&mut self.cur, child);
            }
        }
        Ok(())
    }

    /// Enters the link at which the walk is; `is_last`: nothing stands behind it in any text.
    fn enter(&mut self, is_last: bool) -> Result<(), Errno> {
        let core = self.env.core;
        if self.links == MAX_LINKS {
            return Err(self.refused(Errno::ELOOP, Why::TooManyLinks, b""));
        }
        self.links += 1;
        let snapshot = |of: &Pinned<'_>| Snapshot::of_pinned(core, core.dentries.inode(of.id()));
        if is_last
            && self.follow != Follow::OnTheWay
            && core.protects_symlinks()
            && is_protected(self.env.who().uid(), &snapshot(&self.cur), &snapshot(&self.dir))
        {
            return Err(self.refused(Errno::EACCES, Why::ProtectedLink, b""));
        }
        if core.mount.contains(MountFlags::NOSYMFOLLOW) {
            return Err(self.refused(Errno::ELOOP, Why::NoLinks, b""));
        }
        let body = core.link_body(self.cur.id()).map_err(|errno| self.refused(errno, Why::Body, b""))?;
        let from = if body.first() == Some(&b'/') { Pinned::again(core, self.env.root()) } else { self.dir.clone() };
        self.tell(|walker| What::Link { body: (&body[..]).into(), from: handle(&walker.env, &from) });
        let depth = self.texts.last().map_or(0, |text| text.depth) + 1;
        // A text that is over is not gone back to; what stood behind it stands behind the body.
        let over = self.texts.pop_if(|text| text.peek().is_none());
        // An empty body is a jump to nowhere: the walk goes on in the link's directory.
        let behind = over.map_or(Ending::Nothing, |text| text.ending());
        self.texts.push(Text { depth, ..Text::new(body.into(), 0, behind) });
        self.dir = from.clone();
        self.cur = from;
        Ok(())
    }
}

impl crate::vfs::Core {
    /// The body of a link that the caller has a pin on, from the cache or the file system.
    pub(crate) fn link_body(&self, link: DentryId) -> Result<Vec<u8>, Errno> {
        let id = self.dentries.inode(link);
        let record = self.inodes.record(id);
        let flags = record[inode::WORD].load(crate::sync::Ordering::Relaxed);
        if flags & inode::flags::BODY != 0 {
            return Ok(self.copy_body(id));
        }
        let key = inode::key_of(record);
        let body =
            if flags & inode::flags::BODY_LEFT_OUT != 0 { self.look_up_body(link, key)? } else { self.fs.read_link(key)? };
        let fits = body.len() <= crate::limits::LINK_MAX && !body.contains(&0);
        if fits { Ok(body.into_vec()) } else { Err(Errno::EIO) }
    }

    /// The body that came with a node when its name was looked up, and found no room: the name is looked up again. If it does not lead
    /// here any more, the file system is asked as of a link that came without one.
    fn look_up_body(&self, link: DentryId, key: NodeKey) -> Result<Box<[u8]>, Errno> {
        loop {
            let dir = Pinned::new(self, self.pin_parent(link));
            let _names = dir_lock::shared(self.dentries.lock(dir.id()));
            if self.dentries.parent(link) != dir.id() {
                continue;
            }
            if self.dentries.word(link) & flags::UNHASHED != 0 {
                return self.fs.read_link(key);
            }
            let name = self.name_of(self.dentries.line(link));
            self.counters.fs_lookup();
            let Some(node) = self.fs.lookup(&Directory::new(self, dir.id()), Name::new(&name)?)? else {
                return self.fs.read_link(key);
            };
            self.fs.forget(node.key);
            return match node.link_body {
                Some(body) if node.key == key => Ok(body),
                _ => self.fs.read_link(key),
            };
        }
    }
}
