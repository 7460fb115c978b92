//! A node: what a file system says is behind a name, and the arguments of changes to it.
//!
//! These are values only: this module calls no cache and no file system.

mod change;
mod check;
mod inherit;

use bitflags::bitflags;

use crate::attr::{AclState, Attributes, FileType};

pub use change::{NewKind, NewNode, RenameFlags, SetAttributes, SetCause};
pub use inherit::Inherited;

/// The identity of a node within a file system, for as long as the file system runs. It has 128
/// bits, so that (mount, device, inode number) or (inode number, generation) fit without folding.
///
/// Two names with equal keys are two links to one inode. A directory's key is found under one name
/// only.
///
/// [`Node`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct NodeKey(pub u128);

/// The rule that decides whether a process may read, write or search a node.
///
/// [`Node`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum PermissionRule {
    /// Mode bits and ACL, as in `path_resolution(7)`. A directory that all users may search costs
    /// one compare.
    #[default]
    Generic,
    /// A rule of the file system's own: [`FileSystem::permission`](crate::FileSystem::permission)
    /// is called for every check. Each call leaves the lock-free walk.
    Own,
    /// As `Own`, but with a promise: wherever the generic rule lets *all users* search a directory,
    /// the hook does so too. A walk passes such directories without a call, as long as their ACL is
    /// known to be absent: set [`AclState::Absent`] in their attributes.
    OwnButGenericSearch,
}

/// The validity of a cached answer: whether it stays true until the file system, or a change
/// through the `Vfs`, says otherwise.
///
/// [`Node`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Freshness {
    /// The answer stays true.
    #[default]
    Stable,
    /// The answer may become false: [`FileSystem::revalidate`](crate::FileSystem::revalidate) is
    /// called before each use, outside the lock-free walk.
    AskEachTime,
}

bitflags! {
    /// The kinds of what is cached that a file system reports as out of date, for
    /// [`Notifier::invalidate_all_of`](crate::Notifier::invalidate_all_of), which has an example.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct Sweep: u8 {
        /// The names that lead to a node. The bodies of links stay.
        const NAMES = 1;
        /// The absences of names, and that all names of a directory are known.
        const ABSENCES = 2;
        /// The attributes of nodes: all that `statx` shows, rights, access control lists, extended
        /// attributes.
        const ATTRIBUTES = 4;
    }
}

/// The result of [`FileSystem::revalidate`](crate::FileSystem::revalidate) for a cached entry.
///
/// ```
/// use pathwalk::{Errno, NodeKey, Validity};
///
/// /// The end of `FileSystem::revalidate`: what the store has under the name now, and what is cached.
/// fn revalidated(now: Option<NodeKey>, cached: Option<NodeKey>) -> Result<Validity, Errno> {
///     Ok(if now == cached { Validity::Valid } else { Validity::Invalid })
/// }
/// assert_eq!(revalidated(None, Some(NodeKey(7))), Ok(Validity::Invalid));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Validity {
    /// The entry is still true.
    Valid,
    /// The entry is no longer true: it is dropped, and the name is looked up again.
    Invalid,
}

/// The node behind a name.
/// For every `Node` that is handed to the engine, the engine calls
/// [`FileSystem::forget`](crate::FileSystem::forget) with its key exactly once. So a file system
/// that counts the nodes it handed out can tell when the engine no longer calls it about a node.
///
/// ```
/// use pathwalk::{AclState, Attributes, FileType, Freshness, Node, NodeKey, PermissionRule};
/// let file = Node::new(NodeKey(2), Attributes::new(FileType::Regular, 0o644))
///     .with_acl(AclState::Absent) // promises that there is none
///     .with_rule(PermissionRule::Own) // `FileSystem::permission` is asked
///     .with_freshness(Freshness::AskEachTime); // `FileSystem::revalidate` is asked
/// assert_eq!(file.rule, PermissionRule::Own);
/// let link = Node::symlink(NodeKey(3), *b"../target");
/// assert_eq!((link.attributes.kind, link.attributes.size), (FileType::Symlink, 9));
/// assert_eq!(link.with_link_body(None).link_body, None, "the file system is asked for it");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Node {
    /// The identity of the node.
    pub key: NodeKey,
    /// The node's attributes. If the inode is cached already, the cached ones stay, since they may
    /// be newer.
    pub attributes: Attributes,
    /// The rule that checks permissions.
    pub rule: PermissionRule,
    /// The freshness of the name that led here: whether it has to be revalidated before each use.
    pub freshness: Freshness,
    /// The whole body of a link: 1 to 4095 bytes without a NUL. The length of the link is taken
    /// from here and not from `attributes.size`. If the body finds no room in the cache, the name
    /// is looked up again when the link is read. If this is `None`,
    /// [`FileSystem::read_link`](crate::FileSystem::read_link) is called each time.
    pub link_body: Option<Box<[u8]>>,
}

impl Node {
    /// Creates a node under the generic permission rule, with a stable name and no link body.
    #[inline]
    pub fn new(key: NodeKey, attributes: Attributes) -> Node {
        Node { key, attributes, rule: PermissionRule::Generic, freshness: Freshness::Stable, link_body: None }
    }

    /// Creates a symbolic link with this body and mode 0777. Its size is the length of the body.
    pub fn symlink(key: NodeKey, body: impl Into<Box<[u8]>>) -> Node {
        let body = body.into();
        let mut attributes = Attributes::new(FileType::Symlink, 0o777);
        attributes.size = body.len() as u64;
        Node { link_body: Some(body), ..Node::new(key, attributes) }
    }

    /// Returns the node with another permission rule.
    #[must_use]
    #[inline]
    pub fn with_rule(mut self, rule: PermissionRule) -> Node {
        self.rule = rule;
        self
    }

    /// Returns the node with another freshness.
    #[must_use]
    #[inline]
    pub fn with_freshness(mut self, freshness: Freshness) -> Node {
        self.freshness = freshness;
        self
    }

    /// Returns the node with another body of a link, or without one.
    #[must_use]
    #[inline]
    pub fn with_link_body(mut self, body: Option<Box<[u8]>>) -> Node {
        self.link_body = body;
        self
    }

    /// Returns the node with another state of the ACL.
    #[must_use]
    pub fn with_acl(mut self, acl: AclState) -> Node {
        self.attributes.acl = acl;
        self
    }
}
