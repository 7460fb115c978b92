//! A node: what a file system says is behind a name, and what is asked of it that is to be changed.
//!
//! Values only: no cache and no file system is asked here.

mod change;

use crate::attr::{AclState, Attributes, FileType};

pub use change::{NewKind, NewNode, RenameFlags, SetAttributes};

/// What tells one node of a file system from another, for as long as the file system runs: 128 bits, so that
/// (mount, device, inode number) or (inode number, generation) fit without folding.
///
/// Two names with equal keys are two links to one inode. A directory's key is found under one name only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct NodeKey(pub u128);

/// Who decides whether somebody may read, write or search a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PermissionRule {
    /// Mode bits and ACL, as `path_resolution(7)` has it. A directory that everyone may search costs one compare.
    #[default]
    Generic,
    /// [`FileSystem::permission`](crate::FileSystem::permission) is asked about everything; each asking leaves the
    /// lock-free walk.
    Own,
    /// As `Own`, but with the promise that wherever the generic rule lets *everyone* search a directory, so does the
    /// hook. Such directories are passed without asking, as long as their ACL is known to be absent: set
    /// [`AclState::Absent`] in their attributes.
    OwnButGenericSearch,
}

/// Whether a cached answer stays true until the file system or a change through the `Vfs` says otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Freshness {
    /// It does.
    #[default]
    Stable,
    /// It may not: [`FileSystem::revalidate`](crate::FileSystem::revalidate) is asked before each use, outside the
    /// lock-free walk.
    AskEachTime,
}

/// What [`FileSystem::revalidate`](crate::FileSystem::revalidate) found of a cached entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Validity {
    /// Still true.
    Valid,
    /// Not any more: the entry is dropped and the name looked up again.
    Invalid,
}

/// What is behind a name.
///
/// Every `Node` that is handed to the engine is matched by exactly one
/// [`FileSystem::forget`](crate::FileSystem::forget) of its key, so that a file system that counts what it handed out
/// knows when nobody can ask about a node any more.
#[derive(Clone, Debug)]
pub struct Node {
    /// Which node it is.
    pub key: NodeKey,
    /// Its attributes. If the inode is cached already, the cached ones stay: they may be newer.
    pub attributes: Attributes,
    /// Who checks permissions.
    pub rule: PermissionRule,
    /// Whether the name that led here needs to be asked about before each use.
    pub freshness: Freshness,
    /// The body of a link, whole, 1 to 4095 bytes without a NUL; its length is taken from here and not from
    /// `attributes.size`. If it finds no room in the cache, the name is looked up again for it when the link is read.
    /// `None`: [`FileSystem::read_link`](crate::FileSystem::read_link) is asked each time.
    pub link_body: Option<Box<[u8]>>,
}

impl Node {
    /// A node under the generic permission rule whose name is stable, with no link body.
    pub fn new(key: NodeKey, attributes: Attributes) -> Node {
        Node { key, attributes, rule: PermissionRule::Generic, freshness: Freshness::Stable, link_body: None }
    }

    /// A symbolic link with its body, mode 0777, size as long as the body.
    pub fn symlink(key: NodeKey, body: impl Into<Box<[u8]>>) -> Node {
        let body = body.into();
        let mut attributes = Attributes::new(FileType::Symlink, 0o777);
        attributes.size = body.len() as u64;
        Node { link_body: Some(body), ..Node::new(key, attributes) }
    }

    /// The same with another permission rule.
    #[must_use]
    pub fn with_rule(mut self, rule: PermissionRule) -> Node {
        self.rule = rule;
        self
    }

    /// The same with another freshness.
    #[must_use]
    pub fn with_freshness(mut self, freshness: Freshness) -> Node {
        self.freshness = freshness;
        self
    }

    /// The same with another state of the ACL.
    #[must_use]
    pub fn with_acl(mut self, acl: AclState) -> Node {
        self.attributes.acl = acl;
        self
    }
}
