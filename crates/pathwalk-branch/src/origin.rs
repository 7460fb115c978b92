//! A node of the base as it was when a branch copied its attributes.
//!
//! As long as a branch is in memory, a handle keeps the node. A branch that was loaded from a store
//! knows how to find it again: by the handle of the base's file system where the rights allow it,
//! else by the path that it had when it was stored, through no link. What is found is the node if
//! its type, its number and its time of birth are the same; where there is no time of birth, also
//! its generation. Where times of birth may change (see [`Births`]), they are not compared. The
//! search is done when the node is first needed. What a commit onto the base is about to move is
//! stored with the path that it gets.
//!
//! What always holds: an origin is not changed once it was made, but for what is known of it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use pathwalk::{Attributes, ChangeCookie, Errno, FileHandle, FileType, Handle, InodeFlags};

use crate::base::{Base, stamp};
#[cfg(doc)]
use crate::births::Births;
use crate::branch::Way;
use crate::rows::{KeyBytes, Row};
use crate::stamp::Stamp;

/// A node of the base as it was when a branch copied its attributes.
pub(crate) struct Origin {
    node: OnceLock<Handle>,
    trace: Option<Trace>,
    /// The number of its row in the store; 0 if it has none.
    row: AtomicU64,
    pub(crate) attributes: Attributes,
    pub(crate) flags: InodeFlags,
    /// The number that each change moves, also within one tick of the clock; `None` if the base has
    /// none.
    pub(crate) cookie: Option<ChangeCookie>,
    /// The rows of its lists and extended attributes, in the order of their keys.
    pub(crate) extras: Vec<(KeyBytes, Row)>,
    /// The way by which it was found, if it was found by a name.
    pub(crate) way: Option<Arc<Way>>,
    /// The path by which it is found after a commit, where that takes away the one that it had.
    path_to_come: OnceLock<Box<[u8]>>,
}

/// What leads to a node of the base again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Trace {
    /// The handle of the base's file system, if it has any.
    pub(crate) handle: Option<FileHandle>,
    /// The path from the root of the base, without a slash at its beginning; `None` if it had none.
    pub(crate) path: Option<Box<[u8]>>,
    /// Known only where there is no time of birth.
    pub(crate) generation: Option<u32>,
}

impl PartialEq for Origin {
    fn eq(&self, other: &Origin) -> bool {
        let is_same_node = match (self.node.get(), other.node.get()) {
            (Some(one), Some(other)) => one.node_id() == other.node_id(),
            _ => identity(&self.attributes) == identity(&other.attributes),
        };
        let is_same = || is_same_node && stamp(&self.attributes) == stamp(&other.attributes) && self.cookie == other.cookie;
        std::ptr::eq(self, other) || is_same()
    }
}

impl std::fmt::Debug for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Origin").field(&self.attributes.ino).finish()
    }
}

/// Returns what tells nodes of one base apart that were not both looked for.
fn identity(attributes: &Attributes) -> impl PartialEq {
    (attributes.kind, attributes.ino, attributes.device, attributes.btime)
}

impl Origin {
    /// Creates the origin of a node that was found now, as far as an extent needs it.
    pub(crate) fn new(node: Handle, attributes: Attributes, cookie: Option<ChangeCookie>) -> Origin {
        Origin { node: OnceLock::from(node), ..Origin::of(attributes, cookie) }
    }

    /// Creates one that was stored in this row.
    pub(crate) fn stored(row: u64, trace: Trace, attributes: Attributes, cookie: Option<ChangeCookie>) -> Origin {
        Origin { trace: Some(trace), row: AtomicU64::new(row), ..Origin::of(attributes, cookie) }
    }

    /// Creates one of which nothing else is known.
    fn of(attributes: Attributes, cookie: Option<ChangeCookie>) -> Origin {
        Origin {
            node: OnceLock::new(),
            trace: None,
            row: AtomicU64::new(0),
            attributes,
            flags: InodeFlags::empty(),
            cookie,
            extras: Vec::new(),
            way: None,
            path_to_come: OnceLock::new(),
        }
    }

