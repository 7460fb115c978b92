//! What the caches of a `Vfs` promise about changes of the host's tree that others make.
//!
//! What it does not do: keep the promises, which is the work of the modules of each mode.

use std::time::Duration;

use crate::HostFs;

/// What the answers of a `Vfs` on a [`HostFs`] promise about changes that do not go through that
/// `Vfs`, chosen by [`HostFs::with_coherence`]. What goes through the `Vfs` is seen at once in each
/// mode.
///
/// | mode | changes by others are seen | cost |
/// |---|---|---|
/// | [`Frozen`](Coherence::Frozen) | where nothing is cached, or by a report | none |
/// | [`Exclusive`](Coherence::Exclusive) | where nothing is cached, or by a report | none |
/// | [`Watch`](Coherence::Watch) | when their events were handled, some milliseconds later | a watch for each cached directory |
/// | [`Ttl`](Coherence::Ttl) | once the time that is set is over | a call of the host when it is over |
/// | [`Strict`](Coherence::Strict) | by each operation that begins after them | calls of the host for each operation |
///
/// ```
/// use pathwalk::Vfs;
/// use pathwalk_hostfs::{Coherence, HostFs};
/// let fs = HostFs::open("/".as_ref())?.with_coherence(Coherence::Frozen);
/// assert_eq!(fs.coherence(), Coherence::Frozen);
/// let vfs = Vfs::builder().build(fs)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Coherence {
    /// A tree that nothing changes as long as the `Vfs` is used. Answers that are cached are never
    /// checked.
    Frozen,
    /// A tree that is changed through this one `Vfs` alone. Answers that are cached are never
    /// checked.
    Exclusive,
    /// A tree that other processes change: the kernel reports what they do, and what is cached of
    /// it is asked for again.
    #[default]
    Watch,
    /// A tree that other processes change: each answer is used for a time, and then asked for
    /// again.
    Ttl {
        /// The time for which a name that is present is used: which node it leads to.
        entry: Duration,
        /// The time for which a name that is absent is used.
        absence: Duration,
        /// The time for which the attributes of a node are used.
        attributes: Duration,
    },
    /// A tree that other processes change: each answer is checked before it is used.
    Strict,
}

impl HostFs {
    /// Sets what the caches promise about changes by others. The default is [`Coherence::Watch`].
    ///
    /// [`Coherence`] has an example.
    #[must_use]
    pub fn with_coherence(mut self, coherence: Coherence) -> HostFs {
        self.coherence = coherence;
        self
    }

    /// Returns what the caches promise about changes by others.
    ///
    /// [`Coherence`] has an example.
    pub fn coherence(&self) -> Coherence {
        self.coherence
    }
}
