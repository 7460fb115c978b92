//! The ways in which the nodes of one file system present themselves to the engine: its promises,
//! and what it withholds.

use std::sync::Arc;
use std::time::Duration;

use pathwalk::{AccessTimes, AclState, Freshness, PermissionRule, Timestamp};

use crate::clock::Clock;
use crate::quota::{GRACE, QuotaKind};

/// The source of the engine's bodies of links.
///
/// [`Options`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum LinkBodies {
    /// The bodies come with the nodes, so that the engine can follow links without a call.
    #[default]
    WithNode,
    /// The engine calls `read_link` each time.
    OnRequest,
}

/// The size that links report.
///
/// [`Options`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum LinkSizes {
    /// The length of the body.
    #[default]
    Length,
    /// Zero, as on some file systems that generate their links. The bodies are complete all the
    /// same.
    Zero,
}

/// The options of a [`MemFs`](crate::MemFs). They start from [`Options::default`]; each method
/// changes one of them.
///
/// ```
/// use pathwalk::{AclState, Credentials, Errno, Freshness, PermissionRule, Timestamp, Vfs};
/// use pathwalk_memfs::{LinkBodies, LinkSizes, MemFs, Options};
/// let options = Options::default()
///     .max_bytes(1 << 20)
///     .max_nodes(2)
///     .max_links(100)
///     .clock(|| Timestamp { seconds: 7, nanoseconds: 0 });
/// let context = Vfs::builder().build(MemFs::with(options))?.context(Credentials::root());
/// context.write("/file", "")?;
/// assert_eq!(context.stat("/file")?.mtime.seconds, 7);
/// assert_eq!(context.mkdir("/second", 0o755), Err(Errno::ENOSPC));
///
/// // For tests: a file system that makes the engine ask each time.
/// let options = Options::default()
///     .permission_rule(PermissionRule::Own)
///     .freshness(Freshness::AskEachTime)
///     .absence(Freshness::AskEachTime)
///     .attributes(Freshness::AskEachTime)
///     .acl(AclState::Unknown)
///     .link_bodies(LinkBodies::OnRequest)
///     .link_sizes(LinkSizes::Zero);
/// let fs = MemFs::with(options);
/// fs.symlink("anywhere", "/link")?;
/// let context = Vfs::builder().build(fs)?.context(Credentials::root());
/// assert_eq!(context.lstat("/link")?.size, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) rule: PermissionRule,
    pub(crate) names: Freshness,
    pub(crate) absence: Freshness,
    pub(crate) attributes: Freshness,
    pub(crate) link_bodies: LinkBodies,
    pub(crate) link_sizes: LinkSizes,
    pub(crate) acl: AclState,
    pub(crate) max_links: u32,
    pub(crate) max_bytes: Option<u64>,
    pub(crate) max_nodes: Option<u64>,
    /// The kinds of quotas, each in its own place.
    pub(crate) quotas: [Option<QuotaKind>; 3],
    pub(crate) quota_grace: Duration,
    pub(crate) clock: Clock,
    pub(crate) access_times: AccessTimes,
}

impl Default for Options {
    /// Returns options with generic permissions, stable names and absences, link bodies with the
    /// node, no ACL, and no times of accesses. Only memory limits links, nodes and data.
    fn default() -> Self {
        Options {
            rule: PermissionRule::Generic,
            names: Freshness::Stable,
            absence: Freshness::Stable,
            attributes: Freshness::Stable,
            link_bodies: LinkBodies::WithNode,
            link_sizes: LinkSizes::Length,
            acl: AclState::Absent,
            max_links: u32::MAX,
            max_bytes: None,
            max_nodes: None,
            quotas: [None; 3],
            quota_grace: GRACE,
            clock: Clock::System,
            access_times: AccessTimes::OfFileSystem,
        }
    }
}

impl Options {
    /// Sets the side that checks permissions. The file system's own hook gives the same answers as
    /// the generic rule, and its calls are counted.
    #[must_use]
    pub fn permission_rule(mut self, rule: PermissionRule) -> Options {
        self.rule = rule;
        self
    }

    /// Sets whether names have to be revalidated before each use.
    #[must_use]
    pub fn freshness(mut self, names: Freshness) -> Options {
        self.names = names;
        self
    }

    /// Sets whether absent names have to be revalidated before each use.
    #[must_use]
    pub fn absence(mut self, absence: Freshness) -> Options {
        self.absence = absence;
        self
    }