    /// Returns the stamp of the node as it was.
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp::of(&self.attributes, self.cookie)
    }

    /// Returns the number of its row in the store; 0 if it has none.
    pub(crate) fn row(&self) -> u64 {
        // Relaxed: a thread that reads 0 stores it once more, in another row.
        self.row.load(Relaxed)
    }

    /// Notes that it was stored in this row.
    pub(crate) fn set_row(&self, row: u64) {
        self.row.store(row, Relaxed);
    }

    /// Returns the node: `ESTALE` if the base has it no longer.
    pub(crate) fn handle(&self, base: &Base) -> Result<Handle, Errno> {
        if let Some(node) = self.node.get() {
            // The name by which it was found may have gone with the commit that has moved it.
            return match self.path_to_come.get() {
                Some(path) if base.path(node).is_none() => self.again(base, node, path),
                _ => Ok(node.clone()),
            };
        }
        let trace = self.trace.as_ref().ok_or(Errno::ESTALE)?;
        let found = self.find(base, trace)?;
        Ok(self.node.get_or_init(|| found).clone())
    }

    /// Returns the node if it was looked for before.
    pub(crate) fn known_handle(&self) -> Option<&Handle> {
        self.node.get()
    }

    /// Notes the path by which it is found after a commit, unless one was noted before.
    pub(crate) fn set_path_to_come(&self, path: Box<[u8]>) {
        _ = self.path_to_come.set(path);
    }

    /// Returns whether it has a name that neither its trace nor the caches lead to, as far as can
    /// be told: one without any may be among them.
    pub(crate) fn is_lost(&self, base: &Base) -> Result<bool, Errno> {
        if self.attributes.kind == FileType::Directory || self.attributes.nlink < 2 {
            return Ok(false);
        }
        match self.handle(base) {
            Err(Errno::ESTALE) => Ok(true),
            found => {
                let found = found?;
                Ok(base.path(&found).is_none() && found.attributes()?.nlink > 0)
            }
        }
    }

    /// Returns whether a node of the base is this one. One that was stored, and that its trace does
    /// not lead to, is recognized, since the base may have moved it.
    pub(crate) fn is_node(&self, base: &Base, node: &Handle) -> Result<bool, Errno> {
        match (self.handle(base), &self.trace) {
            (Err(Errno::ESTALE), Some(trace)) if self.is(base, node, trace)? => {
                Ok(self.node.get_or_init(|| node.clone()).node_id() == node.node_id())
            }
            // The base reused the number.
            (Err(Errno::ESTALE), _) => Ok(false),
            (found, _) => Ok(found?.node_id() == node.node_id()),
        }
    }

    fn find(&self, base: &Base, trace: &Trace) -> Result<Handle, Errno> {
        let by_handle = match trace.handle.as_ref().map(|handle| base.decode_handle(handle)) {
            Some(Ok(found)) if self.is(base, &found, trace)? => Some(found),
            // They do not say that the node is gone, which may have another path by now.
            Some(Err(errno @ (Errno::EIO | Errno::ENOMEM))) => return Err(errno),
            _ => None,
        };
        match by_handle {
            Some(found) if base.path(&found).is_some() => Ok(found),
            // The name by which the caches know it may be gone, while it has the one that it had.
            Some(found) => match self.find_by_path(base, trace) {
                Err(Errno::ESTALE) => Ok(found),
                by_path => by_path,
            },
            None => self.find_by_path(base, trace),
        }
    }

    /// Returns a node by the name that a path has for it, if it is there.
    fn again(&self, base: &Base, node: &Handle, path: &[u8]) -> Result<Handle, Errno> {
        match at(base, path) {
            Ok(found) if found.node_id() == node.node_id() => Ok(found),
            Err(errno @ (Errno::EIO | Errno::ENOMEM)) => Err(errno),
            _ => Ok(node.clone()),
        }
    }

    fn find_by_path(&self, base: &Base, trace: &Trace) -> Result<Handle, Errno> {
        let found = at(base, trace.path.as_deref().ok_or(Errno::ESTALE)?)?;
        if self.is(base, &found, trace)? { Ok(found) } else { Err(Errno::ESTALE) }
    }

    /// Returns whether a node is this one.
    fn is(&self, base: &Base, node: &Handle, trace: &Trace) -> Result<bool, Errno> {
        let (now, then) = (node.attributes()?, &self.attributes);
        // The numbers of devices may be others after a start of the system.
        let of = |attributes: &Attributes| (attributes.kind, attributes.ino, base.births().of(attributes));
        let is_same = of(&now) == of(then);
        let has_generation = |generation| base.generation(node).is_ok_and(|now| now == generation);
        Ok(is_same && trace.generation.is_none_or(has_generation))
    }

    /// Returns what leads to the node again, as it is now. A base that fails is an error, since a
    /// node without a trace is lost.
    pub(crate) fn trace(&self, base: &Base) -> Result<Trace, Errno> {
        Ok(match (self.node.get(), &self.trace) {
            (Some(node), _) => Trace {
                handle: match base.encode_handle(node) {
                    Err(errno @ (Errno::EIO | Errno::ENOMEM)) => return Err(errno),
                    handle => handle.ok(),
                },
                path: self.path_to_come.get().cloned().or_else(|| base.path(node)),
                generation: if self.attributes.btime.is_none() { base.generation(node).ok() } else { None },
            },
            (None, Some(trace)) => trace.clone(),
            (None, None) => Trace { handle: None, path: None, generation: None },
        })
    }
}

/// Returns the node at a path of the base, through no link: `ESTALE` if there is none.
fn at(base: &Base, path: &[u8]) -> Result<Handle, Errno> {
    let mut found = base.root().clone();
    for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        if found.kind() != FileType::Directory {
            return Err(Errno::ESTALE);
        }
        found = base.lookup(&found, name)?.ok_or(Errno::ESTALE)?;
    }
    Ok(found)
}
