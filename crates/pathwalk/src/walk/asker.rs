//! The asker: the caller of a walk, with the places where its walks start and its rights.

use crate::abi::Resolve;
use crate::memo::classes::ClassNumber;
use crate::mount::{NamespaceId, Place, World};
use crate::permission::Credentials;
use crate::security::Label;
use crate::sync::Arc;

/// The state of the caller that a walk depends on; Linux: `fs_struct` and `cred`.
///
/// The caller keeps pins on both places.
#[derive(Clone)]
pub(crate) struct Asker {
    pub(crate) world: Arc<World>,
    /// The directory at which absolute paths start and `..` ends.
    pub(crate) root: Place,
    /// The directory at which relative paths start.
    pub(crate) cwd: Place,
    /// The namespace of the mounts that it sees. Linux: `mnt_namespace`.
    pub(crate) namespace: NamespaceId,
    pub(crate) credentials: Credentials,
    pub(crate) umask: u16,
    /// The rules that its walks keep to.
    pub(crate) rules: Rules,
    /// The classes of both sides of its credentials, for the memo of whole paths.
    pub(crate) real_class: ClassNumber,
    pub(crate) effective_class: ClassNumber,
    /// The label that the security hook gave it.
    pub(crate) label: Option<Label>,
}

impl Asker {
    /// Replaces the credentials and resets their classes.
    pub(crate) fn set_credentials(&mut self, credentials: Credentials) {
        self.credentials = credentials;
        (self.real_class, self.effective_class) = Default::default();
    }
}

/// The place at which a relative path starts. An absolute path ignores it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Begin {
    /// The asker's working directory.
    Cwd,
    /// A place on which the caller has a pin.
    At(Place),
    /// A place that is not of this world: `EBADF`.
    Elsewhere,
}

/// The rules that all walks for an asker keep to: flags, and whether it is confined to its root.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Rules(u32);

/// The flag of an asker whose walks must not leave its own root, even from a place that it was
/// given.
const CONFINED: u32 = 1 << 31;

impl Rules {
    /// Returns whether there are no rules, so that a walk need not check any.
    #[inline(always)]
    pub(crate) fn are_none(self) -> bool {
        self.0 == 0
    }

    /// Returns the flags.
    pub(crate) fn resolve(self) -> Resolve {
        Resolve::from_bits_truncate(self.0)
    }

    /// Returns these rules with other flags.
    pub(crate) fn with_resolve(self, resolve: Resolve) -> Rules {
        Rules(self.0 & CONFINED | resolve.bits())
    }

    /// Returns these rules for an asker that is confined to its root.
    pub(crate) fn confined(self) -> Rules {
        Rules(self.0 | CONFINED)
    }

    pub(crate) fn is_confined(self) -> bool {
        self.0 & CONFINED != 0
    }
}
