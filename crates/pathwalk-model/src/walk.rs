//! The resolution of paths.
//!
//! 1. The path comes in (`import`): its length is checked, and whether it may be empty.
//! 2. The starting point is found: root, working directory or descriptor.
//! 3. All components but the last are walked, following every link (`through`).
//! 4. The last component is handled as the call requires: as a node (`lookup`), or as a directory
//!    with a name in it (`parent`).
//!
//! Source: `getname_flags`, `path_init`, `link_path_walk`, `walk_component`, `pick_link`,
//! `may_follow_link`, `handle_dots` of Linux.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::access::access;
use crate::errno::{Errno, Result};
use crate::flags::{Access, Capabilities};
use crate::node::{Id, ROOT, State};
use crate::permission::{STICKY, permission};
use crate::process::{Credentials, Process};
use crate::{AT_FDCWD, Call, Options};

/// The length of the longest path in bytes, without the NUL.
const LONGEST_PATH: usize = 4095;
/// The length of the longest name in bytes.
pub(crate) const LONGEST_NAME: usize = 255;
const MOST_LINKS: u32 = 40;

/// The meaning of an empty path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Empty {
    Refused,
    Start,
    /// The same as `Start`, for `linkat`, which accepts a descriptor only if its opener has the
    /// caller's credentials.
    StartOfLinkat,
}

/// The treatment of a link at the end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follow {
    Links,
    Not,
}

impl Follow {
    pub(crate) fn unless(not: bool) -> Follow {
        if not { Follow::Not } else { Follow::Links }
    }
}

/// The position of a link: at the end of the path or before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Middle,
    Trailing,
}

/// The last component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    /// No component: only slashes, or nothing.
    Root,
    Dot,
    DotDot,
    Name {
        name: Vec<u8>,
        /// A flag that is set if a slash follows the name.
        slash: bool,
    },
}

/// The directory and the name that a call makes, removes or moves.
pub(crate) struct Parent {
    pub(crate) directory: Id,
    pub(crate) last: Last,
}

/// A walk in progress.
pub(crate) struct Walk<'a> {
    state: &'a State,
    options: &'a Options,
    process: &'a Process,
    who: &'a Credentials,
    accessed: &'a RefCell<BTreeSet<Id>>,
    /// The current node.
    pub(crate) at: Id,
    pub(crate) last: Last,
    pub(crate) follow: Follow,
    pub(crate) must_be_directory: bool,
    /// The mode of the directory in which the last component was looked up last; likewise the owner
    /// below.
    pub(crate) directory_mode: u32,
    pub(crate) directory_uid: u32,
    links: u32,
}

/// Checks a path that comes in from the caller.
fn import(path: &[u8], empty: Empty) -> Result<()> {
    match path {
        _ if path.len() > LONGEST_PATH => Err(Errno::ENAMETOOLONG),
        _ if path.contains(&0) => Err(Errno::EINVAL),
        [] if empty == Empty::Refused => Err(Errno::ENOENT),
        _ => Ok(()),
    }
}

/// Checks the body of a new link, by the rules for paths.
pub(crate) fn import_link_body(body: &[u8]) -> Result<()> {
    import(body, Empty::Refused)
}

impl<'a> Call<'a> {
    /// Returns the node that a path leads to.
    pub(crate) fn lookup(&self, at: i32, path: &[u8], follow: Follow, empty: Empty) -> Result<Id> {
        self.lookup_as(self.who(), at, path, follow, empty)
    }

    pub(crate) fn lookup_as(&self, who: &Credentials, at: i32, path: &[u8], follow: Follow, empty: Empty) -> Result<Id> {
        self.walk(who, at, path, follow, empty)?.into_end(path)
    }

    /// Returns the directory that a path leads to.
    pub(crate) fn lookup_directory(&self, at: i32, path: &[u8], follow: Follow) -> Result<Id> {
        let mut walk = self.walk(self.who(), at, path, follow, Empty::Refused)?;
        walk.must_be_directory = true;
        walk.into_end(path)
    }

    /// Returns the directory of a path's last component. A link there is not followed.
    pub(crate) fn parent(&self, at: i32, path: &[u8]) -> Result<Parent> {
        let mut walk = self.walk(self.who(), at, path, Follow::Not, Empty::Refused)?;
        walk.through(path)?;
        Ok(Parent { directory: walk.at, last: walk.last })
    }

    /// Returns a walk at its starting point.
    pub(crate) fn walk<'w>(
        &'w self,
        who: &'w Credentials,
        at: i32,
        path: &[u8],
        follow: Follow,
        empty: Empty,
    ) -> Result<Walk<'w>> {
        import(path, empty)?;
        Ok(Walk {
            state: &self.state,
            options: self.options,
            process: self.process,
            who,
            accessed: &self.accessed,
            at: self.start(at, path, empty)?,
            last: Last::Root,
            follow,
            must_be_directory: false,
            directory_mode: 0,
            directory_uid: 0,
            links: 0,
        })
    }

    fn start(&self, at: i32, path: &[u8], empty: Empty) -> Result<Id> {
        if path.first() == Some(&b'/') {
            return Ok(self.process.root);
        }
        if at == AT_FDCWD {
            return Ok(self.process.cwd);
        }
        let file = self.state.open_file(self.process.open_file(at)?)?;
        if empty == Empty::StartOfLinkat
            && file.opener != self.process.credentials_id()
            && !self.who().has(Capabilities::DAC_READ_SEARCH)
        {
            return Err(Errno::ENOENT);
        }
        if !path.is_empty() && !self.state.node(file.node).is_directory() {
            return Err(Errno::ENOTDIR);
        }
        Ok(file.node)
    }

    pub(crate) fn who(&self) -> &Credentials {
        self.process.credentials()
    }
}

