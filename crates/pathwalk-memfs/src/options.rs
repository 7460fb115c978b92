//! How the nodes of one file system present themselves to the engine: its promises, and what it holds back.

use std::sync::Arc;

use pathwalk::{AclState, Freshness, PermissionRule, Timestamp};

use crate::clock::Clock;

/// Where the engine gets the bodies of links from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LinkBodies {
    /// From the node, so that it can follow links without asking.
    #[default]
    WithNode,
    /// From `read_link`, each time.
    OnRequest,
}

/// The size that links report.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LinkSizes {
    /// The length of the body.
    #[default]
    Length,
    /// Zero, as some file systems do that make up their links. The bodies are whole all the same.
    Zero,
}

/// What a [`MemFs`](crate::MemFs) is constructed with. Made from [`Options::default`]; each method changes one thing.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) rule: PermissionRule,
    pub(crate) names: Freshness,
    pub(crate) absence: Freshness,
    pub(crate) link_bodies: LinkBodies,
    pub(crate) link_sizes: LinkSizes,
    pub(crate) acl: AclState,
    pub(crate) max_links: u32,
    pub(crate) max_bytes: Option<u64>,
    pub(crate) max_nodes: Option<u64>,
    pub(crate) clock: Clock,
}

impl Default for Options {
    /// Generic permissions, stable names and absences, link bodies with the node, no ACL, no limit but memory to links, nodes and
    /// data.
    fn default() -> Self {
        Options {
            rule: PermissionRule::Generic,
            names: Freshness::Stable,
            absence: Freshness::Stable,
            link_bodies: LinkBodies::WithNode,
            link_sizes: LinkSizes::Length,
            acl: AclState::Absent,
            max_links: u32::MAX,
            max_bytes: None,
            max_nodes: None,
            clock: Clock::System,
        }
    }
}

impl Options {
    /// Who checks permissions. The file system's own hook answers as the generic rule does, and can be counted.
    #[must_use]
    pub fn permission_rule(mut self, rule: PermissionRule) -> Options {
        self.rule = rule;
        self
    }

    /// Whether names have to be asked about before each use.
    #[must_use]
    pub fn freshness(mut self, names: Freshness) -> Options {
        self.names = names;
        self
    }

    /// The same of names that are not there.
    #[must_use]
    pub fn absence(mut self, absence: Freshness) -> Options {
        self.absence = absence;
        self
    }

    /// Where link bodies come from.
    #[must_use]
    pub fn link_bodies(mut self, bodies: LinkBodies) -> Options {
        self.link_bodies = bodies;
        self
    }

    /// The size that links report.
    #[must_use]
    pub fn link_sizes(mut self, sizes: LinkSizes) -> Options {
        self.link_sizes = sizes;
        self
    }

    /// What attributes say of the ACL of a node that has none: the truth (`Absent`), that one has to ask (`Unknown`, also
    /// for nodes that have one), or that there is one (`Present`: each check comes to the file system's hook).
    #[must_use]
    pub fn acl(mut self, state: AclState) -> Options {
        self.acl = state;
        self
    }

    /// How many links a node may have; one more is `EMLINK`. At least 2, which every directory has.
    #[must_use]
    pub fn max_links(mut self, max: u32) -> Options {
        self.max_links = max.max(2);
        self
    }

    /// How many bytes of data there may be, in pages of 4096 and rounded up to one; holes are free, and a link body over 127 bytes
    /// takes a page. More is `ENOSPC`. What was unlinked counts until nobody holds it.
    #[must_use]
    pub fn max_bytes(mut self, max: u64) -> Options {
        self.max_bytes = Some(max);
        self
    }

    /// How many nodes there may be, the root included; one more is `ENOSPC`. Each further name of a
    /// node counts as one more, as on a tmpfs. What was unlinked counts until it is not held.
    #[must_use]
    pub fn max_nodes(mut self, max: u64) -> Options {
        self.max_nodes = Some(max);
        self
    }

    /// Sets what the time is: `read` is asked at each change, instead of the system. It may be
    /// asked under a node's lock, so it must neither block nor use the file system. Times from 1970
    /// to 2514 are kept.
    #[must_use]
    pub fn clock(mut self, read: impl Fn() -> Timestamp + Send + Sync + 'static) -> Options {
        self.clock = Clock::Given(Arc::new(read));
        self
    }
}
