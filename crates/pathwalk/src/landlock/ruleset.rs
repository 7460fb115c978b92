//! The rules of one restriction.

use std::collections::HashMap;
use std::sync::Arc;

use super::domain::Layer;
use crate::Errno;
use crate::attr::FileType;
use crate::handle::Handle;
use crate::security::Rights;
use crate::vfs::Vfs;

/// The rights that a context gives up, and the places beneath which it keeps some of them.
///
/// [`Landlock`](super::Landlock) has an example.
#[derive(Clone, Debug)]
pub struct Ruleset {
    handled: Rights,
    rules: Vec<(Handle, Rights)>,
}

impl Ruleset {
    /// Creates a ruleset that gives up these rights everywhere. [`Rights::REFER`] is always given
    /// up. Source: `landlock_create_ruleset(2)`.
    ///
    /// [`Landlock`](super::Landlock) has an example.
    pub fn new(handled: Rights) -> Ruleset {
        Ruleset { handled, rules: Vec::new() }
    }

    /// Keeps rights to a node and to all that is beneath it. A rule is about the node, by whatever
    /// name it is reached. `EINVAL` for a right that the ruleset does not give up, and for one to a
    /// file that belongs to directories; `ENOMSG` for no right. Source: `landlock_add_rule(2)`.
    ///
    /// [`Landlock`](super::Landlock) has an example.
    pub fn allow(mut self, at: &Handle, rights: Rights) -> Result<Ruleset, Errno> {
        if rights.is_empty() {
            return Err(Errno::ENOMSG);
        }
        let fits = at.kind() == FileType::Directory || Rights::OF_FILES.contains(rights);
        if !self.handled.contains(rights) || !fits {
            return Err(Errno::EINVAL);
        }
        self.rules.push((at.clone(), rights));
        Ok(self)
    }

    /// Returns the ruleset as a layer of contexts of this `Vfs`.
    pub(super) fn layer(&self, of: &Vfs) -> Result<Arc<Layer>, Errno> {
        if self.handled.is_empty() {
            return Err(Errno::ENOMSG);
        }
        if self.rules.iter().any(|(at, _)| !of.owns(at)) {
            return Err(Errno::EBADF);
        }
        let mut granted = HashMap::new();
        for (at, rights) in &self.rules {
            *granted.entry(at.node_id()).or_insert(Rights::empty()) |= *rights;
        }
        let held = self.rules.iter().map(|(at, _)| at.clone()).collect();
        Ok(Arc::new(Layer { handled: self.handled, granted, _held: held }))
    }
}