/// Returns the node that a name leads to. A removed directory has no names.
pub(crate) fn child(state: &State, directory: Id, name: &[u8]) -> Result<Option<Id>> {
    match () {
        () if state.node(directory).is_removed_directory() => Err(Errno::ENOENT),
        () if name.len() > LONGEST_NAME => Err(Errno::ENAMETOOLONG),
        () => Ok(state.child(directory, name)),
    }
}

impl<'a> Walk<'a> {
    fn into_end(mut self, path: &[u8]) -> Result<Id> {
        let mut text = path;
        loop {
            self.through(text)?;
            self.heed_slash();
            match self.enter_last()? {
                Some(body) => text = body,
                None => break,
            }
        }
        if self.must_be_directory && !self.state.node(self.at).is_directory() {
            return Err(Errno::ENOTDIR);
        }
        Ok(self.at)
    }

    /// Applies a slash at the end: the last component is followed, and must be a directory. The
    /// effect of a slash in one link's body lasts for the rest of the walk.
    pub(crate) fn heed_slash(&mut self) {
        if matches!(self.last, Last::Name { slash: true, .. }) {
            self.follow = Follow::Links;
            self.must_be_directory = true;
        }
    }

    /// Walks all components of a text but the last, which it leaves in `last`.
    pub(crate) fn through(&mut self, text: &[u8]) -> Result<()> {
        self.last = Last::Root;
        let mut rest = without_slashes(text);
        if rest.is_empty() {
            self.directory_mode = 0;
            return Ok(());
        }
        loop {
            let here = self.state.node(self.at);
            permission(here, self.who, Access::EXECUTE)?;
            let (name, after) = rest.split_at(rest.iter().position(|&byte| byte == b'/').unwrap_or(rest.len()));
            self.last = match name {
                b"." => Last::Dot,
                b".." => Last::DotDot,
                _ => Last::Name { name: name.to_vec(), slash: !after.is_empty() },
            };
            rest = without_slashes(after);
            if rest.is_empty() {
                (self.directory_mode, self.directory_uid) = (here.mode, here.uid);
                return Ok(());
            }
            while let Some(body) = self.enter(Place::Middle)? {
                self.through(body)?;
            }
            if !self.state.node(self.at).is_directory() {
                return Err(Errno::ENOTDIR);
            }
        }
    }

    /// Takes the last step of a text. If that is a link to be followed, returns its body, which is
    /// still to be walked.
    pub(crate) fn enter_last(&mut self) -> Result<Option<&'a [u8]>> {
        self.enter(Place::Trailing)
    }

    fn enter(&mut self, place: Place) -> Result<Option<&'a [u8]>> {
        match &self.last {
            Last::Root | Last::Dot => Ok(None),
            Last::DotDot => {
                self.up();
                Ok(None)
            }
            Last::Name { name, .. } => {
                let found = child(self.state, self.at, name)?.ok_or(Errno::ENOENT)?;
                self.enter_node(found, place)
            }
        }
    }

    fn enter_node(&mut self, found: Id, place: Place) -> Result<Option<&'a [u8]>> {
        match self.state.node(found).link_body() {
            Some(body) if place == Place::Middle || self.follow == Follow::Links => self.follow_link(found, body, place),
            _ => {
                self.at = found;
                Ok(None)
            }
        }
    }

    fn up(&mut self) {
        if self.at != self.process.root && self.at != ROOT {
            self.at = self.state.parent(self.at);
        }
    }

    fn follow_link(&mut self, link: Id, body: &'a [u8], place: Place) -> Result<Option<&'a [u8]>> {
        if self.links >= MOST_LINKS {
            return Err(Errno::ELOOP);
        }
        self.links += 1;
        if place == Place::Trailing && self.is_protected(link) {
            return Err(Errno::EACCES);
        }
        access(self.state, self.options, self.accessed, link);
        if body.first() == Some(&b'/') {
            self.at = self.process.root;
        }
        let rest = without_slashes(body);
        Ok((!rest.is_empty()).then_some(rest))
    }

    /// Returns whether `protected_symlinks` refuses a link: another user's link in a directory like
    /// `/tmp`.
    fn is_protected(&self, link: Id) -> bool {
        const LIKE_TMP: u32 = STICKY | 0o002;
        let owner = self.state.node(link).uid;
        self.options.protected_symlinks
            && self.who.fsuid != owner
            && self.directory_mode & LIKE_TMP == LIKE_TMP
            && self.directory_uid != owner
    }
}

fn without_slashes(text: &[u8]) -> &[u8] {
    &text[text.iter().take_while(|&&byte| byte == b'/').count()..]
}