    /// Sets whether attributes are asked for at each use. With [`freshness`](Self::freshness) and
    /// [`absence`](Self::absence), nothing is used that a change through an alias made wrong.
    #[must_use]
    pub fn attributes(mut self, attributes: Freshness) -> Options {
        self.attributes = attributes;
        self
    }

    /// Sets the source of link bodies.
    #[must_use]
    pub fn link_bodies(mut self, bodies: LinkBodies) -> Options {
        self.link_bodies = bodies;
        self
    }

    /// Sets the size that links report.
    #[must_use]
    pub fn link_sizes(mut self, sizes: LinkSizes) -> Options {
        self.link_sizes = sizes;
        self
    }

    /// Sets the ACL state that attributes report for a node without an ACL: the truth (`Absent`),
    /// that the engine has to call `acl` (`Unknown`, reported also for nodes with an ACL), or that
    /// there is one (`Present`: each check calls the file system's hook).
    #[must_use]
    pub fn acl(mut self, state: AclState) -> Options {
        self.acl = state;
        self
    }

    /// Sets the number of links that a node may have; one more is `EMLINK`. At least 2, which every
    /// directory has.
    #[must_use]
    pub fn max_links(mut self, max: u32) -> Options {
        self.max_links = max.max(2);
        self
    }

    /// Sets the number of bytes of data, in pages of 4096 bytes and rounded up to one. Holes are
    /// free, and a link body over 127 bytes takes a page. More is `ENOSPC`. An unlinked node counts
    /// as long as it is held.
    #[must_use]
    pub fn max_bytes(mut self, max: u64) -> Options {
        self.max_bytes = Some(max);
        self
    }

    /// Sets the number of nodes, the root included; one more is `ENOSPC`. Each further name of a
    /// node counts as one more, as on a tmpfs. An unlinked node counts as long as it is held. An
    /// extended attribute counts as its bytes and 40 more, where a node counts as 1024.
    #[must_use]
    pub fn max_nodes(mut self, max: u64) -> Options {
        self.max_nodes = Some(max);
        self
    }

    /// Lets the file system count what each owner of this kind stores, so that
    /// [`MemFs::set_quota`](crate::MemFs::set_quota) can limit it. Default: none is counted, which
    /// costs nothing.
    ///
    /// [`MemFs::set_quota`](crate::MemFs::set_quota) has an example.
    #[must_use]
    pub fn quota(mut self, kind: QuotaKind) -> Options {
        self.quotas[kind as usize] = Some(kind);
        self
    }

    /// Sets the time for which a soft limit of a quota may be exceeded, in whole seconds. Default:
    /// 7 days.
    ///
    /// [`QuotaUsage`](crate::QuotaUsage) has an example.
    #[must_use]
    pub fn quota_grace(mut self, grace: Duration) -> Options {
        self.quota_grace = grace;
        self
    }

    /// Sets the clock: `read` is called at each change, instead of the system's clock. It may be
    /// called under a node's lock, so it must neither block nor use the file system. Times from
    /// 1970 to 2242 are stored.
    #[must_use]
    pub fn clock(mut self, read: impl Fn() -> Timestamp + Send + Sync + 'static) -> Options {
        self.clock = Clock::Given(Arc::new(read));
        self
    }

    /// Sets which side decides about the times of accesses. With [`AccessTimes::OfEngine`] they are
    /// kept by the flags of the mount, as on a tmpfs. Otherwise a node keeps the time at which it
    /// was made until another one is set, as on a mount with `noatime`: then a read stores nothing,
    /// and no link has to be followed by the locked walk for its time.
    ///
    /// ```
    /// use pathwalk::{AccessTimes, Credentials, SetTime, Timestamp, Vfs};
    /// use pathwalk_memfs::{MemFs, Options};
    /// let now = || Timestamp { seconds: 7, nanoseconds: 0 };
    /// let options = Options::default().access_times(AccessTimes::OfEngine).clock(now);
    /// let context = Vfs::builder().build(MemFs::with(options))?.context(Credentials::root());
    /// context.write("/file", "text")?;
    /// context.utimes("/file", SetTime::To(Timestamp::default()), SetTime::Keep)?;
    /// context.read("/file")?;
    /// assert_eq!(context.stat("/file")?.atime.seconds, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn access_times(mut self, of: AccessTimes) -> Options {
        self.access_times = of;
        self
    }
}
