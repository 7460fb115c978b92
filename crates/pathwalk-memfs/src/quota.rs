//! Quotas and projects: the limits of what one user, group or project stores, and the calls that
//! set and read them.

use std::time::Duration;

use pathwalk::{Errno, NodeKey, Timestamp};

use crate::MemFs;

/// The time for which a soft limit may be exceeded, unless the options give another: `MAX_DQ_TIME`
/// of Linux.
pub(crate) const GRACE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The kind of owner that a quota is for, as the types of `quotactl(2)`.
///
/// [`MemFs::set_quota`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum QuotaKind {
    /// The user that owns a node.
    User,
    /// The group that owns a node.
    Group,
    /// The project of a node: see [`Project`].
    Project,
}

/// The limits of one user, group or project; `None` for no limit.
///
/// [`MemFs::set_quota`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub struct QuotaLimits {
    /// The number of bytes that are never exceeded. Data counts in pages of 4096 bytes.
    pub bytes: Option<u64>,
    /// The number of bytes that may be exceeded for the grace time.
    pub soft_bytes: Option<u64>,
    /// The number of nodes that is never exceeded.
    pub nodes: Option<u64>,
    /// The number of nodes that may be exceeded for the grace time.
    pub soft_nodes: Option<u64>,
}

impl QuotaLimits {
    /// Sets the hard limit of bytes.
    ///
    /// [`MemFs::set_quota`] has an example.
    #[must_use]
    pub fn with_bytes(mut self, bytes: u64) -> QuotaLimits {
        self.bytes = Some(bytes);
        self
    }

    /// Sets the soft limit of bytes.
    ///
    /// [`QuotaUsage`] has an example.
    #[must_use]
    pub fn with_soft_bytes(mut self, bytes: u64) -> QuotaLimits {
        self.soft_bytes = Some(bytes);
        self
    }

    /// Sets the hard limit of nodes.
    ///
    /// [`MemFs::set_quota`] has an example.
    #[must_use]
    pub fn with_nodes(mut self, nodes: u64) -> QuotaLimits {
        self.nodes = Some(nodes);
        self
    }

    /// Sets the soft limit of nodes.
    ///
    /// [`QuotaUsage`] has an example.
    #[must_use]
    pub fn with_soft_nodes(mut self, nodes: u64) -> QuotaLimits {
        self.soft_nodes = Some(nodes);
        self
    }
}

/// The amounts that one user, group or project uses, with its limits.
///
/// ```
/// use pathwalk::{Errno, Timestamp};
/// use pathwalk_memfs::{MemFs, Options, QuotaKind, QuotaLimits};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicI64, Ordering};
/// use std::time::Duration;
///
/// let clock = Arc::new(AtomicI64::new(1000));
/// let read = clock.clone();
/// let options = Options::default()
///     .quota(QuotaKind::User)
///     .quota_grace(Duration::from_secs(60))
///     .clock(move || Timestamp { seconds: read.load(Ordering::Relaxed), nanoseconds: 0 });
/// let fs = MemFs::with(options);
/// fs.file("/file", 0o644)?;
/// fs.chown("/file", 7, 7)?;
/// fs.set_quota(QuotaKind::User, 7, QuotaLimits::default().with_soft_bytes(4096).with_soft_nodes(10))?;
///
/// // A soft limit may be exceeded, but not for long.
/// fs.write("/file", 0, &[1; 8192])?;
/// let usage = fs.quota(QuotaKind::User, 7)?;
/// assert_eq!((usage.bytes, usage.nodes), (8192, 1));
/// assert_eq!(usage.bytes_until, Some(Timestamp { seconds: 1060, nanoseconds: 0 }));
/// clock.store(1060, Ordering::Relaxed);
/// assert_eq!(fs.write("/file", 8192, b"more").unwrap_err().errno(), Errno::EDQUOT);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub struct QuotaUsage {
    /// The number of bytes in use: all pages of the owner's files and long link bodies. Pages that
    /// files share count for each of them.
    pub bytes: u64,
    /// The number of nodes in use. Further names of a node do not count.
    pub nodes: u64,
    /// The limits.
    pub limits: QuotaLimits,
    /// The time from which the soft limit of bytes is a hard one; `None` if it is not exceeded.
    pub bytes_until: Option<Timestamp>,
    /// The time from which the soft limit of nodes is a hard one; `None` if it is not exceeded.
    pub nodes_until: Option<Timestamp>,
}

