//! The one that asks: where its walks start, and its rights.

use crate::abi::Resolve;
use crate::memo::classes::ClassNumber;
use crate::mount::{NamespaceId, Place, World};
use crate::permission::Credentials;
use crate::sync::Arc;

/// What a walk has to know of its caller; Linux: `fs_struct` and `cred`.
///
/// The caller keeps pins on both places.
#[derive(Clone)]
pub(crate) struct Asker {
    pub(crate) world: Arc<World>,
    /// Where absolute paths start, and `..` ends.
    pub(crate) root: Place,
    /// Where relative paths start.
    pub(crate) cwd: Place,
    /// The mounts that it sees. Linux: `mnt_namespace`.
    pub(crate) namespace: NamespaceId,
    pub(crate) credentials: Credentials,
    pub(crate) umask: u16,
    /// What its walks must not leave.
    pub(crate) rules: Rules,
    /// The classes of both sides of its credentials, for the memo of whole paths.
    pub(crate) real_class: ClassNumber,
    pub(crate) effective_class: ClassNumber,
}

impl Asker {
    /// Gives it other credentials.
    pub(crate) fn set_credentials(&mut self, credentials: Credentials) {
        self.credentials = credentials;
        (self.real_class, self.effective_class) = Default::default();
    }
}

/// Where a relative path starts. An absolute path ignores it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Begin {
    /// In the asker's working directory.
    Cwd,
    /// At a place that the caller has a pin on.
    At(Place),
    /// At a place that is not of this world: `EBADF`.
    Elsewhere,
}

/// What all walks for an asker must keep to: flags, and whether it is confined to its root.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Rules(u32);

/// With it, no walk leaves the asker's own root, be it from a place that it was given.
const CONFINED: u32 = 1 << 31;

impl Rules {
    /// Returns whether there are none, so that a walk need not look at them.
    #[inline(always)]
    pub(crate) fn are_none(self) -> bool {
        self.0 == 0
    }

    /// Returns the flags.
    pub(crate) fn resolve(self) -> Resolve {
        Resolve::from_bits_truncate(self.0)
    }

    /// Returns the same with other flags.
    pub(crate) fn with_resolve(self, resolve: Resolve) -> Rules {
        Rules(self.0 & CONFINED | resolve.bits())
    }

    /// Returns the same, of an asker that is confined to its root.
    pub(crate) fn confined(self) -> Rules {
        Rules(self.0 | CONFINED)
    }

    pub(crate) fn is_confined(self) -> bool {
        self.0 & CONFINED != 0
    }
}