/// The project of a node: a number by which trees are counted, whatever user owns the nodes.
///
/// Other names that would bring a node of another project into a directory of a project with
/// [`ProjectScope::NewNodes`] are refused, by `link` and `rename`, with `EXDEV`, as on ext4.
///
/// ```
/// use pathwalk::{Credentials, Errno, Vfs};
/// use pathwalk_memfs::{MemFs, Options, Project, ProjectScope, QuotaKind, QuotaLimits};
/// let fs = MemFs::with(Options::default().quota(QuotaKind::Project));
/// fs.mkdir("/tenant", 0o777)?;
/// let project = Project { id: 5, scope: ProjectScope::NewNodes };
/// fs.set_project("/tenant", project)?;
/// fs.set_quota(QuotaKind::Project, 5, QuotaLimits::default().with_bytes(1 << 20))?;
/// let (behind, context) = (fs.alias(), Vfs::builder().build(fs)?.context(Credentials::root()));
///
/// context.write("/tenant/file", [0; 100])?;
/// assert_eq!(behind.project("/tenant/file")?, Project { id: 5, scope: ProjectScope::Node });
/// assert_eq!(behind.quota(QuotaKind::Project, 5)?.nodes, 2);
/// assert_eq!(context.statfs("/tenant")?.blocks, 256, "the project's limit, in blocks of 4096 bytes");
/// context.write("/outside", "")?;
/// assert_eq!(context.rename("/outside", "/tenant/inside").unwrap_err().errno(), Errno::EXDEV);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Project {
    /// The number of the project; 0 for nodes of none.
    pub id: u32,
    /// The nodes that the project is for.
    pub scope: ProjectScope,
}

/// The nodes that a [`Project`] is for.
///
/// [`Project`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ProjectScope {
    /// The node alone.
    #[default]
    Node,
    /// A directory, and what is created in it from then on: `FS_XFLAG_PROJINHERIT` of Linux.
    NewNodes,
}

/// # Quotas
///
/// They limit what is stored by owner, on a file system whose options have
/// [`Options::quota`](crate::Options::quota). They are for all users, root included: the file
/// system does not see capabilities. An unlinked node counts as long as it is held.
///
/// A limit of the whole file system is checked first (`ENOSPC`), and then the limits of user, group
/// and project (`EDQUOT`). A write that finds room for a part writes this part.
impl MemFs {
    /// Sets the limits of a user, group or project, and replaces those it had. A usage beyond the
    /// new limits stays; the grace time of an exceeded soft limit begins anew.
    ///
    /// `ESRCH` if the file system does not count this kind. Cost: a lock. Does not block. Source:
    /// `Q_SETQUOTA` of `quotactl(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, Vfs};
    /// use pathwalk_memfs::{MemFs, Options, QuotaKind, QuotaLimits};
    /// let fs = MemFs::with(Options::default().quota(QuotaKind::User).quota(QuotaKind::Group));
    /// fs.chmod("/", 0o777)?;
    /// fs.set_quota(QuotaKind::User, 1000, QuotaLimits::default().with_bytes(8192).with_nodes(1))?;
    /// let behind = fs.alias();
    /// let context = Vfs::builder().build(fs)?.context(Credentials::user(1000, 1000, &[]));
    /// context.write("/file", [1; 8192])?;
    /// assert_eq!(context.write("/other", "").unwrap_err().errno(), Errno::EDQUOT);
    /// assert_eq!(context.write("/file", [1; 8193]).unwrap_err().errno(), Errno::EDQUOT);
    /// assert_eq!(behind.quota(QuotaKind::User, 1000)?.bytes, 8192);
    /// assert_eq!(behind.quotas(QuotaKind::Group)?.len(), 2);
    /// assert_eq!(behind.quota(QuotaKind::Project, 0), Err(Errno::ESRCH));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_quota(&self, kind: QuotaKind, id: u32, limits: QuotaLimits) -> Result<(), Errno> {
        self.0.set_quota(kind, id, limits)
    }

    /// Returns what a user, group or project uses, and its limits. `ESRCH` if the file system does
    /// not count this kind. Cost: a lock. Source: `Q_GETQUOTA` of `quotactl(2)`.
    ///
    /// [`set_quota`](Self::set_quota) has an example.
    pub fn quota(&self, kind: QuotaKind, id: u32) -> Result<QuotaUsage, Errno> {
        self.0.quota(kind, id)
    }

    /// Returns the numbers of all that have nodes or limits, with their usage, in order. `ESRCH` if
    /// the file system does not count this kind. Cost: visits each of them.
    ///
    /// [`set_quota`](Self::set_quota) has an example.
    pub fn quotas(&self, kind: QuotaKind) -> Result<Vec<(u32, QuotaUsage)>, Errno> {
        self.0.quotas(kind)
    }

    /// Sets the project of a node by its key. The caller holds a [`Handle`](pathwalk::Handle) on
    /// the node.
    ///
    /// `EDQUOT` if the project has no room for the node; `EOPNOTSUPP` for a node that is neither
    /// file nor directory, and for [`ProjectScope::NewNodes`] of a file; `EINVAL` for the number
    /// 2³² − 1. Source: `FS_IOC_FSSETXATTR`.
    ///
    /// [`Project`] has an example with a path.
    pub fn set_project_of(&self, node: NodeKey, project: Project) -> Result<(), Errno> {
        self.0.set_project(node, project)
    }

    /// Returns the project of a node by its key. The caller holds a [`Handle`](pathwalk::Handle) on
    /// the node. Source: `FS_IOC_FSGETXATTR`.
    ///
    /// [`Project`] has an example with a path.
    pub fn project_of(&self, node: NodeKey) -> Result<Project, Errno> {
        self.0.project(node)
    }
}
